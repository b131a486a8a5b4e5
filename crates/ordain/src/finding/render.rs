//! The text of findings.

use super::{Context, FindingKind};
use crate::rt::{Executor, location};
use ordain_explore::Target;
use ordain_model::execution::PlainKind;
use ordain_model::{
    DataRace, Deadlock, Divergence, Execution, ObjectId, Operation, Outcome, Site, Step, ThreadId, Wait,
};
use std::fmt::Write;

/// Steps shown of a long schedule: the first and the last ones.
const FIRST_SHOWN: usize = 40;
const LAST_SHOWN: usize = 40;

/// The name of a thread, with the one that its Builder gave it.
pub(super) fn thread(executor: &Executor, thread: ThreadId) -> String {
    let name = executor.names().thread_name(thread);
    match executor.given_name(thread) {
        Some(given) => format!("{name} ({given:?})"),
        None => name,
    }
}

fn object(executor: &Executor, object: ObjectId) -> String {
    executor.names().object_name(object)
}

/// The place of a site in the user's own sources. Destructors are called from inside std, which tells nothing.
fn place(site: Site) -> Option<String> {
    let location = location(site).filter(|l| !l.file().starts_with("/rustc/"))?;
    Some(format!("{}:{}:{}", location.file(), location.line(), location.column()))
}

fn at(site: Site) -> String {
    place(site).map_or_else(String::new, |place| format!(" at {place}"))
}

/// What an operation is, with its objects.
fn operation(executor: &Executor, op: &Operation) -> String {
    let verb = op.verb();
    match op {
        Operation::Spawn { child } => format!("{verb} {}", thread(executor, *child)),
        Operation::Join { thread: target, .. }
        | Operation::IsFinished { thread: target }
        | Operation::Detach { thread: target }
        | Operation::Unpark { thread: target } => format!("{verb} {}", thread(executor, *target)),
        Operation::QueueWait { queue, lock } => {
            format!("{verb} on {}, releasing {}", object(executor, *queue), object(executor, *lock))
        }
        Operation::Choose { count } => format!("{verb} below {count}"),
        _ => match op.object() {
            Some(o) => format!("{verb} {}", object(executor, o)),
            None => verb.to_owned(),
        },
    }
}

/// What a step did, with its outcome where that says something, and where.
pub(super) fn step(executor: &Executor, step: &Step) -> String {
    let mut text = operation(executor, &step.op);
    match (step.outcome, step.op) {
        (outcome, Operation::Choose { .. }) => {
            let _ = write!(text, " -> {}", outcome.0);
        }
        (Outcome::FAILED, op) => text.push_str(match op.wait() {
            Some(Wait::Timed) => " -> timed out",
            Some(Wait::Block) => " -> spurious wake-up",
            _ => " -> failed",
        }),
        (Outcome::DISCONNECTED, _) => text.push_str(" -> disconnected"),
        (Outcome::SERIAL, _) => text.push_str(" -> last to arrive"),
        (Outcome::RUN, _) => text.push_str(" -> runs it"),
        (outcome, Operation::Notify { .. }) => {
            let _ = write!(text, " -> woke {}", outcome.0);
        }
        _ => {}
    }
    text.push_str(&at(step.site));
    text
}

/// Who waits for what, held by whom.
pub(super) fn deadlock(executor: &Executor, deadlock: &Deadlock) -> String {
    let mut text = String::new();
    for waiter in &deadlock.waiters {
        let who = thread(executor, waiter.thread);
        let what = match waiter.op {
            Operation::Join { thread: target, .. } => {
                format!("waits for {} to end", thread(executor, target))
            }
            Operation::Woken { queue, .. } => format!("waits to be woken from {}", object(executor, queue)),
            Operation::Park { .. } => "is parked and waits to be unparked".to_owned(),
            op => format!("waits to {}", operation(executor, &op)),
        };
        let mut holders: Vec<String> = Vec::new();
        if !matches!(waiter.op, Operation::Join { .. }) {
            holders.extend(
                waiter
                    .for_threads
                    .iter()
                    .map(|t| if *t == waiter.thread { "itself".to_owned() } else { thread(executor, *t) }),
            );
        }
        let held = if holders.is_empty() { String::new() } else { format!(", held by {}", holders.join(" and ")) };
        let _ = writeln!(text, "{who} {what}{held}{}", at(waiter.site));
    }
    if deadlock.cycle.len() > 1 {
        let names: Vec<String> = deadlock.cycle.iter().map(|t| thread(executor, *t)).collect();
        let _ = writeln!(text, "circle: {} -> {}", names.join(" -> "), names[0]);
    }
    text.trim_end().to_owned()
}

/// Which threads go round which loop.
pub(super) fn livelock(executor: &Executor, loops: &[(ThreadId, Vec<Site>)]) -> String {
    let mut text = String::from("no thread makes progress, and these go round for ever, changing nothing:");
    for (spinning, sites) in loops {
        let places: Vec<String> = sites.iter().filter_map(|s| place(*s)).collect();
        let _ = write!(text, "\n{} in the loop at {}", thread(executor, *spinning), places.join(", "));
    }
    text
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
        object(executor, race.cell),
        access(&race.first),
        access(&race.second)
    )
}

/// What a plan expected and what the program did.
pub(super) fn difference(executor: &Executor, divergence: &Divergence) -> String {
    let who = thread(executor, divergence.expected.thread);
    let expected = divergence
        .expected_op
        .map_or_else(|| "was to move".to_owned(), |op| format!("was to {}", operation(executor, &op)));
    match divergence.found {
        None => format!("{who} {expected}, but it is not there (it has ended, or was not spawned)"),
        Some(found) if divergence.expected_op.is_none_or(|op| found.is_as_planned(&op)) => {
            format!("{who} {expected}, but its {} is blocked", operation(executor, &found))
        }
        Some(found) => format!("{who} {expected}, but is about to {}", operation(executor, &found)),
    }
}

/// Lists the steps; `>` marks those at which another thread took over.
fn steps(executor: &Executor, execution: &Execution, text: &mut String) {
    let count = execution.steps.len();
    let width = execution.steps.iter().map(|s| executor.names().thread_name(s.thread).len()).max().unwrap_or(0);
    let mut last = None;
    for (i, s) in execution.steps.iter().enumerate() {
        let hidden = count > FIRST_SHOWN + LAST_SHOWN && i >= FIRST_SHOWN && i + LAST_SHOWN < count;
        if hidden {
            if i == FIRST_SHOWN {
                let _ =
                    writeln!(text, "  ... {} steps, all in the schedule file ...", count - FIRST_SHOWN - LAST_SHOWN);
            }
        } else {
            let mark = if last.is_some_and(|l| l != s.thread) { '>' } else { ' ' };
            let name = executor.names().thread_name(s.thread);
            let _ = writeln!(text, "{mark} {i:>4} {name:<width$}  {}", step(executor, s));
        }
        last = Some(s.thread);
    }
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
    steps(executor, execution, &mut text);
    if let Some(trouble) = trouble {
        let _ = writeln!(text, "\nThe schedule file could not be written ({trouble}).");
    }
    if context.number > 0 && *kind != FindingKind::Nondeterminism {
        let quoted = replay.replace('\'', "'\\''");
        let _ = writeln!(text, "\nreplay it with:\n  ORDAIN_REPLAY='{quoted}' cargo test {}", context.check);
    }
    text
}
