//! Signals that the program sends to itself. The kernel sees none of them: its dispositions and masks stay the runtime's own.
//!
//! The model knows masks, pending signals and who has to take what ([`Operation::Signal`] and its relatives); here is what comes with each
//! signal, and what is done about it. A handler runs in the thread that a signal has come for, in place of what that thread was about
//! to do. Programs that cannot send signals from one thread to another (no such function is linked) pay nothing for that: then a thread's
//! signals are its own affair, and no steps.

mod calls;
mod child;
mod faults;
mod handlers;
pub mod imports;
mod masked;
mod pending;
mod raw;
mod timers;

pub use calls::{SI_QUEUE, SI_USER, raw_kill, send_to};
pub use child::{are_passed_on, child_ended, expect_child, note_sent, send_from_child};
pub use faults::{abort, take_fault};
pub use handlers::{breaks, has_broken, take};
pub use masked::{MaskedCall, PUT_OFF, put_off, with_mask};
pub use pending::{Signal, blockable};
pub use raw::{is_followed, system_call};
pub use timers::{interrupts_sleep, is_armed, is_late, note_passing};

use crate::engine::{self, engine, step};
use crate::handles::VIRTUAL_PROCESS;
use crate::link;
use crate::objects;
use crate::sys::{self, call};
use crate::threads::State;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ffi::c_int;
use libc::{SIG_DFL, SIG_IGN};
use ordain_model::{ObjectId, ObjectKind, Operation, Outcome, SIGNAL_ONCE, ThreadId, Wait};
use ordain_wire::Ending;
use pending::{add, bit, is_ignored_by_default, remove, set_of, take_next};

/// Where the object of all signals is said to be.
const ADDRESS: u64 = 1;
/// How many signals there are, and signal zero.
const COUNT: usize = 65;

/// What the kernel knows of a handler.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Action {
    /// The handler, or one of two small numbers.
    pub handler: usize,
    /// Flags.
    pub flags: u64,
    /// What a handler returns to; not used here.
    pub restorer: usize,
    /// What is blocked while it runs.
    pub mask: u64,
}

impl Action {
    const DEFAULT: Self = Self { handler: SIG_DFL, flags: 0, restorer: 0, mask: 0 };

    fn has(&self, flag: c_int) -> bool {
        self.flags & u64::from(flag as u32) != 0
    }

    fn is_handled(&self) -> bool {
        self.handler > SIG_IGN
    }
}

impl Signal {
    /// One of the program's own.
    fn new(number: c_int, code: c_int, value: usize) -> Self {
        Self { number, code, value, process: if code == calls::SI_KERNEL { 0 } else { VIRTUAL_PROCESS }, shared: false }
    }
}

/// Who a signal is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Recipient {
    /// The thread in a slot.
    Thread(usize),
    /// Any thread.
    Process,
}

/// Everything about signals. What belongs to an execution is put back by [`begin`].
struct Signals {
    /// The object of the model, if threads can send signals to each other.
    object: Option<ObjectId>,
    actions: [Action; COUNT],
    /// Signals for the process that everybody blocks.
    pending: Vec<Signal>,
    timer: timers::Timer,
    /// Children whose end somebody may notice.
    children: Vec<child::Expected>,
    /// Which of the signals that children have sent the program has had: a bit for each.
    passed: u64,
    /// Whether handlers ran when signals were last taken, and if so whether all wanted calls to go on.
    ran: Option<bool>,
    /// As found when the program began.
    first_actions: [Action; COUNT],
    first_mask: u64,
    /// Whether the program is linked with a function by which a thread can send a signal to another.
    senders: bool,
    /// Whether it is linked with one by which a child can send a signal to its parent.
    children_send: bool,
}

/// In the runtime's heap, so that children of the process in fork mode use the same memory one after the other.
static mut SIGNALS: *mut Signals = core::ptr::null_mut();

fn signals() -> &'static mut Signals {
    // SAFETY: made before the program begins; only the carrier comes here, and no reference is kept across a step.
    unsafe { &mut *SIGNALS }
}

/// Whether the program is linked with one of these functions.
pub fn is_linked(names: &[&core::ffi::CStr]) -> bool {
    imports::any(names)
}

/// Takes over dispositions and the mask that constructors have set. From now on broken pipes are errors to us.
pub fn prepare() {
    let new = Signals {
        object: None,
        actions: [Action::DEFAULT; COUNT],
        pending: Vec::new(),
        timer: timers::Timer::default(),
        children: Vec::new(),
        passed: 0,
        ran: None,
        first_actions: [Action::DEFAULT; COUNT],
        first_mask: 0,
        senders: false,
        children_send: false,
    };
    // SAFETY: only the carrier comes here.
    unsafe { SIGNALS = Box::into_raw(Box::new(new)) };
    let s = signals();
    // SAFETY: asks for dispositions and the mask; the runtime takes its own signals in `trap`.
    unsafe {
        for signal in 1..COUNT {
            call!(sys::SYS_rt_sigaction, signal, 0, &raw mut s.first_actions[signal], 8);
        }
        let none = 0u64;
        call!(sys::SYS_rt_sigprocmask, libc::SIG_SETMASK, &raw const none, &raw mut s.first_mask, 8);
    }
    // The runtime's own, from before the program was under control.
    s.first_actions[libc::SIGSYS as usize] = Action::DEFAULT;
    set_kernel(libc::SIGPIPE, SIG_IGN);
    // It comes with a call that fails, and is sent by the runtime then. The processor's time is used by the runtime, too.
    set_kernel(libc::SIGXFSZ, SIG_IGN);
    set_kernel(libc::SIGXCPU, SIG_IGN);
    s.senders = imports::any(&imports::SENDERS);
    s.children_send = imports::any(&[c"kill", c"killpg", c"sigqueue"]);
}

/// What a child process gets from its parent. The runtime's own memory goes on with the parent, so it is copied before.
pub struct Inherited {
    actions: [Action; COUNT],
    mask: u64,
}

/// What a child that the running thread is about to make gets.
pub fn inherited() -> Inherited {
    child::before_child();
    Inherited { actions: signals().actions, mask: engine().slots[engine().current].mask }
}

impl Inherited {
    /// Gives it to a child process, in which the kernel has the say.
    pub fn take(&self) {
        const RESTORER: u64 = 0x0400_0000;
        for number in (1..COUNT as c_int).filter(|n| ![libc::SIGSYS, libc::SIGKILL, libc::SIGSTOP].contains(n)) {
            let action = self.actions[number as usize];
            let restorer = crate::context::sigreturn as *const () as usize;
            let action = Action { flags: action.flags | RESTORER, restorer, ..action };
            // SAFETY: what the program has asked for.
            unsafe { call!(sys::SYS_rt_sigaction, number, &raw const action, 0, 8) };
        }
        // SAFETY: as above.
        unsafe { call!(sys::SYS_rt_sigprocmask, libc::SIG_SETMASK, &raw const self.mask, 0, 8) };
    }
}

fn set_kernel(signal: c_int, handler: usize) {
    let action = Action { handler, ..Action::DEFAULT };
    // SAFETY: no handler, only a disposition.
    unsafe { call!(sys::SYS_rt_sigaction, signal, &raw const action, 0, 8) };
}

/// Begins an execution.
pub fn begin() {
    let s = signals();
    (s.object, s.ran) = (None, None);
    child::begin();
    s.pending.clear();
    s.actions = s.first_actions;
    timers::begin();
    engine().slots[0].mask = s.first_mask;
    if s.senders {
        s.object = Some(objects::find(ADDRESS, ObjectKind::Signals, ignored()));
        tell_mask();
    }
    faults::begin();
}

/// The object of signals; a wait for a signal that nobody can send needs one too.
fn object() -> ObjectId {
    match signals().object {
        Some(object) => object,
        None => objects::find(ADDRESS, ObjectKind::Descriptor, 0),
    }
}

/// The object of all dispositions, if threads can send signals to each other.
pub fn actions() -> Option<ObjectId> {
    signals().object.map(|object| ObjectId(object.0 + 1))
}

/// Whether threads can send signals to each other.
pub fn is_listening() -> bool {
    signals().object.is_some()
}

/// Whether other threads can see what this one does to signals.
fn is_shared() -> bool {
    is_listening() && engine().slots.iter().skip(1).any(|s| s.state != State::Free)
}

/// Takes signals that have come, before something that cannot be announced twice.
pub fn look() {
    if is_listening() {
        step(Operation::Look);
    }
}

/// The signals that are ignored, as the model wants to know.
fn ignored() -> u64 {
    let s = signals();
    let all = 1..COUNT as c_int;
    let set = all.clone().filter(|n| is_ignored(*n)).fold(0, |set, n| set | bit(n));
    let once =
        all.into_iter().any(|n| s.actions[n as usize].is_handled() && s.actions[n as usize].has(libc::SA_RESETHAND));
    set & !SIGNAL_ONCE | if once { SIGNAL_ONCE } else { 0 }
}

fn is_ignored(signal: c_int) -> bool {
    match signals().actions[signal as usize].handler {
        SIG_IGN => true,
        SIG_DFL => is_ignored_by_default(signal),
        _ => false,
    }
}

fn act_by_default(signal: c_int) {
    if signal == libc::SIGSTOP {
        crate::spin::stop();
    }
    if !is_ignored_by_default(signal) {
        let ending = if signal == libc::SIGABRT { Ending::Abort } else { Ending::Signal };
        engine::crash(ending, signal, 0, format_args!(""));
    }
}

/// Tells the model which signals the running thread blocks.
fn tell_mask() {
    let e = engine();
    tell_mask_of(e.me(), e.slots[e.current].mask);
}

/// Tells the model which signals a thread blocks, in a step that wrote that.
pub fn tell_mask_of(thread: ThreadId, value: u64) {
    if !is_listening() {
        return;
    }
    let e = engine();
    let [mask, _] = e.arbiter.signals_of(thread);
    if e.arbiter.value(mask) != value {
        e.set_value(mask, value);
    }
}

/// Tells the model which signals are left for the running thread, in a step that took some.
fn tell_left() {
    tell_left_of(engine().me(), engine().current);
}

/// Tells the model which signals there are for a thread, in a step that wrote that.
fn tell_left_of(thread: ThreadId, slot: usize) {
    let e = engine();
    let [_, come] = e.arbiter.signals_of(thread);
    let value = set_of(&e.slots[slot].come);
    if e.arbiter.value(come) != value {
        e.set_value(come, value);
    }
}

/// Tells the model which signals are pending for the process, in a step that wrote that.
fn tell_pending() {
    if let Some(object) = signals().object {
        engine().tell_part(object, 0, set_of(&signals().pending));
    }
}

/// Sends a signal.
fn send(signal: Signal, to: Recipient) {
    send_if(signal, to, || true);
}

/// Sends a signal if `holds` when its turn has come; says whether.
fn send_if(signal: Signal, to: Recipient, holds: impl FnOnce() -> bool) -> bool {
    let signal = Signal { shared: to == Recipient::Process, ..signal };
    let me = engine().current;
    let Some(signals_object) = signals().object else {
        if to != Recipient::Thread(me) && engine().arbiter.alive().len() > 1 {
            link::refuse(format_args!(
                "it sends signals by system calls of its own, or by a library that was loaded while it ran, which is known too late; \
                 link the program with pthread_kill, or with the library"
            ));
        }
        if holds() && !(is_ignored(signal.number) && engine().slots[me].mask & bit(signal.number) == 0) {
            add(&mut engine().slots[me].come, signal);
            take();
        }
        return true;
    };
    let thread = match to {
        Recipient::Thread(slot) => Some(engine().slots[slot].thread),
        Recipient::Process => None,
    };
    let outcome = step(Operation::Signal { signals: signals_object, thread, number: signal.number as u32 });
    let holds = holds();
    let receiver = match outcome {
        Outcome::FAILED => return holds,
        Outcome::DONE => {
            if holds {
                add(&mut signals().pending, signal);
            }
            tell_pending();
            return holds;
        }
        Outcome(thread) => engine().slot_of[ThreadId(thread as u32).index()],
    };
    let slot = &mut engine().slots[receiver];
    if slot.state != State::Running {
        return holds;
    }
    if !holds {
        let thread = slot.thread;
        tell_left_of(thread, receiver);
        return false;
    }
    add(&mut slot.come, signal);
    if slot.mask & bit(signal.number) == 0 && signals().actions[signal.number as usize].handler == SIG_DFL {
        act_by_default(signal.number);
    }
    if receiver == me {
        take_unblocked();
    }
    true
}

/// Takes what has come for the running thread and is not blocked, now.
fn take_unblocked() {
    let e = engine();
    let slot = &e.slots[e.current];
    if set_of(&slot.come) & !slot.mask == 0 {
        return;
    }
    if is_listening() {
        step(Operation::Look);
    } else {
        take();
    }
}

/// Gives the running thread another mask, without taking what it does not block any more.
fn change_mask(mask: u64) {
    let mask = blockable(mask);
    if engine().slots[engine().current].mask == mask {
        return;
    }
    if let Some(signals) = signals().object.filter(|_| is_shared()) {
        loop {
            match engine::attempt(Operation::BlockSignals { signals, mask }) {
                Outcome::CANCELLED => crate::cancellation::act(),
                Outcome::SIGNALLED if put_off() => {}
                Outcome::SIGNALLED => take(),
                _ => break,
            }
        }
    }
    let (e, s) = (engine(), signals());
    let slot = &mut e.slots[e.current];
    slot.mask = mask;
    // What was pending for the process is this thread's now.
    let mut i = 0;
    while i < s.pending.len() {
        if mask & bit(s.pending[i].number) == 0 {
            slot.come.push(s.pending.remove(i));
        } else {
            i += 1;
        }
    }
    if is_listening() && !is_shared() {
        // Nobody else is there to see it.
        tell_mask();
        tell_left();
        tell_pending();
    }
    timers::look_again();
}

/// Gives the running thread another mask.
fn set_mask(mask: u64) {
    change_mask(mask);
    take_unblocked();
}

/// Waits until a handler has run.
fn suspend(mask: Option<u64>) {
    let old = engine().slots[engine().current].mask;
    let signals = object();
    if let Some(mask) = mask {
        change_mask(mask);
        engine().slots[engine().current].masked = MaskedCall::suspended(old);
    }
    loop {
        if !is_listening() {
            // What is there is there already, and nothing else can come.
            take();
            if signals_ran() {
                break;
            }
        }
        match engine::step_now(Operation::TakeSignal { signals, set: 0, wait: Wait::Interruptible }) {
            Outcome::CANCELLED => crate::cancellation::act(),
            _ => {
                take();
                // Without a mask it may have come just before the wait, which then begins.
                if signals_ran() && (mask.is_some() || breaks(false)) {
                    break;
                }
            }
        }
    }
    if mask.is_some() {
        engine().slots[engine().current].masked = MaskedCall::NONE;
        set_mask(old);
    }
}

/// Whether a handler ran when signals were last taken.
fn signals_ran() -> bool {
    signals().ran.is_some()
}

/// Waits for one of these signals and takes it; gives an error if time is over, or a handler ran that ends the wait.
fn await_one(set: u64, wait: Wait, ends: bool) -> Result<Signal, c_int> {
    if !is_listening() {
        // The model does not know what the thread has sent to itself.
        let come = &mut engine().slots[engine().current].come;
        let there = set_of(come) & set;
        if there != 0 {
            return remove(come, there.trailing_zeros() as c_int + 1).ok_or(libc::EAGAIN);
        }
    }
    let operation = Operation::TakeSignal { signals: object(), set, wait };
    let outcome = if ends { engine::wait(operation, false)? } else { step(operation) };
    if outcome == Outcome::FAILED {
        return Err(libc::EAGAIN);
    }
    let number = outcome.0 as c_int;
    let (e, s) = (engine(), signals());
    let own = remove(&mut e.slots[e.current].come, number);
    let signal = own.or_else(|| remove(&mut s.pending, number));
    if is_listening() {
        tell_left();
        tell_pending();
    }
    signal.ok_or(libc::EAGAIN)
}

/// The program writes to what nobody reads any more.
pub fn break_pipe() {
    let me = engine().current;
    if !is_ignored(libc::SIGPIPE) {
        send(Signal::new(libc::SIGPIPE, calls::SI_KERNEL, 0), Recipient::Thread(me));
    }
}

/// A call of the running thread would make a file larger than the limit allows: it gets the signal, unless that is ignored. Files that
/// are too large for their file system are an error alone.
pub fn exceed_size() {
    let mut limit = [0u64; 2];
    // SAFETY: asks for a limit of this process.
    unsafe { call!(libc::SYS_prlimit64, 0, libc::RLIMIT_FSIZE, 0, limit.as_mut_ptr()) };
    if limit[0] != u64::MAX && !is_ignored(libc::SIGXFSZ) {
        send(Signal::new(libc::SIGXFSZ, SI_USER, 0), Recipient::Thread(engine().current));
    }
}
