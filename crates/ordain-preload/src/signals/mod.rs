//! Signals that the program sends to itself. The kernel sees none of them: its dispositions and masks stay the runtime's own.
//!
//! One object stands for all pending signals, masks and dispositions, so whatever is done to them is ordered. A bit of its word belongs
//! to a thread in `sigwait` and says whether there is something for it. A handler runs in the thread that the signal is for: at once if that
//! is the sender, else when the thread next reaches an operation or is in a wait that can be interrupted ([`Operation::Interrupt`]).
//! Programs that never send signals (no such function is linked) pay nothing for that.

mod calls;
mod imports;

pub use calls::{raw_kill, send_to};

use crate::engine::{self, engine, step, step_now};
use crate::objects;
use crate::sys::{self, call};
use crate::threads::{self, State};
use crate::time;
use crate::trap::CRASHES;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ffi::{c_int, c_void};
use libc::{EAGAIN, EINTR, SIG_DFL, SIG_IGN};
use ordain_model::{MemoryOrder, ObjectId, ObjectKind, Operation, Outcome, Wait};
use ordain_wire::Ending;

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
}

/// What a signal comes with.
#[derive(Clone, Copy)]
pub struct Details {
    code: c_int,
    value: usize,
}

/// Who a signal is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum To {
    /// The thread in a slot.
    Thread(usize),
    /// Any thread.
    Process,
}

/// A thread that waits for signals.
struct Waiting {
    slot: usize,
    set: u64,
    bit: u32,
}

/// Everything about signals. What belongs to an execution is put back by [`begin`].
struct Signals {
    object: Option<ObjectId>,
    actions: [Action; COUNT],
    details: [Details; COUNT],
    /// Signals for the process that nobody has taken.
    pending: u64,
    waiting: Vec<Waiting>,
    /// When an alarm comes, and how long after that the next.
    alarm: Option<(u64, u64)>,
    /// Whether handlers ran when signals were last taken, and if so whether all wanted calls to go on.
    ran: Option<bool>,
    /// As found when the program began.
    first_actions: [Action; COUNT],
    first_mask: u64,
    /// Whether the program is linked with a function by which a thread can send a signal to another.
    senders: bool,
}

/// In the runtime's heap, so that children of the process in fork mode use the same memory one after the other.
static mut SIGNALS: *mut Signals = core::ptr::null_mut();

fn signals() -> &'static mut Signals {
    // SAFETY: made before the program begins; only the carrier comes here, and no reference is kept across a step.
    unsafe { &mut *SIGNALS }
}

fn bit(signal: c_int) -> u64 {
    1 << (signal - 1)
}

/// Takes over dispositions and the mask that constructors have set. From now on broken pipes are errors to us.
pub fn prepare() {
    let new = Signals {
        object: None,
        actions: [Action::DEFAULT; COUNT],
        details: [Details { code: 0, value: 0 }; COUNT],
        pending: 0,
        waiting: Vec::new(),
        alarm: None,
        ran: None,
        first_actions: [Action::DEFAULT; COUNT],
        first_mask: 0,
        senders: false,
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
    set_kernel(libc::SIGPIPE, SIG_IGN);
    s.senders = imports::any(&imports::SENDERS);
}

/// Lets a child process have what the runtime has changed.
pub fn release() {
    set_kernel(libc::SIGPIPE, signals().actions[libc::SIGPIPE as usize].handler.min(SIG_IGN));
}

fn set_kernel(signal: c_int, handler: usize) {
    let action = Action { handler, ..Action::DEFAULT };
    // SAFETY: no handler, only a disposition.
    unsafe { call!(sys::SYS_rt_sigaction, signal, &raw const action, 0, 8) };
}

/// Begins an execution.
pub fn begin() {
    let s = signals();
    (s.object, s.pending, s.alarm, s.ran) = (None, 0, None, None);
    s.waiting.clear();
    s.actions = s.first_actions;
    let main = &mut engine().slots[0];
    main.mask = s.first_mask;
    main.handled =
        (1..COUNT as c_int).filter(|n| s.actions[*n as usize].handler > SIG_IGN).fold(0, |set, n| set | bit(n));
    watch();
}

fn object() -> ObjectId {
    if let Some(object) = signals().object {
        return object;
    }
    let object = objects::find(ADDRESS, ObjectKind::Signals, 0);
    signals().object = Some(object);
    object
}

/// Orders what follows with everything else that is done to signals.
fn change() {
    step(Operation::Update { cell: object(), order: MemoryOrder::SeqCst });
}

/// Whether other threads can see what this one does to signals.
fn is_shared() -> bool {
    signals().senders && engine().slots.iter().skip(1).any(|s| s.state != State::Free)
}

fn change_if_shared() {
    if is_shared() {
        change();
    }
}

/// Whether the running thread must look for signals at every operation.
fn watch() {
    let e = engine();
    let slot = &mut e.slots[e.current];
    let crashes = CRASHES.iter().fold(0, |set, n| set | bit(*n));
    slot.asynchronous = signals().senders && slot.handled & !slot.mask & !crashes != 0;
}

/// Looks whether a signal has come for the running thread, and runs its handler.
#[cold]
pub fn look() {
    let registers = engine().slots[engine().current].registers;
    let interrupted = step_now(Operation::TakeInterrupt) == Outcome::INTERRUPTED;
    let e = engine();
    let me = e.me();
    if interrupted && e.slots[e.current].cancelled {
        // That is for the next point at which it can be cancelled.
        step_now(Operation::Interrupt { thread: me });
    }
    take();
    engine().slots[engine().current].registers = registers;
}

/// Runs the handlers of signals that have come for the running thread.
pub fn take() {
    let mut ran = None;
    loop {
        let e = engine();
        let slot = &mut e.slots[e.current];
        let ready = slot.due & !(slot.mask | slot.handling);
        if ready == 0 {
            break;
        }
        let signal = ready.trailing_zeros() as c_int + 1;
        slot.due &= !bit(signal);
        accept(signal, &mut ran);
    }
    signals().ran = ran;
}

/// Whether a wait that was interrupted goes on: no handler ran, or all that ran want that.
pub fn goes_on() -> bool {
    signals().ran != Some(false)
}

/// Whether a handler ran when signals were last taken.
pub fn has_run() -> bool {
    signals().ran.is_some()
}

/// Does what the running thread does with a signal that it does not block.
fn accept(signal: c_int, ran: &mut Option<bool>) {
    let action = signals().actions[signal as usize];
    match action.handler {
        SIG_IGN => {}
        SIG_DFL => act_by_default(signal),
        _ if signal == libc::SIGABRT => act_by_default(signal),
        _ => {
            run(signal, action);
            *ran = Some(ran.unwrap_or(true) && action.has(libc::SA_RESTART));
        }
    }
}

fn is_ignored(signal: c_int) -> bool {
    match signals().actions[signal as usize].handler {
        SIG_IGN => true,
        SIG_DFL => is_ignored_by_default(signal),
        _ => false,
    }
}

/// Signals that do nothing by default. A program that stops would only wait for ever, so those count too.
fn is_ignored_by_default(signal: c_int) -> bool {
    use libc::{SIGCHLD, SIGCONT, SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU, SIGURG, SIGWINCH};
    matches!(signal, SIGCHLD | SIGCONT | SIGSTOP | SIGTSTP | SIGTTIN | SIGTTOU | SIGURG | SIGWINCH)
}

fn act_by_default(signal: c_int) {
    if !is_ignored_by_default(signal) {
        if engine().arbiter.alive().len() > 1 {
            // Others may still go on until it has come to that.
            step_now(Operation::End);
        }
        engine::end(if signal == libc::SIGABRT { Ending::ABORT } else { Ending::SIGNAL }, signal);
    }
}

unsafe extern "C" {
    fn ordain_handle(handler: usize, signal: c_int, info: *mut c_void, context: *mut c_void, stack: usize);
}

/// Runs a handler on the running thread's stack, or on its alternate one.
fn run(signal: c_int, action: Action) {
    let details = signals().details[signal as usize];
    if action.has(libc::SA_RESETHAND) {
        signals().actions[signal as usize] = Action::DEFAULT;
    }
    let e = engine();
    let slot = &mut e.slots[e.current];
    let (registers, handling) = (slot.registers, slot.handling);
    let (base, size) = slot.alternate;
    let outside = !(base..base + size).contains(&(registers[1] as usize));
    let stack = if action.has(libc::SA_ONSTACK) && size != 0 && outside { (base + size) & !15 } else { 0 };
    slot.handling |= action.mask | if action.has(libc::SA_NODEFER) { 0 } else { bit(signal) };
    // SAFETY: plain structures, as far as they are known here, and the program's handler.
    unsafe {
        let mut info: [u64; 16] = [0; 16];
        let words = (&raw mut info) as *mut c_int;
        // Number, error and code; then process, user and value.
        words.write(signal);
        words.add(2).write(details.code);
        words.add(4).write(crate::handles::VIRTUAL_PROCESS);
        words.add(5).write(call!(libc::SYS_getuid) as c_int);
        info[3] = details.value as u64;
        let mut context: libc::ucontext_t = core::mem::zeroed();
        for (to, from) in [(libc::REG_RIP, 0), (libc::REG_RSP, 1), (libc::REG_RBP, 2), (libc::REG_RBX, 3)] {
            context.uc_mcontext.gregs[to as usize] = registers[from] as i64;
        }
        ordain_handle(action.handler, signal, (&raw mut info) as *mut c_void, (&raw mut context) as *mut c_void, stack);
    }
    let e = engine();
    let slot = &mut e.slots[e.current];
    (slot.registers, slot.handling) = (registers, handling);
}

/// A jump out of handlers that puts the mask back.
fn leave_handlers() {
    let e = engine();
    e.slots[e.current].handling = 0;
}

/// Tells the model who of the waiting threads has a signal.
fn refresh() {
    let Some(object) = signals().object else { return };
    let s = signals();
    let word = s.waiting.iter().fold(0, |word, w| {
        let pending = s.pending | engine().slots[w.slot].pending;
        word | u64::from(pending & w.set != 0) << w.bit
    });
    if engine().arbiter.value(object) != word {
        engine().set_value(object, word);
    }
}

/// Sends a signal.
fn send(signal: c_int, to: To, details: Details) {
    change();
    deliver(signal, to, details);
}

/// Hands a signal over. The object of signals was written in this step.
fn deliver(signal: c_int, to: To, details: Details) {
    let e = engine();
    let s = signals();
    let me = e.current;
    let lives = |slot: usize| e.slots[slot].state == State::Running;
    let wants = |slot: usize| lives(slot) && e.slots[slot].mask & bit(signal) == 0;
    let is_for = |slot: usize| to == To::Process || to == To::Thread(slot);
    if let To::Thread(slot) = to
        && !lives(slot)
    {
        return;
    }
    let awaited = s.waiting.iter().any(|w| is_for(w.slot) && w.set & bit(signal) != 0);
    // The kernel prefers main.
    let receiver = [0, me].into_iter().chain(0..e.slots.len()).find(|slot| is_for(*slot) && wants(*slot));
    s.details[signal as usize] = details;
    match receiver {
        Some(receiver) if !awaited => {
            if is_ignored(signal) {
                return;
            }
            let thread = e.slots[receiver].thread;
            if receiver == me && e.slots[me].handling & bit(signal) == 0
                || s.actions[signal as usize].handler == SIG_DFL
            {
                let mut ran = None;
                accept(signal, &mut ran);
                signals().ran = ran;
            } else if receiver == me {
                e.slots[me].due |= bit(signal);
            } else {
                step(Operation::Interrupt { thread });
                engine().slots[receiver].due |= bit(signal);
            }
        }
        _ => {
            match to {
                To::Thread(slot) => e.slots[slot].pending |= bit(signal),
                To::Process => s.pending |= bit(signal),
            }
            refresh();
        }
    }
}

/// Takes pending signals that the running thread does not block any more.
fn take_pending() {
    let mut ran = None;
    loop {
        let (e, s) = (engine(), signals());
        let slot = &mut e.slots[e.current];
        let ready = (slot.pending | s.pending) & !(slot.mask | slot.handling);
        if ready == 0 {
            break;
        }
        let signal = ready.trailing_zeros() as c_int + 1;
        if slot.pending & bit(signal) != 0 {
            slot.pending &= !bit(signal);
        } else {
            s.pending &= !bit(signal);
        }
        refresh();
        accept(signal, &mut ran);
    }
    signals().ran = ran;
}

/// Gives the running thread another mask.
fn set_mask(mask: u64) {
    let e = engine();
    if e.slots[e.current].mask == mask {
        return;
    }
    change_if_shared();
    let e = engine();
    e.slots[e.current].mask = mask & !(bit(libc::SIGKILL) | bit(libc::SIGSTOP));
    watch();
    take_pending();
    let e = engine();
    if is_shared() && e.slots[e.current].due & !mask != 0 {
        look();
    }
}

/// Does something with another mask, in one step with the first wait in it. Gives what it gives.
pub fn with_mask<T>(mask: Option<u64>, f: impl FnOnce() -> T) -> T {
    let Some(mask) = mask else { return f() };
    let e = engine();
    let old = e.slots[e.current].mask;
    set_mask(mask);
    let e = engine();
    // A handler that runs here has interrupted the wait: so it does not run before.
    e.slots[e.current].asynchronous = false;
    let result = f();
    watch();
    set_mask(old);
    result
}

/// Waits until a handler has run.
fn suspend(mask: Option<u64>) {
    let e = engine();
    let old = e.slots[e.current].mask;
    if let Some(mask) = mask {
        change_if_shared();
        let e = engine();
        let slot = &mut e.slots[e.current];
        slot.mask = mask & !(bit(libc::SIGKILL) | bit(libc::SIGSTOP));
        // Handlers run in the wait, not before it.
        slot.asynchronous = false;
        take_pending();
        let e = engine();
        if e.slots[e.current].due & !mask != 0 {
            take();
        }
    } else {
        signals().ran = None;
        if e.slots[e.current].asynchronous {
            look();
            signals().ran = None;
        }
    }
    while !has_run() {
        if ring(false) {
            continue;
        }
        match step_now(Operation::Await { object: object(), mask: 0, wait: Wait::Interruptible }) {
            Outcome::INTERRUPTED => threads::interrupted(),
            _ => signals().ran = None,
        }
    }
    if mask.is_some() {
        change_if_shared();
        let e = engine();
        e.slots[e.current].mask = old;
        watch();
        take_pending();
    }
}

/// Waits for one of these signals and takes it; gives an error if time is over, or a handler ran that ends the wait.
fn await_one(set: u64, wait: Wait, ends: bool) -> Result<c_int, c_int> {
    loop {
        change();
        let (e, s) = (engine(), signals());
        let me = e.current;
        let slot = &mut e.slots[me];
        let late = slot.due & slot.mask;
        slot.due &= !late;
        slot.pending |= late;
        let Some(bit_number) = (0..64).find(|b| s.waiting.iter().all(|w| w.bit != *b)) else {
            engine::refuse(format_args!("more than 64 threads wait for signals at a time"));
        };
        s.waiting.push(Waiting { slot: me, set, bit: bit_number });
        if set & bit(libc::SIGALRM) != 0 {
            ring(true);
        }
        refresh();
        let outcome = step(Operation::Await { object: object(), mask: 1 << bit_number, wait });
        let s = signals();
        s.waiting.retain(|w| w.bit != bit_number);
        match outcome {
            Outcome::DONE => {
                let slot = &mut engine().slots[me];
                let own = slot.pending & set != 0;
                let pending = if own { &mut slot.pending } else { &mut s.pending };
                let signal = (*pending & set).trailing_zeros() as c_int + 1;
                *pending &= !bit(signal);
                refresh();
                return Ok(signal);
            }
            Outcome::INTERRUPTED => {
                threads::interrupted();
                if ends && has_run() {
                    return Err(EINTR);
                }
            }
            _ => return Err(EAGAIN),
        }
    }
}

/// Whether an alarm is set.
pub fn is_armed() -> bool {
    signals().alarm.is_some()
}

/// Lets the alarm come, if one is set; the object of signals was written in this step if `ordered`. Says whether it came.
fn ring(ordered: bool) -> bool {
    let Some((when, interval)) = signals().alarm else { return false };
    if !ordered {
        change();
    }
    signals().alarm = (interval != 0).then_some((when.saturating_add(interval), interval));
    let now = time::now();
    if when > now {
        time::advance(when - now);
    }
    deliver(libc::SIGALRM, To::Process, Details { code: 0x80, value: 0 });
    true
}

/// Time has passed for the running thread, which sleeps.
pub fn pass_time() {
    if signals().alarm.is_some_and(|(when, _)| when <= time::now()) {
        ring(false);
    }
}

/// The time of a wait is over because of the alarm.
pub fn ring_now() {
    signals().ran = None;
    ring(false);
}

/// The program writes to what nobody reads any more.
pub fn break_pipe() {
    let me = engine().current;
    if !is_ignored(libc::SIGPIPE) {
        send(libc::SIGPIPE, To::Thread(me), Details { code: 0x80, value: 0 });
    }
}
