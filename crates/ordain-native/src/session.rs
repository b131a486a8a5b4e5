//! A replay that is led step by step and can be looked at on the way: where threads are, what they hold and wait for.
//!
//! Going back is starting anew: executions are deterministic.

use crate::backtrace::Symbols;
use crate::check::{Check, Problem, Replayed};
use crate::finding::{self, NativeWords, symbols_of};
use crate::target::stepping::StepState;
use crate::target::{Ended, Native};
use ordain_check::Limit;
use ordain_explore::{Planned, Target as _};
use ordain_model::describe;
use ordain_model::{End, ObjectId, Operation, Schedule, ThreadId};
use ordain_report::narrate::{self, Narrator};
use ordain_report::{Frame, Place, Sources, Step, Switch};
use ordain_wire::Mode;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A replay under way.
pub struct Session<'a> {
    check: &'a Check,
    native: Native,
    prefix: Vec<Planned>,
    /// Steps that were preemptions.
    preemptions: Vec<usize>,
    step_state: StepState,
    /// Threads in order of birth.
    threads: Vec<ThreadId>,
    symbols: Option<Rc<RefCell<Symbols>>>,
    narrator: Narrator,
    sources: RefCell<Sources>,
}

/// What a thread can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It could make its step now.
    Ready,
    /// Its operation must wait.
    Waiting,
    /// It has ended.
    Ended,
    /// It ended the execution by what it did.
    Failed,
}

/// A thread at this moment.
#[derive(Clone, Debug)]
pub struct ThreadNow {
    /// Its name by birth.
    pub name: String,
    /// What it can do.
    pub state: State,
    /// What it is about to do, in few words.
    pub doing: Option<String>,
    /// Who could let it go on, if it waits.
    pub waits_for: Vec<String>,
    /// Locks that it holds.
    pub holds: Vec<String>,
    /// Where it is.
    pub place: Option<Place>,
    /// Its stack, innermost first.
    pub frames: Vec<Frame>,
}

/// An object at this moment.
#[derive(Clone, Debug)]
pub struct ObjectNow {
    /// How it is called.
    pub name: String,
    /// What it is.
    pub kind: &'static str,
    /// Who holds it.
    pub held_by: Vec<String>,
    /// Who is about to use it, with what they are about to do and whether that must wait.
    pub wanted_by: Vec<(String, String, bool)>,
    /// Steps that were about it.
    pub steps: usize,
}

impl<'a> Session<'a> {
    /// Starts the program of a schedule, up to its first step.
    pub fn start(check: &'a Check, schedule: &Schedule) -> Result<Self, Problem> {
        Self::begin(check, schedule, false, Limit::default())
    }

    /// The same until somebody sets this flag.
    pub fn start_until(check: &'a Check, schedule: &Schedule, stop: Arc<AtomicBool>) -> Result<Self, Problem> {
        Self::begin(check, schedule, false, Limit::default().or(Some(stop)))
    }

    /// The same for a program that a debugger will attach to.
    pub fn start_debugged(check: &'a Check, schedule: &Schedule) -> Result<Self, Problem> {
        Self::begin(check, schedule, true, Limit::default())
    }

    fn begin(check: &'a Check, schedule: &Schedule, debugged: bool, limit: Limit) -> Result<Self, Problem> {
        let mut native = check.native(Some(Mode::Exec))?;
        native.set_limit(limit);
        if debugged {
            native.let_debuggers_in();
        }
        native.prepare_for(schedule);
        let transitions = schedule.transitions(native.names_mut());
        let prefix = transitions.into_iter().map(|transition| Planned { transition, op: None }).collect();
        let sources = RefCell::new(Sources::of_file(&check.launch.program));
        let mut session = Self {
            check,
            native,
            prefix,
            preemptions: Vec::new(),
            step_state: StepState::Over,
            threads: Vec::new(),
            symbols: None,
            narrator: Narrator::cautious(),
            sources,
        };
        session.restart()?;
        Ok(session)
    }

    /// Starts the program anew.
    pub fn restart(&mut self) -> Result<(), Problem> {
        self.preemptions.clear();
        self.threads = vec![ThreadId::MAIN];
        self.step_state = self.native.start_steps()?;
        if self.symbols.is_none() {
            self.symbols = symbols_of(&self.native);
        }
        self.look_around();
        Ok(())
    }

    pub(crate) fn native(&self) -> &Native {
        &self.native
    }

    /// Steps that were made.
    pub fn made(&self) -> usize {
        self.native.execution().steps.len()
    }

    /// Steps that the schedule decides.
    pub fn scheduled(&self) -> usize {
        self.prefix.len()
    }

    /// Whether the execution is over.
    pub fn is_over(&self) -> bool {
        self.step_state == StepState::Over
    }

    /// The thread that makes the next step, if the schedule can be followed.
    pub fn next_thread(&self) -> Option<String> {
        if self.is_over() {
            return None;
        }
        let arbiter = self.native.arbiter();
        let thread = match self.prefix.get(self.made()) {
            Some(planned) => planned.transition.thread,
            None => *arbiter.alive().iter().find(|t| arbiter.choices(**t) > 0)?,
        };
        (thread.index() < self.native.names().thread_count()).then(|| self.native.names().thread_name(thread))
    }

    /// What the next thread is about to do.
    pub fn next_step(&self) -> Option<(String, String, Option<Place>)> {
        let name = self.next_thread()?;
        let now = self.threads().into_iter().find(|t| t.name == name)?;
        Some((name, now.doing?, now.place))
    }

    /// Makes a step and tells it; nothing if the execution is over.
    pub fn step(&mut self) -> Result<Option<Step>, Problem> {
        if self.is_over() {
            return Ok(None);
        }
        let number = self.made();
        let arbiter = self.native.arbiter();
        let before = arbiter.execution().steps.last().map(|s| s.thread);
        let could_go_on = before.is_some_and(|t| arbiter.choices(t) > 0);
        self.step_state = self.native.make_step(self.prefix.get(number..).unwrap_or_default())?;
        if !self.is_over() && self.native.arbiter().is_stuck() {
            // Nobody can go on: there is no decision to wait for.
            self.step_state = self.native.make_step(self.prefix.get(self.made()..).unwrap_or_default())?;
        }
        let Some(step) = self.native.execution().steps.get(number).copied() else { return Ok(None) };
        let switch = match before {
            Some(before) if before != step.thread && could_go_on => Switch::Preemption,
            Some(before) if before != step.thread => Switch::Free,
            _ => Switch::None,
        };
        if switch == Switch::Preemption {
            self.preemptions.push(number);
        }
        if let Operation::Spawn { child } = step.op
            && !self.threads.contains(&child)
        {
            self.threads.push(child);
        }
        self.look_around();
        let words = NativeWords::with(&self.native, self.symbols.clone());
        let words = self.narrator.words(&words);
        let outcome = describe::outcome(&step);
        let text = narrate::text_at(&words, &mut self.sources.borrow_mut(), &step.op, step.site);
        let text = outcome.as_ref().map_or(text.clone(), |outcome| format!("{text} -> {outcome}"));
        Ok(Some(Step {
            number,
            thread: self.threads.iter().position(|t| *t == step.thread).unwrap_or(0),
            verb: step.op.verb().to_owned(),
            text,
            outcome,
            place: narrate::place(&words, &mut self.sources.borrow_mut(), step.site),
            switch,
            matters: true,
            ..Step::default()
        }))
    }

    /// Names of the threads so far, in order of birth: where [`Step::thread`] points.
    pub fn thread_names(&self) -> Vec<String> {
        self.threads.iter().map(|t| self.native.names().thread_name(*t)).collect()
    }

    /// The name of the thread that made a step.
    pub fn thread_of(&self, step: &Step) -> String {
        self.threads.get(step.thread).map_or_else(String::new, |t| self.native.names().thread_name(*t))
    }

    /// What a step was, as schedule files tell it: the operation with its objects, and the place.
    pub fn told(&self, number: usize) -> Option<(String, Option<Place>)> {
        let step = self.native.execution().steps.get(number)?;
        let words = NativeWords::with(&self.native, self.symbols.clone());
        let place = narrate::place(&words, &mut self.sources.borrow_mut(), step.site);
        Some((describe::operation(&words, &step.op), place))
    }

    /// What a thread is about to do, as schedule files tell it, and whether it must wait.
    pub fn told_pending(&self, thread: &str) -> Option<(String, Option<Place>, bool)> {
        let arbiter = self.native.arbiter();
        let alive = arbiter.alive().iter();
        let thread = *alive.clone().find(|t| arbiter.names().thread_name(**t) == thread)?;
        let (op, site) = arbiter.pending(thread)?;
        let words = NativeWords::with(&self.native, self.symbols.clone());
        let place = narrate::place(&words, &mut self.sources.borrow_mut(), site);
        Some((describe::operation(&words, &op), place, arbiter.choices(thread) == 0))
    }

    /// Learns names from what threads have announced.
    fn look_around(&mut self) {
        let words = NativeWords::with(&self.native, self.symbols.clone());
        let arbiter = self.native.arbiter();
        for (op, site) in arbiter.alive().iter().filter_map(|t| arbiter.pending(*t)) {
            self.narrator.note(&words, self.sources.get_mut(), op, site);
        }
    }

    /// All threads so far.
    pub fn threads(&self) -> Vec<ThreadNow> {
        let arbiter = self.native.arbiter();
        let words = NativeWords::with(&self.native, self.symbols.clone());
        let named = self.narrator.words(&words);
        let records = self.native.records();
        let waiting = arbiter.waiting();
        let over = self.is_over();
        let aftermath = self.native.aftermath();
        let name = |t: &ThreadId| arbiter.names().thread_name(*t);
        self.threads
            .iter()
            .map(|thread| {
                let pending = arbiter.pending(*thread);
                let was_there = |t: &ThreadId| arbiter.execution().pending.iter().any(|p| p.thread == *t);
                let alive = if over { was_there(thread) } else { arbiter.alive().contains(thread) };
                let failed =
                    over && aftermath.culprit == *thread && !matches!(aftermath.ended, Ended::ByModel | Ended::Exit(_));
                let state = match () {
                    () if failed => State::Failed,
                    () if !alive => State::Ended,
                    () if arbiter.choices(*thread) > 0 => State::Ready,
                    () => State::Waiting,
                };
                let exact = over
                    && aftermath.culprit == *thread
                    && matches!(aftermath.ended, Ended::Signal { .. } | Ended::Hang(_) | Ended::Abort);
                let record = records.iter().find(|r| r.thread == thread.0).filter(|_| alive || failed);
                let frames = record.map(|r| words.unwind(&r.registers, exact)).unwrap_or_default();
                let mut sources = self.sources.borrow_mut();
                let frames: Vec<Frame> =
                    frames.iter().flat_map(|f| &f.locations).map(|l| finding::frame(l, &mut sources)).collect();
                let waiter = waiting.waiters.iter().find(|w| w.thread == *thread);
                let held = arbiter.holds().filter(|h| h.1 == *thread);
                ThreadNow {
                    name: name(thread),
                    state,
                    doing: pending
                        .filter(|_| alive)
                        .filter(|p| !p.0.ends_program())
                        .map(|p| narrate::text_at(&named, &mut sources, &p.0, p.1)),
                    waits_for: match waiter {
                        Some(waiter) if state == State::Waiting => waiter.for_threads.iter().map(name).collect(),
                        _ => Vec::new(),
                    },
                    holds: held.map(|h| narrate::short_name(&named, h.0)).collect(),
                    place: pending.filter(|_| alive).and_then(|p| narrate::place(&named, &mut sources, p.1)),
                    frames,
                }
            })
            .collect()
    }

    /// Objects that steps were about, or that threads are about to use.
    pub fn objects(&self) -> Vec<ObjectNow> {
        let arbiter = self.native.arbiter();
        let words = NativeWords::with(&self.native, self.symbols.clone());
        let named = self.narrator.words(&words);
        let pending = arbiter.alive().iter().filter_map(|t| arbiter.pending(*t));
        let ops = arbiter.execution().steps.iter().map(|s| s.op).chain(pending.map(|p| p.0));
        let mut objects: Vec<ObjectId> = Vec::new();
        for object in ops.filter_map(|op| op.object()) {
            if !objects.contains(&object) {
                objects.push(object);
            }
        }
        let name = |t: ThreadId| arbiter.names().thread_name(t);
        objects
            .into_iter()
            .map(|object| ObjectNow {
                name: narrate::short_name(&named, object),
                kind: arbiter.names().kind(object).name(),
                held_by: arbiter.holds().filter(|h| h.0 == object).map(|h| name(h.1)).collect(),
                wanted_by: arbiter
                    .alive()
                    .iter()
                    .filter_map(|t| Some((*t, arbiter.pending(*t)?.0)))
                    .filter(|(_, op)| op.object() == Some(object))
                    .map(|(t, op)| (name(t), op.verb().to_owned(), arbiter.choices(t) == 0))
                    .collect(),
                steps: arbiter.execution().steps.iter().filter(|s| s.op.object() == Some(object)).count(),
            })
            .collect()
    }

    /// Whether the program departed from the schedule.
    pub fn departed(&self) -> bool {
        matches!(self.native.execution().end, End::Diverged(_))
    }

    /// What the program has written so far to standard output (0) or standard error (1).
    pub fn written(&mut self, which: usize) -> Vec<u8> {
        self.native.written(which)
    }

    /// Goes on to the end, and tells what the execution showed.
    pub fn finish(&mut self) -> Result<Replayed, Problem> {
        while !self.is_over() {
            self.step()?;
        }
        self.check.replayed(&mut self.native, &self.preemptions)
    }
}
