//! Findings and runs of Ordain as data, and how they are shown.
//!
//! A front end tells a finding as a [`Story`] and a check as a [`Run`]; both are plain data that survive as JSON in the run
//! directory ([`store`]). Everything that shows them works on that data alone, one file for each reader:
//!
//! | reader | file |
//! |---|---|
//! | a person at a terminal | [`terminal`] |
//! | people with a browser | [`html`] |

pub mod html;
mod kind;
mod run;
mod source;
pub mod store;
mod story;
mod tell;
pub mod terminal;

pub use kind::{Kind, Verdict};
pub use ordain_model::Size;
pub use run::{Branch, Estimate, Run, Sample, Samples};
pub use source::Sources;
pub use story::{Frame, Hold, Object, Place, Race, RaceAccess, Shrunk, Step, Story, Switch, Thread, Waiter, Waiting};
pub use tell::{Facts, tell};
