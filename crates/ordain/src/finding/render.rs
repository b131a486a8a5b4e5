//! The text of findings.

use super::{Context, FindingKind};
use crate::rt::{Executor, location};
use ordain_explore::Target;
use ordain_model::describe::{self, Words};
use ordain_model::execution::PlainKind;
use ordain_model::{DataRace, Names, Site, ThreadId};
use std::fmt::Write;

/// The name of a thread, with the one that its Builder gave it.
pub(super) fn thread(executor: &Executor, thread: ThreadId) -> String {
    let name = Target::names(executor).thread_name(thread);
    match executor.given_name(thread) {
        Some(given) => format!("{name} ({given:?})"),
        None => name,
    }
}

impl Words for Executor {
    fn names(&self) -> &Names {
        Target::names(self)
    }

    fn thread(&self, id: ThreadId) -> String {
        thread(self, id)
    }

    fn place(&self, site: Site) -> Option<String> {
        place(site)
    }
}

/// The place of a site in the user's own sources. Destructors are called from inside std, which tells nothing.
fn place(site: Site) -> Option<String> {
    let location = location(site).filter(|l| !l.file().starts_with("/rustc/"))?;
    Some(format!("{}:{}:{}", location.file(), location.line(), location.column()))
}

fn at(site: Site) -> String {
    place(site).map_or_else(String::new, |place| format!(" at {place}"))
}

/// Where threads are that have gone on for too long: the places that the last steps went through.
pub(super) fn step_limit(executor: &Executor) -> String {
    let execution = executor.execution();
    let mut text = format!(
        "{} steps, and no thread began or ended in the last of them (Check::max_steps). The last 1000 steps were:",
        execution.steps.len()
    );
    let mut places: Vec<(ThreadId, Site, usize)> = Vec::new();
    for s in execution.steps.iter().rev().take(1000) {
        match places.iter_mut().find(|p| p.0 == s.thread && p.1 == s.site) {
            Some(place) => place.2 += 1,
            None => places.push((s.thread, s.site, 1)),
        }
    }
    places.sort_by_key(|p| (p.0, std::cmp::Reverse(p.2)));
    for (who, site, times) in places {
        let _ = write!(text, "\n{} {times} times{}", thread(executor, who), at(site));
    }
    text
}

/// The two accesses of a data race.
pub(super) fn race(executor: &Executor, race: &DataRace) -> String {
    let access = |a: &ordain_model::execution::PlainAccess| {
        let verb = if matches!(a.kind, PlainKind::Write(_)) { "writes" } else { "reads" };
        format!("{} {verb}{}", thread(executor, a.thread), at(a.site))
    };
    format!(
        "nothing orders these accesses to {}:\n{}\n{}",
        Words::object(executor, race.cell),
        access(&race.first),
        access(&race.second)
    )
}

/// The whole story of a finding.
pub(super) fn finding(
    executor: &Executor,
    kind: &FindingKind,
    message: &str,
    context: &Context<'_>,
    replay: &str,
    trouble: Option<&str>,
) -> String {
    let execution = executor.execution();
    let mut text = format!("ordain found: {}\n", kind.title());
    for line in message.lines() {
        let _ = writeln!(text, "  {line}");
    }
    let switches = match execution.context_switches() {
        1 => "1 context switch".to_owned(),
        n => format!("{n} context switches"),
    };
    let _ = writeln!(text, "\nsteps ({}, with {switches}, marked >):", execution.steps.len());
    describe::steps(executor, execution, &mut text);
    if let Some(trouble) = trouble {
        let _ = writeln!(text, "\nThe schedule file could not be written ({trouble}).");
    }
    if context.number > 0 && *kind != FindingKind::Nondeterminism {
        let quoted = replay.replace('\'', "'\\''");
        let _ = writeln!(text, "\nreplay it with:\n  ORDAIN_REPLAY='{quoted}' cargo test {}", context.check);
    }
    text
}
