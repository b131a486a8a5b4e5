//! What a worker is asked for, and what it brings back: one turn of a search.

use crate::explorer::Observation;
use ordain_explore::branch_point::BranchPoint;
use ordain_explore::estimate::Estimate;
use ordain_explore::frontier::{Done, Explored, Order};
use ordain_explore::strategy::{Bound, Kind as StrategyKind};
use ordain_explore::{Coverage, Summary};
use ordain_model::Divergence;
use std::time::Duration;

/// How a search chooses schedules.
#[derive(Clone, Copy, Debug)]
pub struct Job {
    /// The strategy.
    pub strategy: StrategyKind,
    /// A bound, which decides instead.
    pub bound: Option<Bound>,
    /// Seed of samplers.
    pub seed: u64,
    /// Ordering constraints that probabilistic concurrency testing looks for.
    pub depth: usize,
    /// What is done with the classes of executions.
    pub recognition: Recognition,
    /// Whether what threads do is learned for estimates.
    pub foresees: bool,
    /// The number of the worker: samples of a portfolio differ between workers.
    pub worker: u64,
}

/// What is done with the classes of executions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recognition {
    /// Nothing.
    No,
    /// They are told.
    Noted,
    /// Samples of all samplers, in place of the strategy, are compared with the classes that are known.
    Compared,
}

/// What is to be explored.
#[derive(Clone, Copy)]
pub enum Part<'a> {
    /// The search as a whole, from where it is.
    Whole,
    /// A fragment of it, from its beginning.
    Fragment(&'a Order),
}

/// How far a turn may go.
#[derive(Clone, Copy, Debug)]
pub struct Allowance {
    /// Executions that the search has made before.
    pub before: u64,
    /// Most executions.
    pub executions: u64,
    /// Most time.
    pub time: Duration,
    /// Whether to estimate how much there is.
    pub forecast: Wanted,
    /// Whether to tell what is left.
    pub keep: bool,
}

/// How well something is to be estimated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Not at all.
    No,
    /// In passing.
    Rough,
    /// As well as can be.
    Best,
}

/// What was explored in a turn.
#[derive(Clone, Debug, Default)]
pub struct Turn {
    /// What was done.
    pub summary: Summary,
    /// Executions that misbehaved.
    pub failing: u64,
    /// Threads that got something done again and again had to let others go first.
    pub took_turns: bool,
    /// Processor time that it took, without what it took to start the program.
    pub cpu: Duration,
    /// What was covered, if nothing is left.
    pub coverage: Option<Coverage>,
    /// What the last execution showed, if it is worth telling.
    pub observation: Option<Observation>,
    /// It is worth telling, and nothing can be seen of it: how it ended, as far as is known.
    pub unexplained: Option<String>,
    /// How the last execution departed from its plan, if it did.
    pub departure: Option<Divergence>,
    /// The last execution belongs to a class that nobody has explored.
    pub unexplored: bool,
    /// The last execution showed that a loop which was taken to wait ends by itself.
    pub learned: bool,
    /// Where the search is, if something is worth telling or an estimate was asked for.
    pub branch_points: Vec<BranchPoint>,
    /// How much there is, if that was asked for and could be told.
    pub estimate: Option<Estimate>,
    /// What has become of the search as a whole, if that was asked for and could be told.
    pub explored: Option<Explored>,
    /// What has become of the fragment.
    pub done: Option<Done>,
    /// The fingerprints of explored classes, if that was asked for.
    pub classes: Vec<u64>,
}
