//! Virtual time: passes by sleeping and by waits that expire, follows what happened before, and costs nothing.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{outcomes, outcomes_with, quiet, verify, verify_apart};
use ordain::sync::atomic::{AtomicBool, Ordering::SeqCst};
use ordain::sync::mpsc::channel;
use ordain::sync::{Mutex, Semaphore};
use ordain::time::{Duration, Instant};
use ordain::{Verdict, thread};
use std::collections::BTreeSet;
use std::sync::Arc;

const HOUR: Duration = Duration::from_secs(3600);

#[test]
fn only_sleeping_takes_time() {
    verify(|| {
        let start = Instant::now();
        assert_eq!(start.elapsed(), Duration::ZERO);
        let mutex = Mutex::new(0);
        *mutex.lock().unwrap() += 1;
        thread::yield_now();
        assert_eq!(start.elapsed(), Duration::ZERO);
        thread::sleep(HOUR);
        assert_eq!(start.elapsed(), HOUR);
        thread::sleep(Duration::from_nanos(1));
        assert_eq!(Instant::now() - start, HOUR + Duration::from_nanos(1));
    });
}

#[test]
fn waits_that_expire_take_their_time() {
    verify(|| {
        let start = Instant::now();
        assert!(!Semaphore::new(0).acquire_timeout(HOUR));
        assert_eq!(start.elapsed(), HOUR);
        thread::park_timeout(HOUR);
        assert_eq!(start.elapsed(), 2 * HOUR);
        let (sender, receiver) = channel::<u32>();
        assert!(receiver.recv_timeout(HOUR).is_err());
        drop(sender);
        assert!(receiver.recv_timeout(HOUR).is_err());
        assert_eq!(start.elapsed(), 3 * HOUR, "a disconnected channel does not wait");
        assert!(Semaphore::new(1).acquire_timeout(HOUR));
        assert_eq!(start.elapsed(), 3 * HOUR, "nor does a wait that is served");
    });
}

#[test]
fn time_follows_what_happened_before() {
    verify_apart(|| {
        let start = Instant::now();
        let other = thread::spawn(move || {
            thread::sleep(HOUR);
            Instant::now()
        });
        let end = other.join().unwrap();
        assert_eq!(end - start, HOUR);
        assert!(Instant::now() >= end, "whoever joins is not earlier");
    });
    verify_apart(|| {
        thread::sleep(HOUR);
        let now = Instant::now();
        let other = thread::spawn(Instant::now);
        assert!(other.join().unwrap() >= now, "nor is who is started");
    });
    verify(|| {
        let (sender, receiver) = channel();
        thread::spawn(move || {
            thread::sleep(HOUR);
            sender.send(Instant::now()).unwrap();
        });
        let sent = receiver.recv().unwrap();
        assert!(Instant::now() >= sent);
    });
}

#[test]
fn sleeps_of_different_threads_do_not_add_up() {
    verify_apart(|| {
        let start = Instant::now();
        let others: Vec<_> = (0..3).map(|_| thread::spawn(|| thread::sleep(HOUR))).collect();
        thread::sleep(HOUR);
        others.into_iter().for_each(|t| t.join().unwrap());
        assert_eq!(start.elapsed(), HOUR);
    });
}

#[test]
fn time_is_the_same_in_every_execution_of_a_class() {
    let program = || {
        let start = Instant::now();
        let mutex = Arc::new(Mutex::new(()));
        let mutex2 = mutex.clone();
        let other = thread::spawn(move || {
            let _guard = mutex2.lock().unwrap();
            thread::sleep(HOUR);
        });
        drop(mutex.lock().unwrap());
        let seen = start.elapsed();
        other.join().unwrap();
        seen
    };
    assert_eq!(outcomes(program), BTreeSet::from([Duration::ZERO, HOUR]));
}

#[test]
fn a_deadline_loop_ends() {
    let program = || {
        let deadline = Instant::now() + HOUR;
        let mut rounds = 0;
        while Instant::now() < deadline {
            thread::sleep(HOUR / 2);
            rounds += 1;
        }
        rounds
    };
    assert_eq!(outcomes(program), BTreeSet::from([2]));
    assert_eq!(outcomes_with(quiet().kind_time(true), program), BTreeSet::from([2]));
}

#[test]
fn instants_are_computed_with() {
    verify(|| {
        let start = Instant::now();
        let mut later = start + HOUR;
        later += HOUR;
        assert_eq!(later - start, 2 * HOUR);
        later -= HOUR;
        assert_eq!(later.duration_since(start), HOUR);
        assert_eq!(start.duration_since(later), Duration::ZERO);
        assert_eq!(start.checked_duration_since(later), None);
        assert!(start.checked_sub(24 * HOUR).is_some(), "there is time before the beginning");
        assert!(start < later && start - HOUR < start);
    });
}

#[test]
fn in_kind_time_a_sleep_outlasts_what_others_can_do() {
    let flag_is_up = |kind: bool| {
        quiet().kind_time(kind).run(|| {
            let flag = Arc::new(AtomicBool::new(false));
            let other = flag.clone();
            let setter = thread::spawn(move || other.store(true, SeqCst));
            thread::sleep(Duration::from_millis(1));
            assert!(flag.load(SeqCst), "the sleep was too short");
            setter.join().unwrap();
        })
    };
    assert_eq!(flag_is_up(true).verdict, Verdict::Verified);
    assert_eq!(flag_is_up(false).verdict, Verdict::Finding);
}

#[test]
fn in_kind_time_the_earliest_deadline_comes_first() {
    let report = quiet().kind_time(true).run(|| {
        let order = Arc::new(Mutex::new(Vec::new()));
        let sleepers: Vec<_> = [30, 10, 20]
            .into_iter()
            .map(|n| {
                let order = order.clone();
                thread::spawn(move || {
                    thread::sleep(Duration::from_millis(n));
                    order.lock().unwrap().push(n);
                    if n == 10 {
                        // Sleeps until 15, and is still the earliest.
                        thread::sleep(Duration::from_millis(5));
                        order.lock().unwrap().push(15);
                    }
                })
            })
            .collect();
        for sleeper in sleepers {
            sleeper.join().unwrap();
        }
        assert_eq!(*order.lock().unwrap(), [10, 15, 20, 30]);
    });
    report.expect_no_finding();
    assert_eq!(report.verdict, Verdict::Verified);
}
