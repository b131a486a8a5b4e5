//! Alarms and interval timers. Time is virtual, so a timer may ring at any moment: each is a thread of the model that sleeps and then sends
//! the signal, and its step may come anywhere. It is ended by disarming it.

use super::{Recipient, Signal, bit, calls::SI_KERNEL, send_if, signals};
use crate::engine::{self, engine, step};
use crate::link;
use crate::threads::{self, Slot, State};
use crate::time;
use crate::unmodelled::{self, Unmodelled};
use alloc::vec::Vec;
use core::ffi::c_void;
use ordain_model::{MemoryOrder, Operation, Outcome, Site, Wait};

/// The timer of real time.
#[derive(Default)]
pub(super) struct Timer {
    /// When it rings, and how long after that again.
    set: Option<(u64, u64)>,
    /// All settings of this execution: who sleeps for an older one than the last ends.
    settings: Vec<(u64, u64)>,
    /// It would have ended the program when it wanted to ring.
    held_back: bool,
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
        link::refuse(format_args!("there is no memory for the timer of an alarm"));
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

/// Whether the timer rings for the running thread and for no other before `end`.
fn rings_here_before(end: u64) -> bool {
    let e = engine();
    let takes = |slot: &Slot| slot.state == State::Running && slot.mask & bit(libc::SIGALRM) == 0;
    let takers = e.slots.iter().enumerate().filter(|(_, slot)| takes(slot));
    is_armed()
        && signals().timer.set.is_some_and(|(when, _)| when < end)
        && signals().actions[libc::SIGALRM as usize].handler != libc::SIG_IGN
        && takers.map(|(number, _)| number).eq([e.current])
}

/// Waits for the timer in place of sleeping until `end`, if it rings before that: a sleep does not end earlier than an alarm that the same
/// thread waits for in it. Gives whether it rang.
pub fn interrupts_sleep(end: u64) -> bool {
    if signals().timer.settings.is_empty() {
        return false;
    }
    loop {
        order();
        if !rings_here_before(end) {
            return false;
        }
        let set = signals().timer.set;
        let wait = Operation::TakeSignal { signals: super::object(), set: 0, wait: Wait::Interruptible };
        if engine::step_now(wait) == Outcome::CANCELLED {
            crate::cancellation::act();
        }
        super::take();
        // It may have come just before the sleep, which then begins; not if time passes only while everybody waits.
        let rang = signals().timer.set != set && engine().arbiter.options().kind_time;
        if super::signals_ran() && (rang || super::breaks(false)) {
            return true;
        }
    }
}

/// Time has passed for the running thread. An alarm that would end the program is put off, since it may ring at any time; but one whose time
/// is over would have ended it for certain.
pub fn note_passing() {
    if signals().timer.set.is_some_and(|(when, _)| when <= time::now()) && would_end() {
        unmodelled::note(Unmodelled::Alarm);
    }
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
    if interval != 0 {
        // It is explored only so often how early it rings.
        let e = engine();
        e.slots[e.current].registers[0] = Site::TICK.0;
    }
    let note_bound = || {
        let e = engine();
        if interval != 0 && e.arbiter.bounds_timer(e.me()) {
            unmodelled::note(Unmodelled::Ticks);
        }
    };
    loop {
        let span = when.saturating_sub(time::now());
        note_bound();
        time::wait_at_most(span);
        step(Operation::Sleep);
        time::advance(span);
        note_bound();
        let signal = Signal::new(libc::SIGALRM, SI_KERNEL, 0);
        if !send_if(signal, Recipient::Process, || rings(setting as usize, when, interval, span)) || interval == 0 {
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
