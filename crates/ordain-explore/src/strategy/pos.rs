//! Partial order sampling: a random priority for each operation, drawn anew for those that race with the one executed.
//!
//! Yuan, Yang and Gu, "Partial order aware concurrency sampling". Unlike a random walk, the order of two dependent operations
//! does not hang on how many independent ones happen to lie around them.

use super::random::{any_choice, enabled_threads};
use crate::plan::{Pick, Plan, Policy};
use crate::rng::Rng;
use crate::search::{Coverage, Strategy};
use alloc::vec::Vec;
use ordain_model::{Arbiter, Execution, Footprint, ThreadId, dependent};

struct Sampled {
    rng: Rng,
    enabled: Vec<(ThreadId, u32)>,
    /// Priority of each thread's announced operation; zero if none was drawn.
    of: Vec<u64>,
    footprint: Footprint,
}

impl Policy for Sampled {
    fn begin(&mut self) {
        self.of.clear();
    }

    fn pick(&mut self, arbiter: &mut Arbiter) -> Pick {
        enabled_threads(arbiter, &mut self.enabled);
        if let Some(last) = arbiter.execution().steps.len().checked_sub(1) {
            let moved = arbiter.execution().steps[last].thread.index();
            if let Some(priority) = self.of.get_mut(moved) {
                *priority = 0;
            }
            for &(thread, _) in &self.enabled {
                arbiter.pending_footprint(thread, 0, &mut self.footprint);
                if dependent(&self.footprint, arbiter.execution().footprint(last))
                    && let Some(priority) = self.of.get_mut(thread.index())
                {
                    *priority = 0;
                }
            }
        }
        let mut best = None;
        for &(thread, choices) in &self.enabled {
            if self.of.len() <= thread.index() {
                self.of.resize(thread.index() + 1, 0);
            }
            if self.of[thread.index()] == 0 {
                self.of[thread.index()] = self.rng.next() | 1;
            }
            let priority = self.of[thread.index()];
            if best.is_none_or(|(most, _, _)| priority > most) {
                best = Some((priority, thread, choices));
            }
        }
        best.map_or(Pick::Nothing, |(_, thread, choices)| Pick::Take(any_choice(&mut self.rng, thread, choices)))
    }
}

/// Partial order sampling.
pub struct Pos {
    seed: u64,
    executions: u64,
    policy: Sampled,
}

impl Pos {
    /// The samples of this seed.
    pub fn new(seed: u64) -> Self {
        let policy =
            Sampled { rng: Rng::new(seed, 0), enabled: Vec::new(), of: Vec::new(), footprint: Footprint::new() };
        Self { seed, executions: 0, policy }
    }
}

impl Strategy for Pos {
    fn plan(&mut self) -> Option<Plan<'_>> {
        self.policy.rng = Rng::new(self.seed, self.executions);
        Some(Plan::new(&[], &mut self.policy))
    }

    fn learn(&mut self, _execution: &Execution) {
        self.executions += 1;
    }

    fn restart(&mut self) {
        self.executions += 1;
    }

    fn coverage(&self) -> Coverage {
        Coverage::Samples
    }
}
