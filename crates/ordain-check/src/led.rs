//! Exploring with any target, by leading it from plan to plan.

use crate::explorer::Explorer;
use crate::limit::Limit;
use crate::shared_frontier::SharedFrontier;
use crate::trace_file::TraceFile;
use crate::turn::{Allowance, Job, Recognition, Turn, Wanted};
use ordain_explore::branch_point::branch_points;
use ordain_explore::classes::Classes;
use ordain_explore::estimate::{Effort, Forecast, Foresight};
use ordain_explore::frontier::{Divisible, Done, Explored, Order, Rule, Signals, explore_connected, explore_fragment};
use ordain_explore::strategy::{Bounded, Mixed, Optimal, Portfolio, Source};
use ordain_explore::{Coverage, Fingerprint, Stop, Strategy, Summary, search};
use ordain_model::{End, Execution};
use ordain_report::Kind;
use std::ops::ControlFlow;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// A worker gives back what is left after this part of its slice, and soon, if others have nothing to do.
const HUNGRY: u32 = 4;
const SOON: Duration = Duration::from_micros(250);
/// How long an estimate may take beside a search, and at its end.
const BESIDE: Duration = Duration::from_secs(1);
const AT_THE_END: Duration = Duration::from_millis(250);
/// So many executions are all looked at for how much of them is visible; then one in so many.
const FIRST: u64 = 64;
const OFTEN: u64 = 16;

/// Leads a target.
#[derive(Default)]
pub(crate) struct Led {
    /// How the search as a whole goes.
    whole: Option<Box<dyn Strategy>>,
    /// How fragments are explored.
    parts: Option<Box<dyn Divisible>>,
    /// What the search as a whole begins with, if not with nothing.
    rest: Option<Order>,
    foresight: Foresight,
    /// What had been done when it was last estimated how much there is.
    foreseen: Summary,
    /// What was told already.
    told: Vec<(Kind, String)>,
    fingerprint: Fingerprint,
    /// The classes with which samples are compared.
    classes: Option<Classes>,
    /// Where the search is written down.
    pub(crate) trace: Option<TraceFile>,
}

/// The other workers of the same search, for one of them.
#[derive(Clone, Copy)]
pub(crate) struct Peers<'a> {
    pub(crate) signals: &'a Signals,
    pub(crate) frontier: &'a SharedFrontier,
}

/// What is looked at after each execution of a turn.
struct Watch<'a> {
    job: &'a Job,
    turn: Turn,
    told: &'a mut Vec<(Kind, String)>,
    foresight: &'a mut Foresight,
    fingerprint: &'a mut Fingerprint,
    classes: Option<&'a Classes>,
    clock: Clock,
}

/// Whether the class of an execution says something: held threads make rounds that are not all explored.
fn is_comparable(execution: &Execution) -> bool {
    !execution.spin_held && !matches!(execution.end, End::Cut | End::Interrupted | End::Diverged(_))
}

impl Watch<'_> {
    /// Looks at the last execution; breaks off if it is worth telling, or the time is over.
    fn look<E: Explorer>(
        &mut self,
        explorer: &mut E,
        summary: &Summary,
        is_over: &mut dyn FnMut(Duration) -> bool,
    ) -> ControlFlow<()> {
        let late = self.clock.strikes().is_some_and(is_over);
        let go_on = if late { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
        let held = explorer.has_held();
        let execution = explorer.execution();
        let turn = &mut self.turn;
        if summary.executions == 0 && summary.restarted {
            // Nothing that was explored before counts.
            turn.classes.clear();
            (turn.failing, turn.took_turns) = (0, false);
        }
        let counted = summary.executions;
        if counted <= FIRST || counted.is_multiple_of(OFTEN) {
            turn.summary.visible = turn.summary.visible.max(execution.visible());
        }
        turn.summary.spun |= held;
        turn.took_turns |= execution.took_turns && counted > 0;
        if self.job.foresees {
            self.foresight.hear(execution);
        }
        match self.job.recognition {
            Recognition::Noted if counted > 0 && is_comparable(execution) => {
                turn.classes.push(self.fingerprint.key_of(execution));
            }
            Recognition::Compared => {
                let known = self.classes.filter(|_| is_comparable(execution));
                turn.unexplored =
                    known.is_some_and(|classes| classes.is_unexplored(self.fingerprint.key_of(execution)));
            }
            _ => {}
        }
        turn.learned = execution.learned;
        match &execution.end {
            End::Cut => return go_on,
            End::Diverged(divergence) => {
                turn.departure = Some(divergence.clone());
                return ControlFlow::Break(());
            }
            _ => {}
        }
        if explorer.is_over() || explorer.failure().is_some() {
            return ControlFlow::Break(());
        }
        if let Some(observation) = explorer.observe() {
            turn.failing += u64::from(counted > 0);
            if !self.told.iter().any(|(kind, place)| *kind == observation.kind && *place == observation.place) {
                self.told.push((observation.kind, observation.place.clone()));
                turn.observation = Some(observation);
                return ControlFlow::Break(());
            }
        }
        let compared = self.job.recognition == Recognition::Compared;
        if compared && (turn.unexplored || turn.learned) || explorer.waits_for_memory().is_some() {
            return ControlFlow::Break(());
        }
        go_on
    }
}

impl Led {
    /// Forgets what was explored as a whole; the next turn begins anew.
    pub(crate) fn restart(&mut self) {
        self.whole = None;
    }

    /// What the search as a whole begins with from now on.
    pub(crate) fn begin_with(&mut self, rest: Option<Order>) {
        self.rest = rest;
    }

    /// The same, unless it has begun.
    pub(crate) fn begin_with_unless_begun(&mut self, rest: Option<Order>) {
        if self.whole.is_none() {
            self.rest = rest;
        }
    }

    /// With which classes samples are compared.
    pub(crate) fn know_classes(&mut self, classes: &Classes) {
        self.classes = Some(classes.clone());
    }

    fn begin<E: Explorer>(
        &mut self,
        explorer: &mut E,
        job: &Job,
        before: u64,
    ) -> Result<Box<dyn Strategy>, E::Failure> {
        if job.recognition == Recognition::Compared {
            return Ok(Box::new(Mixed::new(job.seed)));
        }
        let mut strategy: Box<dyn Strategy> = match job.bound {
            Some(bound) => Box::new(Bounded::new(bound)),
            None => job.strategy.make(job.seed, job.depth),
        };
        if let (Some(order), Some(divisible)) = (&self.rest, strategy.divisible()) {
            explorer.take_over(order)?;
            explorer.learn(&order.task.loops);
            divisible.load(&order.task.fragment);
            divisible.go_on_after(before);
        }
        Ok(match &self.trace {
            Some(trace) if job.foresees => trace.trace(strategy),
            _ => strategy,
        })
    }

    /// Explores the search as a whole for a turn.
    pub(crate) fn explore_whole<E: Explorer>(
        &mut self,
        explorer: &mut E,
        job: &Job,
        allowance: &Allowance,
        limit: &Limit,
    ) -> Result<Turn, E::Failure> {
        let mut strategy = match self.whole.take() {
            Some(strategy) => strategy,
            None => self.begin(explorer, job, allowance.before)?,
        };
        let late = limit.clone();
        strategy.stop_when(Stop::when(move || late.is_over()));
        let mut turn = Turn::default();
        if allowance.executions > 0 {
            let mut watch = self.watch(job);
            let summary = search(explorer, &mut *strategy, &mut |explorer, summary| {
                let enough = summary.executions >= allowance.executions;
                let looked = watch.look(explorer, summary, &mut |time| time >= allowance.time || limit.is_over());
                if enough { ControlFlow::Break(()) } else { looked }
            });
            turn = watch.turn;
            turn.summary = Summary { visible: turn.summary.visible, spun: turn.summary.spun, ..summary };
            if summary.restarted {
                self.foresight.restart();
                self.foreseen = Summary::default();
            }
            if explorer.is_over() {
                if !matches!(explorer.execution().end, End::Interrupted) {
                    // The last execution did not end.
                    turn.summary.executions = turn.summary.executions.saturating_sub(1);
                }
                self.whole = Some(strategy);
                return Ok(turn);
            }
            if let Some(failure) = explorer.failure() {
                return Err(failure);
            }
            turn.coverage = summary.exhausted.then(|| strategy.coverage());
        }
        let goes_on = turn.departure.is_none() && turn.observation.is_none() && turn.coverage.is_none();
        if goes_on && allowance.forecast != Wanted::No {
            self.forecast(explorer, &mut *strategy, allowance, limit, &mut turn)?;
        }
        if turn.observation.is_some() || allowance.forecast != Wanted::No {
            turn.branch_points = branch_points(&*strategy);
        }
        if allowance.keep {
            let left = strategy.divisible().map(|divisible| divisible.unload());
            turn.explored = left.map(|left| Explored { loops: explorer.lessons().to_vec(), ..left });
        }
        self.whole = Some(strategy);
        Ok(turn)
    }

    /// Estimates how much there is, and runs the program in a few random orders for that.
    fn forecast<E: Explorer>(
        &mut self,
        explorer: &mut E,
        strategy: &mut dyn Strategy,
        allowance: &Allowance,
        limit: &Limit,
        turn: &mut Turn,
    ) -> Result<(), E::Failure> {
        let best = allowance.forecast == Wanted::Best;
        let done = allowance.before + turn.summary.executions;
        let since =
            [done.saturating_sub(self.foreseen.executions), turn.summary.steps.saturating_sub(self.foreseen.steps)];
        let effort = if best { Effort::at_the_end(done, since[1]) } else { Effort::beside(since[0], since[1]) };
        let end = Instant::now() + if best { AT_THE_END } else { limit.left().min(BESIDE).max(AT_THE_END) };
        let is_over = || Instant::now() >= end;
        let told = &self.told;
        let mut shown = None;
        let forecast = self.foresight.forecast(explorer, strategy, done, effort.until(&is_over), &mut |explorer| {
            shown =
                explorer.observe().filter(|o| !told.iter().any(|(kind, place)| *kind == o.kind && *place == o.place));
            let over = shown.is_some() || explorer.is_over() || explorer.failure().is_some();
            if over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        if let Some(failure) = explorer.failure().filter(|_| !explorer.is_over()) {
            return Err(failure);
        }
        match forecast {
            Forecast::Estimate(estimate) => turn.estimate = estimate,
            Forecast::Restarted => {
                (turn.summary.restarted, turn.summary.executions, turn.summary.blocked) = (true, 0, 0);
                turn.classes.clear();
            }
            Forecast::Broken => {}
        }
        self.foreseen = Summary { executions: done, ..Summary::default() };
        if let Some(observation) = shown {
            self.told.push((observation.kind, observation.place.clone()));
            turn.failing += 1;
            turn.observation = Some(observation);
        }
        Ok(())
    }

    fn watch<'a>(&'a mut self, job: &'a Job) -> Watch<'a> {
        Watch {
            job,
            turn: Turn::default(),
            told: &mut self.told,
            foresight: &mut self.foresight,
            fingerprint: &mut self.fingerprint,
            classes: self.classes.as_ref(),
            clock: Clock::begin(),
        }
    }

    /// Explores a fragment.
    pub(crate) fn explore_fragment<E: Explorer>(
        &mut self,
        explorer: &mut E,
        job: &Job,
        order: &Order,
        allowance: &Allowance,
        peers: Option<Peers<'_>>,
        limit: &Limit,
    ) -> Result<Turn, E::Failure> {
        let task = &order.task;
        explorer.take_over(order)?;
        if let Some(done) = task.outdated(explorer.lessons()) {
            return Ok(Turn { done: Some(done), ..Turn::default() });
        }
        let known = explorer.lessons().len();
        explorer.learn(&task.loops);
        if explorer.lessons().len() != known {
            // The search has begun again.
            self.foresight.restart();
        }
        let mut strategy = match self.parts.take() {
            Some(strategy) => strategy,
            None => job.strategy.make_divisible(job.seed.wrapping_add(job.worker)).unwrap_or_else(|| divisible(job)),
        };
        let patience = (allowance.time / HUNGRY).min(SOON);
        let mut watch = self.watch(job);
        let mut look = |explorer: &mut E, summary: &Summary| {
            let stopped = || peers.is_some_and(|peers| peers.signals.stop.load(Relaxed));
            let hungry = || peers.is_some_and(|peers| peers.signals.hungry.load(Relaxed) > 0);
            let looked = watch.look(explorer, summary, &mut |time| {
                time >= allowance.time || stopped() || time >= patience && hungry() || limit.is_over()
            });
            if summary.executions >= allowance.executions { ControlFlow::Break(()) } else { looked }
        };
        let (mut explored, summary) = match peers.map(|peers| peers.frontier.connect(task)) {
            Some(connection) => explore_connected(explorer, &mut *strategy, &task.fragment, connection, &mut look),
            None => explore_fragment(explorer, &mut *strategy, &task.fragment, &mut look),
        };
        let mut turn = watch.turn;
        self.parts = Some(strategy);
        turn.summary = Summary { visible: turn.summary.visible, spun: turn.summary.spun, ..summary };
        if let Some(failure) = explorer.failure() {
            return Err(failure);
        }
        if turn.departure.is_some() {
            return Ok(turn);
        }
        if allowance.forecast != Wanted::No && turn.observation.is_none() && !summary.restarted {
            self.forecast_from_the_beginning(explorer, &summary, limit, &mut turn)?;
        }
        explored.loops = explorer.lessons().to_vec();
        let births = explorer.names().births(task.names).collect();
        turn.done = Some(Done { lease: task.lease, explored, names: task.names, births, summary: turn.summary });
        Ok(turn)
    }

    /// Estimates how much there is in all, for whoever knows a part only. It ends early if it meets something worth telling.
    fn forecast_from_the_beginning<E: Explorer>(
        &mut self,
        explorer: &mut E,
        summary: &Summary,
        limit: &Limit,
        turn: &mut Turn,
    ) -> Result<(), E::Failure> {
        let mut strategy = Optimal::default();
        let Some(mut plan) = strategy.plan() else { return Ok(()) };
        explorer.run(&mut plan);
        if explorer.observe().is_some() || explorer.execution().learned || explorer.failure().is_some() {
            return Ok(());
        }
        strategy.learn(explorer.execution());
        let allowance =
            Allowance { before: 1, executions: 0, time: Duration::ZERO, forecast: Wanted::Rough, keep: false };
        let mut beside = Turn { summary: Summary { steps: summary.steps, ..Summary::default() }, ..Turn::default() };
        self.foreseen = Summary::default();
        self.forecast(explorer, &mut strategy, &allowance, limit, &mut beside)?;
        turn.estimate = beside.estimate;
        if beside.observation.is_some() {
            turn.observation = beside.observation;
            turn.failing += 1;
        }
        Ok(())
    }

    /// Whether nothing is left although the budget ended the search: it may have been just enough.
    pub(crate) fn is_exhausted(&mut self) -> Option<Coverage> {
        let strategy = self.whole.as_mut()?;
        if strategy.plan().is_some() {
            return None;
        }
        Some(strategy.coverage())
    }
}

fn divisible(job: &Job) -> Box<dyn Divisible> {
    match job.strategy.rule() {
        Some(Rule::Source) => Box::new(Source::default()),
        Some(Rule::Optimal) | None if job.strategy == ordain_explore::strategy::Kind::Portfolio => {
            Box::new(Portfolio::new(job.seed))
        }
        Some(Rule::Optimal) | None => Box::new(Optimal::default()),
    }
}

/// Looks at the time now and then: after each execution if they are long, after some if they are short.
struct Clock {
    begun: Instant,
    last: Instant,
    stride: u32,
    left: u32,
}

/// The time is looked at after so much of it, and after so many executions.
const SHORT: Duration = Duration::from_micros(50);
const MOST_STRIDE: u32 = 64;

impl Clock {
    fn begin() -> Self {
        let now = Instant::now();
        Self { begun: now, last: now, stride: 1, left: 1 }
    }

    /// The time since the beginning, if it is to be looked at now.
    #[inline]
    fn strikes(&mut self) -> Option<Duration> {
        self.left -= 1;
        if self.left > 0 {
            return None;
        }
        let now = Instant::now();
        let since = now - self.last;
        self.stride = if since < SHORT { (self.stride * 2).min(MOST_STRIDE) } else { (self.stride / 2).max(1) };
        (self.last, self.left) = (now, self.stride);
        Some(now - self.begun)
    }
}
