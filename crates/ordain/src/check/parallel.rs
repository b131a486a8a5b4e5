//! Checks with several workers: each explores parts of the search on a thread of its own.
//!
//! Every worker has its own executions and names; the thread of the check keeps the controller and confirms what workers notice.

use super::{Check, DEFAULT_SAMPLES, MOMENT, MOST_FINDINGS, Noticed, Run, SHARED, Watch};
use crate::record;
use crate::replay;
use crate::report::{Report, Verdict};
use crate::rt::{self, Executor};
use ordain_explore::estimate::{Effort, Estimate as Total, Forecast, Foresight};
use ordain_explore::frontier::{
    Accepted, Controller, Divisible, Done, Drive, Explored, Hire, Order, Pace, Signals, Worker, drive,
    explore_connected,
};
use ordain_explore::strategy::{Chunk, Deal, InOrder, Kind, Optimal, Portfolio};
use ordain_explore::{Planned, Strategy as _, Summary, Target, search};
use ordain_model::Transition;
use ordain_report::Estimate;
use std::cell::RefCell;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// What is to be done elsewhere is told at once, so workers need not come back soon.
const PACE: Pace = Pace { least: 20_000, ..Pace::LOCAL };
/// A worker gives back what is left after this part of its time, and soon, if others have nothing to do.
const HUNGRY: u32 = 4;
const SOON: Duration = Duration::from_micros(250);

/// A check with several workers: made by [`Check::workers`].
#[derive(Clone, Debug)]
#[must_use = "a check does nothing until it is run"]
pub struct ParallelCheck {
    check: Check,
    workers: usize,
}

impl Check {
    /// Explores with so many workers at the same time, each on a thread of its own; zero is one for each core. No class is explored twice,
    /// and none is left out, however many they are. `optimal`, `source` and `portfolio` are divided, so which finding comes first
    /// may depend on timing; samplers find what one worker finds, unless time ends the check; other strategies and bounds use one worker.
    ///
    /// The workers run the program at the same time, so it must be `Send` and `Sync`. A program that uses locks or channels made outside of it
    /// (statics, or captured by the closure) is explored by one worker, because all would share their values.
    ///
    /// ```
    /// let report = ordain::Check::new().workers(2).run(|| {
    ///     // the program
    /// });
    /// # assert_eq!(report.executions, 1);
    /// ```
    pub fn workers(self, workers: usize) -> ParallelCheck {
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        ParallelCheck { check: self, workers: if workers == 0 { cores() } else { workers } }
    }
}

impl ParallelCheck {
    /// Runs the check.
    ///
    /// # Panics
    /// If it is called inside a check, or with options that contradict each other.
    #[track_caller]
    pub fn run(self, program: impl Fn() + Send + Sync + 'static) -> Report {
        let Self { check, workers } = self;
        let strategy = check.effective_strategy();
        let divisible = check.bound.is_none() && (strategy.samples() || strategy.rule().is_some());
        let name = check.effective_name();
        let led = replay::requested(&name).is_some() || crate::conduct::is_conducted();
        if workers <= 1 || !divisible || led || rt::active() || check.exploration_trace.is_some() {
            return check.run(program);
        }
        rt::install_hook();
        let program: Arc<dyn Fn() + Send + Sync> = Arc::new(program);
        let executor = check.executor(&program);
        let run = Run { check: &check, name, strategy, executor, started: Instant::now() };
        run.explore_in_parallel(&program, workers)
    }
}

impl Check {
    fn executor(&self, program: &Arc<dyn Fn() + Send + Sync>) -> Executor {
        let program = program.clone();
        Executor::new(self.options, self.stack_size, Rc::new(move || program()))
    }
}

/// What workers share.
struct Common<'a> {
    check: &'a Check,
    strategy: Kind,
    program: &'a Arc<dyn Fn() + Send + Sync>,
    /// Executions that were made, and how many may be.
    runs: AtomicU64,
    most: u64,
    deadline: Option<Instant>,
    /// What the check does not see of the program.
    sight: Arc<rt::Sight>,
}

impl Common<'_> {
    fn executor(&self) -> Executor {
        self.check.executor(self.program).with_sight(&self.sight)
    }

    /// Counts an execution; true if it was the last that may be made.
    fn is_over(&self) -> bool {
        self.runs.fetch_add(1, Relaxed) + 1 >= self.most || self.deadline.is_some_and(|d| Instant::now() >= d)
    }

    /// Whether no execution may be made any more.
    fn is_spent(&self) -> bool {
        self.runs.load(Relaxed) >= self.most || self.deadline.is_some_and(|d| Instant::now() >= d)
    }
}

/// What an execution of a worker showed: its threads are known by their places in the tree of births.
#[derive(Default)]
struct Heard {
    noticed: Option<(Noticed, Vec<Vec<u32>>)>,
    failing: u64,
    spun: bool,
}

impl Heard {
    /// Whether a check is over with it.
    fn ends(&self, check: &Check) -> bool {
        let noticed = self.noticed.as_ref();
        noticed.is_some_and(|(n, _)| !check.keep_going || n.kind == ordain_report::Kind::Nondeterminism)
    }
}

/// The schedule of what was noticed elsewhere, with the numbers that threads have here.
fn at_home(executor: &mut Executor, (noticed, lineages): (Noticed, Vec<Vec<u32>>)) -> Noticed {
    let names = executor.names_mut();
    let prefix = noticed.prefix.iter().zip(&lineages).map(|(planned, lineage)| Planned {
        transition: Transition { thread: names.descendant(lineage), ..planned.transition },
        op: None,
    });
    let prefix = prefix.collect();
    Noticed { prefix, ..noticed }
}

/// One that explores.
struct Crew<'a> {
    common: &'a Common<'a>,
    executor: Executor,
    strategy: Option<Box<dyn Divisible>>,
    /// What was told already.
    told: Vec<(ordain_report::Kind, String)>,
}

impl<'a> Crew<'a> {
    fn new(common: &'a Common<'a>, number: u64) -> Self {
        let strategy = common.strategy.make_divisible(common.check.seed.wrapping_add(number));
        Self { common, executor: common.executor(), strategy, told: Vec::new() }
    }

    /// Lets `explore` go on until something is new.
    fn watch<R>(
        &mut self,
        mut explore: impl FnMut(&mut Watch<'_>, &mut dyn FnMut(&mut Watch<'_>) -> ControlFlow<()>) -> R,
    ) -> (R, Heard) {
        let found = RefCell::new(None);
        let mut heard = Heard::default();
        let Self { executor, told, common, .. } = self;
        let mut watch = Watch { target: executor, races: Vec::new(), found: &found };
        let result = explore(&mut watch, &mut |target| {
            heard.spun |= target.execution().spin_held;
            let over = common.is_over();
            let Some(noticed) = found.take() else {
                return if over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
            };
            heard.failing += 1;
            if told.iter().any(|(kind, place)| *kind == noticed.kind && *place == noticed.place) {
                return if over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
            }
            told.push((noticed.kind, noticed.place.clone()));
            let lineages = noticed.prefix.iter().map(|p| target.names().lineage(p.transition.thread)).collect();
            heard.noticed = Some((noticed, lineages));
            ControlFlow::Break(())
        });
        (result, heard)
    }
}

/// What a worker tells of a chunk of samples.
enum Told {
    /// It has gone on.
    Part(Summary, Heard),
    /// That is all.
    Complete,
    /// The program uses values that workers share.
    Shares,
}

impl Crew<'_> {
    /// Draws a chunk of samples; `None` if nobody listens any more.
    fn draw(&mut self, chunk: &Chunk, deal: &Deal, stop: &AtomicBool, tell: &dyn Fn(Told) -> Option<()>) -> Option<()> {
        let common = self.common;
        let mut strategy = common.strategy.make(chunk.seed, common.check.pct_depth);
        let (mut drawn, mut ends) = (0, false);
        let is_over = || stop.load(Relaxed) || !deal.matters(chunk.number);
        while drawn < chunk.samples && !ends {
            if is_over() || common.is_spent() {
                return Some(());
            }
            let (summary, heard) = self.watch(|watch, look| {
                search(watch, &mut *strategy, &mut |target, summary| {
                    let looked = look(target);
                    let over = drawn + summary.executions >= chunk.samples || is_over();
                    if over { ControlFlow::Break(()) } else { looked }
                })
            });
            if self.executor.shares_values() {
                return tell(Told::Shares);
            }
            drawn += summary.executions;
            ends = heard.ends(common.check);
            if ends {
                deal.end_with(chunk.number);
            }
            tell(Told::Part(summary, heard))?;
        }
        tell(Told::Complete)
    }
}

impl Worker for Crew<'_> {
    type Extra = Heard;

    fn explore(&mut self, order: &Order, signals: &Signals) -> Result<(Done, Heard), String> {
        let task = &order.task;
        if self.common.is_spent() || signals.stop.load(Relaxed) {
            // It is over, and only nobody has noticed yet.
            let explored = Explored { loops: task.loops.clone(), ..Explored::default() };
            let (names, births, summary) = (task.names, Vec::new(), Summary::default());
            return Ok((Done { lease: task.lease, explored, names, births, summary }, Heard::default()));
        }
        if !self.executor.take_over(&order.births) {
            self.executor = self.common.executor();
            if !self.executor.take_over(&order.births) {
                return Err("the names of threads and objects cannot be taken over".into());
            }
        }
        if let Some(done) = task.outdated(self.executor.long_loops()) {
            return Ok((done, Heard::default()));
        }
        for site in &task.loops {
            self.executor.know_long_loop(*site);
        }
        let Some(desk) = &signals.desk else { return Err("the controller is elsewhere".into()) };
        let Some(mut strategy) = self.strategy.take() else { return Err("the strategy cannot be divided".into()) };
        let (begun, slice) = (Instant::now(), Duration::from_micros(task.slice));
        let patience = (slice / HUNGRY).min(SOON);
        let ((mut explored, summary), heard) = self.watch(|watch, look| {
            let line = desk.line(task);
            explore_connected(watch, &mut *strategy, &task.fragment, line, &mut |target, _| {
                let looked = look(target);
                let time = begun.elapsed();
                let hungry = signals.hungry.load(Relaxed) > 0 && time >= patience;
                let over = time >= slice || hungry || signals.stop.load(Relaxed);
                if over { ControlFlow::Break(()) } else { looked }
            })
        });
        self.strategy = Some(strategy);
        if self.executor.shares_values() {
            return Err(SHARED.into());
        }
        explored.loops = self.executor.long_loops().to_vec();
        let births = self.executor.names().births(task.names).collect();
        Ok((Done { lease: task.lease, explored, names: task.names, births, summary }, heard))
    }

    fn is_ordinary(&self, heard: &Heard) -> bool {
        heard.noticed.is_none() && heard.failing == 0 && !heard.spun
    }
}

impl Run<'_> {
    fn explore_in_parallel(mut self, program: &Arc<dyn Fn() + Send + Sync>, workers: usize) -> Report {
        let (strategy, check) = (self.strategy, self.check);
        let unlimited = check.max_executions.is_none() && check.max_time.is_none();
        let most = match check.max_executions {
            None if unlimited && strategy.samples() => DEFAULT_SAMPLES,
            most => most.unwrap_or(u64::MAX),
        };
        let mut report = self.empty_report();
        report.workers = workers;
        if most == 0 {
            return report;
        }
        if let Some(noticed) = self.try_twice() {
            report.executions = 2;
            report.failing = 1;
            report.findings.push(self.describe(noticed, 1, &[], None));
            report.verdict = Verdict::Finding;
            report.elapsed = self.started.elapsed();
            return report;
        }
        if self.executor.shares_values() {
            return self.explore(None, None);
        }
        let deadline = check.max_time.map(|most| self.started + most);
        let sight = self.executor.sight().clone();
        let common = Common { check, strategy, program, runs: AtomicU64::new(0), most, deadline, sight };
        let total = match strategy.rule() {
            Some(rule) => {
                let Some(total) = self.lead(Controller::new(rule, PACE), &common, workers, &mut report) else {
                    // Only now it showed that workers are in each other's way.
                    return self.explore(None, None);
                };
                total
            }
            None => match self.sample(&common, workers, &mut report) {
                Some(total) => total,
                None => return self.explore(None, None),
            },
        };
        // What misbehaved in a search that was to begin again was run, too.
        report.executions = total.executions.max(report.failing);
        (report.blocked, report.steps) = (total.blocked, total.steps);
        (report.threads, report.depth) = (total.threads, total.depth);
        let explored = total.exhausted && !strategy.samples();
        report.blind_spot = self.executor.sight().blind_spot();
        let verified = explored && report.blind_spot.is_none();
        if explored {
            report.estimate = Some(Estimate::exact(total.executions));
        } else if report.findings.is_empty() && !strategy.samples() {
            self.look_from_the_beginning(&total, &mut report);
        }
        report.verdict = match () {
            () if !report.findings.is_empty() => Verdict::Finding,
            () if verified => Verdict::Verified,
            () => Verdict::NoFinding,
        };
        report.elapsed = self.started.elapsed();
        if let Some(directory) = check.directory.as_deref().filter(|_| !report.findings.is_empty()) {
            record::keep(&record::run(&report, total.exhausted, false, Vec::new(), Vec::new()), directory);
        }
        report
    }

    /// Leads workers through a search that is divided. `None` if they are in each other's way.
    fn lead(
        &mut self,
        controller: Controller,
        common: &Common<'_>,
        workers: usize,
        report: &mut Report,
    ) -> Option<Summary> {
        let hire = |number: usize| -> Hire<'_, Crew<'_>> { Box::new(move || Crew::new(common, number as u64)) };
        let crew = (0..workers).map(hire).collect();
        let (mut stop, mut lost) = (false, false);
        // How many of the result that is being taken in misbehaved.
        let mut last = 0;
        let (controller, labour) =
            drive(controller, crew, Duration::ZERO, Duration::from_millis(100), &mut |_, told| {
                let accepted = !matches!(told, Drive::Result(..));
                match told {
                    // At the end others may have noticed something too.
                    Drive::Result(heard) if stop || lost => {
                        last = heard.failing;
                        report.failing += last;
                    }
                    Drive::Result(heard) => {
                        last = heard.failing;
                        stop |= self.hear(heard, report).is_break();
                    }
                    Drive::Accepted(Accepted::Counts) => last = 0,
                    // What has begun again is found again, unless it is over.
                    Drive::Accepted(Accepted::Restarted) if !stop => (report.failing, last) = (0, 0),
                    // So is what does not count.
                    Drive::Accepted(_) if !stop => report.failing -= std::mem::take(&mut last),
                    Drive::Lost(..) => {
                        lost = true;
                        return ControlFlow::Break(());
                    }
                    Drive::Accepted(_) | Drive::Tick => {}
                }
                // What the last result was about counts, so it is taken in before the end.
                if accepted && (stop || common.is_spent()) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
        let division = controller.division();
        report.crew = Some(ordain_report::Workers {
            count: workers,
            utilisation: labour.share(),
            fragments: division.results,
            released: division.released,
        });
        (!lost).then(|| controller.total())
    }

    /// Takes in what a worker noticed; breaks off if the check is over with it.
    fn hear(&mut self, heard: Heard, report: &mut Report) -> ControlFlow<()> {
        report.spun |= heard.spun;
        report.failing += heard.failing;
        let Some(noticed) = heard.noticed else { return ControlFlow::Continue(()) };
        let noticed = at_home(&mut self.executor, noticed);
        let invalid = matches!(noticed.kind, ordain_report::Kind::Nondeterminism);
        let new = !report.findings.iter().any(|f| f.is_like(&noticed));
        if new && report.findings.len() < MOST_FINDINGS {
            let finding = self.confirm(noticed, report.findings.len() + 1);
            report.findings.push(finding);
        }
        if invalid || !self.check.keep_going { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Lets workers sample, with the result that one worker would have: what is noticed in a chunk counts when all chunks before it are
    /// done. `None` if they are in each other's way.
    fn sample(&mut self, common: &Common<'_>, workers: usize, report: &mut Report) -> Option<Summary> {
        let deal = Deal::new(common.check.seed, common.most);
        // How many executions there are in all is up to the deal.
        let common = Common { runs: AtomicU64::new(0), most: u64::MAX, sight: common.sight.clone(), ..*common };
        let stop = AtomicBool::new(false);
        let (mut order, mut total, mut over) = (InOrder::default(), Summary::default(), false);
        let mut take = |(summary, heard): (Summary, Heard)| {
            if !over {
                total.add(&summary);
                over = self.hear(heard, report).is_break();
            }
            over
        };
        let (tell, told) = std::sync::mpsc::channel();
        let apart = std::thread::scope(|scope| {
            for number in 0..workers as u64 {
                let (common, deal, stop, tell) = (&common, &deal, &stop, tell.clone());
                scope.spawn(move || {
                    let mut crew = Crew::new(common, number);
                    while !stop.load(Relaxed)
                        && !common.is_spent()
                        && let Some(chunk) = deal.next()
                    {
                        let tell = |what| tell.send((chunk.number, what)).ok();
                        if crew.draw(&chunk, deal, stop, &tell).is_none() {
                            return;
                        }
                    }
                });
            }
            drop(tell);
            let mut apart = true;
            while let Ok((chunk, told)) = told.recv() {
                match told {
                    Told::Part(summary, heard) => order.tell(chunk, (summary, heard)),
                    Told::Complete => order.complete(chunk),
                    Told::Shares => {
                        apart = false;
                        stop.store(true, Relaxed);
                    }
                }
                while apart && let Some(part) = order.take() {
                    if take(part) {
                        stop.store(true, Relaxed);
                    }
                }
            }
            apart
        });
        // When time is over, what was noticed is told, though chunks before it are not done.
        for part in order.rest().take_while(|_| apart) {
            take(part);
        }
        apart.then_some(total)
    }

    /// Estimates how much there is in all: workers know only their parts.
    fn look_from_the_beginning(&mut self, total: &Summary, report: &mut Report) {
        let found = RefCell::new(None);
        let mut watch = Watch { target: &mut self.executor, races: Vec::new(), found: &found };
        let end = Instant::now() + MOMENT;
        let is_over = || Instant::now() >= end;
        let effort = Effort::at_the_end(total.executions, total.steps).until(&is_over);
        let samples = self.strategy == Kind::Portfolio;
        let samples = if samples { Portfolio::samples(total.executions, report.workers as u64) } else { 0 };
        let done = total.executions - samples;
        let estimate = forecast_from_the_beginning(&mut Foresight::default(), &mut watch, effort)
            .map(|e| Estimate::from_ln(e.ln, e.low, e.high, e.done))
            // It saw less of the program than the workers did. If they have done what it takes for all, it is wrong.
            .filter(|e| !e.is_refuted_by(done));
        report.estimate = estimate.map(|e| e.with_done(done));
        if let Some(noticed) = found.into_inner() {
            report.failing += 1;
            let finding = self.confirm(noticed, 1);
            report.findings.push(finding);
        }
    }
}

/// Estimates how much there is in all, for whoever knows a part only. It ends early if it meets something worth telling.
pub(super) fn forecast_from_the_beginning(
    foresight: &mut Foresight,
    watch: &mut Watch<'_>,
    effort: Effort<'_>,
) -> Option<Total> {
    let mut strategy = Optimal::default();
    watch.run(&mut strategy.plan()?);
    let found = watch.found;
    if found.borrow().is_some() || watch.execution().learned {
        return None;
    }
    strategy.learn(watch.execution());
    let mut look =
        |_: &mut Watch<'_>| if found.borrow().is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
    match foresight.forecast(watch, &mut strategy, 1, effort, &mut look) {
        Forecast::Estimate(estimate) => estimate,
        Forecast::Restarted | Forecast::Broken => None,
    }
}
