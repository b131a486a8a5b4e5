//! A counting semaphore. Not in std.
//!
//! In a check, taking and releasing are steps of the model, and a timed attempt may expire whenever the count is zero.

use super::poison;
use crate::home::{self, Home};
use crate::rt::{self, Object};
use ordain_model::{ObjectId, ObjectKind, Operation, Outcome, Wait};
use std::fmt;
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::Duration;

/// A count that threads take from and wait for while it is zero.
///
/// A semaphore made outside a check starts every execution with the count that it has outside.
pub struct Semaphore {
    /// The semaphore in the model.
    object: Object,
    /// Where the count lives.
    home: Home,
    /// The count.
    count: Mutex<usize>,
    /// For waiting outside a check.
    changed: Condvar,
}

impl Semaphore {
    /// Creates a semaphore.
    #[must_use]
    pub fn new(count: usize) -> Self {
        Self {
            object: Object::new(ObjectKind::Semaphore, count as u64),
            home: Home::new(),
            count: Mutex::new(count),
            changed: Condvar::new(),
        }
    }

    /// Creates a semaphore in a constant expression, for a static.
    #[must_use]
    pub const fn const_new(count: usize) -> Self {
        Self {
            object: Object::unregistered(),
            home: Home::outside(),
            count: Mutex::new(count),
            changed: Condvar::new(),
        }
    }

    fn id(&self) -> ObjectId {
        self.object.id(ObjectKind::Semaphore, || *self.count() as u64)
    }

    /// The count. Held for a few instructions only, never across a step.
    fn count(&self) -> MutexGuard<'_, usize> {
        poison::ignore(self.home.value(&self.count, |own| Mutex::new(*poison::ignore(own.lock()))).lock())
    }

    /// Takes one; waits while the count is zero.
    #[track_caller]
    pub fn acquire(&self) {
        if rt::active() {
            self.attempt(Wait::Block);
        } else if home::ending() {
            if !self.take_real() {
                home::blocked();
            }
        } else {
            let mut count = poison::ignore(self.changed.wait_while(self.count(), |count| *count == 0));
            *count -= 1;
        }
    }

    /// Takes one if the count is not zero.
    #[track_caller]
    pub fn try_acquire(&self) -> bool {
        if rt::active() { self.attempt(Wait::Try) } else { self.take_real() }
    }

    /// Takes one if the count is not zero in time.
    #[track_caller]
    pub fn acquire_timeout(&self, timeout: Duration) -> bool {
        if rt::active() {
            rt::wait_at_most(timeout);
            let taken = self.attempt(Wait::Timed);
            if !taken {
                rt::advance(timeout);
            }
            return taken;
        }
        if home::ending() {
            return self.take_real();
        }
        let waited = self.changed.wait_timeout_while(self.count(), timeout, |count| *count == 0);
        let (mut count, result) = poison::ignore(waited);
        if !result.timed_out() {
            *count -= 1;
        }
        !result.timed_out()
    }

    /// Adds `n` to the count.
    ///
    /// # Panics
    /// If the count would not fit; in a check that is a finding.
    #[track_caller]
    pub fn release(&self, n: usize) {
        if rt::active() {
            let count = u32::try_from(n).expect("ordain: a semaphore is released by less than 2^32");
            rt::step(Operation::Post { semaphore: self.id(), count, fails: false });
        }
        let mut count = self.count();
        *count = count.checked_add(n).expect("ordain: the count of a semaphore overflows");
        drop(count);
        self.changed.notify_all();
    }

    /// Makes the step, and takes from the real count if it was served.
    #[track_caller]
    fn attempt(&self, wait: Wait) -> bool {
        let served = rt::step(Operation::Acquire { semaphore: self.id(), wait }) == Outcome::DONE;
        assert!(!served || self.take_real(), "ordain: the model and the semaphore disagree on the count");
        served
    }

    fn take_real(&self) -> bool {
        let mut count = self.count();
        let left = count.checked_sub(1);
        *count = left.unwrap_or(0);
        left.is_some()
    }
}

impl fmt::Debug for Semaphore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Semaphore").finish_non_exhaustive()
    }
}
