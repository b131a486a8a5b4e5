//! Checks: explore the schedules of a closure.

mod confirm;
mod fragments;
mod kept;
mod parallel;

pub use parallel::ParallelCheck;

use crate::conduct::Conductor;
use crate::finding::{self, Finding, FindingKind};
use crate::record;
use crate::replay::{self, Replay};
use crate::report::{Report, Verdict};
use crate::rt::{self, Executor};
use kept::Keeping;
use ordain_explore::crossing::{Crossing, crossings};
use ordain_explore::estimate::{Effort, Estimate as Total, Forecast, Foresight, TraceFile};
pub use ordain_explore::strategy::Kind as Strategy;
use ordain_explore::strategy::{Bound, Bounded};
use ordain_explore::{Coverage, Plan, Planned, Summary, Target, search};
use ordain_model::{End, Options};
use ordain_report::{Branch, Estimate, Sample, Samples, branch};
use std::cell::{Cell, RefCell};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Executions of a sampler if nothing else limits it.
const DEFAULT_SAMPLES: u64 = 10_000;
/// Why a search stays in one process, with one worker.
const SHARED: &str = "it uses locks or channels that were made outside";
/// Executions between samples of how a check goes.
const SAMPLED: u64 = 1024;
/// Time between estimates of how much there is, and how often one's own time it is at least.
const FORESEEN: Duration = Duration::from_secs(1);
const SHARE: u32 = 25;
/// How long the last estimate may take, which is made when the time is over.
const MOMENT: Duration = Duration::from_millis(300);
/// More findings than this are counted, not kept.
const MOST_FINDINGS: usize = 100;

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
    strategy: Option<Strategy>,
    bound: Option<Bound>,
    max_executions: Option<u64>,
    max_time: Option<Duration>,
    seed: u64,
    pct_depth: usize,
    keep_going: bool,
    stack_size: usize,
    directory: Option<PathBuf>,
    shrink_time: Duration,
    exploration_trace: Option<PathBuf>,
    options: Options,
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
            strategy: None,
            bound: None,
            max_executions: None,
            max_time: None,
            seed: 0,
            pct_depth: 3,
            keep_going: false,
            stack_size: 256 * 1024,
            directory: Some(PathBuf::from(".ordain")),
            shrink_time: Duration::from_secs(5),
            exploration_trace: None,
            options: Options::default(),
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
        self.strategy = Some(strategy);
        self
    }

    /// Explores only schedules with at most this many preemptions, beginning with none. Most bugs need two or fewer; use it when
    /// an exhaustive search takes too long. The search is a depth-first search that recognises states it has been in, which
    /// is sound under a bound (race-driven reductions are not); it takes the place of an exhaustive strategy.
    pub fn preemption_bound(mut self, most: u32) -> Self {
        self.bound = Some(Bound::Preemptions(most));
        self
    }

    /// Explores only schedules that differ from round-robin by at most this many delays. Fewer schedules than a preemption bound
    /// of the same number; for programs with many threads.
    pub fn delay_bound(mut self, most: u32) -> Self {
        self.bound = Some(Bound::Delays(most));
        self
    }

    /// Ends the check after that many executions, with the verdict `no finding` if it was not exhaustive by then. Samplers run
    /// 10,000 executions if nothing else limits them.
    pub fn max_executions(mut self, most: u64) -> Self {
        self.max_executions = Some(most);
        self
    }

    /// Ends the check after that much time, looked at after every execution.
    pub fn max_time(mut self, most: Duration) -> Self {
        self.max_time = Some(most);
        self
    }

    /// Gives an execution up after that many steps since a thread last began or ended, with a finding; a loop that waits for
    /// something which never changes is given up after a tenth of them. The default is a million. Raise it for healthy
    /// programs with long-running threads; lower it to learn of endless loops sooner.
    pub fn max_steps(mut self, most: usize) -> Self {
        self.options.max_steps = most;
        self.options.livelock_rounds = u32::try_from(most / 10).unwrap_or(u32::MAX);
        self
    }

    /// The seed of the samplers. The same seed gives the same executions, and with any number of workers the same findings.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// How many ordering constraints the bugs have that [`Strategy::Pct`] looks for. The default is three.
    pub fn pct_depth(mut self, depth: usize) -> Self {
        self.pct_depth = depth;
        self
    }

    /// Whether to go on after a finding. By default a check stops at the first. Going on counts all executions that misbehave, keeps
    /// one finding of each kind and place, and explores everything.
    pub fn keep_going(mut self, keep_going: bool) -> Self {
        self.keep_going = keep_going;
        self
    }

    /// Lets waits on condition variables and `park` end without a reason, as their documentation permits. Finds `if` where
    /// `while` is needed; makes more schedules.
    pub fn spurious_wakeups(mut self, spurious: bool) -> Self {
        self.options.spurious_wakeups = spurious;
        self
    }

    /// Lets time pass only when no thread can do anything else. By default a timed wait may expire at any moment, because
    /// a program that is right only because a sleep is long enough is wrong. Use it for programs whose time-outs are a last
    /// resort that a correct run never needs.
    pub fn kind_time(mut self, kind: bool) -> Self {
        self.options.kind_time = kind;
        self
    }

    /// How many idle rounds of a loop that yields, sleeps or times out are explored before the thread is taken to wait until
    /// something it looks at changes. The default is two. Raise it if a loop gives up after more rounds than that and what
    /// it does then matters.
    pub fn spin_bound(mut self, rounds: u32) -> Self {
        self.options.spin_bound = rounds.max(1);
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
    /// Five seconds by default, of which most findings need a few milliseconds; zero shows them as they were found.
    pub fn shrink_time(mut self, most: Duration) -> Self {
        self.shrink_time = most;
        self
    }

    /// Writes how an exhaustive search goes to a file, for `ordain estimate` and other tools. Bounded and sampling strategies write none.
    pub fn exploration_trace(mut self, path: impl Into<PathBuf>) -> Self {
        self.exploration_trace = Some(path.into());
        self
    }

    fn effective_strategy(&self) -> Strategy {
        let budget = self.max_executions.is_some() || self.max_time.is_some();
        self.strategy.unwrap_or(if budget { Strategy::Portfolio } else { Strategy::Optimal })
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
        let strategy = self.effective_strategy();
        assert!(
            self.bound.is_none() || !strategy.samples(),
            "ordain: a bound does not go with the strategy `{}`: bounds are for exhaustive search; leave one of the two out",
            strategy.name()
        );
        rt::install_hook();
        let name = self.effective_name();
        let replay = replay::requested(&name);
        let keeping = if replay.is_none() { Keeping::begin(&self, &name, strategy) } else { None };
        let before = keeping.as_ref().map_or(0, Keeping::executions);
        let conductor = if replay.is_none() { Conductor::connect(&name, before) } else { None };
        if let Some(directory) = conductor.as_ref().and_then(Conductor::directory) {
            self.directory = Some(directory);
        }
        let conductor = match conductor {
            Some(conductor) if conductor.wants_fragments() => {
                return self.explore_fragments(name, strategy, Rc::new(program), conductor);
            }
            conductor => conductor,
        };
        let executor = Executor::new(self.options, self.stack_size, Rc::new(program));
        let run = Run { check: &self, name, strategy, executor, started: Instant::now() };
        match replay {
            Some(replay) => run.replay(replay),
            None => run.explore(conductor, keeping),
        }
    }
}

/// The program as a target of searches, for measuring them.
#[doc(hidden)]
pub fn target(program: impl Fn() + 'static) -> impl Target {
    rt::install_hook();
    Executor::new(Options::default(), 256 * 1024, Rc::new(program))
}

/// A check that runs.
struct Run<'a> {
    check: &'a Check,
    name: String,
    strategy: Strategy,
    executor: Executor,
    started: Instant,
}

impl Run<'_> {
    fn make_strategy(&self) -> Box<dyn ordain_explore::Strategy> {
        let seed = self.check.seed;
        if let Some(bound) = self.check.bound {
            return Box::new(Bounded::new(bound));
        }
        self.strategy.make(seed, self.check.pct_depth)
    }

    fn explore(mut self, mut conductor: Option<Conductor>, mut keeping: Option<Keeping>) -> Report {
        let mut strategy = self.make_strategy();
        let exhaustive = !self.strategy.samples() && self.check.bound.is_none();
        let trace = self.check.exploration_trace.as_deref().filter(|_| exhaustive).map(|path| {
            let file = ordain_report::store::create(path).map(TraceFile::to);
            file.unwrap_or_else(|error| {
                panic!("ordain: cannot write the exploration trace {}: {error}", path.display())
            })
        });
        if let Some(trace) = &trace {
            strategy = trace.trace(strategy);
        }
        let (max_time, started) = (self.check.max_time, self.started);
        // The time in which it was not its turn does not count. It waits for its first turn before it starts.
        let first = conductor.as_ref().map_or(Duration::ZERO, Conductor::waited);
        let before = Cell::new(Duration::ZERO);
        let elapsed = |conductor: &Option<Conductor>| {
            let waited = conductor.as_ref().map_or(Duration::ZERO, |c| c.waited() - first);
            before.get() + started.elapsed().saturating_sub(waited)
        };
        let unlimited = self.check.max_executions.is_none() && max_time.is_none();
        let most = match self.check.max_executions {
            None if unlimited && self.strategy.samples() => DEFAULT_SAMPLES,
            most => most.unwrap_or(u64::MAX),
        };
        let mut report = self.empty_report();
        let mut total = Summary::default();
        let mut skip = 0;
        let finish = |conductor: Option<Conductor>, run| conductor.map_or((), |c: Conductor| c.finish(run));
        if most == 0 {
            finish(conductor, record::run(&report, false, false, Vec::new(), Vec::new()));
            return report;
        }
        if let Some(noticed) = self.try_twice() {
            report.executions = 2;
            report.failing = 1;
            report.findings.push(self.describe(noticed, 1, &[], None));
            report.verdict = Verdict::Finding;
            report.elapsed = elapsed(&conductor);
            finish(conductor, record::run(&report, false, false, Vec::new(), Vec::new()));
            return report;
        }
        let mut over_before = false;
        if let Some(keeping) = &mut keeping {
            (total, over_before) = self.take_up(keeping, &mut *strategy, &mut report);
            skip = total.executions + total.blocked;
            before.set(keeping.before);
        }
        let mut interrupted = !over_before && conductor.as_ref().is_some_and(Conductor::is_stopped);
        let begins = !over_before && !interrupted;
        let mut progress = Samples::default();
        let mut sample = |elapsed: Duration, executions, findings, estimate| {
            progress.add(Sample { seconds: elapsed.as_secs_f64(), executions, findings, estimate });
        };
        let mut foresight = Foresight::default();
        // What had been done, and when, at the last forecast.
        let mut foreseen = (total, Instant::now());
        let mut pause = FORESEEN;
        // The search is left at each finding, because confirming one runs the program again, and taken up behind it.
        loop {
            if !begins {
                break;
            }
            let found = RefCell::new(None);
            let (mut spun, mut due) = (false, false);
            let mut watch = Watch { target: &mut self.executor, races: Vec::new(), found: &found };
            let summary = search(&mut watch, &mut *strategy, &mut |target, summary| {
                spun |= target.execution().spin_held;
                if exhaustive {
                    foresight.hear(target.execution());
                }
                let runs = skip + summary.executions + summary.blocked;
                let over = runs >= most || max_time.is_some_and(|most| elapsed(&conductor) >= most);
                let executions = total.executions + summary.executions;
                due = conductor.as_ref().is_some_and(|c| c.is_over(executions));
                if runs.is_multiple_of(SAMPLED) {
                    sample(elapsed(&conductor), executions, report.findings.len(), None);
                    due |= exhaustive && foreseen.1.elapsed() >= pause;
                }
                if over || due || found.borrow().is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
            report.spun |= spun;
            if summary.restarted {
                (total.executions, total.blocked) = (0, 0);
                // What misbehaved before is found again.
                report.failing = 0;
                foreseen.0 = Summary::default();
                foresight.restart();
                report.estimate = None;
            }
            total.add(&summary);
            skip = total.executions + total.blocked;
            let over = skip >= most || max_time.is_some_and(|most| elapsed(&conductor) >= most);
            if due && !over && !total.exhausted && found.borrow().is_none() {
                if let Some(keeping) = &mut keeping {
                    self.keep(keeping, &mut *strategy, &report, (&total, elapsed(&conductor)), None);
                }
                let begin = Instant::now();
                let is_late =
                    || begin.elapsed() >= FORESEEN || max_time.is_some_and(|most| elapsed(&conductor) >= most);
                let effort = Effort::beside(total.executions - foreseen.0.executions, total.steps - foreseen.0.steps)
                    .until(&is_late);
                let mut watch = Watch { target: &mut self.executor, races: Vec::new(), found: &found };
                let forecast = forecast(&mut foresight, &mut watch, &mut *strategy, &mut total, effort, &mut report);
                foreseen = (total, Instant::now());
                pause = FORESEEN.max(SHARE * begin.elapsed());
                sample(elapsed(&conductor), total.executions, report.findings.len(), forecast);
                let told = conductor.as_mut();
                interrupted = told.is_some_and(|c| c.pause(total.executions, report.findings.len(), forecast));
                skip = total.executions + total.blocked;
                if found.borrow().is_none() && !interrupted {
                    continue;
                }
            }
            let Some(noticed) = found.into_inner() else { break };
            let invalid = matches!(noticed.kind, FindingKind::Nondeterminism);
            let ends = invalid || !self.check.keep_going;
            // An execution that showed how long a loop is does not count: the search has begun again behind it.
            report.failing += u64::from(summary.executions > 0 || ends);
            let new = !report.findings.iter().any(|f: &Finding| f.is_like(&noticed));
            if new && report.findings.len() < MOST_FINDINGS {
                let finding = self.confirm(noticed, report.findings.len() + 1);
                report.findings.push(finding);
            }
            let over = skip >= most || max_time.is_some_and(|most| elapsed(&conductor) >= most);
            if invalid || !self.check.keep_going || over {
                // It ends by itself.
                interrupted = false;
                break;
            }
            if interrupted {
                break;
            }
        }
        if !total.exhausted && report.findings.is_empty() {
            // The budget may have been just enough.
            total.exhausted = strategy.plan().is_none();
        }
        if let Some(keeping) = keeping.as_mut().filter(|_| begins) {
            self.keep(keeping, &mut *strategy, &report, (&total, elapsed(&conductor)), Some(!interrupted));
        }
        if exhaustive && begins && !total.exhausted && report.findings.is_empty() {
            let found = RefCell::new(None);
            let mut watch = Watch { target: &mut self.executor, races: Vec::new(), found: &found };
            let end = Instant::now() + MOMENT;
            let is_over = || Instant::now() >= end;
            let effort = Effort::at_the_end(total.executions, total.steps).until(&is_over);
            let mut done = total;
            forecast(&mut foresight, &mut watch, &mut *strategy, &mut done, effort, &mut report);
            if let Some(noticed) = found.into_inner() {
                // It looked into what was left, and found something there.
                report.failing += 1;
                let finding = self.confirm(noticed, 1);
                report.findings.push(finding);
                interrupted &= self.check.keep_going;
            }
        }
        if let Some(Err(error)) = trace.map(TraceFile::finish) {
            report.trouble = Some(format!("the exploration trace is not complete: {error}"));
        }
        // What misbehaved in a search that was to begin again was run, too.
        report.executions = total.executions.max(report.failing);
        (report.blocked, report.steps) = (total.blocked, total.steps);
        (report.threads, report.depth) = (total.threads, total.depth);
        report.elapsed = elapsed(&conductor);
        let explored = total.exhausted && strategy.coverage() == Coverage::Everything;
        report.blind_spot = self.executor.sight().blind_spot();
        let verified = explored && report.blind_spot.is_none();
        report.bound_reached = total.exhausted && strategy.coverage() == Coverage::Bound;
        report.verdict = if !report.findings.is_empty() {
            Verdict::Finding
        } else if verified {
            Verdict::Verified
        } else {
            Verdict::NoFinding
        };
        if explored {
            report.estimate = Some(Estimate::exact(total.executions));
        }
        sample(report.elapsed, total.executions, report.findings.len(), report.estimate);
        let crossings = if explored || !exhaustive { Vec::new() } else { crossings(&*strategy) };
        let path = self.describe_path(&crossings);
        let mut run = record::run(&report, total.exhausted, interrupted, progress.done(), path);
        run.notes.extend(keeping.into_iter().flat_map(|keeping| keeping.notes));
        if let Some(directory) = self.check.directory.as_deref().filter(|_| !report.findings.is_empty()) {
            record::keep(&run, directory);
        }
        finish(conductor, run);
        report
    }

    /// The path that the search was on, in words: the program follows it once more for that.
    fn describe_path(&mut self, crossings: &[Crossing]) -> Vec<Branch> {
        let prefix: Vec<Planned> = crossings.iter().map(|c| Planned { transition: c.taken, op: None }).collect();
        if crossings.is_empty() {
            return Vec::new();
        }
        self.run_schedule(&prefix);
        let (words, execution) = (&self.executor, self.executor.execution());
        if matches!(execution.end, End::Diverged(_)) {
            return Vec::new();
        }
        let told = crossings.iter().enumerate();
        told.map(|(depth, c)| branch(words, execution, depth, c.taken, &c.explored, &c.left)).collect()
    }

    /// Runs the program twice in the same order, before anything else: if it does not do the same, nothing that an exploration
    /// says about it would hold.
    fn try_twice(&mut self) -> Option<Noticed> {
        let first = self.run_schedule(&[]).0.map(|n| n.kind);
        if !matches!(self.executor.execution().end, End::Complete | End::Deadlock(_)) {
            return None;
        }
        let prefix = ordain_explore::prefix_of(self.executor.execution());
        let again = match self.run_schedule(&prefix).0 {
            Some(noticed) if noticed.kind == FindingKind::Nondeterminism => return Some(noticed),
            again => again.map(|n| n.kind),
        };
        let ended = |kind: &Option<FindingKind>| kind.as_ref().map_or("well", |kind| kind.title());
        let steps = self.executor.execution().steps.len();
        (steps > prefix.len() || first != again).then(|| {
            let message = format!(
                "the program ran twice in the same order; it ended first after {} steps ({}), then after {steps} ({}). {}",
                prefix.len(),
                ended(&first),
                ended(&again),
                finding::NONDETERMINISM_ADVICE
            );
            Noticed { kind: FindingKind::Nondeterminism, message, place: String::new(), prefix }
        })
    }

    fn empty_report(&self) -> Report {
        Report {
            name: self.name.clone(),
            verdict: Verdict::NoFinding,
            strategy: match self.check.bound {
                Some(Bound::Preemptions(n)) => format!("preemption bound {n}"),
                Some(Bound::Delays(n)) => format!("delay bound {n}"),
                None => self.strategy.name().to_owned(),
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
            bound_reached: false,
            estimate: None,
            trouble: None,
            blind_spot: None,
            options: self.check.options,
        }
    }

    /// Runs the schedule that the user asked for.
    fn replay(mut self, replay: Replay) -> Report {
        let mut report = self.empty_report();
        report.strategy = format!("replay of {}", replay.source);
        let schedule = match replay.schedule {
            Ok(schedule) => schedule,
            Err(reason) => panic!("ordain: cannot replay {}: {reason}", replay.source),
        };
        let transitions = schedule.transitions(self.executor.names_mut());
        let prefix: Vec<Planned> = transitions.into_iter().map(|transition| Planned { transition, op: None }).collect();
        let (noticed, preemptions) = self.run_schedule(&prefix);
        report.executions = 1;
        report.depth = self.executor.execution().steps.len();
        report.steps = report.depth as u64;
        report.threads = self.executor.execution().thread_count();
        report.elapsed = self.started.elapsed();
        if let Some(mut noticed) = noticed {
            report.failing = 1;
            if let End::Diverged(divergence) = &self.executor.execution().end {
                noticed.message = finding::departure(&self.executor, divergence, schedule.get("found"));
            }
            report.findings.push(self.describe(noticed, 0, &preemptions, None));
            report.verdict = Verdict::Finding;
        }
        report
    }
}

/// Estimates how many executions there are in all, and runs the program in a few random orders for that.
fn forecast(
    foresight: &mut Foresight,
    watch: &mut Watch<'_>,
    strategy: &mut dyn ordain_explore::Strategy,
    total: &mut Summary,
    effort: Effort<'_>,
    report: &mut Report,
) -> Option<Estimate> {
    let found = watch.found;
    let mut look =
        |_: &mut Watch<'_>| if found.borrow().is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
    match foresight.forecast(watch, strategy, total.executions, effort, &mut look) {
        Forecast::Estimate(Some(Total { ln, low, high, done })) => {
            report.estimate = Some(Estimate::from_ln(ln, low, high, done));
        }
        Forecast::Estimate(None) | Forecast::Broken => {}
        Forecast::Restarted => *total = Summary { executions: 0, blocked: 0, ..*total },
    }
    report.estimate
}

/// What an execution showed, before it is confirmed and described.
pub(crate) struct Noticed {
    pub(crate) kind: FindingKind,
    pub(crate) message: String,
    /// Where it happened, to tell findings of one kind apart.
    pub(crate) place: String,
    pub(crate) prefix: Vec<Planned>,
}

impl Noticed {
    fn is_like(&self, other: &Self) -> bool {
        self.kind == other.kind && self.place == other.place
    }
}

/// Looks at every execution for misbehaviour.
struct Watch<'a> {
    target: &'a mut Executor,
    races: Vec<ordain_model::DataRace>,
    found: &'a RefCell<Option<Noticed>>,
}

impl Target for Watch<'_> {
    fn run(&mut self, plan: &mut Plan<'_>) {
        self.target.run(plan);
        if let Some(noticed) = finding::notice(self.target, &mut self.races) {
            self.found.replace(Some(noticed));
        }
    }

    fn execution(&self) -> &ordain_model::Execution {
        self.target.execution()
    }

    fn names(&self) -> &ordain_model::Names {
        self.target.names()
    }
}
