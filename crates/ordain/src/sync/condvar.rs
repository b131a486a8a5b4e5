//! A condition variable, as [`std::sync::Condvar`].
//!
//! In a check a wait is three steps: release the mutex and join the queue, be woken, take the mutex back. Which waiter a
//! notification wakes is explored, and a timed wait may expire at any moment.

use super::MutexGuard;
use super::poison;
use crate::rt::{self, Object};
use crate::time::Instant;
use ordain_model::{ObjectId, ObjectKind, Operation, Wait};
use std::fmt;
use std::sync::{LockResult, PoisonError};
use std::time::Duration;

/// Says whether a timed wait ended because its time was over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitTimeoutResult(bool);

impl WaitTimeoutResult {
    /// Whether the time was over.
    #[must_use]
    pub fn timed_out(&self) -> bool {
        self.0
    }
}

/// A condition variable, as [`std::sync::Condvar`].
///
/// In a check, waits end without a notification only if the check asks for spurious wake-ups.
pub struct Condvar {
    /// The queue in the model.
    object: Object,
    /// For use outside a check.
    inner: std::sync::Condvar,
}

impl Condvar {
    /// Creates a condition variable.
    #[must_use]
    pub fn new() -> Self {
        Self { object: Object::new(ObjectKind::Condvar, 0), inner: std::sync::Condvar::new() }
    }

    /// Creates a condition variable in a constant expression, for a static.
    #[must_use]
    pub const fn const_new() -> Self {
        Self { object: Object::unregistered(), inner: std::sync::Condvar::new() }
    }

    fn id(&self) -> ObjectId {
        self.object.id(ObjectKind::Condvar, || 0)
    }

    /// Releases the mutex, waits to be notified, and takes the mutex back.
    #[track_caller]
    pub fn wait<'a, T>(&self, mut guard: MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> {
        if self.object.active() {
            guard.wait_in(self.id(), Wait::Block);
        } else {
            guard.lend(|real| (poison::ignore(self.inner.wait(real)), ()));
        }
        guard.checked()
    }

    /// Waits as long as `condition` holds.
    #[track_caller]
    pub fn wait_while<'a, T, F>(&self, mut guard: MutexGuard<'a, T>, mut condition: F) -> LockResult<MutexGuard<'a, T>>
    where
        F: FnMut(&mut T) -> bool,
    {
        while condition(&mut *guard) {
            guard = self.wait(guard)?;
        }
        Ok(guard)
    }

    /// Waits to be notified, no longer than `timeout`.
    #[track_caller]
    pub fn wait_timeout<'a, T>(
        &self,
        mut guard: MutexGuard<'a, T>,
        timeout: Duration,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
        let timed_out = if self.object.active() {
            rt::wait_at_most(timeout);
            let early = rt::wakes_early();
            let wait = if early { Wait::Block } else { Wait::Timed };
            let timed_out = !guard.wait_in(self.id(), wait) && !early;
            if timed_out {
                rt::advance(timeout);
            }
            timed_out
        } else {
            guard.lend(|real| {
                let (real, result) = poison::ignore(self.inner.wait_timeout(real, timeout));
                (real, result.timed_out())
            })
        };
        match guard.checked() {
            Ok(guard) => Ok((guard, WaitTimeoutResult(timed_out))),
            Err(error) => Err(PoisonError::new((error.into_inner(), WaitTimeoutResult(timed_out)))),
        }
    }

    /// Waits as long as `condition` holds, no longer than `timeout`. The result says whether it still held then.
    #[track_caller]
    pub fn wait_timeout_while<'a, T, F>(
        &self,
        mut guard: MutexGuard<'a, T>,
        timeout: Duration,
        mut condition: F,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)>
    where
        F: FnMut(&mut T) -> bool,
    {
        let start = Instant::now();
        let mut left = Some(timeout);
        loop {
            if !condition(&mut *guard) {
                return Ok((guard, WaitTimeoutResult(false)));
            }
            let Some(time) = left else {
                return Ok((guard, WaitTimeoutResult(true)));
            };
            let result;
            (guard, result) = self.wait_timeout(guard, time)?;
            left = if result.timed_out() { None } else { timeout.checked_sub(start.elapsed()) };
        }
    }

    /// Wakes one waiting thread; in a check, each of them in turn.
    #[track_caller]
    pub fn notify_one(&self) {
        self.notify(1);
        self.inner.notify_one();
    }

    /// Wakes all waiting threads.
    #[track_caller]
    pub fn notify_all(&self) {
        self.notify(u32::MAX);
        self.inner.notify_all();
    }

    #[track_caller]
    fn notify(&self, count: u32) {
        if self.object.active() {
            rt::step(Operation::Notify { queue: self.id(), count });
        }
    }
}

impl Default for Condvar {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Condvar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Condvar").finish_non_exhaustive()
    }
}
