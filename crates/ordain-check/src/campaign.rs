//! A campaign: one check of one program, from its first run to what it comes to.

mod checkpoint;
pub(crate) mod confirm;
mod crosscheck;
mod divided;
mod fallback;
mod foresee;
mod outcome;
mod sampled;
mod whole;

pub use checkpoint::{CheckpointFile, checkpointed_executions};
pub use outcome::Outcome;

use crate::checkpoint::begun_again;
use crate::explorer::{Explorer, Observation};
use crate::limit::Limit;
use crate::observe::{Observer, Progress};
use crate::pool::Utilisation;
use crate::resources::{WorkerTime, processor_time};
use crate::trace_file::TraceFile;
use crate::turn::{Allowance, Job, Part, Turn, Wanted};
use crate::worker::Worker;
use crate::{Problem, Resume, RunOptions, Settings};
use confirm::Unconfirmed;
use crosscheck::CrossCheck;
use ordain_explore::branch_point::BranchPoint;
use ordain_explore::classes::Classes;
use ordain_explore::frontier::Division;
use ordain_explore::strategy::{Bound, Kind as StrategyKind};
use ordain_explore::{Coverage, Lowest, Plan, Summary, prefix_of};
use ordain_model::End;
use ordain_report::{Estimate, Note, Sample, Samples, store};
use std::time::{Duration, Instant};
use whole::Checkpointing;

/// Executions that may teach something, at most, before two are compared.
const MOST_LESSONS: usize = 8;
/// How long the search goes on before it is heard again.
const TURN: Duration = Duration::from_millis(100);
/// How often a search is taken up again that was lost with its process, before it is led from plan to plan.
const ATTEMPTS: usize = 3;
/// Collisions of workers after which one explores alone, whatever is said of the program.
const MOST_COLLISIONS: u32 = 3;

/// A check that runs.
pub struct Campaign<'a, E: Explorer> {
    settings: &'a Settings,
    options: &'a RunOptions,
    observer: &'a mut dyn Observer,
    place: CheckpointFile,
    worker: Worker<E>,
    kind: StrategyKind,
    started: Instant,
    /// When it must be over.
    limit: Limit,
    /// How many may explore at the same time, and how many have since it began.
    workers: usize,
    divided_among: usize,
    /// Searches that ended because workers were in each other's way.
    collisions: u32,
    /// Given up when only sampling is sound.
    bound: Option<Bound>,
    findings: Vec<E::Finding>,
    /// Findings of others that have numbers before these.
    numbered: usize,
    /// What was observed, so that nothing is told twice.
    observed: Vec<Observation>,
    /// Executions that misbehaved.
    failing: u64,
    /// What was observed and not confirmed.
    unconfirmed: Unconfirmed,
    unconfirmed_places: Vec<Observation>,
    /// The longest that an execution is known to take.
    slowest: Duration,
    /// How long findings were made smaller.
    shrinking: Duration,
    /// What was done when that was last told.
    told: Summary,
    notes: Vec<Note>,
    visible: usize,
    spin_held: bool,
    took_turns: bool,
    timed_out: bool,
    exploring: Duration,
    /// Processor time of this thread when it began, and what worker threads have used.
    cpu: Duration,
    workers_cpu: WorkerTime,
    progress: Samples,
    interrupted: bool,
    traced: bool,
    /// Where the search was last.
    branch_points: Vec<BranchPoint>,
    /// How much there is, when that was last estimated, and what it cost.
    estimate: Option<Estimate>,
    foreseen: Instant,
    forecast_cost: Duration,
    /// Executions that do not count, because the search had to begin again.
    discarded: u64,
    /// The classes that were explored.
    classes: Classes,
    /// Samples by which they were cross-checked.
    cross_checked: u64,
    /// How the search is divided.
    division: Option<Division>,
    utilisation: Utilisation,
    resumable: bool,
}

/// What a search did, what that covers, and where the program departed from a plan, if it did.
type Explored = (Summary, Option<Coverage>, Option<String>);

/// What a step of a campaign comes to.
type Attempt<T, E> = Result<T, Problem<<E as Explorer>::Failure>>;

impl<'a, E: Explorer> Campaign<'a, E> {
    /// Prepares to check a program.
    pub fn new(
        settings: &'a Settings,
        options: &'a RunOptions,
        mut explorer: E,
        place: CheckpointFile,
        observer: &'a mut dyn Observer,
    ) -> Attempt<Self, E> {
        let trace = options.exploration_trace.as_deref().map(store::create).transpose().map_err(Problem::Trace)?;
        explorer.set_limit(Limit::default());
        let mut worker = Worker::new(explorer);
        if let Some(trace) = trace {
            worker.trace(TraceFile::to(trace));
        }
        Ok(Self::with_worker(settings, options, worker, place, observer))
    }

    /// The same with a worker that has explored before.
    pub(crate) fn with_worker(
        settings: &'a Settings,
        options: &'a RunOptions,
        mut worker: Worker<E>,
        place: CheckpointFile,
        observer: &'a mut dyn Observer,
    ) -> Self {
        let started = Instant::now();
        let deadline = settings.max_time.and_then(|time| started.checked_add(time));
        let limit = Limit::at(deadline).or(observer.stop_flag());
        worker.explorer.set_limit(limit.clone());
        Self {
            settings,
            options,
            observer,
            place: place.for_search(settings),
            worker,
            kind: settings.strategy(),
            started,
            limit,
            workers: options.workers,
            divided_among: 0,
            collisions: 0,
            bound: settings.bound(),
            findings: Vec::new(),
            numbered: 0,
            observed: Vec::new(),
            failing: 0,
            unconfirmed: Unconfirmed::default(),
            unconfirmed_places: Vec::new(),
            slowest: Duration::ZERO,
            shrinking: Duration::ZERO,
            told: Summary::default(),
            notes: Vec::new(),
            visible: 0,
            spin_held: false,
            took_turns: false,
            timed_out: false,
            exploring: Duration::ZERO,
            cpu: processor_time(),
            workers_cpu: WorkerTime::default(),
            progress: Samples::default(),
            interrupted: false,
            traced: options.exploration_trace.is_some(),
            branch_points: Vec::new(),
            estimate: None,
            foreseen: started,
            forecast_cost: Duration::ZERO,
            discarded: 0,
            classes: Classes::default(),
            cross_checked: 0,
            division: None,
            utilisation: Utilisation::default(),
            resumable: false,
        }
    }

    /// What explores, and what it is asked for.
    pub(crate) fn into_parts(self) -> (Job, Worker<E>) {
        (self.job(), self.worker)
    }

    /// What runs the program.
    pub fn explorer(&mut self) -> &mut E {
        &mut self.worker.explorer
    }

    /// Does all of it.
    pub fn run(mut self) -> Attempt<Outcome<E>, E> {
        let mut resume = self.options.resume != Resume::No;
        let (summary, coverage, departed) = loop {
            let explored = self.settle().and_then(|()| self.explore(std::mem::take(&mut resume)));
            match explored {
                Ok(explored) => break explored,
                Err(problem) => {
                    if let Err(problem) = self.go_down(problem) {
                        break self.end_with(problem)?;
                    }
                }
            }
        };
        if let Err(error) = self.worker.end_trace() {
            self.notes.push(format!("the exploration trace is not complete: {error}").into());
        }
        self.conclude(summary, coverage, departed)
    }

    /// The search cannot go on. What was found before is confirmed, and so it is the result whatever happened afterwards.
    fn end_with(&mut self, problem: Problem<E::Failure>) -> Attempt<Explored, E> {
        self.note_end();
        let over = self.worker.explorer.is_over() || matches!(problem, Problem::NothingRan { .. });
        if let Some(finding) = self.worker.explorer.finding_of(&problem, self.findings.len() + 1) {
            self.findings.push(finding);
            self.failing += 1;
            self.told.executions = self.told.executions.max(2);
            return Ok((Summary { exhausted: false, ..self.told }, None, None));
        }
        match self.findings.is_empty() {
            true if over => Err(self.unconfirmed.problem().unwrap_or_else(|| self.nothing_ran())),
            true => Err(problem),
            false => {
                if !over {
                    self.note_once(format!("the search ended before its time: {problem}"));
                }
                Ok((Summary { exhausted: false, ..self.told }, None, None))
            }
        }
    }

    /// Tells how far it is; `true` if it shall stop.
    fn tell_progress(&mut self, total: &Summary) -> bool {
        self.told = *total;
        let progress = Progress {
            elapsed: self.started.elapsed(),
            summary: *total,
            findings: self.findings.len(),
            estimate: self.estimate,
            most: self.settings.max_executions,
            limit: self.settings.max_time,
            workers: self.workers,
            division: self.division,
        };
        self.progress.add(Sample {
            seconds: progress.elapsed.as_secs_f64(),
            executions: total.executions,
            findings: progress.findings,
            estimate: self.estimate,
        });
        let waited = self.observer.waited();
        self.observer.progress(&progress);
        let waited = self.observer.waited().saturating_sub(waited);
        if !waited.is_zero() {
            self.started += waited;
            self.limit = self.limit.clone().postponed(waited);
            self.worker.explorer.set_limit(self.limit.clone());
        }
        self.interrupted |= self.observer.is_stopped();
        self.interrupted
    }

    /// Runs the program twice under the same schedule: what differs then is not for exploration to find. An execution that was broken off,
    /// now or earlier, may have left files that the next one finds and removes, so it is given another chance.
    fn run_twice(&mut self) -> Attempt<(), E> {
        match self.compare_runs() {
            Err(Problem::Nondeterminism { .. }) if self.worker.explorer.leaves_things() => {
                self.run_freely()?;
                self.compare_runs()
            }
            compared => compared,
        }
    }

    /// Runs the program to its end, wherever that leads, until it teaches nothing new.
    fn run_freely(&mut self) -> Attempt<(), E> {
        for _ in 0..MOST_LESSONS {
            let begin = Instant::now();
            self.worker.explorer.run(&mut Plan::new(&[], &mut Lowest));
            self.check_failure()?;
            self.note_execution(begin.elapsed());
            // What an execution teaches may change which steps there are: then those before it cannot be compared.
            if !self.worker.explorer.execution().learned {
                break;
            }
        }
        Ok(())
    }

    fn compare_runs(&mut self) -> Attempt<(), E> {
        self.run_freely()?;
        let explorer = &mut self.worker.explorer;
        explorer.note_usual();
        let ended = explorer.ended();
        if !explorer.is_repeatable() {
            return Ok(());
        }
        let first = prefix_of(explorer.execution());
        explorer.run(&mut Plan::new(&first, &mut Lowest));
        self.check_failure()?;
        let explorer = &mut self.worker.explorer;
        if let End::Diverged(divergence) = explorer.execution().end.clone() {
            let difference = difference(explorer, &divergence);
            return Err(Problem::Nondeterminism { step: divergence.step, difference });
        }
        let more = explorer.execution().steps.len().saturating_sub(first.len());
        if more > 0 {
            let difference = format!("it ended in one run and made {more} more in another");
            return Err(Problem::Nondeterminism { step: first.len(), difference });
        }
        let again = explorer.ended();
        if again != ended {
            let difference = format!("it ended in two ways: in one run it {ended}, in another it {again}");
            return Err(Problem::Nondeterminism { step: first.len(), difference });
        }
        Ok(())
    }

    fn check_failure(&mut self) -> Attempt<(), E> {
        if self.worker.explorer.is_over() {
            return Err(self.nothing_ran());
        }
        self.worker.explorer.failure().map_or(Ok(()), |failure| Err(failure.into()))
    }

    /// Explores; gives what was done, what that covers, and where the program departed from a plan, if it did.
    fn explore(&mut self, resume: bool) -> Attempt<Explored, E> {
        let begin = Instant::now();
        let checkpoint = match self.options.resume {
            _ if !resume => None,
            Resume::IfPossible => match self.resume() {
                Ok(checkpoint) => Some(checkpoint),
                Err(Problem::Resume { reason, .. }) => {
                    if self.has_checkpoint() || self.worker.explorer.indivisible().is_some() {
                        self.note_once(begun_again(&reason));
                    }
                    None
                }
                Err(problem) => return Err(problem),
            },
            _ => Some(self.resume()?),
        };
        let before = checkpoint.as_ref().map_or(Duration::ZERO, |checkpoint| checkpoint.elapsed);
        let finished = checkpoint.as_ref().filter(|c| c.controller.is_finished()).map(|c| c.controller.total());
        let divided = self.workers_now() > 1 || checkpoint.as_ref().is_some_and(|c| !c.controller.is_whole());
        let (summary, coverage, departed) = match finished {
            Some(total) => {
                self.observer.resumed(total.executions);
                (total, Some(Coverage::Everything), None)
            }
            None if self.waits_for_memory().is_some() => (Summary::default(), None, self.waits_for_memory()),
            None if self.is_divisible() && divided => match self.search_divided(checkpoint)? {
                Some(explored) => explored,
                None => self.search_led()?,
            },
            None if self.is_shared() => match self.sample()? {
                Some(explored) => explored,
                None => self.search_led()?,
            },
            None => self.search_whole(checkpoint)?,
        };
        let departed = match departed {
            Some(departed) => departed,
            None if self.is_to_be_cross_checked(&summary, coverage) => {
                let checked = match self.cross_check(begin.elapsed(), &summary)? {
                    CrossCheck::Held => self.watch(&summary)?,
                    other => other,
                };
                match checked {
                    CrossCheck::Held => return Ok((summary, coverage, None)),
                    CrossCheck::Unfinished => {
                        self.checkpoint_finished(&summary, before);
                        return Ok((summary, None, None));
                    }
                    CrossCheck::Retracted(why) => why,
                }
            }
            None => return Ok((summary, coverage, None)),
        };
        if self.interrupted || (!self.findings.is_empty() && !self.settings.keep_going) {
            return Ok((summary, None, Some(departed)));
        }
        // The plan was made from what synchronisation calls tell, and that was not all: only sampling is sound now.
        (self.kind, self.bound) = (StrategyKind::Random, None);
        // Samples of a cross-check go on as they are: they know what it was taught.
        self.worker.begin_with(None);
        let summary = self.search(summary, None)?.0;
        Ok((summary, None, Some(departed)))
    }

    /// Leads the program from plan to plan, because it destroys processes that explore by themselves.
    fn search_led(&mut self) -> Attempt<Explored, E> {
        self.worker.lead();
        self.worker.restart();
        self.search(Summary::default(), None)
    }

    /// How the program waits for what is not visible, if it does and the search relies on its not doing so.
    fn waits_for_memory(&self) -> Option<String> {
        self.worker.explorer.waits_for_memory().filter(|_| !self.kind.samples())
    }

    /// How many may explore at the same time: one if executions would be in each other's way.
    fn workers_now(&mut self) -> usize {
        if self.workers > 1
            && let Some(why) = self.worker.explorer.must_be_alone()
        {
            self.note_once(why);
            return 1;
        }
        self.workers
    }

    /// Workers were in each other's way: whether several can begin again, kept apart.
    fn are_kept_apart(&mut self) -> bool {
        self.collisions += 1;
        let apart = self.workers_now() > 1 && self.collisions < MOST_COLLISIONS;
        if !apart {
            // What follows is the work of one.
            self.divided_among = 0;
        }
        apart
    }

    /// Whether a search would come to a verdict that is not told without a cross-check.
    fn is_to_be_cross_checked(&self, summary: &Summary, coverage: Option<Coverage>) -> bool {
        let everything = coverage == Some(Coverage::Everything) && self.findings.is_empty() && !self.interrupted;
        // One thread in one order leaves nothing to choose.
        let choices = summary.threads > 1 || summary.executions > 1;
        everything && choices && !self.is_blind(summary) && self.worker.explorer.is_worth_a_cross_check()
    }

    /// Executions that are allowed, given what was done before.
    fn most(&self, before: &Summary) -> u64 {
        let samples = self.kind.samples() || before.executions > 0;
        let most = self.settings.most_executions(samples);
        if self.settings.max_executions.is_none() { most.saturating_add(before.executions) } else { most }
    }

    /// Explores as one worker, with turns of a search as a whole.
    fn search(&mut self, before: Summary, mut checkpointing: Option<&mut Checkpointing>) -> Attempt<Explored, E> {
        let job = self.job();
        let most = self.most(&before);
        let saved = |checkpointing: &Option<&mut Checkpointing>| checkpointing.as_ref().map_or(before, |c| c.total);
        let mut total = saved(&checkpointing);
        let mut attempts = 0;
        loop {
            let (time, executions) = self.observer.allowance(total.executions);
            // Whoever gives so little wants to know what it was good for.
            let forecast = self.wants_forecast(if executions < u64::MAX { Duration::ZERO } else { time });
            let executions = executions.min(most.saturating_sub(total.executions + self.discarded));
            let keep = checkpointing.as_ref().is_some_and(|checkpointing| checkpointing.timer.is_due());
            let time = self.limit.left().min(TURN).min(time);
            let allowance = Allowance { before: total.executions, executions, time, forecast, keep };
            let lessons = self.worker.explorer.lessons().len();
            let begin = Instant::now();
            let used = self.worker.leads().then(processor_time);
            let turn = self.worker.explore(&job, Part::Whole, &allowance, None, &self.limit)?;
            let Some(mut turn) = turn else {
                if self.worker.explorer.is_over() {
                    // What it had explored since it was last heard is lost, and the checkpoint is still right.
                    self.note_end();
                    self.tell_progress(&total);
                    self.resumable = checkpointing.is_some_and(|checkpointing| checkpointing.total.executions > 0);
                    return Ok((total, None, None));
                }
                // What was explored since the checkpoint is lost with the process; findings are not.
                total = saved(&checkpointing);
                attempts += 1;
                if attempts > ATTEMPTS {
                    self.worker.begin_with(None);
                    self.worker.lead();
                    (total, checkpointing) = (before, None);
                }
                continue;
            };
            if turn.summary.restarted {
                self.begin_again(&mut total, before);
            }
            if turn.summary.executions <= 1 {
                self.note_execution(begin.elapsed());
            }
            total.add(&turn.summary);
            self.take_in(&turn);
            if let Some(message) = turn.unexplained {
                return Err(unexplained(message));
            }
            if let Some(used) = used {
                // Processes that have ended count; of the one that still runs what it has used.
                self.exploring += processor_time().saturating_sub(used);
            }
            if forecast != Wanted::No {
                self.take_estimate(turn.estimate, begin.elapsed().saturating_sub(allowance.time));
            }
            // What is worth telling must be confirmed before it is taken to be explored.
            if let (Some(checkpointing), Some(explored), None) =
                (&mut checkpointing, turn.explored.take(), &turn.observation)
            {
                self.checkpoint_rest(checkpointing, explored, &total);
            }
            let stopped = self.tell_progress(&total);
            if self.worker.explorer.is_over() {
                self.note_end();
                return Ok((total, None, None));
            }
            if let Some(divergence) = &turn.departure {
                let departed = self.explain_departure(divergence)?;
                self.worker.restart();
                return Ok((total, None, Some(departed)));
            }
            if let Some(departed) = self.waits_for_memory() {
                self.worker.restart();
                self.worker.explorer.release();
                return Ok((total, None, Some(departed)));
            }
            if let Some(observation) = turn.observation.take()
                && !self.is_known(&observation)
            {
                let taught = self.worker.explorer.lessons().len() > lessons;
                match self.keep(observation) {
                    // Its schedule rests on some lessons and not on all: what it showed is met again.
                    Err(Problem::Unconfirmed { .. }) if taught && self.kind.samples() => continue,
                    kept => kept?,
                }
                if !self.settings.keep_going {
                    if let Some(checkpointing) = checkpointing.filter(|_| self.options.checkpoint_result) {
                        self.checkpoint_end(checkpointing, &total)?;
                    }
                    return Ok((total, None, None));
                }
            }
            if turn.coverage.is_some() {
                if self.options.checkpoint_result {
                    self.checkpoint_finished(
                        &total,
                        checkpointing.map_or(Duration::ZERO, |checkpointing| checkpointing.before),
                    );
                }
                return Ok((total, turn.coverage, None));
            }
            self.note_end();
            let spent = total.executions + self.discarded >= most;
            if !(self.timed_out || spent || stopped) {
                continue;
            }
            if spent
                && self.findings.is_empty()
                && let Some(coverage) = self.worker.is_exhausted()
            {
                // The budget was just enough.
                return Ok((Summary { exhausted: true, ..total }, Some(coverage), None));
            }
            match checkpointing {
                // What was observed and not confirmed must be come to again.
                Some(checkpointing) if self.unconfirmed.is_any() => self.resumable = checkpointing.total.executions > 0,
                Some(checkpointing) => self.checkpoint_end(checkpointing, &total)?,
                None => {}
            }
            if self.findings.is_empty() && !self.unconfirmed.is_any() && !stopped && self.is_exhaustive() {
                self.look_at_what_is_left(&job, &total)?;
            }
            return Ok((total, None, None));
        }
    }

    /// Takes in what a turn tells beside what it found.
    fn take_in(&mut self, turn: &Turn) {
        self.failing += turn.failing;
        self.visible = self.visible.max(turn.summary.visible);
        self.spin_held |= turn.summary.spun;
        self.took_turns |= turn.took_turns;
        self.exploring += turn.cpu;
        self.note_classes(&turn.classes);
        if !turn.branch_points.is_empty() {
            self.branch_points.clone_from(&turn.branch_points);
        }
    }

    /// Notes classes that were explored.
    fn note_classes(&mut self, fingerprints: &[u64]) {
        for fingerprint in fingerprints {
            self.classes.note(*fingerprint);
        }
    }

    /// Notes if the time is over, or somebody has stopped it.
    fn note_end(&mut self) {
        self.timed_out |= self.limit.is_late();
        self.interrupted |= self.limit.is_stopped();
    }

    /// What is to be explored.
    fn job(&self) -> Job {
        let exhaustive = self.is_exhaustive();
        Job {
            strategy: self.kind,
            bound: self.bound,
            seed: self.settings.seed,
            depth: self.settings.pct_depth,
            recognition: self.worker.recognition(!self.kind.samples()),
            foresees: exhaustive,
            worker: 0,
        }
    }

    /// Notes something, once.
    fn note_once(&mut self, note: impl Into<Note>) {
        let note = note.into();
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Whether the search has an end that can be foreseen.
    fn is_exhaustive(&self) -> bool {
        !self.kind.samples() && self.bound.is_none()
    }

    /// Whether the search can be divided, and what is left of it be told.
    fn is_divisible(&self) -> bool {
        self.kind.rule().is_some()
            && self.is_exhaustive()
            && !self.traced
            && self.worker.explorer.indivisible().is_none()
    }
}

/// What explores by itself says that an execution is worth telling, and nothing can be seen of it.
fn unexplained<F: std::error::Error + 'static>(message: String) -> Problem<F> {
    Problem::Unconfirmed { kind: "misbehaviour", message, instead: "ended well".into() }
}

/// How a program departed from its plan, in words.
fn difference<E: Explorer>(explorer: &E, divergence: &ordain_model::Divergence) -> String {
    explorer.with_words(|words| ordain_model::describe::difference(words, divergence))
}
