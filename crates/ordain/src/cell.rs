//! Plain memory that threads share, with detection of data races.
//!
//! [`UnsafeCell`] tells the check of each access. An access is no step: unordered accesses are found as data races in
//! whatever order they happen. The cells that cannot be shared between threads are std's.

pub use std::cell::{Cell, OnceCell, RefCell};

use crate::rt::{self, Object};
use ordain_model::{ObjectId, ObjectKind};
use std::fmt;

/// Memory that may change behind a shared reference, as [`std::cell::UnsafeCell`].
///
/// Use [`with`](Self::with) to read and [`with_mut`](Self::with_mut) to write: in a check, two accesses of which one
/// writes and that nothing orders are a finding. An access lasts until its closure ends.
pub struct UnsafeCell<T: ?Sized> {
    /// The memory in the model.
    object: Object,
    /// The value.
    inner: std::cell::UnsafeCell<T>,
}

impl<T> UnsafeCell<T> {
    /// Creates a cell.
    pub fn new(value: T) -> Self {
        Self { object: Object::new(ObjectKind::Plain, 0), inner: std::cell::UnsafeCell::new(value) }
    }

    /// Creates a cell in a constant expression, for a static. The value is *not* put back between executions.
    pub const fn const_new(value: T) -> Self {
        Self { object: Object::unregistered(), inner: std::cell::UnsafeCell::new(value) }
    }

    /// Gives the value back.
    pub fn into_inner(self) -> T {
        self.inner.into_inner()
    }
}

impl<T: ?Sized> UnsafeCell<T> {
    fn id(&self) -> ObjectId {
        self.object.id(ObjectKind::Plain, || 0)
    }

    /// Lets `f` read the value.
    ///
    /// The pointer is good for reading, within `f`, as long as no other thread writes.
    #[track_caller]
    pub fn with<F, R>(&self, f: F) -> R
    where
        F: FnOnce(*const T) -> R,
    {
        // Not in a closure, which would be the caller then.
        let _access = if self.object.active() { Some(rt::begin_access(self.id(), false)) } else { None };
        f(self.inner.get())
    }

    /// Lets `f` change the value.
    ///
    /// The pointer is good for reading and writing, within `f`, as long as no other thread does either.
    #[track_caller]
    pub fn with_mut<F, R>(&self, f: F) -> R
    where
        F: FnOnce(*mut T) -> R,
    {
        let _access = if self.object.active() { Some(rt::begin_access(self.id(), true)) } else { None };
        f(self.inner.get())
    }

    /// The value's address. What is done through it is *not* seen by a check: data races are missed.
    pub const fn get(&self) -> *mut T {
        self.inner.get()
    }

    /// The value for change: the exclusive borrow proves that nobody else uses it.
    #[track_caller]
    pub fn get_mut(&mut self) -> &mut T {
        if rt::active() {
            rt::exclusive_access(self.id());
        }
        self.inner.get_mut()
    }
}

impl<T: Default> Default for UnsafeCell<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> From<T> for UnsafeCell<T> {
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T: ?Sized> fmt::Debug for UnsafeCell<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UnsafeCell").finish_non_exhaustive()
    }
}
