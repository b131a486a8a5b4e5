//! Read-write locks inside checks.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{classes, finding, outcomes, verify};
use ordain::FindingKind::Deadlock;
use ordain::sync::{RwLock, TryLockError};
use ordain::thread;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

#[test]
fn readers_commute() {
    let count = classes(|| {
        let lock = Arc::new(RwLock::new(7));
        let readers: Vec<_> = (0..4)
            .map(|_| {
                let lock = lock.clone();
                thread::spawn(move || assert_eq!(*lock.read().unwrap(), 7))
            })
            .collect();
        readers.into_iter().for_each(|r| r.join().unwrap());
    });
    assert_eq!(count, 1);
}

#[test]
fn a_writer_comes_before_or_after_each_reader() {
    for readers in 1..=3 {
        let seen = outcomes(move || {
            let lock = Arc::new(RwLock::new(0));
            let readers: Vec<_> = (0..readers)
                .map(|_| {
                    let lock = lock.clone();
                    thread::spawn(move || *lock.read().unwrap())
                })
                .collect();
            *lock.write().unwrap() = 1;
            readers.into_iter().map(|r| r.join().unwrap()).collect::<Vec<_>>()
        });
        assert_eq!(seen.len(), 1 << readers);
    }
}

#[test]
fn whether_a_writer_has_to_wait_makes_no_difference() {
    let count = classes(|| {
        let lock = Arc::new(RwLock::new(0));
        let lock2 = lock.clone();
        let reader = thread::spawn(move || *lock2.read().unwrap());
        *lock.write().unwrap() = 1;
        reader.join().unwrap();
    });
    // The writer asks first, or second.
    assert_eq!(count, 2);
}

#[test]
fn writers_exclude_each_other_and_readers() {
    let seen = outcomes(|| {
        let lock = Arc::new(RwLock::new((0, 0)));
        let lock2 = lock.clone();
        let other = thread::spawn(move || {
            let mut pair = lock2.write().unwrap();
            pair.0 += 1;
            thread::yield_now();
            pair.1 += 1;
        });
        let seen = *lock.read().unwrap();
        other.join().unwrap();
        seen
    });
    assert_eq!(seen, BTreeSet::from([(0, 0), (1, 1)]));
}

#[test]
fn a_reader_that_reads_again_behind_a_waiting_writer_deadlocks() {
    let found = finding(Deadlock, || {
        let lock = Arc::new(RwLock::new(0));
        let lock2 = lock.clone();
        let writer = thread::spawn(move || *lock2.write().unwrap() = 1);
        let first = lock.read().unwrap();
        let second = lock.read().unwrap();
        assert_eq!(*first, *second);
        drop((first, second));
        writer.join().unwrap();
    });
    assert!(found.message().contains("waits to read-lock"), "{found}");
}

#[test]
fn a_reader_that_waits_for_another_one_deadlocks_behind_a_writer() {
    finding(Deadlock, || {
        let lock = Arc::new(RwLock::new(0));
        let (lock2, lock3) = (lock.clone(), lock.clone());
        let writer = thread::spawn(move || *lock2.write().unwrap() = 1);
        let other = thread::spawn(move || *lock3.read().unwrap());
        let guard = lock.read().unwrap();
        assert!(other.join().unwrap() <= 1);
        drop(guard);
        writer.join().unwrap();
    });
}

#[test]
fn writers_that_wait_for_each_other_add_no_classes() {
    let count = classes(|| {
        let lock = Arc::new(RwLock::new(0));
        let writers: Vec<_> = (0..3)
            .map(|_| {
                let lock = lock.clone();
                thread::spawn(move || *lock.write().unwrap() += 1)
            })
            .collect();
        writers.into_iter().for_each(|w| w.join().unwrap());
    });
    assert_eq!(count, 6);
}

#[test]
fn attempts_fail_while_it_is_held() {
    verify(|| {
        let lock = RwLock::new(0);
        {
            let _reader = lock.read().unwrap();
            assert!(lock.try_read().is_ok());
            assert!(matches!(lock.try_write(), Err(TryLockError::WouldBlock)));
            assert!(lock.try_read_for(Duration::from_secs(1)).is_ok());
            assert!(lock.try_write_for(Duration::from_secs(1)).is_err());
        }
        let _writer = lock.write().unwrap();
        assert!(lock.try_read().is_err());
        assert!(lock.try_write().is_err());
        assert!(lock.try_read_for(Duration::from_secs(1)).is_err());
    });
}

#[test]
fn attempts_see_every_state() {
    let seen = outcomes(|| {
        let lock = Arc::new(RwLock::new(0));
        let lock2 = lock.clone();
        let other = thread::spawn(move || *lock2.write().unwrap() = 1);
        let read = lock.try_read().ok().map(|value| *value);
        let wrote = lock.try_write().is_ok();
        other.join().unwrap();
        (read, wrote)
    });
    let expected = [(None, false), (None, true), (Some(0), false), (Some(0), true), (Some(1), true)];
    assert_eq!(seen, BTreeSet::from(expected));
}

#[test]
fn upgrading_by_locking_again_is_a_deadlock() {
    let found = finding(Deadlock, || {
        let lock = RwLock::new(0);
        let _reader = lock.read().unwrap();
        let _writer = lock.write().unwrap();
    });
    assert!(found.message().contains("waits to write-lock") && found.message().contains("held by itself"), "{found}");
}

#[test]
fn two_upgraders_wait_for_each_other() {
    let found = finding(Deadlock, || {
        let lock = Arc::new(RwLock::new(0));
        let lock2 = lock.clone();
        let other = thread::spawn(move || {
            let reader = lock2.read().unwrap();
            let value = *reader;
            let _reader = reader;
            *lock2.write().unwrap() = value;
        });
        other.join().unwrap();
    });
    assert!(found.message().contains("main.1 waits to write-lock"), "{found}");
}

#[test]
fn a_writer_that_panics_poisons_and_a_reader_does_not() {
    verify(|| {
        let lock = Arc::new(RwLock::new(0));
        let (lock2, lock3) = (lock.clone(), lock.clone());
        let reader = thread::spawn(move || {
            let _guard = lock2.read().unwrap();
            panic!("while reading");
        });
        assert!(reader.join().is_err());
        assert!(!lock.is_poisoned());
        let writer = thread::spawn(move || {
            let _guard = lock3.write().unwrap();
            panic!("while writing");
        });
        assert!(writer.join().is_err());
        assert!(lock.is_poisoned() && lock.read().is_err() && lock.write().is_err());
        lock.clear_poison();
        assert!(lock.read().is_ok());
    });
}
