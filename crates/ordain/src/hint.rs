//! Hints, shaped like [`std::hint`].

pub use std::hint::{black_box, unreachable_unchecked};

use crate::rt;
use ordain_model::Operation;

/// Says that the caller spins until another thread has done something. In a check it yields to the others.
#[track_caller]
pub fn spin_loop() {
    if rt::active() {
        rt::step(Operation::Yield);
    } else {
        rt::idle_in_tear_down();
        std::hint::spin_loop();
    }
}
