//! Races behind operations that commute: what only one order of is explored must not seem to order anything.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{Plain, finding};
use ordain::FindingKind;
use ordain::sync::{Condvar, RwLock, mpsc};
use ordain::thread;
use std::sync::Arc;

/// The program has a data race.
fn races(program: impl Fn() + 'static) {
    finding(FindingKind::DataRace, program);
}

#[test]
fn arc_clones_do_not_order() {
    races(|| {
        let plain = Plain::shared();
        let p2 = plain.clone();
        let a = ordain::sync::Arc::new(0u8);
        let a2 = a.clone();
        let t = thread::spawn(move || {
            let b = a2.clone();
            p2.write(1);
            std::mem::forget(b);
            std::mem::forget(a2);
        });
        plain.write(2);
        let b = a.clone();
        t.join().unwrap();
        drop(b);
    });
}
#[test]
fn arc_drop_of_non_last_does_not_acquire() {
    races(|| {
        let plain = Plain::shared();
        let p2 = plain.clone();
        let a = ordain::sync::Arc::new(0u8);
        let a2 = a.clone();
        let a3 = a.clone();
        let t = thread::spawn(move || {
            drop(a2);
            p2.write(1);
        });
        plain.write(2);
        drop(a);
        t.join().unwrap();
        drop(a3);
    });
}
#[test]
fn sender_clones_do_not_order() {
    races(|| {
        let plain = Plain::shared();
        let p2 = plain.clone();
        let (s, _r) = mpsc::channel::<u8>();
        let s2 = s.clone();
        let t = thread::spawn(move || {
            let s3 = s2.clone();
            p2.write(1);
            drop(s3)
        });
        plain.write(2);
        let s3 = s.clone();
        t.join().unwrap();
        drop(s3);
    });
}
#[test]
fn notify_without_waiter_does_not_order() {
    races(|| {
        let plain = Plain::shared();
        let p2 = plain.clone();
        let c = Arc::new(Condvar::new());
        let c2 = c.clone();
        let t = thread::spawn(move || {
            c2.notify_one();
            p2.write(1);
        });
        plain.write(2);
        c.notify_one();
        t.join().unwrap();
    });
}
#[test]
fn once_check_pair() {
    races(|| {
        let plain = Plain::shared();
        let p2 = plain.clone();
        let c = Arc::new(ordain::sync::Once::new());
        let c2 = c.clone();
        let t = thread::spawn(move || {
            let _ = c2.is_completed();
            p2.write(1);
        });
        plain.write(2);
        let _ = c.is_completed();
        t.join().unwrap();
    });
}
#[test]
fn once_check_pair_when_complete() {
    races(|| {
        let plain = Plain::shared();
        let p2 = plain.clone();
        let c = Arc::new(ordain::sync::Once::new());
        let c2 = c.clone();
        c.call_once(|| ());
        let t = thread::spawn(move || {
            let _ = c2.is_completed();
            p2.write(1);
        });
        plain.write(2);
        let _ = c.is_completed();
        t.join().unwrap();
    });
}
#[test]
fn call_once_pair_when_complete() {
    races(|| {
        let plain = Plain::shared();
        let p2 = plain.clone();
        let c = Arc::new(ordain::sync::OnceLock::new());
        let c2 = c.clone();
        c.set(1).unwrap();
        let t = thread::spawn(move || {
            let _ = c2.get();
            p2.write(1);
        });
        plain.write(2);
        let _ = c.get_or_init(|| 7);
        t.join().unwrap();
    });
}
#[test]
fn unparks_do_not_order_each_other() {
    races(|| {
        let plain = Plain::shared();
        let p2 = plain.clone();
        let main = thread::current();
        let m2 = main.clone();
        let t = thread::spawn(move || {
            m2.unpark();
            p2.write(1);
        });
        plain.write(2);
        main.unpark();
        t.join().unwrap();
    });
}
#[test]
fn sends_of_many() {
    races(|| {
        let plain = Plain::shared();
        let p2 = plain.clone();
        let (s, r) = mpsc::channel::<u8>();
        let s2 = s.clone();
        let t = thread::spawn(move || {
            s2.send(1).unwrap();
            p2.write(1);
        });
        plain.write(2);
        s.send(1).unwrap();
        t.join().unwrap();
        drop(r);
    });
}
#[test]
fn failed_sends() {
    races(|| {
        let plain = Plain::shared();
        let p2 = plain.clone();
        let (s, r) = mpsc::channel::<u8>();
        let s2 = s.clone();
        drop(r);
        let t = thread::spawn(move || {
            let _ = s2.send(1);
            p2.write(1);
        });
        plain.write(2);
        let _ = s.send(1);
        t.join().unwrap();
    });
}
#[test]
fn is_finished_by_two() {
    races(|| {
        let plain = Plain::shared();
        let p2 = plain.clone();
        let done = Arc::new(thread::spawn(|| ()));
        let done2 = done.clone();
        let t = thread::spawn(move || {
            let _ = done2.is_finished();
            p2.write(1);
        });
        plain.write(2);
        let _ = done.is_finished();
        t.join().unwrap();
    });
}
#[test]
fn sleep_yield_choose() {
    races(|| {
        let plain = Plain::shared();
        let p2 = plain.clone();
        let t = thread::spawn(move || {
            thread::sleep(std::time::Duration::from_secs(1));
            thread::yield_now();
            p2.write(1);
        });
        plain.write(2);
        thread::sleep(std::time::Duration::from_secs(1));
        thread::yield_now();
        t.join().unwrap();
    });
}

#[test]
fn readers_do_not_order_each_other() {
    races(|| {
        let plain = Plain::shared();
        let p2 = plain.clone();
        let lock = Arc::new(RwLock::new(()));
        let lock2 = lock.clone();
        let t = thread::spawn(move || {
            let _guard = lock2.read().unwrap();
            p2.write(1);
        });
        {
            let _guard = lock.read().unwrap();
            plain.write(2);
        }
        t.join().unwrap();
    });
}

#[test]
fn try_recv_of_empty() {
    races(|| {
        let plain = Plain::shared();
        let p2 = plain.clone();
        let (s, r) = mpsc::channel::<u8>();
        let t = thread::spawn(move || {
            let _ = r.try_recv();
            p2.write(1);
            let _ = r.try_recv();
        });
        plain.write(2);
        let s2 = s.clone();
        plain.write(2);
        t.join().unwrap();
        drop(s2);
        drop(s);
    });
}
