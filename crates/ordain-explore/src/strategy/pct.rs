//! Probabilistic concurrency testing: random priorities, changed at a few random points.
//!
//! Burckhardt, Kothari, Musuvathi and Nagarakatte, "A randomized scheduler with probabilistic guarantees of finding bugs". The
//! enabled thread of highest priority runs; at `depth - 1` random steps the running thread falls behind all others. A bug of
//! that depth is found with probability at least 1/(n·k^(depth-1)) for n threads and k steps. A thread that yields or gave up
//! waiting falls behind too, so that threads that spin or poll do not starve the rest.

use super::random::{any_choice, enabled_threads};
use crate::plan::{Pick, Plan, Policy};
use crate::rng::Rng;
use crate::search::{Coverage, Strategy};
use alloc::vec::Vec;
use ordain_model::{Arbiter, Execution, Operation, Outcome, ThreadId, Wait};

struct Priorities {
    rng: Rng,
    enabled: Vec<(ThreadId, u32)>,
    /// Priority of each thread; zero if it has none yet.
    of: Vec<u64>,
    /// Steps at which the running thread falls behind, ascending.
    changes: Vec<usize>,
    next_change: usize,
    /// The next priority below all others.
    lowest: u64,
}

/// Initial priorities are above this, changed ones below.
const CHANGED: u64 = 1 << 32;

impl Priorities {
    fn priority(&mut self, thread: ThreadId) -> u64 {
        if self.of.len() <= thread.index() {
            self.of.resize(thread.index() + 1, 0);
        }
        if self.of[thread.index()] == 0 {
            self.of[thread.index()] = CHANGED + (self.rng.next() >> 16);
        }
        self.of[thread.index()]
    }

    fn fall_behind(&mut self, thread: ThreadId) {
        self.lowest -= 1;
        self.of[thread.index()] = self.lowest;
    }
}

impl Policy for Priorities {
    fn begin(&mut self) {
        self.of.clear();
        self.next_change = 0;
        self.lowest = CHANGED;
    }

    fn pick(&mut self, arbiter: &mut Arbiter) -> Pick {
        let step = arbiter.execution().steps.len();
        if let Some(last) = arbiter.execution().steps.last()
            && last.outcome == Outcome::FAILED
            && last.op.wait() == Some(Wait::Timed)
        {
            let thread = last.thread;
            self.priority(thread);
            self.fall_behind(thread);
        }
        let mut enabled = core::mem::take(&mut self.enabled);
        enabled_threads(arbiter, &mut enabled);
        let change = self.changes.get(self.next_change) == Some(&step);
        let mut best = enabled.iter().copied().max_by_key(|e| self.priority(e.0));
        if let Some((thread, _)) = best
            && (change || matches!(arbiter.pending(thread), Some((Operation::Yield | Operation::Sleep, _))))
        {
            self.next_change += usize::from(change);
            self.fall_behind(thread);
            best = enabled.iter().copied().max_by_key(|e| self.priority(e.0));
        }
        self.enabled = enabled;
        best.map_or(Pick::Nothing, |(thread, choices)| Pick::Take(any_choice(&mut self.rng, thread, choices)))
    }
}

/// Probabilistic concurrency testing.
pub struct Pct {
    seed: u64,
    depth: usize,
    executions: u64,
    /// Most steps seen.
    steps: usize,
    policy: Priorities,
}

impl Pct {
    /// Looks for bugs of `depth`, at least 1: that many orderings must be right for the bug to show.
    pub fn new(seed: u64, depth: usize) -> Self {
        let policy = Priorities {
            rng: Rng::new(seed, 0),
            enabled: Vec::new(),
            of: Vec::new(),
            changes: Vec::new(),
            next_change: 0,
            lowest: CHANGED,
        };
        Self { seed, depth: depth.max(1), executions: 0, steps: 0, policy }
    }
}

impl Strategy for Pct {
    fn plan(&mut self) -> Option<Plan<'_>> {
        let mut rng = Rng::new(self.seed, self.executions);
        self.policy.changes.clear();
        for _ in 1..self.depth {
            self.policy.changes.push(rng.below(self.steps.max(1) as u64) as usize);
        }
        self.policy.changes.sort_unstable();
        self.policy.changes.dedup();
        self.policy.rng = rng;
        Some(Plan::new(&[], &mut self.policy))
    }

    fn learn(&mut self, execution: &Execution) {
        self.executions += 1;
        self.steps = self.steps.max(execution.steps.len());
    }

    fn restart(&mut self) {
        self.executions += 1;
    }

    fn coverage(&self) -> Coverage {
        Coverage::Samples
    }
}
