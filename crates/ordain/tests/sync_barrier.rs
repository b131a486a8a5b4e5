//! Barriers inside checks.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{finding, finding_of, outcomes, outcomes_with, quiet, verify};
use ordain::FindingKind::{Deadlock, Panic};
use ordain::sync::Barrier;
use ordain::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use ordain::thread;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Each of `n` threads counts, waits, and looks at the count.
fn rendezvous(n: usize, expected: usize) {
    let shared = Arc::new((Barrier::new(n), AtomicUsize::new(0)));
    let pass = move |shared: &(Barrier, AtomicUsize)| {
        shared.1.fetch_add(1, SeqCst);
        shared.0.wait();
        assert_eq!(shared.1.load(SeqCst), expected);
    };
    let others: Vec<_> = (1..n)
        .map(|_| {
            let shared = shared.clone();
            thread::spawn(move || pass(&shared))
        })
        .collect();
    pass(&shared);
    others.into_iter().for_each(|t| t.join().unwrap());
}

#[test]
fn nobody_passes_before_all_have_arrived() {
    verify(|| rendezvous(1, 1));
    verify(|| rendezvous(2, 2));
    verify(|| rendezvous(3, 3));
    finding(Panic, || rendezvous(2, 1));
}

#[test]
fn spurious_wake_ups_do_not_open_it() {
    let report = quiet().spurious_wakeups(true).run(|| rendezvous(2, 2));
    report.expect_no_finding();
}

#[test]
fn each_round_has_one_leader_who_may_be_anyone() {
    let program = || {
        let barrier = Arc::new(Barrier::new(2));
        let barrier2 = barrier.clone();
        let other = thread::spawn(move || [barrier2.wait().is_leader(), barrier2.wait().is_leader()]);
        let mine = [barrier.wait().is_leader(), barrier.wait().is_leader()];
        let theirs = other.join().unwrap();
        assert!(mine[0] != theirs[0] && mine[1] != theirs[1]);
        mine
    };
    let all = BTreeSet::from([[false, false], [false, true], [true, false], [true, true]]);
    assert_eq!(outcomes(program), all);
    assert_eq!(outcomes_with(quiet().spurious_wakeups(true), program), all);
}

#[test]
fn one_too_few_is_a_deadlock() {
    let found = finding_of(quiet(), Deadlock, || {
        let barrier = Arc::new(Barrier::new(3));
        let barrier2 = barrier.clone();
        thread::spawn(move || assert!(!barrier2.wait().is_leader()));
        barrier.wait();
    });
    assert!(found.message().contains("main waits to be woken from main/barrier#"), "{found}");
    assert!(found.message().contains("main.1 waits to be woken from main/barrier#"), "{found}");
}

#[test]
fn zero_means_one() {
    verify(|| assert!(Barrier::new(0).wait().is_leader()));
}
