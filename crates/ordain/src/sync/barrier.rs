//! A barrier, as [`std::sync::Barrier`].
//!
//! In a check, arriving and going on are steps; which thread becomes the leader is explored through the order of
//! arrivals.

use crate::home;
use crate::rt::{self, Object};
use ordain_model::{ObjectId, ObjectKind, Operation, Outcome, Wait};
use std::fmt;

/// Lets threads go on only when a number of them have arrived, as [`std::sync::Barrier`].
pub struct Barrier {
    /// The barrier in the model.
    object: Object,
    /// How many threads it waits for, at least one.
    threads: u64,
    /// For use outside a check.
    inner: std::sync::Barrier,
}

/// Says whether the caller was the thread that completed the barrier.
pub struct BarrierWaitResult(bool);

impl Barrier {
    /// Creates a barrier for `n` threads. As in std, zero means one.
    #[must_use]
    pub fn new(n: usize) -> Self {
        let threads = n.max(1) as u64;
        Self { object: Object::new(ObjectKind::Barrier, threads), threads, inner: std::sync::Barrier::new(n) }
    }

    fn id(&self) -> ObjectId {
        self.object.id(ObjectKind::Barrier, || self.threads)
    }

    /// Waits until all threads have arrived.
    #[track_caller]
    pub fn wait(&self) -> BarrierWaitResult {
        if self.object.active() {
            let barrier = self.id();
            let leader = rt::step(Operation::Arrive { barrier }) == Outcome::SERIAL;
            if !leader {
                rt::step(Operation::Woken { queue: barrier, wait: Wait::Block });
            }
            return BarrierWaitResult(leader);
        }
        if home::ending() {
            home::blocked();
        }
        BarrierWaitResult(self.inner.wait().is_leader())
    }
}

impl fmt::Debug for Barrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Barrier").finish_non_exhaustive()
    }
}

impl BarrierWaitResult {
    /// Whether the caller is the leader: exactly one thread of each round is.
    #[must_use]
    pub fn is_leader(&self) -> bool {
        self.0
    }
}

impl fmt::Debug for BarrierWaitResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BarrierWaitResult").field("is_leader", &self.0).finish()
    }
}
