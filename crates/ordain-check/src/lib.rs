//! How any program is explored.
//!
//! A front end brings an [`Explorer`]: a [`Target`](ordain_explore::Target) that tells what its executions show. Everything else is
//! here, once: a [`Campaign`] runs the program twice, explores with one worker or several, keeps to its [`Limit`], estimates,
//! samples, keeps what is left, goes down after a divergence, cross-checks, makes findings smaller and confirms them. A
//! [`Worker`] explores a part of a search within an allowance, wherever the parts come from.

pub mod amount;
pub mod campaign;
pub mod checkpoint;
mod explorer;
mod fragments;
mod led;
mod limit;
mod observe;
mod pool;
mod problem;
pub mod protocol;
mod resources;
pub mod settings;
mod shared_frontier;
mod trace_file;
mod turn;
pub mod verdict;
mod worker;

pub use amount::Amount;
pub use campaign::{Campaign, CheckpointFile, Outcome, checkpointed_executions};
pub use explorer::{Explorer, Observation, Proof, Recruit, Watched};
pub use fragments::{FragmentResult, Fragments};
pub use limit::Limit;
pub use observe::{Observer, Progress, Unobserved};
pub use problem::Problem;
pub use resources::{count_child, processor_time};
pub use settings::{Resume, RunOptions, Settings};
pub use turn::{Allowance, Job, Part, Recognition, Turn, Wanted};
pub use verdict::{Conclusion, Evidence};
pub use worker::Worker;
