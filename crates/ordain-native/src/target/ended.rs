//! How executions end, in words.

use super::Ended;
use crate::finding::signal_name;
use std::fmt;

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
