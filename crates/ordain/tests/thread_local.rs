//! Thread-local values inside checks: one for each thread of each execution.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{outcomes, verify, verify_apart};
use ordain::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use ordain::thread;
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

ordain::thread_local! {
    static NUMBER: Cell<u32> = const { Cell::new(1) };
    static TEXT: RefCell<String> = RefCell::new(String::from("fresh"));
}

#[test]
fn each_thread_of_each_execution_has_its_own() {
    let seen = outcomes(|| {
        assert_eq!(NUMBER.get(), 1, "fresh in every execution");
        NUMBER.set(2);
        let shared = Arc::new(AtomicUsize::new(0));
        let shared2 = shared.clone();
        let other = thread::spawn(move || {
            shared2.fetch_add(1, SeqCst);
            assert_eq!(NUMBER.replace(7), 1);
            NUMBER.get()
        });
        let seen = shared.fetch_add(1, SeqCst);
        assert_eq!(NUMBER.get(), 2);
        assert_eq!(other.join().unwrap(), 7);
        seen
    });
    assert_eq!(seen, BTreeSet::from([0, 1]));
    assert_eq!(NUMBER.get(), 1, "outside nothing has changed");
}

#[test]
fn cells_have_the_short_ways() {
    verify(|| {
        TEXT.with_borrow(|text| assert_eq!(text, "fresh"));
        TEXT.with_borrow_mut(|text| text.push('!'));
        assert_eq!(TEXT.take(), "fresh!");
        TEXT.set("new".into());
        assert_eq!(TEXT.replace(String::new()), "new");
        assert_eq!(NUMBER.take(), 1);
        assert_eq!(NUMBER.get(), 0);
    });
}

/// Says when it is dropped.
struct Logged(&'static str);

std::thread_local! {
    /// What was dropped; of std, because it lives as long as the OS thread of the check.
    static DROPPED: RefCell<Vec<&'static str>> = const { RefCell::new(Vec::new()) };
}

impl Drop for Logged {
    fn drop(&mut self) {
        DROPPED.with_borrow_mut(|dropped| dropped.push(self.0));
    }
}

ordain::thread_local! {
    static FIRST: Logged = const { Logged("first") };
    static SECOND: Logged = const { Logged("second") };
}

#[test]
fn values_are_dropped_newest_first_when_their_thread_ends() {
    verify_apart(|| {
        DROPPED.with_borrow_mut(Vec::clear);
        let other = thread::spawn(|| {
            FIRST.with(|_| ());
            SECOND.with(|_| ());
        });
        other.join().unwrap();
        DROPPED.with_borrow(|dropped| assert_eq!(*dropped, ["second", "first"]));
    });
}

/// Uses another value when it is dropped.
struct Uses;

static SEEN: Mutex<Vec<bool>> = Mutex::new(Vec::new());

impl Drop for Uses {
    fn drop(&mut self) {
        let number = NUMBER.try_with(Cell::get).is_ok();
        let itself = USES.try_with(|_| ()).is_ok();
        SEEN.lock().unwrap().extend([number, itself]);
    }
}

ordain::thread_local! {
    static USES: Uses = const { Uses };
}

#[test]
fn a_destructor_may_use_other_values_but_not_its_own() {
    verify_apart(|| {
        SEEN.lock().unwrap().clear();
        thread::spawn(|| USES.with(|_| ())).join().unwrap();
        assert_eq!(*SEEN.lock().unwrap(), [true, false]);
    });
}

/// Makes a step when it is dropped.
struct Steps(RefCell<Option<Arc<AtomicUsize>>>);

impl Drop for Steps {
    fn drop(&mut self) {
        if let Some(count) = self.0.take() {
            count.fetch_add(1, SeqCst);
        }
    }
}

ordain::thread_local! {
    static STEPS: Steps = const { Steps(RefCell::new(None)) };
}

#[test]
fn a_destructor_may_make_steps_and_join_waits_for_them() {
    let seen = outcomes(|| {
        let count = Arc::new(AtomicUsize::new(0));
        let count2 = count.clone();
        let other = thread::spawn(move || STEPS.with(|steps| *steps.0.borrow_mut() = Some(count2)));
        let before = count.load(SeqCst);
        other.join().unwrap();
        (before, count.load(SeqCst))
    });
    assert_eq!(seen, BTreeSet::from([(0, 1), (1, 1)]));
}
