//! Fingerprints of classes: equal for executions that differ only in the order of independent steps.
//!
//! The hash of a step covers its thread, its choice, and the hashes of the steps that it depends on immediately; the
//! fingerprint is the sum over all steps, in which the order of independent ones is lost and nothing else.

use alloc::vec::Vec;
use ordain_model::{Access, Execution, Operation};

/// The fingerprint of a class, or of a prefix of its executions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Class(pub u128);

/// A hash of some width.
trait Hash: Copy + Default {
    fn mix(self, value: Self) -> Self;
    fn number(value: u64) -> Self;
    fn add(self, other: Self) -> Self;
}

impl Hash for u128 {
    #[inline]
    fn mix(self, value: Self) -> Self {
        mix(self, value)
    }

    fn number(value: u64) -> Self {
        Self::from(value)
    }

    fn add(self, other: Self) -> Self {
        self.wrapping_add(other)
    }
}

impl Hash for u64 {
    #[inline]
    fn mix(self, value: Self) -> Self {
        crate::hash::mix(self, value)
    }

    fn number(value: u64) -> Self {
        value
    }

    fn add(self, other: Self) -> Self {
        self.wrapping_add(other)
    }
}

/// What an object contributes to the hash of the next step that touches it.
#[derive(Clone, Copy, Default)]
struct ObjectHash<H> {
    write: H,
    reads: H,
}

/// The hashes of an execution's steps.
#[derive(Default)]
struct Hashes<H> {
    threads: Vec<H>,
    objects: Vec<ObjectHash<H>>,
    everything: H,
    sum: H,
}

/// Computes the fingerprint of an execution step by step.
#[derive(Default)]
pub struct Fingerprint {
    class: Hashes<u128>,
    /// Half as wide, because keys are made of every execution, and a collision among them costs little.
    key: Hashes<u64>,
}

/// Mixes a value into a hash (two rounds of a 128-bit multiply and fold). Nothing mixed into nothing is something, so that steps are
/// told apart of which nothing is known but how many come before them.
pub(crate) fn mix(hash: u128, value: u128) -> u128 {
    const K: u128 = 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835;
    let x = (hash ^ value.wrapping_add(1).wrapping_mul(K)).wrapping_mul(0xd6e8_feb8_6659_fd93_a076_1d64_78bd_642f);
    let x = x ^ (x >> 61);
    let x = x.wrapping_mul(K);
    x ^ (x >> 67)
}

impl<H: Hash> Hashes<H> {
    fn clear(&mut self) {
        self.threads.clear();
        self.objects.clear();
        (self.everything, self.sum) = (H::default(), H::default());
    }

    /// Takes in a step; if `coarse`, without what ends threads and the program.
    fn push(&mut self, execution: &Execution, step: usize, coarse: bool) {
        let s = &execution.steps[step];
        if coarse && s.op == Operation::End {
            return;
        }
        let thread = s.thread.index();
        if self.threads.len() <= thread {
            self.threads.resize(thread + 1, H::default());
        }
        // Numbers of threads and objects may differ between explorations: what each has seen says enough. Where the step is in the program
        // matters if it is decided by something that is no step.
        let mut hash = H::number(s.site.0).mix(H::number(u64::from(s.choice))).mix(self.threads[thread]);
        hash = hash.mix(self.everything);
        let footprint = execution.footprint(step);
        for access in footprint {
            if *access == Access::EVERYTHING {
                hash = hash.mix(self.sum);
                continue;
            }
            let index = access.object().index();
            if self.objects.len() <= index {
                self.objects.resize(index + 1, ObjectHash::default());
            }
            let object = self.objects[index];
            hash = hash.mix(H::number(4 + u64::from(access.is_write()))).mix(object.write);
            if access.is_write() {
                hash = hash.mix(object.reads);
            }
        }
        for access in footprint {
            if *access == Access::EVERYTHING {
                self.everything = hash;
                continue;
            }
            let object = &mut self.objects[access.object().index()];
            if access.is_write() {
                *object = ObjectHash { write: hash, reads: H::default() };
            } else {
                object.reads = object.reads.add(hash.mix(H::number(1)));
            }
        }
        self.threads[thread] = hash;
        if let Operation::Spawn { child } = s.op {
            if self.threads.len() <= child.index() {
                self.threads.resize(child.index() + 1, H::default());
            }
            self.threads[child.index()] = hash.mix(H::number(2));
        }
        if !(coarse && s.op == Operation::Exit) {
            self.sum = self.sum.add(hash.mix(H::number(3)));
        }
    }

    fn of(&mut self, execution: &Execution, coarse: bool) -> H {
        self.clear();
        for step in 0..execution.steps.len() {
            self.push(execution, step, coarse);
        }
        self.sum
    }
}

impl Fingerprint {
    pub(crate) fn clear(&mut self) {
        self.class.clear();
    }

    /// Takes in a step.
    pub(crate) fn push(&mut self, execution: &Execution, step: usize) {
        self.class.push(execution, step, false);
    }

    pub(crate) fn class(&self) -> Class {
        Class(self.class.sum)
    }

    /// The key of an execution's class, for those who only look for classes that nobody has explored. The ends of threads count if somebody
    /// waits for them, and the end of the program does not: whoever runs programs leaves them out if nobody else is left then, and that
    /// orders nothing.
    pub fn key_of(&mut self, execution: &Execution) -> u64 {
        self.key.of(execution, true)
    }
}

/// The fingerprint of an execution's class.
pub fn class_of(execution: &Execution) -> Class {
    Class(Fingerprint::default().class.of(execution, false))
}

/// The key of an execution's class: see [`Fingerprint::key_of`].
pub fn key_of(execution: &Execution) -> u64 {
    Fingerprint::default().key_of(execution)
}
