//! The bugs of the benchmark programs are found with default settings, and soon.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod tool {
    pub(crate) use ordain::sync::atomic::AtomicUsize;
    pub(crate) use ordain::sync::{Condvar, Mutex};
    pub(crate) use ordain::thread;
    pub(crate) use std::sync::Arc;
}
#[allow(dead_code, unreachable_pub, clippy::redundant_closure, reason = "written for all tools")]
#[path = "../../../benches/programs.rs"]
mod programs;

use ordain::FindingKind::{Deadlock, Panic};
use ordain::{Check, FindingKind, Verdict};

/// Executions until the bug is found.
fn executions(check: Check, kind: FindingKind, name: &'static str, args: &'static [usize]) -> u64 {
    let report = check.schedule_directory(None).run(move || programs::run(name, args));
    assert_eq!(report.verdict, Verdict::Finding, "{name} {args:?}: {report}");
    assert_eq!(*report.findings[0].kind(), kind, "{name} {args:?}: {report}");
    report.executions + report.blocked
}

/// The bugs that are found soon: in fewer than a hundred executions.
const SOON: &[(FindingKind, &str, &[usize])] = &[
    (Panic, "lost_update", &[2, 1]),
    (Panic, "lost_update", &[2, 5]),
    (Panic, "lost_update", &[3, 1]),
    (Panic, "lost_update", &[4, 2]),
    (Deadlock, "abba", &[0]),
    (Deadlock, "abba", &[5]),
    (Deadlock, "abba", &[20]),
    (Deadlock, "philosophers", &[2, 0]),
    (Deadlock, "philosophers", &[3, 0]),
    (Deadlock, "philosophers", &[4, 0]),
    (Deadlock, "philosophers", &[5, 0]),
    (Deadlock, "philosophers", &[6, 0]),
    (Deadlock, "philosophers", &[7, 0]),
    (Deadlock, "buffer", &[2, 2, 1, 0]),
    (Deadlock, "buffer", &[3, 3, 1, 0]),
    (Panic, "needle", &[1]),
    (Panic, "needle", &[5]),
];

#[test]
fn soon_by_default() {
    for (kind, name, args) in SOON {
        let count = executions(Check::new(), *kind, name, args);
        assert!(count < 100, "{name} {args:?}: {count}");
    }
}

#[test]
fn soon_with_a_budget() {
    for (kind, name, args) in SOON {
        let count = executions(Check::new().max_executions(1000), *kind, name, args);
        assert!(count < 100, "{name} {args:?}: {count}");
    }
}

/// Half of all classes come before the one in which each philosopher has one fork.
#[test]
fn eight_philosophers_take_longer() {
    assert!(executions(Check::new(), Deadlock, "philosophers", &[8, 0]) <= 128);
    assert!(executions(Check::new().max_executions(10_000), Deadlock, "philosophers", &[8, 0]) <= 256);
}

/// The optimal search goes through the private steps first; sampling need not.
#[test]
fn a_needle_behind_twenty_steps_wants_sampling() {
    assert!(executions(Check::new().max_executions(1000), Panic, "needle", &[20]) < 100);
}
