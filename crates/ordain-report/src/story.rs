//! The story of a finding: everything that is known of it, as plain data.
//!
//! Threads, objects and steps refer to each other by their place in the lists of the story. Names are those that are
//! shown; nothing here is an address or a number of the model.

use crate::kind::Kind;
use ordain_model::{Level, Size};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A finding, whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Story {
    /// What went wrong.
    pub kind: Kind,
    /// What happened, in one sentence.
    pub headline: String,
    /// What is known beyond that, one thing in a line; may be empty.
    pub details: Vec<String>,
    /// What was checked: the command line, or the name of the test.
    pub program: String,
    /// Which operations were visible.
    pub level: Level,
    /// Its threads, in order of birth; the first is main.
    pub threads: Vec<Thread>,
    /// The objects that its steps are about.
    pub objects: Vec<Object>,
    /// Its steps, in order; of very long executions only the first and the last ones.
    pub steps: Vec<Step>,
    /// Steps that the execution has, those included that are not in the list.
    pub length: usize,
    /// Who held which lock from when to when.
    pub holds: Vec<Hold>,
    /// For a deadlock: who waits for whom.
    pub waiting: Option<Waiting>,
    /// For a data race: the two accesses.
    pub race: Option<Race>,
    /// What the program wrote to standard output and standard error, if that is known.
    pub outputs: [String; 2],
    /// For output that depends on the schedule: what is written usually.
    pub usual_outputs: Option<[String; 2]>,
    /// The source around its places, as far as it is at hand; empty in records of earlier versions.
    #[serde(default)]
    pub sources: Vec<Excerpt>,
    /// How large its schedule is.
    pub size: Size,
    /// How its schedule was made smaller, if that was tried.
    pub shrunk: Option<Shrunk>,
    /// The schedule file, if one was written.
    pub schedule: Option<String>,
}

impl Story {
    /// What happened, in a sentence, and what is known beyond that, one thing in a line.
    pub fn message(&self) -> String {
        [&self.headline].into_iter().chain(&self.details).map(String::as_str).collect::<Vec<_>>().join("\n")
    }
}

/// A thread at the end of the execution.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thread {
    /// Its name by birth: `main`, `main.1`.
    pub name: String,
    /// The name that the program gave it.
    pub given: Option<String>,
    /// Whether it ended the execution by what it did.
    pub culprit: bool,
    /// What it was about to do, as the end of a sentence; nothing if it has ended.
    pub doing: Option<String>,
    /// Where it is, innermost first; empty if that is not known.
    pub frames: Vec<Frame>,
}

/// One call on a thread's stack.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frame {
    /// The function, demangled.
    pub function: Option<String>,
    /// The place in the source.
    pub place: Option<Place>,
    /// The file name of the program or library that the code is in.
    pub module: String,
    /// The address as the file of the module counts it.
    pub offset: u64,
}

/// A place in the source.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The file, as the compiler recorded it.
    pub file: String,
    /// The line, from 1; 0 if it is not known.
    pub line: u32,
    /// The column, from 1; 0 if it is not known.
    pub column: u32,
    /// The text of the line, if the file could be read and is not newer than what was built from it.
    pub text: Option<String>,
}

impl Place {
    /// The file's name without its directories, and the line if it is known.
    pub fn short(&self) -> String {
        let name = self.file.rsplit('/').next().unwrap_or_default();
        if self.line == 0 { name.to_owned() } else { format!("{name}:{}", self.line) }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        for number in [self.line, self.column].into_iter().take_while(|number| *number > 0) {
            write!(f, ":{number}")?;
        }
        Ok(())
    }
}

/// Lines of a source file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Excerpt {
    /// The file, as places call it.
    pub file: String,
    /// The number of the first line, from 1.
    pub line: u32,
    /// The lines, as they are in the file.
    pub lines: Vec<String>,
}

/// What threads share.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Object {
    /// How it is called: a variable's or field's name where one is known, else its name by birth. Unique in the story.
    pub name: String,
    /// What it is: `mutex`, `condvar`.
    pub kind: String,
}

/// How a step came to be that of another thread than the step before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Switch {
    /// It is the same thread, or the first step.
    #[default]
    None,
    /// The thread before had ended or could not go on.
    Free,
    /// The thread before could have gone on: a preemption.
    Preemption,
}

/// One executed operation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// Its number in the execution, from 0.
    pub number: usize,
    /// Its thread.
    pub thread: usize,
    /// What it did in one word: `lock`, `notify-one`.
    pub verb: String,
    /// What it did, with its objects and its outcome: `lock queue.lock`.
    pub text: String,
    /// What it got, if that says something: `timed out`, `woke main.2`.
    pub outcome: Option<String>,
    /// The objects that it is about.
    pub objects: Vec<usize>,
    /// The thread that it is about: the one that is spawned, joined, woken.
    pub other: Option<usize>,
    /// Where.
    pub place: Option<Place>,
    /// How the thread changed.
    pub switch: Switch,
    /// Steps of other threads, by number, that happen before it directly: those whose effect it could see.
    pub after: Vec<usize>,
    /// Whether a reader should see it: it has to do with what went wrong.
    pub matters: bool,
}

/// A lock that was held.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hold {
    /// The lock.
    pub object: usize,
    /// Who held it.
    pub thread: usize,
    /// The number of the step that took it.
    pub from: usize,
    /// The number of the step that released it; none if it was held at the end.
    pub to: Option<usize>,
    /// Whether others could hold it too: a read-write lock taken for reading.
    pub shared: bool,
}

/// Why no thread can go on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiting {
    /// All threads that wait.
    pub waiters: Vec<Waiter>,
    /// Threads that wait for each other in a cycle, each for the next, the last for the first; empty if there is none.
    pub cycle: Vec<usize>,
}

/// A thread that waits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiter {
    /// Who waits.
    pub thread: usize,
    /// What it is about to do: `lock queue.lock`.
    pub doing: String,
    /// The object that it waits for.
    pub object: Option<usize>,
    /// Who could let it go on: holders of the lock, the thread that it joins.
    pub for_threads: Vec<usize>,
    /// Where.
    pub place: Option<Place>,
}

/// Two accesses that nothing orders.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Race {
    /// What is accessed.
    pub object: usize,
    /// The accesses, in the order of this execution.
    pub accesses: [RaceAccess; 2],
}

/// One access of a race.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RaceAccess {
    /// Who.
    pub thread: usize,
    /// Whether it writes.
    pub write: bool,
    /// Where.
    pub place: Option<Place>,
    /// Steps executed before it.
    pub after: usize,
}

/// How a schedule was made smaller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shrunk {
    /// How large it was when it was found.
    pub from: Size,
    /// Executions that it took.
    pub executions: u64,
    /// Whether it is known that no schedule with fewer preemptions shows the finding.
    pub fewest: bool,
    /// Whether it was stopped before nothing was left to try.
    pub stopped: bool,
}
