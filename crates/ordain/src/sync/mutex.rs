//! A mutex, as [`std::sync::Mutex`].
//!
//! In a check, taking and releasing it are steps of the model; the real lock inside is then free by construction and only
//! guards the value.

use super::poison::{self, Poison};
use crate::home;
use crate::rt::{self, Object};
use ordain_model::{MemoryOrder, ObjectId, ObjectKind, Operation, Outcome, Wait};
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::panic::Location;
use std::sync::{LockResult, TryLockError, TryLockResult};
use std::time::Duration;

/// A mutual exclusion lock, as [`std::sync::Mutex`].
///
/// In a check, taking it again in the thread that holds it is found as a deadlock, and a timed attempt may expire
/// whenever the mutex is held.
pub struct Mutex<T: ?Sized> {
    /// The mutex in the model.
    object: Object,
    /// Whether a holder panicked.
    poison: Poison,
    /// The value.
    inner: std::sync::Mutex<T>,
}

impl<T> Mutex<T> {
    /// Creates a mutex.
    pub fn new(value: T) -> Self {
        Self { object: Object::new(ObjectKind::Mutex, 0), poison: Poison::new(), inner: std::sync::Mutex::new(value) }
    }

    /// Creates a mutex in a constant expression, for a static.
    ///
    /// The value is *not* put back between the executions of a check. Use
    /// [`LazyLock::const_new`](super::LazyLock::const_new) with a closure that makes the mutex to start afresh in each.
    pub const fn const_new(value: T) -> Self {
        Self { object: Object::unregistered(), poison: Poison::new(), inner: std::sync::Mutex::new(value) }
    }

    /// Gives the value back.
    pub fn into_inner(self) -> LockResult<T> {
        let value = poison::ignore(self.inner.into_inner());
        self.poison.result(value)
    }
}

impl<T: ?Sized> Mutex<T> {
    fn id(&self) -> ObjectId {
        self.object.id(ObjectKind::Mutex, || 0)
    }

    /// Takes the mutex; waits while it is held.
    #[track_caller]
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        if self.object.active() {
            rt::step(Operation::Lock { lock: self.id(), wait: Wait::Block });
            self.poison.result(self.guard(poison::must(self.inner.try_lock()), true))
        } else {
            let real = poison::real(|| self.inner.try_lock(), || self.inner.lock());
            self.poison.result(self.guard(real, false))
        }
    }

    /// Takes the mutex if it is free.
    #[track_caller]
    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        if self.object.active() {
            return self.attempt(Wait::Try);
        }
        let real = poison::attempt(self.inner.try_lock()).ok_or(TryLockError::WouldBlock)?;
        self.poison.try_result(self.guard(real, false))
    }

    /// Takes the mutex if it becomes free in time. Not in std. Outside a check it polls.
    #[track_caller]
    pub fn try_lock_for(&self, timeout: Duration) -> TryLockResult<MutexGuard<'_, T>> {
        if self.object.active() {
            rt::wait_at_most(timeout);
            let result = self.attempt(Wait::Timed);
            if let Err(TryLockError::WouldBlock) = result {
                rt::advance(timeout);
            }
            return result;
        }
        let real = poison::timed(timeout, || self.inner.try_lock()).ok_or(TryLockError::WouldBlock)?;
        self.poison.try_result(self.guard(real, false))
    }

    #[track_caller]
    fn attempt(&self, wait: Wait) -> TryLockResult<MutexGuard<'_, T>> {
        match rt::step(Operation::Lock { lock: self.id(), wait }) {
            Outcome::FAILED => Err(TryLockError::WouldBlock),
            _ => self.poison.try_result(self.guard(poison::must(self.inner.try_lock()), true)),
        }
    }

    #[track_caller]
    fn guard<'a>(&'a self, real: std::sync::MutexGuard<'a, T>, modelled: bool) -> MutexGuard<'a, T> {
        let taken_at = Location::caller();
        MutexGuard { lock: self, real: Some(real), modelled, panicking: rt::panicking(), taken_at }
    }

    /// Whether a thread panicked while it held the mutex.
    #[track_caller]
    pub fn is_poisoned(&self) -> bool {
        if self.object.active() {
            rt::step(Operation::Load { cell: self.id(), order: MemoryOrder::Relaxed });
        }
        self.poison.get()
    }

    /// Forgets that a thread panicked while it held the mutex.
    #[track_caller]
    pub fn clear_poison(&self) {
        if self.object.active() {
            rt::step(Operation::Update { cell: self.id(), order: MemoryOrder::AcqRel });
        }
        self.poison.clear();
    }

    /// The value, without locking: the exclusive borrow proves that nobody else uses it.
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        let value = poison::ignore(self.inner.get_mut());
        self.poison.result(value)
    }
}

impl<T: Default> Default for Mutex<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> From<T> for Mutex<T> {
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut f = f.debug_struct("Mutex");
        match self.try_lock() {
            Ok(guard) => f.field("data", &&*guard),
            Err(TryLockError::Poisoned(error)) => f.field("data", &&**error.get_ref()),
            Err(TryLockError::WouldBlock) => f.field("data", &format_args!("<locked>")),
        };
        f.field("poisoned", &self.poison.get()).finish_non_exhaustive()
    }
}

/// The right to use what a [`Mutex`] guards; releases it when dropped.
#[must_use = "the mutex is released at once if its guard is not kept"]
pub struct MutexGuard<'a, T: ?Sized + 'a> {
    /// The mutex held.
    lock: &'a Mutex<T>,
    /// The real guard; absent only while the thread waits on a condition variable.
    real: Option<std::sync::MutexGuard<'a, T>>,
    /// Whether the model knows that the mutex is held.
    modelled: bool,
    /// Whether the holder was panicking when it took the mutex.
    panicking: bool,
    /// Where it was taken, which is what findings show of its release.
    taken_at: &'static Location<'static>,
}

// SAFETY: a shared guard gives only shared access to the value.
unsafe impl<T: ?Sized + Sync> Sync for MutexGuard<'_, T> {}

impl<'a, T: ?Sized> MutexGuard<'a, T> {
    /// Releases the mutex in a step that joins `queue`, waits there, and takes the mutex back: the three steps of waiting
    /// on a condition variable. Says whether the thread was notified. Only when `rt::active()`.
    #[track_caller]
    pub(super) fn wait_in(&mut self, queue: ObjectId, wait: Wait) -> bool {
        assert!(self.modelled, "ordain: this mutex was locked outside the check; lock it inside the closure");
        let lock = self.lock.id();
        rt::step(Operation::QueueWait { queue, lock });
        self.modelled = false;
        self.real = None;
        let woken = rt::step(Operation::Woken { queue, wait });
        rt::step(Operation::Lock { lock, wait: Wait::Block });
        self.real = Some(poison::must(self.lock.inner.try_lock()));
        self.modelled = true;
        woken == Outcome::DONE
    }

    /// Lends the real guard to a std call that gives it back, for waiting outside a check.
    pub(super) fn lend<R>(
        &mut self,
        call: impl FnOnce(std::sync::MutexGuard<'a, T>) -> (std::sync::MutexGuard<'a, T>, R),
    ) -> R {
        if home::ending() {
            home::blocked();
        }
        let real = self.real.take().expect("ordain: a guard has its real guard");
        let (real, result) = call(real);
        self.real = Some(real);
        result
    }

    /// The guard as a lock gives it: as an error if the mutex is poisoned.
    pub(super) fn checked(self) -> LockResult<Self> {
        self.lock.poison.result(self)
    }
}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.real.as_deref().expect("ordain: a guard has its real guard")
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.real.as_deref_mut().expect("ordain: a guard has its real guard")
    }
}

impl<T: ?Sized> Drop for MutexGuard<'_, T> {
    fn drop(&mut self) {
        if self.real.is_none() {
            return;
        }
        if self.modelled && rt::active() {
            rt::step_at(Operation::Unlock { lock: self.lock.id() }, self.taken_at);
        }
        self.lock.poison.leave(self.panicking);
        self.real = None;
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
