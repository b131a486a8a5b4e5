//! The record of a run in its directory: what `ordain report` shows.

use super::told;
use ordain_native::{Check, LEVEL, Report, command_line};
use ordain_report::{Run, store};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Writes the record; gives the run directory.
pub(super) fn keep(check: &Check, run: &Run) -> Result<PathBuf, String> {
    let directory = check.directory.as_deref().unwrap_or(Path::new(".ordain"));
    let file = store::write_run(directory, run)?;
    Ok(file.parent().unwrap_or(directory).to_owned())
}

/// What a check did, as data.
pub(super) fn run(check: &Check, report: &Report) -> Run {
    let began = SystemTime::now().checked_sub(report.wall).unwrap_or(UNIX_EPOCH);
    Run {
        version: Run::VERSION,
        program: command_line(&check.launch),
        ordain: env!("CARGO_PKG_VERSION").to_owned(),
        began: began.duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs()),
        verdict: report.verdict,
        meaning: told::verdict(report),
        notes: told::notes(report),
        level: LEVEL.to_owned(),
        mode: Some(report.mode.word().to_owned()),
        strategy: report.strategy.to_owned(),
        executions: report.summary.executions,
        blocked: report.summary.blocked,
        steps: report.summary.steps,
        threads: report.summary.threads,
        depth: report.summary.depth,
        exhausted: report.summary.exhausted,
        interrupted: report.interrupted,
        estimate: None,
        wall_seconds: report.wall.as_secs_f64(),
        cpu_seconds: report.cpu.as_secs_f64(),
        progress: report.progress.clone(),
        path: Vec::new(),
        findings: report.findings.iter().map(|f| f.story.clone()).collect(),
    }
}
