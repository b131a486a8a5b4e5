//! Atomic types, shaped like [`std::sync::atomic`].
//!
//! In a check every access is a step. Executions are sequentially consistent whatever the orderings; the orderings decide
//! which accesses to plain memory ([`UnsafeCell`](crate::cell::UnsafeCell)) are data races. An atomic made outside a check
//! starts every execution with the value that it has outside, and keeps that value whatever the executions write.

mod boolean;
mod cell;
mod integer;
mod pointer;

pub use boolean::AtomicBool;
pub use integer::{
    AtomicI8, AtomicI16, AtomicI32, AtomicI64, AtomicIsize, AtomicU8, AtomicU16, AtomicU32, AtomicU64, AtomicUsize,
};
pub use pointer::AtomicPtr;
pub use std::sync::atomic::Ordering;

use crate::rt;
use ordain_model::MemoryOrder;

/// An atomic fence. In a check it is no step; it counts for data races.
///
/// # Panics
/// If `order` is relaxed.
#[track_caller]
pub fn fence(order: Ordering) {
    if rt::active() {
        assert_ne!(order, Ordering::Relaxed, "there is no such thing as a relaxed fence");
        rt::fence(model(order));
    } else {
        std::sync::atomic::fence(order);
    }
}

/// A fence for the compiler only.
///
/// # Panics
/// If `order` is relaxed.
#[track_caller]
pub fn compiler_fence(order: Ordering) {
    std::sync::atomic::compiler_fence(order);
}

/// The ordering of an update.
fn model(order: Ordering) -> MemoryOrder {
    match order {
        Ordering::Relaxed => MemoryOrder::Relaxed,
        Ordering::Acquire => MemoryOrder::Acquire,
        Ordering::Release => MemoryOrder::Release,
        Ordering::AcqRel => MemoryOrder::AcqRel,
        _ => MemoryOrder::SeqCst,
    }
}

/// The ordering of a load.
#[track_caller]
fn load_order(order: Ordering) -> MemoryOrder {
    match order {
        Ordering::Release => panic!("there is no such thing as a release load"),
        Ordering::AcqRel => panic!("there is no such thing as an acquire-release load"),
        order => model(order),
    }
}

/// The ordering of a store.
#[track_caller]
fn store_order(order: Ordering) -> MemoryOrder {
    match order {
        Ordering::Acquire => panic!("there is no such thing as an acquire store"),
        Ordering::AcqRel => panic!("there is no such thing as an acquire-release store"),
        order => model(order),
    }
}

/// The ordering of a compare-and-exchange that fails.
#[track_caller]
fn failure_order(order: Ordering) -> MemoryOrder {
    match order {
        Ordering::Release => panic!("there is no such thing as a release failure ordering"),
        Ordering::AcqRel => panic!("there is no such thing as an acquire-release failure ordering"),
        order => model(order),
    }
}
