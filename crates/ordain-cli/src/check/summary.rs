//! What a check tells a person: findings, verdict, and all that the verdict rests on.

use crate::{look, output, replay_line};
use ordain_check::verdict;
use ordain_explore::strategy::{Bound, Kind as Strategy};
use ordain_native::{Check, Finding, Report, Verdict};
use ordain_report::terminal::{self, Look, Next};
use ordain_report::{Note, Timeouts};
use std::fmt::Write as _;
use std::path::Path;

/// The findings, and then the verdict with all that it rests on.
pub(super) fn human(
    check: &Check,
    report: &Report,
    unmet: Option<&str>,
    directory: Option<&Path>,
    look: Look,
) -> String {
    let mut findings = String::new();
    for finding in &report.findings {
        let _ = writeln!(findings, "{}", terminal::finding(&finding.story, look, &next(finding, directory)));
        if finding.file.is_none() {
            let schedule = output::printable_lines(&finding.schedule.format(&mut |_| None));
            let _ = writeln!(
                findings,
                "its schedule, which `ordain replay FILE` takes when it is in a file:\n\n{schedule}"
            );
        }
    }
    let mut text = String::new();
    let _ = writeln!(text, "{}", report.meaning);
    let line = |text: &mut String, key: &str, value: &str| {
        let _ = writeln!(text, "  {key:<10}{value}");
    };
    line(&mut text, "explored", &explored(check, report));
    line(&mut text, "took", &took(report));
    line(&mut text, "mode", &format!("{} ({})", report.mode.name(), report.mode_reason));
    line(&mut text, "strategy", &strategy(check, report));
    if let Some(workers) = report.workers.filter(|w| w.fragments > 1 && w.count > 1) {
        line(&mut text, "workers", &workers.to_string());
    }
    if let Some(unmet) = unmet {
        line(&mut text, "failed", unmet);
    }
    if report.resumable {
        line(&mut text, "resume", "the same command with --resume goes on from here");
    }
    notes(&mut text, &report.notes);
    // Findings are clean already, and may be in colour.
    findings + &output::printable_lines(&text)
}

/// Notes, and then warnings where nobody overlooks them.
pub(crate) fn notes(text: &mut String, notes: &[Note]) {
    for note in notes.iter().filter(|note| !note.is_warning()) {
        let _ = writeln!(text, "  note      {}", note.text);
    }
    for warning in notes.iter().filter(|note| note.is_warning()) {
        let _ = writeln!(text, "\nWARNING: {}", warning.text);
    }
}

/// A finding, with the commands that show more of it as they can be typed here.
pub(crate) fn story(finding: &Finding, directory: Option<&Path>) -> String {
    terminal::finding(&finding.story, look::of_errors(), &next(finding, directory))
}

/// The same for a reader who has seen the timeline.
pub(crate) fn story_without_timeline(finding: &Finding, next: &Next) -> String {
    terminal::finding_without_timeline(&finding.story, look::of_errors(), next)
}

pub(crate) fn next(finding: &Finding, directory: Option<&Path>) -> Next {
    let mut next = Next::default();
    if let Some(file) = &finding.file {
        next.commands.push(("replay".into(), replay_line::for_file(file)));
    }
    if let Some(directory) = directory {
        next.commands.push(("report".into(), replay_line::report(directory)));
    }
    next.commands.push(("explain".into(), replay_line::explain(finding.story.kind)));
    next.trouble = finding.trouble.as_ref().map(|error| {
        format!(
            "The schedule file could not be written ({error}). Name a directory that can be written to with --run-dir."
        )
    });
    next
}

fn explored(check: &Check, report: &Report) -> String {
    let summary = &report.summary;
    let mut text = verdict::explored(report.verdict, report.strategy, summary);
    let _ = write!(
        text,
        "; up to {} and {}",
        plural(summary.threads as u64, "thread"),
        plural(summary.depth as u64, "step")
    );
    if check.settings.timeouts == Timeouts::Last {
        text.push_str("; timeouts: last, when nothing else can happen");
    }
    if report.cross_checked > 0 {
        let samples = if report.cross_checked == 1 { "execution" } else { "executions" };
        let _ = write!(text, "; cross-checked by {} sampled {samples}", terminal::large(report.cross_checked));
    }
    text
}

fn took(report: &Report) -> String {
    let time = format!("{:.3} s, {:.3} s of processor time", report.wall.as_secs_f64(), report.cpu.as_secs_f64());
    match rate(report) {
        // The time of a finding is that of showing it again and of reading symbols.
        Some(rate) if report.verdict != Verdict::Finding => format!("{time}: {rate:.0} executions per CPU second"),
        _ => time,
    }
}

/// Executions in a second of processor time, starting the program and confirming findings not included.
pub(crate) fn rate(report: &Report) -> Option<f64> {
    let seconds = report.exploring.as_secs_f64();
    (seconds > 0.0).then(|| report.summary.executions as f64 / seconds)
}

fn strategy(check: &Check, report: &Report) -> String {
    match check.settings.bound() {
        Some(Bound::Preemptions(n)) => format!("{}, at most {}", report.strategy, plural(n.into(), "preemption")),
        Some(Bound::Delays(n)) => format!("{}, at most {}", report.strategy, plural(n.into(), "delay")),
        None if Strategy::by_name(report.strategy).is_some_and(|s| s.samples() || s == Strategy::Portfolio) => {
            format!("{}, seed {}", report.strategy, check.settings.seed)
        }
        None => report.strategy.to_owned(),
    }
}

/// `1 thing`, `2 things`.
pub(crate) fn plural(count: u64, thing: &str) -> String {
    format!("{count} {thing}{}", if count == 1 { "" } else { "s" })
}
