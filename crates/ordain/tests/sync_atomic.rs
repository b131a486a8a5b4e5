//! Atomics inside checks: every access is a step, and executions are sequentially consistent.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{classes, outcomes, verify, verify_apart};
use ordain::sync::atomic::Ordering::{Relaxed, SeqCst};
use ordain::sync::atomic::{AtomicBool, AtomicI8, AtomicI64, AtomicPtr, AtomicU32, AtomicUsize};
use ordain::thread;
use std::collections::BTreeSet;
use std::sync::Arc;

#[test]
fn stores_and_loads_of_two_threads() {
    // Two stores to the same cell and a load: three places for the load among two stores in order.
    let seen = outcomes(|| {
        let x = Arc::new(AtomicUsize::new(0));
        let y = x.clone();
        thread::spawn(move || {
            y.store(1, SeqCst);
            y.store(2, SeqCst);
        });
        x.load(SeqCst)
    });
    assert_eq!(seen, BTreeSet::from([0, 1, 2]));
}

#[test]
fn classes_are_counted_exactly() {
    let both = |first: fn(&AtomicUsize), second: fn(&AtomicUsize)| {
        move || {
            let x = Arc::new(AtomicUsize::new(0));
            let y = x.clone();
            let other = thread::spawn(move || second(&y));
            first(&x);
            other.join().unwrap();
        }
    };
    let pair = |first, second| classes(both(first, second));
    let load: fn(&AtomicUsize) = |x| assert!(x.load(SeqCst) < 9);
    let store: fn(&AtomicUsize) = |x| x.store(1, SeqCst);
    let add: fn(&AtomicUsize) = |x| assert!(x.fetch_add(1, SeqCst) < 9);
    assert_eq!(pair(load, load), 1);
    assert_eq!(pair(load, store), 2);
    assert_eq!(pair(store, store), 2);
    assert_eq!(pair(add, add), 2);
    assert_eq!(verify_apart(both(|_| (), store)).executions, 1);
    // An exchange that fails is a load.
    let fails: fn(&AtomicUsize) = |x| assert!(x.compare_exchange(7, 8, SeqCst, SeqCst).is_err());
    assert_eq!(pair(fails, fails), 1);
    assert_eq!(pair(fails, load), 1);
    assert_eq!(pair(fails, store), 2);
}

#[test]
fn store_buffering_is_sequentially_consistent_whatever_the_ordering() {
    for order in [Relaxed, SeqCst] {
        let seen = outcomes(move || {
            let cells = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0)));
            let cells2 = cells.clone();
            let other = thread::spawn(move || {
                cells2.0.store(1, order);
                cells2.1.load(order)
            });
            cells.1.store(1, order);
            let mine = cells.0.load(order);
            (mine, other.join().unwrap())
        });
        assert_eq!(seen, BTreeSet::from([(0, 1), (1, 0), (1, 1)]), "both zero needs weak memory");
    }
}

#[test]
fn updates_are_not_lost() {
    let seen = outcomes(|| {
        let x = Arc::new(AtomicU32::new(0));
        let others: Vec<_> = (0..2)
            .map(|_| {
                let x = x.clone();
                thread::spawn(move || x.fetch_add(1, Relaxed))
            })
            .collect();
        let mut olds: Vec<u32> = others.into_iter().map(|t| t.join().unwrap()).collect();
        olds.sort_unstable();
        (olds, x.load(Relaxed))
    });
    assert_eq!(seen, BTreeSet::from([(vec![0, 1], 2)]));
}

#[test]
fn one_of_two_exchanges_wins() {
    let seen = outcomes(|| {
        let x = Arc::new(AtomicUsize::new(0));
        let y = x.clone();
        let other = thread::spawn(move || y.compare_exchange(0, 1, SeqCst, SeqCst));
        let mine = x.compare_exchange_weak(0, 2, SeqCst, SeqCst);
        (mine, other.join().unwrap())
    });
    assert_eq!(seen, BTreeSet::from([(Ok(0), Err(2)), (Err(1), Ok(0))]));
}

#[test]
fn fetch_update_tries_again() {
    let seen = outcomes(|| {
        let x = Arc::new(AtomicUsize::new(1));
        let y = x.clone();
        let other = thread::spawn(move || y.store(10, SeqCst));
        let mut rounds = 0;
        let old = x.fetch_update(SeqCst, SeqCst, |value| {
            rounds += 1;
            (value < 10).then_some(value + 1)
        });
        other.join().unwrap();
        (old, rounds, x.load(SeqCst))
    });
    assert_eq!(seen, BTreeSet::from([(Err(10), 1, 10), (Err(10), 2, 10), (Ok(1), 1, 10)]));
}

#[test]
fn every_update_computes_as_std_does() {
    verify(|| {
        let x = AtomicI8::new(100);
        assert_eq!((x.fetch_add(100, SeqCst), x.load(SeqCst)), (100, -56));
        assert_eq!((x.fetch_sub(100, SeqCst), x.load(SeqCst)), (-56, 100));
        assert_eq!((x.fetch_max(101, SeqCst), x.fetch_min(-1, SeqCst), x.load(SeqCst)), (100, 101, -1));
        assert_eq!((x.fetch_and(0b1100, SeqCst), x.fetch_or(0b11, SeqCst)), (-1, 0b1100));
        assert_eq!((x.fetch_xor(0b0110, SeqCst), x.fetch_nand(0b1111, SeqCst), x.load(SeqCst)), (0b1111, 0b1001, -10));
        assert_eq!((x.swap(3, SeqCst), x.compare_exchange(-1, 5, SeqCst, SeqCst)), (-10, Err(3)));
        // The model sees bits; a negative number must be found again.
        let wide = AtomicI64::new(-7);
        assert_eq!(wide.compare_exchange(-7, -8, SeqCst, SeqCst), Ok(-7));
        let narrow = AtomicI8::new(-7);
        assert_eq!(narrow.compare_exchange(-7, -8, SeqCst, SeqCst), Ok(-7));
        assert_eq!(narrow.into_inner(), -8);
        let flag = AtomicBool::new(true);
        assert!(flag.fetch_and(false, SeqCst) && !flag.fetch_or(true, SeqCst) && flag.fetch_xor(true, SeqCst));
        assert!(!flag.fetch_nand(true, SeqCst) && flag.fetch_not(SeqCst) && !flag.load(SeqCst));
    });
}

#[test]
fn a_change_through_an_exclusive_borrow_is_seen() {
    verify(|| {
        let mut x = AtomicUsize::new(1);
        *x.get_mut() = 5;
        assert_eq!(x.compare_exchange(5, 6, SeqCst, SeqCst), Ok(5));
        *x.get_mut() += 1;
        assert_eq!(x.compare_exchange(6, 0, SeqCst, SeqCst), Err(7));
    });
}

#[test]
fn pointers_are_exchanged() {
    let seen = outcomes(|| {
        let values = Box::leak(Box::new([1, 2, 3]));
        let [first, second, third] = values;
        let pointer = Arc::new(AtomicPtr::new(std::ptr::from_mut(first)));
        let (second, third) = (std::ptr::from_mut(second).expose_provenance(), std::ptr::from_mut(third));
        let pointer2 = pointer.clone();
        let other = thread::spawn(move || {
            pointer2.store(std::ptr::with_exposed_provenance_mut(second), SeqCst);
        });
        let current = pointer.load(SeqCst);
        let won = pointer.compare_exchange(current, third, SeqCst, SeqCst).is_ok();
        other.join().unwrap();
        // SAFETY: it points to one of the leaked values, which nobody changes.
        (won, unsafe { *pointer.load(SeqCst) })
    });
    assert_eq!(seen, BTreeSet::from([(false, 2), (true, 2), (true, 3)]));
}

static COUNT: AtomicUsize = AtomicUsize::const_new(5);

#[test]
fn a_static_starts_afresh_in_every_execution() {
    let seen = outcomes(|| {
        let other = thread::spawn(|| COUNT.fetch_add(1, SeqCst));
        let mine = COUNT.fetch_add(1, SeqCst);
        (mine, other.join().unwrap())
    });
    assert_eq!(seen, BTreeSet::from([(5, 6), (6, 5)]));
    assert_eq!(COUNT.load(SeqCst), 5, "outside nothing has changed");
}

#[test]
fn a_captured_atomic_starts_with_its_value_outside() {
    let outside = Arc::new(AtomicUsize::new(3));
    let inner = outside.clone();
    verify(move || {
        let inner2 = inner.clone();
        let other = thread::spawn(move || inner2.fetch_add(1, SeqCst));
        assert!((3..5).contains(&inner.fetch_add(1, SeqCst)));
        other.join().unwrap();
        assert_eq!(inner.load(SeqCst), 5);
    });
    assert_eq!(outside.load(SeqCst), 3);
}

#[test]
fn petersons_algorithm_excludes() {
    let count = classes(|| {
        let shared =
            Arc::new(([AtomicBool::new(false), AtomicBool::new(false)], AtomicUsize::new(0), AtomicUsize::new(0)));
        let enter = |shared: &([AtomicBool; 2], AtomicUsize, AtomicUsize), me: usize| {
            shared.0[me].store(true, SeqCst);
            shared.1.store(1 - me, SeqCst);
            while shared.0[1 - me].load(SeqCst) && shared.1.load(SeqCst) == 1 - me {
                thread::yield_now();
            }
            assert_eq!(shared.2.fetch_add(1, SeqCst), 0, "alone");
            shared.2.fetch_sub(1, SeqCst);
            shared.0[me].store(false, SeqCst);
        };
        let shared2 = shared.clone();
        let other = thread::spawn(move || enter(&shared2, 1));
        enter(&shared, 0);
        other.join().unwrap();
    });
    assert!(count > 2);
}
