//! Findings: what misbehaved, shown so that a person can act on it.

mod render;
mod store;

pub(crate) use store::run_directory;

use crate::rt::{Executor, Panicked};
use ordain_check::{Observation, Proof, Scope};
use ordain_explore::{Target, prefix_of};
use ordain_model::describe::{self, Words as _};
use ordain_model::{DataRace, Divergence, End, Misuse, races};
/// What went wrong.
pub use ordain_report::Kind as FindingKind;
use ordain_report::{Facts, Sources, Story};
use std::fmt;
use std::path::{Path, PathBuf};

/// What to do about a program that is not deterministic.
pub(crate) const NONDETERMINISM_ADVICE: &str = "A checked program must do the same whenever its threads move in the same \
     order: look for real time, random numbers, addresses, iteration over HashMap, state that survives from one execution to \
     the next (statics of std, values captured by the closure), and types of std where ordain's are needed: also std::sync::Arc, \
     if what happens depends on who drops the last reference or on its counts (use ordain::sync::Arc)";

/// What to do if two accesses are ordered after all, by something that is not seen.
const ARC_ADVICE: &str = "if std::sync::Arc orders them, because one of them is made by who drops the last reference or is found to have \
     the only one: a check does not see its counts; use ordain::sync::Arc";

/// What is visible to checks of the library, and what their verdicts rest on.
pub const SCOPE: Scope = Scope { level: "ordain types", assumption: "threads share data only by types of Ordain" };
/// What checks of the library see, in records and schedules.
pub const LEVEL: &str = "ordain types, sequential consistency";

/// A confirmed misbehaviour with its schedule. Its `Display` is the whole story.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Finding {
    pub(crate) story: Story,
    pub(crate) message: String,
    pub(crate) place: String,
    pub(crate) file: Option<PathBuf>,
    pub(crate) replay: String,
    pub(crate) text: String,
}

impl Finding {
    /// What went wrong.
    pub fn kind(&self) -> &FindingKind {
        &self.story.kind
    }

    /// What happened, in a sentence, and what is known beyond that, one thing in a line.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Number of steps of its schedule.
    pub fn steps(&self) -> usize {
        self.story.length
    }

    /// Everything that is known of it, as data.
    pub fn story(&self) -> &Story {
        &self.story
    }

    /// The schedule file, if one could be written.
    pub fn schedule_file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// The value of the variable `ORDAIN_REPLAY` that replays it.
    pub fn replay_value(&self) -> &str {
        &self.replay
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Where findings of a check go.
pub(crate) struct Context<'a> {
    pub(crate) check: &'a str,
    pub(crate) directory: Option<&'a Path>,
    /// How it was shown.
    pub(crate) proof: &'a Proof<'a>,
}

/// Looks at the last execution for misbehaviour.
pub(crate) fn notice(executor: &Executor, found: &mut Vec<DataRace>) -> Option<Observation> {
    let (execution, names) = (executor.execution(), Target::names(executor));
    if matches!(execution.end, End::Interrupted) {
        found.clear();
        return None;
    }
    if !execution.plain.is_empty() {
        races::find(execution, found);
    } else {
        found.clear();
    }
    let notice =
        |kind, message, place: String| Some(Observation { kind, message, place, prefix: prefix_of(execution) });
    if let End::Diverged(divergence) = &execution.end {
        let message = divergence_message(executor, divergence);
        return notice(FindingKind::Nondeterminism, message, String::new());
    }
    if let Some(race) = found.first() {
        let place = format!("{:?} {:?}", race.first.site, race.second.site);
        return notice(FindingKind::DataRace, String::new(), place);
    }
    if let Some(last) = executor.panics().iter().position(|p| !p.observed) {
        // A panic that was joined and led to this one (a join that is unwrapped) is where it began.
        let panics = &executor.panics()[..=last];
        let place = match &panics[0].location {
            Some(location) => format!("{location:?}"),
            None => panics[0].message.clone(),
        };
        return notice(FindingKind::Panic, panic_message(executor, panics), place);
    }
    if let Some(at) = execution.misuses.first() {
        let kind = match at.misuse {
            Misuse::LockHeldAtExit(_) => FindingKind::LockHeldAtExit,
            _ => FindingKind::Misuse,
        };
        return notice(kind, String::new(), execution.place(names));
    }
    match &execution.end {
        End::Deadlock(_) => notice(FindingKind::Deadlock, String::new(), execution.place(names)),
        End::Livelock { .. } => notice(FindingKind::Livelock, String::new(), execution.place(names)),
        End::StepLimit => notice(FindingKind::StepLimit, render::step_limit(executor), String::new()),
        _ => None,
    }
}

/// Whether the program uses reference counts that are seen.
fn counts_shares(execution: &ordain_model::Execution) -> bool {
    use ordain_model::Operation::{AddShare, Count, DropShare};
    execution.steps.iter().any(|s| matches!(s.op, AddShare { .. } | Count { .. } | DropShare { .. }))
}

fn panic_message(executor: &Executor, panics: &[Panicked]) -> String {
    let mut text = String::new();
    for panic in panics {
        let place = match &panic.location {
            Some((file, line, column)) => format!(" at {file}:{line}:{column}"),
            None => String::new(),
        };
        let then = if text.is_empty() { "" } else { "\nthen " };
        text.push_str(&format!("{then}{} panicked{place}: {}", executor.thread(panic.thread), panic.message));
    }
    if let End::Deadlock(deadlock) = &executor.execution().end {
        text.push_str("\nand then no thread could go on:\n");
        text.push_str(&describe::deadlock(executor, deadlock));
    }
    text
}

fn divergence_message(executor: &Executor, divergence: &Divergence) -> String {
    format!(
        "the program did something else than before at step {}, after the same steps: {}. {NONDETERMINISM_ADVICE}",
        divergence.step,
        describe::difference(executor, divergence)
    )
}

/// What to say when a program departs from a schedule that the user gave.
pub(crate) fn departure(executor: &Executor, divergence: &Divergence, found: Option<&str>) -> String {
    let found = found.map_or_else(String::new, |f| format!(" (it showed: {f})"));
    format!(
        "the program departs from the schedule{found} at step {}: {}. The program has changed since, or it is not deterministic",
        divergence.step,
        describe::difference(executor, divergence)
    )
}

/// Makes a finding of what the last execution showed, and writes its schedule file.
pub(crate) fn describe(executor: &Executor, observation: &Observation, context: &Context<'_>) -> Finding {
    let Observation { kind, message, place, prefix } = observation.clone();
    let execution = executor.execution();
    let mut found = Vec::new();
    if kind == FindingKind::DataRace {
        races::find(execution, &mut found);
    }
    let culprit = executor.panics().iter().find(|p| !p.observed).map(|p| p.thread);
    let facts = Facts {
        kind,
        message: &message,
        execution,
        preemptions: context.proof.preemptions,
        race: found.first(),
        culprit: culprit.filter(|_| kind == FindingKind::Panic),
        program: context.check,
        level: LEVEL,
    };
    let mut sources = std::env::current_exe().map_or_else(|_| Sources::default(), |path| Sources::of_file(&path));
    let mut story = ordain_report::tell(executor, &mut sources, &facts);
    ordain_report::keep_sources(&mut story, &mut sources);
    story.shrunk = context.proof.shrunk;
    let is_exclusive = |r: &&DataRace| executor.is_exclusive(&r.first) || executor.is_exclusive(&r.second);
    if kind == FindingKind::DataRace && found.first().filter(is_exclusive).is_some() && !counts_shares(execution) {
        story.details.push(ARC_ADVICE.to_owned());
    }
    let schedule = store::schedule(executor, context.check, &story, prefix.len());
    let stored = match (context.proof.number, context.directory) {
        (0, _) | (_, None) => Ok(None),
        (number, Some(directory)) => store::write(executor, &schedule, directory, context.check, number).map(Some),
    };
    let inline = || crate::replay::format_inline(context.check, &schedule);
    let (file, replay, trouble) = match stored {
        Ok(Some(path)) => (Some(path.clone()), path.display().to_string(), None),
        Ok(None) => (None, inline(), None),
        Err(error) => (None, inline(), Some(error)),
    };
    story.schedule = file.as_ref().map(|path| path.display().to_string());
    let text = render::finding(&story, context, &replay, trouble);
    Finding { message: story.message(), story, place, file, replay, text }
}
