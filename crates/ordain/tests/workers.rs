//! Checks with several workers find what one finds: the same classes, each once, and the same findings.
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

use ordain::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use ordain::sync::{Arc, Mutex};
use ordain::{Check, FindingKind, Report, Strategy, Verdict};
use std::time::Duration;

fn explore(workers: usize, strategy: Strategy, program: impl Fn() + Send + Sync + 'static) -> Report {
    let check = Check::new().strategy(strategy).schedule_directory(None).workers(workers);
    let report = check.run(program);
    assert_eq!(report.verdict, Verdict::Verified, "{report} {:?}", report.findings.first().map(ToString::to_string));
    report
}

#[test]
fn classes_are_those_of_one_worker() {
    for workers in [2, 3, 7] {
        for strategy in [Strategy::Optimal, Strategy::Source] {
            assert_eq!(explore(workers, strategy, || programs::readers(9)).executions, 512);
            assert_eq!(explore(workers, strategy, || programs::lastzero(8)).executions, 704);
            assert_eq!(explore(workers, strategy, || programs::indexer(13)).executions, 64);
            assert_eq!(explore(workers, strategy, || programs::mutex_counter(3, 2)).executions, 90);
            assert_eq!(explore(workers, strategy, || programs::philosophers(5, true)).executions, 30);
        }
        assert_eq!(explore(workers, Strategy::Optimal, || programs::lastzero(10)).blocked, 0);
    }
}

#[test]
fn statics_have_the_same_names_in_all_workers() {
    static FIRST: AtomicUsize = AtomicUsize::const_new(0);
    static SECOND: AtomicUsize = AtomicUsize::const_new(0);
    // Which of the two is met first depends on the schedule.
    let program = || {
        let threads: Vec<_> = (0..4)
            .map(|n| {
                ordain::thread::spawn(move || {
                    let (a, b) = if n % 2 == 0 { (&FIRST, &SECOND) } else { (&SECOND, &FIRST) };
                    a.fetch_add(1, SeqCst);
                    b.fetch_add(1, SeqCst);
                })
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
    };
    let one = Check::new().schedule_directory(None).run(program).executions;
    for workers in [2, 5] {
        assert_eq!(explore(workers, Strategy::Optimal, program).executions, one);
    }
}

#[test]
fn programs_that_would_share_values_are_explored_by_one_worker() {
    static LOCK: Mutex<u32> = Mutex::const_new(0);
    static EARLY: AtomicUsize = AtomicUsize::const_new(0);
    let count = || *LOCK.lock().unwrap() += 1;
    let always = move || {
        let other = ordain::thread::spawn(count);
        count();
        other.join().unwrap();
    };
    let report = explore(4, Strategy::Optimal, always);
    assert_eq!((report.executions, report.workers), (2, 1));
    // The lock is met only if the other thread comes first.
    let sometimes = move || {
        let other = ordain::thread::spawn(|| EARLY.store(1, SeqCst));
        if EARLY.load(SeqCst) == 1 {
            count();
        }
        other.join().unwrap();
    };
    let report = explore(4, Strategy::Optimal, sometimes);
    assert_eq!((report.executions, report.workers), (2, 1));
}

/// Two threads that count without a lock, beside others.
fn lost_update() {
    let x = Arc::new(AtomicUsize::new(0));
    let threads: Vec<_> = (0..3)
        .map(|_| {
            let x = x.clone();
            ordain::thread::spawn(move || {
                let old = x.load(SeqCst);
                x.store(old + 1, SeqCst);
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!(x.load(SeqCst), 3);
}

#[test]
fn the_first_finding_ends_the_check_and_replays() {
    for strategy in [Strategy::Optimal, Strategy::Source, Strategy::Portfolio, Strategy::Random, Strategy::Pct] {
        let report = Check::new().strategy(strategy).schedule_directory(None).workers(3).run(lost_update);
        assert_eq!(report.verdict, Verdict::Finding, "{strategy:?}: {report}");
        assert_eq!(report.findings.len(), 1, "{strategy:?}");
        // It was confirmed by another executor than that which found it.
        assert_eq!(*report.findings[0].kind(), FindingKind::Panic, "{strategy:?}");
    }
}

#[test]
fn going_on_explores_everything_and_counts_all_that_misbehaves() {
    let one = Check::new().keep_going(true).schedule_directory(None).run(lost_update);
    let four = Check::new().keep_going(true).schedule_directory(None).workers(4).run(lost_update);
    assert_eq!(four.executions, one.executions);
    assert_eq!(four.failing, one.failing);
    assert_eq!(four.findings.len(), one.findings.len());
}

#[test]
fn budgets_hold() {
    let check = Check::new().strategy(Strategy::Optimal).max_executions(100).schedule_directory(None);
    let report = check.workers(2).run(|| programs::readers(9));
    assert_eq!(report.verdict, Verdict::NoFinding);
    // Each of the others may be in the middle of one.
    assert!((100..=101).contains(&report.executions), "{}", report.executions);
    let estimate = report.estimate.expect("an estimate");
    assert!((estimate.log10 - 512f64.log10()).abs() < 0.3, "{estimate:?}");
    let sampled = Check::new().strategy(Strategy::Random).max_executions(1_000).schedule_directory(None);
    let sampled = sampled.workers(2).run(|| programs::readers(9));
    assert_eq!(sampled.executions, 1_000);
}

/// Two threads and a child of each write down that they were here; one of very many orders is wrong, and in one more a lock is
/// held for ever. Which child comes into being first depends on the schedule, and so does what is learned of a loop that is long.
fn rare_order() {
    let order = Arc::new(Mutex::new(String::new()));
    let seen = Arc::new(AtomicUsize::new(0));
    let parents = ["Aa", "Bb"].map(|names| {
        let (order, seen) = (order.clone(), seen.clone());
        ordain::thread::spawn(move || {
            order.lock().unwrap().push_str(&names[..1]);
            let other = order.clone();
            let child = ordain::thread::spawn(move || {
                for _ in 0..5 {
                    other.lock().unwrap().push_str(&names[1..]);
                }
            });
            for _ in 0..20 {
                seen.load(SeqCst);
            }
            order.lock().unwrap().push_str(&names[..1]);
            if order.lock().unwrap().len() % 2 == 0 {
                // The number of steps tells schedules apart.
                seen.load(SeqCst);
            }
            child.join().unwrap();
        })
    });
    for parent in parents {
        parent.join().unwrap();
    }
    let order = order.lock().unwrap();
    assert_ne!(*order, "BAbababababaBA");
    if *order == "ABabababababAB" {
        let lock = Mutex::new(());
        let held = lock.lock().unwrap();
        drop(lock.lock());
        drop(held);
    }
}

/// What must not depend on timing.
fn essence(report: &Report) -> (u64, u64, usize, usize, u64, Vec<String>) {
    let findings = report.findings.iter().map(ToString::to_string).collect();
    (report.executions, report.steps, report.threads, report.depth, report.failing, findings)
}

#[test]
fn a_seed_gives_the_same_result_with_any_number_of_workers() {
    let mut late = 0;
    for strategy in [Strategy::Random, Strategy::Urw, Strategy::Pos, Strategy::Pct] {
        for seed in 0..4 {
            let check = Check::new().strategy(strategy).seed(seed).schedule_directory(None);
            let check = check.max_executions(5_000).shrink_time(Duration::ZERO);
            let one = check.clone().run(rare_order);
            late += u64::from(!one.findings.is_empty() && one.executions > 1_000);
            for workers in [2, 3, 3] {
                let several = check.clone().workers(workers).run(rare_order);
                assert_eq!(essence(&several), essence(&one), "{strategy:?} {seed} with {workers} workers");
            }
        }
    }
    assert!(late > 1, "several workers must have drawn before something was found");
}

#[test]
fn going_on_finds_the_same_in_the_same_order_with_any_number_of_workers() {
    let mut most = 0;
    for (executions, seed) in [(1, 2), (255, 3), (256, 4), (257, 5), (20_000, 1)] {
        let check = Check::new().strategy(Strategy::Random).keep_going(true).seed(seed).schedule_directory(None);
        let check = check.max_executions(executions).shrink_time(Duration::ZERO);
        let one = check.clone().run(rare_order);
        assert_eq!(one.executions, executions);
        most = most.max(one.findings.len());
        for workers in [2, 3] {
            let several = check.clone().workers(workers).run(rare_order);
            assert_eq!(essence(&several), essence(&one), "{executions} executions with {workers} workers");
        }
    }
    assert_eq!(most, 2, "both are found");
}

#[test]
fn what_is_noticed_is_told_when_time_is_over() {
    let check = Check::new().strategy(Strategy::Random).keep_going(true).schedule_directory(None);
    let report = check.max_time(Duration::from_millis(200)).workers(3).run(lost_update);
    assert_eq!((report.verdict, report.findings.len()), (Verdict::Finding, 1));
    assert!(report.failing > 0 && report.executions > report.failing);
}

#[test]
fn a_long_loop_that_one_worker_learns_of_is_known_to_all() {
    let program = || {
        let x = Arc::new(AtomicUsize::new(0));
        let y = x.clone();
        let other = ordain::thread::spawn(move || y.store(1, SeqCst));
        for _ in 0..6 {
            let _ = x.load(SeqCst);
        }
        other.join().unwrap();
    };
    let one = Check::new().schedule_directory(None).run(program).executions;
    assert_eq!(explore(3, Strategy::Optimal, program).executions, one);
}

#[test]
fn what_is_run_again_is_counted_once() {
    for workers in [1, 2, 3] {
        let check = Check::new().keep_going(true).shrink_time(Duration::ZERO).schedule_directory(None);
        // The loop shows that it is long, and the search begins again.
        let report = check.workers(workers).run(|| {
            let stuck = ordain::thread::spawn(ordain::thread::park);
            let busy = ordain::thread::spawn(|| (0..3).for_each(|_| ordain::thread::yield_now()));
            stuck.join().unwrap();
            busy.join().unwrap();
        });
        assert_eq!((report.executions, report.failing), (1, 1), "{workers} {report}");
    }
}

#[test]
fn an_estimate_that_the_search_refutes_is_not_told() {
    fn dance(mine: &AtomicUsize, theirs: &AtomicUsize) {
        loop {
            mine.store(1, SeqCst);
            if theirs.load(SeqCst) == 0 {
                break;
            }
            mine.store(0, SeqCst);
            ordain::thread::yield_now();
        }
        mine.store(0, SeqCst);
    }
    let check = Check::new().strategy(Strategy::Optimal).max_time(Duration::from_secs(1)).schedule_directory(None);
    let report = check.workers(2).run(|| {
        let flags = std::sync::Arc::new((AtomicUsize::new(0), AtomicUsize::new(0)));
        let flags2 = flags.clone();
        let other = ordain::thread::spawn(move || dance(&flags2.1, &flags2.0));
        dance(&flags.0, &flags.1);
        other.join().unwrap();
    });
    assert_eq!(report.verdict, Verdict::NoFinding, "{report}");
    assert!(!report.to_string().contains("about 100 %"), "{report}");
}
