//! Random walk: at each state an enabled thread, each as likely as the others, then one of its outcomes.

use crate::plan::{Pick, Plan, Policy, Portable};
use crate::rng::Rng;
use crate::search::{Coverage, Strategy};
use alloc::vec::Vec;
use ordain_model::{Arbiter, Execution, ThreadId, Transition};

/// The enabled threads, each with its number of outcomes, in the order in which they were spawned: their numbers depend on earlier
/// executions, and a sample must not.
pub(super) fn enabled_threads(arbiter: &mut Arbiter, out: &mut Vec<(ThreadId, u32)>) {
    out.clear();
    for &thread in arbiter.alive() {
        let choices = arbiter.choices(thread);
        if choices > 0 {
            out.push((thread, choices));
        }
    }
    // The number of main's step is the largest; the first step of all has the number zero.
    let spawned = |e: &(ThreadId, u32)| arbiter.execution().spawned_by[e.0.index()].wrapping_add(1);
    if !out.is_sorted_by_key(spawned) {
        out.sort_unstable_by_key(spawned);
    }
    if out.is_empty()
        && let Some(released) = arbiter.first_enabled()
    {
        out.push((released.thread, 1));
    }
}

/// One of the outcomes of a thread.
pub(super) fn any_choice(rng: &mut Rng, thread: ThreadId, choices: u32) -> Transition {
    let choice = if choices == 1 { 0 } else { rng.below(u64::from(choices)) as u32 };
    Transition { thread, choice }
}

/// Takes any enabled thread and any of its outcomes.
pub struct Walk {
    rng: Rng,
    enabled: Vec<(ThreadId, u32)>,
    seed: u64,
    stream: u64,
}

impl Walk {
    /// The walk of a seed in the execution of this number.
    pub fn new(seed: u64, stream: u64) -> Self {
        Self { rng: Rng::new(seed, stream), enabled: Vec::new(), seed, stream }
    }

    /// Begins the walk of another execution.
    pub fn restart(&mut self, seed: u64, stream: u64) {
        (self.seed, self.stream) = (seed, stream);
        self.rng = Rng::new(seed, stream);
    }
}

impl Policy for Walk {
    fn begin(&mut self) {
        self.rng = Rng::new(self.seed, self.stream);
    }

    fn pick(&mut self, arbiter: &mut Arbiter) -> Pick {
        enabled_threads(arbiter, &mut self.enabled);
        let (thread, choices) = match self.enabled.len() {
            0 => return Pick::Nothing,
            1 => self.enabled[0],
            n => self.enabled[self.rng.below(n as u64) as usize],
        };
        Pick::Take(any_choice(&mut self.rng, thread, choices))
    }

    fn portable(&self) -> Option<Portable> {
        Some(Portable::Random { seed: self.seed, stream: self.stream })
    }
}

/// Random walk.
pub struct Random {
    seed: u64,
    executions: u64,
    policy: Walk,
}

impl Random {
    /// The walk of this seed.
    pub fn new(seed: u64) -> Self {
        Self { seed, executions: 0, policy: Walk::new(seed, 0) }
    }
}

impl Strategy for Random {
    fn plan(&mut self) -> Option<Plan<'_>> {
        self.policy.restart(self.seed, self.executions);
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
