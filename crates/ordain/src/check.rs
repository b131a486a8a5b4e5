//! Checks: explore the schedules of a closure.

mod fragments;
mod parallel;

pub use parallel::ParallelCheck;

use crate::conduct::{Conductor, SuiteCheckpoint};
use crate::finding;
use crate::program::{Body, Program};
use crate::record;
use crate::replay::{self, Replay};
use crate::report::{Report, Require};
use crate::rt::{self, Executor};
use ordain_check::{Campaign, Explorer as _, Observer, Problem, Proof, Resume, RunOptions, Settings, Unobserved};
pub use ordain_explore::strategy::Kind as Strategy;
use ordain_explore::{Lowest, Plan, Planned, Preemptions, Target};
use ordain_model::{End, Options};
use ordain_report::Timeouts;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Rounds in which a thread may get something done at one place while others wait, and how few they become with a low limit of steps.
const FREE_ROUNDS: u32 = 64;
const FEWEST_ROUNDS: u32 = 8;

/// Explores every inequivalent schedule of `program` and panics with a readable finding if one misbehaves.
///
/// Short for `Check::new().run(program)` and a panic if it found something. See [`Check`] for options.
///
/// ```should_panic
/// use ordain::sync::Arc;
/// use ordain::sync::atomic::{AtomicUsize, Ordering::SeqCst};
///
/// ordain::check(|| {
///     let x = Arc::new(AtomicUsize::new(0));
///     let y = x.clone();
///     let other = ordain::thread::spawn(move || y.store(y.load(SeqCst) + 1, SeqCst));
///     x.store(x.load(SeqCst) + 1, SeqCst);
///     other.join().unwrap();
///     assert_eq!(x.load(SeqCst), 2); // a lost update
/// });
/// ```
#[track_caller]
pub fn check(program: impl Fn() + 'static) {
    Check::new().run(program).expect_no_finding();
}

/// A check and its options.
///
/// ```
/// let report = ordain::Check::new().max_executions(10_000).seed(7).run(|| {
///     // the program
/// });
/// println!("{report}");
/// ```
#[derive(Clone, Debug)]
#[must_use = "a check does nothing until it is run"]
pub struct Check {
    pub(crate) name: Option<String>,
    pub(crate) settings: Settings,
    pub(crate) stack_size: usize,
    pub(crate) directory: Option<PathBuf>,
    exploration_trace: Option<PathBuf>,
}

impl Default for Check {
    fn default() -> Self {
        Self::new()
    }
}

impl Check {
    /// A check with the default options: optimal search, no limits, stop at the first finding.
    pub fn new() -> Self {
        Self {
            name: None,
            settings: Settings::default(),
            stack_size: 256 * 1024,
            directory: Some(PathBuf::from(".ordain")),
            exploration_trace: None,
        }
    }

    /// Names the check: its schedule files go into `.ordain/<name>/`. The default is the name of the test. Give one if a test
    /// makes several checks.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// How schedules are chosen. The default is [`Strategy::Optimal`], or [`Strategy::Portfolio`] if there is a budget
    /// (`max_executions`, `max_time`), so that a search that cannot finish still finds what sampling would find.
    pub fn strategy(mut self, strategy: Strategy) -> Self {
        self.settings.strategy = Some(strategy);
        self
    }

    /// Explores only schedules with at most this many preemptions, beginning with none. Most bugs need two or fewer; use it when
    /// an exhaustive search takes too long. The search is a depth-first search that recognises states it has been in, which
    /// is sound under a bound (race-driven reductions are not); it takes the place of an exhaustive strategy.
    pub fn preemption_bound(mut self, most: u32) -> Self {
        (self.settings.preemption_bound, self.settings.delay_bound) = (Some(most), None);
        self
    }

    /// Explores only schedules that differ from round-robin by at most this many delays. Fewer schedules than a preemption bound
    /// of the same number; for programs with many threads.
    pub fn delay_bound(mut self, most: u32) -> Self {
        (self.settings.preemption_bound, self.settings.delay_bound) = (None, Some(most));
        self
    }

    /// Ends the check after that many executions, with the verdict `no finding` if it was not exhaustive by then. Samplers run
    /// 10,000 executions if nothing else limits them.
    pub fn max_executions(mut self, most: u64) -> Self {
        self.settings.max_executions = Some(most);
        self
    }

    /// Ends the check after that much time. An execution that runs then is broken off at its next step and does not count, but for the
    /// first, which gets a quarter of a second.
    pub fn max_time(mut self, most: Duration) -> Self {
        self.settings.max_time = Some(most);
        self
    }

    /// Gives an execution up after that many steps since a thread last began or ended, with a finding; a loop that waits for
    /// something which never changes is given up after a tenth of them. The default is a million. Raise it for healthy
    /// programs with long-running threads; lower it to learn of endless loops sooner.
    pub fn max_steps(mut self, most: usize) -> Self {
        self.settings.max_steps = most;
        self
    }

    /// The seed of the samplers. The same seed gives the same executions, and with any number of workers the same findings.
    pub fn seed(mut self, seed: u64) -> Self {
        self.settings.seed = seed;
        self
    }

    /// How many ordering constraints the bugs have that [`Strategy::Pct`] looks for. The default is three.
    pub fn pct_depth(mut self, depth: usize) -> Self {
        self.settings.pct_depth = depth;
        self
    }

    /// Whether to go on after a finding. By default a check stops at the first. Going on counts all executions that misbehave, keeps
    /// one finding of each kind and place, and explores everything.
    pub fn keep_going(mut self, keep_going: bool) -> Self {
        self.settings.keep_going = keep_going;
        self
    }

    /// Lets waits on condition variables and `park` end without a reason, as their documentation permits. Finds `if` where
    /// `while` is needed; makes more schedules.
    pub fn spurious_wakeups(mut self, spurious: bool) -> Self {
        self.settings.spurious_wakeups = spurious;
        self
    }

    /// When timed waits may expire. By default that is at any moment, because a program that is right only because a sleep is long enough
    /// is wrong. [`Timeouts::Last`] is for programs whose time-outs are a last resort that a correct run never needs.
    pub fn timeouts(mut self, timeouts: Timeouts) -> Self {
        self.settings.timeouts = timeouts;
        self
    }

    /// [`Check::timeouts`] by its old name.
    #[doc(hidden)]
    pub fn kind_time(self, kind: bool) -> Self {
        self.timeouts(if kind { Timeouts::Last } else { Timeouts::Any })
    }

    /// How many idle rounds of a loop that yields, sleeps or times out are explored before the thread is taken to wait until
    /// something it looks at changes. The default is two. Raise it if a loop gives up after more rounds than that and what
    /// it does then matters.
    pub fn spin_bound(mut self, rounds: u32) -> Self {
        self.settings.spin_bound = rounds.max(1);
        self
    }

    /// The size of each thread's stack in bytes, 256 KiB by default; a guard page lies below it. Raise it if a thread overflows its
    /// stack, which ends the process with a segmentation fault.
    pub fn stack_size(mut self, bytes: usize) -> Self {
        self.stack_size = bytes;
        self
    }

    /// Where schedule files are written: `.ordain` by default, in the current directory. `None` writes no files; findings then
    /// print their schedule.
    pub fn schedule_directory(mut self, directory: Option<PathBuf>) -> Self {
        self.directory = directory;
        self
    }

    /// How long the schedule of a finding may be made smaller before it is shown: fewest preemptions first, then fewest steps.
    /// Ten seconds by default, of which most findings need a few milliseconds; zero shows them as they were found.
    pub fn shrink_time(mut self, most: Duration) -> Self {
        self.settings.shrink_time = most;
        self
    }

    /// Writes how an exhaustive search goes to a file, for `ordain estimate` and other tools. Bounded and sampling strategies write none.
    pub fn exploration_trace(mut self, path: impl Into<PathBuf>) -> Self {
        self.exploration_trace = Some(path.into());
        self
    }

    /// What the check must reach to count as passed, beside finding nothing: [`Report::expect_no_finding`], [`check()`](crate::check())
    /// and `#[ordain::test]` fail otherwise. By default a check whose budget ends before everything is explored passes.
    ///
    /// ```should_panic
    /// use ordain::{Check, Require};
    ///
    /// let report = Check::new().max_executions(1).require(Require::Verified).run(|| {
    ///     let other = ordain::thread::spawn(ordain::thread::yield_now);
    ///     ordain::thread::yield_now();
    ///     other.join().unwrap();
    /// });
    /// report.expect_no_finding(); // one execution is not all of them
    /// ```
    pub fn require(mut self, require: Require) -> Self {
        self.settings.require = Some(require);
        self
    }

    /// What is assumed of the world.
    pub(crate) fn options(&self) -> Options {
        let rounds = |share: usize| u32::try_from(self.settings.max_steps / share).unwrap_or(u32::MAX);
        self.settings.options(Options {
            livelock_rounds: rounds(10),
            free_rounds: rounds(64).clamp(FEWEST_ROUNDS, FREE_ROUNDS),
            ..Options::default()
        })
    }

    /// How the check is run. What is left of a search is kept only for a suite.
    fn run_options(&self, workers: usize, kept: Option<&SuiteCheckpoint>) -> RunOptions {
        RunOptions {
            directory: kept.map(|kept| kept.directory.clone()),
            exploration_trace: self.exploration_trace.clone(),
            workers,
            slice: Duration::from_millis(if workers > 1 { 20 } else { 2 }),
            resume: if kept.is_some_and(|kept| kept.resume) { Resume::IfPossible } else { Resume::No },
            checkpoint_result: kept.is_some(),
        }
    }

    /// The name of the check: given, or that of the test that runs it.
    fn effective_name(&self) -> String {
        let given = self.name.clone();
        given.or_else(|| std::thread::current().name().map(str::to_owned)).unwrap_or_else(|| "check".to_owned())
    }

    /// Runs the check.
    ///
    /// # Panics
    /// If it is called inside a check, or with options that contradict each other.
    #[track_caller]
    pub fn run(mut self, program: impl Fn() + 'static) -> Report {
        assert!(
            !rt::active(),
            "ordain: a check inside a check: the closure must contain the program only, not another ordain::check"
        );
        self.assert_consistent();
        rt::install_hook();
        let name = self.effective_name();
        if let Some(replay) = replay::requested(&name) {
            return self.replay(&name, Rc::new(program), replay);
        }
        let kept = SuiteCheckpoint::of(&name);
        let conductor = Conductor::connect(&name, kept.as_ref().map_or(0, |kept| kept.executions(&self.settings)));
        if let Some(directory) = conductor.as_ref().and_then(Conductor::directory) {
            self.directory = Some(directory);
        }
        let body = Body::Local(Rc::new(program));
        match conductor {
            Some(conductor) if conductor.wants_fragments() => self.explore_fragments(&name, body, conductor),
            Some(mut conductor) => {
                let (report, run) = self.explore(&name, body, 1, kept.as_ref(), &mut conductor);
                conductor.finish(run);
                report
            }
            None => self.explore(&name, body, 1, kept.as_ref(), &mut Unobserved).0,
        }
    }

    fn assert_consistent(&self) {
        let strategy = self.settings.strategy();
        assert!(
            self.settings.bound().is_none() || !strategy.samples(),
            "ordain: a bound does not go with the strategy `{}`: bounds are for exhaustive search; leave one of the two out",
            strategy.name()
        );
    }

    /// Explores the program; gives what it came to, for who made the check and for a suite.
    fn explore(
        &self,
        name: &str,
        body: Body,
        workers: usize,
        kept: Option<&SuiteCheckpoint>,
        observer: &mut dyn Observer,
    ) -> (Report, ordain_report::Run) {
        let options = self.run_options(workers, kept);
        let place = kept.map_or_else(SuiteCheckpoint::nowhere, |kept| kept.place.clone());
        let started = Instant::now();
        let mut report = Report::new(name, self);
        if self.settings.max_executions == Some(0) {
            report.take_problem(&Problem::NothingRan { stopped: false, timed_out: false });
            let run = record::run(&report, &record::Course::default());
            return (report, run);
        }
        let check = Arc::new(self.clone());
        let campaign = Campaign::new(&self.settings, &options, Program::new(&check, name, body), place, observer);
        let course = match campaign.and_then(Campaign::run) {
            Ok(outcome) => report.take(outcome),
            Err(Problem::Trace(error)) => {
                let path = self.exploration_trace.clone().unwrap_or_default();
                panic!("ordain: cannot write the exploration trace {}: {error}", path.display())
            }
            Err(problem) => {
                report.take_problem(&problem);
                let interrupted = matches!(problem, Problem::NothingRan { stopped: true, .. });
                record::Course { interrupted, ..record::Course::default() }
            }
        };
        if report.elapsed.is_zero() {
            report.elapsed = started.elapsed();
        }
        let run = record::run(&report, &course);
        if let Some(directory) = self.directory.as_deref().filter(|_| !report.findings.is_empty()) {
            record::keep(&run, directory);
        }
        (report, run)
    }

    /// Runs the schedule that the user asked for.
    fn replay(&self, name: &str, program: Rc<dyn Fn()>, replay: Replay) -> Report {
        let mut report = Report::new(name, self);
        report.strategy = format!("replay of {}", replay.source);
        report.require = None;
        let schedule = match replay.schedule {
            Ok(schedule) => schedule,
            Err(reason) => panic!("ordain: cannot replay {}: {reason}", replay.source),
        };
        let started = Instant::now();
        let mut program = Program::new(&Arc::new(self.clone()), name, Body::Local(program));
        let transitions = schedule.transitions(program.names_mut());
        let prefix: Vec<Planned> = transitions.into_iter().map(|transition| Planned { transition, op: None }).collect();
        let mut policy = Preemptions::of(Lowest);
        program.run(&mut Plan::follow(&prefix, &mut policy));
        let execution = program.execution();
        (report.executions, report.depth) = (1, execution.steps.len());
        (report.steps, report.threads) = (report.depth as u64, execution.thread_count());
        report.elapsed = started.elapsed();
        if let Some(mut observation) = program.observe() {
            report.failing = 1;
            if let End::Diverged(divergence) = &program.execution().end {
                observation.message = finding::departure(&program.executor, divergence, schedule.get("found"));
            }
            let proof = Proof { number: 0, preemptions: &policy.steps, shrunk: None };
            report.findings.push(program.describe(&observation, &proof));
        }
        report.take_replay();
        report
    }
}

/// The program as a target of searches, for measuring them.
#[doc(hidden)]
pub fn target(program: impl Fn() + 'static) -> impl Target {
    rt::install_hook();
    Executor::new(Check::new().options(), 256 * 1024, Rc::new(program))
}
