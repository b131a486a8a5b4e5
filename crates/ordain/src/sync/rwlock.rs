//! A read-write lock, as [`std::sync::RwLock`].
//!
//! In a check, taking and releasing it are steps of the model; the real lock inside is then free by construction and only
//! guards the value.

use super::poison::{self, Poison};
use crate::rt::{self, Object};
use ordain_model::{MemoryOrder, ObjectId, ObjectKind, Operation, Outcome, Wait};
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::panic::Location;
use std::sync::{LockResult, TryLockError, TryLockResult};
use std::time::Duration;

/// The parameter of the lock in the model.
const SERVES_BY_TICKET: u64 = 1;

/// A read-write lock, as [`std::sync::RwLock`].
///
/// In a check, a writer that waits for readers keeps new readers out, as std's lock does: a thread that takes a read lock again while it
/// has one may wait for ever, and that is found. A reader may always have come before the writer began to wait. Writers get the lock in the
/// order in which they asked for it, and may ask in any order.
pub struct RwLock<T: ?Sized> {
    /// The lock in the model.
    object: Object,
    /// Whether a writer panicked.
    poison: Poison,
    /// The value.
    inner: std::sync::RwLock<T>,
}

impl<T> RwLock<T> {
    /// Creates a read-write lock.
    pub fn new(value: T) -> Self {
        Self {
            object: Object::new(ObjectKind::RwLock, SERVES_BY_TICKET),
            poison: Poison::new(),
            inner: std::sync::RwLock::new(value),
        }
    }

    /// Creates a read-write lock in a constant expression, for a static.
    ///
    /// The value is *not* put back between the executions of a check. Use
    /// [`LazyLock::const_new`](super::LazyLock::const_new) with a closure that makes the lock to start afresh in each.
    pub const fn const_new(value: T) -> Self {
        Self { object: Object::unregistered(), poison: Poison::new(), inner: std::sync::RwLock::new(value) }
    }

    /// Gives the value back.
    pub fn into_inner(self) -> LockResult<T> {
        let value = poison::ignore(self.inner.into_inner());
        self.poison.result(value)
    }
}

impl<T: ?Sized> RwLock<T> {
    fn id(&self) -> ObjectId {
        self.object.id(ObjectKind::RwLock, || SERVES_BY_TICKET)
    }

    /// Takes the lock for reading; waits while a writer holds it.
    #[track_caller]
    pub fn read(&self) -> LockResult<RwLockReadGuard<'_, T>> {
        if self.object.active() {
            rt::step(Operation::ReadLock { lock: self.id(), wait: Wait::Block });
            self.poison.result(self.read_guard(poison::must(self.inner.try_read()), true))
        } else {
            let real = poison::real(|| self.inner.try_read(), || self.inner.read());
            self.poison.result(self.read_guard(real, false))
        }
    }

    /// Takes the lock for writing; waits while anyone holds it.
    #[track_caller]
    pub fn write(&self) -> LockResult<RwLockWriteGuard<'_, T>> {
        if self.object.active() {
            let lock = self.id();
            let Outcome(ticket) = rt::step(Operation::WriteTicket { lock });
            rt::step(Operation::WriteByTicket { lock, ticket: ticket as u32 });
            self.poison.result(self.write_guard(poison::must(self.inner.try_write()), true))
        } else {
            let real = poison::real(|| self.inner.try_write(), || self.inner.write());
            self.poison.result(self.write_guard(real, false))
        }
    }

    /// Takes the lock for reading if no writer holds it.
    #[track_caller]
    pub fn try_read(&self) -> TryLockResult<RwLockReadGuard<'_, T>> {
        if self.object.active() {
            return self.attempt_read(Wait::Try);
        }
        let real = poison::attempt(self.inner.try_read()).ok_or(TryLockError::WouldBlock)?;
        self.poison.try_result(self.read_guard(real, false))
    }

    /// Takes the lock for writing if nobody holds it.
    #[track_caller]
    pub fn try_write(&self) -> TryLockResult<RwLockWriteGuard<'_, T>> {
        if self.object.active() {
            return self.attempt_write(Wait::Try);
        }
        let real = poison::attempt(self.inner.try_write()).ok_or(TryLockError::WouldBlock)?;
        self.poison.try_result(self.write_guard(real, false))
    }

    /// Takes the lock for reading if writers leave it in time. Not in std. Outside a check it polls.
    #[track_caller]
    pub fn try_read_for(&self, timeout: Duration) -> TryLockResult<RwLockReadGuard<'_, T>> {
        if self.object.active() {
            rt::wait_at_most(timeout);
            let result = self.attempt_read(Wait::Timed);
            if let Err(TryLockError::WouldBlock) = result {
                rt::advance(timeout);
            }
            return result;
        }
        let real = poison::timed(timeout, || self.inner.try_read()).ok_or(TryLockError::WouldBlock)?;
        self.poison.try_result(self.read_guard(real, false))
    }

    /// Takes the lock for writing if it becomes free in time. Not in std. Outside a check it polls.
    #[track_caller]
    pub fn try_write_for(&self, timeout: Duration) -> TryLockResult<RwLockWriteGuard<'_, T>> {
        if self.object.active() {
            rt::wait_at_most(timeout);
            let result = self.attempt_write(Wait::Timed);
            if let Err(TryLockError::WouldBlock) = result {
                rt::advance(timeout);
            }
            return result;
        }
        let real = poison::timed(timeout, || self.inner.try_write()).ok_or(TryLockError::WouldBlock)?;
        self.poison.try_result(self.write_guard(real, false))
    }

    #[track_caller]
    fn attempt_read(&self, wait: Wait) -> TryLockResult<RwLockReadGuard<'_, T>> {
        match rt::step(Operation::ReadLock { lock: self.id(), wait }) {
            Outcome::FAILED => Err(TryLockError::WouldBlock),
            _ => self.poison.try_result(self.read_guard(poison::must(self.inner.try_read()), true)),
        }
    }

    #[track_caller]
    fn attempt_write(&self, wait: Wait) -> TryLockResult<RwLockWriteGuard<'_, T>> {
        match rt::step(Operation::WriteLock { lock: self.id(), wait }) {
            Outcome::FAILED => Err(TryLockError::WouldBlock),
            _ => self.poison.try_result(self.write_guard(poison::must(self.inner.try_write()), true)),
        }
    }

    #[track_caller]
    fn read_guard<'a>(&'a self, real: std::sync::RwLockReadGuard<'a, T>, modelled: bool) -> RwLockReadGuard<'a, T> {
        let lock = modelled.then_some(&self.object);
        RwLockReadGuard { real, held: ReadHeld { lock, taken_at: Location::caller() } }
    }

    #[track_caller]
    fn write_guard<'a>(&'a self, real: std::sync::RwLockWriteGuard<'a, T>, modelled: bool) -> RwLockWriteGuard<'a, T> {
        let lock = modelled.then_some(&self.object);
        let (poison, panicking, taken_at) = (&self.poison, rt::panicking(), Location::caller());
        RwLockWriteGuard { held: WriteHeld { lock, poison, panicking, taken_at }, real }
    }

    /// Whether a thread panicked while it held the lock for writing.
    #[track_caller]
    pub fn is_poisoned(&self) -> bool {
        if self.object.active() {
            rt::step(Operation::Load { cell: self.id(), order: MemoryOrder::Relaxed });
        }
        self.poison.get()
    }

    /// Forgets that a thread panicked while it held the lock for writing.
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

impl<T: Default> Default for RwLock<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> From<T> for RwLock<T> {
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut f = f.debug_struct("RwLock");
        match self.try_read() {
            Ok(guard) => f.field("data", &&*guard),
            Err(TryLockError::Poisoned(error)) => f.field("data", &&**error.get_ref()),
            Err(TryLockError::WouldBlock) => f.field("data", &format_args!("<locked>")),
        };
        f.field("poisoned", &self.poison.get()).finish_non_exhaustive()
    }
}

/// Makes the release step of a reader when dropped.
struct ReadHeld<'a> {
    /// The lock in the model, if it knows that the lock is held.
    lock: Option<&'a Object>,
    /// Where it was taken, which is what findings show of its release.
    taken_at: &'static Location<'static>,
}

impl Drop for ReadHeld<'_> {
    fn drop(&mut self) {
        if let Some(lock) = self.lock
            && rt::active()
        {
            rt::step_at(Operation::ReadUnlock { lock: lock.id(ObjectKind::RwLock, || 0) }, self.taken_at);
        }
    }
}

/// Makes the release step of a writer when dropped.
struct WriteHeld<'a> {
    /// The lock in the model, if it knows that the lock is held.
    lock: Option<&'a Object>,
    /// The lock's poison flag.
    poison: &'a Poison,
    /// Whether the holder was panicking when it took the lock.
    panicking: bool,
    /// Where it was taken.
    taken_at: &'static Location<'static>,
}

impl Drop for WriteHeld<'_> {
    fn drop(&mut self) {
        if let Some(lock) = self.lock
            && rt::active()
        {
            rt::step_at(Operation::WriteUnlock { lock: lock.id(ObjectKind::RwLock, || 0) }, self.taken_at);
        }
        self.poison.leave(self.panicking);
    }
}

/// The right to read what a [`RwLock`] guards; releases it when dropped.
#[must_use = "the lock is released at once if its guard is not kept"]
pub struct RwLockReadGuard<'a, T: ?Sized + 'a> {
    /// Dropped first: the step comes before the real release.
    #[allow(dead_code, reason = "kept for its destructor")]
    held: ReadHeld<'a>,
    /// The real guard.
    real: std::sync::RwLockReadGuard<'a, T>,
}

/// The right to change what a [`RwLock`] guards; releases it when dropped.
#[must_use = "the lock is released at once if its guard is not kept"]
pub struct RwLockWriteGuard<'a, T: ?Sized + 'a> {
    /// Dropped first: the step comes before the real release.
    #[allow(dead_code, reason = "kept for its destructor")]
    held: WriteHeld<'a>,
    /// The real guard.
    real: std::sync::RwLockWriteGuard<'a, T>,
}

impl<T: ?Sized> Deref for RwLockReadGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.real
    }
}

impl<T: ?Sized> Deref for RwLockWriteGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.real
    }
}

impl<T: ?Sized> DerefMut for RwLockWriteGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.real
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLockReadGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for RwLockReadGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLockWriteGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for RwLockWriteGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
