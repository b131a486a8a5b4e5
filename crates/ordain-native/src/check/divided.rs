//! A check whose search is divided: workers explore fragments, each in a process of its own, and what is left can be kept and resumed.

use super::checkpoint::Checkpoint;
use super::run::{Explored, Run};
use super::{Check, Problem};
use crate::finding::{self, Noticed};
use crate::limit::Limit;
use crate::target::{Allowance, Failure, ModeChange, Native, Search, Turn, Wanted};
use ordain_explore::crossing::Crossing;
use ordain_explore::frontier::{Accepted, Controller, Desk, Done, Drive, Hire, Order, Pace, Signals, Worker, drive};
use ordain_explore::{Coverage, Planned, Summary, Target};
use ordain_model::{Names, Site, Transition};
use ordain_report::checkpoint::Rhythm;
use ordain_report::{Estimate, Workers};
use ordain_wire::{Mode, Unmodelled};
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
struct Common<'a> {
    check: &'a Check,
    job: Search,
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
    ended: Mutex<Option<Ended>>,
}

/// Why a search ends before its time.
enum Ended {
    Failure(Failure),
    /// The program departed from its plan; what that means.
    Departed(Result<String, Problem>),
    /// Executions at the same time share something.
    Shared,
}

/// What comes with the result of a worker.
pub(super) struct Heard {
    /// What was noticed, with its inputs from outside.
    noticed: Option<(Portable<Noticed>, Vec<u8>)>,
    /// What executions have taught the worker.
    loops: Vec<Site>,
    /// Where the worker's search was.
    crossings: Portable<Vec<Crossing>>,
    /// Something was worth telling that is nothing.
    unconfirmed: Option<String>,
    /// What was done.
    pub(super) summary: Summary,
    /// The classes that were explored.
    classes: Vec<u64>,
    cpu: Duration,
    estimate: Option<ordain_explore::estimate::Estimate>,
    mode: Mode,
    changes: Vec<ModeChange>,
}

/// Something with threads in it, as another process numbers them: with the place of each in the tree of births.
struct Portable<T> {
    what: T,
    lineages: Vec<Vec<u32>>,
}

impl<T> Portable<T> {
    fn new(what: T, names: &Names, threads: impl Iterator<Item = Transition>) -> Self {
        Self { what, lineages: threads.map(|t| names.lineage(t.thread)).collect() }
    }
}

fn each_transition(crossings: &[Crossing]) -> impl Iterator<Item = Transition> + '_ {
    crossings.iter().flat_map(|c| [c.taken].into_iter().chain(c.explored.iter().copied()).chain(c.left.iter().copied()))
}

/// Gives the transitions of crossings the numbers that threads have here.
fn at_home(crossings: Portable<Vec<Crossing>>, names: &mut Names) -> Vec<Crossing> {
    let mut lineages = crossings.lineages.iter();
    let mut rename = |t: Transition| match lineages.next() {
        Some(lineage) => Transition { thread: names.descendant(lineage), ..t },
        None => t,
    };
    let mut renamed = |c: Crossing| Crossing {
        taken: rename(c.taken),
        explored: c.explored.into_iter().map(&mut rename).collect(),
        left: c.left.into_iter().map(&mut rename).collect(),
    };
    crossings.what.into_iter().map(&mut renamed).collect()
}

/// One that explores, in a process of its own.
struct Crew<'a> {
    common: &'a Common<'a>,
    native: Native,
    /// What was told already.
    told: Vec<Noticed>,
}

impl Crew<'_> {
    fn end(&self, ended: Ended) -> String {
        let mut place = self.common.ended.lock().unwrap_or_else(PoisonError::into_inner);
        place.get_or_insert(ended);
        "the search ends".into()
    }

    /// Why no others may explore beside this one, or nobody at all with this strategy, if it has turned out so.
    fn is_shared(&self) -> Option<Ended> {
        if self.native.unmodelled() & Unmodelled::MemoryLoops.bit() != 0 {
            return Some(Ended::Departed(Ok("threads wait in loops for memory to change".into())));
        }
        (self.native.collides() && self.common.workers > 1).then_some(Ended::Shared)
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

impl Common<'_> {
    /// Whether no execution may be made any more, and nobody will give one back: what was made does not all count if the search had to
    /// begin again.
    fn is_spent(&self) -> bool {
        // In this order: who gives back does it before he is not busy any more.
        self.busy.load(SeqCst) == 0 && self.left.load(SeqCst) == 0
    }
}

impl Worker for Crew<'_> {
    type Extra = Heard;

    fn explore(&mut self, order: &Order, signals: &Signals) -> Result<(Done, Heard), String> {
        let common = self.common;
        if common.begun.swap(true, Relaxed) && common.limit.is_over() {
            return Err("the time is over".into());
        }
        let slice = Duration::from_micros(order.task.slice);
        let time = slice.min(common.limit.left());
        let executions = self.reserve(signals)?;
        let forecast = if common.forecast.swap(false, Relaxed) { Wanted::Rough } else { Wanted::No };
        let allowance = Allowance { before: 0, executions, time, forecast, keep: false };
        let explored = self.native.explore_fragment(&common.job, order, &allowance);
        let turn = match explored {
            Ok(Some(turn)) => turn,
            Ok(None) => {
                common.cut_short.fetch_or(self.native.is_over(), Relaxed);
                self.give_back(executions);
                return Err(self.native.last_loss.clone().unwrap_or_else(|| "its process was started anew".into()));
            }
            Err(failure) => return Err(self.end(Ended::Failure(failure))),
        };
        self.give_back(executions.saturating_sub(turn.turn.summary.executions));
        let (done, turn) = (turn.done, turn.turn);
        if let Some(shared) = self.is_shared() {
            return Err(self.end(shared));
        }
        if let Some(divergence) = &turn.departure {
            let explained = common.check.explain_departure(&mut self.native, divergence);
            return Err(self.end(Ended::Departed(explained)));
        }
        let Some(done) = done else { return Err("there is no result".into()) };
        Ok((done, Heard::of(&self.native, &turn, common.job.expected_status, &mut self.told)))
    }
}

impl Heard {
    /// Whether a check is over with it.
    pub(super) fn ends(&self, keep_going: bool) -> bool {
        self.unconfirmed.is_some() || self.noticed.is_some() && !keep_going
    }

    /// What a turn brought, with what it noticed unless that was told.
    pub(super) fn of(native: &Native, turn: &Turn, expected_status: i32, told: &mut Vec<Noticed>) -> Self {
        let noticed = if turn.telling { finding::notice(native, expected_status) } else { None };
        let unconfirmed = (turn.telling && noticed.is_none()).then(|| format!("{:?}", native.aftermath().ended));
        let new = noticed.filter(|n| !told.iter().any(|t| t.is_like(n)));
        let crossings = Portable::new(turn.crossings.clone(), native.names(), each_transition(&turn.crossings));
        let noticed = new.map(|noticed| {
            told.push(noticed.clone());
            let threads: Vec<Transition> = noticed.prefix.iter().map(|p| p.transition).collect();
            (Portable::new(noticed, native.names(), threads.into_iter()), native.inputs())
        });
        Self {
            noticed,
            loops: native.loops().to_vec(),
            crossings,
            unconfirmed,
            summary: turn.summary,
            classes: turn.classes.clone(),
            cpu: turn.cpu,
            estimate: turn.estimate,
            mode: native.mode(),
            changes: native.changes.clone(),
        }
    }
}

impl Run<'_> {
    /// Explores with several workers. `None` if the program destroys its processes: then it must be led step by step.
    pub(super) fn search_divided(&mut self, kept: Option<Checkpoint>) -> Result<Option<Explored>, Problem> {
        let Some(rule) = self.kind().rule() else { return Ok(None) };
        let least = self.check.slice.as_micros() as u64;
        let mut controller = Controller::new(rule, Pace { least, most: Pace::LOCAL.most.max(least) });
        controller.know_loops(self.native.loops());
        let mut before = Duration::ZERO;
        if let Some(kept) = kept {
            (controller, before) = (kept.controller, kept.elapsed);
            controller.take_over();
        }
        let done = controller.total().executions;
        self.observer.resumed(done);
        let most = self.most(&Summary::default());
        let common = Common {
            check: self.check,
            job: self.job(),
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
        self.crowd = self.workers;
        let mut crew: Vec<Hire<'_, Crew<'_>>> = Vec::new();
        for mut native in self.hire(self.workers)? {
            native.set_limit(self.limit.clone().or(Some(common.halt.clone())));
            let common = &common;
            crew.push(Box::new(move || Crew { common, native, told: Vec::new() }));
        }
        let mut leading = Leading {
            before,
            rhythm: Rhythm::default(),
            losses: 0,
            stop: false,
            given_up: false,
            problem: None,
            ended_with: None,
        };
        let (controller, labour) =
            drive(controller, crew, before, TICK, &mut |desk, told| leading.hear(self, &common, desk, told, most));
        self.labour = labour;
        let Leading { given_up, problem, ended_with, .. } = leading;
        self.note_end();
        let total = ended_with.unwrap_or_else(|| controller.total());
        match (problem, common.ended.into_inner().unwrap_or_else(PoisonError::into_inner)) {
            (Some(problem), _) => return Err(problem),
            (None, Some(Ended::Failure(failure))) => return Err(failure.into()),
            (None, Some(Ended::Departed(explained))) => return Ok(Some((total, None, Some(explained?)))),
            (None, Some(Ended::Shared)) => {
                // What was explored may be wrong: the search begins again with workers that are kept apart, or with one.
                return if self.workers_now() > 1 { self.search_divided(None) } else { self.search_whole(None) };
            }
            (None, None) => {}
        }
        if given_up {
            return Ok(None);
        }
        self.division = Some(controller.division());
        // Whoever goes on from here must know what the workers have learned.
        self.native.know_loops(controller.loops());
        // A check that was to end with its first finding is over.
        let over = !self.findings.is_empty() && !self.check.keep_going && !self.interrupted;
        if !total.exhausted && !over {
            self.resumable = self.keep_search(&controller, before);
        }
        let hopeless = common.cut_short.load(Relaxed);
        let nothing = self.findings.is_empty() && !self.unconfirmed.is_any();
        if !total.exhausted && nothing && !self.interrupted && !hopeless {
            self.look_from_the_beginning(&total)?;
        }
        Ok(Some((total, total.exhausted.then_some(Coverage::Everything), None)))
    }

    /// How the search was divided.
    pub(super) fn workers(&self) -> Option<Workers> {
        self.division.map(|division| Workers {
            count: self.workers,
            utilisation: self.labour.share(),
            fragments: division.results,
            released: division.released,
        })
    }

    /// Estimates as well as can be how much there is in all.
    fn look_from_the_beginning(&mut self, total: &Summary) -> Result<(), Problem> {
        let allowance = Allowance { before: 0, executions: 1, time: TICK, forecast: Wanted::Best, keep: false };
        let job = self.job();
        let Some(turn) = self.in_a_moment(|run| run.native.explore(&job, &allowance))? else { return Ok(()) };
        self.take_total(turn.estimate, total);
        if turn.telling
            && let Some(noticed) = finding::notice(&self.native, self.check.expected_status)
        {
            self.keep(noticed)?;
        }
        Ok(())
    }

    /// Takes in what a worker tells; true if the check is over with it. With `ending` it was over before, and nothing new is confirmed.
    pub(super) fn take_heard(&mut self, heard: Heard, total: &Summary, ending: bool) -> Result<bool, Problem> {
        self.visible = self.visible.max(heard.summary.visible);
        self.spin_held |= heard.summary.spun;
        self.exploring += heard.cpu;
        self.note_classes(&heard.classes);
        self.native.follow_mode(heard.mode, &heard.changes);
        self.take_total(heard.estimate, total);
        if let Some(message) = heard.unconfirmed {
            let message = format!("the process saw it end with {message}");
            return Err(Problem::Unconfirmed { kind: "misbehaviour", message });
        }
        let crossings = at_home(heard.crossings, self.native.names_mut());
        if !crossings.is_empty() {
            self.crossings = crossings;
        }
        let Some((Portable { what: mut noticed, lineages }, inputs)) = heard.noticed else { return Ok(false) };
        if ending || self.is_known(&noticed) {
            return Ok(false);
        }
        let names = self.native.names_mut();
        let prefix = noticed.prefix.iter().zip(&lineages).map(|(planned, lineage)| {
            let transition = Transition { thread: names.descendant(lineage), ..planned.transition };
            Planned { transition, op: None }
        });
        noticed.prefix = prefix.collect();
        self.native.set_inputs(&inputs);
        // It was noticed with that in mind, and which steps there are may depend on it.
        self.native.know_loops(&heard.loops);
        self.keep(noticed)?;
        Ok(!self.check.keep_going)
    }

    /// Takes an estimate that was made from the beginning.
    fn take_total(&mut self, estimate: Option<ordain_explore::estimate::Estimate>, total: &Summary) {
        let Some(e) = estimate else { return };
        let done = self.searched(total);
        self.estimate = Some(Estimate::from_ln(e.ln, e.low, e.high, e.done).with_done(done));
    }
}

/// Leads the workers.
struct Leading {
    before: Duration,
    rhythm: Rhythm,
    losses: u32,
    stop: bool,
    given_up: bool,
    problem: Option<Problem>,
    /// What was done when a finding ended the check: whatever comes of the search, this led to it.
    ended_with: Option<Summary>,
}

impl Leading {
    fn hear(
        &mut self,
        run: &mut Run<'_>,
        common: &Common<'_>,
        desk: &Desk,
        told: Drive<Heard>,
        most: u64,
    ) -> ControlFlow<()> {
        match told {
            Drive::Result(heard) => {
                let before = desk.lock().total();
                let mut total = before;
                total.add(&heard.summary);
                let unconfirmed = run.unconfirmed.clone();
                // When a finding has ended the check, others may have noticed something too.
                return match run.take_heard(heard, &before, self.ended_with.is_some()) {
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
            Drive::Accepted(Accepted::Counts) => self.losses = 0,
            Drive::Accepted(Accepted::Restarted) => {
                run.estimate = None;
                run.classes.clear();
            }
            Drive::Accepted(Accepted::Stale) => {}
            Drive::Accepted(Accepted::Malformed) => self.lose(run, "its result made no sense".into()),
            Drive::Lost(why) => {
                if self.stop
                    || run.limit.is_over()
                    || common.is_spent()
                    || common.ended.lock().unwrap_or_else(PoisonError::into_inner).is_some()
                {
                    return ControlFlow::Break(());
                }
                self.lose(run, why);
            }
            Drive::Tick => self.tick(run, common, &desk.lock()),
        }
        let total = desk.lock().total();
        self.stop |= run.limit.is_over() || total.executions >= most;
        if self.stop || self.given_up {
            common.halt.store(true, Relaxed);
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }

    fn lose(&mut self, run: &mut Run<'_>, why: String) {
        run.native.losses += 1;
        run.native.last_loss = Some(why);
        self.losses += 1;
        self.given_up |= self.losses > MOST_LOSSES;
    }

    fn tick(&mut self, run: &mut Run<'_>, common: &Common<'_>, controller: &Controller) {
        run.division = Some(controller.division());
        if run.wants_forecast(Duration::MAX) != Wanted::No {
            run.foreseen.1 = Instant::now();
            common.forecast.store(true, Relaxed);
        }
        let total = controller.total();
        run.estimate = run.estimate.map(|e| e.with_done(run.searched(&total)));
        self.stop |= run.tell_progress(&total);
        if self.rhythm.is_due() {
            let begin = Instant::now();
            run.keep_search(controller, self.before);
            self.rhythm.note(begin);
        }
    }
}
