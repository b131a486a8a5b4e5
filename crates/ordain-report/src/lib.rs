//! Findings and runs of Ordain as data, and how they are shown.
//!
//! A front end tells a finding as a [`Story`] and a check as a [`Run`]; both are plain data that survive as JSON in the run
//! directory ([`store`]). Everything that shows them works on that data alone, one file for each reader:
//!
//! | reader | file |
//! |---|---|
//! | pages of test results in CI systems: JUnit XML | [`junit`] |
//! | code scanning pages and editors: SARIF | [`sarif`] |
//! | trace viewers: Perfetto, `chrome://tracing` | [`perfetto`] |
//! | people who meet a kind of finding for the first time | [`explain`](mod@explain) |
//! | other programs: JSON | [`store`], as `docs/run.schema.json` says |

pub mod explain;
pub mod junit;
mod kind;
pub mod perfetto;
mod places;
mod plain;
mod run;
pub mod sarif;
pub mod store;
mod story;
mod unchecked;
mod uri;
mod when;

pub use kind::{Kind, Verdict};
pub use run::{Branch, Estimate, Run, Sample};
pub use story::{
    Frame, Hold, Object, Place, Race, RaceAccess, Shrunk, Size, Step, Story, Switch, Thread, Waiter, Waiting,
};
pub use unchecked::Unchecked;
