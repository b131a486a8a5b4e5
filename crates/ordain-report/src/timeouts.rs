//! When timed waits may expire.

use serde::{Deserialize, Serialize};

/// When waits with a limit of time may expire, and sleeps end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Timeouts {
    /// At any moment: a program that is right only because a sleep is long enough is wrong.
    #[default]
    Any,
    /// Only when nothing else can happen.
    Last,
}
