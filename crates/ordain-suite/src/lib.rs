//! Suites: many checks, one budget.
//!
//! [`config`] reads `ordain.toml`; [`allocate`] decides, purely and deterministically, which test goes on next; the conductor
//! ([`Suite::run`]) lets tests go on for a slice each: programs in this process, tests of the library in theirs. What they
//! came to is a row for each ([`SuiteResult`]), and a file ([`record`]) from which a suite can be resumed.

pub mod allocate;
mod cargo;
mod conduct;
pub mod config;
pub mod experiment;
mod gate;
mod library;
mod process;
mod program;
pub mod record;
mod result;
mod suite;

pub use allocate::{Allocator, Policy, Standing};
pub use config::{Config, ConfigError};
pub use result::{Row, SuiteResult, TestKind, Trouble, replay_command};
pub use suite::{Progress, Suite, SuiteObserver};
