//! Small programs with one bug each, and their repaired twins: every bug is found and replayed, no twin raises an alarm.

mod common;

use common::{Program, check_of, notes, programs};
use ordain_explore::strategy::Kind as StrategyKind;
use ordain_native::Verdict;

/// Checks a program; says what is wrong.
fn examine(program: &Program) -> Result<String, String> {
    let mut check = check_of(program);
    check.settings.strategy = Some(StrategyKind::Optimal);
    check.settings.max_executions = Some(if program.atomics { 2_000 } else { 100_000 });
    let report = check.run().map_err(|problem| format!("{}: {problem}", program.file))?;
    let found: Vec<&str> = report.findings.iter().map(|f| f.story.kind.name()).collect();
    let shown = format!(
        "{}: {} {found:?} in {} executions, {} mode {}",
        program.file,
        report.verdict.name(),
        report.summary.executions,
        report.mode.name(),
        notes(&report)
    );
    if program.atomics && program.expect == "verified" {
        // Nothing may be found; that all was explored cannot be told at this level.
        return if report.findings.is_empty() { Ok(shown) } else { Err(shown + &texts(&report)) };
    }
    if program.expect == "verified" {
        return if report.verdict == Verdict::Verified { Ok(shown) } else { Err(shown + &texts(&report)) };
    }
    if found.first() != Some(&program.expect.as_str()) {
        return Err(format!("{shown}, expected {}{}", program.expect, texts(&report)));
    }
    Ok(shown)
}

fn texts(report: &ordain_native::Report) -> String {
    report.findings.iter().map(|f| format!("\n{f}")).collect()
}

/// Checks all programs of a directory, two at a time.
#[allow(clippy::print_stderr)] // Tells what was checked, and how.
fn examine_all(directory: &str) {
    let only = std::env::var("ORDAIN_ONLY").unwrap_or_default();
    let list: Vec<Program> =
        programs().into_iter().filter(|p| p.file.starts_with(directory) && p.file.contains(&only)).collect();
    assert!(!list.is_empty());
    let next = std::sync::atomic::AtomicUsize::new(0);
    let failures = std::sync::Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(program) = list.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed)) {
                    match examine(program) {
                        Ok(shown) => eprintln!("ok   {shown}"),
                        Err(why) => failures.lock().expect("the list").push(why),
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().expect("the list");
    assert!(failures.is_empty(), "{} of {}:\n{}", failures.len(), list.len(), failures.join("\n"));
}

#[test]
fn every_bug_is_found() {
    examine_all("bugs/");
}

#[test]
fn no_repaired_program_raises_an_alarm() {
    examine_all("fixed/");
}
