//! Programs that use one mechanism each and check themselves: thread-local storage, exceptions, signals, child processes …

mod common;

use common::{check_of, programs};
use ordain_explore::strategy::Kind as StrategyKind;

#[test]
#[allow(clippy::print_stderr)] // Tells what was checked, and how.
fn every_mechanism_works_under_control() {
    let only = std::env::var("ORDAIN_ONLY").unwrap_or_default();
    let mut wrong = Vec::new();
    for program in programs().into_iter().filter(|p| p.file.starts_with("features/") && p.file.contains(&only)) {
        let mut check = check_of(&program);
        check.strategy = Some(if program.sample { StrategyKind::Random } else { StrategyKind::Optimal });
        check.max_executions = Some(300);
        match check.run() {
            Ok(report) if report.findings.is_empty() => {
                eprintln!("{}: {} in {} mode", program.file, report.verdict.word(), report.mode.word());
            }
            Ok(report) => wrong.push(format!("{}: {}", program.file, report.findings[0].text)),
            Err(problem) => wrong.push(format!("{}: {problem}", program.file)),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
