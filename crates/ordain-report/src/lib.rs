//! Findings and runs of Ordain as data, and how they are shown.
//!
//! A front end tells a finding as a [`Story`] and a check as a [`Run`]; both are plain data that survive as JSON in the run
//! directory ([`store`]). Everything that shows them works on that data alone, one file for each reader:
//!
//! | reader | file |
//! |---|---|
//! | a person at a terminal | [`terminal`] |
//! | people with a browser | [`html`] |
//! | pages of test results in CI systems: JUnit XML | [`junit`] |
//! | code scanning pages and editors: SARIF | [`sarif`] |
//! | trace viewers: Perfetto, `chrome://tracing` | [`perfetto`] |
//! | people who meet a kind of finding for the first time | [`explain`](mod@explain) |
//! | other programs: JSON | [`store`], as `docs/run.schema.json` says |
//!
//! All but the terminal need the feature `export`, so that tests which use the library build fast.

mod branches;
mod excerpt;
#[cfg(feature = "export")]
pub mod explain;
pub mod fingerprint;
mod function;
#[cfg(feature = "export")]
pub mod html;
#[cfg(feature = "export")]
pub mod junit;
mod kind;
mod matters;
pub mod narrate;
mod note;
#[cfg(feature = "export")]
pub mod perfetto;
#[cfg(feature = "export")]
mod places;
#[cfg(feature = "export")]
mod plain;
mod require;
mod run;
#[cfg(feature = "export")]
pub mod sarif;
mod shell;
mod source;
pub mod store;
mod story;
mod storyteller;
pub mod terminal;
mod timeouts;
#[cfg(feature = "export")]
mod unchecked;
#[cfg(feature = "export")]
mod uri;
#[cfg(feature = "export")]
mod when;

pub use branches::branch;
pub use excerpt::keep_sources;
pub use function::short_function;
pub use kind::{Kind, Sight, Verdict};
pub use note::{Note, Severity};
pub use ordain_model::{Level, Size};
pub use require::Require;
pub use run::{Branch, Estimate, Run, Sample, Samples, Workers, number, percent};
pub use shell::quote;
pub use source::{Sources, is_own};
pub use story::{
    Excerpt, Frame, Hold, Object, Place, Race, RaceAccess, Shrunk, Step, Story, Switch, Thread, Waiter, Waiting,
};
pub use storyteller::{Facts, tell};
pub use timeouts::Timeouts;
#[cfg(feature = "export")]
pub use unchecked::Unchecked;
