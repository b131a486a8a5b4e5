//! Fingerprints of the classes of executions: those that were explored are told, or samples are compared with those that the launcher knows.
//!
//! They are in shared memory, which the program could write over; nothing more than a sample that is told for nothing, or not told, comes of it.

use crate::heap;
use crate::link::{self, control};
use core::sync::atomic::Ordering::Relaxed;
use ordain_explore::classes::has_low_zeros;
use ordain_explore::{Fingerprint, key_of};
use ordain_model::{End, Execution};
use ordain_wire::{CLASSES_OFFSET, ClassUse, MOST_CLASSES};

/// What is done with classes in a turn.
pub struct Classes {
    class_use: ClassUse,
    count: usize,
    bits: u32,
}

/// The room for them.
fn room() -> &'static mut [u64] {
    // SAFETY: the part for them.
    unsafe { link::part(CLASSES_OFFSET, MOST_CLASSES) }
}

impl Classes {
    /// For the turn that begins.
    pub fn begin() -> Self {
        let control = control();
        let class_use = control.class_use.load().unwrap_or(ClassUse::None);
        control.unexplored.store(0, Relaxed);
        let (count, bits) = match class_use {
            ClassUse::Compare => (control.class_count.load(Relaxed) as usize, control.class_bits.load(Relaxed)),
            _ => (0, 0),
        };
        Self { class_use, count: count.min(MOST_CLASSES), bits }
    }

    /// Notes the class of an execution of the search.
    pub fn note(&mut self, fingerprint: &mut Fingerprint, execution: &Execution) {
        if self.class_use != ClassUse::Collect || !is_comparable(execution) {
            return;
        }
        let class = fingerprint.key_of(execution);
        if !has_low_zeros(class, self.bits) {
            return;
        }
        if self.count == MOST_CLASSES {
            self.thin_out();
        }
        room()[self.count] = class;
        self.count += 1;
    }

    /// Keeps half of them.
    fn thin_out(&mut self) {
        self.bits += 1;
        let all = core::mem::take(&mut self.count);
        for i in 0..all {
            let class = room()[i];
            if has_low_zeros(class, self.bits) {
                room()[self.count] = class;
                self.count += 1;
            }
        }
        // Hashes are not all alike: it never stays full.
        self.count = self.count.min(MOST_CLASSES - 1);
    }

    /// Forgets those of this turn: what was explored does not count.
    pub fn forget(&mut self) {
        if self.class_use == ClassUse::Collect {
            (self.count, self.bits) = (0, 0);
        }
    }

    /// Whether a sample is of a class that was not explored.
    pub fn is_unexplored(&self, execution: &Execution) -> bool {
        if self.class_use != ClassUse::Compare || !is_comparable(execution) {
            return false;
        }
        // SAFETY: nothing of it stays, and no execution runs.
        let class = unsafe { heap::outside(|| key_of(execution)) };
        let unexplored = has_low_zeros(class, self.bits) && room()[..self.count].binary_search(&class).is_err();
        control().unexplored.store(unexplored.into(), Relaxed);
        unexplored
    }

    /// Tells those of this turn.
    pub fn tell(&self) {
        if self.class_use == ClassUse::Collect {
            control().class_count.store(self.count as u32, Relaxed);
            control().class_bits.store(self.bits, Relaxed);
        }
    }
}

/// Whether the class of an execution says something: held threads make rounds that are not all explored.
fn is_comparable(execution: &Execution) -> bool {
    !execution.spin_held && !matches!(execution.end, End::Cut | End::Diverged(_))
}
