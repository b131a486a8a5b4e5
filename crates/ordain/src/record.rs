//! The record of a check: what `ordain report` shows, and what the conductor of a suite is told.

use crate::finding::{LEVEL, run_directory};
use crate::report::Report;
use ordain_report::{Branch, Run, Sample, store};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// Writes the record beside the schedules. If that fails, the schedules have failed before it, and that is told.
pub(crate) fn keep(run: &Run, directory: &Path) {
    let _ = store::write_run(&run_directory(directory, &run.program), run);
}

/// What a check did, as data.
pub(crate) fn run(
    report: &Report,
    exhausted: bool,
    interrupted: bool,
    progress: Vec<Sample>,
    path: Vec<Branch>,
) -> Run {
    let began = SystemTime::now().checked_sub(report.elapsed).unwrap_or(UNIX_EPOCH);
    let seconds = report.elapsed.as_secs_f64();
    Run {
        version: Run::VERSION,
        program: report.name.clone(),
        ordain: env!("CARGO_PKG_VERSION").to_owned(),
        began: began.duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs()),
        verdict: report.verdict,
        meaning: report.to_string(),
        notes: Vec::new(),
        level: LEVEL.to_owned(),
        mode: None,
        strategy: report.strategy.clone(),
        executions: report.executions,
        blocked: report.blocked,
        steps: report.steps,
        threads: report.threads,
        depth: report.depth,
        exhausted,
        interrupted,
        estimate: report.estimate,
        wall_seconds: seconds,
        // A check runs on one thread and never waits.
        cpu_seconds: seconds,
        workers: report.crew,
        progress,
        path,
        findings: report.findings.iter().map(|f| f.story().clone()).collect(),
    }
}
