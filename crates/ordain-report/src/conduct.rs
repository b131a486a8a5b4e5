//! How a check in another process is conducted: it goes on for a slice of time, tells how far it is, and waits.
//!
//! The process finds a Unix socket by the variable [`VARIABLE`] and connects to it; both sides then send JSON, one value in a
//! line. The check says [`Told::Hello`] and waits; each [`Order::Go`] is answered by [`Told::Slice`] or, at last,
//! [`Told::Done`].

use crate::run::{Estimate, Run};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io::{self, BufRead, Read as _, Write};

/// The variable with the path of the socket.
pub const VARIABLE: &str = "ORDAIN_CONDUCT";
/// Longer lines are refused.
const MOST_BYTES: u64 = 1 << 30;

/// What the conductor says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// Go on for that many milliseconds.
    Go(u64),
    /// End as it is.
    Stop,
}

/// What a check says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Told {
    /// It is there, and is called so.
    Hello(String),
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
    let mut line = Vec::new();
    from.take(MOST_BYTES).read_until(b'\n', &mut line)?;
    if line.is_empty() {
        return Ok(None);
    }
    Ok(Some(serde_json::from_slice(&line)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sent_is_received() {
        let mut pipe = Vec::new();
        assert!(send(&mut pipe, &Order::Go(200)).is_ok() && send(&mut pipe, &Order::Stop).is_ok());
        let mut from = pipe.as_slice();
        assert_eq!(receive(&mut from).ok(), Some(Some(Order::Go(200))));
        assert_eq!(receive(&mut from).ok(), Some(Some(Order::Stop)));
        assert_eq!(receive::<Order>(&mut from).ok(), Some(None));
        assert!(receive::<Order>(&mut &b"{\"go\":"[..]).is_err());
    }
}
