//! What runs of a program have done that the search does not follow.

use crate::shared::Shared;
use ordain_wire::{Named, Unmodelled};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

/// What runs of a program have done that the search does not follow. Runs that come from one another share it.
#[derive(Default)]
pub(super) struct SideEffects {
    unmodelled: AtomicU64,
    children: AtomicU32,
    named: AtomicU32,
}

impl SideEffects {
    /// Takes over what a process has reported, unless the program has written over that.
    pub(super) fn note(&self, shared: &Shared) {
        let control = shared.control();
        let unmodelled = control.unmodelled.load(Relaxed);
        if Unmodelled::is_known(unmodelled) {
            self.note_unmodelled(unmodelled);
            self.children.fetch_max(control.children.load(Relaxed), Relaxed);
            self.named.fetch_or(control.named.load(Relaxed), Relaxed);
        }
    }

    /// Takes over bits of [`Unmodelled`].
    pub(super) fn note_unmodelled(&self, bits: u64) {
        self.unmodelled.fetch_or(bits, Relaxed);
    }

    /// What the model does not know: bits of [`Unmodelled`].
    pub(super) fn unmodelled(&self) -> u64 {
        self.unmodelled.load(Relaxed)
    }

    /// How many child processes an execution made, at most.
    pub(super) fn children(&self) -> u32 {
        self.children.load(Relaxed)
    }

    /// Whether executions at the same time would be in each other's way, if each process had a view of its own or not.
    pub(super) fn collides_in(&self, view: bool) -> bool {
        let named = self.named.load(Relaxed);
        named & Named::Existing as u32 != 0 || (named != 0 && !view)
    }
}
