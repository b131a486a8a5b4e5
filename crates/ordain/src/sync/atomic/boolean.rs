//! The atomic truth value.

use super::Ordering;
use super::cell::{Cell, Real, common_operations};
use crate::rt;
use std::fmt;
use std::sync::atomic;

impl Real for atomic::AtomicBool {
    type Value = bool;

    fn new(value: bool) -> Self {
        Self::new(value)
    }

    fn read(&self) -> bool {
        self.load(Ordering::Relaxed)
    }

    fn write(&self, value: bool) {
        self.store(value, Ordering::Relaxed);
    }

    fn bits(value: bool) -> u64 {
        u64::from(value)
    }
}

/// An atomic `bool`, as [`std::sync::atomic::AtomicBool`].
pub struct AtomicBool {
    cell: Cell<atomic::AtomicBool>,
}

impl AtomicBool {
    /// Creates an atomic.
    #[must_use]
    pub fn new(value: bool) -> Self {
        Self { cell: Cell::new(value) }
    }

    /// Creates an atomic in a constant expression, for a static. It starts afresh in every execution.
    #[must_use]
    pub const fn const_new(value: bool) -> Self {
        Self { cell: Cell::outside(atomic::AtomicBool::new(value)) }
    }

    common_operations!(bool);

    /// Logical and; gives the old value.
    #[track_caller]
    pub fn fetch_and(&self, value: bool, order: Ordering) -> bool {
        if rt::active() { self.cell.update(order, |old| old & value) } else { self.cell.real().fetch_and(value, order) }
    }

    /// Logical not-and; gives the old value.
    #[track_caller]
    pub fn fetch_nand(&self, value: bool, order: Ordering) -> bool {
        if rt::active() {
            self.cell.update(order, |old| !(old & value))
        } else {
            self.cell.real().fetch_nand(value, order)
        }
    }

    /// Logical or; gives the old value.
    #[track_caller]
    pub fn fetch_or(&self, value: bool, order: Ordering) -> bool {
        if rt::active() { self.cell.update(order, |old| old | value) } else { self.cell.real().fetch_or(value, order) }
    }

    /// Logical exclusive or; gives the old value.
    #[track_caller]
    pub fn fetch_xor(&self, value: bool, order: Ordering) -> bool {
        if rt::active() { self.cell.update(order, |old| old ^ value) } else { self.cell.real().fetch_xor(value, order) }
    }

    /// Logical not; gives the old value.
    #[track_caller]
    pub fn fetch_not(&self, order: Ordering) -> bool {
        self.fetch_xor(true, order)
    }
}

impl Default for AtomicBool {
    fn default() -> Self {
        Self::new(false)
    }
}

impl From<bool> for AtomicBool {
    fn from(value: bool) -> Self {
        Self::new(value)
    }
}

impl fmt::Debug for AtomicBool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.load(Ordering::Relaxed).fmt(f)
    }
}
