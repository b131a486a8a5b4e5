//! Reports: what a check found out, and how sure it is.

use crate::check::Check;
use crate::finding::Finding;
use crate::program::Program;
use crate::record::Course;
use ordain_check::{Explorer as _, Outcome};
use ordain_explore::Coverage;
use ordain_explore::strategy::Bound;
use ordain_model::{Level, Options};
use ordain_report::Sight;
use ordain_report::terminal::plural;
pub use ordain_report::{Estimate, Require, Verdict};
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
    /// What went wrong beside the check.
    pub(crate) trouble: Option<String>,
    /// Why the program cannot be verified, whatever was explored.
    pub(crate) blind_spot: Option<&'static str>,
    /// Why samples speak against what was explored, if they do.
    pub(crate) retracted: Option<String>,
    /// How they went about it, if the search was divided.
    pub(crate) crew: Option<ordain_report::Workers>,
    /// Whether an execution was broken off because the time was over.
    pub(crate) broken_off: bool,
    pub(crate) spun: bool,
    /// Whether threads that got something done again and again had to let others go first.
    pub(crate) took_turns: bool,
    pub(crate) bound_reached: bool,
    pub(crate) options: Options,
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
            spun: false,
            took_turns: false,
            bound_reached: false,
            estimate: None,
            trouble: None,
            blind_spot: None,
            retracted: None,
            broken_off: false,
            options: check.options(),
            require: settings.require,
        }
    }

    /// Takes what a campaign came to.
    pub(crate) fn take(&mut self, outcome: Outcome<Program>) -> Course {
        let summary = &outcome.summary;
        self.verdict = outcome.verdict;
        // What misbehaved in a search that was to begin again was run, too.
        self.executions = summary.executions.max(outcome.failing);
        (self.blocked, self.steps) = (summary.blocked, summary.steps);
        (self.threads, self.depth) = (summary.threads, summary.depth);
        self.failing = outcome.failing;
        self.workers = outcome.workers;
        self.crew = outcome.division;
        self.elapsed = outcome.wall;
        (self.spun, self.took_turns) = (outcome.spin_held, outcome.took_turns);
        self.bound_reached = outcome.coverage == Some(Coverage::Bound);
        self.estimate = outcome.estimate;
        self.blind_spot = outcome.explorer.sight().blind_spot();
        self.retracted = outcome.departed;
        self.broken_off = outcome.explorer.is_over();
        let course = Course {
            exhausted: summary.exhausted,
            interrupted: outcome.interrupted,
            cpu: outcome.cpu,
            notes: outcome.notes,
            progress: outcome.progress,
            path: outcome.path,
        };
        self.findings = outcome.findings;
        course
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
        let sight = if self.blind_spot.is_some() { Sight::Part } else { Sight::Whole };
        self.require?.shortfall(self.verdict, sight, self.estimate.as_ref())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { executions, blocked, .. } = *self;
        let plural = |count: u64| plural(count as usize, "execution");
        let classes = |n: u64| if n == 1 { "class".to_owned() } else { format!("{n} classes") };
        match self.verdict {
            Verdict::Verified if self.strategy == "dfs" => {
                write!(f, "verified: all {executions} schedules explored")?;
            }
            Verdict::Verified if executions == 1 => write!(f, "verified: the only class of schedules explored")?,
            Verdict::Verified if matches!(self.strategy.as_str(), "optimal" | "source" | "dpor") => {
                write!(f, "verified: all {} of schedules explored", classes(executions))?;
            }
            Verdict::Verified => write!(f, "verified: every class of schedules explored in {}", plural(executions))?,
            Verdict::NoFinding if self.broken_off && executions == 0 => {
                write!(f, "no verdict: the time was over before an execution came to its end")?;
            }
            Verdict::NoFinding if self.bound_reached => {
                write!(
                    f,
                    "no finding within the bound, in {}; schedules beyond it were not explored",
                    plural(executions)
                )?;
            }
            Verdict::NoFinding if self.blind_spot.is_some() => write!(f, "no finding in {}", plural(executions))?,
            Verdict::NoFinding if self.estimate.is_some() => {
                let things = if self.strategy == "dfs" { "schedules" } else { "classes" };
                let explored = self.estimate.map(|e| e.in_words(things)).unwrap_or_default();
                write!(f, "no finding in {}; {explored} explored", plural(executions))?;
            }
            Verdict::NoFinding => {
                write!(f, "no finding in {}; not every class of schedules was explored", plural(executions))?;
            }
            Verdict::Finding => {
                let n = self.findings.len();
                write!(f, "finding: {} of {} misbehaved", self.failing, plural(executions))?;
                if n > 1 {
                    write!(f, " in {n} ways")?;
                }
            }
        }
        if blocked > 0 {
            write!(f, " (and {blocked} cut short)")?;
        }
        if let Some(retracted) = &self.retracted {
            write!(f, "; not verified: {retracted}")?;
        }
        if let Some(blind_spot) = self.blind_spot {
            write!(f, "; not verified: {blind_spot}")?;
        }
        write!(f, " [strategy: {}; level: {}; memory model: sequential consistency", self.strategy, Level::Types)?;
        if self.options.kind_time {
            write!(f, "; timeouts: last, when nothing else can happen")?;
        }
        if self.spun {
            write!(
                f,
                "; spinning threads were taken to wait for a change after {} idle rounds",
                self.options.spin_bound
            )?;
        }
        if self.took_turns {
            write!(
                f,
                "; threads that go round in a loop, and change something each time, were taken to let others go first after {} rounds",
                self.options.free_rounds
            )?;
        }
        if self.broken_off && executions > 0 {
            write!(f, "; the last execution was broken off when the time was over, and does not count")?;
        }
        if let Some(trouble) = &self.trouble {
            write!(f, "; {trouble}")?;
        }
        write!(f, "]")
    }
}
