//! Semaphores inside checks.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{classes, finding, outcomes, outcomes_with, quiet, verify};
use ordain::FindingKind::{Deadlock, Panic};
use ordain::sync::Semaphore;
use ordain::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use ordain::thread;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// `threads` threads pass a semaphore of that count; nobody may see more than `most` inside.
fn pass(count: usize, threads: usize, most: usize) {
    let shared = Arc::new((Semaphore::new(count), AtomicUsize::new(0)));
    let pass = move |shared: &(Semaphore, AtomicUsize)| {
        shared.0.acquire();
        assert!(shared.1.fetch_add(1, SeqCst) < most, "too many inside");
        shared.1.fetch_sub(1, SeqCst);
        shared.0.release(1);
    };
    let others: Vec<_> = (1..threads)
        .map(|_| {
            let shared = shared.clone();
            thread::spawn(move || pass(&shared))
        })
        .collect();
    pass(&shared);
    others.into_iter().for_each(|t| t.join().unwrap());
}

#[test]
fn lets_as_many_in_as_it_counts() {
    assert_eq!(classes(|| pass(1, 2, 1)), 2);
    verify(|| pass(2, 2, 2));
    finding(Panic, || pass(2, 2, 1));
    verify(|| pass(2, 3, 2));
}

#[test]
fn nobody_releases_is_a_deadlock() {
    let found = finding(Deadlock, || Semaphore::new(0).acquire());
    assert!(found.message().starts_with("main waits to acquire main/semaphore#0 at "), "{found}");
}

#[test]
fn attempts_succeed_or_fail() {
    let program = || {
        let semaphore = Arc::new(Semaphore::new(0));
        let semaphore2 = semaphore.clone();
        let other = thread::spawn(move || semaphore2.release(1));
        let tried = semaphore.try_acquire();
        let timed = semaphore.acquire_timeout(Duration::from_secs(3600));
        other.join().unwrap();
        (tried, timed)
    };
    let seen = outcomes(program);
    assert_eq!(seen, BTreeSet::from([(false, false), (false, true), (true, false)]));
    let seen = outcomes_with(quiet().kind_time(true), program);
    assert_eq!(seen, BTreeSet::from([(false, true), (true, false)]));
}

#[test]
fn a_release_of_many_wakes_many() {
    verify(|| {
        let semaphore = Arc::new(Semaphore::new(0));
        let others: Vec<_> = (0..3)
            .map(|_| {
                let semaphore = semaphore.clone();
                thread::spawn(move || semaphore.acquire())
            })
            .collect();
        semaphore.release(3);
        others.into_iter().for_each(|t| t.join().unwrap());
        assert!(!semaphore.try_acquire());
    });
}

static PERMITS: Semaphore = Semaphore::const_new(1);

#[test]
fn a_static_starts_afresh_in_every_execution() {
    assert_eq!(
        classes(|| {
            let other = thread::spawn(|| PERMITS.try_acquire());
            assert!(PERMITS.try_acquire() != other.join().unwrap(), "one of both gets it");
        }),
        2
    );
    assert!(PERMITS.try_acquire(), "outside nothing has changed");
}
