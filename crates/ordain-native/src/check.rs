//! Checking a program: explore its schedules, confirm what is found in a fresh process, and say honestly what was not seen.

mod checkpoint;
mod confirm;
mod crosscheck;
mod divided;
mod fallback;
mod foresee;
mod fragments;
mod renew;
mod run;
mod sampled;
mod verdict;
mod watch;
mod whole;

pub use fragments::{FragmentResult, Fragments};
pub use renew::Renewed;

use crate::binary::Binary;
use crate::finding::{self, Finding};
use crate::observe::{Observer, Unobserved};
use crate::process::{Launch, Patience};
use crate::target::{Failure, Native};
use ordain_explore::strategy::{Bound, Kind as StrategyKind};
use ordain_explore::{Lowest, Plan, Planned, Preemptions, Summary, Target};
use ordain_model::describe;
use ordain_model::{Divergence, End, Options, Schedule};
use ordain_report::{Branch, Estimate, Sample, Verdict, Workers};
use ordain_wire::Mode;
use std::path::PathBuf;
use std::time::Duration;

/// How long a worker explores before it is heard, unless told: starting another process must pay.
pub const SLICE: Duration = Duration::from_millis(20);

/// The level at which programs are checked.
pub const LEVEL: &str = "sync";
/// What a verdict at that level rests on.
pub const ASSUMPTION: &str = "holds if threads share memory only under the calls that Ordain sees";

/// A check of a program, and its options.
#[derive(Clone, Debug)]
pub struct Check {
    /// What is known of the program's file.
    pub binary: Binary,
    /// What to run.
    pub launch: Launch,
    /// What to assume of the world.
    pub options: Options,
    /// How schedules are chosen; if not told, optimal search, or a portfolio if there is a budget.
    pub strategy: Option<StrategyKind>,
    /// A bound on preemptions or delays.
    pub bound: Option<Bound>,
    /// Seed of samplers.
    pub seed: u64,
    /// Ordering constraints that probabilistic concurrency testing looks for.
    pub depth: usize,
    /// Most executions.
    pub max_executions: Option<u64>,
    /// Most time.
    pub max_time: Option<Duration>,
    /// The mode, if it is not to be chosen.
    pub mode: Option<Mode>,
    /// Whether to go on after a finding.
    pub keep_going: bool,
    /// Whether output that depends on the schedule is a finding.
    pub compare_output: bool,
    /// The exit status that is no finding.
    pub expected_status: i32,
    /// How long the program may do nothing visible.
    pub patience: Patience,
    /// Where schedules of findings are written; nowhere if not told.
    pub directory: Option<PathBuf>,
    /// How long the schedule of a finding may be made smaller.
    pub shrink_time: Duration,
    /// Where the trace of an exhaustive search is written; the search is then led from outside, which is slower.
    pub exploration_trace: Option<PathBuf>,
    /// How many processes explore at the same time, if the search can be divided; what is left is kept in the directory, until
    /// [`Check::forget_search`]. With none, one process explores, and nothing is kept.
    pub workers: usize,
    /// How long a worker explores at least before it is heard; longer as the search goes on.
    pub slice: Duration,
    /// Whether to go on with the search that is kept in the directory.
    pub resume: bool,
}

/// The result of a check.
#[derive(Debug)]
pub struct Report {
    /// The verdict.
    pub verdict: Verdict,
    /// What the verdict means, in a sentence.
    pub meaning: String,
    /// What weakens it, or what the user should know.
    pub notes: Vec<String>,
    /// The strategy.
    pub strategy: &'static str,
    /// The mode at the end.
    pub mode: Mode,
    /// Why that mode.
    pub mode_reason: String,
    /// What the search did.
    pub summary: Summary,
    /// Samples by which the verdict was cross-checked.
    pub cross_checked: u64,
    /// Visible operations in an execution at most, those that make, join and end threads left out.
    pub visible: usize,
    /// Findings.
    pub findings: Vec<Finding>,
    /// Processes that were lost on the way.
    pub losses: u64,
    /// Time by the clock.
    pub wall: Duration,
    /// Processor time of the launcher and the program.
    pub cpu: Duration,
    /// Processor time of exploring alone: without starting the program, and without confirming findings.
    pub exploring: Duration,
    /// How it went.
    pub progress: Vec<Sample>,
    /// Whether the observer stopped it.
    pub interrupted: bool,
    /// The path that the search was on when it ended.
    pub path: Vec<Branch>,
    /// How the search was divided, if it was.
    pub workers: Option<Workers>,
    /// Whether what is left was kept, and can be resumed.
    pub resumable: bool,
    /// How many executions there are in all, as far as can be told.
    pub estimate: Option<Estimate>,
}

/// Why a check came to no verdict.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// The program cannot be run under control.
    #[error(transparent)]
    Failure(#[from] Failure),
    /// It does not do the same under the same schedule.
    #[error("the program is not deterministic: after the same {step} steps {difference}")]
    Nondeterminism {
        /// The first step that differs.
        step: usize,
        /// How it differs.
        difference: String,
    },
    /// What is kept of a search cannot be gone on with.
    #[error("the search cannot be resumed from {path}: {reason}")]
    Resume {
        /// Where it is kept.
        path: PathBuf,
        /// Why not.
        reason: String,
    },
    /// The exploration trace cannot be made.
    #[error("cannot write the exploration trace: {0}")]
    Trace(std::io::Error),
    /// No execution came to its end.
    #[error("there is no verdict: not one execution was complete when {when}")]
    NothingRan {
        /// What ended it.
        when: &'static str,
        /// Whether somebody did, and not a limit.
        stopped: bool,
    },
    /// Executions misbehaved, and there was no time to confirm that.
    #[error("a {kind} was found, but there was no time to confirm it in a fresh process: {message}{}", others(*more))]
    NoTimeToConfirm {
        /// What was found first.
        kind: &'static str,
        /// What is known of it.
        message: String,
        /// How many executions more misbehaved, in other ways.
        more: usize,
    },
    /// Something was found that a fresh process does not show.
    #[error("a {kind} was found that does not show again under the same schedule: {message}")]
    Unconfirmed {
        /// What was found.
        kind: &'static str,
        /// What was known.
        message: String,
    },
}

/// How many others there are, if any.
fn others(more: usize) -> String {
    if more == 0 { String::new() } else { format!(" (and {more} more, which differ from it)") }
}

/// What is assumed of the world by default. Rounds of a program's loop take longer than those of a closure's.
pub fn default_options() -> Options {
    Options { livelock_rounds: 10_000, ..Options::default() }
}

impl Check {
    fn effective_strategy(&self) -> StrategyKind {
        let budget = self.max_executions.is_some() || self.max_time.is_some();
        self.strategy.unwrap_or(if budget { StrategyKind::Portfolio } else { StrategyKind::Optimal })
    }

    /// The program, ready to be run.
    pub(crate) fn native(&self, mode: Option<Mode>) -> Result<Native, Failure> {
        let mut native = Native::new(self.launch.clone(), self.options, mode, self.patience)?;
        native.order_output(self.compare_output);
        Ok(native)
    }

    /// Runs it.
    pub fn run(&self) -> Result<Report, Problem> {
        self.run_watched(&mut Unobserved)
    }

    /// Runs it, with somebody who is told how it goes and can stop it.
    pub fn run_watched(&self, observer: &mut dyn Observer) -> Result<Report, Problem> {
        run::Run::new(self, observer)?.finish()
    }

    /// Runs the program under a schedule; gives what it shows, if anything, and whether it followed to the end.
    pub fn replay(&self, schedule: &Schedule) -> Result<Replayed, Problem> {
        let mut native = self.native(Some(Mode::Exec))?;
        native.set_inputs(&schedule.get("outside").map(crate::inputs::from_text).unwrap_or_default());
        let transitions = schedule.transitions(native.names_mut());
        let prefix: Vec<Planned> = transitions.into_iter().map(|transition| Planned { transition, op: None }).collect();
        let mut policy = Preemptions::of(Lowest);
        native.run(&mut Plan::follow(&prefix, &mut policy));
        if let Some(failure) = native.failure() {
            return Err(failure.clone().into());
        }
        self.replayed(&mut native, &policy.steps)
    }

    /// What the last execution showed, which followed a schedule.
    pub(crate) fn replayed(&self, native: &mut Native, preemptions: &[usize]) -> Result<Replayed, Problem> {
        let departure = match &native.execution().end {
            End::Diverged(divergence) => Some(self.difference(native, divergence)),
            _ => None,
        };
        let mut usual = None;
        let mut noticed = finding::notice(native, self.expected_status);
        if noticed.is_none() && self.compare_output && departure.is_none() {
            let outputs = self.usual_output(native)?;
            noticed = finding::unlike(&outputs, native);
            usual = Some(outputs);
        }
        let finding = noticed.map(|noticed| {
            let context = finding::Context { check: self, number: 0, preemptions, shrunk: None, usual: usual.as_ref() };
            finding::describe(native, &noticed, &context)
        });
        Ok(Replayed {
            finding,
            departure,
            steps: native.execution().steps.len(),
            output: [native.output(0), native.output(1)],
        })
    }

    /// What the program writes in a run without a schedule.
    fn usual_output(&self, native: &Native) -> Result<[Vec<u8>; 2], Problem> {
        let mut usual = native.fresh(Mode::Exec)?;
        usual.run(&mut Plan::new(&[], &mut Lowest));
        if let Some(failure) = usual.failure() {
            return Err(failure.clone().into());
        }
        Ok([usual.output(0), usual.output(1)])
    }

    fn difference(&self, native: &Native, divergence: &Divergence) -> String {
        let words = finding::NativeWords::new(native);
        describe::difference(&words, divergence)
    }
}

/// What a replay showed.
#[derive(Debug)]
pub struct Replayed {
    /// The misbehaviour.
    pub finding: Option<Finding>,
    /// How the program departed from the schedule, if it did.
    pub departure: Option<String>,
    /// Steps that were made.
    pub steps: usize,
    /// What it wrote to standard output and standard error.
    pub output: [Vec<u8>; 2],
}
