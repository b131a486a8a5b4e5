//! Announces what threads are about to do, lets the scheduler decide, applies the decision, and switches to who goes on.
//!
//! Everything happens on one kernel thread. [`engine`] gives access to the one engine; no reference to it may be kept across
//! a switch.

use crate::context::{self, ORDAIN_CURRENT, Registers};
use crate::descriptors;
use crate::inherited;
use crate::initialisation::{self, Initialisations};
use crate::inputs::Inputs;
use crate::link::{self, EventLog, break_down, control, refuse};
use crate::objects::Objects;
use crate::outliving;
use crate::process::Program;
use crate::scheduler::Scheduler;
use crate::spin::Waiting;
use crate::sys::{self, call};
use crate::threads::{Slot, State};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ffi::c_int;
use core::fmt::Write as _;
use core::ptr::null_mut;
use core::sync::atomic::Ordering::Relaxed;
use ordain_explore::Plan;
use ordain_model::{Arbiter, End, Operation, Outcome, Site, ThreadId};
use ordain_wire::{Ending, Event, Mode, Request, Status, ThreadRecord};

/// The engine of this process.
pub struct Engine {
    /// The model.
    pub arbiter: Arbiter,
    /// The program's threads.
    #[expect(clippy::vec_box, reason = "stubs and C frames keep pointers to slots")]
    pub slots: Vec<Box<Slot>>,
    /// Objects by where they are.
    pub objects: Objects,
    /// Initialisations of objects beside other threads.
    pub initialisations: Initialisations,
    /// What came from outside.
    pub inputs: Inputs,
    /// What is to be run.
    pub program: Program,
    /// How executions are started.
    pub mode: Mode,
    /// The thread that runs.
    pub current: usize,
    /// All threads have ended, and only the C library's end is left: nothing is controlled any more.
    pub quiet: bool,
    /// Threads that were made and not joined yet: while there are none, nobody can notice what main does.
    pub unjoined: usize,
    /// The slot of each thread.
    pub slot_of: Vec<usize>,
    /// What the launcher is told of the execution.
    pub events: EventLog,
    /// Who decides.
    pub scheduler: Scheduler,
    outcome: Outcome,
    heartbeat: u64,
    conditions: Vec<Condition>,
    /// Threads that wait for memory to change.
    pub waiting: Vec<Waiting>,
    /// Whether there were any in this execution.
    pub waited: bool,
    /// How often they have looked in vain since somebody did something else.
    pub vain: u32,
    /// Where the engine itself waits while the program runs, in snapshot mode.
    pub home: u64,
    /// Its thread-local storage.
    pub home_fs: u64,
}

/// What a thread has announced depends on memory.
struct Condition {
    thread: ThreadId,
    /// What it does if the word does not hold the expected value, and if it does.
    ops: [Operation; 2],
    word: *const u32,
    expected: u32,
    /// Which of them is announced.
    holds: bool,
}

static mut ENGINE: *mut Engine = null_mut();
/// Whether the program is under control now: interposed functions ask first.
pub static mut ORDAIN_ACTIVE: bool = false;

/// Whether the program is under control.
#[inline(always)]
pub fn active() -> bool {
    // SAFETY: a flag that only the carrier writes.
    unsafe { ORDAIN_ACTIVE }
}

/// Takes control, or lets go.
pub fn set_active(active: bool) {
    // SAFETY: only the carrier comes here.
    unsafe { ORDAIN_ACTIVE = active };
    crate::dispatch::select(active);
}

/// The engine.
#[inline(always)]
pub fn engine() -> &'static mut Engine {
    // SAFETY: set before the program is under control; used by the carrier only, and never kept across a switch.
    unsafe { &mut *ENGINE }
}

/// Whether there is one.
pub fn is_there() -> bool {
    // SAFETY: a pointer that is set once.
    unsafe { !ENGINE.is_null() }
}

/// Announces an operation of the running thread and waits until it was picked and applied. Handlers of signals that come before run first.
/// Ends the thread if it was cancelled.
pub fn step(op: Operation) -> Outcome {
    match step_cancellable(op) {
        Outcome::CANCELLED => crate::cancellation::act(),
        outcome => outcome,
    }
}

/// As [`step`], for those that have something left to do if the thread was cancelled.
pub fn step_cancellable(op: Operation) -> Outcome {
    loop {
        match attempt(op) {
            Outcome::SIGNALLED | Outcome::BROKEN_OFF => crate::signals::take(),
            outcome => return outcome,
        }
    }
}

/// Announces an operation once, at which the thread may be cancelled if it can be anywhere.
pub fn attempt(op: Operation) -> Outcome {
    if crate::cancellation::is_anywhere() { crate::cancellation::step_anywhere(op) } else { step_now(op) }
}

/// As [`step`], for a wait that ends with an error when a handler has run; `restarts` if not behind handlers that want it to go on.
pub fn wait(op: Operation, restarts: bool) -> Result<Outcome, c_int> {
    loop {
        if let Some(outcome) = wait_once(op, restarts)? {
            return Ok(outcome);
        }
    }
}

/// As [`wait`], but gives `None` if a handler has run and the wait does not end. Meanwhile the thread did not wait.
pub fn wait_once(op: Operation, restarts: bool) -> Result<Option<Outcome>, c_int> {
    if engine().slots[engine().current].masked.is_broken_off() {
        return Err(libc::EINTR);
    }
    match attempt(op) {
        Outcome::CANCELLED => crate::cancellation::act(),
        Outcome::SIGNALLED if crate::signals::put_off() => return Err(crate::signals::PUT_OFF),
        Outcome::SIGNALLED => crate::signals::take(),
        Outcome::BROKEN_OFF => {
            crate::signals::take();
            if crate::signals::breaks(restarts) {
                return Err(libc::EINTR);
            }
        }
        outcome => return Ok(Some(outcome)),
    }
    Ok(None)
}

/// As [`step`], for an operation that does something else if memory does not hold an expected value when its turn comes: then `None`.
pub unsafe fn step_if(op: Operation, otherwise: Operation, word: *const u32, expected: u32) -> Option<Outcome> {
    loop {
        let e = engine();
        let thread = e.me();
        // SAFETY: the program's memory.
        let holds = unsafe { word.read_volatile() } == expected;
        e.conditions.push(Condition { thread, ops: [otherwise, op], word, expected, holds });
        let outcome = step_now(if holds { op } else { otherwise });
        let conditions = &mut engine().conditions;
        let at = conditions.iter().position(|c| c.thread == thread)?;
        let held = conditions.remove(at).holds;
        match outcome {
            Outcome::SIGNALLED | Outcome::BROKEN_OFF => crate::signals::take(),
            outcome => return held.then_some(outcome),
        }
    }
}

/// As [`step`], but gives [`Outcome::SIGNALLED`] or [`Outcome::BROKEN_OFF`] if handlers must run first.
pub fn step_now(op: Operation) -> Outcome {
    let e = engine();
    if e.quiet {
        return Outcome::DONE;
    }
    initialisation::begin_wait(&op);
    initialisation::before_announcing(&op);
    let e = engine();
    let me = e.current;
    let site = e.slots[me].registers[0];
    e.announce(e.slots[me].thread, op, site);
    match e.decide() {
        Some(next) => e.go(next),
        None => end(Ending::Model, 0),
    }
    crate::lifetimes::check_use(&op);
    engine().outcome
}

/// Nobody can go on as far as the model knows; but it does not know everything.
fn refuse_what_is_no_deadlock() {
    if descriptors::is_behind() && descriptors::are_sent() {
        refuse(format_args!(
            "descriptors were sent in messages (SCM_RIGHTS) that nobody has received; their closing cannot be followed"
        ));
    }
    if descriptors::is_behind() {
        refuse(format_args!(
            "threads hand data over by stdio (such as fputs) on a pipe or socket, which cannot be followed; use read and write"
        ));
    }
    if crate::signals::is_late() {
        refuse(format_args!(
            "the last thread that would take the signal of an alarm has ended; block it in all threads before alarm is called"
        ));
    }
}

/// Why a thread has crashed: see [`crash`].
pub struct Crash {
    ending: Ending,
    detail: i32,
    address: u64,
    message: Text,
}

/// Text of any length. Not a `String`: the library's own formatting into those needs unwinding, which is not there.
struct Text(Vec<u8>);

impl core::fmt::Write for Text {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        self.0.extend_from_slice(text.as_bytes());
        Ok(())
    }
}

/// The running thread has crashed. That ends the program, in a step of its own: others may go on until it has come to that. The thread
/// itself never goes on, so nothing of its stack is needed any more. `detail` is the signal if there is one, `address`
/// what it is about.
pub fn crash(ending: Ending, detail: i32, address: u64, message: core::fmt::Arguments<'_>) -> ! {
    let e = engine();
    let me = e.me();
    let slot = &mut e.slots[e.current];
    let mut text = Text(Vec::new());
    // Never fails.
    let _ = text.write_fmt(message);
    slot.crash = Some(Crash { ending, detail, address, message: text });
    let site = slot.registers[0];
    // It has announced something if memory is gone that the announced operation of some thread looks at.
    if e.quiet || e.arbiter.is_alone(me) || e.arbiter.pending(me).is_some() {
        e.end_by_crash();
    }
    e.announce(me, Operation::Crash, site);
    match e.decide() {
        Some(next) => e.go(next),
        None => end(Ending::Model, 0),
    }
    break_down(format_args!("a thread went on that had crashed"))
}

/// Ends the execution.
pub fn end(ending: Ending, detail: i32) -> ! {
    let e = engine();
    if ending == Ending::Model && matches!(e.arbiter.execution().end, End::Deadlock(_)) {
        refuse_what_is_no_deadlock();
    }
    let control = control();
    set_active(false);
    if e.arbiter.execution().left_unseen {
        crate::unmodelled::note(crate::unmodelled::Unmodelled::GivingWay);
    }
    crate::children::note_running();
    let stuck = ending == Ending::Model && matches!(e.arbiter.execution().end, End::Deadlock(_));
    // Nobody can go on but those who wait in a loop for memory, and that in vain.
    let in_vain = if stuck { e.waiting.first().map(Waiting::thread) } else { None };
    control.ending.store(if in_vain.is_some() { Ending::Hang } else { ending });
    control.detail.store(detail, Relaxed);
    let culprit = in_vain.unwrap_or(e.slots[e.current].thread);
    control.culprit.store(culprit.0, Relaxed);
    e.show();
    e.leave()
}

impl Engine {
    /// Makes the engine of this process.
    pub fn install(program: Program) -> &'static mut Self {
        let engine = Box::new(Self {
            arbiter: Arbiter::new(link::options()),
            slots: Vec::new(),
            objects: Objects::default(),
            initialisations: Initialisations::default(),
            inputs: Inputs::default(),
            program,
            mode: control().mode.load().unwrap_or(Mode::Exec),
            current: 0,
            quiet: false,
            unjoined: 0,
            slot_of: Vec::new(),
            events: EventLog::default(),
            scheduler: Scheduler::new(),
            outcome: Outcome::DONE,
            heartbeat: 0,
            conditions: Vec::new(),
            waiting: Vec::new(),
            waited: false,
            vain: 0,
            home: 0,
            home_fs: 0,
        });
        // SAFETY: once, before the program is under control.
        unsafe { ENGINE = Box::into_raw(engine) };
        crate::engine::engine()
    }

    /// Takes down an event.
    pub fn log(&mut self, event: &Event) {
        self.events.write(event);
    }

    /// Says what a thread is about to do.
    pub fn announce(&mut self, thread: ThreadId, op: Operation, site: u64) {
        if self.waited {
            self.note_for_waiting(thread, &op);
        }
        self.log(&Event::Announce { thread, op, site });
        self.arbiter.announce(thread, op, Site(site));
    }

    /// Takes over a plan of the search; see [`Scheduler::take_over`].
    pub unsafe fn prepare(&mut self, plan: &mut Plan<'_>) -> bool {
        if plan.is_anew() {
            self.arbiter.forget_long_loops();
        }
        // SAFETY: as whoever calls this promises.
        unsafe { self.scheduler.take_over(plan) }
    }

    /// Whether the plan cut the last execution short.
    pub fn was_cut(&self) -> bool {
        matches!(self.arbiter.execution().end, End::Cut)
    }

    /// Begins an execution.
    pub fn begin(&mut self) {
        self.events.clear();
        self.quiet = false;
        self.unjoined = 0;
        self.current = 0;
        self.outcome = Outcome::DONE;
        self.conditions.clear();
        self.waiting.clear();
        (self.waited, self.vain) = (false, 0);
        self.arbiter.begin();
        self.objects.begin();
        self.initialisations.begin();
        for slot in &mut self.slots {
            slot.reset();
        }
        self.slots[0].thread = ThreadId::MAIN;
        self.slots[0].state = State::Running;
        self.set_slot(ThreadId::MAIN, 0);
        self.enter(0);
        crate::sync::begin();
        crate::spin::begin();
        crate::streams::begin();
        crate::files::begin();
    }

    /// Notes in which slot a thread lives.
    pub fn set_slot(&mut self, thread: ThreadId, slot: usize) {
        if self.slot_of.len() <= thread.index() {
            self.slot_of.resize(thread.index() + 1, usize::MAX);
        }
        self.slot_of[thread.index()] = slot;
    }

    /// Something gets on, though no thread makes a step.
    pub fn beat(&mut self) {
        self.heartbeat += 1;
        control().heartbeat.store(self.heartbeat, Relaxed);
    }

    /// How many decisions have been made, in all executions of this process.
    pub fn heartbeat(&self) -> u64 {
        self.heartbeat
    }

    /// Whether everything that other threads have done happened before what the running thread does now, and none can do more.
    pub fn is_alone(&self) -> bool {
        self.unjoined == 0
    }

    /// The running thread.
    pub fn me(&self) -> ThreadId {
        self.slots[self.current].thread
    }

    /// Decides who moves next and applies the move. `None` when the execution is over.
    pub fn decide(&mut self) -> Option<usize> {
        self.beat();
        self.look_at_conditions();
        if !self.waiting.is_empty() {
            self.look_at_memory();
        }
        descriptors::look_outside();
        let transition = self.scheduler.next(&mut self.arbiter)?;
        if let Some((Operation::FutexWait { cell, .. }, _)) = self.arbiter.pending(transition.thread) {
            // The value is in the program's memory.
            let value = self.objects.futex_value(cell);
            self.set_value(cell, value);
        }
        self.log(&Event::Step { thread: transition.thread, choice: transition.choice });
        initialisation::before_step(self, transition.thread);
        self.outcome = self.arbiter.apply(transition);
        initialisation::follow(self);
        let next = self.slot_of[transition.thread.index()];
        if self.slots[next].crash.is_some() {
            self.enter(next);
            self.end_by_crash();
        }
        Some(next)
    }

    /// Ends the execution by the crash of the present thread.
    fn end_by_crash(&self) -> ! {
        if let Some(crash) = &self.slots[self.current].crash {
            link::write_message(format_args!("{}", core::str::from_utf8(&crash.message.0).unwrap_or_default()));
            control().address.store(crash.address, Relaxed);
            end(crash.ending, crash.detail)
        }
        break_down(format_args!("a thread crashed without a reason"))
    }

    /// Announces anew what depends on memory that has changed.
    fn look_at_conditions(&mut self) {
        for i in 0..self.conditions.len() {
            let condition = &mut self.conditions[i];
            // SAFETY: the program's memory; if it is not there any more, it crashes as it would in the kernel's stead.
            let holds = unsafe { condition.word.read_volatile() } == condition.expected;
            if holds != condition.holds {
                condition.holds = holds;
                let (thread, op) = (condition.thread, condition.ops[usize::from(holds)]);
                let site = self.arbiter.pending(thread).map_or(0, |(_, site)| site.0);
                self.announce(thread, op, site);
            }
        }
    }

    /// Tells the model the word of an object.
    pub fn set_value(&mut self, object: ordain_model::ObjectId, value: u64) {
        self.log(&Event::Value { object, value });
        self.arbiter.set_value(object, value);
    }

    /// Tells the model the word of a part of an object.
    pub fn tell_part(&mut self, object: ordain_model::ObjectId, part: u32, value: u64) {
        let part = ordain_model::ObjectId(object.0 + part);
        if self.arbiter.value(part) != value {
            self.set_value(part, value);
        }
    }

    /// The outcome of the last step.
    pub fn outcome(&self) -> Outcome {
        self.outcome
    }

    /// What interposed functions note from now on belongs to this slot.
    fn enter(&mut self, slot: usize) {
        self.current = slot;
        // SAFETY: slots are boxed and stay in place; they begin with the registers.
        unsafe { ORDAIN_CURRENT = (&raw mut *self.slots[slot]) as *mut Registers };
    }

    /// Continues another thread; returns when this one is continued.
    pub fn go(&mut self, next: usize) {
        let from = self.current;
        if from == next {
            return;
        }
        crate::watch::switched();
        self.enter(next);
        let (save, to, fs) = (&raw mut self.slots[from].stack, self.slots[next].stack, self.slots[next].fs);
        // SAFETY: both contexts were saved by `switch` or `park`, and the carrier owns both stacks.
        unsafe { context::switch(save, to, fs) };
    }

    /// Shows the launcher what has happened, and where all threads are.
    pub fn show(&self) {
        self.events.publish();
        let running = self.slots.iter().filter(|slot| slot.state == State::Running);
        link::write_threads(running.map(|slot| ThreadRecord {
            thread: slot.thread.0,
            exact: 0,
            registers: slot.registers,
            fs: slot.fs,
        }));
    }

    /// Hands the finished execution over, and never comes back to the program.
    fn leave(&mut self) -> ! {
        let control = control();
        if control.request.is(Request::Run) {
            // The program may have closed its own.
            for (fd, length) in [1, 2].into_iter().zip(&control.output) {
                // SAFETY: asks for a position.
                let at = unsafe { call!(sys::SYS_lseek, inherited::standard(fd), 0, libc::SEEK_CUR) };
                length.store(at.max(0) as u64, Relaxed);
            }
        }
        if self.mode == Mode::Snapshot {
            let mut nowhere = 0;
            // SAFETY: the engine's own context, saved when it continued the program.
            unsafe { context::switch(&raw mut nowhere, self.home, self.home_fs) };
        }
        if self.mode == Mode::Exec {
            crate::children::family::end_all();
            outliving::remove();
        }
        if control.request.is(Request::Run) {
            link::hand_over(Status::Done);
        } else {
            control.status.store(Status::Done);
        }
        sys::exit_group(0)
    }
}
