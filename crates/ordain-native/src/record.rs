//! The record of a check: what `ordain report` shows.

use crate::check::{Check, LEVEL, Report};
use crate::finding::command_line;
use ordain_report::Run;
use std::time::{SystemTime, UNIX_EPOCH};

/// What a check did, as data.
pub fn run(check: &Check, report: &Report) -> Run {
    let began = SystemTime::now().checked_sub(report.wall).unwrap_or(UNIX_EPOCH);
    Run {
        version: Run::VERSION,
        program: command_line(&check.launch),
        ordain: env!("CARGO_PKG_VERSION").to_owned(),
        began: began.duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs()),
        verdict: report.verdict,
        meaning: report.meaning.clone(),
        notes: report.notes.clone(),
        level: LEVEL,
        mode: Some(report.mode.name().to_owned()),
        strategy: report.strategy.to_owned(),
        executions: report.summary.executions,
        blocked: report.summary.blocked,
        steps: report.summary.steps,
        threads: report.summary.threads,
        depth: report.summary.depth,
        exhausted: report.summary.exhausted,
        interrupted: report.interrupted,
        sight: report.sight,
        unmet: None,
        estimate: report.estimate,
        wall_seconds: report.wall.as_secs_f64(),
        cpu_seconds: report.cpu.as_secs_f64(),
        workers: report.workers,
        progress: report.progress.clone(),
        path: report.path.clone(),
        findings: report.findings.iter().map(|f| f.story.clone()).collect(),
    }
}
