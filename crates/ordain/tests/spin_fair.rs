//! Loops that wait properly, or poll politely, must end under a search that is fair to them.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::quiet;
use ordain::sync::{Condvar, Mutex};
use ordain::{Strategy, Verdict, thread};
use std::sync::Arc;

/// Waits for a flag, in a loop as it should be.
fn waits_in_a_loop() {
    let p = Arc::new((Mutex::new(false), Condvar::new()));
    let p2 = p.clone();
    let t = thread::spawn(move || {
        *p2.0.lock().unwrap() = true;
        p2.1.notify_one();
    });
    drop(p.1.wait_while(p.0.lock().unwrap(), |r| !*r).unwrap());
    t.join().unwrap();
}
#[test]
fn a_loop_stands_spurious_wake_ups() {
    let r = quiet()
        .spurious_wakeups(true)
        .max_steps(1000)
        .strategy(Strategy::Optimal)
        .max_executions(2000)
        .run(waits_in_a_loop);
    r.expect_no_finding();
    assert_eq!(r.verdict, Verdict::Verified);
}
#[test]
fn park_loop_stands_spurious_wake_ups() {
    let r = quiet().spurious_wakeups(true).max_steps(1000).strategy(Strategy::Optimal).max_executions(2000).run(|| {
        let f = Arc::new(ordain::sync::atomic::AtomicBool::new(false));
        let f2 = f.clone();
        let main = thread::current();
        thread::spawn(move || {
            f2.store(true, std::sync::atomic::Ordering::SeqCst);
            main.unpark();
        });
        while !f.load(std::sync::atomic::Ordering::SeqCst) {
            thread::park();
        }
    });
    r.expect_no_finding();
    assert_eq!(r.verdict, Verdict::Verified);
}
#[test]
fn polling_loop_that_notifies_nobody_is_spinning() {
    let r = quiet().max_steps(1000).run(|| {
        let p = Arc::new((Mutex::new(()), Condvar::new()));
        let p2 = p.clone();
        let t = thread::spawn(move || drop(p2.1.wait(p2.0.lock().unwrap()).unwrap()));
        while !t.is_finished() {
            p.1.notify_all();
            thread::yield_now();
        }
    });
    r.expect_no_finding();
    assert_eq!(r.verdict, Verdict::Verified);
}
#[test]
fn polling_loop_that_unparks() {
    let r = quiet().max_steps(1000).run(|| {
        let t = thread::spawn(thread::park);
        while !t.is_finished() {
            t.thread().unpark();
            thread::yield_now();
        }
    });
    r.expect_no_finding();
    assert_eq!(r.verdict, Verdict::Verified);
}

#[test]
fn a_loop_that_gets_something_done_gives_others_a_chance() {
    let r = quiet().max_steps(1000).run(|| {
        let cells = Arc::new((ordain::sync::atomic::AtomicUsize::new(0), ordain::sync::atomic::AtomicBool::new(false)));
        let other = cells.clone();
        let worker = thread::spawn(move || {
            while !other.1.load(std::sync::atomic::Ordering::SeqCst) {
                other.0.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                thread::yield_now();
            }
        });
        cells.1.store(true, std::sync::atomic::Ordering::SeqCst);
        worker.join().unwrap();
    });
    r.expect_no_finding();
    assert_eq!(r.verdict, Verdict::Verified);
}
