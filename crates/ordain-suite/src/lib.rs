//! Suites: many checks, one budget.
//!
//! [`config`] reads `ordain.toml`; [`allocate`] decides, purely and deterministically, which test goes on next; the conductor
//! ([`Suite::run`]) lets tests go on for a slice of time each: programs in this process, tests of the library in theirs.

pub mod allocate;
mod cargo;
mod conduct;
pub mod config;
mod library;
mod program;
mod result;

pub use allocate::{Allocator, Policy, Standing};
pub use conduct::{Progress, Suite, SuiteObserver};
pub use config::{Config, ConfigError};
pub use result::{Row, SuiteResult};
