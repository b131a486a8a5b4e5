//! Words for what threads do: the same in every front end.
//!
//! A front end says how it calls threads and objects and where its sites are ([`Words`]); the sentences are made here.

use crate::execution::{Divergence, Execution, Site, Step};
use crate::finding::Deadlock;
use crate::names::{Names, ObjectId, ThreadId};
use crate::operation::{Operation, Outcome, Wait};
use alloc::borrow::ToOwned as _;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write as _;

/// Steps shown of a long schedule: the first and the last ones.
const FIRST_SHOWN: usize = 40;
const LAST_SHOWN: usize = 40;

/// How a front end calls things.
pub trait Words {
    /// The names by birth.
    fn names(&self) -> &Names;
    /// The name of a thread, with the one that the program gave it.
    fn thread(&self, thread: ThreadId) -> String {
        self.names().thread_name(thread)
    }
    /// The name of an object.
    fn object(&self, object: ObjectId) -> String {
        self.names().object_name(object)
    }
    /// The place of a site in the user's own sources.
    fn place(&self, site: Site) -> Option<String>;
    /// The place, as the end of a sentence.
    fn at(&self, site: Site) -> String {
        self.place(site).map_or_else(String::new, |place| format!(" at {place}"))
    }
}

/// What an operation is, with its objects.
pub fn operation(words: &dyn Words, op: &Operation) -> String {
    let verb = op.verb();
    match op {
        Operation::Spawn { child } => format!("{verb} {}", words.thread(*child)),
        Operation::Join { thread: target, .. }
        | Operation::IsFinished { thread: target }
        | Operation::Detach { thread: target }
        | Operation::Unpark { thread: target }
        | Operation::Interrupt { thread: target } => format!("{verb} {}", words.thread(*target)),
        Operation::QueueWait { queue, lock } => {
            format!("{verb} on {}, releasing {}", words.object(*queue), words.object(*lock))
        }
        Operation::Choose { count } => format!("{verb} below {count}"),
        _ => match op.object() {
            Some(o) => format!("{verb} {}", words.object(o)),
            None => verb.to_owned(),
        },
    }
}

/// What a step did, with its outcome where that says something, and where.
pub fn step(words: &dyn Words, step: &Step) -> String {
    let mut text = operation(words, &step.op);
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
    text.push_str(&words.at(step.site));
    text
}

/// Who waits for what, held by whom.
pub fn deadlock(words: &dyn Words, deadlock: &Deadlock) -> String {
    let mut text = String::new();
    for waiter in &deadlock.waiters {
        let who = words.thread(waiter.thread);
        let what = match waiter.op {
            Operation::Join { thread: target, .. } => {
                format!("waits for {} to end", words.thread(target))
            }
            Operation::Woken { queue, .. } => format!("waits to be woken from {}", words.object(queue)),
            Operation::Park { .. } => "is parked and waits to be unparked".to_owned(),
            op => format!("waits to {}", operation(words, &op)),
        };
        let mut holders: Vec<String> = Vec::new();
        if !matches!(waiter.op, Operation::Join { .. }) {
            holders.extend(
                waiter
                    .for_threads
                    .iter()
                    .map(|t| if *t == waiter.thread { "itself".to_owned() } else { words.thread(*t) }),
            );
        }
        let held = if holders.is_empty() { String::new() } else { format!(", held by {}", holders.join(" and ")) };
        let _ = writeln!(text, "{who} {what}{held}{}", words.at(waiter.site));
    }
    if deadlock.cycle.len() > 1 {
        let names: Vec<String> = deadlock.cycle.iter().map(|t| words.thread(*t)).collect();
        let _ = writeln!(text, "circle: {} -> {}", names.join(" -> "), names[0]);
    }
    text.trim_end().to_owned()
}

/// Which threads go round which loop.
pub fn livelock(words: &dyn Words, loops: &[(ThreadId, Vec<Site>)]) -> String {
    let mut text = String::from("no thread makes progress, and these go round for ever, changing nothing:");
    for (spinning, sites) in loops {
        let places: Vec<String> = sites.iter().filter_map(|s| words.place(*s)).collect();
        let _ = write!(text, "\n{} in the loop at {}", words.thread(*spinning), places.join(", "));
    }
    text
}

/// What a plan expected and what the program did.
pub fn difference(words: &dyn Words, divergence: &Divergence) -> String {
    let who = words.thread(divergence.expected.thread);
    let expected = divergence
        .expected_op
        .map_or_else(|| "was to move".to_owned(), |op| format!("was to {}", operation(words, &op)));
    match divergence.found {
        None => format!("{who} {expected}, but it is not there (it has ended, or was not spawned)"),
        Some(found) if divergence.expected_op.is_none_or(|op| found.is_as_planned(&op)) => {
            format!("{who} {expected}, but its {} is blocked", operation(words, &found))
        }
        Some(found) => format!("{who} {expected}, but is about to {}", operation(words, &found)),
    }
}

/// Lists the steps; `>` marks those at which another thread took over.
pub fn steps(words: &dyn Words, execution: &Execution, text: &mut String) {
    let count = execution.steps.len();
    let width = execution.steps.iter().map(|s| words.names().thread_name(s.thread).len()).max().unwrap_or(0);
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
            let name = words.names().thread_name(s.thread);
            let _ = writeln!(text, "{mark} {i:>4} {name:<width$}  {}", step(words, s));
        }
        last = Some(s.thread);
    }
}
