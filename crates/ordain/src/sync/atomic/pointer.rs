//! The atomic pointer. The model sees addresses.

use super::Ordering;
use super::cell::{Cell, Real, common_operations};
use crate::rt;
use std::fmt;
use std::sync::atomic;

impl<T> Real for atomic::AtomicPtr<T> {
    type Value = *mut T;

    fn new(value: *mut T) -> Self {
        Self::new(value)
    }

    fn read(&self) -> *mut T {
        self.load(Ordering::Relaxed)
    }

    fn write(&self, value: *mut T) {
        self.store(value, Ordering::Relaxed);
    }

    fn bits(value: *mut T) -> u64 {
        value.addr() as u64
    }
}

/// An atomic pointer, as [`std::sync::atomic::AtomicPtr`].
pub struct AtomicPtr<T> {
    cell: Cell<atomic::AtomicPtr<T>>,
}

impl<T> AtomicPtr<T> {
    /// Creates an atomic.
    #[must_use]
    pub fn new(value: *mut T) -> Self {
        Self { cell: Cell::new(value) }
    }

    /// Creates an atomic in a constant expression, for a static. It starts afresh in every execution.
    #[must_use]
    pub const fn const_new(value: *mut T) -> Self {
        Self { cell: Cell::outside(atomic::AtomicPtr::new(value)) }
    }

    common_operations!(*mut T);

    /// Moves the pointer forward by `count` values, wrapping around; gives the old one.
    #[track_caller]
    pub fn fetch_ptr_add(&self, count: usize, order: Ordering) -> *mut T {
        self.update(order, |old| old.wrapping_add(count))
    }

    /// Moves the pointer back by `count` values, wrapping around; gives the old one.
    #[track_caller]
    pub fn fetch_ptr_sub(&self, count: usize, order: Ordering) -> *mut T {
        self.update(order, |old| old.wrapping_sub(count))
    }

    /// Moves the pointer forward by `count` bytes, wrapping around; gives the old one.
    #[track_caller]
    pub fn fetch_byte_add(&self, count: usize, order: Ordering) -> *mut T {
        self.update(order, |old| old.wrapping_byte_add(count))
    }

    /// Moves the pointer back by `count` bytes, wrapping around; gives the old one.
    #[track_caller]
    pub fn fetch_byte_sub(&self, count: usize, order: Ordering) -> *mut T {
        self.update(order, |old| old.wrapping_byte_sub(count))
    }

    /// Bitwise or on the address; gives the old pointer.
    #[track_caller]
    pub fn fetch_or(&self, bits: usize, order: Ordering) -> *mut T {
        self.update(order, |old| old.map_addr(|address| address | bits))
    }

    /// Bitwise and on the address; gives the old pointer.
    #[track_caller]
    pub fn fetch_and(&self, bits: usize, order: Ordering) -> *mut T {
        self.update(order, |old| old.map_addr(|address| address & bits))
    }

    /// Bitwise exclusive or on the address; gives the old pointer.
    #[track_caller]
    pub fn fetch_xor(&self, bits: usize, order: Ordering) -> *mut T {
        self.update(order, |old| old.map_addr(|address| address ^ bits))
    }

    #[track_caller]
    fn update(&self, order: Ordering, f: impl Fn(*mut T) -> *mut T) -> *mut T {
        if rt::active() {
            return self.cell.update(order, f);
        }
        let real = self.cell.real();
        let mut old = real.load(Ordering::Relaxed);
        loop {
            match real.compare_exchange_weak(old, f(old), order, Ordering::Relaxed) {
                Ok(old) => return old,
                Err(current) => old = current,
            }
        }
    }
}

impl<T> Default for AtomicPtr<T> {
    fn default() -> Self {
        Self::new(std::ptr::null_mut())
    }
}

impl<T> From<*mut T> for AtomicPtr<T> {
    fn from(value: *mut T) -> Self {
        Self::new(value)
    }
}

impl<T> fmt::Debug for AtomicPtr<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.load(Ordering::Relaxed).fmt(f)
    }
}

impl<T> fmt::Pointer for AtomicPtr<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Pointer::fmt(&self.load(Ordering::Relaxed), f)
    }
}
