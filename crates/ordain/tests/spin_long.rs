//! Loops of any kind that wait for another thread never reach the step limit.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{outcomes_of, quiet};
use ordain::sync::Mutex;
use ordain::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use ordain::sync::mpsc::channel;
use ordain::{Report, Strategy, Verdict, thread};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Every execution must end long before this many steps.
fn verify(program: impl Fn() + 'static) -> Report {
    let report = quiet().max_steps(5000).run(program);
    report.expect_no_finding();
    assert_eq!(report.verdict, Verdict::Verified, "{report}");
    report
}

#[test]
fn a_loop_of_updates_that_change_nothing_waits() {
    verify(|| {
        let x = Arc::new(AtomicUsize::new(0));
        let y = x.clone();
        let other = thread::spawn(move || y.store(1, SeqCst));
        while x.fetch_or(0, SeqCst) == 0 {
            thread::yield_now();
        }
        other.join().unwrap();
    });
}

#[test]
fn loops_without_a_hint_wait_whatever_they_look_with() {
    verify(|| {
        let x = Arc::new(AtomicUsize::new(0));
        let y = x.clone();
        let other = thread::spawn(move || y.store(1, SeqCst));
        while x.fetch_or(0, SeqCst) == 0 {}
        other.join().unwrap();
    });
    verify(|| {
        let permits = Arc::new(ordain::sync::Semaphore::new(0));
        let permits2 = permits.clone();
        let other = thread::spawn(move || permits2.release(1));
        while !permits.try_acquire() {}
        other.join().unwrap();
    });
    verify(|| {
        let (sender, receiver) = channel();
        let other = thread::spawn(move || sender.send(1).unwrap());
        while receiver.try_recv().is_err() {}
        other.join().unwrap();
    });
    verify(|| {
        let lock = Arc::new(ordain::sync::RwLock::new(0));
        let lock2 = lock.clone();
        let other = thread::spawn(move || drop(lock2.write().unwrap()));
        while lock.try_read().is_err() {}
        other.join().unwrap();
    });
}

#[test]
fn a_loop_that_waits_for_the_only_share_ends() {
    for pauses in [false, true] {
        verify(move || {
            let value = ordain::sync::Arc::new(0);
            let value2 = value.clone();
            let other = thread::spawn(move || drop(value2));
            while ordain::sync::Arc::strong_count(&value) > 1 {
                if pauses {
                    thread::yield_now();
                }
            }
            other.join().unwrap();
        });
    }
}

#[test]
fn loops_over_many_cells_wait() {
    for cells in [3, 40] {
        verify(move || {
            let cells: Arc<Vec<_>> = Arc::new((0..cells).map(|_| AtomicUsize::new(0)).collect());
            let cells2 = cells.clone();
            let other = thread::spawn(move || cells2[1].store(1, SeqCst));
            while cells.iter().all(|c| c.load(SeqCst) == 0) {
                thread::yield_now();
            }
            other.join().unwrap();
        });
    }
}

#[test]
fn a_loop_that_reads_one_cell_at_two_places_waits() {
    verify(|| {
        let x = Arc::new(AtomicUsize::new(0));
        let y = x.clone();
        let other = thread::spawn(move || y.store(3, SeqCst));
        while x.load(SeqCst) != 3 && x.load(SeqCst) < 2 {}
        other.join().unwrap();
    });
}

#[test]
fn a_loop_that_polls_a_lock_without_a_hint_never_reaches_the_step_limit() {
    let report = quiet().max_steps(2000).max_executions(50).run(|| {
        let state = Arc::new(Mutex::new(0));
        let state2 = state.clone();
        let other = thread::spawn(move || *state2.lock().unwrap() = 1);
        while *state.lock().unwrap() == 0 {}
        other.join().unwrap();
    });
    report.expect_no_finding();
}

#[test]
fn two_that_swap_while_a_third_holds_the_lock_wait() {
    let report = quiet().max_steps(5000).max_executions(3000).run(|| {
        let lock = Arc::new(AtomicUsize::new(0));
        let take = |lock: Arc<AtomicUsize>| {
            move || {
                while lock.swap(1, SeqCst) == 1 {
                    thread::yield_now();
                }
                lock.store(0, SeqCst);
            }
        };
        let others: Vec<_> = (0..2).map(|_| thread::spawn(take(lock.clone()))).collect();
        take(lock.clone())();
        others.into_iter().for_each(|t| t.join().unwrap());
    });
    report.expect_no_finding();
}

/// What main sees of a second cell behind a loop that looks and pauses before it decides.
#[test]
fn what_comes_behind_a_loop_is_explored_whatever_the_others_can_still_do() {
    let seen = outcomes_of(quiet(), || {
        let cells = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0)));
        let cells2 = cells.clone();
        let other = thread::spawn(move || {
            cells2.0.store(1, SeqCst);
            cells2.1.store(1, SeqCst);
        });
        loop {
            let ready = cells.0.load(SeqCst) != 0;
            thread::yield_now();
            if ready {
                break;
            }
        }
        let seen = cells.1.load(SeqCst);
        other.join().unwrap();
        seen
    });
    assert_eq!(seen, BTreeSet::from([0, 1]));
}

/// Must be verified in few executions, whatever the step limit is, and the verdict names what was assumed.
fn takes_turns(most: u64, program: fn()) {
    for steps in [1000, 1_000_000] {
        for strategy in [Strategy::Optimal, Strategy::Source, Strategy::Dpor] {
            let report = quiet().strategy(strategy).max_steps(steps).run(program);
            report.expect_no_finding();
            assert_eq!(report.verdict, Verdict::Verified, "{report}");
            assert!(report.executions <= most, "{report}");
            assert!(report.to_string().contains("were taken to let others go first"), "{report}");
        }
    }
}

#[test]
fn a_loop_that_sends_until_nobody_receives_ends() {
    takes_turns(100, || {
        let (sender, receiver) = channel();
        let other = thread::spawn(move || drop(receiver));
        while sender.send(1).is_ok() {}
        other.join().unwrap();
    });
    takes_turns(400, || {
        let (sender, receiver) = channel();
        let other = thread::spawn(move || {
            receiver.recv().unwrap();
            receiver.recv().unwrap();
        });
        while sender.send(1).is_ok() {}
        other.join().unwrap();
    });
}

#[test]
fn two_that_send_until_nobody_receives_end() {
    let report = quiet().strategy(Strategy::Optimal).max_executions(2000).run(|| {
        let (sender, receiver) = channel();
        let sender2 = sender.clone();
        let other = thread::spawn(move || while sender2.send(1).is_ok() {});
        let third = thread::spawn(move || drop(receiver));
        while sender.send(1).is_ok() {}
        other.join().unwrap();
        third.join().unwrap();
    });
    report.expect_no_finding();
}

#[test]
fn a_loop_that_counts_until_it_is_stopped_ends() {
    takes_turns(200, || {
        let x = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0)));
        let y = x.clone();
        let other = thread::spawn(move || y.1.store(1, SeqCst));
        while x.1.load(SeqCst) == 0 {
            x.0.fetch_add(1, SeqCst);
        }
        other.join().unwrap();
    });
}

/// Two keep each other busy, and a third stops them: it gets its turn.
#[test]
fn threads_that_see_each_other_change_something_let_a_third_go_first() {
    for strategy in [Strategy::Optimal, Strategy::Random, Strategy::Pct, Strategy::Portfolio] {
        let report = quiet().strategy(strategy).max_executions(20).run(|| {
            let x = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0)));
            let count = |x: &(AtomicUsize, AtomicUsize)| {
                while x.1.load(SeqCst) == 0 {
                    x.0.fetch_add(1, SeqCst);
                }
            };
            let (y, z) = (x.clone(), x.clone());
            let second = thread::spawn(move || count(&y));
            let third = thread::spawn(move || z.1.store(1, SeqCst));
            count(&x);
            second.join().unwrap();
            third.join().unwrap();
        });
        report.expect_no_finding();
    }
}

/// One gives way a few times and then stops the other: both get their turns, whoever is held.
#[test]
fn who_gives_way_and_who_gets_something_done_go_on_by_turns() {
    for strategy in [Strategy::Optimal, Strategy::Random, Strategy::Pct] {
        let report = quiet().strategy(strategy).max_executions(50).run(|| {
            let x = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0)));
            let y = x.clone();
            let other = thread::spawn(move || {
                (0..10).for_each(|_| thread::yield_now());
                y.1.store(1, SeqCst);
            });
            while x.1.load(SeqCst) == 0 {
                x.0.fetch_add(1, SeqCst);
            }
            other.join().unwrap();
        });
        report.expect_no_finding();
    }
}

/// A loop that ends by itself is explored in full, however long it is: main may see any of its values.
#[test]
fn a_long_loop_that_gets_something_done_is_explored_in_full() {
    let seen = outcomes_of(quiet().strategy(Strategy::Optimal), || {
        let x = Arc::new(AtomicUsize::new(0));
        let y = x.clone();
        let other = thread::spawn(move || (1..=300).for_each(|i| y.store(i, SeqCst)));
        let seen = x.load(SeqCst);
        other.join().unwrap();
        seen
    });
    assert_eq!(seen, (0..=300).collect());
}

#[test]
fn a_pipeline_of_many_messages_is_one_class_and_assumes_nothing() {
    let report = verify(|| {
        let (sender, receiver) = channel();
        let other = thread::spawn(move || (0..300).for_each(|i| sender.send(i).unwrap()));
        assert_eq!(receiver.iter().sum::<i32>(), 299 * 150);
        other.join().unwrap();
    });
    assert!(!report.to_string().contains("let others go first"), "{report}");
}

#[test]
fn a_loop_that_nobody_else_could_end_reaches_the_step_limit() {
    common::finding_of(quiet().max_steps(5000), ordain::FindingKind::StepLimit, || {
        let (sender, receiver) = channel();
        let other = thread::spawn(move || receiver.recv().unwrap());
        while sender.send(1).is_ok() || sender.send(2).is_err() {}
        other.join().unwrap();
    });
}

/// In kind time a thread that gets something done does so before time passes.
#[test]
fn in_kind_time_a_long_loop_ends_before_a_sleep() {
    let report = quiet().kind_time(true).run(|| {
        let x = Arc::new(AtomicUsize::new(0));
        let y = x.clone();
        let other = thread::spawn(move || (1..=500).for_each(|i| y.store(i, SeqCst)));
        thread::sleep(std::time::Duration::from_secs(1));
        assert_eq!(x.load(SeqCst), 500);
        other.join().unwrap();
    });
    report.expect_no_finding();
    assert_eq!(report.verdict, Verdict::Verified, "{report}");
}
