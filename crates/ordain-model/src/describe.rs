//! Words for what threads do: the same in every front end.
//!
//! A front end says how it calls threads and objects and where its sites are ([`Words`]); the sentences are made here.

use crate::execution::{Divergence, Site, Step};
use crate::finding::Deadlock;
use crate::names::{Names, ObjectId, ObjectKind, ThreadId};
use crate::operation::{Operation, Outcome, Wait};
use alloc::borrow::ToOwned as _;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::{self, Write as _};

/// A place in the source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The file; or, without a line, whatever can be said.
    pub file: String,
    /// The line, from 1; 0 if it is not known.
    pub line: u32,
    /// The column, from 1; 0 if it is not known.
    pub column: u32,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        for number in [self.line, self.column].into_iter().take_while(|n| *n > 0) {
            write!(f, ":{number}")?;
        }
        Ok(())
    }
}

/// How a front end calls things.
pub trait Words {
    /// The names by birth.
    fn names(&self) -> &Names;
    /// The name that the program gave a thread.
    fn given(&self, _thread: ThreadId) -> Option<String> {
        None
    }
    /// The name of a thread, with the one that the program gave it.
    fn thread(&self, thread: ThreadId) -> String {
        let name = self.names().thread_name(thread);
        self.given(thread).map_or(name.clone(), |given| format!("{name} ({given:?})"))
    }
    /// The variable or field that an object is.
    fn variable(&self, _object: ObjectId) -> Option<String> {
        None
    }
    /// What functions that are under way call an object that is no variable of the whole program: `queue->lock`.
    fn local(&self, _object: ObjectId) -> Option<String> {
        None
    }
    /// The name of an object in a sentence.
    fn object(&self, object: ObjectId) -> String {
        match self.variable(object) {
            Some(variable) => format!("{} {variable}", self.names().kind(object).name()),
            None => self.names().object_name(object),
        }
    }
    /// The place of a site in the user's own sources.
    fn place(&self, site: Site) -> Option<Place>;
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
        | Operation::Cancel { thread: target } => format!("{verb} {}", words.thread(*target)),
        Operation::QueueWait { queue, lock } => {
            format!("{verb} on {}, releasing {}", words.object(*queue), words.object(*lock))
        }
        Operation::Signal { thread: Some(target), number, .. } => {
            format!("{verb} {number} to {}", words.thread(*target))
        }
        Operation::Signal { number, .. } => format!("{verb} {number} to the process"),
        Operation::Choose { count } => format!("{verb} below {count}"),
        Operation::Poll { set, .. } if words.names().kind(*set) == ObjectKind::FileLock => {
            format!("take {}", words.object(*set))
        }
        // The set has no name that says anything; the source line does.
        Operation::Access { looks, .. } => (if *looks { "look at files" } else { "access files" }).to_owned(),
        _ => match op.object() {
            Some(o) => format!("{verb} {}", words.object(o)),
            None => verb.to_owned(),
        },
    }
}

/// What a step got, where that says something.
pub fn outcome(step: &Step) -> Option<String> {
    let text = match (step.outcome, step.op) {
        (outcome, Operation::Choose { .. }) => return Some(format!("{}", outcome.0)),
        (outcome, Operation::Notify { .. }) => return Some(format!("woke {}", outcome.0)),
        (Outcome::FAILED, op) => match op.wait() {
            Some(Wait::Timed) => "timed out",
            Some(Wait::Block | Wait::Interruptible) => "spurious wake-up",
            _ => "failed",
        },
        (Outcome::DISCONNECTED, _) => "disconnected",
        (Outcome::SERIAL, _) => "last to arrive",
        (Outcome::RUN, _) => "runs it",
        (Outcome::POISONED, _) => "poisoned",
        (Outcome::WOULD_DEADLOCK, _) => "would deadlock",
        (Outcome::OWNER_DIED, _) => "its owner died",
        (Outcome::UNRECOVERABLE, _) => "unrecoverable",
        (Outcome::CANCELLED | Outcome::CANCELLED_WOKEN, _) => "cancelled",
        (Outcome::SIGNALLED | Outcome::BROKEN_OFF, _) => "a signal came first",
        _ => return None,
    };
    Some(text.to_owned())
}

/// What a step did, with its outcome where that says something, and where.
pub fn step(words: &dyn Words, step: &Step) -> String {
    let mut text = operation(words, &step.op);
    if let Some(outcome) = outcome(step) {
        let _ = write!(text, " -> {outcome}");
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
            Operation::Await { object, .. } => format!("waits for {} to be ready", words.object(object)),
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
        let _ = writeln!(text, "cycle: {} -> {}", names.join(" -> "), names[0]);
    }
    text.trim_end().to_owned()
}

/// Which threads repeat which loop.
pub fn livelock(words: &dyn Words, loops: &[(ThreadId, Vec<Site>)]) -> String {
    let mut text =
        String::from("no thread makes progress, and these repeat the same steps for ever, changing nothing:");
    for (spinning, sites) in loops {
        let places: Vec<String> = sites.iter().filter_map(|s| words.place(*s)).map(|p| format!("{p}")).collect();
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
        Some(found) => {
            let about = operation(words, &found);
            match divergence.expected_op.filter(|planned| operation(words, planned) == about) {
                Some(planned) => format!("{who} {expected}, and is about to, but {}", subtlety(&planned, &found)),
                None => format!("{who} {expected}, but is about to {about}"),
            }
        }
    }
}

/// What differs between two operations that read the same.
fn subtlety(planned: &Operation, found: &Operation) -> String {
    let waits = |op: &Operation| match op.wait() {
        Some(Wait::Try) => "without waiting",
        Some(Wait::Timed) => "with a limit of time",
        Some(Wait::Interruptible) => "until it is served or a signal comes",
        Some(Wait::Block) | None => "for as long as it takes",
    };
    match () {
        () if waits(planned) != waits(found) => format!("{}, not {}", waits(found), waits(planned)),
        () if planned.object() != found.object() => "with another object, which is called the same".to_owned(),
        () => "with other values".to_owned(),
    }
}
