//! Keeping what is left of a check that a suite conducts, so that it goes on from there when the suite is resumed.
//!
//! What is left rests on names of threads and objects. Those of locks and channels that were made outside are given as they are met in a process, and
//! mean nothing in another one: such a search is not kept, and why is.

use super::{Check, Run, SHARED, Strategy};
use crate::conduct;
use crate::finding::Finding;
use crate::report::Report;
use ordain_explore::Summary;
use ordain_explore::Target as _;
use ordain_explore::frontier::{Controller, Explored};
use ordain_report::Story;
use ordain_report::checkpoint::{self, FILE, Identity, Rhythm, begun_again};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Why some searches are not kept.
const ENDLESS: &str = "only searches with the strategy optimal, source or portfolio, without bounds, can be kept";

/// Checks of this process so far: a test may make several, one after the other.
static CHECKS: AtomicU32 = AtomicU32::new(0);

/// Where and how a check is kept.
pub(super) struct Keeping {
    directory: PathBuf,
    file: String,
    identity: Identity,
    rhythm: Rhythm,
    /// What is gone on with.
    kept: Option<Kept>,
    /// Time of the search in earlier processes.
    pub(super) before: Duration,
    /// What was done in what is kept.
    total: Summary,
    /// What the user should know.
    pub(super) notes: Vec<String>,
}

/// What a checkpoint holds.
#[derive(Serialize, Deserialize)]
enum Held<S> {
    /// A search.
    Search(S),
    /// Nothing, and why.
    Nothing(String),
}

/// What was kept.
#[derive(Serialize, Deserialize)]
struct Kept {
    controller: Controller,
    elapsed: Duration,
    failing: u64,
    spun: bool,
    /// The check has come to its end, whatever is left.
    over: bool,
    findings: Vec<KeptFinding>,
}

#[derive(Serialize, Deserialize)]
struct KeptFinding {
    story: Story,
    place: String,
    file: Option<PathBuf>,
    replay: String,
    text: String,
}

impl KeptFinding {
    fn of(finding: &Finding) -> Self {
        let Finding { story, place, file, replay, text, .. } = finding.clone();
        Self { story, place, file, replay, text }
    }

    fn restore(self) -> Finding {
        let Self { story, place, file, replay, text } = self;
        Finding { message: story.message(), story, place, file, replay, text }
    }
}

impl Keeping {
    /// For a check that is about to begin; `None` if nobody wants it kept. Reads what was kept of it.
    pub(super) fn begin(check: &Check, name: &str, strategy: Strategy) -> Option<Self> {
        let conduct::Keep { directory, test, resume } = conduct::keep()?;
        let number = CHECKS.fetch_add(1, Relaxed) + 1;
        let identity = [
            ("version of Ordain", env!("CARGO_PKG_VERSION").to_owned()),
            ("test or configuration", test),
            ("check", name.to_owned()),
            ("strategy", format!("{} {:?} {}", strategy.name(), check.bound, check.seed)),
            ("set of options", format!("{:?}", check.options)),
        ];
        let mut keeping = Self {
            directory,
            file: format!("{FILE}-{number}"),
            identity: identity.map(|(name, value)| (name.to_owned(), value)).into(),
            rhythm: Rhythm::default(),
            kept: None,
            before: Duration::ZERO,
            total: Summary::default(),
            notes: Vec::new(),
        };
        if resume {
            match keeping.read() {
                Ok(kept) => keeping.kept = kept,
                Err(reason) => keeping.notes.push(begun_again(&reason)),
            }
        }
        Some(keeping)
    }

    /// How many executions were made before.
    pub(super) fn executions(&self) -> u64 {
        self.kept.as_ref().map_or(0, |kept| kept.controller.total().executions)
    }

    fn read(&self) -> Result<Option<Kept>, String> {
        let Some(body) = checkpoint::read(&self.directory, &self.file, &self.identity)? else { return Ok(None) };
        match serde_json::from_slice(&body) {
            Ok(Held::Search(Kept { controller, .. })) if !controller.is_intact() || !controller.is_whole() => {
                Err("it is damaged".into())
            }
            Ok(Held::Search(kept)) => Ok(Some(kept)),
            Ok(Held::Nothing(reason)) => Err(reason),
            Err(_) => Err("it is damaged".into()),
        }
    }

    fn write(&mut self, held: &Held<Kept>) {
        let begin = Instant::now();
        let body = serde_json::to_vec(held).map_err(|e| e.to_string());
        let written = body.and_then(|body| checkpoint::write(&self.directory, &self.file, &self.identity, &body));
        if let Err(why) = written
            && self.notes.is_empty()
        {
            self.notes.push(format!("what is left of the search could not be kept: {why}"));
        }
        self.rhythm.note(begin);
    }
}

impl Run<'_> {
    /// Goes on with what was kept; gives what was done before, and whether nothing is to be done any more.
    pub(super) fn take_up(
        &mut self,
        keeping: &mut Keeping,
        strategy: &mut dyn ordain_explore::Strategy,
        report: &mut Report,
    ) -> (Summary, bool) {
        let nothing = (Summary::default(), false);
        let Some(Kept { mut controller, elapsed, failing, spun, over, findings }) = keeping.kept.take() else {
            return nothing;
        };
        controller.take_over();
        let total = controller.total();
        if let Some((task, births)) = controller.whole() {
            let Some(strategy) = strategy.divisible().filter(|_| self.executor.take_over(&births)) else {
                keeping.notes.push(begun_again("its threads and objects have other names now"));
                return nothing;
            };
            for site in &task.loops {
                self.executor.know_long_loop(*site);
            }
            strategy.load(&task.fragment);
            strategy.go_on_after(total.executions);
        }
        report.findings = findings.into_iter().map(KeptFinding::restore).collect();
        (report.failing, report.spun) = (failing, spun);
        (keeping.before, keeping.total) = (elapsed, total);
        (total, over || total.exhausted)
    }

    /// Keeps what is left, if it is time for that or the check ends, which it may as it is or because it is `over`.
    pub(super) fn keep(
        &self,
        keeping: &mut Keeping,
        strategy: &mut dyn ordain_explore::Strategy,
        report: &Report,
        (total, elapsed): (&Summary, Duration),
        over: Option<bool>,
    ) {
        if total.steps == keeping.total.steps || over.is_none() && !keeping.rhythm.is_due() {
            return;
        }
        let shared = self.executor.shares_values();
        let (Some(rule), Some(strategy), false) = (self.strategy.rule(), strategy.divisible(), shared) else {
            return keeping.write(&Held::Nothing(if shared { SHARED } else { ENDLESS }.into()));
        };
        let explored = Explored { loops: self.executor.long_loops().to_vec(), ..strategy.unload() };
        let Some(controller) = Controller::undivided(rule, explored, self.executor.names(), *total) else {
            return keeping.write(&Held::Nothing("what was left made no sense".into()));
        };
        keeping.total = *total;
        keeping.write(&Held::Search(Kept {
            controller,
            elapsed,
            failing: report.failing,
            spun: report.spun,
            over: over == Some(true),
            findings: report.findings.iter().map(KeptFinding::of).collect(),
        }));
    }
}
