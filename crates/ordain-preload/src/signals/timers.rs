//! Alarms and interval timers. Time is virtual, so a timer may ring at any moment: each is a thread of the model that sleeps and then sends
//! the signal, and its step may come anywhere. It is ended by disarming it.

use super::{Signal, To, bit, calls::SI_KERNEL, send_if, signals};
use crate::engine::{self, engine, step};
use crate::objects;
use crate::threads::{self, Slot, State};
use crate::time;
use alloc::vec::Vec;
use core::ffi::{c_int, c_void};
use ordain_model::{Member, MemoryOrder, ObjectId, ObjectKind, Operation, Wait};

/// The timer of real time.
#[derive(Default)]
pub(super) struct Timer {
    /// When it rings, and how long after that again.
    set: Option<(u64, u64)>,
    /// All settings of this execution: who sleeps for an older one than the last ends.
    settings: Vec<(u64, u64)>,
    /// It would have ended the program when it wanted to ring.
    held_back: bool,
    /// How often it was set or rang.
    changes: u32,
}

/// Where the object is said to be that stands for the timer's settings and rings, and bits of its word.
const RINGS: u64 = 7;
const BITS: u32 = 48;

fn rings_object() -> ObjectId {
    objects::find(RINGS, ObjectKind::Descriptor, 1)
}

/// Tells who waits that the timer has rung, or was set anew: a step.
fn tell_rings() {
    let object = rings_object();
    step(Operation::Access { set: objects::set_of(&[(object, Member::WRITE)]), looks: false });
    let timer = &mut signals().timer;
    timer.changes += 1;
    let word = 1 << (timer.changes % BITS);
    engine().set_value(object, word);
}

/// Waits until the timer has rung, if it must before this time; gives an error if a handler ends the wait. One with an interval may ring again
/// later or not: once is enough to show that it rings.
pub fn await_ring(until: u64) -> Result<(), c_int> {
    if signals().timer.set.is_some_and(|(when, _)| when <= until) && is_armed() {
        let mask = ((1 << BITS) - 1) & !(1 << (signals().timer.changes % BITS));
        let operation = Operation::Await { object: rings_object(), mask, wait: Wait::Interruptible };
        engine::wait(operation, false)?;
    }
    Ok(())
}

/// Orders what follows with the timer's ringing: sending a signal to the process writes that object too.
fn order() {
    if let Some(cell) = signals().object.filter(|_| super::is_shared()) {
        step(Operation::Update { cell, order: MemoryOrder::SeqCst });
    }
}

/// Sets the timer, or with a span of zero ends it; gives what was left of the old setting, and its interval.
pub(super) fn arm(span: u64, interval: u64) -> (u64, u64) {
    let old = left();
    let setting = (time::now().saturating_add(span), interval);
    let timer = &mut signals().timer;
    timer.settings.push(setting);
    timer.set = (span != 0).then_some(setting);
    timer.held_back = false;
    tell_rings();
    if span != 0 {
        start();
    }
    old
}

/// Starts the thread of the last setting.
fn start() {
    let argument = signals().timer.settings.len() as *mut c_void;
    // SAFETY: a function of our own, which takes a number.
    if unsafe { threads::spawn_hidden(ring, argument) } != 0 {
        engine::refuse(format_args!("there is no memory for the timer of an alarm"));
    }
}

/// Masks or actions have changed: a timer that was held back may ring now.
pub(super) fn look_again() {
    if is_late() {
        signals().timer.held_back = false;
        start();
    }
}

/// Whether the timer is set, and may ring.
pub fn is_armed() -> bool {
    signals().timer.set.is_some() && !would_end()
}

/// Whether a timer was held back that would not end the program any more.
pub fn is_late() -> bool {
    signals().timer.held_back && !would_end()
}

/// Begins an execution: no timer is set.
pub(super) fn begin() {
    signals().timer = Timer::default();
}

/// What is left of the timer's time, and its interval.
pub(super) fn left() -> (u64, u64) {
    order();
    let now = time::now();
    signals().timer.set.map_or((0, 0), |(when, interval)| (when.saturating_sub(now).max(1000), interval))
}

/// What the thread of a timer does.
unsafe extern "C" fn ring(setting: *mut c_void) -> *mut c_void {
    // Nothing is looked at that others may change, but in the step that sends the signal.
    let (mut when, interval) = signals().timer.settings[setting as usize - 1];
    loop {
        let span = when.saturating_sub(time::now());
        time::wait_at_most(span);
        step(Operation::Sleep);
        time::advance(span);
        let signal = Signal::new(libc::SIGALRM, SI_KERNEL, 0);
        let rang = send_if(signal, To::Process, || rings(setting as usize, when, interval, span));
        tell_rings();
        if !rang || interval == 0 {
            return core::ptr::null_mut();
        }
        when = when.saturating_add(interval);
    }
}

/// Whether the timer with this setting rings now, after `span`. One that would end the program does not, and is put off: it is there in
/// case that the program hangs, which is found without it.
fn rings(setting: usize, when: u64, interval: u64, span: u64) -> bool {
    if signals().timer.settings.len() != setting {
        return false;
    }
    signals().timer.held_back = would_end();
    if signals().timer.held_back {
        signals().timer.set = Some((time::now().saturating_add(span), interval));
        return false;
    }
    signals().timer.set = (interval != 0).then_some((when.saturating_add(interval), interval));
    true
}

/// Whether the timer's signal would end the program now. Not if all threads block it: then one may wait for it.
fn would_end() -> bool {
    let takes = |slot: &Slot| slot.state == State::Running && slot.mask & bit(libc::SIGALRM) == 0;
    signals().actions[libc::SIGALRM as usize].handler == libc::SIG_DFL && engine().slots.iter().any(|s| takes(s))
}
