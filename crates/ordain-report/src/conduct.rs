//! How a check in another process is conducted: it goes on for a slice of time, tells how far it is, and waits.
//!
//! The process finds a Unix socket by the variable [`SOCKET`] and connects to it; both sides then send JSON, one value in a
//! line. The check says [`Told::Hello`] and waits; each [`Order::Go`] is answered by [`Told::Slice`] or, at last,
//! [`Told::Done`]. A worker of a cluster says [`Order::Explore`] instead, and is answered by [`Told::Explored`] or [`Told::Lost`]. Neither side trusts the other with more than [`MOST_BYTES`] at a time.

use crate::run::{Estimate, Run};
use crate::story::Story;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io::{self, BufRead, ErrorKind, Read as _, Write};

/// The version of what is said here.
pub const VERSION: u32 = 2;
/// The variable with the path of the socket.
pub const SOCKET: &str = "ORDAIN_CONDUCT";
/// The variable with the directory in which schedules of findings are written, and what is left of searches.
pub const DIRECTORY: &str = "ORDAIN_CONDUCT_DIRECTORY";
/// The variable with what the test is made of; searches are kept in the directory for that.
pub const TEST: &str = "ORDAIN_CONDUCT_TEST";
/// The variable that is set if searches go on that were kept.
pub const RESUME: &str = "ORDAIN_CONDUCT_RESUME";
/// Longer lines are refused.
pub const MOST_BYTES: u64 = 1 << 26;

/// What the conductor says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// Go on until the time is over or the executions are made.
    Go {
        /// The time.
        milliseconds: u64,
        /// How many more executions.
        executions: u64,
    },
    /// Explore a fragment of the search, for workers of a cluster: the rule, the task, and the names that it rests on.
    Explore(serde_json::Value),
    /// End as it is.
    Stop,
}

/// What a check says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Told {
    /// It is there.
    Hello {
        /// What it speaks.
        version: u32,
        /// Its name.
        check: String,
        /// Executions that were made before, if it goes on with a search that was kept.
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
    Explored {
        /// What came of it.
        done: serde_json::Value,
        /// How many executions there are in all; null if that was not estimated.
        estimate: serde_json::Value,
        /// What was found in it and not told before.
        findings: Vec<Found>,
    },
    /// A fragment cannot be explored, and why.
    Lost(String),
}

/// A finding in a fragment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Found {
    /// The same for the same finding, in every process.
    pub key: String,
    /// What happened.
    pub story: Story,
    /// The schedule, as it is written to a file.
    pub schedule: String,
}

/// Something of the search as a part of what is said.
pub fn part(thing: &impl Serialize) -> serde_json::Value {
    // Only maps with odd keys cannot be told.
    serde_json::to_value(thing).unwrap_or_default()
}

/// What a part means; the reason if it means nothing.
pub fn meaning<T: DeserializeOwned>(part: serde_json::Value) -> Result<T, String> {
    serde_json::from_value(part).map_err(|error| error.to_string())
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
        let go = Order::Go { milliseconds: 200, executions: u64::MAX };
        assert!(send(&mut pipe, &go).is_ok() && send(&mut pipe, &Order::Stop).is_ok());
        let mut from = pipe.as_slice();
        assert_eq!(receive(&mut from).ok(), Some(Some(go)));
        assert_eq!(receive(&mut from).ok(), Some(Some(Order::Stop)));
        assert_eq!(receive::<Order>(&mut from).ok(), Some(None));
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for wrong in
            ["{\"go\":", "\"stop\"", "\n", "[1]\n", "\"halt\"\n", "{\"go\":{\"milliseconds\":-1,\"executions\":1}}\n"]
        {
            assert!(receive::<Order>(&mut wrong.as_bytes()).is_err(), "{wrong:?}");
        }
        let deep = "[".repeat(1 << 20) + "\n";
        assert!(receive::<Told>(&mut deep.as_bytes()).is_err());
        let endless = vec![b'x'; 4096];
        let refused = receive_at_most::<Told>(&mut endless.as_slice(), 1024).map_err(|e| e.to_string());
        assert_eq!(refused, Err("a line is too long".to_owned()));
    }
}
