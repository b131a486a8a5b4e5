//! Loops that wait properly, or poll politely, must end under a search that is fair to them.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{outcomes, quiet};
use ordain::sync::atomic::{AtomicBool, Ordering::SeqCst};
use ordain::sync::mpsc::{TrySendError, channel, sync_channel};
use ordain::sync::{Condvar, Mutex, RwLock};
use ordain::{Strategy, Verdict, thread};
use std::sync::Arc;

/// Waits for a flag, in a loop as it should be.
fn waits_in_a_loop() {
    let p = Arc::new((Mutex::new(false), Condvar::new()));
    let p2 = p.clone();
    let t = thread::spawn(move || {
        *p2.0.lock().unwrap() = true;
        p2.1.notify_one();
    });
    drop(p.1.wait_while(p.0.lock().unwrap(), |r| !*r).unwrap());
    t.join().unwrap();
}
#[test]
fn a_loop_stands_spurious_wake_ups() {
    let r = quiet()
        .spurious_wakeups(true)
        .max_steps(1000)
        .strategy(Strategy::Optimal)
        .max_executions(2000)
        .run(waits_in_a_loop);
    r.expect_no_finding();
    assert_eq!(r.verdict, Verdict::Verified);
}
#[test]
fn park_loop_stands_spurious_wake_ups() {
    let r = quiet().spurious_wakeups(true).max_steps(1000).strategy(Strategy::Optimal).max_executions(2000).run(|| {
        let f = Arc::new(AtomicBool::new(false));
        let f2 = f.clone();
        let main = thread::current();
        thread::spawn(move || {
            f2.store(true, SeqCst);
            main.unpark();
        });
        while !f.load(SeqCst) {
            thread::park();
        }
    });
    r.expect_no_finding();
    assert_eq!(r.verdict, Verdict::Verified);
}
#[test]
fn polling_loop_that_notifies_nobody_is_spinning() {
    let r = quiet().max_steps(1000).run(|| {
        let p = Arc::new((Mutex::new(()), Condvar::new()));
        let p2 = p.clone();
        let t = thread::spawn(move || drop(p2.1.wait(p2.0.lock().unwrap()).unwrap()));
        while !t.is_finished() {
            p.1.notify_all();
            thread::yield_now();
        }
    });
    r.expect_no_finding();
    assert_eq!(r.verdict, Verdict::Verified);
}
#[test]
fn polling_loop_that_unparks() {
    let r = quiet().max_steps(1000).run(|| {
        let t = thread::spawn(thread::park);
        while !t.is_finished() {
            t.thread().unpark();
            thread::yield_now();
        }
    });
    r.expect_no_finding();
    assert_eq!(r.verdict, Verdict::Verified);
}

#[test]
fn a_loop_that_gets_something_done_gives_others_a_chance() {
    let r = quiet().max_steps(1000).run(|| {
        let cells = Arc::new((ordain::sync::atomic::AtomicUsize::new(0), AtomicBool::new(false)));
        let other = cells.clone();
        let worker = thread::spawn(move || {
            while !other.1.load(SeqCst) {
                other.0.fetch_add(1, SeqCst);
                thread::yield_now();
            }
        });
        cells.1.store(true, SeqCst);
        worker.join().unwrap();
    });
    r.expect_no_finding();
    assert_eq!(r.verdict, Verdict::Verified);
}

/// Must be verified, in few executions, whatever the step limit is.
fn is_held(most: u64, program: fn()) {
    for steps in [200, 1000, 1_000_000] {
        let r = quiet().strategy(Strategy::Optimal).max_steps(steps).run(program);
        r.expect_no_finding();
        assert_eq!(r.verdict, Verdict::Verified, "{r}");
        assert!(r.executions <= most, "{r}");
    }
}

#[test]
fn polling_by_a_lock_without_a_hint_is_spinning() {
    is_held(20, || {
        let value = Arc::new(Mutex::new(0));
        let value2 = value.clone();
        let t = thread::spawn(move || *value2.lock().unwrap() = 1);
        while *value.lock().unwrap() != 1 {}
        t.join().unwrap();
    });
    is_held(200, || {
        let value = Arc::new(Mutex::new(0));
        let value2 = value.clone();
        let t = thread::spawn(move || *value2.lock().unwrap() = 1);
        while !value.try_lock().is_ok_and(|v| *v == 1) {}
        t.join().unwrap();
    });
}

#[test]
fn polling_by_a_read_write_lock_without_a_hint_is_spinning() {
    is_held(20, || {
        let value = Arc::new(RwLock::new(0));
        let value2 = value.clone();
        let t = thread::spawn(move || *value2.write().unwrap() = 1);
        while *value.read().unwrap() != 1 {}
        t.join().unwrap();
    });
    is_held(400, || {
        let value = Arc::new(RwLock::new(0));
        let value2 = value.clone();
        let t = thread::spawn(move || *value2.write().unwrap() = 1);
        while *value.write().unwrap() != 1 {}
        t.join().unwrap();
    });
}

#[test]
fn polling_a_channel_without_a_hint_is_spinning() {
    is_held(20, || {
        let (sender, receiver) = channel();
        let t = thread::spawn(move || sender.send(3).unwrap());
        while receiver.try_recv().is_err() {}
        t.join().unwrap();
    });
    is_held(20, || {
        let (sender, receiver) = sync_channel::<u32>(0);
        let t = thread::spawn(move || drop(receiver));
        while !matches!(sender.try_send(1), Err(TrySendError::Disconnected(_))) {}
        t.join().unwrap();
    });
}

#[test]
fn polling_through_shares_is_spinning() {
    is_held(20, || {
        let flag = ordain::sync::Arc::new(AtomicBool::new(false));
        let flag2 = flag.clone();
        let t = thread::spawn(move || flag2.store(true, SeqCst));
        while !flag.clone().load(SeqCst) {}
        t.join().unwrap();
    });
    is_held(40, || {
        let (sender, receiver) = channel::<u32>();
        let flag = Arc::new(AtomicBool::new(false));
        let flag2 = flag.clone();
        let t = thread::spawn(move || flag2.store(true, SeqCst));
        while !flag.load(SeqCst) {
            drop(sender.clone());
        }
        drop(receiver);
        t.join().unwrap();
    });
}

#[test]
fn polling_under_a_lock_that_others_need_is_spinning() {
    is_held(200, || {
        let guarded = Arc::new((Mutex::new(()), AtomicBool::new(false)));
        let guarded2 = guarded.clone();
        let t = thread::spawn(move || {
            let _guard = guarded2.0.lock().unwrap();
            guarded2.1.store(true, SeqCst);
        });
        loop {
            let _guard = guarded.0.lock().unwrap();
            if guarded.1.load(SeqCst) {
                break;
            }
        }
        t.join().unwrap();
    });
}

#[test]
fn two_that_poll_by_the_same_lock_wait_for_a_third() {
    let r = quiet().max_steps(2000).strategy(Strategy::Random).max_executions(300).run(|| {
        let value = Arc::new(Mutex::new(0));
        let waits = |value: &Arc<Mutex<i32>>| {
            let value = value.clone();
            thread::spawn(move || while *value.lock().unwrap() != 1 {})
        };
        let threads = [waits(&value), waits(&value)];
        *value.lock().unwrap() = 1;
        threads.into_iter().for_each(|t| t.join().unwrap());
    });
    r.expect_no_finding();
}

#[test]
fn a_lock_that_is_polled_for_ever_is_a_livelock() {
    let r = quiet().run(|| {
        let value = Mutex::new(0);
        while *value.lock().unwrap() != 1 {}
    });
    assert_eq!(r.findings[0].kind(), &ordain::FindingKind::Livelock, "{r}");
}

#[test]
fn a_long_loop_of_locking_is_no_spinning() {
    let totals = outcomes(|| {
        let value = Arc::new(Mutex::new(0));
        let value2 = value.clone();
        let t = thread::spawn(move || std::mem::replace(&mut *value2.lock().unwrap(), 1000));
        for _ in 0..20 {
            *value.lock().unwrap() += 1;
        }
        t.join().unwrap()
    });
    assert_eq!(totals, (0..=20).collect());
}
