//! A check that runs: the search, inside the program's process where that works, and what it comes to.

use super::confirm::Unconfirmed;
use super::crosscheck::{CrossCheck, is_comparable};
use super::whole::Keeping;
use super::{Check, Problem, Report};
use crate::finding::{self, Finding, Noticed};
use crate::limit::Limit;
use crate::observe::{Observer, Progress};
use crate::target::{Allowance, Failure, Native, Recognised, Search, Wanted};
use crate::view::View;
use ordain_explore::classes::Classes;
use ordain_explore::crossing::{Crossing, crossings};
use ordain_explore::estimate::{Effort, Foresight, TraceFile};
use ordain_explore::frontier::{Division, Labour};
use ordain_explore::strategy::{Bound, Bounded, Kind as StrategyKind};
use ordain_explore::{Coverage, Lowest, Plan, Planned, Stop, Strategy, Summary, Target, key_of, prefix_of, search};
use ordain_model::End;
use ordain_report::{Estimate, Sample, Samples, store};
use ordain_wire::{Mode, Unmodelled};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Executions of a sampler if nothing else limits it.
const DEFAULT_SAMPLES: u64 = 10_000;
/// Executions that may teach something, at most, before two are compared.
const MOST_LESSONS: usize = 8;
/// How long the search goes on before it is heard again.
pub(super) const TURN: Duration = Duration::from_millis(100);

/// A check that runs.
pub(super) struct Run<'a> {
    pub(super) check: &'a Check,
    pub(super) observer: &'a mut dyn Observer,
    pub(super) native: Native,
    kind: StrategyKind,
    pub(super) started: Instant,
    /// When it must be over.
    pub(super) limit: Limit,
    /// Processes that explore at the same time, and how many have since it began.
    pub(super) workers: usize,
    pub(super) crowd: usize,
    /// Given up when only sampling is sound.
    pub(super) bound: Option<Bound>,
    pub(super) findings: Vec<Finding>,
    /// What was noticed, so that nothing is told twice.
    pub(super) noticed: Vec<Noticed>,
    /// What was noticed and not confirmed.
    pub(super) unconfirmed: Unconfirmed,
    pub(super) unconfirmed_places: Vec<Noticed>,
    /// The longest that an execution is known to take.
    pub(super) slowest: Duration,
    /// How long findings were made smaller.
    pub(super) shrinking: Duration,
    /// What was done when that was last told.
    told: Summary,
    pub(super) notes: Vec<String>,
    /// Outputs that were seen; the first is that of a run without a schedule, with which replays compare.
    pub(super) outputs: Vec<[Vec<u8>; 2]>,
    pub(super) visible: usize,
    pub(super) spin_held: bool,
    pub(super) timed_out: bool,
    pub(super) exploring: Duration,
    pub(super) cpu: Duration,
    pub(super) progress: Samples,
    pub(super) interrupted: bool,
    pub(super) foresight: Foresight,
    trace: Option<TraceFile>,
    /// Where the search was last.
    pub(super) crossings: Vec<Crossing>,
    /// How much there is, and when that was last estimated.
    pub(super) estimate: Option<Estimate>,
    pub(super) foreseen: (Summary, Instant),
    pub(super) forecast_cost: Duration,
    /// Executions that do not count, because the search had to begin again.
    pub(super) discarded: u64,
    /// The classes that were explored.
    pub(super) classes: Classes,
    /// Samples by which they were cross-checked.
    pub(super) cross_checked: u64,
    /// What was seen of atomic instructions, if anything.
    pub(super) atomics: Option<String>,
    /// How the search is divided.
    pub(super) division: Option<Division>,
    pub(super) labour: Labour,
    pub(super) resumable: bool,
    /// What each worker sees of the system, if they must be kept apart.
    view: Option<Arc<View>>,
}

/// What a search did, what that covers, and where the program departed from a plan, if it did.
pub(super) type Explored = (Summary, Option<Coverage>, Option<String>);

impl<'a> Run<'a> {
    pub(super) fn new(check: &'a Check, observer: &'a mut dyn Observer) -> Result<Self, Problem> {
        let trace = check.exploration_trace.as_deref().map(store::create).transpose().map_err(Problem::Trace)?;
        let trace = trace.map(TraceFile::to);
        let started = Instant::now();
        let deadline = check.max_time.and_then(|time| started.checked_add(time));
        let limit = Limit::at(deadline).or(observer.stop_flag());
        let mut native = check.native(check.mode)?;
        native.set_limit(limit.clone());
        Ok(Self {
            check,
            observer,
            started,
            limit,
            workers: check.workers,
            crowd: 0,
            cpu: processor_time(),
            native,
            kind: check.effective_strategy(),
            bound: check.bound,
            findings: Vec::new(),
            noticed: Vec::new(),
            unconfirmed: Unconfirmed::default(),
            unconfirmed_places: Vec::new(),
            slowest: Duration::ZERO,
            shrinking: Duration::ZERO,
            told: Summary::default(),
            notes: Vec::new(),
            outputs: Vec::new(),
            visible: 0,
            spin_held: false,
            timed_out: false,
            exploring: Duration::ZERO,
            progress: Samples::default(),
            interrupted: false,
            foresight: Foresight::default(),
            trace,
            crossings: Vec::new(),
            estimate: None,
            foreseen: (Summary::default(), Instant::now()),
            forecast_cost: Duration::ZERO,
            discarded: 0,
            classes: Classes::default(),
            cross_checked: 0,
            atomics: None,
            division: None,
            labour: Labour::default(),
            resumable: false,
            view: None,
        })
    }

    /// Does all of it.
    pub(super) fn finish(mut self) -> Result<Report, Problem> {
        let mut resume = self.check.resume;
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
        if let Some(Err(error)) = self.trace.take().map(TraceFile::finish) {
            self.notes.push(format!("the exploration trace is not complete: {error}"));
        }
        self.report(summary, coverage, departed)
    }

    /// The search cannot go on. What was found before is confirmed, and so it is the result whatever happened afterwards.
    fn end_with(&mut self, problem: Problem) -> Result<Explored, Problem> {
        self.note_end();
        let over = matches!(problem, Problem::Failure(Failure::Over) | Problem::NothingRan { .. });
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
    pub(super) fn tell_progress(&mut self, total: &Summary) -> bool {
        self.told = *total;
        let progress = Progress {
            elapsed: self.started.elapsed(),
            summary: *total,
            findings: self.findings.len(),
            estimate: self.estimate,
            most: self.check.max_executions,
            limit: self.check.max_time,
            workers: self.workers,
            division: self.division,
        };
        self.progress.add(Sample {
            seconds: progress.elapsed.as_secs_f64(),
            executions: total.executions,
            findings: progress.findings,
            estimate: self.estimate,
        });
        self.observer.progress(&progress);
        self.interrupted |= self.observer.is_stopped();
        self.interrupted
    }

    /// Runs the program twice under the same schedule: what differs then is not for exploration to find. An execution that was broken off,
    /// now or earlier, may have left files that the next one finds and removes, so it is given another chance.
    pub(super) fn run_twice(&mut self) -> Result<(), Problem> {
        match self.compare_runs() {
            Err(Problem::Nondeterminism { .. }) => {
                self.run_freely()?;
                self.compare_runs()
            }
            compared => compared,
        }
    }

    /// Runs the program to its end, wherever that leads, until it teaches nothing new.
    fn run_freely(&mut self) -> Result<(), Problem> {
        for _ in 0..MOST_LESSONS {
            let begin = Instant::now();
            self.native.run(&mut Plan::new(&[], &mut Lowest));
            self.check_failure()?;
            self.note_execution(begin.elapsed());
            // What an execution teaches may change which steps there are: then those before it cannot be compared.
            if !self.native.execution().learned {
                break;
            }
        }
        Ok(())
    }

    fn compare_runs(&mut self) -> Result<(), Problem> {
        self.run_freely()?;
        let first = prefix_of(self.native.execution());
        if self.check.compare_output {
            self.outputs.clear();
            self.outputs.push([self.native.output(0), self.native.output(1)]);
        }
        let ended = self.native.aftermath().ended.clone();
        self.native.run(&mut Plan::new(&first, &mut Lowest));
        self.check_failure()?;
        if let End::Diverged(divergence) = self.native.execution().end.clone() {
            return Err(Problem::Nondeterminism {
                step: divergence.step,
                difference: self.check.difference(&self.native, &divergence),
            });
        }
        let more = self.native.execution().steps.len().saturating_sub(first.len());
        if more > 0 {
            let difference = format!("it ended in one run and made {more} more in another");
            return Err(Problem::Nondeterminism { step: first.len(), difference });
        }
        if self.native.aftermath().ended != ended {
            let difference = format!("it ended in two ways: {ended:?} and {:?}", self.native.aftermath().ended);
            return Err(Problem::Nondeterminism { step: first.len(), difference });
        }
        Ok(())
    }

    fn check_failure(&mut self) -> Result<(), Problem> {
        match self.native.failure() {
            None => Ok(()),
            Some(Failure::Over) => Err(self.nothing_ran()),
            Some(failure) => Err(failure.clone().into()),
        }
    }

    fn make_strategy(&self) -> Box<dyn Strategy> {
        let strategy = match self.bound {
            Some(bound) => return Box::new(Bounded::new(bound)),
            None => self.kind.make(self.check.seed, self.check.depth),
        };
        match &self.trace {
            Some(trace) if self.is_exhaustive() => trace.trace(strategy),
            _ => strategy,
        }
    }

    /// Explores; gives what was done, what that covers, and where the program departed from a plan, if it did.
    fn explore(&mut self, resume: bool) -> Result<Explored, Problem> {
        let begin = Instant::now();
        let kept = if resume { Some(self.resume()?) } else { None };
        let before = kept.as_ref().map_or(Duration::ZERO, |kept| kept.elapsed);
        let finished = kept.as_ref().filter(|kept| kept.controller.is_finished()).map(|kept| kept.controller.total());
        let divided = self.workers_now() > 1 || kept.as_ref().is_some_and(|kept| !kept.controller.is_whole());
        let explored = match () {
            () if finished.is_some() => {
                self.observer.resumed(finished.map_or(0, |total| total.executions));
                finished.map(|total| (total, Some(Coverage::Everything), None))
            }
            () if self.waits_for_memory().is_some() => Some((Summary::default(), None, self.waits_for_memory())),
            () if self.is_keepable() && divided => self.search_divided(kept)?,
            () if self.is_shared() => self.sample()?,
            () => self.search_whole(kept)?,
        };
        let (summary, coverage, departed) = match explored {
            Some(explored) => explored,
            None => {
                let mut strategy = self.make_strategy();
                let (summary, departed) = self.search(&mut *strategy, Summary::default())?;
                (summary, summary.exhausted.then(|| strategy.coverage()), departed)
            }
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
                        self.keep_finished(&summary, before);
                        return Ok((summary, None, None));
                    }
                    CrossCheck::Retracted(why) => why,
                }
            }
            None => return Ok((summary, coverage, None)),
        };
        if self.interrupted || (!self.findings.is_empty() && !self.check.keep_going) {
            return Ok((summary, None, Some(departed)));
        }
        // The plan was made from what synchronisation calls tell, and that was not all: only sampling is sound now.
        (self.kind, self.bound) = (StrategyKind::Random, None);
        self.native.begin_with(None);
        let summary = match self.search_inside(summary, None)? {
            Some((summary, ..)) => summary,
            None => self.search(&mut *self.make_strategy(), summary)?.0,
        };
        Ok((summary, None, Some(departed)))
    }

    /// How the program waits for what is not visible, if it does and the search relies on its not doing so.
    pub(super) fn waits_for_memory(&self) -> Option<String> {
        let waits = self.native.unmodelled() & Unmodelled::MemoryLoops.bit() != 0;
        (waits && !self.kind.samples()).then(|| "threads wait in loops for memory to change".into())
    }

    /// How many processes may explore at the same time: one if executions would meet at files, ports or names, and cannot be kept apart.
    pub(super) fn workers_now(&mut self) -> usize {
        if self.workers > 1 && self.native.collides_in(false) && !self.is_kept_apart() {
            self.note_once(
                "one worker explored, because executions at the same time would share the files, ports or named objects that the \
                 program makes or changes"
                    .into(),
            );
            return 1;
        }
        self.workers
    }

    /// Whether each worker has a view of its own, in which the program does the same.
    fn is_kept_apart(&mut self) -> bool {
        if self.native.mode() == Mode::Exec || self.native.collides_in(true) {
            self.view = None;
        } else if self.view.is_none() {
            self.view = View::of_system().map(Arc::new).filter(|view| self.does_the_same_in(view));
        }
        self.view.is_some()
    }

    /// Whether the program does in a view what it does without.
    fn does_the_same_in(&self, view: &Arc<View>) -> bool {
        let run = |view: Option<&Arc<View>>, plan: &[Planned]| {
            let mut native = self.native.fresh_in(view.cloned()).ok()?;
            native.run(&mut Plan::new(plan, &mut Lowest));
            native.failure().is_none().then_some(native)
        };
        let Some(without) = run(None, &[]) else { return false };
        let Some(within) = run(Some(view), &prefix_of(without.execution())) else { return false };
        let [one, other] =
            [&without, &within].map(|n| (n.execution().steps.len(), n.aftermath().ended.clone(), n.mode()));
        one == other && !matches!(within.execution().end, End::Diverged(_))
    }

    /// Whether executions of several workers get into each other's way.
    pub(super) fn workers_collide(&self) -> bool {
        self.native.collides_in(self.view.is_some())
    }

    /// Those who explore, `count` of them. The first goes on with the process that is there, unless each has a view of its own.
    pub(super) fn hire(&mut self, count: usize) -> Result<Vec<Native>, Failure> {
        let mut crew = (0..count).map(|_| self.native.fresh_in(self.view.clone())).collect::<Result<Vec<_>, _>>()?;
        if self.view.is_none()
            && let Some(first) = crew.first_mut()
        {
            std::mem::swap(first, &mut self.native);
        }
        Ok(crew)
    }

    /// Whether a search would come to a verdict that is not told without a cross-check.
    fn is_to_be_cross_checked(&self, summary: &Summary, coverage: Option<Coverage>) -> bool {
        let everything = coverage == Some(Coverage::Everything) && self.findings.is_empty() && !self.interrupted;
        // Nothing is verified if libraries are loaded, but samples may meet a deadlock with the loader's lock.
        let unmodelled = self.native.unmodelled() & !Unmodelled::Loader.bit();
        // One thread in one order leaves nothing to choose.
        everything && !self.is_blind(summary) && unmodelled == 0 && (summary.threads > 1 || summary.executions > 1)
    }

    /// Executions that are allowed, given what was done before.
    pub(super) fn most(&self, before: &Summary) -> u64 {
        let samples = self.kind.samples() || before.executions > 0;
        let unlimited = self.check.max_executions.is_none() && self.check.max_time.is_none();
        match self.check.max_executions {
            None if unlimited && samples => before.executions + DEFAULT_SAMPLES,
            most => most.unwrap_or(u64::MAX),
        }
    }

    /// Lets the process explore by itself. `None` if it cannot, or if the program destroys it: then it must be led step by step.
    pub(super) fn search_inside(
        &mut self,
        before: Summary,
        mut keeping: Option<&mut Keeping>,
    ) -> Result<Option<Explored>, Problem> {
        if self.native.mode() == Mode::Exec || self.check.compare_output || self.trace.is_some() {
            return Ok(None);
        }
        let job = self.job();
        let most = self.most(&before);
        let kept = |keeping: &Option<&mut Keeping>| keeping.as_ref().map_or(before, |keeping| keeping.total);
        let mut total = kept(&keeping);
        let mut attempts = 0;
        loop {
            let left = self.limit.left().min(TURN);
            let (time, executions) = self.observer.allowance(total.executions);
            let executions = executions.min(most.saturating_sub(total.executions + self.discarded));
            let forecast = self.wants_forecast(time);
            let keep = keeping.as_ref().is_some_and(|keeping| keeping.rhythm.is_due());
            let allowance = Allowance { before: total.executions, executions, time: left.min(time), forecast, keep };
            let begin = Instant::now();
            let Some(mut turn) = self.native.explore(&job, &allowance)? else {
                if self.native.is_over() {
                    // What it had explored since it was last heard is lost, and what was kept is still right.
                    self.note_end();
                    self.tell_progress(&total);
                    self.resumable = keeping.is_some_and(|keeping| keeping.total.executions > 0);
                    return Ok(Some((total, None, None)));
                }
                // What was explored since it was kept is lost with the process; findings are kept.
                total = kept(&keeping);
                attempts += 1;
                if attempts > 3 {
                    return Ok(None);
                }
                continue;
            };
            if turn.restarted {
                self.begin_again(&mut total, before);
            }
            if turn.summary.executions <= 1 {
                self.note_execution(begin.elapsed());
            }
            total.add(&turn.summary);
            self.note_classes(&turn.classes);
            if forecast != Wanted::No {
                self.take_estimate(turn.estimate, begin.elapsed().saturating_sub(allowance.time));
            }
            self.crossings.clone_from(&turn.crossings);
            self.exploring += turn.cpu;
            self.visible = self.visible.max(turn.summary.visible);
            self.spin_held |= turn.summary.spun;
            // What is worth telling must be confirmed before it is taken to be explored.
            if let (Some(keeping), Some(explored), false) = (&mut keeping, turn.explored.take(), turn.telling) {
                self.keep_whole(keeping, explored, &total);
            }
            let stopped = self.tell_progress(&total);
            if let Some(divergence) = &turn.departure {
                let departed = self.check.explain_departure(&mut self.native, divergence)?;
                self.native.stop_exploring();
                return Ok(Some((total, None, Some(departed))));
            }
            if let Some(departed) = self.waits_for_memory() {
                self.native.stop_exploring();
                return Ok(Some((total, None, Some(departed))));
            }
            let noticed = if turn.telling { finding::notice(&self.native, self.check.expected_status) } else { None };
            if turn.telling && noticed.is_none() {
                let message = format!("the process saw it end with {:?}", self.native.aftermath().ended);
                return Err(Problem::Unconfirmed { kind: "misbehaviour", message });
            }
            if let Some(noticed) = noticed
                && !self.is_known(&noticed)
            {
                self.keep(noticed)?;
                if !self.check.keep_going {
                    return Ok(Some((total, None, None)));
                }
            }
            if turn.coverage.is_some() {
                return Ok(Some((total, turn.coverage, None)));
            }
            self.note_end();
            if self.timed_out || total.executions + self.discarded >= most || stopped {
                match keeping {
                    // What was noticed and not confirmed must be come to again.
                    Some(keeping) if self.unconfirmed.is_any() => self.resumable = keeping.total.executions > 0,
                    Some(keeping) => self.keep_the_last(keeping, &total)?,
                    None => {}
                }
                if self.findings.is_empty() && !self.unconfirmed.is_any() && !stopped && self.is_exhaustive() {
                    self.look_at_what_is_left(&job, &total)?;
                }
                return Ok(Some((total, None, None)));
            }
        }
    }

    /// Notes classes that were explored.
    pub(super) fn note_classes(&mut self, fingerprints: &[u64]) {
        for fingerprint in fingerprints {
            self.classes.note(*fingerprint);
        }
    }

    /// Notes if the time is over, or somebody has stopped it.
    pub(super) fn note_end(&mut self) {
        self.timed_out |= self.limit.is_late();
        self.interrupted |= self.limit.is_stopped();
    }

    /// What a process is to explore.
    pub(super) fn job(&self) -> Search {
        Search {
            strategy: self.kind,
            bound: self.bound,
            seed: self.check.seed,
            depth: self.check.depth,
            expected_status: self.check.expected_status,
            recognise: if self.is_exhaustive() { Recognised::Noted } else { Recognised::No },
        }
    }

    /// How schedules are chosen now.
    pub(super) fn kind(&self) -> StrategyKind {
        self.kind
    }

    /// Notes something, once.
    pub(super) fn note_once(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Whether the search has an end that can be foreseen.
    pub(super) fn is_exhaustive(&self) -> bool {
        !self.kind.samples() && self.bound.is_none()
    }

    fn search(&mut self, strategy: &mut dyn Strategy, before: Summary) -> Result<(Summary, Option<String>), Problem> {
        let most = self.most(&before);
        let mut total = before;
        let mut result = None;
        let used = processor_time();
        let exhaustive = self.is_exhaustive() && !self.check.compare_output;
        let noting = !self.kind.samples();
        let limit = self.limit.clone();
        strategy.stop_when(Stop::when(move || limit.is_over()));
        loop {
            let (check, limit, discarded) = (self.check, &self.limit, self.discarded);
            let known = (&self.noticed, &self.unconfirmed_places);
            let round = Instant::now();
            let (time, executions) = self.observer.allowance(total.executions);
            let mut turn_over = false;
            let (outputs, visible, spin_held, timed_out) =
                (&mut self.outputs, &mut self.visible, &mut self.spin_held, &mut self.timed_out);
            let done = total.executions;
            let mut interesting = None;
            let (foresight, classes) = (&mut self.foresight, &mut self.classes);
            let summary = search(&mut self.native, strategy, &mut |native, summary| {
                let execution = native.execution();
                if exhaustive {
                    foresight.hear(execution);
                }
                *visible = (*visible).max(execution.visible());
                *spin_held |= execution.spin_held;
                if summary.executions == 0 {
                    // Nothing that was explored before counts.
                    classes.clear();
                } else if noting && is_comparable(execution) {
                    classes.note(key_of(execution));
                }
                if matches!(execution.end, End::Cut) {
                    return ControlFlow::Continue(());
                }
                let noticed = finding::notice(native, check.expected_status)
                    .or_else(|| if check.compare_output { compare_output(native, outputs) } else { None });
                if let Some(noticed) = noticed
                    && !known.0.iter().chain(known.1).any(|n| n.is_like(&noticed))
                {
                    interesting = Some(noticed);
                    return ControlFlow::Break(());
                }
                let unseen = exhaustive && native.unmodelled() & Unmodelled::MemoryLoops.bit() != 0;
                if unseen || done + discarded + summary.executions >= most || limit.is_over() {
                    *timed_out |= limit.is_late();
                    return ControlFlow::Break(());
                }
                turn_over = round.elapsed() >= TURN.min(time) || summary.executions >= executions;
                if turn_over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
            if summary.restarted {
                self.begin_again(&mut total, before);
                self.foreseen.0 = total;
                self.foresight.restart();
            }
            total.add(&summary);
            if summary.executions <= 1 {
                self.note_execution(round.elapsed());
            }
            self.note_end();
            if self.native.is_over() {
                // The last execution did not end.
                total.executions -= 1;
                self.tell_progress(&total);
                break;
            }
            let over = self.timed_out || total.executions + self.discarded >= most;
            let due = over || self.wants_forecast(time) != Wanted::No;
            let diverged = matches!(self.native.execution().end, End::Diverged(_)) || self.native.failure().is_some();
            if due && exhaustive && !diverged && interesting.is_none() && !summary.exhausted {
                let (executions, steps) =
                    (total.executions - self.foreseen.0.executions.min(total.executions), total.steps);
                let effort = match over {
                    true => Effort::at_the_end(executions, steps),
                    false => Effort::beside(executions, steps - self.foreseen.0.steps.min(steps)),
                };
                interesting = self.forecast(strategy, &mut total, effort);
            }
            if interesting.is_some() || over {
                self.crossings = crossings(strategy);
            }
            let stopped = self.tell_progress(&total);
            self.check_failure()?;
            if let End::Diverged(divergence) = self.native.execution().end.clone() {
                result = Some(self.check.explain_departure(&mut self.native, &divergence)?);
                break;
            }
            if let Some(departed) = self.waits_for_memory() {
                result = Some(departed);
                break;
            }
            match interesting {
                Some(noticed) => self.keep(noticed)?,
                None if turn_over && !stopped => continue,
                None => break,
            }
            let spent = self.timed_out || total.executions + self.discarded >= most;
            if stopped || !self.check.keep_going || summary.exhausted || spent {
                break;
            }
        }
        // Processes that have ended count; of the one that still runs what it has used.
        self.exploring += processor_time().saturating_sub(used);
        Ok((total, result))
    }
}

/// Whether the output of the last execution differs from that of all others.
pub(super) fn compare_output(native: &mut Native, outputs: &mut Vec<[Vec<u8>; 2]>) -> Option<Noticed> {
    let output = [native.output(0), native.output(1)];
    if outputs.contains(&output) {
        return None;
    }
    outputs.push(output);
    finding::unlike(outputs.first()?, native)
}

/// Processor time of this process and its children that have ended.
pub(super) fn processor_time() -> Duration {
    let of = |who| {
        // SAFETY: fills in a structure of our own.
        let usage = unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            libc::getrusage(who, &mut usage);
            usage
        };
        let time = |t: libc::timeval| Duration::new(t.tv_sec as u64, t.tv_usec as u32 * 1000);
        time(usage.ru_utime) + time(usage.ru_stime)
    };
    of(libc::RUSAGE_SELF) + of(libc::RUSAGE_CHILDREN)
}
