//! Findings and runs of Ordain as data, and how they are shown.
//!
//! A front end tells a finding as a [`Story`] and a check as a [`Run`]; both are plain data that survive as JSON in the run
//! directory ([`store`]). Everything that shows them works on that data alone, one file for each reader:
//!
//! | reader | file |
//! |---|---|
//! | people who meet a kind of finding for the first time | [`explain`](mod@explain) |

pub mod explain;
mod kind;
mod run;
pub mod store;
mod story;

pub use kind::{Kind, Verdict};
pub use run::{Branch, Estimate, Run, Sample};
pub use story::{
    Frame, Hold, Object, Place, Race, RaceAccess, Shrunk, Size, Step, Story, Switch, Thread, Waiter, Waiting,
};
