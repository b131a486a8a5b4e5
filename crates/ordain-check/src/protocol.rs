//! The protocol between a check in a test's process and whoever conducts it: a suite, or a worker of a cluster.
//!
//! The process finds a Unix socket by the variable [`SOCKET`] and connects to it; both sides then send JSON, one value in a line. The check sends
//! [`Message::Hello`] and waits. Each [`Request::Go`] is answered by [`Message::Slice`] or, at last, [`Message::Done`]; each
//! [`Request::Explore`] by [`Message::Explored`] or [`Message::Lost`]. Neither side trusts the other with more than [`MOST_BYTES`] at a time.

use crate::fragments::FragmentResult;
use ordain_explore::estimate::Estimate as Total;
use ordain_explore::frontier::{Done, Rule, Task};
use ordain_model::Named;
use ordain_report::{Estimate, Run, Story};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io::{self, BufRead, ErrorKind, Read as _, Write};
use std::time::Duration;

/// The version of what is said here.
pub const VERSION: u32 = 2;
/// The variable with the path of the socket.
pub const SOCKET: &str = "ORDAIN_CONDUCT";
/// The variable with the directory in which schedules of findings are written, and what is left of searches.
pub const DIRECTORY: &str = "ORDAIN_CONDUCT_DIRECTORY";
/// The variable with what the test is made of; checkpoints in the directory are of that.
pub const TEST: &str = "ORDAIN_CONDUCT_TEST";
/// The variable that is set if searches are resumed.
pub const RESUME: &str = "ORDAIN_CONDUCT_RESUME";
/// Longer lines are refused.
pub const MOST_BYTES: u64 = 1 << 26;

/// What the conductor asks for.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Request {
    /// Go on until the time is over or the executions are made.
    Go {
        /// The time.
        milliseconds: u64,
        /// How many more executions.
        executions: u64,
    },
    /// Explore a fragment of the search, for workers of a cluster.
    Explore(Box<Fragment>),
    /// End as it is.
    Stop,
}

/// A fragment of a search, and what must be known for it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Fragment {
    /// How the search is made.
    pub rule: Rule,
    /// The part of it.
    pub task: Task,
    /// The names that the task rests on.
    pub births: Vec<Named>,
}

/// What a check tells.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Message {
    /// It is there.
    Hello {
        /// What it speaks.
        version: u32,
        /// Its name.
        check: String,
        /// Executions that were made before, if it resumes a search.
        #[serde(default)]
        executions: u64,
    },
    /// The slice is over.
    Slice {
        /// Executions so far.
        executions: u64,
        /// Findings so far.
        findings: usize,
        /// How many executions there are in all.
        estimate: Option<Estimate>,
    },
    /// It has ended.
    Done(Box<Run>),
    /// A fragment is explored.
    Explored(Box<FragmentReport>),
    /// A fragment cannot be explored, and why.
    Lost(String),
}

/// What came of a fragment.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FragmentReport {
    /// What was explored, and what is left.
    pub done: Done,
    /// How many executions there are in all, if that was estimated.
    pub estimate: Option<Total>,
    /// What was found in it.
    pub findings: Vec<FragmentFinding>,
    /// Why nothing can be verified, if that has turned out so.
    pub doubt: Option<String>,
    /// Processor time of exploring it.
    pub cpu: Duration,
}

impl FragmentReport {
    /// The report on a fragment, with its findings as they are told.
    pub fn new<F>(result: FragmentResult<F>, tell: impl Fn(String, F) -> FragmentFinding) -> Self {
        let findings = result.findings.into_iter().map(|(key, finding)| tell(key, finding)).collect();
        Self { done: result.done, estimate: result.estimate, findings, doubt: result.doubt, cpu: result.cpu }
    }
}

/// A finding in a fragment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FragmentFinding {
    /// The same for the same finding, in every process.
    pub key: String,
    /// What happened.
    pub story: Story,
    /// The schedule, as it is written to a file.
    pub schedule: String,
}

/// Sends a value.
pub fn send(to: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    to.write_all(&line)?;
    to.flush()
}

/// Receives a value; `None` when the other side is gone.
pub fn receive<T: DeserializeOwned>(from: &mut impl BufRead) -> io::Result<Option<T>> {
    receive_at_most(from, MOST_BYTES)
}

fn receive_at_most<T: DeserializeOwned>(from: &mut impl BufRead, most: u64) -> io::Result<Option<T>> {
    let mut line = Vec::new();
    let read = from.take(most).read_until(b'\n', &mut line)?;
    match line.last() {
        None => Ok(None),
        Some(b'\n') => Ok(Some(serde_json::from_slice(&line)?)),
        Some(_) if read as u64 == most => Err(io::Error::new(ErrorKind::InvalidData, "a line is too long")),
        Some(_) => Err(io::Error::new(ErrorKind::UnexpectedEof, "it ended in the middle of a line")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sent_is_received() {
        let mut pipe = Vec::new();
        let go = Request::Go { milliseconds: 200, executions: u64::MAX };
        assert!(send(&mut pipe, &go).is_ok() && send(&mut pipe, &Request::Stop).is_ok());
        let mut from = pipe.as_slice();
        let received = receive(&mut from).ok();
        assert!(
            matches!(received, Some(Some(Request::Go { milliseconds: 200, executions: u64::MAX }))),
            "{received:?}"
        );
        assert!(matches!(receive(&mut from).ok(), Some(Some(Request::Stop))));
        assert!(matches!(receive::<Request>(&mut from).ok(), Some(None)));
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for wrong in
            ["{\"go\":", "\"stop\"", "\n", "[1]\n", "\"halt\"\n", "{\"go\":{\"milliseconds\":-1,\"executions\":1}}\n"]
        {
            assert!(receive::<Request>(&mut wrong.as_bytes()).is_err(), "{wrong:?}");
        }
        let deep = "[".repeat(1 << 20) + "\n";
        assert!(receive::<Message>(&mut deep.as_bytes()).is_err());
        let endless = vec![b'x'; 4096];
        let refused = receive_at_most::<Message>(&mut endless.as_slice(), 1024).map_err(|e| e.to_string());
        assert_eq!(refused.map(|_| ()), Err("a line is too long".to_owned()));
    }
}
