//! Reports: what a check found out, and how sure it is.

use crate::check::Check;
use crate::finding::Finding;
use crate::program::{Failure, Program};
use crate::record::Course;
use ordain_check::verdict::{self, Conclusion, Evidence, no_verdict};
use ordain_check::{Outcome, Problem};
use ordain_explore::strategy::{Bound, Kind as Strategy};
use ordain_model::{Level, Options};
pub use ordain_report::{Estimate, Require, Verdict};
use ordain_report::{Note, Sight};
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

/// The result of a check. Its `Display` is the verdict with everything that limits it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Report {
    /// The name of the check.
    pub name: String,
    /// What was found out.
    pub verdict: Verdict,
    /// The strategy or bound that was used.
    pub strategy: String,
    /// Executions that ran to their end.
    pub executions: u64,
    /// Executions that were cut short because what would have followed was covered elsewhere.
    pub blocked: u64,
    /// Steps of all executions.
    pub steps: u64,
    /// Most threads in one execution.
    pub threads: usize,
    /// Most steps in one execution.
    pub depth: usize,
    /// Executions that misbehaved.
    pub failing: u64,
    /// How many workers explored at the same time.
    pub workers: usize,
    /// The findings, one of each kind and place.
    pub findings: Vec<Finding>,
    /// How long it took.
    pub elapsed: Duration,
    /// How many executions an exhaustive search makes in all, as far as can be told.
    pub estimate: Option<Estimate>,
    /// The verdict in a sentence.
    pub(crate) meaning: String,
    /// What weakens the verdict, or what the user should know.
    pub(crate) notes: Vec<Note>,
    /// What was explored, in words.
    explored: String,
    /// How much of what threads do was visible.
    pub(crate) sight: Sight,
    /// How they went about it, if the search was divided.
    pub(crate) crew: Option<ordain_report::Workers>,
    options: Options,
    /// What it must reach, unless it is a replay.
    pub(crate) require: Option<Require>,
}

/// Checks of this process that have passed: verified, and without a finding.
static PASSED: (AtomicUsize, AtomicUsize) = (AtomicUsize::new(0), AtomicUsize::new(0));

impl Report {
    /// Of a check that has done nothing.
    pub(crate) fn new(name: &str, check: &Check) -> Self {
        let settings = &check.settings;
        Self {
            name: name.to_owned(),
            verdict: Verdict::NoFinding,
            strategy: match settings.bound() {
                Some(Bound::Preemptions(n)) => format!("preemption bound {n}"),
                Some(Bound::Delays(n)) => format!("delay bound {n}"),
                None => settings.strategy().name().to_owned(),
            },
            executions: 0,
            blocked: 0,
            steps: 0,
            threads: 0,
            depth: 0,
            failing: 0,
            workers: 1,
            crew: None,
            findings: Vec::new(),
            elapsed: Duration::ZERO,
            estimate: None,
            meaning: no_verdict(false, false),
            notes: Vec::new(),
            explored: String::new(),
            sight: Sight::Whole,
            options: check.options(),
            require: settings.require,
        }
    }

    /// Takes what a campaign came to.
    pub(crate) fn take(&mut self, outcome: Outcome<Program>) -> Course {
        let summary = &outcome.summary;
        // What misbehaved in a search that was to begin again was run, too.
        self.executions = summary.executions.max(outcome.failing);
        (self.blocked, self.steps) = (summary.blocked, summary.steps);
        (self.threads, self.depth) = (summary.threads, summary.depth);
        self.failing = outcome.failing;
        self.workers = outcome.workers;
        self.crew = outcome.division;
        self.elapsed = outcome.wall;
        self.estimate = outcome.estimate;
        self.sight = outcome.sight;
        let mut evidence = outcome.evidence(Level::Types, self.options);
        evidence.summary.executions = self.executions;
        evidence.notes.extend(outcome.explorer.sight().blind_spot().map(Note::warning));
        self.conclude(evidence);
        let course = Course {
            exhausted: summary.exhausted,
            interrupted: outcome.interrupted,
            cpu: outcome.cpu,
            progress: outcome.progress,
            path: outcome.path,
        };
        self.findings = outcome.findings;
        course
    }

    /// Takes why there is no verdict.
    pub(crate) fn take_problem(&mut self, problem: &Problem<Failure>) {
        self.meaning = match problem {
            Problem::NothingRan { .. } => problem.to_string(),
            problem => format!("no verdict: {problem}"),
        };
    }

    /// Takes the execution of a replay.
    pub(crate) fn take_replay(&mut self) {
        let mut evidence = Evidence::none(Level::Types, Strategy::Optimal, self.options);
        evidence.summary.executions = self.executions;
        evidence.findings = self.findings.iter().map(|finding| finding.story().kind).collect();
        self.conclude(evidence);
    }

    fn conclude(&mut self, evidence: Evidence) {
        let summary = evidence.summary;
        Conclusion { verdict: self.verdict, meaning: self.meaning, notes: self.notes } = evidence.conclude();
        self.explored = verdict::explored(self.verdict, &self.strategy, &summary);
    }

    /// Panics with the first finding if there is one, or if the check has not reached [what it requires](crate::Check::require). Otherwise
    /// writes the verdict in a line, which `cargo test -- --nocapture` (or `--show-output`) shows; if several checks of the process have
    /// passed, with a summary of them.
    #[track_caller]
    pub fn expect_no_finding(&self) {
        if let Some(finding) = self.findings.first() {
            panic!("{finding}\n{self}");
        }
        if let Some(unmet) = self.unmet() {
            panic!("ordain: {unmet}\n{self}");
        }
        self.tell();
    }

    /// Writes the verdict where the test harness hears it.
    #[allow(clippy::print_stdout)]
    fn tell(&self) {
        let which = if self.verdict == Verdict::Verified { &PASSED.0 } else { &PASSED.1 };
        which.fetch_add(1, Relaxed);
        let summary = match (PASSED.0.load(Relaxed), PASSED.1.load(Relaxed)) {
            (0, 1) | (1, 0) => String::new(),
            (verified, 0) => format!(" ({verified} checks passed so far, all verified)"),
            (verified, others) => {
                let all = verified + others;
                format!(" ({all} checks passed so far: {verified} verified, {others} without a finding only)")
            }
        };
        println!("ordain: {}: {self}{summary}", self.name);
    }

    /// What the check [requires](crate::Check::require) and has not reached, in a sentence; `None` if there is no such thing.
    pub fn unmet(&self) -> Option<String> {
        self.require?.shortfall(self.verdict, self.sight, self.estimate.as_ref())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.meaning)?;
        for warning in self.notes.iter().filter(|note| note.is_warning()) {
            write!(f, "; warning: {}", warning.text)?;
        }
        write!(f, " [")?;
        if !self.explored.is_empty() {
            write!(f, "{}; ", self.explored)?;
        }
        if self.failing > 0 {
            write!(f, "{} misbehaved; ", self.failing)?;
        }
        write!(f, "strategy: {}; level: {}; memory model: sequential consistency", self.strategy, Level::Types)?;
        if self.options.kind_time {
            write!(f, "; timeouts: last, when nothing else can happen")?;
        }
        for note in self.notes.iter().filter(|note| !note.is_warning()) {
            write!(f, "; {}", note.text)?;
        }
        write!(f, "]")
    }
}
