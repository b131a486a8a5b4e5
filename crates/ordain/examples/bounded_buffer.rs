//! A bounded buffer for several producers and consumers, with a mutex and condition variables.
//!
//! The bug: both sides wait on one condition variable and wake one waiter. A consumer's wake-up can go to another consumer, who
//! finds the buffer empty and waits again; the producer that it was meant for sleeps for ever.
#![allow(clippy::unwrap_used, reason = "a panic is what an example shows")]

mod demo;

use ordain::sync::{Condvar, Mutex};
use ordain::thread;
use std::collections::VecDeque;
use std::process::ExitCode;
use std::sync::Arc;

struct Buffer {
    items: Mutex<VecDeque<u32>>,
    capacity: usize,
    not_full: Arc<Condvar>,
    not_empty: Arc<Condvar>,
}

impl Buffer {
    /// A buffer; if `shared`, both sides wait on the same condition variable.
    fn new(capacity: usize, shared: bool) -> Self {
        let not_full = Arc::new(Condvar::new());
        let not_empty = if shared { not_full.clone() } else { Arc::new(Condvar::new()) };
        Self { items: Mutex::new(VecDeque::new()), capacity, not_full, not_empty }
    }

    fn put(&self, item: u32) {
        let mut items = self.items.lock().unwrap();
        while items.len() == self.capacity {
            items = self.not_full.wait(items).unwrap();
        }
        items.push_back(item);
        self.not_empty.notify_one();
    }

    fn take(&self) -> u32 {
        let mut items = self.items.lock().unwrap();
        while items.is_empty() {
            items = self.not_empty.wait(items).unwrap();
        }
        let item = items.pop_front().unwrap();
        self.not_full.notify_one();
        item
    }
}

/// Two producers and two consumers, one item each, one place.
fn program(shared: bool) {
    let buffer = Arc::new(Buffer::new(1, shared));
    let producers = [1, 2].map(|item| {
        let buffer = buffer.clone();
        thread::spawn(move || buffer.put(item))
    });
    let consumers = [(), ()].map(|()| {
        let buffer = buffer.clone();
        thread::spawn(move || buffer.take())
    });
    producers.into_iter().for_each(|p| p.join().unwrap());
    let sum: u32 = consumers.into_iter().map(|c| c.join().unwrap()).sum();
    assert_eq!(sum, 3, "each item is taken once");
}

/// One condition variable for both sides.
pub(crate) fn buggy() {
    program(true);
}

/// One for each side.
pub(crate) fn fixed() {
    program(false);
}

fn main() -> ExitCode {
    demo::main("bounded_buffer", buggy, fixed)
}
