//! Programs that crash in some of their schedules: the others are explored all the same, each class once.

mod common;

use common::{check_of, programs};
use ordain_explore::strategy::Kind as StrategyKind;
use ordain_native::Mode;

/// Programs that end in the middle, by themselves or by a signal, in one of several schedules.
const PROGRAMS: [&str; 8] = [
    "bugs/abort_invariant.c",
    "bugs/barrier_serial.c",
    "bugs/crash_outcome.c",
    "bugs/crash_then_exit.c",
    "bugs/division_by_zero.c",
    "bugs/main_returns.c",
    "bugs/null_pointer.c",
    "bugs/order_violation.c",
];

/// The kinds of findings, and how many executions there were.
fn explore(file: &str, strategy: StrategyKind, mode: Mode, workers: usize) -> (Vec<&'static str>, u64) {
    let program = programs().into_iter().find(|p| p.file == file).expect("a program of the list");
    let mut check = check_of(&program);
    (check.settings.strategy, check.program.mode, check.settings.keep_going, check.run.workers) =
        (Some(strategy), Some(mode), true, workers);
    let report = check.run().unwrap_or_else(|problem| panic!("{file}: {problem}"));
    let mut kinds: Vec<&str> = report.findings.iter().map(|f| f.story.kind.name()).collect();
    kinds.sort_unstable();
    kinds.dedup();
    (kinds, report.summary.executions)
}

#[test]
fn every_strategy_explores_the_classes_behind_crashes() {
    for file in PROGRAMS {
        let optimal = explore(file, StrategyKind::Optimal, Mode::Snapshot, 1);
        let all = explore(file, StrategyKind::Dfs, Mode::Snapshot, 1);
        assert!(!optimal.0.is_empty() && optimal.0 == all.0, "{file}: {optimal:?}, but {all:?} by plain search");
        assert!(optimal.1 <= all.1, "{file}: {optimal:?}, but {all:?} by plain search");
        for strategy in [StrategyKind::Source, StrategyKind::Dpor] {
            assert_eq!(explore(file, strategy, Mode::Snapshot, 1), optimal, "{file}, {strategy:?}");
        }
        assert_eq!(explore(file, StrategyKind::Optimal, Mode::Fork, 1), optimal, "{file}, fork mode");
        assert_eq!(explore(file, StrategyKind::Optimal, Mode::Snapshot, 2), optimal, "{file}, two workers");
    }
}

#[test]
fn others_go_on_until_a_crash_has_ended_the_program() {
    let (kinds, _) = explore("bugs/crash_then_exit.c", StrategyKind::Optimal, Mode::Snapshot, 1);
    assert_eq!(kinds, ["assertion", "exit-status"]);
}
