//! `ordain show`: a schedule file as a table.

use crate::Outcome;
use crate::output::{self, printable};
use crate::problem::Problem;
use crate::schedule_file::{self, ScheduleFile};
use std::io::{self, Write};
use std::path::PathBuf;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The schedule file
    file: PathBuf,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Problem> {
    let file = schedule_file::read(&arguments.file)?;
    output::write(|out| table(&file, out))?;
    Ok(Outcome::Clean)
}

/// Writes header and steps; `>` marks steps at which another thread took over.
fn table(file: &ScheduleFile, out: &mut dyn Write) -> io::Result<()> {
    let steps = &file.schedule.steps;
    let wide = file.schedule.header.iter().map(|h| h.0.chars().count()).max().unwrap_or(0).max("steps".len());
    for (key, value) in &file.schedule.header {
        let value = if key == "outside" { size_of_hex(value) } else { printable(value) };
        writeln!(out, "{:<wide$}  {value}", printable(key))?;
    }
    let switches = steps.windows(2).filter(|pair| pair[0].0 != pair[1].0).count();
    let plural = if switches == 1 { "" } else { "es" };
    writeln!(out, "{:<wide$}  {}, with {switches} context switch{plural}", "steps", steps.len())?;
    let name = steps.iter().map(|s| s.0.len()).max().unwrap_or(0).max("thread".len());
    if !steps.is_empty() {
        writeln!(out, "\n  step  {:<name$}  choice  operation", "thread")?;
    }
    let mut last: Option<&str> = None;
    for (i, ((thread, choice), comment)) in steps.iter().zip(comments(&file.text)).enumerate() {
        let mark = if last.is_some_and(|l| l != thread) { '>' } else { ' ' };
        let choice = if *choice == 0 { String::new() } else { choice.to_string() };
        let line = format!("{mark} {i:>4}  {thread:<name$}  {choice:>6}  {}", printable(comment));
        writeln!(out, "{}", line.trim_end())?;
        last = Some(thread);
    }
    Ok(())
}

/// What came from outside is recorded as digits, which tell a reader nothing but how much it was.
fn size_of_hex(digits: &str) -> String {
    format!("{} bytes that the program read", digits.len() / 2)
}

/// What the file says about each step, in order.
pub(crate) fn comments(text: &str) -> impl Iterator<Item = &str> {
    let code = |line: &str| line.split('#').next().unwrap_or_default().trim().to_owned();
    let steps = text.lines().skip_while(move |line| code(line) != "steps:").skip(1);
    steps.filter_map(|line| {
        let (step, comment) = line.split_once('#').unwrap_or((line, ""));
        (!step.trim().is_empty()).then(|| comment.trim())
    })
}
