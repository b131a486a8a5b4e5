//! What a verdict may say: it is cross-checked, comes from a mode in which executions have nothing in common, and keeps its limits.

mod common;

use common::{Program, check, check_of, compile, notes, programs};
use ordain_explore::strategy::Kind as StrategyKind;
use ordain_native::{Check, Failure, Mode, Observer, Problem, Progress, Report, Verdict};
use ordain_report::Timeouts;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

const MODES: [Mode; 3] = [Mode::Snapshot, Mode::Fork, Mode::Exec];

fn program(file: &str) -> Program {
    programs().into_iter().find(|p| p.file == file).expect("a program of the list")
}

/// A program that is for the tests here only.
fn unlisted(file: &str) -> Program {
    Program { file: file.into(), ..program("bugs/abba.c") }
}

#[test]
fn a_class_that_only_samples_come_to_retracts_the_verdict() {
    for mode in MODES {
        let mut check = check_of(&program("features/atomic_branch.c"));
        (check.program.mode, check.settings.strategy, check.settings.max_executions) =
            (Some(mode), Some(StrategyKind::Optimal), Some(50));
        let report = check.run().expect("a verdict");
        let shown = notes(&report);
        assert_eq!(report.verdict, Verdict::NoFinding, "{mode:?}: {shown}");
        assert!(shown.contains("synchronises by memory"), "{mode:?}: {shown}");
        assert!(report.estimate.is_none(), "nobody knows how much there is");
    }
}

#[test]
fn a_finding_that_only_samples_come_to_is_a_finding() {
    for mode in MODES {
        let mut check = check_of(&program("bugs/atomic_stop.c"));
        (check.program.mode, check.settings.strategy) = (Some(mode), Some(StrategyKind::Optimal));
        let report = check.run().expect("a verdict");
        assert_eq!(report.verdict, Verdict::Finding, "{mode:?}: {}", notes(&report));
        assert!(notes(&report).contains("synchronises by memory"), "{mode:?}");
    }
}

#[test]
fn what_is_verified_was_cross_checked() {
    for (file, workers, strategy) in [
        ("fixed/atomic_stop.c", 0, StrategyKind::Optimal),
        ("fixed/abba.c", 1, StrategyKind::Source),
        ("fixed/abba.c", 2, StrategyKind::Optimal),
        ("fixed/philosophers.c", 2, StrategyKind::Portfolio),
        ("fixed/lost_update.c", 0, StrategyKind::Dpor),
        ("fixed/lost_update.c", 0, StrategyKind::Dfs),
    ] {
        let mut check = check_of(&program(file));
        (check.run.workers, check.settings.strategy) = (workers, Some(strategy));
        let report = check.run().expect("a verdict");
        assert_eq!(report.verdict, Verdict::Verified, "{file}, {strategy:?}: {}", notes(&report));
        assert!(report.cross_checked >= 1000, "{file}: {}", report.cross_checked);
    }
}

#[test]
fn loading_libraries_beside_other_threads_is_not_verified() {
    for mode in MODES {
        let mut check = check_of(&program("features/dlopen_beside_lookup.c"));
        (check.program.mode, check.settings.strategy) = (Some(mode), Some(StrategyKind::Optimal));
        let report = check.run().expect("a verdict");
        assert_eq!(report.verdict, Verdict::NoFinding, "{mode:?}: {}", notes(&report));
        assert!(notes(&report).contains("load or unload libraries (dlopen"), "{mode:?}: {}", notes(&report));
    }
}

#[test]
fn options_that_leave_executions_out_are_noted() {
    let mut check = check_of(&program("fixed/atomic_stop.c"));
    check.settings.timeouts = Timeouts::Last;
    let report = check.run().expect("a verdict");
    assert_eq!(report.verdict, Verdict::Verified);
    assert!(
        notes(&report).contains("--spurious-wakeups") && notes(&report).contains("--timeouts last"),
        "{}",
        notes(&report)
    );
    check.settings.spurious_wakeups = true;
    let report = check.run().expect("a verdict");
    assert!(!notes(&report).contains("--spurious-wakeups"), "{}", notes(&report));
}

#[test]
fn a_program_that_does_not_do_the_same_is_started_anew() {
    let mut check = check(&compile(&unlisted("verdicts/shared_before_main.c")), &[]);
    check.run.workers = 2;
    let report = check.run().expect("a verdict");
    assert_eq!((report.verdict, report.mode), (Verdict::Verified, Mode::Exec), "{}", notes(&report));
    assert!(notes(&report).contains("The search began again in exec mode"), "{}", notes(&report));
    assert!(report.mode_reason.contains("did not do the same"), "{}", report.mode_reason);
    check.program.mode = Some(Mode::Fork);
    assert!(matches!(check.run(), Err(Problem::Nondeterminism { .. })), "a mode that was asked for is not left");
}

#[test]
fn executions_are_not_more_and_not_fewer_than_allowed() {
    let counter = Program { args: vec!["3".into(), "4".into()], ..program("counts/mutex_counter.c") };
    for strategy in [StrategyKind::Optimal, StrategyKind::Portfolio, StrategyKind::Random, StrategyKind::Dfs] {
        for workers in [0, 1, 2] {
            for most in [1, 2, 100] {
                let mut check = check_of(&counter);
                (check.settings.strategy, check.run.workers, check.settings.max_executions) =
                    (Some(strategy), workers, Some(most));
                let report = check.run().expect("a verdict");
                assert_eq!(report.summary.executions, most, "{strategy:?} with {workers} workers");
                let told = report.estimate.map_or(0.0, |e| 10f64.powf(e.log10));
                assert!(report.estimate.is_none_or(|e| told + 0.5 > e.done as f64), "{told}");
            }
        }
    }
}

/// Somebody who has stopped the check before it began.
struct Stopped(Arc<AtomicBool>);

impl Observer for Stopped {
    fn progress(&mut self, _: &Progress) {}

    fn is_stopped(&self) -> bool {
        true
    }

    fn stop_flag(&self) -> Option<Arc<AtomicBool>> {
        Some(self.0.clone())
    }
}

/// Runs a check whose time is over before it begins.
fn late(check: &mut Check, stopped: bool) -> Result<Report, Problem> {
    if stopped {
        return check.run_watched(&mut Stopped(Arc::new(AtomicBool::new(true))));
    }
    check.settings.max_time = Some(Duration::ZERO);
    check.run()
}

#[test]
fn nothing_is_begun_when_the_time_is_over() {
    let counter = Program { args: vec!["12".into(), "4".into()], ..program("counts/mutex_counter.c") };
    for mode in MODES {
        for strategy in [StrategyKind::Optimal, StrategyKind::Portfolio, StrategyKind::Pct] {
            for workers in [0, 2] {
                for stopped in [false, true] {
                    let mut check = check_of(&counter);
                    (check.program.mode, check.settings.strategy, check.run.workers) =
                        (Some(mode), Some(strategy), workers);
                    // Each of the workers may end the execution that it has begun.
                    match late(&mut check, stopped) {
                        Ok(report) => assert!(report.summary.executions <= 2, "{mode:?} {strategy:?}"),
                        Err(problem) => assert!(matches!(problem, Problem::NothingRan { .. }), "{problem}"),
                    }
                }
            }
        }
    }
}

#[test]
fn a_program_that_does_not_come_to_main_is_told() {
    let mut check = check(&compile(&unlisted("verdicts/never_in_main.c")), &[]);
    check.program.hang_time = Duration::from_millis(100);
    // Signals to a process that nobody knows yet would reach this one.
    match check.run() {
        Err(Problem::Failure(Failure::Early(why))) => assert!(why.contains("main"), "{why}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_program_that_asks_the_kernel_for_signals_is_refused_and_not_deadlocked() {
    let path = compile(&unlisted("verdicts/asks_for_signals.c"));
    for (argument, what) in [("fcntl", "O_ASYNC"), ("ioctl", "FIOASYNC")] {
        for mode in MODES {
            let mut check = check(&path, &[argument.to_owned()]);
            check.program.mode = Some(mode);
            match check.run() {
                Err(Problem::Failure(Failure::Refused(why))) => assert!(why.contains(what), "{mode:?}: {why}"),
                other => panic!("{mode:?}: {other:?}"),
            }
        }
    }
}

/// What a program of the list comes to in each mode.
fn verdicts(file: &str, args: &[&str], expected: Verdict) -> Vec<Report> {
    let program = programs().into_iter().find(|p| p.file == file && p.args == args).expect("a program of the list");
    let reports = MODES.map(|mode| {
        let mut check = check_of(&program);
        (check.program.mode, check.settings.strategy) = (Some(mode), Some(StrategyKind::Optimal));
        let report = check.run().unwrap_or_else(|problem| panic!("{file}, {mode:?}: {problem}"));
        let findings: String = report.findings.iter().map(|f| format!("\n{f}")).collect();
        assert_eq!(report.verdict, expected, "{file}, {mode:?}: {}{findings}", notes(&report));
        report
    });
    reports.into()
}

#[test]
fn threads_that_may_be_cancelled_inside_the_c_library_are_not_verified() {
    let files = [
        "cancel_in_stdio.c",
        "cancel_in_fclose.c",
        "cancel_beside_print.c",
        "cancel_in_dprintf.c",
        "cancel_of_itself.c",
    ];
    for file in files {
        for mode in MODES {
            let mut check = check_of(&unlisted(&format!("verdicts/{file}")));
            (check.program.mode, check.settings.strategy) = (Some(mode), Some(StrategyKind::Optimal));
            let report = check.run().unwrap_or_else(|problem| panic!("{file}, {mode:?}: {problem}"));
            let findings: String = report.findings.iter().map(|f| format!("\n{f}")).collect();
            assert_eq!(report.verdict, Verdict::NoFinding, "{file}, {mode:?}: {}{findings}", notes(&report));
            assert!(
                notes(&report).contains("may be cancelled inside calls of stdio"),
                "{file}, {mode:?}: {}",
                notes(&report)
            );
        }
    }
}

#[test]
fn programs_that_print_where_nobody_is_cancelled_are_verified() {
    verdicts("features/cancel_beside_prints.c", &[], Verdict::Verified);
}

#[test]
fn interests_in_closed_numbers_that_the_kernel_keeps_are_not_verified() {
    for arg in ["copy", "copied-set"] {
        for mode in MODES {
            let program = unlisted("verdicts/epoll_kept.c");
            let mut check = check_of(&Program { args: vec![arg.into()], ..program });
            (check.program.mode, check.settings.strategy) = (Some(mode), Some(StrategyKind::Optimal));
            let report = check.run().unwrap_or_else(|problem| panic!("{arg}, {mode:?}: {problem}"));
            let findings: String = report.findings.iter().map(|f| format!("\n{f}")).collect();
            assert_eq!(report.verdict, Verdict::NoFinding, "{arg}, {mode:?}: {}{findings}", notes(&report));
            assert!(notes(&report).contains("poll set (epoll)"), "{arg}, {mode:?}: {}", notes(&report));
        }
    }
    verdicts("features/epoll_closed.c", &[], Verdict::Verified);
}

#[test]
fn timers_that_ring_again_and_again_are_bounded_and_never_verified() {
    for args in [&[][..], &["wait"]] {
        for report in verdicts("features/interval_timer.c", args, Verdict::NoFinding) {
            for words in ["timer with an interval (setitimer", "timers with an interval, were held"] {
                assert!(notes(&report).contains(words), "{}", notes(&report));
            }
        }
    }
    for mode in MODES {
        let mut check = check_of(&unlisted("verdicts/tries_in_loop.c"));
        check.program.mode = Some(mode);
        let report = check.run().expect("a verdict");
        assert!(notes(&report).contains("threads that wait in a loop were held"), "{}", notes(&report));
        assert!(!notes(&report).contains("timer"), "{}", notes(&report));
    }
}

#[test]
fn robust_mutexes_that_are_tried_when_they_are_not_recoverable_are_not_verified() {
    for report in verdicts("features/robust_tried.c", &[], Verdict::NoFinding) {
        assert!(notes(&report).contains("leaves locked for ever"), "{}", notes(&report));
    }
}

#[test]
fn mutexes_with_priority_ceilings_are_refused() {
    for mode in MODES {
        let mut check = check_of(&unlisted("verdicts/priority_ceiling.c"));
        check.program.mode = Some(mode);
        let problem = check.run().err().map(|problem| problem.to_string()).unwrap_or_default();
        assert!(problem.contains("PTHREAD_PRIO_PROTECT"), "{mode:?}: {problem}");
    }
}
