//! Ordain's search: which schedules to run, in which order, and when it has seen them all.
//!
//! A [`Target`] runs a [`Plan`] and gives back an [`ordain_model::Execution`]; a [`Strategy`] learns from it and makes the
//! next plan. Everything here is pure and deterministic: no clock, no file, no thread, no process. One file for each strategy:
//!
//! | kind | strategy | what it promises |
//! |---|---|---|
//! | exhaustive | [`Dfs`](strategy::Dfs) | every schedule: the oracle |
//! | | [`Dpor`](strategy::Dpor) | every class; classic dynamic partial-order reduction with sleep sets |
//! | | [`Source`](strategy::Source) | every class, none twice; some runs are cut short |
//! | | [`Optimal`](strategy::Optimal) | every class exactly once, no run in vain |
//! | bounded | [`Bounded`](strategy::Bounded) | every class within a number of preemptions or delays |
//! | sampling | [`Random`](strategy::Random), [`Urw`](strategy::Urw), [`Pct`](strategy::Pct), [`Pos`](strategy::Pos) | reproducible from a seed |
//! | mixed | [`Portfolio`](strategy::Portfolio) | optimal, interleaved with sampling |
#![no_std]

extern crate alloc;

pub mod branch_point;
pub mod classes;
pub mod estimate;
mod fingerprint;
pub mod frontier;
mod hash;
pub mod plan;
mod reversal;
mod rng;
mod search;
mod shrink;
pub mod strategy;
mod wakeup;

pub use fingerprint::{Class, Fingerprint, class_of, key_of};
pub use plan::{Lowest, Pick, Plan, Planned, Policy, Portable, Target, prefix_of};
pub use search::{Coverage, Stop, Strategy, Summary, search};
pub use shrink::{Preemptions, Shrunk, shrink};
