//! Depth-first search with sleep sets and trees of what is planned: what optimal and source search have in common.
//!
//! Each state on the current path has a list of trees: ways to take from it, some of several steps. The [`Method`] says what a reversed
//! race adds to them. A search may be a part of a larger one: then it begins with a fragment, and tells what is to be done in states that
//! it shares with others.

use crate::estimate::Path;
use crate::fingerprint::mix;
use crate::frontier::{Connection, Explored, Found, Fragment, Item, Part, Twig};
use crate::hash::Spread;
use crate::plan::{Plan, Planned, Policy};
use crate::reversal::{Reversals, Sequence, Which};
use crate::search::Stop;
use crate::wakeup::{Head, Items, NO_TREE, Sleeper, Trees};
use alloc::vec::Vec;
use core::hash::BuildHasherDefault;
use hashbrown::HashSet;
use ordain_model::{Access, Execution, Footprint, HappensBefore, Transition};

/// A state on the current path.
struct Node {
    sleep: Vec<Sleeper>,
    /// How many of the sleepers were asleep before this state.
    inherited: usize,
    /// Ways from here that come before the one taken, and that others explore; they join the sleepers.
    early: Vec<Sleeper>,
    tree: Head,
    /// What ways begin with that others have, in a state that is shared with them, as far as it is known.
    others: Vec<Transition>,
}

impl Node {
    fn new() -> Self {
        Self { sleep: Vec::new(), inherited: 0, early: Vec::new(), tree: NO_TREE, others: Vec::new() }
    }
}

/// What matters only if the search is a part of a larger one.
#[derive(Default)]
struct Share {
    /// States with fewer steps before them are shared with others.
    floor: usize,
    /// Roots that are explored.
    finished: u32,
    /// Whether the present root was begun.
    begun: bool,
    found: Vec<Found>,
    /// Hashes of what was considered, so that nothing is told twice.
    told: HashSet<u128, BuildHasherDefault<Spread>>,
    /// To whom it is told at once.
    connection: Option<Connection>,
}

/// Something that was considered at a state.
#[derive(Clone, Copy)]
enum Considered {
    /// A reversal.
    Reversal,
    /// What would be told of it.
    Message,
}

/// How a search plans.
pub(super) trait Method: Default {
    /// Which reversals it needs.
    const WHICH: Which;
    /// Who decides behind what is planned.
    type Policy: Policy + Default;
    /// Plans what a reversal asks for, in the trees of a state, unless that is covered. `taken` is the way that was taken.
    fn plan(trees: &mut Trees, tree: &mut Head, taken: Transition, sequence: &Sequence<'_>, order: &HappensBefore);
    /// Whether the ways that are known from a state cover what a reversal asks for.
    fn is_planned(
        trees: &mut Trees,
        tree: Head,
        taken: Transition,
        sequence: &Sequence<'_>,
        order: &HappensBefore,
    ) -> bool;
    /// Whether a sleeper covers it.
    fn is_asleep(sleep: &[Sleeper], sequence: &Sequence<'_>, order: &HappensBefore) -> bool;
    /// Whether a reversal is told as it is.
    const WHOLE: bool;
    /// Whether a way that begins with one of these covers it.
    fn is_begun(others: &[Transition], sequence: &Sequence<'_>, order: &HappensBefore) -> bool;
    /// What to tell of a reversal.
    fn told<'a>(sequence: &Sequence<'a>, order: &HappensBefore) -> impl Items + 'a;
    /// Called before an execution: the sleepers of the state after `kept` steps, and those that come later, by depth.
    fn prepare(
        policy: &mut Self::Policy,
        kept: usize,
        sleep: &[Sleeper],
        later: &mut dyn Iterator<Item = (usize, &Sleeper)>,
    );
    /// From which depth on the last execution was in vain, if it was.
    fn in_vain(_policy: &Self::Policy) -> Option<usize> {
        None
    }
}

/// The search.
pub(super) struct Reducing<M: Method> {
    prefix: Vec<Planned>,
    /// How many steps of the prefix the next execution shares with the last one.
    kept: usize,
    /// What the steps behind them are expected to touch.
    expected: Vec<Footprint>,
    /// What the last execution did behind them.
    replaced: Option<Planned>,
    nodes: Vec<Node>,
    trees: Trees,
    order: HappensBefore,
    reversals: Reversals,
    policy: M::Policy,
    finished: bool,
    redundant: u64,
    /// Whether a planned step touched other things than was thought.
    surprised: bool,
    share: Share,
}

impl<M: Method> Default for Reducing<M> {
    fn default() -> Self {
        Self {
            prefix: Vec::new(),
            kept: 0,
            expected: Vec::new(),
            replaced: None,
            nodes: Vec::new(),
            trees: Trees::default(),
            order: HappensBefore::default(),
            reversals: Reversals::default(),
            policy: M::Policy::default(),
            finished: false,
            redundant: 0,
            surprised: false,
            share: Share::default(),
        }
    }
}

impl<M: Method> Reducing<M> {
    /// Executions that took a transition which was asleep. Always zero; counted so that it can be checked.
    pub(super) fn redundant(&self) -> u64 {
        self.redundant
    }

    /// Whether nothing is left to run.
    pub(super) fn is_finished(&self) -> bool {
        self.finished
    }

    fn reach(&mut self, depth: usize) {
        while self.nodes.len() <= depth {
            self.nodes.push(Node::new());
        }
    }

    /// Fills in the sleep sets of the states behind the kept prefix.
    fn follow(&mut self, execution: &Execution) {
        let len = execution.steps.len();
        self.reach(len);
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
            next.inherited = next.sleep.len();
            if step >= self.prefix.len() {
                next.tree = NO_TREE;
            } else if !next.early.is_empty() {
                next.sleep.append(&mut next.early);
            }
        }
        self.redundant += u64::from(!awake && M::in_vain(&self.policy).is_none());
        self.compare(execution);
        self.share.begun = true;
    }

    /// Notes if planned steps touch other things than was thought.
    fn compare(&mut self, execution: &Execution) {
        let planned = self.expected.iter().enumerate().take(execution.steps.len() - self.kept);
        let mut differ = planned.filter(|(i, expected)| !is_same(execution.footprint(self.kept + i), expected));
        self.surprised |= differ.next().is_some();
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
            self.replaced = Some(Planned { transition, op: Some(execution.steps[depth].op) });
            let known = self.prefix.len().min(depth);
            self.prefix.truncate(known);
            for s in &execution.steps[known..depth] {
                self.prefix.push(Planned { transition: s.transition(), op: Some(s.op) });
            }
            self.descend(depth);
            return;
        }
        self.share.finished += u32::from(self.share.begun);
        self.share.begun = false;
        self.finished = true;
    }

    /// Plans the first sequence of the trees of a state.
    fn descend(&mut self, depth: usize) {
        self.kept = depth;
        self.expected.clear();
        if depth < self.share.floor {
            self.share.finished += u32::from(self.share.begun);
            self.share.begun = false;
        }
        let mut at = depth;
        while let Some(taken) = self.trees.take_first(&mut self.nodes[at].tree) {
            if taken.part == Part::Elsewhere {
                let early = Sleeper { transition: taken.transition, footprint: taken.footprint };
                self.nodes[at].early.push(early);
                continue;
            }
            self.prefix.push(Planned { transition: taken.transition, op: taken.op });
            self.expected.push(taken.footprint);
            at += 1;
            self.reach(at);
            self.nodes[at].tree = taken.children;
            self.nodes[at].early.clear();
            self.nodes[at].others.clear();
            if taken.part == Part::Root {
                self.share.floor = at;
            }
        }
        let node = &mut self.nodes[depth];
        node.sleep.append(&mut node.early);
    }
}

/// Whether two footprints have the same accesses. Those of a thread that spins are in the order in which it watched them.
fn is_same(a: &[Access], b: &[Access]) -> bool {
    let within = |a: &[Access], b: &[Access]| a.iter().all(|access| b.contains(access));
    a == b || within(a, b) && within(b, a)
}

impl Share {
    /// Takes in what the next to be told comes from.
    fn follow(&mut self, execution: &Execution, kept: usize) {
        if let Some(connection) = &mut self.connection {
            connection.follow(execution, kept);
        }
    }

    /// Whether what it tells is compared at once with everything that is planned.
    fn is_connected(&self) -> bool {
        self.connection.is_some()
    }

    /// Looks what others have planned from a state of which was just told.
    fn see_others(&self, at: usize, others: &mut Vec<Transition>) {
        if let Some(connection) = &self.connection {
            connection.later(self.finished, at as u32, others);
        }
    }

    /// Tells what is to be done from a state shared with others, unless that is told already.
    fn tell(&mut self, at: usize, items: &impl Items) {
        let (root, depth) = (self.finished, at as u32);
        if let Some(connection) = &mut self.connection
            && connection.tell(root, depth, items)
        {
            return;
        }
        if self.is_new(Considered::Message, at, items) {
            let items = (0..items.len()).map(|i| {
                let (transition, footprint) = items.item(i);
                Item { transition, op: items.op(i), footprint: Footprint::from_slice(footprint), left: items.left(i) }
            });
            self.found.push(Found { root, depth, items: items.collect() });
        }
    }

    /// Notes that something was considered at a state; false if it had been.
    fn is_new(&mut self, what: Considered, at: usize, items: &impl Items) -> bool {
        let mut key = u128::from(self.finished) << 64 | (at as u128) << 1 | what as u128;
        for i in 0..items.len() {
            let Transition { thread, choice } = items.item(i).0;
            key = mix(key, u128::from(thread.0) << 32 | u128::from(choice));
        }
        self.told.insert(key)
    }
}

impl<M: Method> Reducing<M> {
    pub(super) fn plan(&mut self) -> Option<Plan<'_>> {
        if self.finished {
            return None;
        }
        let ahead = self.nodes.iter().enumerate().take(self.prefix.len() + 1).skip(self.kept + 1);
        let mut later = ahead.flat_map(|(depth, node)| node.early.iter().map(move |s| (depth, s)));
        let sleep = self.nodes.get(self.kept).map_or(&[] as &[Sleeper], |n| &n.sleep);
        M::prepare(&mut self.policy, self.kept, sleep, &mut later);
        let plan = Plan::new(&self.prefix, &mut self.policy);
        Some(match self.replaced {
            Some(replaced) => plan.knowing(self.kept, replaced),
            None => plan,
        })
    }

    pub(super) fn learn(&mut self, execution: &Execution) {
        if execution.steps.len() < self.kept {
            // It broke off before it came to what is new. Whoever ran it knows why, and goes no further.
            return;
        }
        self.follow(execution);
        self.order.update(execution, self.kept);
        self.share.follow(execution, self.kept);
        let horizon = M::in_vain(&self.policy).unwrap_or(usize::MAX);
        let (nodes, trees, share, order) = (&mut self.nodes, &mut self.trees, &mut self.share, &self.order);
        self.reversals.each(execution, order, self.kept, horizon, M::WHICH, &mut |at, sequence| {
            let node = &mut nodes[at];
            if M::is_asleep(&node.sleep, sequence, order) {
                return;
            }
            let taken = execution.steps[at].transition();
            if at >= share.floor {
                M::plan(trees, &mut node.tree, taken, sequence, order);
            } else if M::WHOLE && share.is_connected() {
                // Asking is as cheap as remembering.
                share.tell(at, sequence);
            } else if !M::is_planned(trees, node.tree, taken, sequence, order)
                && !M::is_begun(&node.others, sequence, order)
                && (M::WHOLE || share.is_connected() || share.is_new(Considered::Reversal, at, sequence))
            {
                share.tell(at, &M::told(sequence, order));
                share.see_others(at, &mut node.others);
            }
        });
        if !self.reversals.is_broken_off() {
            self.backtrack(execution);
        }
    }

    /// Breaks learning off when this says so.
    pub(super) fn stop_when(&mut self, stop: Stop) {
        self.reversals.stop_when(stop);
    }

    /// Forgets what was explored.
    pub(super) fn restart(&mut self) {
        let reversals = self.reversals.renewed();
        *self = Self { reversals, ..Self::default() };
    }

    pub(super) fn path(&self) -> Option<Path<'_>> {
        if self.finished || self.nodes.is_empty() {
            return None;
        }
        let sleep = self.nodes[..=self.kept.min(self.nodes.len() - 1)].iter().map(|n| n.sleep.as_slice()).collect();
        Some(Path { prefix: &self.prefix, kept: self.kept, sleep, reduces: true, samples: 0 })
    }

    pub(super) fn scheduled(&self, depth: usize, out: &mut Vec<Transition>) {
        out.extend(self.nodes.get(depth).into_iter().flat_map(|n| self.trees.heads(n.tree)));
    }

    pub(super) fn in_vain(&self) -> bool {
        M::in_vain(&self.policy).is_some()
    }

    pub(super) fn load(&mut self, fragment: &Fragment) {
        *self = Self::default();
        self.nodes.push(Node::new());
        self.nodes[0].tree = self.trees.load(&fragment.twigs);
        self.descend(0);
    }

    pub(super) fn connect(&mut self, connection: Connection) {
        self.share.connection = Some(connection);
    }

    pub(super) fn unload(&mut self) -> Explored {
        let floor = self.share.floor;
        let mut rest = None;
        // What is left behind a root that was not begun is known to whoever gave it; the whole is nobody else's.
        let is_whole = floor == 0 && !self.prefix.is_empty();
        if (self.share.begun || is_whole) && !self.finished {
            let mut twigs = Vec::new();
            for depth in floor..self.prefix.len() {
                let node = &self.nodes[depth];
                let relative = (depth - floor) as u32;
                let asleep = if depth <= self.kept { &node.sleep[node.inherited..] } else { &node.early };
                twigs.extend(asleep.iter().map(|s| Twig {
                    transition: s.transition,
                    op: None,
                    footprint: s.footprint.clone(),
                    part: Part::Elsewhere,
                    depth: relative,
                }));
                let footprint = match depth.checked_sub(self.kept) {
                    Some(ahead) => self.expected[ahead].clone(),
                    None => self.order.footprint(depth),
                };
                let Planned { transition, op } = self.prefix[depth];
                twigs.push(Twig { transition, op, footprint, part: Part::Inner, depth: relative });
            }
            for depth in (floor..self.prefix.len()).rev() {
                self.trees.unload(self.nodes[depth].tree, depth - floor, &mut twigs);
            }
            rest = Some(twigs);
        }
        self.share.connection = None;
        let found = core::mem::take(&mut self.share.found);
        Explored { finished: self.share.finished, rest, found, mistaken: self.surprised, loops: Vec::new() }
    }
}
