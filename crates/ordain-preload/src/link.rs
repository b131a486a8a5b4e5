//! The link to the launcher: the memory that both sides share, whose turn it is, and what they tell each other.
//!
//! The launcher makes a request and gives the turn. The runtime serves it, leaves its answer in the shared memory and gives the turn back
//! with a status that says why. Only this module knows where things are there.

use crate::context::ORDAIN_CURRENT;
use crate::engine::{engine, is_there};
use crate::sys;
use crate::threads::Slot;
use core::fmt::Write as _;
use core::ptr::null_mut;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use ordain_explore::frontier::{Explored, Fragment};
use ordain_model::{Divergence, Options, ThreadId, Transition};
use ordain_wire::{
    Control, Event, FRAGMENT_OFFSET, FRAGMENT_SIZE, FragmentBytes, Knowledge, LOG_OFFSET, LOG_SIZE, Log, MESSAGE_SIZE,
    MOST_PREFIX, MOST_THREADS, Mode, NAMES_OFFSET, NAMES_SIZE, PLAN_OFFSET, Request, Status, ThreadRecord, Turn,
};

static mut SHARED: *mut u8 = null_mut();

/// The control words.
pub fn control() -> &'static Control {
    // SAFETY: mapped before anything else happens.
    unsafe { &*(SHARED as *const Control) }
}

/// A part of the shared memory. Its contents are plain numbers, whatever they are; nobody keeps it across a turn.
pub unsafe fn part<T: Copy>(offset: usize, length: usize) -> &'static mut [T] {
    // SAFETY: within the mapping, as whoever asks has seen to.
    unsafe { core::slice::from_raw_parts_mut(SHARED.add(offset) as *mut T, length) }
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

/// What the launcher wants.
pub fn request() -> Request {
    match control().request.load() {
        Some(request) => request,
        None => break_down(format_args!("the launcher's request is unknown")),
    }
}

/// Gives the launcher the turn, without waiting for it to come back.
pub fn give_turn(status: Status) {
    let control = control();
    control.status.store(status);
    control.turn.store(Turn::LAUNCHER, SeqCst);
    sys::futex_wake(&control.turn);
}

/// Waits for the turn.
pub fn await_turn() {
    let control = control();
    while control.turn.load(Acquire) != Turn::RUNTIME {
        sys::futex_wait(&control.turn, Turn::LAUNCHER);
    }
}

/// Gives the launcher the turn and waits for it to come back.
pub fn hand_over(status: Status) {
    give_turn(status);
    passing();
    await_turn();
}

/// Asks the launcher which transition to take; `None` if there shall be none.
pub fn ask() -> Option<Transition> {
    let control = control();
    hand_over(Status::Ask);
    let (thread, choice) = (control.answer_thread.load(Relaxed), control.answer_choice.load(Relaxed));
    (choice != u32::MAX).then_some(Transition { thread: ThreadId(thread), choice })
}

/// What to assume of the world.
pub fn options() -> Options {
    let control = control();
    Options {
        spurious_wakeups: control.spurious.load(Relaxed) != 0,
        kind_time: control.kind_time.load(Relaxed) != 0,
        spin_bound: control.spin_bound.load(Relaxed),
        livelock_rounds: control.livelock_rounds.load(Relaxed),
        max_steps: control.max_steps.load(Relaxed) as usize,
        ..Options::default()
    }
}

/// The forced decisions of the launcher's plan.
pub fn decisions() -> impl Iterator<Item = Transition> {
    let length = (control().prefix_length.load(Relaxed) as usize).min(MOST_PREFIX);
    // SAFETY: as many as there is room for.
    let pairs: &[[u32; 2]] = unsafe { part(PLAN_OFFSET, length) };
    pairs.iter().map(|[thread, choice]| Transition { thread: ThreadId(*thread), choice: *choice })
}

/// Writes pairs of numbers for the launcher where it writes plans.
pub fn write_pairs(pairs: &[[u32; 2]]) {
    let pairs = &pairs[..pairs.len().min(MOST_PREFIX)];
    // SAFETY: as many as there is room for.
    unsafe { part(PLAN_OFFSET, pairs.len()) }.copy_from_slice(pairs);
    control().prefix_length.store(pairs.len() as u32, Relaxed);
}

/// What the launcher knows of earlier executions.
pub fn read_known() -> Knowledge {
    let length = (control().names_length.load(Relaxed) as usize).min(NAMES_SIZE);
    // SAFETY: the part for it.
    Knowledge::read(unsafe { part(NAMES_OFFSET, length) }).unwrap_or_default()
}

/// Tells the launcher what has become known.
pub fn write_known(known: &Knowledge) {
    // SAFETY: the part for it.
    match known.write(unsafe { part(NAMES_OFFSET, NAMES_SIZE) }) {
        Some(length) => control().names_length.store(length as u32, Relaxed),
        None => refuse(format_args!("the program has too many threads and objects")),
    }
}

/// The fragment that the launcher wants explored.
pub fn read_fragment() -> Option<Fragment> {
    let length = (control().fragment_length.load(Relaxed) as usize).min(FRAGMENT_SIZE);
    // SAFETY: the part for it.
    FragmentBytes::read(unsafe { part(FRAGMENT_OFFSET, length) })
}

/// Tells the launcher what has become of the fragment; `false` if that is too much.
pub fn write_explored(explored: &Explored) -> bool {
    // SAFETY: the part for it.
    let length = FragmentBytes::write(explored, unsafe { part(FRAGMENT_OFFSET, FRAGMENT_SIZE) });
    control().fragment_length.store(length.unwrap_or(0) as u32, Relaxed);
    length.is_some()
}

/// Tells the launcher where threads are, for backtraces.
pub fn write_threads(threads: impl Iterator<Item = ThreadRecord>) {
    // SAFETY: a part of the control page, which only this side writes now.
    let records: &mut [ThreadRecord] = unsafe { part(core::mem::offset_of!(Control, threads), MOST_THREADS) };
    let count = records.iter_mut().zip(threads).map(|(record, thread)| *record = thread).count();
    control().thread_count.store(count as u32, Relaxed);
}

/// The events of an execution, in the shared memory.
#[derive(Default)]
pub struct EventLog {
    length: usize,
}

impl EventLog {
    /// Begins anew.
    pub fn clear(&mut self) {
        self.length = 0;
    }

    /// Takes down an event.
    pub fn write(&mut self, event: &Event) {
        // SAFETY: the part for it, which only this side writes.
        match Log::write(unsafe { part(LOG_OFFSET, LOG_SIZE) }, self.length, event) {
            Some(length) => self.length = length,
            None => refuse(format_args!("the execution is too long: there is no more room to take it down")),
        }
    }

    /// Lets the launcher see what is there.
    pub fn publish(&self) {
        control().log_length.store(self.length as u32, Release);
    }

    /// What is there.
    pub fn bytes(&self) -> &'static [u8] {
        // SAFETY: the part for it, which is there as long as the process.
        unsafe { part(LOG_OFFSET, self.length) }
    }
}

/// The launcher's room for a message.
fn message() -> &'static mut [u8] {
    // SAFETY: a part of the control page, which only this side writes now.
    unsafe { part(core::mem::offset_of!(Control, message), MESSAGE_SIZE) }
}

/// Writes a message for the launcher; what is too long is cut.
pub fn write_message(text: core::fmt::Arguments<'_>) {
    struct Room(usize);
    impl core::fmt::Write for Room {
        fn write_str(&mut self, text: &str) -> core::fmt::Result {
            let left = &mut message()[self.0..];
            let length = text.len().min(left.len());
            left[..length].copy_from_slice(&text.as_bytes()[..length]);
            self.0 += length;
            Ok(())
        }
    }
    let mut room = Room(0);
    // Never fails.
    let _ = room.write_fmt(text);
    control().message_length.store(room.0 as u32, Relaxed);
}

/// Tells the launcher how the program departed from its plan.
pub fn write_departure(divergence: &Divergence) {
    if let Some(length) = ordain_wire::Departure::write(divergence, message()) {
        control().message_length.store(length as u32, Relaxed);
    }
}

/// The runtime itself has failed, or cannot go on: tells the launcher and ends the process.
pub fn break_down(message: core::fmt::Arguments<'_>) -> ! {
    give_up(Status::Broken, message)
}

/// The program does what cannot be controlled here: tells the launcher and ends the process.
pub fn refuse(message: core::fmt::Arguments<'_>) -> ! {
    give_up(Status::Refused, message)
}

/// Executions of this program would find something of each other in this mode: tells the launcher, which goes on in another.
pub fn leave_mode(message: core::fmt::Arguments<'_>) -> ! {
    give_up(Status::OtherMode, message)
}

/// The execution needs more threads than were prepared.
pub fn ask_for_threads() -> ! {
    give_up(Status::MoreThreads, format_args!("more threads are needed"))
}

fn give_up(status: Status, message: core::fmt::Arguments<'_>) -> ! {
    if is_connected() {
        write_message(message);
        if is_there() {
            engine().events.publish();
            if engine().mode == Mode::Exec {
                crate::children::family::end_all();
            }
        }
        give_turn(status);
    }
    sys::exit_group(101)
}
