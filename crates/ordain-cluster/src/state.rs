//! What is known of a run, in its entry of the bucket: who controls it, where its state is, how far it is.

use crate::message::Parcel;
use crate::spec::ObjectRef;
use ordain_explore::Summary;
use ordain_explore::estimate::Estimate;
use serde::{Deserialize, Serialize};

/// How a run is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// There is something left.
    Running,
    /// It has come to an end.
    Finished,
    /// Nobody wants it any more.
    Cancelled,
    /// It cannot go on.
    Failed {
        /// Why not.
        reason: String,
    },
}

/// What is known of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// The version of the format.
    pub(crate) version: u32,
    /// How it is.
    pub status: Status,
    /// Who controls it; nobody, if the last one left in order.
    pub holder: Option<String>,
    /// Counts every change, so that each is one.
    pub(crate) beat: u64,
    /// Where its controller's state is.
    pub(crate) snapshot: Option<ObjectRef>,
    /// Where its result is.
    pub(crate) result: Option<ObjectRef>,
    /// How far it is.
    pub progress: Progress,
    /// When it ended, in seconds since 1970.
    pub(crate) ended: Option<u64>,
}

impl State {
    /// A run of which nothing is explored, controlled by somebody.
    pub(crate) fn new(holder: Option<String>) -> Self {
        Self {
            version: crate::spec::VERSION,
            status: Status::Running,
            holder,
            beat: 0,
            snapshot: None,
            result: None,
            progress: Progress::default(),
            ended: None,
        }
    }
}

/// How far a run is, and how it got there.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Progress {
    /// What was explored.
    pub summary: Summary,
    /// How many executions there are in all, as last estimated; not once everything is explored.
    pub estimate: Option<Estimate>,
    /// Sequences that wait for a worker.
    pub waiting: u64,
    /// Fragments that are given away.
    pub assigned: u64,
    /// Results that counted.
    pub results: u64,
    /// Results that came twice or too late, and did not count.
    pub stale: u64,
    /// Results that made no sense.
    pub malformed: u64,
    /// Tasks that were delivered again, because their worker was not heard of.
    pub redeliveries: u64,
    /// Fragments that nobody answered for, and that were given away anew.
    pub released: u64,
    /// How often another controller took over.
    pub takeovers: u64,
    /// How often the search began again.
    pub restarts: u64,
    /// Findings that are kept.
    pub findings: u64,
    /// Places for fragments on the workers that can run it, as last seen.
    pub slots: u64,
    /// Time that workers spent exploring, in milliseconds.
    pub busy_millis: u64,
    /// Processor time of exploring, in microseconds.
    pub cpu_micros: u64,
    /// Time that workers could have spent: places and how long there were so many.
    pub offered_millis: u64,
    /// Time since it began during which it was controlled, in milliseconds.
    pub millis: u64,
}

impl Progress {
    /// The share of the workers' time that was spent exploring, from 0 to 1.
    pub fn utilisation(&self) -> f64 {
        if self.offered_millis == 0 { 0.0 } else { (self.busy_millis as f64 / self.offered_millis as f64).min(1.0) }
    }
}

/// How a run ended.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Outcome {
    /// Whether everything is explored.
    pub exhausted: bool,
    /// How it went.
    pub progress: Progress,
    /// What the user should know, as workers say.
    pub warnings: Vec<String>,
    /// Why nothing can be verified, as workers say.
    pub doubts: Vec<String>,
    pub(crate) findings: Vec<(String, Parcel)>,
}

impl Outcome {
    /// The end of a run without findings.
    pub fn new(exhausted: bool, progress: Progress) -> Self {
        Self { exhausted, progress, warnings: Vec::new(), doubts: Vec::new(), findings: Vec::new() }
    }
}
