//! Fingerprints of the classes of executions: those that were explored are told, or samples are compared with those that the launcher knows.
//!
//! They are in shared memory, which the program could write over; nothing more than a sample that is told for nothing, or not told, comes of it.

use crate::engine::control;
use crate::heap;
use core::sync::atomic::Ordering::Relaxed;
use ordain_explore::classes::has_low_zeros;
use ordain_explore::{Fingerprint, key_of};
use ordain_model::{End, Execution};
use ordain_wire::{CLASSES_OFFSET, Control, MOST_CLASSES, Recognise};

/// What is done with classes in a turn.
pub struct Classes {
    recognise: u32,
    count: usize,
    bits: u32,
}

/// Where they are.
fn place() -> *mut u64 {
    // SAFETY: part of the shared memory.
    unsafe { (control() as *const Control as *mut u8).add(CLASSES_OFFSET) as *mut u64 }
}

impl Classes {
    /// For the turn that begins.
    pub fn begin() -> Self {
        let control = control();
        let recognise = control.recognise.load(Relaxed);
        control.unexplored.store(0, Relaxed);
        let (count, bits) = match recognise {
            Recognise::COMPARE => (control.class_count.load(Relaxed) as usize, control.class_bits.load(Relaxed)),
            _ => (0, 0),
        };
        Self { recognise, count: count.min(MOST_CLASSES), bits }
    }

    /// Notes the class of an execution of the search.
    pub fn note(&mut self, fingerprint: &mut Fingerprint, execution: &Execution) {
        if self.recognise != Recognise::NOTE || !is_comparable(execution) {
            return;
        }
        let class = fingerprint.key_of(execution);
        if !has_low_zeros(class, self.bits) {
            return;
        }
        if self.count == MOST_CLASSES {
            self.thin_out();
        }
        // SAFETY: within the part of the shared memory for them.
        unsafe { place().add(self.count).write(class) };
        self.count += 1;
    }

    /// Keeps half of them.
    fn thin_out(&mut self) {
        self.bits += 1;
        let all = core::mem::take(&mut self.count);
        for i in 0..all {
            // SAFETY: within the part of the shared memory for them; what is kept is not behind what is read.
            unsafe {
                let class = place().add(i).read();
                if has_low_zeros(class, self.bits) {
                    place().add(self.count).write(class);
                    self.count += 1;
                }
            }
        }
        // Hashes are not all alike: it never stays full.
        self.count = self.count.min(MOST_CLASSES - 1);
    }

    /// Forgets those of this turn: what was explored does not count.
    pub fn forget(&mut self) {
        if self.recognise == Recognise::NOTE {
            (self.count, self.bits) = (0, 0);
        }
    }

    /// Whether a sample is of a class that was not explored.
    pub fn is_unexplored(&self, execution: &Execution) -> bool {
        if self.recognise != Recognise::COMPARE || !is_comparable(execution) {
            return false;
        }
        // SAFETY: nothing of it stays, and no execution runs.
        let class = unsafe { heap::outside(|| key_of(execution)) };
        // SAFETY: within the part of the shared memory for them, which nobody changes meanwhile.
        let known = unsafe { core::slice::from_raw_parts(place(), self.count) };
        let unexplored = has_low_zeros(class, self.bits) && known.binary_search(&class).is_err();
        control().unexplored.store(unexplored.into(), Relaxed);
        unexplored
    }

    /// Tells those of this turn.
    pub fn tell(&self) {
        if self.recognise == Recognise::NOTE {
            control().class_count.store(self.count as u32, Relaxed);
            control().class_bits.store(self.bits, Relaxed);
        }
    }
}

/// Whether the class of an execution says something: held threads make rounds that are not all explored.
fn is_comparable(execution: &Execution) -> bool {
    !execution.spin_held && !matches!(execution.end, End::Cut | End::Diverged(_))
}
