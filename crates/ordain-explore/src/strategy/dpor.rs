//! Classic dynamic partial-order reduction with persistent sets (Flanagan and Godefroid, "Dynamic partial-order reduction for
//! model checking software") and sleep sets.
//!
//! A reversal adds the next transition of the thread that is moved forward if the reversed order can begin with it, else
//! everything that is enabled. (Adding it merely because it is enabled is not enough next to sleep sets: if it is asleep, the
//! sleeper need not cover the reversed order.)

use super::awake::Awake;
use super::source::is_initial;
use crate::estimate::Path;
use crate::plan::{Plan, Planned};
use crate::reversal::{Reversals, Sequence, Which};
use crate::search::{Coverage, Stop, Strategy};
use crate::wakeup::{Items, Sleeper};
use alloc::vec::Vec;
use ordain_model::{Execution, Footprint, HappensBefore, Transition};

/// A state on the current path.
#[derive(Default)]
struct Node {
    sleep: Vec<Sleeper>,
    /// Transitions to take, or taken, in the order in which they were added.
    backtrack: Vec<Transition>,
    /// What was enabled.
    enabled: Vec<Transition>,
}

/// The search.
struct Backtrack {
    prefix: Vec<Planned>,
    kept: usize,
    nodes: Vec<Node>,
    order: HappensBefore,
    reversals: Reversals,
    policy: Awake,
    finished: bool,
}

impl Default for Backtrack {
    fn default() -> Self {
        Self {
            prefix: Vec::new(),
            kept: 0,
            nodes: Vec::new(),
            order: HappensBefore::default(),
            reversals: Reversals::default(),
            policy: Awake::with_log(),
            finished: false,
        }
    }
}

impl Backtrack {
    fn plan(&mut self) -> Option<Plan<'_>> {
        if self.finished {
            return None;
        }
        Some(Plan::new(&self.prefix, &mut self.policy))
    }

    fn path(&self) -> Option<Path<'_>> {
        if self.finished || self.nodes.is_empty() {
            return None;
        }
        let sleep = self.nodes[..=self.kept].iter().map(|n| n.sleep.as_slice()).collect();
        Some(Path { prefix: &self.prefix, kept: self.kept, sleep, reduces: true, samples: 0 })
    }

    fn scheduled(&self, depth: usize, out: &mut Vec<Transition>) {
        let Some(node) = self.nodes.get(depth) else { return };
        let taken = self.prefix.get(depth).map(|p| p.transition);
        let left = node.backtrack.iter().filter(|t| !node.sleep.iter().any(|s| s.transition == **t));
        out.extend(left.filter(|t| taken != Some(**t)));
    }

    /// Learns from an execution; `add` is called for each reversal.
    fn learn(&mut self, execution: &Execution, which: Which, add: fn(&mut Node, &Sequence<'_>, &HappensBefore)) {
        let len = execution.steps.len();
        if self.nodes.len() <= len {
            self.nodes.resize_with(len + 1, Node::default);
        }
        for step in self.kept..len {
            let transition = execution.steps[step].transition();
            let (before, after) = self.nodes.split_at_mut(step + 1);
            let (node, next) = (&mut before[step], &mut after[0]);
            node.enabled.clear();
            node.enabled.extend_from_slice(self.policy.enabled_at(step));
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
        self.order.update(execution, self.kept);
        let horizon = self.policy.in_vain().unwrap_or(usize::MAX);
        let (nodes, order) = (&mut self.nodes, &self.order);
        self.reversals.each(execution, order, self.kept, horizon, which, &mut |at, sequence| {
            add(&mut nodes[at], sequence, order);
        });
        if !self.reversals.is_broken_off() {
            self.backtrack(execution);
        }
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
                self.policy.prepare(depth, &node.sleep, core::iter::empty());
                return;
            }
        }
        self.finished = true;
    }
}

/// Classic DPOR with sleep sets.
#[derive(Default)]
pub struct Dpor(Backtrack);

fn add(node: &mut Node, sequence: &Sequence<'_>, order: &HappensBefore) {
    let thread = sequence.last.thread;
    let next = (0..sequence.len()).find(|&i| sequence.item(i).0.thread == thread);
    let next = next.filter(|&i| is_initial(sequence, i, order)).map(|i| sequence.item(i).0);
    let all = node.enabled.len();
    for i in 0..all {
        let transition = node.enabled[i];
        if next.is_none_or(|next| next == transition) && !node.backtrack.contains(&transition) {
            node.backtrack.push(transition);
        }
    }
}

impl Strategy for Dpor {
    fn plan(&mut self) -> Option<Plan<'_>> {
        self.0.plan()
    }

    fn learn(&mut self, execution: &Execution) {
        self.0.learn(execution, Which::UpToSecond, add);
    }

    fn path(&self) -> Option<Path<'_>> {
        self.0.path()
    }

    fn scheduled(&self, depth: usize, out: &mut Vec<Transition>) {
        self.0.scheduled(depth, out);
    }

    fn in_vain(&self) -> bool {
        self.0.policy.in_vain().is_some()
    }

    fn restart(&mut self) {
        let reversals = self.0.reversals.renewed();
        *self = Self(Backtrack { reversals, ..Backtrack::default() });
    }

    fn stop_when(&mut self, stop: Stop) {
        self.0.reversals.stop_when(stop);
    }

    fn coverage(&self) -> Coverage {
        Coverage::Everything
    }
}
