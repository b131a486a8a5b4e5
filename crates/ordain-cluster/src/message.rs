//! What controllers and workers send each other: bytes in few words, and large ones beside the message as objects.

use crate::spec::ObjectRef;
use ordain_explore::estimate::Estimate;
use ordain_explore::frontier::{Done, Task};
use ordain_model::Named;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Bytes, where they are or where they can be fetched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Parcel {
    Here(Vec<u8>),
    Stored(ObjectRef),
}

/// Something that a worker has found and confirmed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The same for the same thing, so that nothing is told twice.
    pub key: String,
    /// All about it, for whoever submitted the run.
    pub record: Vec<u8>,
}

/// A task, and the names that it rests on.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Sent {
    pub(crate) task: Task,
    pub(crate) births: Vec<Named>,
}

/// What came of a task.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Returned {
    /// For the controller.
    pub done: Done,
    /// What was found. It is told again with every fragment that shows it: a result may turn out not to count.
    pub findings: Vec<Finding>,
    /// How many executions there are in all, if that was estimated.
    pub estimate: Option<Estimate>,
    /// What the user should know of the run; may be told again.
    pub warnings: Vec<String>,
    /// Why nothing can be verified, however much is explored; may be told again.
    pub doubts: Vec<String>,
    /// Processor time that it took.
    pub cpu: Duration,
}

impl Returned {
    /// A result with nothing else to say.
    pub fn new(done: Done) -> Self {
        Self {
            done,
            findings: Vec::new(),
            estimate: None,
            warnings: Vec::new(),
            doubts: Vec::new(),
            cpu: Duration::ZERO,
        }
    }
}

/// What a worker is to do.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct TaskMessage {
    pub(crate) version: u32,
    pub(crate) lease: u64,
    /// What was [`Sent`].
    pub(crate) body: Parcel,
}

/// What a worker has done.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ResultMessage {
    pub(crate) version: u32,
    pub(crate) lease: u64,
    /// What was [`Returned`].
    pub(crate) body: Parcel,
    /// How often the task was delivered.
    pub(crate) deliveries: u64,
    /// How long it took, in microseconds.
    pub(crate) busy_micros: u64,
}

/// The bytes of something of ours.
pub(crate) fn encode<T: Serialize>(thing: &T) -> Vec<u8> {
    // Writing to memory fails only for types that have no fixed form, and there are none.
    postcard::to_allocvec(thing).unwrap_or_default()
}

/// Reads what somebody sent.
pub(crate) fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    match postcard::take_from_bytes(bytes) {
        Ok((thing, [])) => Ok(thing),
        Ok(_) => Err("there is more than belongs to it".into()),
        Err(error) => Err(format!("it cannot be read ({error})")),
    }
}
