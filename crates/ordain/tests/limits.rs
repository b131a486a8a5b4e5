//! The time that a check may take also ends an execution in its midst.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::quiet;
use ordain::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use ordain::{Strategy, Verdict, choose, thread};
use std::sync::Arc;
use std::time::Duration;

const SOON: Duration = Duration::from_millis(30);

/// More steps than can be made.
fn endless() {
    let x = AtomicUsize::new(0);
    while x.fetch_add(1, SeqCst) != usize::MAX {}
}

/// Counts the values that are there.
struct Counted(Arc<std::sync::atomic::AtomicUsize>);

impl Counted {
    fn new(count: &Arc<std::sync::atomic::AtomicUsize>) -> Self {
        count.fetch_add(1, SeqCst);
        Self(count.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, SeqCst);
    }
}

const STRATEGIES: [Strategy; 6] =
    [Strategy::Optimal, Strategy::Source, Strategy::Dpor, Strategy::Dfs, Strategy::Portfolio, Strategy::Random];

#[test]
fn an_execution_without_an_end_is_broken_off_and_does_not_count() {
    for strategy in STRATEGIES {
        let there = Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let there2 = there.clone();
        let report = quiet().strategy(strategy).max_steps(usize::MAX).max_time(SOON).run(move || {
            let _counted = Counted::new(&there2);
            endless();
        });
        assert_eq!((report.executions, report.verdict), (0, Verdict::NoFinding), "{report}");
        assert!(
            report.to_string().starts_with("no verdict: not one execution was complete when the time was over"),
            "{report}"
        );
        assert_eq!(there.load(SeqCst), 0, "{strategy:?}: its values were dropped");
    }
}

#[test]
fn what_was_explored_before_counts() {
    for strategy in [Strategy::Optimal, Strategy::Dfs, Strategy::Dpor] {
        let report = quiet().strategy(strategy).max_steps(usize::MAX).max_time(SOON).run(|| {
            let other = thread::spawn(|| ());
            if choose(3) == 1 {
                endless();
            }
            other.join().unwrap();
        });
        assert!(report.executions > 0, "{report}");
        assert_eq!(report.verdict, Verdict::NoFinding, "{report}");
        assert!(report.to_string().contains("; the time was over"), "{report}");
    }
}

#[test]
fn executions_of_workers_are_broken_off() {
    for strategy in [Strategy::Optimal, Strategy::Portfolio, Strategy::Random] {
        let check = quiet().strategy(strategy).max_steps(usize::MAX).max_time(SOON);
        let report = check.workers(2).run(|| {
            let other = thread::spawn(|| ());
            endless();
            other.join().unwrap();
        });
        assert_eq!((report.executions, report.verdict), (0, Verdict::NoFinding), "{report}");
        assert!(
            report.to_string().starts_with("no verdict: not one execution was complete when the time was over"),
            "{report}"
        );
    }
}

#[test]
fn learning_from_a_long_execution_ends_with_the_time() {
    // Each of many thousand steps races with all of the other thread.
    let report = quiet().strategy(Strategy::Optimal).max_time(SOON).run(|| {
        let x = Arc::new(AtomicUsize::new(0));
        let y = x.clone();
        let count = |x: &AtomicUsize| (0..20_000).for_each(|i| x.store(i, SeqCst));
        let other = thread::spawn(move || count(&y));
        count(&x);
        other.join().unwrap();
    });
    assert_eq!(report.verdict, Verdict::NoFinding, "{report}");
}
