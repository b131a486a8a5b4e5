//! `Once`, `OnceLock` and `LazyLock` inside checks, statics included.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{finding, outcomes, panic_text, verify};
use ordain::FindingKind::{Deadlock, Panic};
use ordain::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use ordain::sync::{LazyLock, Once, OnceLock};
use ordain::thread;
use std::collections::BTreeSet;
use std::sync::Arc;

#[test]
fn the_closure_runs_once_and_all_wait_for_it() {
    let seen = outcomes(|| {
        let shared = Arc::new((Once::new(), AtomicUsize::new(0), AtomicUsize::new(9)));
        let call = |shared: &(Once, AtomicUsize, AtomicUsize), who| {
            shared.0.call_once(|| {
                shared.2.store(who, SeqCst);
                shared.1.fetch_add(1, SeqCst);
            });
            assert_eq!(shared.1.load(SeqCst), 1, "complete");
        };
        let shared2 = shared.clone();
        let other = thread::spawn(move || call(&shared2, 1));
        call(&shared, 0);
        other.join().unwrap();
        assert!(shared.0.is_completed());
        shared.2.load(SeqCst)
    });
    assert_eq!(seen, BTreeSet::from([0, 1]));
}

#[test]
fn a_closure_that_panics_poisons() {
    verify(|| {
        let once = Arc::new(Once::new());
        let once2 = once.clone();
        let other = thread::spawn(move || once2.call_once(|| panic!("in the closure")));
        assert!(other.join().is_err());
        assert!(!once.is_completed());
        let once2 = once.clone();
        let text = *thread::spawn(move || once2.call_once(|| ())).join().unwrap_err().downcast::<&str>().unwrap();
        assert!(text.contains("poisoned"), "{text}");
        once.call_once_force(|state| assert!(state.is_poisoned()));
        assert!(once.is_completed());
        once.call_once_force(|_| panic!("it is complete"));
    });
}

#[test]
fn calling_it_in_its_own_closure_is_a_deadlock() {
    let found = finding(Deadlock, || {
        let once = Arc::new(Once::new());
        let once2 = once.clone();
        once.call_once(move || once2.call_once(|| ()));
    });
    assert!(found.message().contains("waits to once-begin"), "{found}");
}

#[test]
fn a_cell_keeps_the_first_value() {
    let seen = outcomes(|| {
        let cell = Arc::new(OnceLock::new());
        let cell2 = cell.clone();
        let other = thread::spawn(move || cell2.set(1).is_ok());
        let before = cell.get().copied();
        let mine = cell.set(2).is_ok();
        let theirs = other.join().unwrap();
        assert!(mine != theirs, "exactly one sets it");
        (before, *cell.get().unwrap())
    });
    assert_eq!(seen, BTreeSet::from([(None, 1), (None, 2), (Some(1), 1)]));
}

#[test]
fn an_initialisation_runs_once() {
    let seen = outcomes(|| {
        let shared = Arc::new((OnceLock::new(), AtomicUsize::new(0)));
        let shared2 = shared.clone();
        let make = |shared: &(OnceLock<usize>, AtomicUsize), value| {
            *shared.0.get_or_init(|| value + shared.1.fetch_add(1, SeqCst))
        };
        let other = thread::spawn(move || make(&shared2, 10));
        let mine = make(&shared, 20);
        assert_eq!(mine, other.join().unwrap());
        mine
    });
    assert_eq!(seen, BTreeSet::from([10, 20]));
}

#[test]
fn a_cell_whose_initialisation_panics_stays_empty() {
    verify(|| {
        let cell = Arc::new(OnceLock::new());
        let cell2 = cell.clone();
        assert!(thread::spawn(move || *cell2.get_or_init(|| panic!("no value"))).join().is_err());
        assert_eq!(cell.get(), None);
        assert_eq!(cell.set(3), Ok(()));
        let mut cell = Arc::into_inner(cell).unwrap();
        assert_eq!(cell.take(), Some(3));
        assert_eq!(cell.set(4), Ok(()));
        assert_eq!(cell.into_inner(), Some(4));
    });
}

#[test]
fn looking_before_it_is_set_is_found() {
    let found = finding(Panic, || {
        let cell = Arc::new(OnceLock::new());
        let cell2 = cell.clone();
        thread::spawn(move || cell2.set(1));
        cell.get().expect("it is set");
    });
    assert!(found.message().contains("main panicked") && found.message().contains("it is set"), "{found}");
}

static MADE: AtomicUsize = AtomicUsize::const_new(0);
static ONCE: Once = Once::const_new();
static CELL: OnceLock<usize> = OnceLock::const_new();
static LAZY: LazyLock<usize> = LazyLock::const_new(|| MADE.fetch_add(1, SeqCst));

#[test]
fn statics_start_afresh_in_every_execution() {
    let seen = outcomes(|| {
        assert_eq!(MADE.load(SeqCst), 0);
        assert!(!ONCE.is_completed());
        assert_eq!(CELL.get(), None);
        let other = thread::spawn(|| {
            ONCE.call_once(|| CELL.set(1).unwrap());
            *LAZY
        });
        ONCE.call_once(|| CELL.set(2).unwrap());
        assert_eq!(*LAZY + other.join().unwrap(), 0);
        assert_eq!(MADE.load(SeqCst), 1);
        *CELL.get().unwrap()
    });
    assert_eq!(seen, BTreeSet::from([1, 2]));
    assert_eq!(MADE.load(SeqCst), 0, "outside nothing has changed");
    assert!(!ONCE.is_completed());
    assert_eq!(CELL.get(), None);
}

#[test]
fn a_lazy_value_made_inside_is_made_once() {
    verify(|| {
        let count = Arc::new(AtomicUsize::new(0));
        let count2 = count.clone();
        let lazy = Arc::new(LazyLock::new(move || count2.fetch_add(1, SeqCst)));
        let lazy2 = lazy.clone();
        let other = thread::spawn(move || **lazy2);
        assert_eq!(**lazy, 0);
        assert_eq!(other.join().unwrap(), 0);
        assert_eq!(count.load(SeqCst), 1);
    });
}

#[test]
fn a_lazy_value_made_outside_by_new_is_refused() {
    let lazy = Arc::new(LazyLock::new(|| 1));
    let found = finding(Panic, move || assert_eq!(**lazy, 1));
    assert!(found.message().contains("LazyLock::const_new"), "{found}");
}

#[test]
fn a_lazy_value_whose_closure_panics_is_poisoned() {
    verify(|| {
        let lazy: Arc<LazyLock<u32, fn() -> u32>> = Arc::new(LazyLock::new(|| panic!("no value")));
        let lazy2 = lazy.clone();
        assert!(thread::spawn(move || **lazy2).join().is_err());
        let text = panic_text(|| **lazy);
        assert!(text.contains("poisoned"), "{text}");
    });
}
