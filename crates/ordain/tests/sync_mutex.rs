//! Mutexes inside checks.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{classes, finding, outcomes, verify, verify_apart};
use ordain::FindingKind::{Deadlock, Panic};
use ordain::sync::{LazyLock, Mutex, TryLockError};
use ordain::thread;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

#[test]
fn excludes_and_each_order_is_one_class() {
    for (threads, orders) in [(2, 2), (3, 6), (4, 24)] {
        let count = classes(move || {
            let mutex = Arc::new(Mutex::new(0));
            let others: Vec<_> = (1..threads)
                .map(|_| {
                    let mutex = mutex.clone();
                    thread::spawn(move || *mutex.lock().unwrap() += 1)
                })
                .collect();
            *mutex.lock().unwrap() += 1;
            others.into_iter().for_each(|t| t.join().unwrap());
            assert_eq!(*mutex.lock().unwrap(), threads);
        });
        assert_eq!(count, orders);
    }
}

#[test]
fn mutexes_of_their_own_are_independent() {
    let report = verify_apart(|| {
        let others: Vec<_> = (0..4).map(|i| thread::spawn(move || *Mutex::new(i).lock().unwrap())).collect();
        others.into_iter().for_each(|t| assert!(t.join().is_ok()));
    });
    assert_eq!(report.executions, 1);
}

#[test]
fn every_order_of_two_appends_is_seen() {
    let seen = outcomes(|| {
        let log = Arc::new(Mutex::new(Vec::new()));
        let log2 = log.clone();
        let other = thread::spawn(move || {
            log2.lock().unwrap().push('b');
            log2.lock().unwrap().push('c');
        });
        log.lock().unwrap().push('a');
        other.join().unwrap();
        log.lock().unwrap().iter().collect::<String>()
    });
    assert_eq!(seen, BTreeSet::from(["abc", "bac", "bca"].map(String::from)));
}

#[test]
fn an_attempt_succeeds_or_fails() {
    let seen = outcomes(|| {
        let mutex = Arc::new(Mutex::new(0));
        let mutex2 = mutex.clone();
        let other = thread::spawn(move || *mutex2.lock().unwrap() += 1);
        let got = match mutex.try_lock() {
            Ok(value) => Some(*value),
            Err(TryLockError::WouldBlock) => None,
            Err(TryLockError::Poisoned(_)) => panic!("nobody panics"),
        };
        other.join().unwrap();
        got
    });
    assert_eq!(seen, BTreeSet::from([None, Some(0), Some(1)]));
}

#[test]
fn a_timed_attempt_may_expire_only_while_it_is_held() {
    let seen = outcomes(|| {
        let mutex = Arc::new(Mutex::new(0));
        let mutex2 = mutex.clone();
        let other = thread::spawn(move || *mutex2.lock().unwrap() += 1);
        let got = mutex.try_lock_for(Duration::from_secs(3600)).map(|value| *value).ok();
        other.join().unwrap();
        assert!(mutex.try_lock_for(Duration::ZERO).is_ok(), "nobody else is left");
        got
    });
    assert_eq!(seen, BTreeSet::from([None, Some(0), Some(1)]));
}

#[test]
fn locking_twice_is_a_deadlock_with_oneself() {
    let found = finding(Deadlock, || {
        let mutex = Mutex::new(());
        let _first = mutex.lock().unwrap();
        let _second = mutex.lock().unwrap();
    });
    assert!(found.message().starts_with("main waits to lock mutex mutex"), "{found}");
    assert!(found.message().contains(", held by itself at "), "{found}");
}

#[test]
fn a_panic_poisons() {
    verify(|| {
        let mutex = Arc::new(Mutex::new(0));
        let mutex2 = mutex.clone();
        let other = thread::spawn(move || {
            let mut value = mutex2.lock().unwrap();
            *value = 1;
            panic!("while it holds the mutex");
        });
        assert!(other.join().is_err());
        assert!(mutex.is_poisoned());
        assert_eq!(*mutex.lock().unwrap_err().into_inner(), 1);
        assert!(matches!(mutex.try_lock(), Err(TryLockError::Poisoned(_))));
        mutex.clear_poison();
        assert_eq!(*mutex.lock().unwrap(), 1);
    });
}

#[test]
fn a_panic_elsewhere_does_not_poison() {
    let seen = outcomes(|| {
        let mutex = Arc::new(Mutex::new(0));
        let mutex2 = mutex.clone();
        let other = thread::spawn(move || {
            drop(mutex2.lock().unwrap());
            panic!("after it held the mutex");
        });
        // Taken and released while the other thread may be unwinding.
        drop(mutex.lock().unwrap());
        assert!(other.join().is_err());
        mutex.is_poisoned()
    });
    assert_eq!(seen, BTreeSet::from([false]));
}

/// Takes a mutex when dropped.
struct LocksAtDrop(Arc<Mutex<u32>>);

impl Drop for LocksAtDrop {
    fn drop(&mut self) {
        *self.0.lock().unwrap() += 1;
    }
}

#[test]
fn a_destructor_that_locks_while_unwinding_does_not_poison() {
    let seen = outcomes(|| {
        let mutex = Arc::new(Mutex::new(0));
        let mutex2 = mutex.clone();
        let other = thread::spawn(move || {
            let _locks = LocksAtDrop(mutex2);
            panic!("with a destructor to run");
        });
        let seen = *mutex.lock().unwrap();
        assert!(other.join().is_err());
        (seen, *mutex.lock().unwrap(), mutex.is_poisoned())
    });
    assert_eq!(seen, BTreeSet::from([(0, 1, false), (1, 1, false)]));
}

#[test]
fn the_panic_that_poisoned_is_told_before_those_that_follow() {
    let found = finding(Panic, || {
        let mutex = Arc::new(Mutex::new(0));
        let mutex2 = mutex.clone();
        let other = thread::spawn(move || {
            let _guard = mutex2.lock().unwrap();
            panic!("the cause");
        });
        drop(mutex.lock().unwrap());
        let _ = other.join();
    });
    assert!(found.message().starts_with("main.1 panicked at "), "{found}");
    assert!(found.message().lines().next().unwrap().ends_with(": the cause"), "{found}");
}

static COUNTER: LazyLock<Mutex<u32>> = LazyLock::const_new(|| Mutex::new(0));

#[test]
fn a_lazy_static_starts_afresh_in_every_execution() {
    let count = classes(|| {
        let other = thread::spawn(|| *COUNTER.lock().unwrap() += 1);
        *COUNTER.lock().unwrap() += 1;
        other.join().unwrap();
        assert_eq!(*COUNTER.lock().unwrap(), 2);
    });
    assert!(count >= 2);
}

#[test]
fn the_value_comes_out() {
    assert_eq!(
        classes(|| {
            let mut mutex = Mutex::new(1);
            *mutex.get_mut().unwrap() += 1;
            assert_eq!(format!("{mutex:?}"), "Mutex { data: 2, poisoned: false, .. }");
            assert_eq!(mutex.into_inner().unwrap(), 2);
        }),
        1
    );
}
