//! Loops of any kind that wait for another thread never reach the step limit.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::quiet;
use ordain::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use ordain::{Report, Verdict, thread};
use std::sync::Arc;

/// Every execution must end long before this many steps.
fn verify(program: impl Fn() + 'static) -> Report {
    let report = quiet().max_steps(5000).run(program);
    report.expect_no_finding();
    assert_eq!(report.verdict, Verdict::Verified, "{report}");
    report
}

#[test]
fn a_loop_of_updates_that_change_nothing_waits() {
    verify(|| {
        let x = Arc::new(AtomicUsize::new(0));
        let y = x.clone();
        let other = thread::spawn(move || y.store(1, SeqCst));
        while x.fetch_or(0, SeqCst) == 0 {
            thread::yield_now();
        }
        other.join().unwrap();
    });
}

#[test]
fn case_rmw() {
    verify(|| {
        let x = ordain::sync::Arc::new(AtomicUsize::new(0));
        let y = x.clone();
        let h = thread::spawn(move || y.store(1, SeqCst));
        let mut v = 0;
        while v == 0 {
            v = x.fetch_or(0, SeqCst);
            thread::yield_now();
        }
        h.join().unwrap();
    });
}
