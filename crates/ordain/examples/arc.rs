//! A hand-made reference count.
//!
//! The bug: the decrement is relaxed, so what the other owners did with the value is not ordered before its end. On most machines
//! nothing shows; Ordain knows the orderings and finds the data race.
#![allow(clippy::unwrap_used, reason = "a panic is what an example shows")]

mod demo;

use ordain::cell::UnsafeCell;
use ordain::sync::atomic::{AtomicUsize, Ordering, fence};
use ordain::thread;
use std::process::ExitCode;
use std::sync::Arc;

/// A value and how many own it. The memory itself is std's business, so that nothing is really freed too early.
struct Shared {
    owners: AtomicUsize,
    value: UnsafeCell<Option<String>>,
    /// The ordering of the decrement.
    decrement: Ordering,
}

// SAFETY: owners only read, and the last one ends the value, if `decrement` is right. If it is not, Ordain says so; its threads
// never really run at the same time.
unsafe impl Sync for Shared {}

/// One of the owners.
struct Owner(Arc<Shared>);

impl Owner {
    fn new(value: &str, decrement: Ordering) -> Self {
        let value = UnsafeCell::new(Some(value.to_owned()));
        Self(Arc::new(Shared { owners: AtomicUsize::new(1), value, decrement }))
    }

    fn len(&self) -> usize {
        // SAFETY: see `Sync`.
        self.0.value.with(|value| unsafe { &*value }.as_ref().unwrap().len())
    }
}

impl Clone for Owner {
    fn clone(&self) -> Self {
        // Whoever clones owns one, so the count cannot reach zero meanwhile, and nothing has to be ordered.
        self.0.owners.fetch_add(1, Ordering::Relaxed);
        Self(self.0.clone())
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        if self.0.owners.fetch_sub(1, self.0.decrement) == 1 {
            fence(Ordering::Acquire);
            // SAFETY: see `Sync`.
            self.0.value.with_mut(|value| unsafe { *value = None });
        }
    }
}

fn program(decrement: Ordering) {
    let owner = Owner::new("value", decrement);
    let others = [owner.clone(), owner.clone()].map(|owner| thread::spawn(move || assert_eq!(owner.len(), 5)));
    assert_eq!(owner.len(), 5);
    drop(owner);
    others.into_iter().for_each(|o| o.join().unwrap());
}

/// A relaxed decrement publishes nothing.
pub(crate) fn buggy() {
    program(Ordering::Relaxed);
}

/// A release decrement, and the fence of the last owner acquires it.
pub(crate) fn fixed() {
    program(Ordering::Release);
}

fn main() -> ExitCode {
    demo::main("arc", buggy, fixed)
}
