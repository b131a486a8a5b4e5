//! Small programs that came out wrong once, each with what must come out.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::quiet;
use ordain::cell::UnsafeCell;
use ordain::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use ordain::sync::{Arc, Condvar, LazyLock, Mutex, OnceLock};
use ordain::{Check, Report, Strategy, Verdict, thread};
use std::sync::Arc as StdArc;

fn check() -> Check {
    quiet().max_steps(20_000)
}

#[test]
fn a_loop_of_updates_never_reaches_the_step_limit() {
    let report = check().run(|| {
        let x = Arc::new(AtomicUsize::new(0));
        let y = x.clone();
        let other = thread::spawn(move || y.store(1, SeqCst));
        let mut value = 0;
        while value == 0 {
            value = x.fetch_or(0, SeqCst);
            thread::yield_now();
        }
        other.join().unwrap();
    });
    assert_eq!(report.verdict, Verdict::Verified, "{report}");
}

/// The consumer waits for an event, then spins while something is announced and not done.
fn announced_then_done(rounds: usize) {
    let shared = StdArc::new((AtomicUsize::new(0), AtomicUsize::new(0), Mutex::new(0), Condvar::new()));
    let shared2 = shared.clone();
    let producer = thread::spawn(move || {
        for round in 1..=rounds {
            shared2.0.store(round, SeqCst);
            shared2.1.store(round, SeqCst);
            *shared2.2.lock().unwrap() += 1;
            shared2.3.notify_one();
        }
    });
    for round in 1..=rounds {
        while shared.1.load(SeqCst) < round {
            if shared.0.load(SeqCst) < round {
                let mut events = shared.2.lock().unwrap();
                while *events == 0 {
                    events = shared.3.wait(events).unwrap();
                }
                *events -= 1;
                continue;
            }
            thread::yield_now();
        }
    }
    producer.join().unwrap();
}

#[test]
fn a_loop_that_waits_for_what_was_announced_ends() {
    for rounds in 1..=2 {
        let report = check().run(move || announced_then_done(rounds));
        assert_eq!(report.verdict, Verdict::Verified, "{report}");
    }
}

struct Shared(UnsafeCell<usize>, AtomicBool);

// SAFETY: unsound on purpose; threads of a check never really run at the same time.
unsafe impl Sync for Shared {}

#[test]
fn an_access_lasts_until_its_closure_ends() {
    let report = check().run(|| {
        let shared = StdArc::new(Shared(UnsafeCell::new(0), AtomicBool::new(false)));
        let shared2 = shared.clone();
        let writer = thread::spawn(move || {
            shared2.0.with_mut(|p| {
                // The reader is let in before the write.
                shared2.1.store(true, Release);
                shared2.1.load(Relaxed);
                // SAFETY: only one thread of a check runs at a time.
                unsafe { *p = 1 };
            });
        });
        if shared.1.load(Acquire) {
            // SAFETY: as above.
            shared.0.with(|p| unsafe { std::hint::black_box(*p) });
        }
        writer.join().unwrap();
    });
    assert_eq!(report.verdict, Verdict::Finding, "{report}");
}

#[test]
fn a_thread_of_std_that_uses_objects_of_a_check_is_told() {
    let report = check().run(|| {
        let x = StdArc::new(AtomicUsize::new(0));
        let y = x.clone();
        let other = std::thread::spawn(move || {
            let value = y.load(SeqCst);
            y.store(value + 1, SeqCst);
        });
        let value = x.load(SeqCst);
        x.store(value + 1, SeqCst);
        other.join().unwrap();
    });
    assert_ne!(report.verdict, Verdict::Verified, "{report}");
}

struct LocksOnDrop(StdArc<Mutex<u32>>);

impl Drop for LocksOnDrop {
    fn drop(&mut self) {
        *self.0.lock().unwrap() += 1;
    }
}

#[test]
fn an_execution_that_is_cut_short_runs_no_statement_it_should_not() {
    let report = check().preemption_bound(2).run(|| {
        let mutex = StdArc::new(Mutex::new(0));
        let spawn = |value: LocksOnDrop| {
            thread::spawn(move || {
                for _ in 0..2 {
                    *value.0.lock().unwrap() += 1;
                }
            })
        };
        let threads: Vec<_> = (0..2).map(|_| spawn(LocksOnDrop(mutex.clone()))).collect();
        let value = LocksOnDrop(mutex.clone());
        *value.0.lock().unwrap() += 1;
        for thread in threads {
            thread.join().unwrap();
        }
    });
    assert_eq!(report.verdict, Verdict::NoFinding, "{report}");
}

#[test]
fn shares_that_are_not_the_last_commute() {
    let report = check().strategy(Strategy::Optimal).run(|| {
        let cells: Arc<Vec<_>> = Arc::new((0..5).map(|_| AtomicUsize::new(0)).collect());
        let spawn = |i: usize| {
            let cells = cells.clone();
            thread::spawn(move || {
                cells[i].store(1, SeqCst);
                cells[(i + 1) % 5].load(SeqCst);
            })
        };
        let threads: Vec<_> = (0..5).map(spawn).collect();
        for thread in threads {
            thread.join().unwrap();
        }
    });
    // Two outcomes of each of five reads, less the one that would form a cycle.
    assert_eq!((report.verdict, report.executions), (Verdict::Verified, 31), "{report}");
}

#[test]
fn writing_inside_an_access_of_the_same_thread_is_told() {
    let report = check().run(|| {
        let cell = UnsafeCell::new(0);
        // SAFETY: not used.
        cell.with_mut(|_| cell.with_mut(|p| unsafe { *p = 1 }));
    });
    assert_eq!(report.verdict, Verdict::Finding, "{report}");
    let message = report.findings[0].message();
    assert!(message.contains("a cell is written (UnsafeCell::with_mut) inside a closure"), "{message}");
    let report = check().run(|| {
        let cell = UnsafeCell::new(0);
        cell.with(|_| cell.with(|_| ()));
        cell.with_mut(|_| ());
    });
    assert_eq!(report.verdict, Verdict::Verified, "{report}");
}

#[test]
fn an_access_in_the_middle_of_another_is_a_race_even_if_others_order_it() {
    let report = check().run(|| {
        let shared = StdArc::new((Shared(UnsafeCell::new(0), AtomicBool::new(false)), AtomicBool::new(false)));
        let shared2 = shared.clone();
        let reader = thread::spawn(move || {
            while !shared2.1.load(Acquire) {
                thread::yield_now();
            }
            shared2.0.0.with(|_| ());
            shared2.0.1.store(true, Release);
        });
        shared.0.0.with_mut(|_| {
            shared.1.store(true, Release);
            while !shared.0.1.load(Acquire) {
                thread::yield_now();
            }
        });
        reader.join().unwrap();
    });
    assert_eq!(report.verdict, Verdict::Finding, "{report}");
}

/// What is said of threads that no object of Ordain's connects.
fn told_blind(report: &Report) {
    assert_eq!(report.verdict, Verdict::NoFinding, "{report}");
    assert!(
        report.to_string().contains("warning: no two threads touched the same object that Ordain sees"),
        "{report}"
    );
}

/// Two threads that add to a counter of std, which loses an update if one loads before the other stores.
fn std_atomics() {
    let shared = StdArc::new(std::sync::atomic::AtomicUsize::new(0));
    let threads: Vec<_> = (0..2)
        .map(|_| {
            let shared = shared.clone();
            thread::spawn(move || {
                let value = shared.load(SeqCst);
                thread::yield_now();
                shared.store(value + 1, SeqCst);
            })
        })
        .collect();
    threads.into_iter().for_each(|t| t.join().unwrap());
}

#[test]
fn threads_that_share_nothing_that_is_seen_are_not_verified() {
    told_blind(&check().run(|| {
        let shared = StdArc::new(std::sync::Mutex::new(0));
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let shared = shared.clone();
                thread::spawn(move || *shared.lock().unwrap() += 1)
            })
            .collect();
        threads.into_iter().for_each(|t| t.join().unwrap());
    }));
    told_blind(&check().run(std_atomics));
    told_blind(&check().workers(2).run(std_atomics));
    told_blind(&check().strategy(Strategy::Dfs).run(std_atomics));
    // Objects that one thread alone uses connect nobody.
    told_blind(&check().run(|| {
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| *Mutex::new(0).lock().unwrap() += 1);
            }
        });
    }));
}

#[test]
fn one_object_in_common_and_one_thread_alone_are_verified() {
    let report = check().run(|| {
        let shared = StdArc::new(AtomicUsize::new(0));
        let shared2 = shared.clone();
        let other = thread::spawn(move || shared2.store(1, SeqCst));
        shared.load(SeqCst);
        other.join().unwrap();
    });
    assert_eq!(report.verdict, Verdict::Verified, "{report}");
    let report = check().run(|| *Mutex::new(0).lock().unwrap() += 1);
    assert_eq!(report.verdict, Verdict::Verified, "{report}");
}

#[test]
fn threads_of_std_are_noticed_whatever_they_use() {
    let told = |program: fn()| {
        let report = check().run(program);
        assert_eq!(report.verdict, Verdict::NoFinding, "{report}");
        assert!(report.to_string().contains("a thread that is none of the check's"), "{report}");
    };
    told(|| {
        let cell = StdArc::new(OnceLock::new());
        let cell2 = cell.clone();
        std::thread::spawn(move || *cell2.get_or_init(|| 1)).join().unwrap();
    });
    told(|| {
        let lazy = StdArc::new(LazyLock::new(|| 1));
        let lazy2 = lazy.clone();
        assert_eq!(std::thread::spawn(move || **lazy2).join().unwrap(), 1);
    });
    told(|| {
        let value = Arc::new(1);
        let value2 = value.clone();
        std::thread::spawn(move || drop(value2)).join().unwrap();
    });
}

/// Must be a deadlock, told soon although the tear-down does not want to end.
fn is_a_deadlock(program: fn()) {
    let begin = std::time::Instant::now();
    for _ in 0..2 {
        let report = check().run(program);
        assert_eq!(report.findings[0].kind(), &ordain::FindingKind::Deadlock, "{report}");
    }
    assert!(begin.elapsed() < std::time::Duration::from_secs(20));
}

/// Calls a function again and again when it is dropped, until that says that it is done.
struct SpinsOnDrop<F: FnMut() -> bool>(F);
impl<F: FnMut() -> bool> Drop for SpinsOnDrop<F> {
    fn drop(&mut self) {
        while !(self.0)() {}
    }
}

#[test]
fn a_destructor_that_spins_does_not_hang_the_tear_down() {
    fn deadlock(is_done: fn(&AtomicUsize) -> bool) {
        let flag = StdArc::new(AtomicUsize::new(0));
        let stuck = thread::spawn(move || {
            let _spins = SpinsOnDrop(|| is_done(&flag));
            thread::park();
        });
        stuck.join().unwrap();
    }
    is_a_deadlock(|| deadlock(|flag| flag.load(SeqCst) == 1));
    is_a_deadlock(|| {
        deadlock(|flag| {
            thread::yield_now();
            flag.load(SeqCst) == 1
        });
    });
    is_a_deadlock(|| {
        deadlock(|flag| {
            thread::sleep(std::time::Duration::from_secs(1));
            flag.load(SeqCst) == 1
        });
    });
}

#[test]
fn a_thread_that_catches_what_ends_it_does_not_hang_the_tear_down() {
    is_a_deadlock(|| {
        let stuck = thread::spawn(|| while std::panic::catch_unwind(thread::park).is_err() {});
        stuck.join().unwrap();
    });
    is_a_deadlock(|| {
        let flag = AtomicUsize::new(0);
        thread::park();
        while flag.load(SeqCst) == 0 {}
    });
}

#[test]
fn a_destructor_that_spins_sees_what_other_destructors_do() {
    is_a_deadlock(|| {
        let flag = StdArc::new(AtomicUsize::new(0));
        let flag2 = flag.clone();
        let _sets = SpinsOnDrop(move || flag2.swap(1, SeqCst) < 2);
        let stuck = thread::spawn(move || {
            let _spins = SpinsOnDrop(|| {
                thread::yield_now();
                flag.load(SeqCst) == 1
            });
            thread::park();
        });
        stuck.join().unwrap();
    });
}
