//! Calls that may carry an order between threads that the model does not know: noted, so that nothing is called verified.

use crate::link::control;
use core::sync::atomic::Ordering::Relaxed;

pub use ordain_wire::{Named, Unmodelled};

/// The program makes or changes something that has a name outside the process: executions at the same time would share it.
pub fn note_name(what: Named) {
    control().named.fetch_or(what as u32, Relaxed);
}

/// Takes note of such a call.
pub fn note(what: Unmodelled) {
    control().unmodelled.fetch_or(what.bit(), Relaxed);
}

/// Whether such a call was noted.
pub fn is_noted(what: Unmodelled) -> bool {
    control().unmodelled.load(Relaxed) & what.bit() != 0
}

/// Takes note of such a call, if there are other threads that could notice.
pub fn note_if_shared(what: Unmodelled) {
    if !crate::engine::engine().is_alone() {
        note(what);
    }
}
