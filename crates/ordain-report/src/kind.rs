//! What a check can come to: verdicts, and the kinds of findings.

use serde::{Deserialize, Serialize};
use std::fmt;

/// What went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Kind {
    /// A thread panicked and nobody noticed.
    Panic,
    /// Threads are left, and none can go on.
    Deadlock,
    /// Two accesses to plain memory, one of them a write, that nothing orders.
    DataRace,
    /// A signal killed the program.
    Crash,
    /// An assertion failed.
    Assertion,
    /// The program aborted.
    Abort,
    /// It exited with a status that says failure.
    ExitStatus,
    /// Nothing visible happened for too long.
    Hang,
    /// Threads repeat the same steps and change nothing.
    Livelock,
    /// Too many steps without a thread beginning or ending.
    StepLimit,
    /// A primitive was used wrongly.
    Misuse,
    /// A thread ended while it held a lock.
    LockHeldAtExit,
    /// What the program writes depends on the schedule.
    Output,
    /// The program does not do the same under the same schedule, so nothing can be said about it.
    Nondeterminism,
}

impl Kind {
    /// All of them, in the order in which they are explained.
    pub const ALL: [Self; 14] = [
        Self::Deadlock,
        Self::DataRace,
        Self::Panic,
        Self::Assertion,
        Self::Crash,
        Self::Abort,
        Self::ExitStatus,
        Self::Output,
        Self::Misuse,
        Self::LockHeldAtExit,
        Self::Hang,
        Self::Livelock,
        Self::StepLimit,
        Self::Nondeterminism,
    ];

    /// Its name for machines: lower case, one word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Panic => "panic",
            Self::Deadlock => "deadlock",
            Self::DataRace => "data-race",
            Self::Crash => "crash",
            Self::Assertion => "assertion",
            Self::Abort => "abort",
            Self::ExitStatus => "exit-status",
            Self::Hang => "hang",
            Self::Livelock => "livelock",
            Self::StepLimit => "step-limit",
            Self::Misuse => "misuse",
            Self::LockHeldAtExit => "lock-held-at-exit",
            Self::Output => "output",
            Self::Nondeterminism => "nondeterminism",
        }
    }

    /// The kind of that name, with `-` or with spaces.
    pub fn by_name(word: &str) -> Option<Self> {
        let word = word.trim().replace(' ', "-");
        Self::ALL.into_iter().find(|kind| kind.name() == word)
    }

    /// Its name in a sentence.
    pub fn title(self) -> &'static str {
        match self {
            Self::DataRace => "data race",
            Self::ExitStatus => "exit status",
            Self::StepLimit => "step limit",
            Self::LockHeldAtExit => "lock held at exit",
            other => other.name(),
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.title())
    }
}

/// What a check found out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Verdict {
    /// Every class of schedules was explored, and none misbehaves.
    #[serde(rename = "verified")]
    Verified,
    /// The budget or the bound ended the search before that, and nothing was found.
    #[serde(rename = "no finding")]
    NoFinding,
    /// Something was found.
    #[serde(rename = "finding")]
    Finding,
}

impl Verdict {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Verified => "verified",
            Self::NoFinding => "no finding",
            Self::Finding => "finding",
        }
    }
}

/// How much of what threads do together a check sees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sight {
    /// All of it, as far as is known.
    #[default]
    Whole,
    /// Some of it is known not to be visible.
    Part,
    /// Almost nothing: there was nothing to explore.
    Nothing,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_found_by_both_of_its_names() {
        for kind in Kind::ALL {
            assert_eq!(Kind::by_name(kind.name()), Some(kind));
            assert_eq!(Kind::by_name(kind.title()), Some(kind));
            assert_eq!(serde_json::to_string(&kind).unwrap_or_default(), format!("\"{}\"", kind.name()));
        }
        assert_eq!(Kind::by_name("nothing"), None);
    }

    #[test]
    fn none_is_missing_among_all() {
        // Whoever reads them knows each by its name, and says so of a name that nobody has.
        let error = serde_json::from_str::<Kind>("\"?\"").expect_err("there is no such kind").to_string();
        let mut known: Vec<&str> = error.split('`').skip(1).step_by(2).filter(|word| *word != "?").collect();
        let mut all = Kind::ALL.map(Kind::name);
        known.sort_unstable();
        all.sort_unstable();
        assert_eq!(known, all, "{error}");
    }
}
