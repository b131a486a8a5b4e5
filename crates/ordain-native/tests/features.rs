//! Programs that use one mechanism each and check themselves: thread-local storage, exceptions, signals, child processes …

mod common;

use common::{check_of, notes, programs};
use ordain_explore::strategy::Kind as StrategyKind;

#[test]
#[allow(clippy::print_stderr)] // Tells what was checked, and how.
fn every_mechanism_works_under_control() {
    let only = std::env::var("ORDAIN_ONLY").unwrap_or_default();
    let mut wrong = Vec::new();
    for program in programs().into_iter().filter(|p| p.file.starts_with("features/") && p.file.contains(&only)) {
        let mut check = check_of(&program);
        check.settings.strategy = Some(if program.sample { StrategyKind::Random } else { StrategyKind::Optimal });
        check.settings.max_executions = Some(if program.sample { 200 } else { 2_000 });
        let report = match check.run() {
            Ok(report) => report,
            Err(problem) => {
                wrong.push(format!("{}: {problem}", program.file));
                continue;
            }
        };
        let shown = format!(
            "{}: {} in {} executions, {} mode {}",
            program.file,
            report.verdict.name(),
            report.summary.executions,
            report.mode.name(),
            notes(&report)
        );
        // With atomics, whether all was explored cannot be told at this level.
        let right = if program.atomics { report.findings.is_empty() } else { report.verdict.name() == program.expect };
        if right && report.losses == 0 {
            eprintln!("ok   {shown}");
        } else {
            let texts: String = report.findings.iter().map(|f| format!("\n{f}")).collect();
            wrong.push(format!("{shown}, expected {}{texts}", program.expect));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn futex_operations_compare_when_their_turn_comes() {
    // What changes the memory is not visible, so that only a search of all orders has it come between.
    let program = programs().into_iter().find(|p| p.file == "features/futex_compares.c").expect("the program");
    let mut check = check_of(&program);
    check.settings.strategy = Some(StrategyKind::Dfs);
    let report = check.run().expect("a verdict");
    let texts: String = report.findings.iter().map(|f| format!("\n{f}")).collect();
    assert!(report.findings.is_empty() && report.losses == 0, "{texts}");
    assert!(report.summary.executions > 3, "{} executions", report.summary.executions);
}
