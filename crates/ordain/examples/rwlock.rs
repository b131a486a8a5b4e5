//! A read-write lock made of two atomics.
//!
//! The bug: a reader looks whether a writer is there, then counts itself in, and does not look again. A writer that came in between
//! saw no reader, and both are inside.
#![allow(clippy::unwrap_used, reason = "a panic is what an example shows")]

mod demo;

use ordain::cell::UnsafeCell;
use ordain::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use ordain::thread;
use std::process::ExitCode;
use std::sync::Arc;

struct RwLock {
    readers: AtomicUsize,
    writer: AtomicBool,
    value: UnsafeCell<(u32, u32)>,
    /// Whether readers look again after they counted themselves in.
    looks_again: bool,
}

// SAFETY: the lock lets in either one writer or readers. If it does not, Ordain says so; its threads never really run at the
// same time.
unsafe impl Sync for RwLock {}

impl RwLock {
    fn new(looks_again: bool) -> Self {
        let value = UnsafeCell::new((0, 0));
        Self { readers: AtomicUsize::new(0), writer: AtomicBool::new(false), value, looks_again }
    }

    fn read(&self) -> (u32, u32) {
        loop {
            while self.writer.load(SeqCst) {
                thread::yield_now();
            }
            self.readers.fetch_add(1, SeqCst);
            if !self.looks_again || !self.writer.load(SeqCst) {
                break;
            }
            self.readers.fetch_sub(1, SeqCst);
        }
        // SAFETY: see `Sync`.
        let value = self.value.with(|value| unsafe { *value });
        self.readers.fetch_sub(1, SeqCst);
        value
    }

    fn write(&self, value: (u32, u32)) {
        while self.writer.swap(true, SeqCst) {
            thread::yield_now();
        }
        while self.readers.load(SeqCst) != 0 {
            thread::yield_now();
        }
        // SAFETY: see `Sync`.
        self.value.with_mut(|place| unsafe { *place = value });
        self.writer.store(false, SeqCst);
    }
}

fn program(looks_again: bool) {
    let lock = Arc::new(RwLock::new(looks_again));
    let readers = [(), ()].map(|()| {
        let lock = lock.clone();
        thread::spawn(move || {
            let (left, right) = lock.read();
            assert_eq!(left, right, "half a write");
        })
    });
    lock.write((1, 1));
    readers.into_iter().for_each(|r| r.join().unwrap());
}

/// Readers do not look again.
pub(crate) fn buggy() {
    program(false);
}

/// Readers look again and step back.
pub(crate) fn fixed() {
    program(true);
}

fn main() -> ExitCode {
    demo::main("rwlock", buggy, fixed)
}
