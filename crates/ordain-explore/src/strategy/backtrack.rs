//! Depth-first search with backtrack sets and sleep sets: what classic and source-DPOR have in common.
//!
//! Each state on the current path has a list of transitions to take from it. They differ in the rule that adds to it when
//! a race is found. A run in which everything enabled is asleep is cut: what follows is covered elsewhere.

use crate::estimate::Path;
use crate::plan::{Pick, Plan, Planned, Policy};
use crate::reversal::{Reversals, Sequence, Which};
use crate::trace::Trace;
use crate::wakeup::Sleeper;
use alloc::vec::Vec;
use ordain_model::{Arbiter, Execution, Footprint, Transition, dependent};

/// A state on the current path.
#[derive(Default)]
pub(super) struct Node {
    pub(super) sleep: Vec<Sleeper>,
    /// Transitions to take, or taken, in the order in which they were added.
    pub(super) backtrack: Vec<Transition>,
    /// What was enabled.
    pub(super) enabled: Vec<Transition>,
}

/// Whether an item of the sequence depends on none before it.
pub(super) fn is_initial(sequence: &Sequence<'_>, item: usize, trace: &Trace) -> bool {
    match sequence.events.get(item) {
        Some(&event) => {
            sequence.events[..item].iter().all(|&other| !trace.happens_before(other as usize, event as usize))
        }
        None => (0..item).all(|i| {
            let (other, footprint) = sequence.item(i);
            other.thread != sequence.last.thread && !dependent(footprint, sequence.last_footprint)
        }),
    }
}

/// Takes the first enabled transition that is not asleep.
#[derive(Default)]
struct Awake {
    sleep: Vec<Sleeper>,
    /// How many steps the sleep set has been followed through.
    followed: usize,
    first: usize,
    enabled: Vec<Transition>,
    /// What was enabled at each step.
    log: Vec<Vec<Transition>>,
}

impl Awake {
    /// Wakes sleepers that depend on the steps since.
    fn follow(&mut self, execution: &Execution) {
        while self.followed < execution.steps.len() {
            let (step, footprint) = (&execution.steps[self.followed], execution.footprint(self.followed));
            if self.followed >= self.first {
                self.sleep.retain(|s| s.survives(step.transition(), footprint));
            }
            self.followed += 1;
        }
    }

    fn note(&mut self, arbiter: &mut Arbiter) {
        let depth = arbiter.execution().steps.len();
        arbiter.enabled(&mut self.enabled);
        if self.log.len() <= depth {
            self.log.resize_with(depth + 1, Vec::new);
        }
        self.log[depth].clone_from(&self.enabled);
    }
}

impl Policy for Awake {
    fn begin(&mut self) {
        self.followed = 0;
    }

    fn forced(&mut self, arbiter: &mut Arbiter, _transition: Transition) {
        self.note(arbiter);
    }

    fn pick(&mut self, arbiter: &mut Arbiter) -> Pick {
        self.follow(arbiter.execution());
        self.note(arbiter);
        if self.enabled.is_empty() {
            return Pick::Nothing;
        }
        let awake = self.enabled.iter().find(|t| !self.sleep.iter().any(|s| s.transition == **t));
        awake.map_or(Pick::Cut, |t| Pick::Take(*t))
    }
}

/// The search; strategies give it the rule.
#[derive(Default)]
pub(super) struct Backtrack {
    prefix: Vec<Planned>,
    kept: usize,
    nodes: Vec<Node>,
    trace: Trace,
    reversals: Reversals,
    policy: Awake,
    finished: bool,
}

impl Backtrack {
    pub(super) fn plan(&mut self) -> Option<Plan<'_>> {
        if self.finished {
            return None;
        }
        Some(Plan::new(&self.prefix, &mut self.policy))
    }

    pub(super) fn path(&self) -> Option<Path<'_>> {
        if self.finished || self.nodes.is_empty() {
            return None;
        }
        let sleep = self.nodes[..=self.kept].iter().map(|n| n.sleep.as_slice()).collect();
        Some(Path { prefix: &self.prefix, kept: self.kept, sleep, reduces: true, samples: 0 })
    }

    pub(super) fn scheduled(&self, depth: usize, out: &mut Vec<Transition>) {
        let Some(node) = self.nodes.get(depth) else { return };
        let taken = self.prefix.get(depth).map(|p| p.transition);
        let left = node.backtrack.iter().filter(|t| !node.sleep.iter().any(|s| s.transition == **t));
        out.extend(left.filter(|t| taken != Some(**t)));
    }

    /// Learns from an execution; `add` is called for each reversal.
    pub(super) fn learn(&mut self, execution: &Execution, which: Which, add: fn(&mut Node, &Sequence<'_>, &Trace)) {
        let len = execution.steps.len();
        if self.nodes.len() <= len {
            self.nodes.resize_with(len + 1, Node::default);
        }
        for step in self.kept..len {
            let transition = execution.steps[step].transition();
            let (before, after) = self.nodes.split_at_mut(step + 1);
            let (node, next) = (&mut before[step], &mut after[0]);
            node.enabled.clone_from(&self.policy.log[step]);
            if step > self.kept {
                node.backtrack.clear();
            }
            if !node.backtrack.contains(&transition) {
                node.backtrack.push(transition);
            }
            next.sleep.clear();
            let footprint = execution.footprint(step);
            next.sleep.extend(node.sleep.iter().filter(|s| s.survives(transition, footprint)).cloned());
        }
        self.trace.update(execution, self.kept);
        let (nodes, trace) = (&mut self.nodes, &self.trace);
        self.reversals.each(execution, trace, self.kept, which, &mut |at, sequence| {
            add(&mut nodes[at], sequence, trace);
        });
        self.backtrack(execution);
    }

    fn backtrack(&mut self, execution: &Execution) {
        for depth in (0..execution.steps.len()).rev() {
            let node = &mut self.nodes[depth];
            let transition = execution.steps[depth].transition();
            let footprint = Footprint::from_slice(execution.footprint(depth));
            node.sleep.push(Sleeper { transition, footprint });
            let next = node.backtrack.iter().find(|t| !node.sleep.iter().any(|s| s.transition == **t));
            if let Some(&next) = next {
                let known = self.prefix.len().min(depth);
                self.prefix.truncate(known);
                for s in &execution.steps[known..depth] {
                    self.prefix.push(Planned { transition: s.transition(), op: Some(s.op) });
                }
                self.prefix.push(Planned { transition: next, op: None });
                self.kept = depth;
                self.policy.first = depth;
                self.policy.sleep.clone_from(&node.sleep);
                return;
            }
        }
        self.finished = true;
    }
}
