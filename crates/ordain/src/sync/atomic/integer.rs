//! The atomic integers.

use super::Ordering;
use super::cell::{Cell, Real, common_operations};
use crate::rt;
use std::fmt;
use std::sync::atomic;

/// Makes an atomic integer type from its name, its integer, and the unsigned integer of the same size.
macro_rules! atomic_integer {
    ($name:ident, $int:ident, $unsigned:ident) => {
        impl Real for atomic::$name {
            type Value = $int;

            fn new(value: $int) -> Self {
                Self::new(value)
            }

            fn read(&self) -> $int {
                self.load(Ordering::Relaxed)
            }

            fn write(&self, value: $int) {
                self.store(value, Ordering::Relaxed);
            }

            fn bits(value: $int) -> u64 {
                value as $unsigned as u64
            }
        }

        #[doc = concat!("An atomic `", stringify!($int), "`, as [`std::sync::atomic::", stringify!($name), "`].")]
        pub struct $name {
            cell: Cell<atomic::$name>,
        }

        impl $name {
            /// Creates an atomic.
            #[must_use]
            pub fn new(value: $int) -> Self {
                Self { cell: Cell::new(value) }
            }

            /// Creates an atomic in a constant expression, for a static. It starts afresh in every execution.
            #[must_use]
            pub const fn const_new(value: $int) -> Self {
                Self { cell: Cell::outside(atomic::$name::new(value)) }
            }

            common_operations!($int);

            atomic_integer!(@update $int, fetch_add, wrapping_add, "Adds, wrapping around; gives the old value.");
            atomic_integer!(@update $int, fetch_sub, wrapping_sub, "Subtracts, wrapping around; gives the old value.");
            atomic_integer!(@update $int, fetch_max, max, "Stores the larger of both; gives the old value.");
            atomic_integer!(@update $int, fetch_min, min, "Stores the smaller of both; gives the old value.");
            atomic_integer!(@operator $int, fetch_and, |a, b| a & b, "Bitwise and; gives the old value.");
            atomic_integer!(@operator $int, fetch_nand, |a, b| !(a & b), "Bitwise not-and; gives the old value.");
            atomic_integer!(@operator $int, fetch_or, |a, b| a | b, "Bitwise or; gives the old value.");
            atomic_integer!(@operator $int, fetch_xor, |a, b| a ^ b, "Bitwise exclusive or; gives the old value.");
        }

        impl Default for $name {
            fn default() -> Self {
                Self::new(0)
            }
        }

        impl From<$int> for $name {
            fn from(value: $int) -> Self {
                Self::new(value)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.load(Ordering::Relaxed).fmt(f)
            }
        }
    };
    (@update $int:ident, $fetch:ident, $method:ident, $doc:literal) => {
        atomic_integer!(@operator $int, $fetch, $int::$method, $doc);
    };
    (@operator $int:ident, $fetch:ident, $function:expr, $doc:literal) => {
        #[doc = $doc]
        #[track_caller]
        pub fn $fetch(&self, value: $int, order: Ordering) -> $int {
            if rt::active() {
                let function: fn($int, $int) -> $int = $function;
                self.cell.update(order, |old| function(old, value))
            } else {
                self.cell.real().$fetch(value, order)
            }
        }
    };
}

atomic_integer!(AtomicI8, i8, u8);
atomic_integer!(AtomicU8, u8, u8);
atomic_integer!(AtomicI16, i16, u16);
atomic_integer!(AtomicU16, u16, u16);
atomic_integer!(AtomicI32, i32, u32);
atomic_integer!(AtomicU32, u32, u32);
atomic_integer!(AtomicI64, i64, u64);
atomic_integer!(AtomicU64, u64, u64);
atomic_integer!(AtomicIsize, isize, usize);
atomic_integer!(AtomicUsize, usize, usize);
