//! Every option of a check does what it says.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{finding_of, outcomes_of, outcomes_with, panic_text, quiet};
use ordain::FindingKind::{Panic, StepLimit};
use ordain::sync::Mutex;
use ordain::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use ordain::{Check, Strategy, Verdict, thread};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// Each of `threads` threads stores its number `k` times and logs it.
fn stores(threads: usize, k: usize, log: &std::sync::Mutex<Vec<usize>>) {
    let x = AtomicUsize::new(0);
    thread::scope(|s| {
        for i in 0..threads {
            let x = &x;
            s.spawn(move || {
                for _ in 0..k {
                    x.store(i, SeqCst);
                    log.lock().unwrap().push(i);
                }
            });
        }
    });
}

/// A lost update: needs one preemption.
fn lost_update() {
    let x = Arc::new(AtomicUsize::new(0));
    let y = x.clone();
    let other = thread::spawn(move || y.store(y.load(SeqCst) + 1, SeqCst));
    x.store(x.load(SeqCst) + 1, SeqCst);
    other.join().unwrap();
    assert_eq!(x.load(SeqCst), 2, "lost");
}

/// Shows its bug only if main is preempted between its stores and the other thread between its loads.
fn two_preemptions() {
    let cell = Arc::new(AtomicUsize::new(0));
    let cell2 = cell.clone();
    let other = thread::spawn(move || {
        let first = cell2.load(SeqCst);
        let second = cell2.load(SeqCst);
        assert!((first, second) != (1, 2), "both seen");
    });
    cell.store(1, SeqCst);
    cell.store(2, SeqCst);
    other.join().unwrap();
}

#[test]
fn the_defaults_stop_at_the_first_finding() {
    let report = quiet().run(|| assert_eq!(ordain::choose(4), 0, "not zero"));
    assert_eq!((report.executions, report.failing, report.findings.len()), (2, 1, 1));
}

#[test]
fn keep_going_counts_what_misbehaves_and_keeps_one_of_each() {
    let report = quiet().keep_going(true).run(|| {
        let pick = ordain::choose(6);
        assert!(pick < 3, "large");
        assert!(pick != 1, "one");
    });
    assert_eq!((report.executions, report.failing, report.findings.len()), (6, 4, 2));
    assert_eq!(report.verdict, Verdict::Finding);
    assert!(report.findings[0].message().ends_with("one") && report.findings[1].message().ends_with("large"));
    assert!(
        report
            .to_string()
            .starts_with("finding: 2 different ones: panic (in 6 executions) [6 executions; 4 misbehaved; "),
        "{report}"
    );
}

#[test]
fn keep_going_explores_as_much_as_without_a_finding() {
    let program = |fails: bool| {
        move || {
            let x = Arc::new(AtomicUsize::new(0));
            let y = x.clone();
            let other = thread::spawn(move || y.store(y.load(SeqCst) + 1, SeqCst));
            x.store(x.load(SeqCst) + 1, SeqCst);
            other.join().unwrap();
            assert!(!fails || x.load(SeqCst) == 2);
        }
    };
    let without = quiet().run(program(false)).executions;
    let with = quiet().keep_going(true).run(program(true));
    assert_eq!(with.executions, without);
    assert!(with.failing > 0 && with.failing < without);
}

#[test]
fn max_executions_ends_the_check() {
    let program = || assert!(ordain::choose(100) < 100);
    let report = quiet().max_executions(10).run(program);
    assert_eq!((report.executions, report.verdict), (10, Verdict::NoFinding));
    assert!(report.to_string().contains("; about 5.0 %"), "{report}");
    assert!(report.to_string().contains("of an estimated 100 classes explored"), "{report}");
    let report = quiet().strategy(Strategy::Optimal).max_executions(101).run(program);
    assert_eq!((report.executions, report.verdict), (100, Verdict::Verified));
    let report = quiet().max_executions(0).run(|| panic!("never runs"));
    assert_eq!((report.executions, report.verdict), (0, Verdict::NoFinding));
}

#[test]
fn a_budget_changes_the_default_strategy() {
    assert_eq!(quiet().run(|| ()).strategy, "optimal");
    assert_eq!(quiet().max_executions(5).run(|| ()).strategy, "portfolio");
    assert_eq!(quiet().max_time(Duration::from_secs(60)).run(|| ()).strategy, "portfolio");
    assert_eq!(quiet().max_executions(5).strategy(Strategy::Pos).run(|| ()).strategy, "pos");
}

#[test]
fn a_budget_that_suffices_verifies() {
    let report = quiet().max_executions(1000).run(|| {
        let mutex = Arc::new(Mutex::new(0));
        let mutex2 = mutex.clone();
        thread::spawn(move || *mutex2.lock().unwrap() += 1);
        *mutex.lock().unwrap() += 1;
    });
    assert_eq!(report.verdict, Verdict::Verified);
}

#[test]
fn max_time_ends_the_check_after_the_execution_that_runs() {
    let report = quiet().max_time(Duration::ZERO).run(|| assert!(ordain::choose(1000) < 1000));
    assert_eq!((report.executions, report.verdict), (1, Verdict::NoFinding));
}

#[test]
fn max_steps_ends_an_execution_with_a_finding() {
    let program = |steps: usize| {
        move || {
            let x = AtomicUsize::new(0);
            (0..steps).for_each(|i| assert_eq!(x.fetch_add(1, SeqCst), i));
        }
    };
    finding_of(quiet().max_steps(50), StepLimit, program(51));
    assert_eq!(quiet().max_steps(50).run(program(40)).verdict, Verdict::Verified);
}

#[test]
fn max_steps_counts_from_the_last_thread_that_began_or_ended() {
    let report = quiet().max_steps(50).run(|| {
        for _ in 0..10 {
            let other = thread::spawn(|| {
                let x = AtomicUsize::new(0);
                (0..20).for_each(|i| assert_eq!(x.fetch_add(1, SeqCst), i));
            });
            other.join().unwrap();
        }
    });
    // The threads share nothing, so there is no finding and no more to say.
    assert_eq!((report.verdict, report.executions), (Verdict::NoFinding, 1));
    assert!(report.depth > 200);
}

/// The orders that a sampler tried, one after the other.
fn sampled(check: Check) -> Vec<Vec<usize>> {
    let log = Arc::new(std::sync::Mutex::new(Vec::new()));
    let runs = Arc::new(std::sync::Mutex::new(Vec::new()));
    let runs2 = runs.clone();
    let report = check.max_executions(50).run(move || {
        log.lock().unwrap().clear();
        stores(3, 3, &log);
        runs2.lock().unwrap().push(log.lock().unwrap().clone());
    });
    assert_eq!((report.executions, report.verdict), (50, Verdict::NoFinding));
    Arc::into_inner(runs).unwrap().into_inner().unwrap()
}

#[test]
fn the_seed_decides_what_samplers_do() {
    for strategy in [Strategy::Random, Strategy::Urw, Strategy::Pct, Strategy::Pos] {
        let run = |seed| sampled(quiet().strategy(strategy).seed(seed));
        let first = run(1);
        assert_eq!(first, run(1), "{strategy:?}: the same seed gives the same executions");
        assert_ne!(first, run(2), "{strategy:?}: another seed gives others");
        let distinct: BTreeSet<_> = first.iter().collect();
        assert!(distinct.len() > 5, "{strategy:?}: {} different ones", distinct.len());
    }
}

#[test]
fn samplers_end_by_themselves() {
    let report = quiet().strategy(Strategy::Random).run(|| ());
    assert_eq!((report.executions, report.verdict), (10_000, Verdict::NoFinding));
}

#[test]
fn pct_depth_is_the_number_of_ordering_constraints() {
    // With depth one there is no change point: threads run by priority, and no update is lost.
    let report = quiet().strategy(Strategy::Pct).pct_depth(1).max_executions(300).run(lost_update);
    assert_eq!(report.verdict, Verdict::NoFinding);
    finding_of(quiet().strategy(Strategy::Pct).pct_depth(2).max_executions(300), Panic, lost_update);
}

#[test]
fn a_preemption_bound_finds_the_bug_that_needs_as_many() {
    let bound = |n| quiet().preemption_bound(n);
    assert_eq!(bound(0).run(lost_update).verdict, Verdict::NoFinding);
    finding_of(bound(1), Panic, lost_update);
    for n in [0, 1] {
        let report = bound(n).run(two_preemptions);
        assert_eq!(report.verdict, Verdict::NoFinding);
        assert_eq!(report.strategy, format!("preemption bound {n}"));
        assert!(report.to_string().contains(": every class within the bound was explored, in "), "{report}");
    }
    finding_of(bound(2), Panic, two_preemptions);
    finding_of(bound(5), Panic, two_preemptions);
}

#[test]
fn a_delay_bound_finds_the_bug_that_needs_as_many() {
    assert_eq!(quiet().delay_bound(0).run(lost_update).verdict, Verdict::NoFinding);
    finding_of(quiet().delay_bound(1), Panic, lost_update);
    let least = (0..10).find(|n| quiet().delay_bound(*n).run(two_preemptions).verdict == Verdict::Finding);
    assert!(least.is_some_and(|n| n >= 2), "{least:?}");
    finding_of(quiet().delay_bound(least.unwrap() + 1), Panic, two_preemptions);
}

/// The final value of a program without a finding.
fn harmless() -> usize {
    let x = Arc::new(AtomicUsize::new(0));
    let others: Vec<_> = (1..=2)
        .map(|i| {
            let x = x.clone();
            thread::spawn(move || x.store(x.load(SeqCst) * 2 + i, SeqCst))
        })
        .collect();
    others.into_iter().for_each(|t| t.join().unwrap());
    x.load(SeqCst)
}

/// What can be reached within a bound, and the verdict.
fn reached(check: Check) -> (BTreeSet<usize>, Verdict) {
    let seen = Arc::new(std::sync::Mutex::new(BTreeSet::new()));
    let seen2 = seen.clone();
    let report = check.run(move || {
        let value = harmless();
        seen2.lock().unwrap().insert(value);
    });
    (Arc::into_inner(seen).unwrap().into_inner().unwrap(), report.verdict)
}

#[test]
fn bounds_are_monotone_and_verify_when_they_cut_nothing_off() {
    let all = outcomes_with(quiet(), harmless);
    for delays in [false, true] {
        let bound = |n| if delays { quiet().delay_bound(n) } else { quiet().preemption_bound(n) };
        let mut last = BTreeSet::new();
        for n in 0..=20 {
            let (seen, verdict) = reached(bound(n));
            assert!(last.is_subset(&seen), "bound {n}");
            if verdict == Verdict::Verified {
                assert_eq!(seen, all, "bound {n}");
            }
            last = seen;
        }
        assert_eq!(last, all);
        assert_eq!(reached(bound(20)).1, Verdict::Verified);
        assert_eq!(reached(bound(0)).1, Verdict::NoFinding);
    }
}

#[test]
fn spin_bound_is_the_number_of_idle_rounds_explored() {
    let rounds = |bound: u32| {
        let seen = outcomes_of(quiet().spin_bound(bound), || {
            let flag = Arc::new(AtomicUsize::new(0));
            let flag2 = flag.clone();
            thread::spawn(move || flag2.store(1, SeqCst));
            let mut rounds = 0;
            while flag.load(SeqCst) == 0 {
                rounds += 1;
                thread::yield_now();
            }
            rounds
        });
        *seen.last().unwrap()
    };
    let two = rounds(2);
    assert!(two >= 2);
    assert_eq!(rounds(1), two - 1);
    assert_eq!(rounds(6), two + 4);
    assert_eq!(rounds(0), rounds(1), "none means one");
}

#[test]
fn a_verdict_says_if_a_thread_was_taken_to_wait() {
    let spins = || {
        let flag = Arc::new(AtomicUsize::new(0));
        let flag2 = flag.clone();
        thread::spawn(move || flag2.store(1, SeqCst));
        while flag.load(SeqCst) == 0 {
            thread::yield_now();
        }
    };
    let text = quiet().spin_bound(3).run(spins).to_string();
    assert!(text.contains("threads that wait in a loop were held after 3 idle rounds"), "{text}");
    assert!(!quiet().run(|| ()).to_string().contains("were held"));
}

#[test]
fn timeouts_are_in_the_verdict() {
    // The second is the name that it had before.
    for check in [quiet().timeouts(ordain::Timeouts::Last), quiet().kind_time(true)] {
        let text = check.run(|| ()).to_string();
        assert!(text.contains("timeouts: last, when nothing else can happen"), "{text}");
    }
    assert!(!quiet().run(|| ()).to_string().contains("timeouts"));
}

/// Uses at least a kilobyte of stack for each level.
fn deep(levels: usize) -> usize {
    let mut block = [levels; 128];
    std::hint::black_box(&mut block);
    if levels == 0 { 0 } else { 1 + deep(levels - 1) + usize::from(block[7] != levels) }
}

#[test]
fn stack_size_is_for_all_threads_and_can_differ() {
    let report = quiet().stack_size(8 << 20).run(|| {
        assert_eq!(deep(4000), 4000);
        assert_eq!(thread::spawn(|| deep(4000)).join().unwrap(), 4000);
    });
    report.expect_no_finding();
    let report = quiet().run(|| {
        let big = thread::Builder::new().stack_size(8 << 20).spawn(|| deep(4000)).unwrap();
        let small = thread::spawn(|| deep(10));
        assert_eq!(big.join().unwrap() + small.join().unwrap(), 4010);
    });
    report.expect_no_finding();
}

#[test]
fn a_bound_does_not_go_with_a_sampler() {
    for strategy in [Strategy::Random, Strategy::Urw, Strategy::Pct, Strategy::Pos] {
        let text = panic_text(|| quiet().strategy(strategy).preemption_bound(1).run(|| ()));
        let name = strategy.name();
        assert!(text.contains(&format!("a bound does not go with the strategy `{name}`")), "{text}");
    }
}

#[test]
fn a_bound_goes_with_a_budget() {
    let report = quiet().preemption_bound(1).max_executions(1).run(|| assert!(harmless() > 0));
    assert_eq!(report.executions + report.blocked, 1);
    assert_eq!(report.strategy, "preemption bound 1");
}

#[test]
fn dfs_and_the_others_word_their_verdicts() {
    const VERIFIED: &str = "verified at level ordain types: holds if threads share data only by types of Ordain";
    let program = || assert!(ordain::choose(2) < 2);
    let dfs = quiet().strategy(Strategy::Dfs).run(program).to_string();
    assert!(dfs.starts_with(VERIFIED) && dfs.contains("[every class of schedules, in 2 executions; "), "{dfs}");
    let optimal = quiet().run(program).to_string();
    assert!(
        optimal.starts_with(VERIFIED) && optimal.contains("[all 2 classes of schedules, in 2 executions; "),
        "{optimal}"
    );
    let one = quiet().run(|| ()).to_string();
    assert!(one.starts_with(VERIFIED) && one.contains("[the only class of schedules, in 1 execution; "), "{one}");
}
