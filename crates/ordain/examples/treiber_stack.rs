//! Treiber's stack as a list of free slots, without locks.
//!
//! The bug is the classic one, ABA: between the load of the top and the exchange, others take the top and its successor and put
//! the top back. The exchange succeeds, and a slot that is in use is free again. A count of changes beside the index cures it.
#![allow(clippy::unwrap_used, reason = "a panic is what an example shows")]

mod demo;

use ordain::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use ordain::thread;
use std::process::ExitCode;
use std::sync::Arc;

const SLOTS: usize = 3;
/// Stands for no slot.
const END: usize = SLOTS;
/// The top's index is below this; the count of changes is above.
const INDEX: usize = 1 << 8;

struct FreeList {
    /// The first free slot, and how often it changed.
    top: AtomicUsize,
    /// The free slot below each.
    below: [AtomicUsize; SLOTS],
    /// What a change adds to the count: one, or, with the bug, nothing.
    change: usize,
}

impl FreeList {
    /// All slots are free, the first on top.
    fn new(counts_changes: bool) -> Self {
        let below = std::array::from_fn(|slot| AtomicUsize::new(slot + 1));
        Self { top: AtomicUsize::new(0), below, change: if counts_changes { INDEX } else { 0 } }
    }

    fn exchange(&self, top: usize, new: usize) -> bool {
        let count = top - top % INDEX + self.change;
        self.top.compare_exchange(top, count + new, SeqCst, SeqCst).is_ok()
    }

    fn take(&self) -> Option<usize> {
        loop {
            let top = self.top.load(SeqCst);
            let slot = top % INDEX;
            if slot == END {
                return None;
            }
            let below = self.below[slot].load(SeqCst);
            if self.exchange(top, below) {
                return Some(slot);
            }
        }
    }

    fn give_back(&self, slot: usize) {
        loop {
            let top = self.top.load(SeqCst);
            self.below[slot].store(top % INDEX, SeqCst);
            if self.exchange(top, slot) {
                return;
            }
        }
    }
}

fn program(counts_changes: bool) {
    let list = Arc::new(FreeList::new(counts_changes));
    let other = {
        let list = list.clone();
        thread::spawn(move || {
            let first = list.take();
            let second = list.take();
            if let Some(first) = first {
                list.give_back(first);
            }
            second
        })
    };
    let mine = list.take();
    let mut slots: Vec<usize> = mine.into_iter().chain(other.join().unwrap()).collect();
    // Three slots: who holds none of them is in the list. With the bug the list may even go round.
    slots.extend(std::iter::from_fn(|| list.take()).take(SLOTS));
    slots.sort_unstable();
    assert_eq!(slots, [0, 1, 2], "every slot is in one place");
}

/// The top is an index only.
pub(crate) fn buggy() {
    program(false);
}

/// The top has a count of changes beside it.
pub(crate) fn fixed() {
    program(true);
}

fn main() -> ExitCode {
    demo::main("treiber_stack", buggy, fixed)
}
