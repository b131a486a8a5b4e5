//! What came from outside, so that it comes again in every execution ("direct record-replay" in Šimša's thesis, section 3.2.3).
//!
//! Records are in the memory that is shared with the launcher, which hands them on from process to process. Each has a key that says
//! who asked, for what, and what went out before; who asks the same again gets what is recorded.

use crate::engine::engine;
use crate::link::{self, control};
use crate::random;
use alloc::collections::BTreeMap;
use core::sync::atomic::Ordering::Relaxed;
use ordain_wire::{INPUTS_OFFSET, INPUTS_SIZE};

/// A record begins with its key, what the system call returned, and how many bytes follow.
const HEAD: usize = 24;

/// Where records are.
#[derive(Default)]
pub struct Inputs {
    index: BTreeMap<u64, (isize, usize, usize)>,
    /// How much of the records is in the index.
    read: usize,
}

fn room() -> &'static mut [u8] {
    // SAFETY: the part for them, which only this side writes while the program runs; no reference is kept.
    unsafe { link::part(INPUTS_OFFSET, INPUTS_SIZE) }
}

fn word(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    word[..bytes.len().min(8)].copy_from_slice(&bytes[..bytes.len().min(8)]);
    u64::from_le_bytes(word)
}

/// Takes over what the launcher has handed on, or another execution has recorded.
fn catch_up(inputs: &mut Inputs) {
    let length = (control().inputs_length.load(Relaxed) as usize).min(INPUTS_SIZE);
    let records = &room()[..length];
    while let Some(head) = records.get(inputs.read..inputs.read + HEAD) {
        let (begin, size) = (inputs.read + HEAD, word(&head[16..]) as usize);
        if size > length - begin {
            return;
        }
        inputs.index.insert(word(head), (word(&head[8..]) as isize, begin, size));
        inputs.read = begin + size.next_multiple_of(8);
    }
}

/// What was recorded for a key: what the system call returned, and the bytes.
pub fn recorded(key: u64) -> Option<(isize, &'static [u8])> {
    let inputs = &mut engine().inputs;
    catch_up(inputs);
    let (result, begin, size) = inputs.index.get(&key).copied()?;
    Some((result, &room()[begin..begin + size]))
}

/// Records what came.
pub fn record(key: u64, result: isize, bytes: &[u8]) {
    let at = control().inputs_length.load(Relaxed) as usize;
    let end = at + HEAD + bytes.len().next_multiple_of(8);
    if end > INPUTS_SIZE {
        link::refuse(format_args!("the program reads more than {} MiB from outside", INPUTS_SIZE >> 20));
    }
    let room = &mut room()[at..end];
    room[..8].copy_from_slice(&key.to_le_bytes());
    room[8..16].copy_from_slice(&result.to_le_bytes());
    room[16..24].copy_from_slice(&(bytes.len() as u64).to_le_bytes());
    room[HEAD..HEAD + bytes.len()].copy_from_slice(bytes);
    control().inputs_length.store(end as u64, Relaxed);
}

/// A key from a key and bytes.
pub fn with(key: u64, bytes: &[u8]) -> u64 {
    let whole = bytes.chunks(8).fold(key, |key, chunk| random::mix(key ^ word(chunk)));
    random::mix(whole ^ bytes.len() as u64)
}

/// A key for the next thing that the running thread takes from outside, by its name.
pub fn next_key(name: &[u8]) -> u64 {
    let e = engine();
    let asked = &mut e.slots[e.current].asked[2];
    *asked += 1;
    let number = u64::from(*asked);
    with(random::seed(e.me()) ^ number, name)
}
