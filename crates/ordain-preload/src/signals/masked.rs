//! Calls that change the mask while they wait: `ppoll`, `pselect` and `epoll_pwait`.
//!
//! The kernel changes the mask and begins to wait in one step. A signal that was blocked before and is not in the call is therefore never
//! lost before it: either there is an answer, then the signal stays pending, or its handler runs and the call ends with an error. One that was
//! not blocked before may also have come before the call, as with any other.

use super::{
    Recipient, Signal, bit, blockable, change_mask, is_listening, send, set_mask, set_of, signals_ran, take, tell_left,
    tell_mask,
};
use crate::engine::{self, engine};
use alloc::vec::Vec;
use core::ffi::c_int;
use libc::EINTR;
use ordain_model::{Operation, Outcome};

/// The error of a wait that has an answer, before which a handler must not run: the call asks again with the mask that was there before.
/// No function of the kernel has it.
pub const PUT_OFF: c_int = 4000;

/// What a thread knows of the call that it is in, if that has changed its mask.
#[derive(Clone, Copy)]
pub struct MaskedCall {
    /// The signals that are blocked outside of it and not in it.
    unblocked: u64,
    /// Whether a handler of one of them has run.
    broken_off: bool,
    /// The mask outside of it, which the first handler that ends it puts back.
    outside: u64,
}

impl MaskedCall {
    /// No such call.
    pub const NONE: Self = Self { unblocked: 0, broken_off: false, outside: 0 };

    /// A call that any handler ends (`sigsuspend`), with the mask outside of it.
    pub(super) const fn suspended(outside: u64) -> Self {
        Self { unblocked: u64::MAX, broken_off: false, outside }
    }

    /// Handlers of these signals are about to run. Gives the mask that they put back if that ends the call.
    pub(super) fn note(&mut self, signals: u64) -> Option<u64> {
        let ends = self.unblocked & signals != 0;
        self.broken_off |= ends;
        ends.then_some(self.outside)
    }

    /// Whether it ends because a handler has run that could not run before.
    pub fn is_broken_off(&self) -> bool {
        self.broken_off
    }
}

/// Blocks again what only the call did not block, if such a signal has come, in a step that was to take it. Says whether that is so.
pub fn put_off() -> bool {
    let e = engine();
    let slot = &mut e.slots[e.current];
    if set_of(&slot.come) & slot.masked.unblocked == 0 {
        return false;
    }
    let unblocked = slot.masked.unblocked;
    slot.mask |= unblocked;
    // Those for the process are for others again.
    let is_for_others = |s: &Signal| s.shared && unblocked & bit(s.number) != 0;
    let others: Vec<Signal> = slot.come.iter().copied().filter(is_for_others).collect();
    slot.come.retain(|s| !is_for_others(s));
    tell_mask();
    tell_left();
    others.into_iter().for_each(|signal| send(signal, Recipient::Process));
    true
}

/// Makes a call that has another mask while it waits, at most so long. `wait` waits at most so long and gives the answer, nothing, or an
/// error. `tries_end` says whether a signal also ends a call that does not wait at all.
pub fn with_mask(
    mask: Option<u64>,
    timeout: Option<u64>,
    tries_end: bool,
    mut wait: impl FnMut(Option<u64>) -> isize,
) -> isize {
    let Some(mask) = mask.map(blockable) else { return wait(timeout) };
    let old = engine().slots[engine().current].mask;
    let unblocked = old & !mask;
    loop {
        // The model knows what has come only if others can send signals.
        let known = is_listening() || set_of(&engine().slots[engine().current].come) & unblocked == 0;
        if known {
            change_mask(mask);
            engine().slots[engine().current].masked = MaskedCall { unblocked, broken_off: false, outside: old };
            let answer = wait(timeout);
            change_mask(old);
            engine().slots[engine().current].masked = MaskedCall::NONE;
            set_mask(old);
            if answer != -(PUT_OFF as isize) {
                return answer;
            }
        }
        let answer = wait(Some(0));
        if answer != 0 || timeout == Some(0) && !tries_end {
            return answer;
        }
        if (!known || timeout == Some(0)) && handles(mask, old) {
            return -(EINTR as isize);
        }
        if timeout == Some(0) {
            return 0;
        }
    }
}

/// Takes what has come and is not in a mask. Says whether a handler has run.
fn handles(mask: u64, old: u64) -> bool {
    change_mask(mask);
    let due = !is_listening() || engine::step_now(Operation::Look) == Outcome::SIGNALLED;
    if due {
        take();
    }
    let ran = due && signals_ran();
    set_mask(old);
    ran
}
