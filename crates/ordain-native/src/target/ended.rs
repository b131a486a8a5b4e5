//! How executions end, beyond what the model knows, and what is known of them then.

use crate::finding::signal_name;
use crate::shared::Shared;
use ordain_model::ThreadId;
use ordain_wire::{Ending, ThreadRecord};
use std::fmt;
use std::sync::atomic::Ordering::Relaxed;

/// How an execution ended, beyond what the model knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The model knows.
    ByModel,
    /// The program exited.
    Exit(i32),
    /// A signal killed it.
    Signal {
        /// Its number.
        signal: i32,
        /// The address that it is about.
        address: u64,
    },
    /// An assertion failed.
    Assertion(String),
    /// The program called `abort`.
    Abort,
    /// Nothing visible happened for too long: why, if that is known.
    Hang(String),
    /// Something was used as an object that is none.
    InvalidObject {
        /// What is known.
        message: String,
        /// Where.
        address: u64,
    },
    /// A child process waits for ever for a lock that a thread held which it does not have.
    ChildDeadlock {
        /// Where the lock is.
        address: u64,
    },
    /// The program overwrote the memory of the runtime, or ended it in a way that cannot be told.
    Corrupted(String),
}

/// What is known of the last execution beyond its steps.
#[derive(Clone, Debug)]
pub struct Aftermath {
    /// How it ended.
    pub ended: Ended,
    /// The thread that ended it.
    pub culprit: ThreadId,
    /// Where its threads are.
    pub threads: Vec<ThreadRecord>,
    /// Bytes written to standard output and standard error.
    pub written: [u64; 2],
}

impl Aftermath {
    /// What is known if nothing was reported.
    pub(super) fn unreported(ended: Ended, culprit: ThreadId) -> Self {
        Self { ended, culprit, threads: Vec::new(), written: [0; 2] }
    }

    /// What the runtime has reported.
    pub(super) fn read(shared: &Shared) -> Self {
        let control = shared.control();
        let address = control.address.load(Relaxed);
        let detail = control.detail.load(Relaxed);
        let ended = match control.ending.load() {
            Some(Ending::Model) => Ended::ByModel,
            Some(Ending::Exit) => Ended::Exit(detail),
            Some(Ending::Signal) => Ended::Signal { signal: detail, address },
            Some(Ending::Assertion) => Ended::Assertion(shared.message()),
            Some(Ending::Abort) => Ended::Abort,
            Some(Ending::Hang) => Ended::Hang(shared.message()),
            Some(Ending::ChildDeadlock) => Ended::ChildDeadlock { address },
            Some(Ending::InvalidObject) | None => Ended::InvalidObject { message: shared.message(), address },
        };
        Self {
            ended,
            culprit: ThreadId(control.culprit.load(Relaxed)),
            threads: shared.threads(),
            written: control.output.each_ref().map(|o| o.load(Relaxed)),
        }
    }

    /// The thread that ended the execution, if not the model did, and whether in an orderly way.
    pub(super) fn ended_by(&self) -> Option<(ThreadId, bool)> {
        match self.ended {
            Ended::ByModel => None,
            Ended::Exit(_) => Some((self.culprit, true)),
            _ => Some((self.culprit, false)),
        }
    }
}

impl fmt::Display for Ended {
    /// As the end of a sentence that begins with the program.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ByModel => f.write_str("ended as its threads did"),
            Self::Exit(status) => write!(f, "exited with status {status}"),
            Self::Signal { signal, address: 0 } => write!(f, "was killed by {}", signal_name(*signal)),
            Self::Signal { signal, address } => {
                write!(f, "was killed by {} (address {address:#x})", signal_name(*signal))
            }
            Self::Assertion(text) => write!(f, "failed an assertion: {text}"),
            Self::Abort => f.write_str("aborted"),
            Self::Hang(reason) if reason.is_empty() => f.write_str("hung"),
            Self::Hang(reason) => write!(f, "hung: {reason}"),
            Self::InvalidObject { message, address } => write!(f, "misused an object: {message} (at {address:#x})"),
            Self::ChildDeadlock { address } => {
                write!(f, "left a child process that waits for ever for the lock at {address:#x}")
            }
            Self::Corrupted(how) => write!(f, "destroyed its own process: {how}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_told_in_words() {
        let told = |ended: Ended| format!("it {ended}");
        assert_eq!(
            told(Ended::Signal { signal: 11, address: 0x10 }),
            "it was killed by SIGSEGV, a bad memory access (address 0x10)"
        );
        assert_eq!(told(Ended::Exit(3)), "it exited with status 3");
        let message = "it is no mutex".to_owned();
        assert_eq!(
            told(Ended::InvalidObject { message, address: 16 }),
            "it misused an object: it is no mutex (at 0x10)"
        );
    }
}
