//! The heart: announces what threads are about to do, lets the plan decide, and switches to who goes on.
//!
//! Everything happens on one kernel thread. [`engine`] gives access to the one engine; no reference to it may be kept across
//! a switch.

use crate::context::{self, ORDAIN_CURRENT, Registers};
use crate::descriptors;
use crate::inherited;
use crate::initialisation::{self, Initialisations};
use crate::inputs::Inputs;
use crate::objects::Objects;
use crate::outliving;
use crate::process::Program;
use crate::spin::Waiting;
use crate::sys::{self, call};
use crate::threads::{Slot, State};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ffi::c_int;
use core::fmt::Write as _;
use core::ptr::null_mut;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use ordain_explore::frontier::{Explored, Fragment};
use ordain_explore::strategy::Walk;
use ordain_explore::{Lowest, Pick, Plan, Planned, Portable};
use ordain_model::{Arbiter, Divergence, End, Operation, Options, Outcome, Site, ThreadId, Transition};
use ordain_wire::{
    Control, Ending, Event, FRAGMENT_OFFSET, FRAGMENT_SIZE, Job, LOG_OFFSET, LOG_SIZE, Log, MESSAGE_SIZE, MOST_PREFIX,
    MOST_THREADS, Mode, NAMES_OFFSET, NAMES_SIZE, PLAN_OFFSET, Piece, Policy, Status, ThreadRecord, Turn,
};

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
    shared: *mut u8,
    log_at: usize,
    prefix: Vec<Planned>,
    plan: Option<Plan<'static>>,
    /// A plan that belongs to the search.
    borrowed: *mut Plan<'static>,
    lowest: Lowest,
    walk: Walk,
    remote: Remote,
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

/// Asks the launcher.
struct Remote;

impl ordain_explore::Policy for Remote {
    fn pick(&mut self, arbiter: &mut Arbiter) -> Pick {
        let control = control();
        let e = engine();
        e.publish_log();
        e.note_threads();
        control.status.store(Status::ASK, Relaxed);
        hand_over(control);
        let choice = control.answer_choice.load(Relaxed);
        if choice == u32::MAX {
            return Pick::Nothing;
        }
        let transition = Transition { thread: ThreadId(control.answer_thread.load(Relaxed)), choice };
        if choice >= arbiter.choices(transition.thread) && arbiter.first_enabled() != Some(transition) {
            arbiter.release(transition.thread);
        }
        if choice < arbiter.choices(transition.thread) { Pick::Take(transition) } else { Pick::Nothing }
    }
}

static mut ENGINE: *mut Engine = null_mut();
static mut SHARED: *mut u8 = null_mut();
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

/// The control words that are shared with the launcher.
pub fn control() -> &'static Control {
    // SAFETY: mapped before anything else happens.
    unsafe { &*(SHARED as *const Control) }
}

/// Whether the shared memory is there.
pub fn is_connected() -> bool {
    // SAFETY: a pointer that is set once.
    unsafe { !SHARED.is_null() }
}

/// Takes over the shared memory.
pub fn connect(shared: *mut u8) {
    // SAFETY: once, before anything else happens.
    unsafe { SHARED = shared };
    let control = control();
    control.passing.store(passing as *const () as u64, Relaxed);
    control.running[0].store((&raw const ORDAIN_CURRENT) as u64, Relaxed);
    control.running[1].store(core::mem::offset_of!(Slot, thread) as u64, Relaxed);
}

/// A place for a breakpoint: whoever looks on with a debugger stops here when the launcher has the turn.
#[inline(never)]
extern "C" fn passing() {
    // SAFETY: does nothing; it is there so that the call is.
    unsafe { core::arch::asm!("nop") };
}

/// Gives the launcher the turn and waits for it to come back.
pub fn hand_over(control: &Control) {
    control.turn.store(Turn::LAUNCHER, SeqCst);
    sys::futex_wake(&control.turn);
    passing();
    await_turn(control);
}

/// Waits for the turn.
pub fn await_turn(control: &Control) {
    while control.turn.load(Acquire) != Turn::RUNTIME {
        sys::futex_wait(&control.turn, Turn::LAUNCHER);
    }
}

/// Writes a message where the launcher finds it.
pub fn tell(message: core::fmt::Arguments<'_>) {
    struct Room(usize);
    impl core::fmt::Write for Room {
        fn write_str(&mut self, text: &str) -> core::fmt::Result {
            let left = MESSAGE_SIZE - self.0;
            let length = text.len().min(left);
            // SAFETY: within the message of the control page.
            unsafe {
                let at = (&raw mut (*(SHARED as *mut Control)).message) as *mut u8;
                core::ptr::copy_nonoverlapping(text.as_ptr(), at.add(self.0), length);
            }
            self.0 += length;
            Ok(())
        }
    }
    let mut room = Room(0);
    // Never fails: what is too long is cut.
    let _ = room.write_fmt(message);
    control().message_length.store(room.0 as u32, Relaxed);
}

/// Tells the launcher how the program departed from its plan.
pub fn tell_departure(divergence: &Divergence) {
    let mut room = [0; 512];
    if let Some(length) = ordain_wire::Departure::write(divergence, &mut room) {
        // SAFETY: within the message of the control page.
        unsafe {
            let at = (&raw mut (*(SHARED as *mut Control)).message) as *mut u8;
            core::ptr::copy_nonoverlapping(room.as_ptr(), at, length);
        }
        control().message_length.store(length as u32, Relaxed);
    }
}

/// The runtime itself has failed, or cannot go on: tells the launcher and ends the process.
pub fn break_down(message: core::fmt::Arguments<'_>) -> ! {
    give_up(Status::BROKEN, message)
}

/// The program does what cannot be controlled here: tells the launcher and ends the process.
pub fn refuse(message: core::fmt::Arguments<'_>) -> ! {
    give_up(Status::REFUSED, message)
}

/// Executions of this program would find something of each other in this mode: tells the launcher, which goes on in another.
pub fn leave_mode(message: core::fmt::Arguments<'_>) -> ! {
    give_up(Status::OTHER_MODE, message)
}

/// The execution needs more threads than were prepared.
pub fn ask_for_threads() -> ! {
    give_up(Status::MORE_THREADS, format_args!("more threads are needed"))
}

fn give_up(status: u32, message: core::fmt::Arguments<'_>) -> ! {
    if is_connected() {
        tell(message);
        if is_there() {
            engine().publish_log();
            if engine().mode == Mode::Exec {
                crate::children::family::end_all();
            }
        }
        let control = control();
        control.status.store(status, Relaxed);
        control.turn.store(Turn::LAUNCHER, SeqCst);
        sys::futex_wake(&control.turn);
    }
    sys::exit_group(101)
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
        None => end(Ending::MODEL, 0),
    }
    crate::lifetimes::check_use(&op);
    engine().outcome
}

/// Nobody can go on as far as the model knows; but it does not know everything.
fn refuse_what_is_no_deadlock() {
    if descriptors::is_behind() && descriptors::are_sent() {
        refuse(format_args!(
            "descriptors were sent in messages (SCM_RIGHTS) that nobody has received; when these are closed cannot be followed"
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
    ending: u32,
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
/// itself never goes on, so nothing of its stack is needed any more. `ending` is one of [`Ending`], `detail` the signal if there is one, `address`
/// what it is about.
pub fn crash(ending: u32, detail: i32, address: u64, message: core::fmt::Arguments<'_>) -> ! {
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
        None => end(Ending::MODEL, 0),
    }
    break_down(format_args!("a thread went on that had crashed"))
}

/// Ends the execution.
pub fn end(ending: u32, detail: i32) -> ! {
    let e = engine();
    if ending == Ending::MODEL && matches!(e.arbiter.execution().end, End::Deadlock(_)) {
        refuse_what_is_no_deadlock();
    }
    let control = control();
    set_active(false);
    if e.arbiter.execution().left_unseen {
        crate::unmodelled::note(crate::unmodelled::Unmodelled::GivingWay);
    }
    crate::children::note_running();
    let stuck = ending == Ending::MODEL && matches!(e.arbiter.execution().end, End::Deadlock(_));
    // Nobody can go on but those who wait in a loop for memory, and that in vain.
    let in_vain = if stuck { e.waiting.first().map(Waiting::thread) } else { None };
    control.ending.store(if in_vain.is_some() { Ending::HANG } else { ending }, Relaxed);
    control.detail.store(detail, Relaxed);
    let culprit = in_vain.unwrap_or(e.slots[e.current].thread);
    control.culprit.store(culprit.0, Relaxed);
    e.note_threads();
    e.leave()
}

impl Engine {
    /// What to assume of the world.
    pub fn options(control: &Control) -> Options {
        Options {
            spurious_wakeups: control.spurious.load(Relaxed) != 0,
            kind_time: control.kind_time.load(Relaxed) != 0,
            spin_bound: control.spin_bound.load(Relaxed),
            livelock_rounds: control.livelock_rounds.load(Relaxed),
            max_steps: control.max_steps.load(Relaxed) as usize,
            ..Options::default()
        }
    }

    /// Makes the engine of this process.
    pub fn install(shared: *mut u8, program: Program) -> &'static mut Self {
        let control = control();
        let engine = Box::new(Self {
            arbiter: Arbiter::new(Self::options(control)),
            slots: Vec::new(),
            objects: Objects::default(),
            initialisations: Initialisations::default(),
            inputs: Inputs::default(),
            program,
            mode: Mode::from_number(control.mode.load(Relaxed)).unwrap_or(Mode::Exec),
            current: 0,
            quiet: false,
            unjoined: 0,
            slot_of: Vec::new(),
            shared,
            log_at: 0,
            prefix: Vec::new(),
            plan: None,
            borrowed: null_mut(),
            lowest: Lowest,
            walk: Walk::new(0, 0),
            remote: Remote,
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
        // SAFETY: the log is part of the shared memory, and only this side writes it.
        let room = unsafe { core::slice::from_raw_parts_mut(self.shared.add(LOG_OFFSET), LOG_SIZE) };
        match Log::write(room, self.log_at, event) {
            Some(length) => self.log_at = length,
            None => refuse(format_args!("the execution is too long: there is no more room to take it down")),
        }
    }

    /// Lets the launcher see the log.
    pub fn publish_log(&self) {
        control().log_length.store(self.log_at as u32, Release);
    }

    /// Says what a thread is about to do.
    pub fn announce(&mut self, thread: ThreadId, op: Operation, site: u64) {
        if self.waited {
            self.note_for_waiting(thread, &op);
        }
        self.log(&Event::Announce { thread, op, site });
        self.arbiter.announce(thread, op, Site(site));
    }

    /// Takes over a plan: a copy of it, if it can be told in few words, and then true; else the plan itself, which must
    /// outlive the execution.
    pub unsafe fn prepare(&mut self, plan: &mut Plan<'_>) -> bool {
        if plan.is_anew() {
            self.arbiter.forget_long_loops();
        }
        let Some(portable) = plan.portable() else {
            self.borrowed = (plan as *mut Plan<'_>).cast();
            return false;
        };
        self.borrowed = null_mut();
        self.plan = None;
        self.prefix.clear();
        self.prefix.extend(plan.prefix().iter().map(|p| Planned { transition: p.transition, op: None }));
        let policy = match portable {
            Portable::Lowest => Policy::LOWEST,
            Portable::Random { seed, stream } => {
                self.walk.restart(seed, stream);
                Policy::RANDOM
            }
        };
        self.set_plan(policy, plan.follows());
        true
    }

    /// Reads the plan that the launcher has written.
    pub fn read_plan(&mut self) {
        let control = control();
        let length = control.prefix_length.load(Relaxed) as usize;
        self.borrowed = null_mut();
        self.plan = None;
        self.prefix.clear();
        // SAFETY: the plan is part of the shared memory.
        let pairs = unsafe { core::slice::from_raw_parts(self.shared.add(PLAN_OFFSET) as *const [u32; 2], length) };
        self.prefix.extend(pairs.iter().map(|[thread, choice]| Planned {
            transition: Transition { thread: ThreadId(*thread), choice: *choice },
            op: None,
        }));
        self.walk.restart(control.seed.load(Relaxed), control.stream.load(Relaxed));
        self.set_plan(control.policy.load(Relaxed), control.follows.load(Relaxed) != 0);
    }

    /// Writes pairs of numbers for the launcher where it writes plans.
    pub fn write_pairs(&mut self, pairs: &[[u32; 2]]) {
        let pairs = &pairs[..pairs.len().min(MOST_PREFIX)];
        // SAFETY: the plan is part of the shared memory, and the launcher waits.
        unsafe {
            let room = self.shared.add(PLAN_OFFSET) as *mut [u32; 2];
            core::ptr::copy_nonoverlapping(pairs.as_ptr(), room, pairs.len());
        }
        control().prefix_length.store(pairs.len() as u32, Relaxed);
    }

    fn set_plan(&mut self, policy: u32, follows: bool) {
        // SAFETY: prefix and policy live as long as the engine; the plan is taken away before either changes.
        unsafe {
            let prefix: &'static [Planned] = &*(self.prefix.as_slice() as *const [Planned]);
            let policy: &'static mut dyn ordain_explore::Policy = match policy {
                Policy::LOWEST => &mut *(&raw mut self.lowest),
                Policy::RANDOM => &mut *(&raw mut self.walk),
                _ => &mut *(&raw mut self.remote),
            };
            self.plan = Some(if follows { Plan::follow(prefix, policy) } else { Plan::new(prefix, policy) });
        }
    }

    /// Whether the plan cut the last execution short.
    pub fn was_cut(&self) -> bool {
        matches!(self.arbiter.execution().end, End::Cut)
    }

    /// The events of the last execution.
    pub fn events(&self) -> &'static [u8] {
        // SAFETY: part of the shared memory, which is there as long as the process.
        unsafe { core::slice::from_raw_parts(self.shared.add(LOG_OFFSET), self.log_at) }
    }

    /// Tells the launcher what has become known.
    pub fn write_known(&self, known: &ordain_wire::Known) {
        // SAFETY: part of the shared memory; the launcher waits.
        let room = unsafe { core::slice::from_raw_parts_mut(self.shared.add(NAMES_OFFSET), NAMES_SIZE) };
        match known.write(room) {
            Some(length) => control().names_length.store(length as u32, Relaxed),
            None => refuse(format_args!("the program has too many threads and objects")),
        }
    }

    /// The fragment that the launcher wants explored.
    pub fn read_fragment(&self) -> Option<Fragment> {
        let length = (control().fragment_length.load(Relaxed) as usize).min(FRAGMENT_SIZE);
        // SAFETY: part of the shared memory; the launcher waits.
        let bytes = unsafe { core::slice::from_raw_parts(self.shared.add(FRAGMENT_OFFSET), length) };
        Piece::read(bytes)
    }

    /// Tells the launcher what has become of the fragment; `false` if that is too much.
    pub fn write_explored(&self, explored: &Explored) -> bool {
        // SAFETY: part of the shared memory; the launcher waits.
        let room = unsafe { core::slice::from_raw_parts_mut(self.shared.add(FRAGMENT_OFFSET), FRAGMENT_SIZE) };
        let length = Piece::write(explored, room);
        control().fragment_length.store(length.unwrap_or(0) as u32, Relaxed);
        length.is_some()
    }

    /// Begins an execution.
    pub fn begin(&mut self) {
        self.log_at = 0;
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
        let transition = if self.borrowed.is_null() {
            let mut plan = self.plan.take()?;
            let transition = plan.next(&mut self.arbiter);
            self.plan = Some(plan);
            transition
        } else {
            // SAFETY: see `prepare`.
            unsafe { (*self.borrowed).next(&mut self.arbiter) }
        };
        let transition = transition?;
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
            tell(format_args!("{}", core::str::from_utf8(&crash.message.0).unwrap_or_default()));
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

    /// Notes where all threads are, for backtraces.
    fn note_threads(&mut self) {
        let control = control();
        // SAFETY: part of the control page, which only this side writes now.
        let records = unsafe { &mut *((&raw const control.threads) as *mut [ThreadRecord; MOST_THREADS]) };
        let mut count = 0;
        for slot in self.slots.iter().filter(|s| s.state == State::Running).take(MOST_THREADS) {
            records[count] = ThreadRecord { thread: slot.thread.0, exact: 0, registers: slot.registers, fs: slot.fs };
            count += 1;
        }
        control.thread_count.store(count as u32, Relaxed);
    }

    /// Hands the finished execution over, and never comes back to the program.
    fn leave(&mut self) -> ! {
        let control = control();
        if control.job.load(Relaxed) == Job::PLAN {
            // The program may have closed its own.
            for (fd, length) in [1, 2].into_iter().zip(&control.output) {
                // SAFETY: asks for a position.
                let at = unsafe { call!(sys::SYS_lseek, inherited::standard(fd), 0, libc::SEEK_CUR) };
                length.store(at.max(0) as u64, Relaxed);
            }
        }
        self.publish_log();
        if self.mode == Mode::Snapshot {
            let mut nowhere = 0;
            // SAFETY: the engine's own context, saved when it continued the program.
            unsafe { context::switch(&raw mut nowhere, self.home, self.home_fs) };
        }
        if self.mode == Mode::Exec {
            crate::children::family::end_all();
            outliving::remove();
        }
        control.status.store(Status::DONE, Relaxed);
        if control.job.load(Relaxed) == Job::PLAN {
            hand_over(control);
        }
        sys::exit_group(0)
    }
}
