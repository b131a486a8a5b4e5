//! Ordain for unmodified Linux programs: starts a program under control and runs plans on it.

pub mod backtrace;
pub mod binary;
pub mod doctor;
mod check;
mod finding;
mod process;
mod shared;
mod target;

pub use ordain_wire::{Mode, ThreadRecord};
pub use check::{Check, LEVEL, default_options, Problem, Replayed, Report, Verdict};
pub use finding::{Finding, Kind, ThreadTrace, describe_input, unescape};
pub use process::{Launch, Patience};
pub use target::{Aftermath, Ended, Failure, ModeChange, Native, Search, Turn};
