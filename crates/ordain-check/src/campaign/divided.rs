//! A search that is divided: workers explore fragments, each with an explorer of its own, and what is left can be kept and resumed.

use super::checkpoint::Checkpoint;
use super::confirm::explain_departure;
use super::{Attempt, Campaign, Explored};
use crate::Problem;
use crate::checkpoint::CheckpointTimer;
use crate::explorer::{Explorer, Observation};
use crate::led::Peers;
use crate::limit::Limit;
use crate::pool::{self, PoolWorker, Update, WorkerFactory};
use crate::resources::Measured;
use crate::shared_frontier::SharedFrontier;
use crate::turn::{Allowance, Job, Part, Turn, Wanted};
use crate::worker::Worker;
use ordain_explore::branch_point::BranchPoint;
use ordain_explore::frontier::{Accepted, Controller, Done, Order, Pace, Signals};
use ordain_explore::{Coverage, Planned, Summary};
use ordain_model::{Names, Site, Transition};
use ordain_report::{Estimate, Workers};
use std::ops::ControlFlow;
use std::sync::atomic::{
    AtomicBool, AtomicU64,
    Ordering::{Relaxed, SeqCst},
};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How often something is heard.
const TICK: Duration = Duration::from_millis(100);
/// How long to wait for executions that others have reserved, before looking again.
const WAIT: Duration = Duration::from_millis(1);
/// Losses in a row after which the program is led step by step.
const MOST_LOSSES: u32 = 3;

/// What workers share.
struct Common<F> {
    job: Job,
    workers: u64,
    /// Executions that may still be made, and workers that have taken a part of them.
    left: AtomicU64,
    busy: AtomicU64,
    limit: Limit,
    /// Somebody has begun, and somebody did not come back at the limit.
    begun: AtomicBool,
    cut_short: AtomicBool,
    /// The search is over for all, whatever they are doing.
    halt: Arc<AtomicBool>,
    /// Somebody should estimate how much there is.
    forecast: AtomicBool,
    /// Why nobody can go on.
    ended: Mutex<Option<Ended<F>>>,
}

/// Why a search ends before its time.
enum Ended<F> {
    Failure(F),
    /// The program departed from its plan; what that means.
    Departed(Result<String, Departure<F>>),
    /// Executions at the same time are in each other's way.
    Collision,
}

/// Why a departure has no meaning.
enum Departure<F> {
    Failure(F),
    Nondeterminism { step: usize, difference: String },
}

impl<F: std::error::Error + 'static> Departure<F> {
    fn problem(self) -> Problem<F> {
        match self {
            Self::Failure(failure) => Problem::Failure(failure),
            Self::Nondeterminism { step, difference } => Problem::Nondeterminism { step, difference },
        }
    }
}

/// What comes with the result of a worker.
pub(super) struct WorkerReport {
    /// What was observed, with what whoever leads must know for it.
    observation: Option<Portable<Observation>>,
    condition: Vec<u8>,
    /// Something was worth telling, and nothing could be seen of it.
    unexplained: Option<String>,
    /// What executions have taught the worker.
    lessons: Vec<Site>,
    /// Where the worker's search was.
    branch_points: Portable<Vec<BranchPoint>>,
    /// What was done.
    pub(super) summary: Summary,
    failing: u64,
    took_turns: bool,
    /// The classes that were explored.
    classes: Vec<u64>,
    cpu: Duration,
    estimate: Option<ordain_explore::estimate::Estimate>,
}

/// Something with threads in it, as another process numbers them: with the place of each in the tree of births.
struct Portable<T> {
    what: T,
    lineages: Vec<Vec<u32>>,
}

impl<T> Portable<T> {
    fn new(what: T, names: &Names, steps: impl FnOnce(&T) -> Vec<Transition>) -> Self {
        let lineages = steps(&what).into_iter().map(|t| names.lineage(t.thread)).collect();
        Self { what, lineages }
    }
}

fn each_transition(branch_points: &[BranchPoint]) -> Vec<Transition> {
    let each = branch_points
        .iter()
        .flat_map(|c| [c.taken].into_iter().chain(c.explored.iter().copied()).chain(c.left.iter().copied()));
    each.collect()
}

/// Gives the transitions of branch points the numbers that threads have here.
fn at_home(branch_points: Portable<Vec<BranchPoint>>, names: &mut Names) -> Vec<BranchPoint> {
    let mut lineages = branch_points.lineages.iter();
    let mut rename = |t: Transition| match lineages.next() {
        Some(lineage) => Transition { thread: names.descendant(lineage), ..t },
        None => t,
    };
    let mut renamed = |c: BranchPoint| BranchPoint {
        taken: rename(c.taken),
        explored: c.explored.into_iter().map(&mut rename).collect(),
        left: c.left.into_iter().map(&mut rename).collect(),
    };
    branch_points.what.into_iter().map(&mut renamed).collect()
}

/// One that explores fragments.
struct Member<'a, E: Explorer> {
    common: &'a Common<E::Failure>,
    worker: Worker<E>,
    number: u64,
    /// What was told already.
    told: Vec<Observation>,
    /// Dropped last, when what explored is gone.
    _measured: Measured,
}

impl<E: Explorer> Member<'_, E> {
    fn end(&self, ended: Ended<E::Failure>) -> String {
        let mut place = self.common.ended.lock().unwrap_or_else(PoisonError::into_inner);
        place.get_or_insert(ended);
        "the search ends".into()
    }

    /// Why no others may explore beside this one, or nobody at all with this strategy, if it has turned out so.
    fn has_ended(&self) -> Option<Ended<E::Failure>> {
        if let Some(why) = self.worker.explorer.waits_for_memory() {
            return Some(Ended::Departed(Ok(why)));
        }
        (self.worker.explorer.collides() && self.common.workers > 1).then_some(Ended::Collision)
    }

    /// Takes a part of the executions that may still be made. If others have taken them all, waits until they give some back, or it is
    /// over.
    fn reserve(&self, signals: &Signals) -> Result<u64, String> {
        let share = |left: u64| left.div_ceil(self.common.workers);
        let common = self.common;
        loop {
            common.busy.fetch_add(1, SeqCst);
            let taken = common.left.fetch_update(SeqCst, SeqCst, |left| Some(left - share(left)));
            let taken = taken.map_or(0, share);
            if taken > 0 {
                return Ok(taken);
            }
            common.busy.fetch_sub(1, SeqCst);
            if signals.stop.load(Relaxed) || common.is_spent() {
                return Err("it is over".into());
            }
            std::thread::sleep(WAIT);
        }
    }

    /// Gives back what was not needed.
    fn give_back(&self, executions: u64) {
        self.common.left.fetch_add(executions, SeqCst);
        self.common.busy.fetch_sub(1, SeqCst);
    }
}

impl<F> Common<F> {
    /// Whether no execution may be made any more, and nobody will give one back: what was made does not all count if the search had to
    /// begin again.
    fn is_spent(&self) -> bool {
        // In this order: who gives back does it before he is not busy any more.
        self.busy.load(SeqCst) == 0 && self.left.load(SeqCst) == 0
    }
}

impl<E: Explorer> PoolWorker for Member<'_, E> {
    type Report = WorkerReport;

    fn explore(
        &mut self,
        order: &Order,
        signals: &Signals,
        frontier: &SharedFrontier,
    ) -> Result<(Done, WorkerReport), String> {
        let common = self.common;
        if common.begun.swap(true, Relaxed) && common.limit.is_over() {
            return Err("the time is over".into());
        }
        let slice = Duration::from_micros(order.task.slice);
        let time = slice.min(common.limit.left());
        let executions = self.reserve(signals)?;
        let forecast = if common.forecast.swap(false, Relaxed) { Wanted::Rough } else { Wanted::No };
        let allowance = Allowance { before: 0, executions, time, forecast, keep: false };
        let job = Job { worker: self.number, ..common.job };
        let peers = Some(Peers { signals, frontier });
        let explored = self.worker.explore(&job, Part::Fragment(order), &allowance, peers, &common.limit);
        let mut turn = match explored {
            Ok(Some(turn)) => turn,
            Ok(None) => {
                common.cut_short.fetch_or(self.worker.explorer.is_over(), Relaxed);
                self.give_back(executions);
                let lost = self.worker.explorer.losses().1;
                return Err(lost.unwrap_or_else(|| "its process was started anew".into()));
            }
            Err(_) if self.worker.explorer.is_over() => {
                common.cut_short.store(true, Relaxed);
                self.give_back(executions);
                return Err("the time is over".into());
            }
            Err(failure) => return Err(self.end(Ended::Failure(failure))),
        };
        self.give_back(executions.saturating_sub(turn.summary.executions));
        if let Some(ended) = self.has_ended() {
            return Err(self.end(ended));
        }
        if let Some(divergence) = &turn.departure {
            let explained = explain_departure(&mut self.worker.explorer, divergence, &common.limit);
            let explained = explained.map_err(|problem| match problem {
                Problem::Failure(failure) => Departure::Failure(failure),
                Problem::Nondeterminism { step, difference } => Departure::Nondeterminism { step, difference },
                other => Departure::Nondeterminism { step: divergence.step, difference: other.to_string() },
            });
            return Err(self.end(Ended::Departed(explained)));
        }
        let Some(done) = turn.done.take() else { return Err("there is no result".into()) };
        Ok((done, WorkerReport::of(&self.worker.explorer, turn, &mut self.told)))
    }

    fn is_ordinary(&self, report: &WorkerReport) -> bool {
        let nothing = report.observation.is_none() && report.failing == 0 && !report.summary.spun && !report.took_turns;
        nothing && report.estimate.is_none() && report.classes.is_empty() && report.condition.is_empty()
    }
}

impl WorkerReport {
    /// Whether a check is over with it.
    pub(super) fn ends(&self, keep_going: bool) -> bool {
        self.unexplained.is_some() || self.observation.is_some() && !keep_going
    }

    /// What a turn brought, with what it observed unless that was told.
    pub(super) fn of<E: Explorer>(explorer: &E, turn: Turn, told: &mut Vec<Observation>) -> Self {
        let condition = explorer.tell_condition(turn.observation.is_some());
        let new = turn.observation.filter(|n| !told.iter().any(|t| t.is_like(n)));
        let branch_points =
            Portable::new(turn.branch_points, explorer.names(), |branch_points| each_transition(branch_points));
        let observation = new.map(|observation| {
            told.push(observation.clone());
            let steps = |o: &Observation| o.prefix.iter().map(|p| p.transition).collect();
            Portable::new(observation, explorer.names(), steps)
        });
        Self {
            observation,
            condition,
            unexplained: turn.unexplained,
            lessons: explorer.lessons().to_vec(),
            branch_points,
            summary: turn.summary,
            failing: turn.failing,
            took_turns: turn.took_turns,
            classes: turn.classes,
            cpu: turn.cpu,
            estimate: turn.estimate,
        }
    }
}

impl<E: Explorer> Campaign<'_, E> {
    /// Explores with several workers. `None` if the program destroys its processes: then it must be led step by step.
    pub(super) fn search_divided(
        &mut self,
        checkpoint: Option<Checkpoint<E::Finding>>,
    ) -> Attempt<Option<Explored>, E> {
        let Some(rule) = self.kind.rule() else { return Ok(None) };
        let least = self.options.slice.as_micros() as u64;
        let mut controller = Controller::new(rule, Pace { least, most: Pace::LOCAL.most.max(least) });
        controller.know_loops(self.worker.explorer.lessons());
        let mut before = Duration::ZERO;
        if let Some(checkpoint) = checkpoint {
            (controller, before) = (checkpoint.controller, checkpoint.elapsed);
            controller.take_over();
        }
        let done = controller.total().executions;
        self.observer.resumed(done);
        let most = self.most(&Summary::default());
        let common = Common {
            job: Job { foresees: false, ..self.job() },
            workers: self.workers as u64,
            left: AtomicU64::new(most.saturating_sub(done)),
            busy: AtomicU64::new(0),
            limit: self.limit.clone(),
            begun: AtomicBool::new(false),
            cut_short: AtomicBool::new(false),
            halt: Arc::new(AtomicBool::new(false)),
            forecast: AtomicBool::new(false),
            ended: Mutex::new(None),
        };
        self.divided_among = self.workers;
        let mut workers: Vec<WorkerFactory<'_, Member<'_, E>>> = Vec::new();
        for (number, recruit) in self.worker.explorer.recruit(self.workers)?.into_iter().enumerate() {
            let common = &common;
            let time = self.workers_cpu.clone();
            workers.push(Box::new(move || {
                let measured = time.measure();
                let mut explorer = recruit();
                explorer.set_limit(common.limit.clone().or(Some(common.halt.clone())));
                let (worker, number) = (Worker::new(explorer), number as u64);
                Member { common, worker, number, told: Vec::new(), _measured: measured }
            }));
        }
        let mut leading = Leading {
            before,
            timer: CheckpointTimer::default(),
            losses: 0,
            last_failing: 0,
            stop: false,
            given_up: false,
            problem: None,
            ended_with: None,
        };
        let (controller, utilisation) = pool::explore(controller, workers, before, TICK, &mut |frontier, update| {
            leading.take(self, &common, frontier, update, most)
        });
        self.utilisation = utilisation;
        let Leading { given_up, problem, ended_with, .. } = leading;
        self.note_end();
        let total = ended_with.unwrap_or_else(|| controller.total());
        match (problem, common.ended.into_inner().unwrap_or_else(PoisonError::into_inner)) {
            (Some(problem), _) => return Err(problem),
            (None, Some(Ended::Failure(failure))) => return Err(failure.into()),
            (None, Some(Ended::Departed(explained))) => {
                let explained = explained.map_err(Departure::problem)?;
                return Ok(Some((total, None, Some(explained))));
            }
            (None, Some(Ended::Collision)) => {
                // What was explored may be wrong: the search begins again with workers that are kept apart, or with one.
                return match self.are_kept_apart() {
                    true => self.search_divided(None),
                    false => self.search_whole(None).map(Some),
                };
            }
            (None, None) => {}
        }
        if given_up {
            return Ok(None);
        }
        self.division = Some(controller.division());
        // Whoever goes on from here must know what the workers have learned.
        self.worker.explorer.learn(controller.loops());
        // A check that was to end with its first finding is over.
        let over = !self.findings.is_empty() && !self.settings.keep_going && !self.interrupted;
        if !total.exhausted && !over {
            self.resumable = self.can_checkpoint() && self.write_checkpoint(&controller, before);
        }
        let hopeless = common.cut_short.load(Relaxed);
        let nothing = self.findings.is_empty() && !self.unconfirmed.is_any();
        if !total.exhausted && nothing && !self.interrupted && !hopeless {
            self.look_from_the_beginning(&total)?;
        }
        Ok(Some((total, total.exhausted.then_some(Coverage::Everything), None)))
    }

    /// How the search was divided.
    pub(super) fn division(&self) -> Option<Workers> {
        self.division.map(|division| Workers {
            count: self.workers,
            utilisation: self.utilisation.share(),
            fragments: division.results,
            released: division.released,
        })
    }

    /// Estimates as well as can be how much there is in all.
    fn look_from_the_beginning(&mut self, total: &Summary) -> Attempt<(), E> {
        let allowance = Allowance { before: 0, executions: 1, time: TICK, forecast: Wanted::Best, keep: false };
        let job = self.job();
        let explored =
            self.in_a_moment(|campaign| campaign.worker.explore(&job, Part::Whole, &allowance, None, &campaign.limit));
        let Some(turn) = explored? else { return Ok(()) };
        self.take_total(turn.estimate, total);
        self.failing += turn.failing;
        match turn.observation {
            Some(observation) if !self.is_known(&observation) => self.keep(observation),
            _ => Ok(()),
        }
    }

    /// Takes in what a worker tells; true if the check is over with it. With `ending` it was over before, and nothing new is confirmed.
    pub(super) fn take_report(&mut self, report: WorkerReport, total: &Summary, ending: bool) -> Attempt<bool, E> {
        self.visible = self.visible.max(report.summary.visible);
        self.spin_held |= report.summary.spun;
        self.failing += report.failing;
        self.took_turns |= report.took_turns;
        self.exploring += report.cpu;
        self.note_classes(&report.classes);
        self.take_total(report.estimate, total);
        self.worker.explorer.take_condition(&report.condition);
        if let Some(message) = report.unexplained {
            return Err(super::unexplained(message));
        }
        let branch_points = at_home(report.branch_points, self.worker.explorer.names_mut());
        if !branch_points.is_empty() {
            self.branch_points = branch_points;
        }
        let Some(Portable { what: mut observation, lineages }) = report.observation else { return Ok(false) };
        if ending || self.is_known(&observation) {
            return Ok(false);
        }
        let names = self.worker.explorer.names_mut();
        let prefix = observation.prefix.iter().zip(&lineages).map(|(planned, lineage)| {
            let transition = Transition { thread: names.descendant(lineage), ..planned.transition };
            Planned { transition, op: None }
        });
        observation.prefix = prefix.collect();
        // It was observed with that in mind, and which steps there are may depend on it.
        self.worker.explorer.learn(&report.lessons);
        self.keep(observation)?;
        Ok(!self.settings.keep_going)
    }

    /// Takes an estimate that was made from the beginning.
    fn take_total(&mut self, estimate: Option<ordain_explore::estimate::Estimate>, total: &Summary) {
        let Some(e) = estimate else { return };
        let done = self.searched(total);
        self.estimate = unrefuted(Estimate::from_ln(e.ln, e.low, e.high, e.done), done);
    }
}

/// An estimate of a search of which so much is done, and something left: none if that shows that it is wrong.
fn unrefuted(estimate: Estimate, done: u64) -> Option<Estimate> {
    (estimate.log10 >= (done as f64 + 1.0).log10()).then(|| estimate.with_done(done))
}

/// Leads the workers.
struct Leading<F: std::error::Error + 'static> {
    before: Duration,
    timer: CheckpointTimer,
    losses: u32,
    /// How many executions of the result that is being taken in misbehaved.
    last_failing: u64,
    stop: bool,
    given_up: bool,
    problem: Option<Problem<F>>,
    /// What was done when a finding ended the check: whatever comes of the search, this led to it.
    ended_with: Option<Summary>,
}

impl<F: std::error::Error + Clone + Send + 'static> Leading<F> {
    fn take<E: Explorer<Failure = F>>(
        &mut self,
        run: &mut Campaign<'_, E>,
        common: &Common<F>,
        frontier: &SharedFrontier,
        update: Update<WorkerReport>,
        most: u64,
    ) -> ControlFlow<()> {
        match update {
            Update::Result(report) => {
                let before = frontier.lock().total();
                let mut total = before;
                total.add(&report.summary);
                self.last_failing = report.failing;
                let unconfirmed = run.unconfirmed.clone();
                // When a finding has ended the check, others may have noticed something too.
                return match run.take_report(report, &before, self.ended_with.is_some()) {
                    // What was noticed and not confirmed must be come to again, so this is not taken to be explored.
                    Ok(_) if run.unconfirmed.is_more_than(&unconfirmed) => ControlFlow::Break(()),
                    Ok(over) => {
                        if over {
                            self.ended_with = Some(Summary { exhausted: false, ..total });
                        }
                        self.stop |= over;
                        ControlFlow::Continue(())
                    }
                    Err(problem) => {
                        self.problem.get_or_insert(problem);
                        ControlFlow::Break(())
                    }
                };
            }
            Update::Accepted(Accepted::Counts) => (self.losses, self.last_failing) = (0, 0),
            Update::Accepted(Accepted::Restarted) => {
                run.estimate = None;
                run.classes.clear();
                run.took_turns = false;
                // What has begun again is found again.
                run.failing = run.observed.len() as u64;
                self.last_failing = 0;
            }
            Update::Accepted(Accepted::Stale) => run.failing -= std::mem::take(&mut self.last_failing).min(run.failing),
            Update::Accepted(Accepted::Malformed) => self.lose(run, "its result made no sense".into()),
            Update::Lost(why) => {
                if self.stop
                    || run.limit.is_over()
                    || common.is_spent()
                    || common.ended.lock().unwrap_or_else(PoisonError::into_inner).is_some()
                {
                    return ControlFlow::Break(());
                }
                self.lose(run, why);
            }
            Update::Tick => self.tick(run, common, &frontier.lock()),
        }
        let total = frontier.lock().total();
        self.stop |= run.limit.is_over() || total.executions >= most;
        if self.stop || self.given_up {
            common.halt.store(true, Relaxed);
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }

    fn lose<E: Explorer<Failure = F>>(&mut self, run: &mut Campaign<'_, E>, why: String) {
        run.worker.explorer.note_loss(why);
        self.losses += 1;
        self.given_up |= self.losses > MOST_LOSSES;
    }

    fn tick<E: Explorer<Failure = F>>(
        &mut self,
        run: &mut Campaign<'_, E>,
        common: &Common<F>,
        controller: &Controller,
    ) {
        run.division = Some(controller.division());
        if run.wants_forecast(Duration::MAX) != Wanted::No {
            run.foreseen = Instant::now();
            common.forecast.store(true, Relaxed);
        }
        let total = controller.total();
        run.estimate = run.estimate.and_then(|e| unrefuted(e, run.searched(&total)));
        self.stop |= run.tell_progress(&total);
        if self.timer.is_due() && run.can_checkpoint() {
            let begin = Instant::now();
            run.write_checkpoint(controller, self.before);
            self.timer.note(begin);
        }
    }
}
