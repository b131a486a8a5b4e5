//! Threads inside checks: names, results, panics, parking, sleeping, yielding.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{finding, outcomes, verify, verify_apart};
use ordain::FindingKind::{Deadlock, Panic};
use ordain::sync::Mutex;
use ordain::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use ordain::thread;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

#[test]
fn results_come_back() {
    let report = verify_apart(|| assert_eq!(thread::spawn(|| 41 + 1).join().unwrap(), 42));
    assert_eq!(report.executions, 1);
}

#[test]
fn threads_have_names_and_identities() {
    verify_apart(|| {
        let main = thread::current();
        assert_eq!(main.name(), None);
        let named = thread::Builder::new().name("worker".into()).spawn(|| {
            let me = thread::current();
            (me.name().map(str::to_owned), me.id())
        });
        let named = named.unwrap();
        let (by_handle, id) = (named.thread().name().map(str::to_owned), named.thread().id());
        let (name, own) = named.join().unwrap();
        assert_eq!((name.as_deref(), by_handle.as_deref()), (Some("worker"), Some("worker")));
        assert_eq!(id, own);
        assert_ne!(id, main.id());
        assert_eq!(thread::current().id(), main.id());
    });
}

#[test]
fn names_of_findings_are_those_by_birth_and_given() {
    let found = finding(Panic, || {
        let parent = thread::spawn(|| {
            thread::spawn(|| ());
            let second = thread::Builder::new().name("grandchild".into()).spawn(|| panic!("down here"));
            drop(second.unwrap());
        });
        parent.join().unwrap();
    });
    assert!(found.message().starts_with("main.1.2 (\"grandchild\") panicked at "), "{found}");
}

#[test]
fn a_panic_comes_through_join_and_is_no_finding() {
    let seen = outcomes(|| {
        let other = thread::spawn(|| {
            let pick = ordain::choose(2);
            assert!(pick == 0, "chosen {pick}");
        });
        other.join().err().map(|payload| *payload.downcast::<String>().unwrap())
    });
    assert_eq!(seen, BTreeSet::from([None, Some("chosen 1".to_owned())]));
}

#[test]
fn a_panic_that_nobody_joins_is_found() {
    let found = finding(Panic, || drop(thread::spawn(|| panic!("alone"))));
    assert!(found.message().starts_with("main.1 panicked at ") && found.message().ends_with(": alone"), "{found}");
    // A payload may be anything.
    let found = finding(Panic, || drop(thread::spawn(|| std::panic::panic_any(5))));
    assert!(found.message().contains("main.1 panicked"), "{found}");
}

#[test]
fn a_panic_that_is_caught_is_no_finding() {
    verify_apart(|| {
        let result = std::panic::catch_unwind(|| panic!("caught"));
        assert!(result.is_err() && !thread::panicking());
        drop(thread::spawn(|| assert!(!thread::panicking())));
    });
}

#[test]
fn a_panic_unwinds_over_steps_while_others_run() {
    /// Tells in its destructor whether its thread panics.
    struct Tells(Arc<AtomicUsize>, Arc<AtomicBool>);
    impl Drop for Tells {
        fn drop(&mut self) {
            self.0.fetch_add(1, SeqCst);
            self.1.store(thread::panicking(), SeqCst);
        }
    }
    let seen = outcomes(|| {
        let (steps, panicking) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        let tells = Tells(steps.clone(), panicking.clone());
        let other = thread::spawn(move || {
            let _tells = tells;
            panic!("unwinds");
        });
        let seen = steps.fetch_add(10, SeqCst);
        assert!(!thread::panicking(), "another one does");
        assert!(other.join().is_err());
        assert!(panicking.load(SeqCst));
        seen
    });
    assert_eq!(seen, BTreeSet::from([0, 1]));
}

#[test]
fn threads_that_nobody_joins_still_run_to_their_end() {
    finding(Panic, || {
        let x = Arc::new(AtomicUsize::new(0));
        let y = x.clone();
        thread::spawn(move || {
            y.fetch_add(1, SeqCst);
            assert_eq!(y.load(SeqCst), 0, "it ran");
        });
    });
    let found = finding(Deadlock, || drop(thread::spawn(thread::park)));
    assert!(found.message().starts_with("main.1 is parked"), "{found}");
}

#[test]
fn is_finished_is_false_before_and_true_after() {
    let seen = outcomes(|| {
        let other = thread::spawn(|| ());
        let before = other.is_finished();
        thread::yield_now();
        let after = other.is_finished();
        other.join().unwrap();
        (before, after)
    });
    assert_eq!(seen, BTreeSet::from([(false, false), (false, true), (true, true)]));
}

#[test]
fn a_handle_can_be_joined_by_another_thread() {
    verify_apart(|| {
        let first = thread::spawn(|| 3);
        let second = thread::spawn(move || first.join().unwrap() + 1);
        assert_eq!(second.join().unwrap(), 4);
    });
}

#[test]
fn park_waits_for_a_token_that_does_not_add_up() {
    verify(|| {
        let main = thread::current();
        let other = thread::spawn(move || main.unpark());
        thread::park();
        other.join().unwrap();
    });
    verify(|| {
        thread::current().unpark();
        thread::park();
    });
    let found = finding(Deadlock, || {
        thread::current().unpark();
        thread::current().unpark();
        thread::park();
        thread::park();
    });
    assert!(found.message().starts_with("main is parked and waits to be unparked at "), "{found}");
}

#[test]
fn park_with_a_time_out_may_expire() {
    let seen = outcomes(|| {
        let flag = Arc::new(AtomicBool::new(false));
        let (flag2, main) = (flag.clone(), thread::current());
        let other = thread::spawn(move || {
            flag2.store(true, SeqCst);
            main.unpark();
        });
        thread::park_timeout(Duration::from_secs(3600));
        let seen = flag.load(SeqCst);
        other.join().unwrap();
        seen
    });
    assert_eq!(seen, BTreeSet::from([false, true]));
}

#[test]
fn a_lost_wake_up_between_check_and_park_cannot_be() {
    verify(|| {
        let flag = Arc::new(AtomicBool::new(false));
        let (flag2, main) = (flag.clone(), thread::current());
        thread::spawn(move || {
            flag2.store(true, SeqCst);
            main.unpark();
        });
        while !flag.load(SeqCst) {
            thread::park();
        }
    });
}

#[test]
fn sleeping_orders_nothing() {
    let seen = outcomes(|| {
        let flag = Arc::new(AtomicBool::new(false));
        let flag2 = flag.clone();
        thread::spawn(move || flag2.store(true, SeqCst));
        thread::sleep(Duration::from_secs(3600));
        flag.load(SeqCst)
    });
    assert_eq!(seen, BTreeSet::from([false, true]), "however long it sleeps");
}

#[test]
fn yielding_makes_no_classes() {
    let report = verify_apart(|| {
        let others: Vec<_> = (0..3).map(|_| thread::spawn(thread::yield_now)).collect();
        thread::yield_now();
        others.into_iter().for_each(|t| t.join().unwrap());
    });
    assert_eq!(report.executions, 1);
}

#[test]
fn many_threads_are_fine() {
    let report = verify_apart(|| {
        let others: Vec<_> = (0..500).map(|i| thread::spawn(move || i)).collect();
        assert_eq!(others.into_iter().map(|t| t.join().unwrap()).sum::<usize>(), 500 * 499 / 2);
    });
    assert_eq!((report.executions, report.threads), (1, 501));
}

#[test]
fn threads_start_threads() {
    fn tree(depth: usize, leaves: &Arc<Mutex<usize>>) {
        if depth == 0 {
            *leaves.lock().unwrap() += 1;
            return;
        }
        let others: Vec<_> = (0..2)
            .map(|_| {
                let leaves = leaves.clone();
                thread::spawn(move || tree(depth - 1, &leaves))
            })
            .collect();
        others.into_iter().for_each(|t| t.join().unwrap());
    }
    let report = verify(|| {
        let leaves = Arc::new(Mutex::new(0));
        tree(2, &leaves);
        assert_eq!(*leaves.lock().unwrap(), 4);
    });
    assert_eq!((report.executions, report.threads), (24, 7));
}
