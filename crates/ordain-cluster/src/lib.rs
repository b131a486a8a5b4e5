//! Searches over many machines, through NATS JetStream.
//!
//! A *run* is a divided search. Its *controller* keeps the frontier, gives fragments away as tasks and takes results in; *workers*
//! explore. Everything that must not be lost lives in JetStream: tasks and results are messages that are acknowledged, the state of a run
//! is an entry that is changed by compare-and-set, files are objects known by their hash. So any worker may die, and so may the controller:
//! that is a role, which whoever notices its absence takes over from where it was saved last. A controller that was believed dead and
//! comes back cannot save any more, and what it does not save it does not give away.
//!
//! The crate knows no processes and no programs: what explores is an [`ExplorerFactory`].

mod client;
mod connect;
mod control;
mod directory;
mod error;
mod fleet;
mod message;
mod pull;
mod slot;
mod spec;
mod state;
mod steward;
mod store;
mod worker;

pub use client::{Ending, Listed, Submission, View, attach, cancel, forget, list, specification, submit};
pub use connect::{Access, Login, Timing};
pub use error::ClusterError;
pub use fleet::{Beat, Fleet};
pub use message::{Finding, Returned};
pub use slot::{Explorer, ExplorerFactory, Refusal};
pub use spec::{FileSpec, Kind, Limits, RunId, RunSpec, Text};
pub use state::{Outcome, Progress, State, Status};
pub use store::Cluster;
pub use worker::{Event, WorkerOptions, work};
