//! `ordain replay --gdb`: the program held at a step, with gdb attached and its threads called as Ordain calls them.

use super::Arguments;
use super::departure::{Difference, Expected};
use super::program::departure;
use crate::Outcome;
use crate::output;
use crate::problem::Problem;
use ordain_model::Schedule;
use ordain_native::gdb::{Held, SCRIPT};
use ordain_native::{Check, Finding, Session, State, ThreadNow};
use ordain_report::{Place, Step};
use serde::Serialize;
use signal_hook::consts::SIGINT;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// What the script for gdb reads.
#[derive(Serialize)]
struct ScriptInput {
    #[serde(flatten)]
    held: Held,
    steps: Vec<ShownStep>,
    /// What threads do where the program is held.
    now: BTreeMap<String, String>,
    /// What threads do at the end.
    ends: BTreeMap<String, String>,
    /// The thread to look at first at the end.
    focus: String,
    finding: String,
}

#[derive(Serialize)]
struct ShownStep {
    number: u32,
    choice: u32,
    thread: String,
    text: String,
    place: String,
}

/// Runs gdb on the program, held at its failing step or at the one that was asked for.
pub(super) fn debug(
    arguments: &Arguments,
    check: &Check,
    schedule: &Schedule,
    expected: &[Expected],
    changed: bool,
) -> Result<Outcome, Problem> {
    let native = |problem| Problem::Native { problem };
    look_for_gdb()?;
    let mut session = Session::start_debugged(check, schedule).map_err(native)?;
    let mut steps = Vec::new();
    while !session.is_over() {
        if let Some(step) = session.step().map_err(native)? {
            steps.push((session.thread_of(&step), step));
        }
    }
    let difference = if session.departed() { Difference::at_end(&session, schedule, expected) } else { None };
    let replayed = session.finish().map_err(native)?;
    if let Some(text) = replayed.departure {
        return Err(departure(arguments, schedule, changed, (replayed.steps, text), difference));
    }
    let finding = replayed.finding;
    let ends = states(&session, finding.as_ref());
    let decisions = session.decisions();
    if let Some(at) = arguments.at {
        if at >= steps.len() {
            return Err(Problem::NoSuchStep { step: at, steps: steps.len() });
        }
        session.restart().map_err(native)?;
        while session.made() < at && session.step().map_err(native)?.is_some() {}
    }
    let now = states(&session, finding.as_ref().filter(|_| session.is_over()));
    let held = session.held().ok_or(Problem::ProcessGone)?;
    let input = ScriptInput {
        held,
        steps: steps
            .into_iter()
            .zip(decisions)
            .map(|((name, step), decision)| shown_step(name, &step, decision))
            .collect(),
        now,
        ends,
        focus: finding.as_ref().map_or_else(|| "main".to_owned(), focus),
        finding: finding.as_ref().map_or_else(
            || "it ended well".to_owned(),
            |f| output::printable(&format!("{}: {}", f.story.kind.title(), f.story.headline)),
        ),
    };
    run(&input, arguments)?;
    Ok(if finding.is_some() { Outcome::Finding } else { Outcome::Clean })
}

fn look_for_gdb() -> Result<(), Problem> {
    let found =
        Command::new("gdb").arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    match found {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(Problem::NoGdb),
        Err(error) => Err(Problem::Gdb { error }),
    }
}

/// Writes what gdb needs into a directory of its own, and waits for gdb to end.
fn run(input: &ScriptInput, arguments: &Arguments) -> Result<(), Problem> {
    let failed = |error| Problem::Gdb { error };
    let directory = tempfile::Builder::new().prefix("ordain-gdb-").tempdir().map_err(failed)?;
    let (script, data) = (directory.path().join("ordain.py"), directory.path().join("data.json"));
    fs::write(&script, SCRIPT).map_err(failed)?;
    fs::write(&data, serde_json::to_vec(input).map_err(|error| failed(error.into()))?).map_err(failed)?;
    // Ctrl-C is for gdb, which stops the program then.
    let _ = signal_hook::flag::register(SIGINT, Arc::new(AtomicBool::new(false)));
    let mut command = Command::new("gdb");
    command.arg("-q").arg("-x").arg(&script).args(&arguments.gdb_args).env("ORDAIN_GDB", &data);
    command.status().map_err(failed)?;
    Ok(())
}

fn shown_step(thread: String, step: &Step, (number, choice): (u32, u32)) -> ShownStep {
    let place = step.place.as_ref().map_or_else(String::new, |place| format!(" at {}", place.short()));
    ShownStep { number, choice, thread, text: output::printable(&step.text), place: output::printable(&place) }
}

/// What each thread does next, or why it does not.
fn states(session: &Session<'_>, finding: Option<&Finding>) -> BTreeMap<String, String> {
    let next = session.next_thread();
    let culprit = finding.and_then(|f| f.story.threads.iter().find(|t| t.culprit));
    let told = |thread: &ThreadNow| match (finding, culprit) {
        (Some(finding), Some(culprit)) if culprit.name == thread.name => finding.story.kind.title().to_owned(),
        _ => state(thread, next.as_deref() == Some(&thread.name)),
    };
    session.threads().iter().map(|t| (t.name.clone(), output::printable(&told(t)))).collect()
}

/// What a thread does, in a few words.
pub(super) fn state(thread: &ThreadNow, is_next: bool) -> String {
    let doing = thread.doing.as_deref().unwrap_or("end");
    match thread.state {
        State::Ended => "ended".to_owned(),
        State::Failed => "ended the execution".to_owned(),
        State::Ready if is_next => format!("next: {doing}"),
        State::Ready => format!("can go on: {doing}"),
        State::Waiting if thread.waits_for.is_empty() || doing.starts_with("join") => format!("waits: {doing}"),
        State::Waiting => format!("waits: {doing}, held by {}", thread.waits_for.join(" and ")),
    }
}

/// The thread that a finding is about first.
fn focus(finding: &Finding) -> String {
    let story = &finding.story;
    let culprit = story.threads.iter().position(|t| t.culprit);
    let waiting = story.waiting.as_ref().and_then(|w| w.cycle.first().copied().or(w.waiters.first().map(|w| w.thread)));
    let last = story.steps.last().map(|step| step.thread);
    culprit.or(waiting).or(last).and_then(|i| story.threads.get(i)).map_or_else(|| "main".into(), |t| t.name.clone())
}

/// The place as a person looks for it.
pub(super) fn short(place: &Place) -> String {
    match (&place.text, place.line) {
        (_, 0) => Path::new(&place.file).file_name().unwrap_or_default().to_string_lossy().into_owned(),
        (Some(text), _) => format!("{}  {}", place.short(), text.trim()),
        (None, _) => place.short(),
    }
}
