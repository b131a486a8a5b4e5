//! The options of a check, whatever it explores.

use ordain_explore::strategy::{Bound, Kind as StrategyKind};
use ordain_model::Options;
use std::path::PathBuf;
use std::time::Duration;

/// Executions of a sampler if nothing else limits it.
const DEFAULT_SAMPLES: u64 = 10_000;

/// Whether a search goes on that was kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Resume {
    /// It begins anew.
    #[default]
    No,
    /// It begins anew if none was kept of this program with these options, and says why.
    IfPossible,
    /// It is an error if it cannot.
    Must,
}

/// The options of a check.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What to assume of the world.
    pub options: Options,
    /// How schedules are chosen; if not told, optimal search, or a portfolio if there is a budget.
    pub strategy: Option<StrategyKind>,
    /// A bound on preemptions or delays.
    pub bound: Option<Bound>,
    /// Seed of samplers.
    pub seed: u64,
    /// Ordering constraints that probabilistic concurrency testing looks for.
    pub depth: usize,
    /// Most executions.
    pub max_executions: Option<u64>,
    /// Most time.
    pub max_time: Option<Duration>,
    /// Whether to go on after a finding.
    pub keep_going: bool,
    /// Where schedules of findings are written, and what is left of a search; nowhere if not told.
    pub directory: Option<PathBuf>,
    /// How long the schedule of a finding may be made smaller.
    pub shrink_time: Duration,
    /// Where the trace of an exhaustive search is written; the search is then led from plan to plan.
    pub exploration_trace: Option<PathBuf>,
    /// How many explore at the same time, if the search can be divided. With none, one does, and nothing is kept.
    pub workers: usize,
    /// How long a worker explores at least before it is heard; longer as the search goes on.
    pub slice: Duration,
    /// Whether to go on with the search that is kept in the directory.
    pub resume: Resume,
    /// Whether a search is kept also when it has ended, with what it found: one of several in a process that is resumed.
    pub keep_result: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            options: Options::default(),
            strategy: None,
            bound: None,
            seed: 0,
            depth: 3,
            max_executions: None,
            max_time: None,
            keep_going: false,
            directory: Some(PathBuf::from(".ordain")),
            shrink_time: Duration::from_secs(5),
            exploration_trace: None,
            workers: 1,
            slice: Duration::from_millis(20),
            resume: Resume::No,
            keep_result: false,
        }
    }
}

impl Settings {
    /// The strategy: as it was chosen, or as the budget suggests.
    pub fn strategy(&self) -> StrategyKind {
        let budget = self.max_executions.is_some() || self.max_time.is_some();
        self.strategy.unwrap_or(if budget { StrategyKind::Portfolio } else { StrategyKind::Optimal })
    }

    /// Most executions of a search that samples, or does not.
    pub fn most_executions(&self, samples: bool) -> u64 {
        match self.max_executions {
            None if samples && self.max_time.is_none() => DEFAULT_SAMPLES,
            most => most.unwrap_or(u64::MAX),
        }
    }
}
