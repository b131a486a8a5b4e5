//! Searches that are divided: the same classes and findings with any number of workers, and after any interruption.

mod common;

use common::{Program, check_of, programs};
use ordain_explore::Summary;
use ordain_explore::strategy::{CHUNK, Kind as StrategyKind};
use ordain_model::schedule::Schedule;
use ordain_native::{Check, Mode, Observer, Problem, Progress, Resume, Verdict};
use ordain_report::Shrunk;
use ordain_report::Timeouts;
use std::time::Duration;

/// A check whose search is divided all the time.
fn divided(program: &Program, workers: usize) -> Check {
    let mut check = check_of(program);
    (check.run.workers, check.run.slice) = (workers, Duration::from_micros(1));
    check
}

fn program(file: &str, arguments: &[&str]) -> Program {
    let found = programs().into_iter().find(|p| p.file == file).expect("a program of the list");
    Program { args: arguments.iter().map(ToString::to_string).collect(), ..found }
}

#[test]
fn counts_are_those_of_one_worker() {
    for program in programs().into_iter().filter(|p| p.file.starts_with("counts/")) {
        for (workers, strategy) in [(1, StrategyKind::Optimal), (2, StrategyKind::Optimal), (3, StrategyKind::Source)] {
            let mut check = divided(&program, workers);
            check.settings.strategy = Some(strategy);
            let report = check.run().expect("a verdict");
            let what = format!("{} {:?} with {workers} workers, {strategy:?}", program.file, program.args);
            assert_eq!(report.verdict, Verdict::Verified, "{what}");
            assert_eq!(Some(report.summary.executions), program.classes, "{what}");
            assert_eq!(report.workers.is_some(), workers > 1, "{what}");
            if let Some(told) = report.workers {
                assert_eq!((told.count, told.released), (workers, 0), "{what}");
                assert!(told.utilisation > 0.0 && told.utilisation <= 1.0, "{what}: {told}");
            }
        }
    }
}

#[test]
fn a_large_search_is_divided_in_every_mode() {
    for mode in [Mode::Snapshot, Mode::Fork] {
        let mut check = divided(&program("counts/mutex_counter.c", &["3", "3"]), 3);
        check.program.mode = Some(mode);
        let report = check.run().expect("a verdict");
        assert_eq!((report.verdict, report.summary.executions), (Verdict::Verified, 1680));
        assert!(report.workers.is_some_and(|w| w.fragments >= 20), "{:?}", report.workers);
    }
}

#[test]
fn findings_are_found_and_confirmed() {
    let bugs: Vec<Program> = programs().into_iter().filter(|p| p.file.starts_with("bugs/")).collect();
    // All of them are checked with one worker elsewhere.
    for program in bugs.iter().filter(|p| p.option.is_none()).step_by(5) {
        let mut check = divided(program, 2);
        (check.settings.max_executions, check.settings.strategy) = (Some(20_000), Some(StrategyKind::Optimal));
        let report = check.run().unwrap_or_else(|problem| panic!("{}: {problem}", program.file));
        assert_eq!(report.verdict, Verdict::Finding, "{}: {}", program.file, report.meaning);
    }
}

#[test]
fn workers_share_seeds() {
    let mut check = divided(&program("counts/mutex_counter.c", &["2", "3"]), 3);
    (check.settings.strategy, check.settings.max_executions) = (Some(StrategyKind::Random), Some(7_000));
    let report = check.run().expect("a verdict");
    assert_eq!((report.verdict, report.summary.executions), (Verdict::NoFinding, 7_000));
    let mut check = divided(&program("bugs/abba.c", &[]), 3);
    (check.settings.strategy, check.settings.max_executions) = (Some(StrategyKind::Pct), Some(7_000));
    let report = check.run().expect("a verdict");
    assert_eq!((report.verdict, report.findings.len()), (Verdict::Finding, 1));
}

#[test]
fn sampling_in_many_turns_loses_no_process() {
    /// Hears of a search after each chunk, which therefore begins with a turn.
    struct Close;
    impl Observer for Close {
        fn progress(&mut self, _: &Progress) {}

        fn allowance(&self, _: u64) -> (Duration, u64) {
            (Duration::MAX, CHUNK)
        }
    }
    for strategy in [StrategyKind::Random, StrategyKind::Urw, StrategyKind::Pct, StrategyKind::Pos] {
        let mut check = divided(&program("counts/buffer.c", &["2", "1", "2"]), 1);
        (check.settings.strategy, check.settings.max_executions) = (Some(strategy), Some(8 * CHUNK));
        let report = check.run_watched(&mut Close).expect("a verdict");
        assert_eq!((report.verdict, report.summary.executions), (Verdict::NoFinding, 8 * CHUNK), "{strategy:?}");
        assert_eq!(report.losses, 0, "{strategy:?}");
    }
}

#[test]
fn a_small_search_is_never_divided_and_finds_the_same_each_time() {
    for file in ["bugs/abba.c", "bugs/philosophers.c", "bugs/lost_update.c"] {
        let mut check = divided(&program(file, &[]), 1);
        check.settings.strategy = Some(StrategyKind::Optimal);
        let one = essence(&check);
        for workers in [2, 2, 3, 5] {
            check.run.workers = workers;
            assert_eq!(essence(&check), one, "{file} with {workers} workers");
        }
    }
}

/// What must not depend on timing: what was done, and the schedules that were found, with how they were found.
fn essence(check: &Check) -> (Summary, usize, u64, Vec<(Schedule, Option<Shrunk>)>) {
    let report = check.run().expect("a verdict");
    let found = report.findings.into_iter().map(|f| (f.schedule, f.story.shrunk)).collect();
    (report.summary, report.visible, report.losses, found)
}

#[test]
fn a_seed_gives_the_same_result_with_any_number_of_workers() {
    let rare = program("bugs/rare_order.c", &[]);
    let mut late = 0;
    for (strategy, seed) in [
        (StrategyKind::Random, 1),
        (StrategyKind::Random, 2),
        (StrategyKind::Random, 3),
        (StrategyKind::Urw, 2),
        (StrategyKind::Pos, 1),
        (StrategyKind::Pct, 1),
    ] {
        let mut check = divided(&rare, 1);
        (check.settings.strategy, check.settings.seed, check.settings.shrink_time) =
            (Some(strategy), seed, Duration::ZERO);
        let one = essence(&check);
        late += u64::from(!one.3.is_empty() && one.0.executions > 3 * CHUNK);
        for workers in [1, 2, 3, 2, 3] {
            check.run.workers = workers;
            assert_eq!(essence(&check), one, "{strategy:?} {seed} with {workers} workers");
        }
        // Led step by step, it draws the same.
        (check.run.workers, check.program.mode) = (2, Some(Mode::Exec));
        if one.0.executions < CHUNK {
            assert_eq!(essence(&check).3, one.3, "{strategy:?} {seed}");
        }
    }
    assert!(late > 1, "several workers must have drawn before something was found");
}

#[test]
fn what_was_learned_in_other_samples_changes_nothing() {
    let mut check = divided(&program("features/long_loops.c", &[]), 1);
    (check.settings.strategy, check.settings.max_executions) = (Some(StrategyKind::Random), Some(2 * CHUNK + 9));
    let one = essence(&check);
    assert!(one.0.spun, "loops are taken to wait at first");
    for (workers, mode) in [(2, Mode::Snapshot), (3, Mode::Snapshot), (2, Mode::Fork), (1, Mode::Exec)] {
        (check.run.workers, check.program.mode) = (workers, Some(mode));
        let (summary, _, losses, _) = essence(&check);
        let expected = Summary { spun: summary.spun, visible: summary.visible, ..one.0 };
        assert_eq!((summary, losses), (expected, 0), "{workers} workers, {mode:?}");
    }
}

#[test]
fn a_finding_is_made_as_small_with_any_number_of_workers() {
    let mut check = divided(&program("bugs/rare_order.c", &[]), 1);
    (check.settings.strategy, check.settings.seed, check.settings.shrink_time) =
        (Some(StrategyKind::Random), 2, Duration::from_secs(60));
    let one = essence(&check);
    assert!(matches!(&one.3[..], [(_, Some(_))]), "{one:?}");
    check.run.workers = 3;
    assert_eq!(essence(&check), one);
}

#[test]
fn going_on_finds_the_same_in_the_same_order_with_any_number_of_workers() {
    for (file, strategy, seed, most, findings) in [
        ("bugs/rare_order.c", StrategyKind::Random, 7, 20 * CHUNK + 1, 2),
        ("bugs/rare_order.c", StrategyKind::Pos, 3, CHUNK - 1, 0),
        ("bugs/abba.c", StrategyKind::Pct, 3, 5 * CHUNK - 1, 1),
    ] {
        let mut check = divided(&program(file, &[]), 1);
        (check.settings.strategy, check.settings.keep_going, check.settings.seed) = (Some(strategy), true, seed);
        (check.settings.max_executions, check.settings.shrink_time) = (Some(most), Duration::ZERO);
        let one = essence(&check);
        assert_eq!((one.0.executions, one.3.len()), (most, findings), "{file} {strategy:?}");
        for workers in [2, 3] {
            check.run.workers = workers;
            assert_eq!(essence(&check), one, "{file} {strategy:?} with {workers} workers");
        }
    }
}

#[test]
fn what_is_noticed_is_told_when_sampling_is_stopped() {
    /// Stops a check as soon as it tells anything.
    struct Hasty(bool);
    impl Observer for Hasty {
        fn progress(&mut self, _: &Progress) {
            self.0 = true;
        }

        fn is_stopped(&self) -> bool {
            self.0
        }
    }
    let mut check = divided(&program("bugs/abba.c", &[]), 3);
    (check.settings.strategy, check.settings.keep_going, check.settings.max_executions) =
        (Some(StrategyKind::Random), true, Some(u64::MAX));
    let report = check.run_watched(&mut Hasty(false)).expect("a verdict");
    assert!(report.interrupted);
    assert_eq!((report.verdict, report.findings.len()), (Verdict::Finding, 1));
    (check.settings.keep_going, check.settings.max_executions, check.settings.max_time) =
        (true, None, Some(Duration::from_millis(300)));
    let report = check.run().expect("a verdict");
    assert!(!report.interrupted && report.wall >= Duration::from_millis(300));
    assert_eq!((report.verdict, report.findings.len()), (Verdict::Finding, 1));
}

/// Stops a check after so many executions.
struct Impatient(u64);

impl Observer for Impatient {
    fn progress(&mut self, progress: &Progress) {
        self.0 = if progress.summary.executions >= self.0 { 0 } else { self.0 };
    }

    fn is_stopped(&self) -> bool {
        self.0 == 0
    }
}

#[test]
fn a_search_that_is_stopped_again_and_again_explores_each_class_once() {
    let counter = program("counts/mutex_counter.c", &["3", "4"]);
    // Every second of the first 10,000 executions is a sample, then every tenth.
    let later = 34_650 - 5_000;
    let portfolio = 10_000 + later + (later - 1) / 9;
    for (workers, strategy, executions) in [
        (2, StrategyKind::Optimal, 34_650),
        (1, StrategyKind::Optimal, 34_650),
        (1, StrategyKind::Source, 34_650),
        (1, StrategyKind::Portfolio, portfolio),
    ] {
        let directory = tempfile::tempdir().expect("a directory");
        let mut check = divided(&counter, workers);
        (check.run.directory, check.settings.strategy) = (Some(directory.path().to_owned()), Some(strategy));
        let mut stopped = 0;
        loop {
            let done = check.run_watched(&mut Impatient(1)).expect("a verdict");
            // Who stops it at once stops the cross-check too.
            if done.summary.exhausted {
                assert_eq!(done.summary.executions, executions, "{workers} workers, {strategy:?}");
                assert!(
                    done.verdict == Verdict::Verified || done.meaning.contains("cross-checked"),
                    "{}",
                    done.meaning
                );
                break;
            }
            assert!(done.resumable && done.interrupted, "{}", done.meaning);
            stopped += 1;
            check.run.resume = Resume::Must;
            assert!(stopped < 1_000, "it does not come to an end");
        }
        assert!(stopped > 1);
        // It is over.
        check.forget_search();
        let problem = check.run().expect_err("nothing is left");
        let expected = |reason: &str| reason.contains("there is no checkpoint");
        assert!(matches!(&problem, Problem::Resume { reason, .. } if expected(reason)), "{problem}");
    }
}

#[test]
fn findings_survive_and_are_told_once() {
    let program = program("bugs/abba.c", &[]);
    for workers in [1, 2] {
        let directory = tempfile::tempdir().expect("a directory");
        let mut whole = divided(&program, workers);
        whole.settings.keep_going = true;
        let whole = whole.run().expect("a verdict");
        let mut check = divided(&program, workers);
        (check.settings.keep_going, check.run.directory) = (true, Some(directory.path().to_owned()));
        (check.settings.strategy, check.settings.max_executions) = (Some(StrategyKind::Optimal), Some(1));
        let mut report = check.run().expect("a verdict");
        while report.resumable {
            check.run.resume = Resume::Must;
            check.settings.max_executions = Some(report.summary.executions + 1);
            report = check.run().expect("a verdict");
        }
        assert_eq!(report.findings.len(), whole.findings.len());
        assert_eq!(report.summary.executions, whole.summary.executions);
        assert_eq!(report.findings[0].story.kind, whole.findings[0].story.kind);
    }
}

#[test]
fn another_program_or_option_is_refused_with_the_reason() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut check = divided(&program("counts/mutex_counter.c", &["3", "3"]), 1);
    check.run.directory = Some(directory.path().to_owned());
    check.settings.max_executions = Some(100);
    check.settings.strategy = Some(StrategyKind::Optimal);
    assert!(check.run().expect("a verdict").resumable);
    let refusal = |change: &dyn Fn(&mut Check)| {
        let mut other = check.clone();
        other.run.resume = Resume::Must;
        change(&mut other);
        match other.run() {
            Err(Problem::Resume { reason, .. }) => reason,
            other => panic!("{other:?}"),
        }
    };
    let other = program("counts/philosophers.c", &["3"]);
    assert!(refusal(&|c| c.launch.arguments = vec!["2".into(), "2".into()]).contains("arguments"));
    assert!(refusal(&|c| c.settings.strategy = Some(StrategyKind::Source)).contains("strategy"));
    assert!(refusal(&|c| c.settings.timeouts = Timeouts::Last).contains("timeouts"));
    assert!(refusal(&|c| c.binary = check_of(&other).binary).contains("program"));
    let file = directory.path().join("checkpoint");
    let bytes = std::fs::read(&file).expect("a checkpoint");
    std::fs::write(&file, &bytes[..bytes.len() / 2]).expect("written");
    assert!(refusal(&|_| {}).contains("damaged"));
    std::fs::write(&file, b"\xff\xff\xff\xff\x0frubbish").expect("written");
    assert!(refusal(&|_| {}).contains("another version"));
}
