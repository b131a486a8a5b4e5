//! The loop: plan, run, learn.

use crate::estimate::Path;
use crate::frontier::Divisible;
use crate::plan::{Plan, Target};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::ControlFlow;
use ordain_model::{End, Execution, Transition};

/// What it means that a strategy has nothing left to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coverage {
    /// Every class was explored.
    Everything,
    /// Every class within a bound was explored, and the bound cut others off.
    Bound,
    /// A number of samples was drawn.
    Samples,
}

/// A way to choose schedules.
pub trait Strategy {
    /// The next plan; `None` when nothing is left.
    fn plan(&mut self) -> Option<Plan<'_>>;
    /// Learns from the execution of the last plan.
    fn learn(&mut self, execution: &Execution);
    /// What it means that nothing is left.
    fn coverage(&self) -> Coverage;
    /// The path that it is on; `None` if it has none, or nothing is left.
    fn path(&self) -> Option<Path<'_>> {
        None
    }
    /// Adds the transitions that are scheduled from a state of the path, by its depth, and not yet taken.
    fn scheduled(&self, _depth: usize, _out: &mut Vec<Transition>) {}
    /// Whether the last execution went on only to see what held threads do, and is covered elsewhere.
    fn in_vain(&self) -> bool {
        false
    }
    /// As a strategy of which can be told what is left; `None` if it is none.
    fn divisible(&mut self) -> Option<&mut dyn Divisible> {
        None
    }
    /// Forgets what it has explored and begins again.
    fn restart(&mut self);
    /// Breaks learning off when `stop` says so, however long an execution is. What was learned is incomplete then, so whoever searches ends.
    fn stop_when(&mut self, _stop: Stop) {}
}

/// Says when something that takes long is to be broken off.
#[derive(Clone, Default)]
pub struct Stop(Option<Arc<dyn Fn() -> bool + Send + Sync>>);

impl Stop {
    /// As soon as this is so.
    pub fn when(is_over: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(is_over)))
    }

    pub(crate) fn is_over(&self) -> bool {
        self.0.as_ref().is_some_and(|is_over| is_over())
    }
}

/// What a search has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Summary {
    /// Executions that ran to their end.
    pub executions: u64,
    /// Executions that were cut short because what would follow is covered elsewhere.
    pub blocked: u64,
    /// Steps of all executions.
    pub steps: u64,
    /// Most threads in one execution.
    pub threads: usize,
    /// Most steps in one execution.
    pub depth: usize,
    /// Whether the strategy has nothing left to run.
    pub exhausted: bool,
    /// Most operations by which threads synchronise in one execution, if whoever ran it has counted them.
    pub visible: usize,
    /// Whether a thread that spins was held, if whoever ran it tells.
    pub spun: bool,
    /// Whether the search began again: executions that it made before, also in an earlier part, do not count.
    pub restarted: bool,
}

impl Summary {
    /// Adds what a later part of the same search has done.
    pub fn add(&mut self, part: &Self) {
        self.executions += part.executions;
        self.blocked += part.blocked;
        self.steps += part.steps;
        self.threads = self.threads.max(part.threads);
        self.depth = self.depth.max(part.depth);
        self.visible = self.visible.max(part.visible);
        self.spun |= part.spun;
        self.exhausted = part.exhausted;
    }
}

/// Runs a strategy on a target until nothing is left, `observe` breaks off, or an execution is interrupted. `observe` sees every execution
/// that ran to its end, and the summary with it.
pub fn search<T: Target>(
    target: &mut T,
    strategy: &mut dyn Strategy,
    observe: &mut dyn FnMut(&mut T, &Summary) -> ControlFlow<()>,
) -> Summary {
    let mut summary = Summary::default();
    loop {
        match strategy.plan() {
            Some(mut plan) => target.run(&mut plan),
            None => {
                summary.exhausted = true;
                return summary;
            }
        }
        let execution = target.execution();
        if matches!(execution.end, End::Interrupted) {
            // Nothing is known of how it ends; the strategy plans it again if it is asked again.
            return summary;
        }
        summary.steps += execution.steps.len() as u64;
        summary.depth = summary.depth.max(execution.steps.len());
        summary.threads = summary.threads.max(execution.thread_count());
        if matches!(execution.end, End::Cut) || strategy.in_vain() {
            summary.blocked += 1;
        } else {
            summary.executions += 1;
        }
        if execution.learned && strategy.coverage() != Coverage::Samples {
            // What was explored rests on an assumption about a loop that is now known to be wrong.
            strategy.restart();
            let (steps, threads, depth) = (summary.steps, summary.threads, summary.depth);
            summary = Summary { steps, threads, depth, restarted: true, ..Summary::default() };
            if observe(target, &summary).is_break() {
                return summary;
            }
            continue;
        }
        // A program that departed from its plan teaches nothing; whoever observes must end the search.
        let diverged = matches!(execution.end, End::Diverged(_));
        if !diverged {
            strategy.learn(execution);
        }
        if observe(target, &summary).is_break() || diverged {
            return summary;
        }
    }
}
