//! A ring buffer for one producer and one consumer, without locks.
//!
//! The bug: the test for a full ring is off by one, so the producer writes to the place that the consumer may be reading. No lock is
//! missing and every ordering is right; only in some orders do the two meet.
#![allow(clippy::unwrap_used, reason = "a panic is what an example shows")]

mod demo;

use ordain::cell::UnsafeCell;
use ordain::sync::atomic::{AtomicUsize, Ordering};
use ordain::thread;
use std::process::ExitCode;
use std::sync::Arc;

const PLACES: usize = 2;

struct Ring {
    places: [UnsafeCell<u32>; PLACES],
    /// How many items were put in, and taken out.
    put: AtomicUsize,
    taken: AtomicUsize,
    /// How many items may be inside.
    most: usize,
}

// SAFETY: a place belongs to the producer while it is free and to the consumer while it is full, if `most` is right. If it is
// not, Ordain says so; its threads never really run at the same time.
unsafe impl Sync for Ring {}

impl Ring {
    fn new(most: usize) -> Self {
        let places = [UnsafeCell::new(0), UnsafeCell::new(0)];
        Self { places, put: AtomicUsize::new(0), taken: AtomicUsize::new(0), most }
    }

    fn put(&self, item: u32) {
        let put = self.put.load(Ordering::Relaxed);
        while put - self.taken.load(Ordering::Acquire) >= self.most {
            thread::yield_now();
        }
        // SAFETY: see `Sync`.
        self.places[put % PLACES].with_mut(|place| unsafe { *place = item });
        self.put.store(put + 1, Ordering::Release);
    }

    fn take(&self) -> u32 {
        let taken = self.taken.load(Ordering::Relaxed);
        while self.put.load(Ordering::Acquire) == taken {
            thread::yield_now();
        }
        // SAFETY: see `Sync`.
        let item = self.places[taken % PLACES].with(|place| unsafe { *place });
        self.taken.store(taken + 1, Ordering::Release);
        item
    }
}

fn program(most: usize) {
    let ring = Arc::new(Ring::new(most));
    let producer = {
        let ring = ring.clone();
        thread::spawn(move || (1..=3).for_each(|item| ring.put(item)))
    };
    for item in 1..=3 {
        assert_eq!(ring.take(), item, "items come out in order");
    }
    producer.join().unwrap();
}

/// Lets one item too many in.
pub(crate) fn buggy() {
    program(PLACES + 1);
}

/// Lets as many in as there are places.
pub(crate) fn fixed() {
    program(PLACES);
}

fn main() -> ExitCode {
    demo::main("ring_buffer", buggy, fixed)
}
