//! Uniform random walk: threads are picked in proportion to the steps that they and their children still have to make.
//!
//! A plain random walk favours schedules in which short threads end early. If the number of steps of each thread is known,
//! weighting by what is left makes all schedules of independent threads equally likely (Zhao, Wolff, Mathur and Roychoudhury,
//! "Selectively uniform concurrency testing"). The numbers are learned: the largest seen so far.

use super::random::{any_choice, enabled_threads};
use crate::plan::{Pick, Plan, Policy};
use crate::rng::Rng;
use crate::search::{Coverage, Strategy};
use alloc::vec::Vec;
use ordain_model::{Arbiter, Execution, Operation, ThreadId};

struct Weighted {
    rng: Rng,
    enabled: Vec<(ThreadId, u32)>,
    /// Steps of each thread, the largest number seen, with those of the threads it spawns.
    expected: Vec<u64>,
    /// What is left of it in this execution.
    left: Vec<u64>,
    followed: usize,
}

impl Weighted {
    fn follow(&mut self, execution: &Execution) {
        for step in &execution.steps[self.followed..] {
            let thread = step.thread.index();
            if let Some(left) = self.left.get_mut(thread) {
                *left = left.saturating_sub(1);
            }
            if let Operation::Spawn { child } = step.op {
                // From now on the child carries its own weight.
                let own = self.left.get(child.index()).copied().unwrap_or(0);
                if let Some(left) = self.left.get_mut(thread) {
                    *left = left.saturating_sub(own);
                }
            }
        }
        self.followed = execution.steps.len();
    }

    fn weight(&self, thread: ThreadId) -> u64 {
        self.left.get(thread.index()).copied().unwrap_or(0).max(1)
    }
}

impl Policy for Weighted {
    fn begin(&mut self) {
        self.left.clone_from(&self.expected);
        self.followed = 0;
    }

    fn pick(&mut self, arbiter: &mut Arbiter) -> Pick {
        self.follow(arbiter.execution());
        enabled_threads(arbiter, &mut self.enabled);
        let total: u64 = self.enabled.iter().map(|e| self.weight(e.0)).sum();
        if total == 0 {
            return Pick::Nothing;
        }
        let mut at = self.rng.below(total);
        for &(thread, choices) in &self.enabled {
            let weight = self.weight(thread);
            if at < weight {
                return Pick::Take(any_choice(&mut self.rng, thread, choices));
            }
            at -= weight;
        }
        Pick::Nothing
    }
}

/// Uniform random walk.
pub struct Urw {
    seed: u64,
    executions: u64,
    policy: Weighted,
    counts: Vec<u64>,
}

impl Urw {
    /// The walk of this seed.
    pub fn new(seed: u64) -> Self {
        let policy = Weighted {
            rng: Rng::new(seed, 0),
            enabled: Vec::new(),
            expected: Vec::new(),
            left: Vec::new(),
            followed: 0,
        };
        Self { seed, executions: 0, policy, counts: Vec::new() }
    }
}

impl Strategy for Urw {
    fn plan(&mut self) -> Option<Plan<'_>> {
        self.policy.rng = Rng::new(self.seed, self.executions);
        Some(Plan::new(&[], &mut self.policy))
    }

    fn learn(&mut self, execution: &Execution) {
        self.executions += 1;
        let threads = execution.spawned_by.len();
        self.counts.clear();
        self.counts.resize(threads, 0);
        for step in &execution.steps {
            self.counts[step.thread.index()] += 1;
        }
        // Children have higher numbers than their parents only in order of birth, so sums go over spawning steps, last first.
        for step in execution.steps.iter().rev() {
            if let Operation::Spawn { child } = step.op {
                self.counts[step.thread.index()] += self.counts[child.index()];
            }
        }
        if self.policy.expected.len() < threads {
            self.policy.expected.resize(threads, 0);
        }
        for (expected, count) in self.policy.expected.iter_mut().zip(&self.counts) {
            *expected = (*expected).max(*count);
        }
    }

    fn restart(&mut self) {
        self.executions += 1;
    }

    fn coverage(&self) -> Coverage {
        Coverage::Samples
    }
}
