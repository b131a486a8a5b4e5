//! The record of a check: what `ordain report` shows, and the sentences about it that every reader gets.

use crate::check::{Check, LEVEL, Report};
use crate::finding::command_line;
use ordain_report::terminal::plural;
use ordain_report::{Run, Verdict};
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
        meaning: verdict(report),
        notes: notes(report),
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

/// What weakens the verdict, or what the user should know.
pub fn notes(report: &Report) -> Vec<String> {
    let mut notes = report.notes.clone();
    if report.summary.threads <= 1 && report.verdict == Verdict::Verified {
        notes.push("the program made no threads with this input, so there was nothing to explore".into());
    }
    notes
}

/// The verdict in a sentence.
pub fn verdict(report: &Report) -> String {
    let executions = plural(report.summary.executions as usize, "execution");
    match report.verdict {
        Verdict::Verified => format!("verified at level {LEVEL}: {}", LEVEL.assumption()),
        Verdict::NoFinding => format!("no finding at level {LEVEL}: {}", report.meaning),
        Verdict::Finding => {
            let mut kinds: Vec<&str> = report.findings.iter().map(|f| f.story.kind.name()).collect();
            if let [kind] = kinds[..] {
                return format!("finding: {kind} (after {executions})");
            }
            kinds.sort_unstable();
            kinds.dedup();
            format!("finding: {} different ones: {} (in {executions})", report.findings.len(), kinds.join(", "))
        }
    }
}
