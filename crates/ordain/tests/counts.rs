//! Numbers of executions that must come out exactly, on the benchmark programs.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[allow(unreachable_pub)]
mod tool {
    pub use ordain::sync::atomic::AtomicUsize;
    pub use ordain::sync::{Condvar, Mutex};
    pub use ordain::thread;
    pub use std::sync::Arc;
}
#[path = "../../../benches/programs.rs"]
#[allow(dead_code, unreachable_pub, clippy::redundant_closure, reason = "written for all tools")]
// Shared with other tools, and not every program is run here.
mod programs;

use ordain::{Check, Report, Strategy, Verdict};

fn explore(strategy: Strategy, program: impl Fn() + 'static) -> Report {
    let report = Check::new().strategy(strategy).schedule_directory(None).run(program);
    report.expect_no_finding();
    assert_eq!(report.verdict, Verdict::Verified);
    report
}

/// Threads that share nothing have one class, and cannot be verified: nothing tells them from threads that share what is not seen.
fn assert_apart(program: impl Fn() + 'static) {
    let report = Check::new().schedule_directory(None).run(program);
    assert_eq!((report.verdict, report.executions, report.blocked), (Verdict::NoFinding, 1, 0), "{report}");
}

/// Runs the optimal search, which must cut nothing short.
fn optimal(program: impl Fn() + 'static) -> u64 {
    let report = explore(Strategy::Optimal, program);
    assert_eq!(report.blocked, 0);
    report.executions
}

#[test]
fn readers() {
    for n in 1..=13 {
        assert_eq!(optimal(move || programs::readers(n)), 1 << n, "readers({n})");
    }
}

#[test]
fn lastzero() {
    for n in 2..=12 {
        assert_eq!(optimal(move || programs::lastzero(n)), (n as u64 + 3) << (n - 2), "lastzero({n})");
    }
}

#[test]
fn indexer() {
    for n in [2, 11] {
        assert_apart(move || programs::indexer(n));
    }
    for (n, classes) in [(12, 8), (13, 64), (14, 512), (15, 4096)] {
        assert_eq!(optimal(move || programs::indexer(n)), classes, "indexer({n})");
    }
}

#[test]
fn mutex_counter() {
    for (n, k, classes) in [(2, 1, 2), (2, 2, 6), (2, 3, 20), (3, 1, 6), (3, 2, 90), (4, 1, 24)] {
        assert_eq!(optimal(move || programs::mutex_counter(n, k)), classes, "mutex_counter({n}, {k})");
    }
}

#[test]
fn philosophers_in_order() {
    for (n, classes) in [(2, 2), (3, 6), (4, 14), (5, 30)] {
        assert_eq!(optimal(move || programs::philosophers(n, true)), classes, "philosophers({n})");
    }
}

#[test]
fn independent() {
    assert_apart(|| programs::independent(4, 2));
}

#[test]
fn fan_in() {
    let mut factorial = 1;
    for n in 1..=6 {
        factorial *= n as u64;
        let classes = optimal(move || {
            let (sender, receiver) = ordain::sync::mpsc::channel();
            let senders: Vec<_> = (0..n)
                .map(|i| {
                    let sender = sender.clone();
                    ordain::thread::spawn(move || sender.send(i).unwrap())
                })
                .collect();
            let mut received: Vec<usize> = (0..n).map(|_| receiver.recv().unwrap()).collect();
            received.sort_unstable();
            assert_eq!(received, (0..n).collect::<Vec<_>>());
            for sender in senders {
                sender.join().unwrap();
            }
        });
        assert_eq!(classes, factorial, "fan-in of {n}");
    }
}

/// Executions that source-DPOR cuts short, lowest thread first.
#[test]
fn source_dpor_cuts_short_as_many_as_known() {
    let known = [
        (2, 5, 0),
        (3, 12, 1),
        (4, 28, 7),
        (5, 64, 33),
        (6, 144, 131),
        (7, 320, 473),
        (8, 704, 1_611),
        (9, 1_536, 5_281),
        (10, 3_328, 16_867),
        (11, 7_168, 52_905),
        (12, 15_360, 163_835),
    ];
    for (n, complete, cut) in known {
        let report = explore(Strategy::Source, move || programs::lastzero(n));
        assert_eq!((report.executions, report.blocked), (complete, cut), "lastzero({n})");
    }
    let report = explore(Strategy::Source, || programs::readers(8));
    assert_eq!((report.executions, report.blocked), (256, 0));
}

#[test]
fn all_exhaustive_strategies_agree() {
    for (name, args) in
        [("mutex_counter", &[2, 2][..]), ("readers", &[2]), ("lastzero", &[2]), ("buffer", &[1, 1, 1, 1])]
    {
        let classes = |strategy| explore(strategy, move || programs::run(name, args)).executions;
        let optimal = classes(Strategy::Optimal);
        assert_eq!(classes(Strategy::Source), optimal, "{name}");
        assert_eq!(classes(Strategy::Dpor), optimal, "{name}");
        assert!(classes(Strategy::Dfs) > optimal, "{name}");
    }
}
