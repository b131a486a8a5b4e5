//! What a suite tells a person: a table with a row for each test, the findings with their commands, and what to do next.

use crate::progress::large;
use crate::{output, replay_line};
use ordain_check::verdict::INTERRUPTED;
use ordain_report::{Note, Run, Verdict, number, percent, terminal::plural};
use ordain_suite::{Row, Suite, SuiteResult, replay_command};
use std::fmt::Write as _;
use std::path::Path;

/// All of it.
pub(super) fn human(suite: &Suite, result: &SuiteResult) -> String {
    let mut text = table(result);
    let _ = writeln!(text, "\n{}", summary(result));
    findings(&mut text, suite, result);
    troubles(&mut text, result);
    notes(&mut text, result);
    let directory = suite.directory.canonicalize().unwrap_or_else(|_| suite.directory.clone());
    match &result.unwritten {
        Some(reason) => {
            let _ = writeln!(text, "\nWARNING: the record of the suite could not be written ({reason})");
        }
        None if result.is_unfinished() => {
            let why = why_unfinished(result);
            let _ = writeln!(text, "\n{why}. To resume the tests that are not done:");
            let _ = writeln!(text, "  {} suite --resume {}", replay_line::own_name(), replay_line::path(&directory));
        }
        None => {}
    }
    // Names, messages and headlines may come from anywhere.
    output::printable_lines(&text)
}

/// Why tests are not done.
pub(super) fn why_unfinished(result: &SuiteResult) -> &'static str {
    match () {
        () if result.interrupted => "The suite was stopped",
        () if result.budget_spent => "The budget was spent",
        () => "It was not done",
    }
}

const HEAD: [&str; 8] = ["test", "kind", "verdict", "explored", "executions", "findings", "time", ""];
/// Tests that are named where several share a note.
const MOST_NAMES: usize = 3;
/// Columns of numbers.
const RIGHT: [bool; 8] = [false, false, false, true, true, true, true, false];

fn table(result: &SuiteResult) -> String {
    let mut rows = vec![HEAD.map(str::to_owned)];
    rows.extend(result.rows.iter().map(cells));
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; 8] = std::array::from_fn(width);
    let mut text = String::new();
    for row in &rows {
        let mut line = String::new();
        for ((cell, width), right) in row.iter().zip(widths).zip(RIGHT) {
            let _ = if right { write!(line, "{cell:>width$}  ") } else { write!(line, "{cell:<width$}  ") };
        }
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}

fn cells(row: &Row) -> [String; 8] {
    let findings = row.run.as_ref().map_or(0, |run| run.findings.len());
    [
        one_line(&row.name),
        row.kind.name().to_owned(),
        row.state().to_owned(),
        explored(row),
        large(row.executions),
        large(findings as u64),
        format!("{:.1} s", row.seconds),
        one_line(&reason(row)),
    ]
}

/// How much of a test is explored, as far as can be told.
fn explored(row: &Row) -> String {
    if let Some(run) = row.run.as_ref().filter(|run| run.exhausted) {
        return if run.strategy.contains("bound") { "all in bound" } else { "all" }.into();
    }
    match (row.share(), row.estimate) {
        (Some(share), Some(estimate)) => format!("{} % of about {}", percent(share), number(estimate.log10)),
        _ => "?".into(),
    }
}

/// Why the verdict is what it is, where that is not plain.
fn reason(row: &Row) -> String {
    let because = match (row.trouble.as_ref().map(|trouble| trouble.message.clone()).or_else(|| row.unmet()), &row.run)
    {
        (Some(because), _) => because,
        (None, Some(run)) => match run.verdict {
            Verdict::Finding => kinds(run),
            Verdict::NoFinding if row.done => {
                run.meaning.split_once(": ").map_or(run.meaning.as_str(), |(_, meaning)| meaning).to_owned()
            }
            _ => String::new(),
        },
        (None, None) => String::new(),
    };
    match (row.kept, because.as_str()) {
        (true, "") => "from before".to_owned(),
        (true, _) => format!("{because}; from before"),
        (false, _) => because,
    }
}

fn kinds(run: &Run) -> String {
    let mut kinds: Vec<&str> = run.findings.iter().map(|story| story.kind.name()).collect();
    kinds.sort_unstable();
    kinds.dedup();
    kinds.join(", ")
}

fn summary(result: &SuiteResult) -> String {
    let mut states: Vec<(&str, usize)> = Vec::new();
    for state in result.rows.iter().map(Row::state) {
        match states.iter_mut().find(|known| known.0 == state) {
            Some(known) => known.1 += 1,
            None => states.push((state, 1)),
        }
    }
    let mut states: Vec<String> = states.iter().map(|(state, count)| format!("{count} {state}")).collect();
    let executions = result.rows.iter().fold(0u64, |sum, row| sum.saturating_add(row.executions));
    let unmet = result.rows.iter().filter(|row| row.unmet().is_some()).count();
    if unmet > 0 {
        let have = if unmet == 1 { "has" } else { "have" };
        states.push(format!("{unmet} {have} not reached what was required"));
    }
    format!(
        "{}: {}\n{} in {:.1} s; policy {}",
        plural(result.rows.len(), "test"),
        states.join(", "),
        if executions == 1 { "1 execution".to_owned() } else { format!("{} executions", large(executions)) },
        result.wall_seconds,
        result.policy.name(),
    )
}

/// The findings, each with the commands that show more of it.
fn findings(text: &mut String, suite: &Suite, result: &SuiteResult) {
    for row in &result.rows {
        let Some(run) = row.run.as_ref().filter(|run| !run.findings.is_empty()) else { continue };
        let config = suite.config.tests.iter().find(|test| test.name == row.name);
        for story in &run.findings {
            let headline = one_line(story.headline.trim_end_matches(':'));
            let _ = writeln!(text, "\n{}: {}: {headline}", one_line(&row.name), story.kind);
            if let Some((config, file)) = config.zip(story.schedule.as_deref()) {
                let file = replay_line::near(Path::new(file)).display().to_string();
                let command = replay_command(config, suite.base(), &replay_line::own_name(), &file);
                let _ = writeln!(text, "  replay   {command}");
            }
        }
        let directory = row.directory.canonicalize().unwrap_or_else(|_| row.directory.clone());
        let _ = writeln!(text, "  report   {}", replay_line::report(&directory));
    }
}

/// What to do about tests that could not be checked; why is in the table.
fn troubles(text: &mut String, result: &SuiteResult) {
    let helps = result.rows.iter().filter_map(|row| Some((row, row.trouble.as_ref()?.help.as_ref()?)));
    for (number, (row, help)) in helps.enumerate() {
        let begin = if number == 0 { "\n" } else { "" };
        let _ = writeln!(text, "{begin}help     {}: {}", one_line(&row.name), one_line(help));
    }
}

/// What weakens verdicts. That a test was stopped is in the table.
fn notes(text: &mut String, result: &SuiteResult) {
    // Each once, with the tests that it is of.
    let mut notes: Vec<(&Note, Vec<&str>)> = Vec::new();
    for (row, run) in result.rows.iter().filter_map(|row| Some((row, row.run.as_ref()?))) {
        for note in run.notes.iter().filter(|note| note.text != INTERRUPTED) {
            match notes.iter_mut().find(|known| known.0 == note) {
                Some((_, names)) if names.contains(&row.name.as_str()) => {}
                Some((_, names)) => names.push(&row.name),
                None => notes.push((note, vec![&row.name])),
            }
        }
    }
    notes.sort_by_key(|(note, _)| note.is_warning());
    for (number, (note, names)) in notes.iter().enumerate() {
        let names = match names.split_at(names.len().min(MOST_NAMES)) {
            (names, []) => names.join(", "),
            (names, more) => format!("{} and {} more", names.join(", "), more.len()),
        };
        let severity = match (number, note.is_warning()) {
            (_, true) => "\nWARNING:",
            (0, false) => "\nnote    ",
            _ => "note    ",
        };
        let _ = writeln!(text, "{severity} {}: {}", one_line(&names), one_line(&note.text));
    }
}

fn one_line(text: &str) -> String {
    text.replace(['\n', '\t'], " ")
}
