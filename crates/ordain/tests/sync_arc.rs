//! Reference counts inside checks.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{classes, finding, outcomes, verify};
use ordain::FindingKind::Panic;
use ordain::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use ordain::sync::{Arc, Weak};
use ordain::thread;
use std::collections::BTreeSet;

#[test]
fn clones_and_drops_that_nobody_observes_commute() {
    let count = classes(|| {
        let value = Arc::new(7);
        let others: Vec<_> = (0..4)
            .map(|_| {
                let value = value.clone();
                thread::spawn(move || assert_eq!(*value.clone(), 7))
            })
            .collect();
        others.into_iter().for_each(|t| t.join().unwrap());
    });
    assert_eq!(count, 1);
}

/// Says who dropped it.
struct Told(std::sync::Arc<AtomicUsize>, fn() -> usize);

impl Drop for Told {
    fn drop(&mut self) {
        self.0.store(self.1(), SeqCst);
    }
}

#[test]
fn either_thread_may_drop_the_last() {
    let seen = outcomes(|| {
        let by = std::sync::Arc::new(AtomicUsize::new(0));
        let value = Arc::new(Told(by.clone(), || if thread::current().name() == Some("other") { 1 } else { 2 }));
        let value2 = value.clone();
        let other = thread::Builder::new().name("other".into()).spawn(move || drop(value2)).unwrap();
        drop(value);
        other.join().unwrap();
        by.load(SeqCst)
    });
    assert_eq!(seen, BTreeSet::from([1, 2]));
}

#[test]
fn try_unwrap_depends_on_the_others() {
    let seen = outcomes(|| {
        let value = Arc::new(5);
        let value2 = value.clone();
        let other = thread::spawn(move || drop(value2));
        let got = Arc::try_unwrap(value).ok();
        other.join().unwrap();
        got
    });
    assert_eq!(seen, BTreeSet::from([None, Some(5)]));
}

#[test]
fn exactly_one_of_all_gets_the_value_by_into_inner() {
    let seen = outcomes(|| {
        let value = Arc::new(5);
        let value2 = value.clone();
        let other = thread::spawn(move || Arc::into_inner(value2).is_some());
        (Arc::into_inner(value).is_some(), other.join().unwrap())
    });
    assert_eq!(seen, BTreeSet::from([(false, true), (true, false)]));
}

#[test]
fn try_unwrap_by_all_can_lose_the_value() {
    // The reason for `into_inner`: both can see the other.
    let seen = outcomes(|| {
        let value = Arc::new(5);
        let value2 = value.clone();
        let other = thread::spawn(move || Arc::try_unwrap(value2).is_ok());
        let mine = Arc::try_unwrap(value).is_ok();
        (mine, other.join().unwrap())
    });
    assert_eq!(seen, BTreeSet::from([(false, false), (false, true), (true, false)]));
}

#[test]
fn upgrading_succeeds_until_the_value_is_gone() {
    let seen = outcomes(|| {
        let value = Arc::new(5);
        let weak = Arc::downgrade(&value);
        let other = thread::spawn(move || drop(value));
        let got = weak.upgrade().map(|value| *value);
        other.join().unwrap();
        assert!(weak.upgrade().is_none());
        got
    });
    assert_eq!(seen, BTreeSet::from([None, Some(5)]));
    finding(Panic, || {
        let value = Arc::new(5);
        let weak = Arc::downgrade(&value);
        thread::spawn(move || drop(value));
        assert_eq!(*weak.upgrade().expect("still there"), 5);
    });
}

#[test]
fn counts_and_exclusive_access_depend_on_the_others() {
    let seen = outcomes(|| {
        let mut value = Arc::new(5);
        let value2 = value.clone();
        let other = thread::spawn(move || drop(value2));
        let count = Arc::strong_count(&value);
        let alone = Arc::get_mut(&mut value).is_some();
        other.join().unwrap();
        assert_eq!((Arc::strong_count(&value), Arc::weak_count(&value)), (1, 0));
        (count, alone)
    });
    assert_eq!(seen, BTreeSet::from([(1, true), (2, false), (2, true)]));
}

#[test]
fn make_mut_leaves_the_others_alone() {
    verify(|| {
        let mut value = Arc::new(5);
        let other = value.clone();
        *Arc::make_mut(&mut value) += 1;
        assert_eq!((*value, *other), (6, 5));
        drop(other);
        let weak = Arc::downgrade(&value);
        *Arc::make_mut(&mut value) += 1;
        assert_eq!((*value, weak.upgrade().map(|v| *v)), (7, None));
    });
}

#[test]
fn a_value_may_point_to_itself() {
    struct Node(Weak<Node>, u32);
    verify(|| {
        let node = Arc::new_cyclic(|weak: &Weak<Node>| {
            assert!(weak.upgrade().is_none());
            Node(weak.clone(), 3)
        });
        let node2 = node.clone();
        let other = thread::spawn(move || node2.0.upgrade().map(|n| n.1));
        assert_eq!(other.join().unwrap(), Some(3));
        assert_eq!((Arc::strong_count(&node), Arc::weak_count(&node)), (1, 1));
    });
}

#[test]
fn unsized_values_are_shared() {
    verify(|| {
        let text: Arc<str> = Arc::from("text");
        let text2 = text.clone();
        assert_eq!(thread::spawn(move || text2.len()).join().unwrap(), 4);
        let shown: Box<dyn std::fmt::Display + Send + Sync> = Box::new(12);
        let shown: Arc<dyn std::fmt::Display + Send + Sync> = Arc::from(shown);
        let shown2 = shown.clone();
        assert_eq!(thread::spawn(move || shown2.to_string()).join().unwrap(), shown.to_string());
        assert_eq!(Arc::<[u8]>::from(vec![1, 2]).len(), 2);
    });
}

#[test]
fn dropping_has_a_class_for_each_thread_that_may_be_last() {
    for droppers in 2..=4 {
        let count = classes(move || {
            let value = Arc::new(vec![1]);
            let others: Vec<_> = (1..droppers).map(|_| value.clone()).collect();
            let others: Vec<_> = others.into_iter().map(|v| thread::spawn(move || drop(v))).collect();
            drop(value);
            others.into_iter().for_each(|t| t.join().unwrap());
        });
        assert_eq!(count, droppers);
    }
}
