//! Condition variables inside checks.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{finding, finding_of, outcomes, outcomes_of, outcomes_with, quiet, verify};
use ordain::FindingKind::{Deadlock, Panic};
use ordain::sync::{Condvar, Mutex};
use ordain::thread;
use ordain::time::Instant;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

type Shared<T> = Arc<(Mutex<T>, Condvar)>;

fn shared<T>(value: T) -> Shared<T> {
    Arc::new((Mutex::new(value), Condvar::new()))
}

/// Main waits for a flag that another thread raises; `lock` says whether it holds the mutex while it does so.
fn hand_over(waits_in_loop: bool, lock: bool) {
    let pair = shared(false);
    let pair2 = pair.clone();
    let other = thread::spawn(move || {
        if lock {
            *pair2.0.lock().unwrap() = true;
        }
        pair2.1.notify_one();
    });
    let guard = pair.0.lock().unwrap();
    if waits_in_loop {
        drop(pair.1.wait_while(guard, |ready| !*ready).unwrap());
    } else {
        drop(pair.1.wait(guard).unwrap());
    }
    other.join().unwrap();
}

#[test]
fn waiting_for_a_condition_is_right() {
    verify(|| hand_over(true, true));
}

#[test]
fn a_notification_before_the_wait_is_lost() {
    let found = finding(Deadlock, || hand_over(false, true));
    assert!(found.message().contains("main waits to be woken from main/condvar#"), "{found}");
}

#[test]
fn a_wait_without_a_change_waits_for_ever() {
    finding(Deadlock, || hand_over(true, false));
}

#[test]
fn notify_one_wakes_any_waiter() {
    let seen = outcomes_of(quiet(), || {
        let pair = shared((0, Vec::new()));
        let changed = Arc::new(Condvar::new());
        let waiters: Vec<_> = (0..2)
            .map(|i| {
                let (pair, changed) = (pair.clone(), changed.clone());
                thread::spawn(move || {
                    let mut state = pair.0.lock().unwrap();
                    state.0 += 1;
                    changed.notify_one();
                    state = pair.1.wait(state).unwrap();
                    state.1.push(i);
                    changed.notify_one();
                })
            })
            .collect();
        drop(changed.wait_while(pair.0.lock().unwrap(), |state| state.0 < 2).unwrap());
        pair.1.notify_one();
        let first = changed.wait_while(pair.0.lock().unwrap(), |state| state.1.is_empty()).unwrap().1[0];
        pair.1.notify_one();
        waiters.into_iter().for_each(|w| w.join().unwrap());
        first
    });
    assert_eq!(seen, BTreeSet::from([0, 1]));
}

#[test]
fn notify_all_wakes_all() {
    verify(|| {
        let pair = shared(false);
        let waiters: Vec<_> = (0..2)
            .map(|_| {
                let pair = pair.clone();
                thread::spawn(move || drop(pair.1.wait_while(pair.0.lock().unwrap(), |go| !*go).unwrap()))
            })
            .collect();
        *pair.0.lock().unwrap() = true;
        pair.1.notify_all();
        waiters.into_iter().for_each(|w| w.join().unwrap());
    });
}

#[test]
fn notify_one_for_two_waiters_leaves_one() {
    let found = finding(Deadlock, || {
        let pair = shared(false);
        let waiters: Vec<_> = (0..2)
            .map(|_| {
                let pair = pair.clone();
                thread::spawn(move || drop(pair.1.wait_while(pair.0.lock().unwrap(), |go| !*go).unwrap()))
            })
            .collect();
        *pair.0.lock().unwrap() = true;
        pair.1.notify_one();
        waiters.into_iter().for_each(|w| w.join().unwrap());
    });
    assert!(found.message().contains("waits to be woken from condvar pair.1 at "), "{found}");
}

#[test]
fn a_timed_wait_may_expire_or_be_notified() {
    let seen = outcomes(|| {
        let pair = shared(false);
        let pair2 = pair.clone();
        let other = thread::spawn(move || {
            *pair2.0.lock().unwrap() = true;
            pair2.1.notify_one();
        });
        let (guard, result) = pair.1.wait_timeout(pair.0.lock().unwrap(), Duration::from_secs(60)).unwrap();
        let seen = (*guard, result.timed_out());
        drop(guard);
        other.join().unwrap();
        seen
    });
    // It can expire before the change, after it, or be notified; notified without the change it cannot be.
    assert_eq!(seen, BTreeSet::from([(false, true), (true, true), (true, false)]));
}

#[test]
fn a_timed_wait_for_a_condition_reports_whether_it_held() {
    let seen = outcomes(|| {
        let pair = shared(false);
        let pair2 = pair.clone();
        let other = thread::spawn(move || {
            *pair2.0.lock().unwrap() = true;
            pair2.1.notify_one();
        });
        let start = Instant::now();
        let timeout = Duration::from_secs(60);
        let waited = pair.1.wait_timeout_while(pair.0.lock().unwrap(), timeout, |ready| !*ready).unwrap();
        let seen = (*waited.0, waited.1.timed_out(), start.elapsed() >= timeout);
        drop(waited);
        other.join().unwrap();
        seen
    });
    assert_eq!(seen, BTreeSet::from([(false, true, true), (true, false, false), (true, false, true)]));
}

#[test]
fn kind_time_lets_waits_expire_only_when_nothing_else_happens() {
    let program = || {
        let pair = shared(false);
        let pair2 = pair.clone();
        let other = thread::spawn(move || {
            *pair2.0.lock().unwrap() = true;
            pair2.1.notify_one();
        });
        let waited =
            pair.1.wait_timeout_while(pair.0.lock().unwrap(), Duration::from_secs(60), |ready| !*ready).unwrap();
        let expired = waited.1.timed_out();
        drop(waited);
        other.join().unwrap();
        expired
    };
    assert_eq!(outcomes_with(quiet().kind_time(true), program), BTreeSet::from([false]));
    assert_eq!(outcomes(program), BTreeSet::from([false, true]));
}

#[test]
fn if_instead_of_while_needs_a_spurious_wake_up() {
    let program = || {
        let pair = shared(false);
        let pair2 = pair.clone();
        let other = thread::spawn(move || {
            *pair2.0.lock().unwrap() = true;
            pair2.1.notify_one();
        });
        let mut guard = pair.0.lock().unwrap();
        if !*guard {
            guard = pair.1.wait(guard).unwrap();
        }
        assert!(*guard, "woken for nothing");
        drop(guard);
        other.join().unwrap();
    };
    verify(program);
    let found = finding_of(quiet().spurious_wakeups(true), Panic, program);
    assert!(found.message().contains("woken for nothing"), "{found}");
    assert!(found.to_string().contains("-> spurious wake-up"), "{found}");
}

#[test]
fn a_stolen_wake_up_needs_a_third_thread() {
    // A consumer that checks with `if` is woken, and another takes the item before it has the mutex again.
    let program = |consumers: usize| {
        move || {
            let pair = shared(0u32);
            let consumers: Vec<_> = (0..consumers)
                .map(|_| {
                    let pair = pair.clone();
                    thread::spawn(move || {
                        let mut items = pair.0.lock().unwrap();
                        if *items == 0 {
                            items = pair.1.wait(items).unwrap();
                        }
                        *items = items.checked_sub(1).expect("there is an item");
                    })
                })
                .collect();
            for _ in 0..consumers.len() {
                *pair.0.lock().unwrap() += 1;
                pair.1.notify_one();
            }
            consumers.into_iter().for_each(|c| c.join().unwrap());
        }
    };
    verify(program(1));
    let found = finding(Panic, program(2));
    assert!(found.message().contains("there is an item"), "{found}");
}

/// Waits for a time and tells how that ended: whether it was ready, and whether the time was over.
fn waits_for_a_time() -> (bool, bool) {
    let pair = shared(false);
    let pair2 = pair.clone();
    let other = thread::spawn(move || {
        *pair2.0.lock().unwrap() = true;
        pair2.1.notify_one();
    });
    let mut guard = pair.0.lock().unwrap();
    let mut expired = false;
    if !*guard {
        let waited = pair.1.wait_timeout(guard, Duration::from_millis(5)).unwrap();
        (guard, expired) = (waited.0, waited.1.timed_out());
    }
    let seen = (*guard, expired);
    drop(guard);
    other.join().unwrap();
    seen
}

#[test]
fn a_timed_wait_may_also_end_without_a_reason() {
    let notified = (true, false);
    let expired = [(false, true), (true, true)];
    assert_eq!(outcomes(waits_for_a_time), BTreeSet::from([notified, expired[0], expired[1]]));
    let spurious = quiet().spurious_wakeups(true);
    let all = BTreeSet::from([notified, expired[0], expired[1], (false, false)]);
    assert_eq!(outcomes_with(spurious.clone(), waits_for_a_time), all);
    // Its time is not over while others can go on.
    let kind = spurious.kind_time(true);
    assert_eq!(outcomes_with(kind, waits_for_a_time), BTreeSet::from([notified, (false, false)]));
}

#[test]
fn a_timed_wait_expires_in_kind_time_though_it_may_end_without_a_reason() {
    let alone = || {
        let pair = shared(());
        let guard = pair.0.lock().unwrap();
        let waited = pair.1.wait_timeout(guard, Duration::from_millis(5)).unwrap();
        waited.1.timed_out()
    };
    let check = quiet().spurious_wakeups(true).kind_time(true);
    assert_eq!(outcomes_with(check, alone), BTreeSet::from([false, true]));
}

#[test]
fn a_loop_of_timed_waits_stands_spurious_wake_ups() {
    for kind in [false, true] {
        let report = quiet().spurious_wakeups(true).kind_time(kind).max_steps(10_000).run(|| {
            let pair = shared(false);
            let pair2 = pair.clone();
            let other = thread::spawn(move || *pair2.0.lock().unwrap() = true);
            let mut guard = pair.0.lock().unwrap();
            while !*guard {
                guard = pair.1.wait_timeout(guard, Duration::from_millis(5)).unwrap().0;
            }
            drop(guard);
            other.join().unwrap();
        });
        report.expect_no_finding();
        assert_eq!(report.verdict, ordain::Verdict::Verified, "{report}");
    }
}
