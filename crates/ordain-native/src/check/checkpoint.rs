//! Keeping a search that is not finished: what is left, what was found, and of which program.
//!
//! It is written whole or not at all, beside the findings, at intervals and at the end. What it says is checked before it is believed.

use super::run::Run;
use super::{Check, Problem};
use crate::finding::{Finding, Noticed};
use ordain_explore::classes::Classes;
use ordain_explore::frontier::Controller;
use ordain_model::Schedule;
use ordain_report::checkpoint::{self, FILE, Identity};
use ordain_report::{Kind, Story, fingerprint};
use ordain_wire::Mode;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What is known of a search that is not finished.
#[derive(Serialize, Deserialize)]
pub(super) struct Checkpoint {
    pub(super) controller: Controller,
    /// Time that it took so far, and processor time of exploring.
    pub(super) elapsed: Duration,
    exploring: Duration,
    visible: usize,
    spin_held: bool,
    classes: Classes,
    unmodelled: u64,
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
    controller: &'a Controller,
    elapsed: Duration,
    exploring: Duration,
    visible: usize,
    spin_held: bool,
    classes: &'a Classes,
    unmodelled: u64,
    findings: Vec<Kept>,
}

impl Check {
    /// All that decides what is explored.
    fn identity(&self) -> Identity {
        let options = &self.options;
        let input = fingerprint::of(&self.launch.input);
        [
            ("version of Ordain", env!("CARGO_PKG_VERSION").to_owned()),
            ("program", format!("{} ({:032x})", self.binary.path.display(), self.binary.fingerprint)),
            ("arguments", format!("{:?}", self.launch.arguments)),
            ("environment", format!("{:?}", self.launch.environment)),
            ("standard input", format!("{input:032x}")),
            ("expected exit status", self.expected_status.to_string()),
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

    /// Nothing is left that would be resumed: for whoever has kept the result of this check.
    pub fn forget_search(&self) {
        if let Some(directory) = &self.directory {
            // If it stays, it is found to be of a finished search or is written over.
            let _ = checkpoint::forget(directory);
        }
    }
}

impl Run<'_> {
    /// Whether what is left of the search can be told.
    pub(super) fn is_keepable(&self) -> bool {
        self.workers > 0
            && self.kind().rule().is_some()
            && self.is_exhaustive()
            && self.native.mode() != Mode::Exec
            && !self.check.compare_output
            && self.check.exploration_trace.is_none()
    }

    /// Writes what is left, so that it can be resumed; `false` if it cannot.
    pub(super) fn keep_search(&mut self, controller: &Controller, before: Duration) -> bool {
        let Some(directory) = self.check.directory.as_deref() else { return false };
        let written = self.write(directory, controller, before);
        if let Err(why) = &written {
            self.note_once(format!("what is left of the search could not be kept: {why}"));
        }
        written.is_ok()
    }

    fn write(&self, directory: &Path, controller: &Controller, before: Duration) -> Result<(), String> {
        let kept = |(finding, noticed): (&Finding, &Noticed)| {
            let story = serde_json::to_string(&finding.story).map_err(|e| e.to_string())?;
            let schedule = finding.schedule.format(&mut |_| None);
            Ok(Kept { story, file: finding.file.clone(), schedule, place: noticed.place.clone() })
        };
        let body = Borrowed {
            controller,
            elapsed: before + self.started.elapsed(),
            exploring: self.exploring,
            visible: self.visible,
            spin_held: self.spin_held,
            classes: &self.classes,
            unmodelled: self.native.unmodelled(),
            findings: self.findings.iter().zip(&self.noticed).map(kept).collect::<Result<_, String>>()?,
        };
        let bytes = postcard::to_allocvec(&body).map_err(|e| e.to_string())?;
        checkpoint::write(directory, FILE, &self.check.identity(), &bytes)
    }

    /// Reads the search that was kept, if it is one of this program with these options, and takes over what it has found.
    pub(super) fn resume(&mut self) -> Result<Checkpoint, Problem> {
        let directory = self.check.directory.clone().unwrap_or_default();
        let path = directory.join(FILE);
        let refuse = |reason: &str| Problem::Resume { path: path.clone(), reason: reason.into() };
        if !self.is_keepable() {
            return Err(refuse(
                "only a search with the strategy optimal, source or portfolio, without bounds, in snapshot or fork mode, can be resumed",
            ));
        }
        let body = checkpoint::read(&directory, FILE, &self.check.identity()).map_err(|reason| refuse(&reason))?;
        let body = body.ok_or_else(|| refuse("no unfinished search was kept there"))?;
        let checkpoint: Checkpoint = postcard::from_bytes(&body).map_err(|_| refuse("it is damaged"))?;
        if !checkpoint.controller.is_intact() {
            return Err(refuse("it is damaged"));
        }
        (self.findings, self.noticed) = checkpoint.findings().ok_or_else(|| refuse("its findings cannot be read"))?;
        (self.exploring, self.visible, self.spin_held) =
            (checkpoint.exploring, checkpoint.visible, checkpoint.spin_held);
        self.classes.clone_from(&checkpoint.classes);
        self.native.note_unmodelled(checkpoint.unmodelled);
        Ok(checkpoint)
    }
}

impl Checkpoint {
    /// The findings so far.
    fn findings(&self) -> Option<(Vec<Finding>, Vec<Noticed>)> {
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
