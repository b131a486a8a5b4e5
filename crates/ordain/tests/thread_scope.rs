//! Scoped threads inside checks.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{classes, finding, outcomes, panic_text, verify_apart};
use ordain::FindingKind::{Deadlock, Panic};
use ordain::sync::Mutex;
use ordain::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use ordain::thread;
use std::collections::BTreeSet;

#[test]
fn threads_borrow_and_all_are_waited_for() {
    let count = classes(|| {
        let total = Mutex::new(0);
        let mut own = 0;
        thread::scope(|s| {
            s.spawn(|| *total.lock().unwrap() += 1);
            s.spawn(|| *total.lock().unwrap() += 2);
            own += 1;
        });
        assert_eq!((total.into_inner().unwrap(), own), (3, 1));
    });
    assert_eq!(count, 2);
}

#[test]
fn results_come_back() {
    verify_apart(|| {
        let numbers = [1, 2, 3];
        let sum = thread::scope(|s| {
            let first = s.spawn(|| numbers[0]);
            let rest = s.spawn(|| numbers[1..].iter().sum::<i32>());
            first.join().unwrap() + rest.join().unwrap()
        });
        assert_eq!(sum, 6);
    });
}

#[test]
fn scoped_threads_start_scoped_threads() {
    let seen = outcomes(|| {
        let order = Mutex::new(Vec::new());
        thread::scope(|s| {
            s.spawn(|| {
                order.lock().unwrap().push(1);
                s.spawn(|| order.lock().unwrap().push(2));
            });
        });
        order.into_inner().unwrap()
    });
    assert_eq!(seen, BTreeSet::from([vec![1, 2]]));
}

#[test]
fn a_panic_that_nobody_joins_comes_out_of_the_scope() {
    let found = finding(Panic, || {
        thread::scope(|s| {
            s.spawn(|| panic!("inside"));
        });
    });
    assert!(found.message().contains("a scoped thread panicked: inside"), "{found}");
    verify_apart(|| {
        let text = panic_text(|| {
            thread::scope(|s| {
                s.spawn(|| panic!("inside"));
            });
        });
        assert!(text.contains("a scoped thread panicked"), "{text}");
    });
}

#[test]
fn a_panic_that_is_joined_stays_inside() {
    verify_apart(|| {
        let result = thread::scope(|s| s.spawn(|| panic!("joined")).join());
        assert_eq!(*result.unwrap_err().downcast::<&str>().unwrap(), "joined");
    });
}

#[test]
fn a_panic_of_the_scope_itself_waits_for_the_threads() {
    let seen = outcomes(|| {
        let ran = AtomicUsize::new(0);
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            thread::scope(|s| {
                s.spawn(|| ran.fetch_add(1, SeqCst));
                panic!("the scope");
            });
        }));
        assert!(result.is_err());
        ran.load(SeqCst)
    });
    assert_eq!(seen, BTreeSet::from([1]));
}

#[test]
fn handles_tell_names_and_ends() {
    let seen = outcomes(|| {
        thread::scope(|s| {
            let named = thread::Builder::new().name("scoped".into()).spawn_scoped(s, || ()).unwrap();
            assert_eq!(named.thread().name(), Some("scoped"));
            named.is_finished()
        })
    });
    assert_eq!(seen, BTreeSet::from([false, true]));
}

#[test]
fn a_handle_may_be_joined_by_a_sibling() {
    verify_apart(|| {
        thread::scope(|s| {
            let first = s.spawn(|| 5);
            let second = s.spawn(move || first.join().unwrap() + 1);
            assert_eq!(second.join().unwrap(), 6);
        });
        thread::scope(|s| {
            let first = s.spawn(|| 5);
            s.spawn(move || assert_eq!(first.join().unwrap(), 5));
        });
    });
}

#[test]
fn a_thread_that_never_ends_keeps_the_scope() {
    let found = finding(Deadlock, || {
        thread::scope(|s| {
            s.spawn(thread::park);
        });
    });
    assert!(found.message().contains("main waits for main.1 to end at "), "{found}");
    assert!(found.message().contains("main.1 is parked"), "{found}");
}
