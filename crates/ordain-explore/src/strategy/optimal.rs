//! Optimal dynamic partial-order reduction with wakeup trees: every class exactly once, and no run in vain.
//!
//! Abdulla, Aronis, Jonsson and Sagonas, "Source sets: a foundation for optimal dynamic partial order reduction", with
//! races reversed as in [`crate::reversal`], so that operations may block and have several outcomes. Each complete execution
//! is searched for reversals; each that no sleeper covers goes into the wakeup tree of the state before its first event.

use crate::estimate::Path;
use crate::plan::{Lowest, Plan, Planned};
use crate::reversal::{Reversals, Which};
use crate::search::{Coverage, Strategy};
use crate::trace::Trace;
use crate::wakeup::{Head, NO_TREE, Sleeper, Trees, is_covered};
use alloc::vec::Vec;
use ordain_model::{Execution, Footprint, Transition};

/// A state on the current path.
struct Node {
    sleep: Vec<Sleeper>,
    tree: Head,
}

/// The default strategy.
pub struct Optimal {
    prefix: Vec<Planned>,
    /// How many steps of the prefix the next execution shares with the last one.
    kept: usize,
    /// What the last execution did behind them.
    replaced: Option<Planned>,
    nodes: Vec<Node>,
    trees: Trees,
    trace: Trace,
    reversals: Reversals,
    policy: Lowest,
    finished: bool,
    redundant: u64,
}

impl Default for Optimal {
    fn default() -> Self {
        Self {
            prefix: Vec::new(),
            kept: 0,
            replaced: None,
            nodes: Vec::new(),
            trees: Trees::default(),
            trace: Trace::default(),
            reversals: Reversals::default(),
            policy: Lowest,
            finished: false,
            redundant: 0,
        }
    }
}

impl Optimal {
    /// Executions that took a transition which was asleep. Always zero; counted so that it can be checked.
    pub fn redundant(&self) -> u64 {
        self.redundant
    }

    /// Whether nothing is left to run.
    pub(super) fn is_finished(&self) -> bool {
        self.finished
    }

    /// Fills in the sleep sets of the states behind the kept prefix.
    fn follow(&mut self, execution: &Execution) {
        let len = execution.steps.len();
        while self.nodes.len() <= len {
            self.nodes.push(Node { sleep: Vec::new(), tree: NO_TREE });
        }
        let mut awake = true;
        for step in self.kept..len {
            let transition = execution.steps[step].transition();
            let footprint = execution.footprint(step);
            let (before, after) = self.nodes.split_at_mut(step + 1);
            let (node, next) = (&before[step], &mut after[0]);
            next.sleep.clear();
            for sleeper in &node.sleep {
                awake &= sleeper.transition != transition;
                if sleeper.survives(transition, footprint) {
                    next.sleep.push(sleeper.clone());
                }
            }
            if step >= self.prefix.len() {
                next.tree = NO_TREE;
            }
        }
        self.redundant += u64::from(!awake);
    }

    /// Goes back to the deepest state that has something left, and plans its first sequence.
    fn backtrack(&mut self, execution: &Execution) {
        for depth in (0..execution.steps.len()).rev() {
            if self.nodes[depth].tree == NO_TREE {
                continue;
            }
            let transition = execution.steps[depth].transition();
            let footprint = Footprint::from_slice(execution.footprint(depth));
            self.nodes[depth].sleep.push(Sleeper { transition, footprint });
            self.kept = depth;
            self.replaced = Some(Planned { transition, op: Some(execution.steps[depth].op) });
            let known = self.prefix.len().min(depth);
            self.prefix.truncate(known);
            for s in &execution.steps[known..depth] {
                self.prefix.push(Planned { transition: s.transition(), op: Some(s.op) });
            }
            let mut at = depth;
            while let Some((transition, op, children)) = self.trees.take_first(&mut self.nodes[at].tree) {
                self.prefix.push(Planned { transition, op: Some(op) });
                at += 1;
                if self.nodes.len() <= at {
                    self.nodes.push(Node { sleep: Vec::new(), tree: NO_TREE });
                }
                self.nodes[at].tree = children;
            }
            return;
        }
        self.finished = true;
    }
}

impl Strategy for Optimal {
    fn plan(&mut self) -> Option<Plan<'_>> {
        if self.finished {
            return None;
        }
        let plan = Plan::new(&self.prefix, &mut self.policy);
        Some(match self.replaced {
            Some(replaced) => plan.knowing(self.kept, replaced),
            None => plan,
        })
    }

    fn learn(&mut self, execution: &Execution) {
        self.follow(execution);
        self.trace.update(execution, self.kept);
        let (nodes, trees) = (&mut self.nodes, &mut self.trees);
        self.reversals.each(execution, &self.trace, self.kept, Which::Complete, &mut |at, sequence| {
            let node = &mut nodes[at];
            if !is_covered(&node.sleep, sequence) {
                trees.insert(&mut node.tree, sequence);
            }
        });
        self.backtrack(execution);
    }

    fn path(&self) -> Option<Path<'_>> {
        if self.finished || self.nodes.is_empty() {
            return None;
        }
        let sleep = self.nodes[..=self.kept.min(self.nodes.len() - 1)].iter().map(|n| n.sleep.as_slice()).collect();
        Some(Path { prefix: &self.prefix, kept: self.kept, sleep, reduces: true, samples: 0 })
    }

    fn scheduled(&self, depth: usize, out: &mut Vec<Transition>) {
        out.extend(self.nodes.get(depth).into_iter().flat_map(|n| self.trees.heads(n.tree)));
    }

    fn restart(&mut self) {
        *self = Self::default();
    }

    fn coverage(&self) -> Coverage {
        Coverage::Everything
    }
}
