//! The strategies by name.

use super::{Chunks, Dfs, Dpor, Optimal, Pct, Portfolio, Pos, Random, Source, Urw};
use crate::frontier::{Divisible, Rule};
use crate::search::Strategy;
use alloc::boxed::Box;

/// How schedules are chosen. The first four end when every class of schedules has been explored; the samplers never end by
/// themselves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// Every schedule, one by one. For tiny programs, and to check the others.
    Dfs,
    /// Classic dynamic partial-order reduction with sleep sets. For comparison.
    Dpor,
    /// Source-DPOR: no class twice, but some runs are cut short. Uses less memory than `Optimal` on very long executions.
    Source,
    /// Optimal DPOR: every class exactly once. The default.
    #[default]
    Optimal,
    /// A random walk. Fast, and blind to rare orders.
    Random,
    /// Uniform random walk: weighted by what threads have left to do. Better than `Random` when threads differ in length.
    Urw,
    /// Probabilistic concurrency testing: finds bugs that need few ordering constraints, however long the execution.
    Pct,
    /// Partial order sampling: good when races are many and independent of each other.
    Pos,
    /// `Optimal` interleaved with the samplers. The default when there is a budget.
    Portfolio,
}

impl Kind {
    /// The name, as reports show it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Dfs => "dfs",
            Self::Dpor => "dpor",
            Self::Source => "source",
            Self::Optimal => "optimal",
            Self::Random => "random",
            Self::Urw => "urw",
            Self::Pct => "pct",
            Self::Pos => "pos",
            Self::Portfolio => "portfolio",
        }
    }

    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Dfs,
        Self::Dpor,
        Self::Source,
        Self::Optimal,
        Self::Random,
        Self::Urw,
        Self::Pct,
        Self::Pos,
        Self::Portfolio,
    ];

    /// The strategy of that name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|k| k.name() == name)
    }

    /// Makes it. The seed is for samplers, the depth for probabilistic concurrency testing.
    pub fn make(self, seed: u64, depth: usize) -> Box<dyn Strategy> {
        if self.samples() { Box::new(Chunks::new(self, seed, depth)) } else { self.make_plain(seed, depth) }
    }

    /// Makes it; a sampler is one that never begins anew.
    pub(crate) fn make_plain(self, seed: u64, depth: usize) -> Box<dyn Strategy> {
        match self {
            Self::Dfs => Box::new(Dfs::default()),
            Self::Dpor => Box::new(Dpor::default()),
            Self::Source => Box::new(Source::default()),
            Self::Optimal => Box::new(Optimal::default()),
            Self::Random => Box::new(Random::new(seed)),
            Self::Urw => Box::new(Urw::new(seed)),
            Self::Pct => Box::new(Pct::new(seed, depth)),
            Self::Pos => Box::new(Pos::new(seed)),
            Self::Portfolio => Box::new(Portfolio::new(seed)),
        }
    }

    /// Makes it for a part of a search; `None` if it cannot be divided.
    pub fn make_divisible(self, seed: u64) -> Option<Box<dyn Divisible>> {
        match self {
            Self::Source => Some(Box::new(Source::default())),
            Self::Optimal => Some(Box::new(Optimal::default())),
            Self::Portfolio => Some(Box::new(Portfolio::new(seed))),
            _ => None,
        }
    }

    /// How a search with it is divided; `None` if it cannot be.
    pub fn rule(self) -> Option<Rule> {
        match self {
            Self::Source => Some(Rule::Source),
            Self::Optimal | Self::Portfolio => Some(Rule::Optimal),
            _ => None,
        }
    }

    /// Whether it only samples, and never ends by itself.
    pub fn samples(self) -> bool {
        matches!(self, Self::Random | Self::Urw | Self::Pct | Self::Pos)
    }
}
