//! Keeping a search that is not finished: what is left, what was found, and of which program.
//!
//! It is written whole or not at all, beside the findings, at intervals and at the end. What it says is checked before it is believed.

use super::{Check, Problem};
use crate::finding::{Finding, Noticed};
use ordain_explore::frontier::Controller;
use ordain_model::Schedule;
use ordain_report::{Kind, Story, store};
use serde::{Deserialize, Serialize};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The file in the run directory.
const FILE: &str = "checkpoint";
/// Changes when checkpoints of before cannot be read any more.
const VERSION: u32 = 1;
/// Larger files are refused.
const MOST_BYTES: u64 = 1 << 32;

/// What is known of a search that is not finished.
#[derive(Serialize, Deserialize)]
pub(super) struct Checkpoint {
    version: u32,
    /// What is checked and how: by name, so that it can be said what differs.
    identity: Vec<(String, String)>,
    pub(super) controller: Controller,
    /// Time that it took so far, and processor time of exploring.
    pub(super) elapsed: Duration,
    pub(super) exploring: Duration,
    pub(super) visible: usize,
    pub(super) spin_held: bool,
    findings: Vec<Kept>,
}

/// A finding, as text.
#[derive(Serialize, Deserialize)]
struct Kept {
    story: String,
    file: Option<PathBuf>,
    schedule: String,
    place: String,
}

/// The same, to be written.
#[derive(Serialize)]
struct Borrowed<'a> {
    version: u32,
    identity: Vec<(String, String)>,
    controller: &'a Controller,
    elapsed: Duration,
    exploring: Duration,
    visible: usize,
    spin_held: bool,
    findings: Vec<Kept>,
}

/// What of a run is kept beside its controller.
pub(super) struct State<'a> {
    pub(super) elapsed: Duration,
    pub(super) exploring: Duration,
    pub(super) visible: usize,
    pub(super) spin_held: bool,
    pub(super) findings: &'a [Finding],
    pub(super) noticed: &'a [Noticed],
}

impl Check {
    /// All that decides what is explored.
    fn identity(&self) -> Vec<(String, String)> {
        let options = &self.options;
        let input = twox_hash::XxHash3_128::oneshot(&self.launch.input);
        [
            ("version of Ordain", env!("CARGO_PKG_VERSION").to_owned()),
            ("program", format!("{} ({:032x})", self.binary.path.display(), self.binary.fingerprint)),
            ("arguments", format!("{:?}", self.launch.arguments)),
            ("environment", format!("{:?}", self.launch.environment)),
            ("standard input", format!("{input:032x}")),
            ("strategy", self.effective_strategy().name().to_owned()),
            ("seed", self.seed.to_string()),
            ("spurious wake-ups", options.spurious_wakeups.to_string()),
            ("kind time", options.kind_time.to_string()),
            ("spin bound", options.spin_bound.to_string()),
            ("step limit", format!("{} {}", options.max_steps, options.livelock_rounds)),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into()
    }

    /// Keeps a search.
    pub(super) fn keep_search(
        &self,
        directory: &Path,
        controller: &Controller,
        state: &State<'_>,
    ) -> Result<(), String> {
        let kept = |(finding, noticed): (&Finding, &Noticed)| {
            let story = serde_json::to_string(&finding.story).map_err(|e| e.to_string())?;
            let schedule = finding.schedule.format(&mut |_| None);
            Ok(Kept { story, file: finding.file.clone(), schedule, place: noticed.place.clone() })
        };
        let findings = state.findings.iter().zip(state.noticed).map(kept).collect::<Result<_, String>>()?;
        let checkpoint = Borrowed {
            version: VERSION,
            identity: self.identity(),
            controller,
            elapsed: state.elapsed,
            exploring: state.exploring,
            visible: state.visible,
            spin_held: state.spin_held,
            findings,
        };
        let bytes = postcard::to_allocvec(&checkpoint).map_err(|e| e.to_string())?;
        store::write(directory, FILE, &bytes).map(|_| ())
    }

    /// Reads the search that was kept in a directory, if it is one of this program with these options.
    pub(super) fn resume_search(&self, directory: &Path) -> Result<Checkpoint, Problem> {
        let path = directory.join(FILE);
        let refuse = |reason: String| Problem::Resume { path: path.clone(), reason };
        let mut bytes = Vec::new();
        match std::fs::File::open(&path) {
            Ok(file) => {
                file.take(MOST_BYTES).read_to_end(&mut bytes).map_err(|e| refuse(e.to_string()))?;
            }
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                return Err(refuse("no unfinished search was kept there".into()));
            }
            Err(e) => return Err(refuse(e.to_string())),
        }
        if postcard::take_from_bytes::<u32>(&bytes).map_or(true, |(version, _)| version != VERSION) {
            return Err(refuse("it was made by another version of Ordain".into()));
        }
        let checkpoint: Checkpoint =
            postcard::from_bytes(&bytes).map_err(|_| refuse("it is damaged, or no checkpoint".into()))?;
        let theirs = checkpoint.identity.iter();
        for ((name, now), (_, then)) in self.identity().iter().zip(theirs) {
            if now != then {
                return Err(refuse(format!("it is of another {name}: {then}, and now {now}")));
            }
        }
        if checkpoint.identity.len() != self.identity().len() || !checkpoint.controller.is_intact() {
            return Err(refuse("it is damaged".into()));
        }
        Ok(checkpoint)
    }

    /// Nothing is left to be resumed.
    pub(super) fn forget_search(&self, directory: &Path) {
        // If it stays, it is found to be of a finished search or is written over.
        let _ = std::fs::remove_file(directory.join(FILE));
    }
}

impl Checkpoint {
    /// The findings so far.
    pub(super) fn findings(&self) -> Option<(Vec<Finding>, Vec<Noticed>)> {
        let finding = |kept: &Kept| {
            let story: Story = serde_json::from_str(&kept.story).ok()?;
            let schedule = Schedule::parse(&kept.schedule).ok()?;
            let (kind, place): (Kind, String) = (story.kind, kept.place.clone());
            let noticed = Noticed { kind, message: String::new(), place, prefix: Vec::new() };
            Some((Finding { story, file: kept.file.clone(), trouble: None, schedule }, noticed))
        };
        self.findings.iter().map(finding).collect::<Option<Vec<_>>>().map(|all| all.into_iter().unzip())
    }
}
