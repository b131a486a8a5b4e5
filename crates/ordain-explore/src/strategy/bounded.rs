//! Bounded search: every class that can be reached with few preemptions, or few delays; the bound rises from zero.
//!
//! A *preemption* takes the processor from a thread that could go on; a *delay* makes a deterministic round-robin scheduler pass
//! over the thread it would run next. Race-driven reductions are not sound under such bounds, because the execution that
//! reverses a race may be over the bound while an equivalent one is not. What is sound is to recognise states: two prefixes
//! of one class lead to the same state (the idea of Musuvathi and Qadeer, "Partial-order reduction for context-bounded state
//! exploration"). So this is a depth-first search that stops where a prefix of the same class, with the same thread running and at
//! least as much of the bound left, has been before. A search in which the bound cut nothing off is exhaustive.

use crate::fingerprint::Fingerprint;
use crate::plan::{Pick, Plan, Planned, Policy};
use crate::search::{Coverage, Strategy};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use ordain_model::{Arbiter, Execution, ThreadId, Transition};

/// What is bounded, and how far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// At most this many preemptions.
    Preemptions(u32),
    /// At most this many delays.
    Delays(u32),
}

impl Bound {
    fn most(self) -> u32 {
        match self {
            Self::Preemptions(n) | Self::Delays(n) => n,
        }
    }
}

/// A state on the current path.
#[derive(Default)]
struct Node {
    /// Enabled transitions and what each costs, cheapest first.
    options: Vec<(Transition, u32)>,
    /// What was spent before this state.
    spent: u32,
}

struct Search {
    bound: Bound,
    /// The bound of this iteration.
    level: u32,
    path: Vec<Node>,
    fingerprint: Fingerprint,
    followed: usize,
    /// Least spent at each state: class of the prefix and the thread that ran last.
    seen: BTreeMap<(u128, u32), u32>,
    forced: usize,
    enabled: Vec<Transition>,
    /// Whether an option was beyond the bound in this iteration.
    cut_off: bool,
}

impl Search {
    /// What each enabled transition costs in this state.
    fn cost(&self, arbiter: &Arbiter, transition: Transition, last: Option<ThreadId>) -> u32 {
        match (self.bound, last) {
            (_, None) => 0,
            (Bound::Preemptions(_), Some(last)) => {
                u32::from(last != transition.thread && self.enabled.iter().any(|t| t.thread == last))
            }
            (Bound::Delays(_), Some(last)) => {
                // The round-robin scheduler goes on with the last thread, then with those behind it, in a circle.
                let count = arbiter.alive().len();
                let start = arbiter.alive().partition_point(|t| *t < last);
                let order = (0..count).map(|i| arbiter.alive()[(start + i) % count]);
                let enabled = order.filter(|t| self.enabled.iter().any(|e| e.thread == *t));
                enabled.take_while(|t| *t != transition.thread).count() as u32
            }
        }
    }

    fn visit(&mut self, arbiter: &mut Arbiter, depth: usize) {
        if self.path.len() <= depth {
            self.path.resize_with(depth + 1, Node::default);
        }
        let last = arbiter.execution().steps.last().map(|s| s.thread);
        let mut enabled = core::mem::take(&mut self.enabled);
        arbiter.enabled(&mut enabled);
        self.enabled = enabled;
        let mut options = core::mem::take(&mut self.path[depth].options);
        options.clear();
        options.extend(self.enabled.iter().map(|t| (*t, self.cost(arbiter, *t, last))));
        options.sort_by_key(|o| o.1);
        let spent = if depth == 0 {
            0
        } else {
            let step = arbiter.execution().steps[depth - 1].transition();
            let before = &self.path[depth - 1];
            before.spent + before.options.iter().find(|o| o.0 == step).map_or(0, |o| o.1)
        };
        self.path[depth] = Node { options, spent };
    }
}

impl Policy for Search {
    fn begin(&mut self) {
        self.fingerprint.clear();
        self.followed = 0;
    }

    fn forced(&mut self, arbiter: &mut Arbiter, _transition: Transition) {
        let depth = arbiter.execution().steps.len();
        if depth + 1 >= self.forced {
            self.visit(arbiter, depth);
        }
    }

    fn pick(&mut self, arbiter: &mut Arbiter) -> Pick {
        while self.followed < arbiter.execution().steps.len() {
            self.fingerprint.push(arbiter.execution(), self.followed);
            self.followed += 1;
        }
        let depth = arbiter.execution().steps.len();
        self.visit(arbiter, depth);
        let node = &self.path[depth];
        let last = arbiter.execution().steps.last().map_or(u32::MAX, |s| s.thread.0);
        match self.seen.entry((self.fingerprint.class().0, last)) {
            alloc::collections::btree_map::Entry::Occupied(mut seen) => {
                if *seen.get() <= node.spent {
                    return Pick::Cut;
                }
                seen.insert(node.spent);
            }
            alloc::collections::btree_map::Entry::Vacant(place) => {
                place.insert(node.spent);
            }
        }
        match node.options.first() {
            None => Pick::Nothing,
            Some((transition, _)) => Pick::Take(*transition),
        }
    }
}

/// Search within a bound on preemptions or delays.
pub struct Bounded {
    prefix: Vec<Planned>,
    search: Search,
    finished: bool,
}

impl Bounded {
    /// Explores everything within the bound, in order of what it costs.
    pub fn new(bound: Bound) -> Self {
        let search = Search {
            bound,
            level: 0,
            path: Vec::new(),
            fingerprint: Fingerprint::default(),
            followed: 0,
            seen: BTreeMap::new(),
            forced: 0,
            enabled: Vec::new(),
            cut_off: false,
        };
        Self { prefix: Vec::new(), search, finished: false }
    }

    /// The bound that the search has reached.
    pub fn level(&self) -> u32 {
        self.search.level
    }
}

impl Strategy for Bounded {
    fn plan(&mut self) -> Option<Plan<'_>> {
        if self.finished {
            return None;
        }
        self.search.forced = self.prefix.len();
        Some(Plan::new(&self.prefix, &mut self.search))
    }

    fn learn(&mut self, execution: &Execution) {
        for depth in (0..execution.steps.len()).rev() {
            let taken = execution.steps[depth].transition();
            let node = &self.search.path[depth];
            let next = node.options.iter().skip_while(|o| o.0 != taken).nth(1);
            let Some(&(next, cost)) = next else { continue };
            if node.spent + cost > self.search.level {
                self.search.cut_off = true;
                continue;
            }
            self.prefix.truncate(depth);
            for s in &execution.steps[self.prefix.len()..depth] {
                self.prefix.push(Planned { transition: s.transition(), op: Some(s.op) });
            }
            self.prefix.push(Planned { transition: next, op: None });
            return;
        }
        if self.search.cut_off && self.search.level < self.search.bound.most() {
            // The next iteration goes through everything again with one more to spend.
            self.search.level += 1;
            self.search.cut_off = false;
            self.search.seen.clear();
            self.prefix.clear();
        } else {
            self.finished = true;
        }
    }

    fn restart(&mut self) {
        *self = Self::new(self.search.bound);
    }

    fn coverage(&self) -> Coverage {
        if self.search.cut_off { Coverage::Bound } else { Coverage::Everything }
    }
}
