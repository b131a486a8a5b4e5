//! Threads that wait in a loop for memory to change, without any call that is visible.
//!
//! All threads run on one kernel thread, so a thread that goes round like that would keep the others from ever changing what it waits
//! for. A timer of processor time notices that nothing visible happens. Then the thread is led instruction by instruction: if its
//! registers come to be the same again and again, by the same way, it does nothing but wait, and the others go on. It comes back when
//! they have done something. What computes never has the same registers again, and is left alone, however long it takes.

mod rounds;

use crate::children::family;
use crate::engine::{self, active, engine, step_now};
use crate::handles;
use crate::hash::mix;
use crate::link::control;
use crate::maps;
use crate::objects;
use crate::signals;
use crate::sys::{self, call};
use crate::trap;
use crate::unmodelled::{self, Unmodelled};
use crate::watch;
use core::sync::atomic::Ordering::Relaxed;
use libc::{REG_EFL, REG_RIP, REG_RSP};
use ordain_model::{ObjectId, ObjectKind, Operation, Outcome, ThreadId, Wait};
use ordain_wire::Ending;
use rounds::Rounds;

/// The signal of the timer, and of the launcher when an execution hangs.
pub const TICK: i32 = libc::SIGVTALRM;
/// What the launcher says if a signal has stopped the program.
const STOPPED: u32 = 2;
/// How much processor time there is between two looks, in microseconds.
const PERIOD: i64 = 4_000;
/// How many instructions a thread is led by at its first look, and at most.
const FIRST_LEAD: u32 = 1024;
const MOST_LEAD: u32 = 1 << 16;
/// A thread that waits again and again sleeps for twice as many steps of others each time, up to this power of two.
const MOST_PATIENCE: u32 = 6;
/// How often all threads may look in vain, one after the other, before nobody is expected to change anything.
const VAIN_ROUNDS: u32 = 4;
/// The processor's flag for going on by one instruction, and the one with which it goes on behind a breakpoint.
const TRAP_FLAG: i64 = 0x100;
const RESUME_FLAG: i64 = 0x1_0000;

/// What is known of the thread that runs.
struct Watch {
    /// The number of visible operations when the timer last rang.
    beat: u64,
    /// How often it has rung since the last of them, and at which ring to look next.
    rings: u32,
    next: u32,
    /// How long threads were led since the last of them, in nanoseconds.
    led: u64,
    lead: Option<Lead>,
    /// The thread that was found to wait, and where its loop is.
    waits: Option<(ThreadId, u64)>,
}

/// A thread that is led instruction by instruction.
struct Lead {
    thread: ThreadId,
    /// How much processor time was used when that began, in nanoseconds.
    begun: u64,
    rounds: Rounds,
}

static mut WATCH: Watch = Watch { beat: 0, rings: 0, next: 1, led: 0, lead: None, waits: None };

fn watch() -> &'static mut Watch {
    // SAFETY: only the carrier comes here, and no reference is kept across a step.
    unsafe { &mut *(&raw mut WATCH) }
}

/// Starts the timer, which children of this process do not have.
pub fn start() {
    let period = libc::timeval { tv_sec: 0, tv_usec: PERIOD };
    let timer = libc::itimerval { it_interval: period, it_value: period };
    // SAFETY: a timer of this process.
    unsafe { call!(libc::SYS_setitimer, libc::ITIMER_VIRTUAL, &raw const timer, 0) };
}

type Context = libc::ucontext_t;

/// The timer has rung, or the launcher says that nothing happens any more.
pub unsafe extern "C" fn on_tick(_signal: i32, _info: *mut libc::siginfo_t, context: *mut Context) {
    if !active() || engine().slots[engine().current].fs != sys::fs_base() {
        return;
    }
    // SAFETY: the kernel's argument.
    let context = unsafe { &mut *context };
    watch::put_back(context);
    let rip = context.uc_mcontext.gregs[REG_RIP as usize] as u64;
    let inside = trap::is_own(rip);
    let hang = control().hang.swap(0, Relaxed);
    if hang != 0 {
        trap::note_registers(&context.uc_mcontext.gregs);
        if inside || hang == STOPPED || !others_can_go() {
            engine::crash(Ending::Hang, 0, 0, format_args!("{}", reason(hang)));
        }
        return wait_for_memory(context, rip);
    }
    if inside {
        return;
    }
    let me = engine().me();
    match watch().waits.take() {
        Some((thread, place)) if thread == me => {
            trap::note_registers(&context.uc_mcontext.gregs);
            if others_can_go() {
                wait_for_memory(context, place);
            } else if !others_can_write() {
                engine::crash(Ending::Hang, 0, 0, format_args!(""));
            }
        }
        _ => ring(context, me),
    }
}

/// A signal may have stopped the program while it was not under control: then nobody has said so yet.
pub fn end_if_stopped() {
    if active() && control().hang.compare_exchange(STOPPED, 0, Relaxed, Relaxed).is_ok() {
        engine::crash(Ending::Hang, 0, 0, format_args!("{}", reason(STOPPED)));
    }
}

/// The program has stopped itself, and nobody lets it go on.
pub fn stop() -> ! {
    engine::crash(Ending::Hang, 0, 0, format_args!("{}", reason(STOPPED)))
}

/// What the program waits for, as far as that is known.
fn reason(hang: u32) -> &'static str {
    if hang == STOPPED {
        "a signal has stopped the program (SIGSTOP), and nobody lets it go on"
    } else if handles::has_made_children() && family::any_runs() {
        "it waits for child processes, which still run but do nothing"
    } else {
        ""
    }
}

/// Looks whether anything has happened since the timer last rang; if not, leads the thread for a while.
fn ring(context: &mut Context, me: ThreadId) {
    let w = watch();
    let beat = engine().heartbeat();
    if w.beat != beat {
        (w.beat, w.rings, w.next, w.led) = (beat, 0, 1, 0);
        return;
    }
    w.rings += 1;
    if w.rings < w.next || w.lead.is_some() {
        return;
    }
    w.next = w.rings * 2;
    if w.led > u64::from(w.rings) * PERIOD as u64 * 125 {
        // It was led for an eighth of the time that it has run by itself.
        return;
    }
    let left = FIRST_LEAD.saturating_mul(w.rings).min(MOST_LEAD);
    begin_lead(context, me, left);
}

/// Processor time of the carrier, in nanoseconds.
fn time_used() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: fills in the time.
    unsafe { call!(libc::SYS_clock_gettime, libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Leads a thread for so many instructions.
fn begin_lead(context: &mut Context, thread: ThreadId, left: u32) {
    if control().debugged.load(Relaxed) != 0 {
        return;
    }
    watch().lead = Some(Lead { thread, begun: time_used(), rounds: Rounds::new(digest(context), left) });
    context.uc_mcontext.gregs[REG_EFL as usize] |= TRAP_FLAG;
}

/// The thread has gone on by an instruction; false if it was not to.
pub fn on_instruction(context: &mut Context) -> bool {
    let w = watch();
    let flags = context.uc_mcontext.gregs[REG_EFL as usize];
    if flags & TRAP_FLAG == 0 {
        return false;
    }
    let rip = context.uc_mcontext.gregs[REG_RIP as usize] as u64;
    let led = active() && !trap::is_own(rip);
    if let Some(lead) = w.lead.as_mut().filter(|lead| led && lead.thread == engine().me()) {
        if lead.rounds.go_on(digest(context), rip) {
            w.waits = Some((lead.thread, lead.rounds.lowest()));
            // It is to wait on its own stack, not on that of this handler: the signal comes when this has returned.
            // SAFETY: a signal to this very thread.
            unsafe { call!(libc::SYS_tgkill, call!(sys::SYS_getpid), call!(sys::SYS_gettid), TICK) };
        } else if lead.rounds.left() > 0 {
            return true;
        }
    }
    if let Some(lead) = w.lead.take() {
        let took = time_used().saturating_sub(lead.begun);
        w.led += took;
        control().led.fetch_add(took, Relaxed);
    }
    context.uc_mcontext.gregs[REG_EFL as usize] &= !TRAP_FLAG;
    true
}

/// All registers of a thread in one number.
fn digest(context: &Context) -> u64 {
    let general = context.uc_mcontext.gregs[..=REG_EFL as usize].iter().enumerate().fold(0, |sum, (i, register)| {
        let changes = if i == REG_EFL as usize { TRAP_FLAG | RESUME_FLAG } else { 0 };
        mix(sum ^ (register & !changes) as u64)
    });
    if context.uc_mcontext.fpregs.is_null() {
        return general;
    }
    // SAFETY: the kernel has saved the registers for numbers there: 416 bytes, before what it keeps for itself.
    let numbers = unsafe { core::slice::from_raw_parts(context.uc_mcontext.fpregs as *const u64, 52) };
    numbers.iter().fold(general, |sum, word| mix(sum ^ word))
}

/// Whether memory may change although no other thread goes on: by an alarm's handler, or by other processes.
fn others_can_write() -> bool {
    signals::is_armed() || handles::children().next().is_some() || maps::has_shared()
}

/// Whether another thread than the running one can go on.
pub fn others_can_go() -> bool {
    let e = engine();
    // Others that wait for memory may find that the running thread has changed it.
    !e.arbiter.is_stuck() || !e.waiting.is_empty() && e.may_look_in_vain()
}

/// A thread that waits for memory to change.
pub struct Waiting {
    thread: ThreadId,
    /// What it waits for, as the model knows it: a word that is set when others have done something.
    object: ObjectId,
    /// What others have announced since, and how much of that it waits for.
    steps: u32,
    patience: u32,
    is_set: bool,
}

impl Waiting {
    /// Who waits.
    pub fn thread(&self) -> ThreadId {
        self.thread
    }
}

/// The running thread waits at `place` for memory to change. Behind that it is likely to find that it must wait on: it is led at once.
fn wait_for_memory(context: &mut Context, place: u64) {
    unmodelled::note(Unmodelled::MemoryLoops);
    let e = engine();
    e.slots[e.current].registers[0] = place;
    let_others_go();
    let (e, w) = (engine(), watch());
    (w.beat, w.rings, w.next) = (e.heartbeat(), 0, 1);
    begin_lead(context, e.me(), FIRST_LEAD);
}

/// Lets the others go on until they have done something that the running thread may wait for.
pub fn let_others_go() {
    let e = engine();
    let (thread, current) = (e.me(), e.current);
    let object = match e.slots[current].memory {
        Some(object) => object,
        None => objects::create(0, ObjectKind::Atomic, 0),
    };
    let e = engine();
    let slot = &mut e.slots[current];
    slot.memory = Some(object);
    slot.memory_waits += 1;
    let patience = 1 << (slot.memory_waits - 1).min(MOST_PATIENCE);
    e.waited = true;
    e.waiting.push(Waiting { thread, object, steps: 0, patience, is_set: false });
    e.vain += 1;
    if matches!(
        step_now(Operation::Await { object, mask: 1, wait: Wait::Block }),
        Outcome::SIGNALLED | Outcome::BROKEN_OFF
    ) {
        // The handler may have changed what it waits for.
        signals::take();
    }
    let e = engine();
    e.waiting.retain(|w| w.thread != thread);
    e.set_value(object, 0);
}

impl engine::Engine {
    /// A thread announces something: what waits for memory may find it changed.
    pub fn note_for_waiting(&mut self, thread: ThreadId, op: &Operation) {
        if !self.waits_for_memory(op) {
            self.vain = 0;
            let slot = self.slot_of[thread.index()];
            self.slots[slot].memory_waits = 0;
        }
        for waiting in self.waiting.iter_mut().filter(|w| w.thread != thread) {
            waiting.steps += 1;
        }
    }

    fn waits_for_memory(&self, op: &Operation) -> bool {
        op.object().is_some_and(|object| self.waiting.iter().any(|w| w.object == object))
    }

    /// Lets threads that wait for memory look again: after some steps of others, and if nobody else can go on.
    pub fn look_at_memory(&mut self) {
        self.let_look(|w| w.steps >= w.patience);
        if self.may_look_in_vain() && self.arbiter.is_stuck() {
            self.let_look(|w| w.steps > 0);
        }
    }

    /// Whether it is not yet certain that those who wait for memory wait for each other.
    fn may_look_in_vain(&self) -> bool {
        self.vain <= VAIN_ROUNDS * self.waiting.len() as u32
    }

    fn let_look(&mut self, may: impl Fn(&Waiting) -> bool) {
        for i in 0..self.waiting.len() {
            if !self.waiting[i].is_set && may(&self.waiting[i]) {
                self.waiting[i].is_set = true;
                self.set_value(self.waiting[i].object, 1);
            }
        }
    }
}

/// Begins an execution.
pub fn begin() {
    let w = watch();
    (w.lead, w.waits) = (None, None);
}

const _: () = assert!(REG_RSP < REG_EFL && REG_RIP < REG_EFL);
