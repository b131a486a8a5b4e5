//! What came from outside, so that it comes again in every execution ("direct record-replay" in Šimša's thesis, section 3.2.3).
//!
//! Records are in the memory that is shared with the launcher, which hands them on from process to process. Each has a key that says
//! who asked, for what, and what went out before; who asks the same again gets what is recorded.

mod records;

pub use records::Index as Inputs;

use crate::engine::engine;
use crate::hash::with_bytes;
use crate::link::{self, control};
use crate::random;
use core::sync::atomic::Ordering::Relaxed;
use ordain_wire::{INPUTS_OFFSET, INPUTS_SIZE};

fn room() -> &'static mut [u8] {
    // SAFETY: the part for them, which only this side writes while the program runs; no reference is kept.
    unsafe { link::part(INPUTS_OFFSET, INPUTS_SIZE) }
}

/// What was recorded for a key: what the system call returned, and the bytes.
pub fn recorded(key: u64) -> Option<(isize, &'static [u8])> {
    let inputs = &mut engine().inputs;
    let length = (control().inputs_length.load(Relaxed) as usize).min(INPUTS_SIZE);
    // What the launcher has handed on, or another execution has recorded.
    inputs.catch_up(&room()[..length]);
    let (result, begin, size) = inputs.find(key)?;
    Some((result, &room()[begin..begin + size]))
}

/// Records what came.
pub fn record(key: u64, result: isize, bytes: &[u8]) {
    let at = control().inputs_length.load(Relaxed) as usize;
    let Some(end) = records::write(room(), at, (key, result), bytes) else {
        link::refuse(format_args!("the program reads more than {} MiB from outside", INPUTS_SIZE >> 20));
    };
    control().inputs_length.store(end as u64, Relaxed);
}

/// A key for the next thing that the running thread takes from outside, by its name.
pub fn next_key(name: &[u8]) -> u64 {
    let e = engine();
    let asked = &mut e.slots[e.current].asked[2];
    *asked += 1;
    let number = u64::from(*asked);
    with_bytes(random::seed(e.me()) ^ number, name)
}
