//! The record of a check: what `ordain report` shows, and what the conductor of a suite is told.

use crate::finding::run_directory;
use crate::report::Report;
use ordain_model::Level;
use ordain_report::{Branch, Run, Sample, store};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Writes the record beside the schedules. If that fails, the schedules have failed before it, and that is told.
pub(crate) fn keep(run: &Run, directory: &Path) {
    let _ = store::write_run(&run_directory(directory, &run.program), run);
}

/// How a check went.
#[derive(Default)]
pub(crate) struct Course {
    pub(crate) exhausted: bool,
    pub(crate) interrupted: bool,
    pub(crate) cpu: Duration,
    pub(crate) progress: Vec<Sample>,
    pub(crate) path: Vec<Branch>,
}

/// What a check did, as data.
pub(crate) fn run(report: &Report, course: &Course) -> Run {
    let began = SystemTime::now().checked_sub(report.elapsed).unwrap_or(UNIX_EPOCH);
    let seconds = report.elapsed.as_secs_f64();
    Run {
        version: Run::VERSION,
        program: report.name.clone(),
        ordain: env!("CARGO_PKG_VERSION").to_owned(),
        began: began.duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs()),
        verdict: report.verdict,
        meaning: report.meaning.clone(),
        notes: report.notes.clone(),
        level: Level::Types,
        mode: None,
        strategy: report.strategy.clone(),
        executions: report.executions,
        blocked: report.blocked,
        steps: report.steps,
        threads: report.threads,
        depth: report.depth,
        exhausted: course.exhausted,
        interrupted: course.interrupted,
        sight: report.sight,
        unmet: report.unmet(),
        estimate: report.estimate,
        wall_seconds: seconds,
        cpu_seconds: course.cpu.as_secs_f64(),
        workers: report.crew,
        progress: course.progress.clone(),
        path: course.path.clone(),
        findings: report.findings.iter().map(|f| f.story().clone()).collect(),
    }
}
