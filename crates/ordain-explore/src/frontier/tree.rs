//! The frontier: the tree of what is planned, who has which part of it, and what is done.

mod add;

use super::{Explored, Found, Fragment, Part, Twig};
use crate::wakeup::Left;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec;
use alloc::vec::Vec;
use ordain_model::{Footprint, Operation, Site, ThreadId, Transition};

/// How what was found is added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Rule {
    /// Sequences, as in wakeup trees.
    Optimal,
    /// One of several transitions, as in backtrack sets.
    Source,
}

/// What a node of the tree is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
enum Status {
    /// A state that several fragments share.
    Interior,
    /// A leaf that waits for a worker.
    Pending,
    /// A leaf that a worker has.
    Busy,
    /// Everything behind it is explored, and nothing can be added.
    Done,
}

/// A transition that is planned, and the state after it.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct Node {
    transition: Transition,
    op: Option<Operation>,
    footprint: Footprint,
    /// Whether the node was a leaf when its exploration began: then what is behind it covers every sequence that leads there.
    root: bool,
    status: Status,
    parent: u32,
    /// How many transitions come before the state after it.
    depth: u32,
    /// The first and the last way from the state.
    first: u32,
    last: u32,
    /// The way that comes after this one from the same state.
    next: u32,
    /// Leaves that wait, behind it and itself.
    waiting: u32,
    /// What is left behind a leaf that was begun.
    rest: Option<Vec<Twig>>,
}

const ROOT: u32 = 0;
const NOBODY: u32 = u32::MAX;

/// A fragment for a worker.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Assignment {
    /// By which its result is known.
    pub lease: u64,
    /// What to explore.
    pub fragment: Fragment,
    /// The long loops that must be known for that.
    pub loops: Vec<Site>,
}

/// What is left of a search, and who has it.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Frontier {
    rule: Rule,
    nodes: Vec<Node>,
    free: Vec<u32>,
    /// Leaves that wait and that can be split, by depth.
    splittable: BTreeSet<(u32, u32)>,
    /// The leaves of each lease, in order.
    leases: BTreeMap<u64, Vec<u32>>,
    next_lease: u64,
    /// A planned step has touched other things than was thought, as it does when the program crashes behind it. What sleeps in a divided
    /// search rests on such thoughts, so from then on one worker explores everything.
    undivided: bool,
    /// Loops that are known to be long. What is explored rests on it.
    loops: Vec<Site>,
    /// Nodes in use after the tree was last pruned.
    pruned: usize,
    /// Most nodes at a time.
    most: usize,
    restarts: u32,
    /// Scratch memory.
    #[cfg_attr(feature = "serde", serde(skip))]
    left: Left,
}

/// What came of accepting a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accepted {
    /// It counts.
    Counts,
    /// Nobody has this lease: the result came twice, or too late. It does not count.
    Stale,
    /// Something was wrong that everything explored so far may rest on: the search has begun again, and nothing that was accepted before
    /// counts.
    Restarted,
    /// It cannot be the result of this lease.
    Malformed,
}

impl Frontier {
    /// Nothing is explored.
    pub fn new(rule: Rule) -> Self {
        let mut frontier = Self {
            rule,
            nodes: Vec::new(),
            free: Vec::new(),
            splittable: BTreeSet::new(),
            leases: BTreeMap::new(),
            next_lease: 1,
            undivided: false,
            loops: Vec::new(),
            pruned: 0,
            most: 1,
            restarts: 0,
            left: Left::default(),
        };
        frontier.plant();
        frontier
    }

    fn plant(&mut self) {
        self.nodes.clear();
        self.free.clear();
        self.splittable.clear();
        self.leases.clear();
        self.pruned = 0;
        self.nodes.push(Node {
            transition: Transition::first(ThreadId::MAIN),
            op: None,
            footprint: Footprint::new(),
            root: true,
            status: Status::Pending,
            parent: NOBODY,
            depth: 0,
            first: NOBODY,
            last: NOBODY,
            next: NOBODY,
            waiting: 1,
            rest: None,
        });
    }

    /// Begins again. Leases that are out become stale.
    pub fn restart(&mut self) {
        self.restarts += 1;
        self.plant();
    }

    /// Whether everything is explored.
    pub fn is_finished(&self) -> bool {
        self.waiting() == 0 && self.leases.is_empty()
    }

    /// Leaves that wait for a worker.
    pub fn waiting(&self) -> usize {
        self.nodes[ROOT as usize].waiting as usize
    }

    /// Fragments that workers have.
    pub fn assigned(&self) -> usize {
        self.leases.len()
    }

    /// Nodes of the tree, now and at most.
    pub fn size(&self) -> (usize, usize) {
        (self.nodes.len() - self.free.len(), self.most)
    }

    /// How often the search has begun again.
    pub fn restarts(&self) -> u32 {
        self.restarts
    }

    /// Before anything is explored: takes over what the first result rests on, so that it counts.
    pub(super) fn expect(&mut self, first: &Explored) {
        self.undivided = first.mistaken;
        self.loops.clone_from(&first.loops);
    }

    /// Whether its parts fit together: for one that was kept as bytes.
    pub(super) fn is_intact(&self) -> bool {
        let len = self.nodes.len();
        let mut reached = 1;
        let mut stack = vec![ROOT];
        let mut leaves = 0;
        while let Some(at) = stack.pop() {
            let Some(above) = self.nodes.get(at as usize) else { return false };
            leaves += u32::from(above.status == Status::Pending);
            let (mut child, mut last) = (above.first, NOBODY);
            while child != NOBODY {
                let Some(node) = self.nodes.get(child as usize) else { return false };
                reached += 1;
                if reached > len || node.parent != at || Some(node.depth) != above.depth.checked_add(1) {
                    return false;
                }
                stack.push(child);
                (child, last) = (node.next, child);
            }
            if above.last != last {
                return false;
            }
        }
        let busy = |leaf: &u32| self.nodes.get(*leaf as usize).is_some_and(|n| n.status == Status::Busy);
        let splittable = |depth: u32, leaf: u32| {
            let node = self.nodes.get(leaf as usize);
            node.is_some_and(|n| n.status == Status::Pending && n.depth == depth && n.rest.is_some())
        };
        self.nodes[ROOT as usize].parent == NOBODY
            && leaves == self.nodes[ROOT as usize].waiting
            && reached + self.free.len() == len
            && self.free.iter().all(|f| (*f as usize) < len)
            && self.leases.values().flatten().all(busy)
            && self.splittable.iter().all(|(depth, leaf)| splittable(*depth, *leaf))
    }

    /// Whether a lease is out.
    pub(super) fn has_lease(&self, lease: u64) -> bool {
        self.leases.contains_key(&lease)
    }

    /// Releases everything, and gives leases from now on that nobody has had.
    pub(super) fn take_over(&mut self) {
        self.release_all();
        self.next_lease = ((self.next_lease >> 32) + 1) << 32;
    }

    /// The leases that are out.
    pub(super) fn leases(&self) -> impl Iterator<Item = u64> + '_ {
        self.leases.keys().copied()
    }

    fn node(&self, node: u32) -> &Node {
        &self.nodes[node as usize]
    }

    fn node_mut(&mut self, node: u32) -> &mut Node {
        &mut self.nodes[node as usize]
    }

    /// A way from a state, and those that come after it.
    fn list(&self, from: u32) -> impl Iterator<Item = u32> + '_ {
        let mut at = from;
        core::iter::from_fn(move || {
            let way = self.nodes.get(at as usize)?;
            Some(core::mem::replace(&mut at, way.next))
        })
    }

    fn set_status(&mut self, node: u32, status: Status) {
        let was = core::mem::replace(&mut self.node_mut(node).status, status);
        match (was == Status::Pending, status == Status::Pending) {
            (false, true) => {
                self.count(node, 1);
                self.index(node);
            }
            (true, false) => {
                self.count(node, -1);
                self.splittable.remove(&(self.node(node).depth, node));
            }
            _ => {}
        }
    }

    /// Notes if a leaf that waits can be split.
    fn index(&mut self, leaf: u32) {
        let node = self.node(leaf);
        if node.rest.as_ref().is_some_and(|r| leaves_of(r) > 1) {
            let key = (node.depth, leaf);
            self.splittable.insert(key);
        }
    }

    fn count(&mut self, node: u32, by: i32) {
        let mut at = node;
        while at != NOBODY {
            let node = self.node_mut(at);
            node.waiting = node.waiting.wrapping_add_signed(by);
            at = node.parent;
        }
    }

    fn push(
        &mut self,
        parent: u32,
        transition: Transition,
        footprint: Footprint,
        op: Option<Operation>,
        status: Status,
    ) -> u32 {
        let leaf = status == Status::Pending;
        let node = Node {
            transition,
            op,
            footprint,
            root: leaf,
            status: if leaf { Status::Interior } else { status },
            parent,
            depth: self.node(parent).depth + 1,
            first: NOBODY,
            last: NOBODY,
            next: NOBODY,
            waiting: 0,
            rest: None,
        };
        let place = match self.free.pop() {
            Some(place) => {
                self.nodes[place as usize] = node;
                place
            }
            None => {
                self.nodes.push(node);
                self.nodes.len() as u32 - 1
            }
        };
        match core::mem::replace(&mut self.node_mut(parent).last, place) {
            NOBODY => self.node_mut(parent).first = place,
            last => self.node_mut(last).next = place,
        }
        if leaf {
            self.set_status(place, Status::Pending);
        }
        self.most = self.most.max(self.nodes.len() - self.free.len());
        place
    }

    /// A fragment for one of so many workers, of at most so many leaves; `None` if nothing can be given away now.
    pub fn assign(&mut self, workers: usize, most: usize) -> Option<Assignment> {
        let wanted = if workers > 1 && !self.undivided { 2 * workers } else { 1 };
        while self.waiting() + self.leases.len() < wanted {
            let Some((_, leaf)) = self.splittable.first().copied() else { break };
            self.split(leaf);
        }
        let leaves = self.collect((self.waiting() / wanted).clamp(1, most.max(1)));
        if leaves.is_empty() {
            return None;
        }
        let fragment = self.fragment(&leaves);
        for leaf in &leaves {
            self.set_status(*leaf, Status::Busy);
        }
        let lease = self.next_lease;
        self.next_lease += 1;
        self.leases.insert(lease, leaves);
        Some(Assignment { lease, fragment, loops: self.loops.clone() })
    }

    /// Nothing is explored yet, and these long loops are known.
    pub(super) fn know_loops(&mut self, loops: &[Site]) {
        self.loops = loops.to_vec();
    }

    /// The long loops that are known.
    pub(super) fn loops(&self) -> &[Site] {
        &self.loops
    }

    /// The first leaves that wait, in order.
    fn collect(&self, most: usize) -> Vec<u32> {
        let mut leaves = Vec::new();
        let mut stack = vec![ROOT];
        while let Some(at) = stack.pop() {
            let node = self.node(at);
            if node.status == Status::Pending {
                leaves.push(at);
                if leaves.len() == most {
                    break;
                }
                continue;
            }
            let first = stack.len();
            stack.extend(self.list(node.first).filter(|child| self.node(*child).waiting > 0));
            stack[first..].reverse();
        }
        leaves
    }

    /// Makes leaves of the ways that are planned from the first state behind a leaf that has more than one.
    fn split(&mut self, leaf: u32) {
        self.set_status(leaf, Status::Interior);
        let Some(rest) = self.node_mut(leaf).rest.take() else { return };
        let level = split_level(&rest);
        // Where the way that is taken next leads, if it was reached.
        let mut next = None;
        // The last node at each depth.
        let mut last: Vec<u32> = Vec::new();
        for (i, twig) in rest.iter().enumerate() {
            let depth = twig.depth as usize;
            if let Some((_, _, until)) = next
                && i < until
            {
                continue;
            }
            last.truncate(depth);
            let parent = last.last().copied().unwrap_or(leaf);
            let (transition, footprint) = (twig.transition, twig.footprint.clone());
            if twig.part == Part::Elsewhere {
                let node = self.push(parent, transition, footprint, twig.op, Status::Done);
                last.push(node);
                continue;
            }
            let behind = rest[i + 1..].iter().take_while(|t| t.depth > twig.depth).count();
            let is_leaf = behind == 0;
            if next.is_none() && twig.depth < level {
                let node = self.push(parent, transition, footprint, twig.op, Status::Interior);
                self.node_mut(node).root = true;
                last.push(node);
                continue;
            }
            if next.is_none() {
                // The way that is taken next: one worker goes on with what is behind it.
                let node = self.push(parent, transition, footprint, twig.op, Status::Pending);
                next = Some((node, i + 1, i + 1 + behind));
                last.push(node);
                continue;
            }
            let node = self.push(
                parent,
                transition,
                footprint,
                twig.op,
                if is_leaf { Status::Pending } else { Status::Interior },
            );
            last.push(node);
        }
        if let Some((node, from, until)) = next {
            let base = self.node(node).depth - self.node(leaf).depth;
            let rest = rest[from..until].iter().map(|t| Twig { depth: t.depth - base, ..t.clone() });
            let rest: Vec<Twig> = rest.collect();
            if !rest.is_empty() {
                self.node_mut(node).rest = Some(rest);
                self.index(node);
            }
        }
    }

    /// What a worker needs to know to explore some leaves.
    fn fragment(&self, leaves: &[u32]) -> Fragment {
        let mut twigs = Vec::new();
        let mut path: Vec<u32> = Vec::new();
        for leaf in leaves {
            let old = core::mem::take(&mut path);
            let mut at = *leaf;
            while at != ROOT {
                path.push(at);
                at = self.node(at).parent;
            }
            path.reverse();
            let common = old.iter().zip(&path).take_while(|(a, b)| a == b).count();
            for depth in common..path.len() {
                let parent = if depth == 0 { ROOT } else { path[depth - 1] };
                let mut sibling = match old.get(depth).filter(|_| depth == common) {
                    Some(before) => self.node(*before).next,
                    None => self.node(parent).first,
                };
                while sibling != path[depth] {
                    twigs.push(self.twig(sibling, Part::Elsewhere));
                    sibling = self.node(sibling).next;
                }
                let part = if path[depth] == *leaf { Part::Root } else { Part::Shared };
                twigs.push(self.twig(path[depth], part));
            }
            let rest = self.node(*leaf).rest.iter().flatten();
            twigs.extend(rest.map(|t| Twig { depth: t.depth + path.len() as u32, ..t.clone() }));
        }
        Fragment { twigs }
    }

    fn twig(&self, node: u32, part: Part) -> Twig {
        let node = self.node(node);
        let (transition, op, footprint) = (node.transition, node.op, node.footprint.clone());
        Twig { transition, op, footprint, part, depth: node.depth - 1 }
    }

    /// The worker that has this lease is gone, or does not want it.
    pub fn release(&mut self, lease: u64) -> bool {
        let Some(leaves) = self.leases.remove(&lease) else { return false };
        for leaf in leaves {
            self.set_status(leaf, Status::Pending);
        }
        true
    }

    /// Releases everything that workers have: after a restart of whoever keeps the frontier.
    pub fn release_all(&mut self) {
        let leases: Vec<u64> = self.leases.keys().copied().collect();
        for lease in leases {
            self.release(lease);
        }
    }

    /// The node on the way to a leaf after `depth` transitions.
    fn ancestor(&self, leaf: u32, depth: u32) -> u32 {
        let mut at = leaf;
        while self.node(at).depth > depth {
            at = self.node(at).parent;
        }
        at
    }

    /// Takes in what has become of a fragment. Whoever has learned of a long loop tells so, whatever else became of it.
    pub fn accept(&mut self, lease: u64, explored: Explored) -> Accepted {
        let known = self.loops.len();
        for site in &explored.loops {
            if !self.loops.contains(site) {
                self.loops.push(*site);
            }
        }
        let learned = self.loops.len() > known;
        // Who knew other loops was bound to touch other things than was thought.
        let mistaken = explored.mistaken && !learned && explored.loops.len() == known && !self.undivided;
        if learned || mistaken {
            self.undivided |= mistaken;
            self.restart();
            return Accepted::Restarted;
        }
        let Some(leaves) = self.leases.get(&lease) else { return Accepted::Stale };
        if explored.loops.len() < known || !is_sound(&explored, leaves, &self.nodes) {
            self.release(lease);
            return Accepted::Malformed;
        }
        let Some(leaves) = self.leases.remove(&lease) else { return Accepted::Stale };
        let Explored { finished, rest, found, loops: _, mistaken: _ } = explored;
        let finished = finished as usize;
        for found in found {
            let taken = self.ancestor(leaves[found.root as usize], found.depth + 1);
            self.add(taken, &found.items.as_slice());
        }
        if let (Some(rest), Some(leaf)) = (rest, leaves.get(finished)) {
            self.node_mut(*leaf).rest = Some(rest);
        }
        for (i, leaf) in leaves.iter().enumerate() {
            if i < finished {
                self.node_mut(*leaf).rest = None;
                self.set_status(*leaf, Status::Done);
            } else {
                self.set_status(*leaf, Status::Pending);
            }
        }
        if self.nodes.len() - self.free.len() > 2 * self.pruned + 64 {
            self.prune();
        }
        Accepted::Counts
    }

    /// Forgets what is behind states to which nothing can be added any more: all ways from them are explored, and so are all ways that
    /// come before them.
    fn prune(&mut self) {
        struct Frame {
            node: u32,
            /// The way from it that comes next.
            next: u32,
            /// Whether nothing can be added from elsewhere.
            complete: bool,
            done: bool,
        }
        let first = self.node(ROOT).first;
        let mut stack = vec![Frame { node: ROOT, next: first, complete: true, done: true }];
        while let Some(frame) = stack.last_mut() {
            if let Some(child) = self.nodes.get(frame.next as usize) {
                let node = core::mem::replace(&mut frame.next, child.next);
                match child.status {
                    Status::Done => {}
                    Status::Pending | Status::Busy => frame.done = false,
                    Status::Interior => {
                        let complete = child.root || frame.complete && frame.done;
                        stack.push(Frame { node, next: child.first, complete, done: true });
                    }
                }
                continue;
            }
            let at = frame.node;
            let done = frame.done && frame.complete && self.node(at).first != NOBODY;
            stack.pop();
            if done {
                let mut child = self.node(at).first;
                while child != NOBODY {
                    self.free.push(child);
                    child = self.node(child).next;
                }
                let node = self.node_mut(at);
                (node.first, node.last, node.status) = (NOBODY, NOBODY, Status::Done);
            } else if let Some(above) = stack.last_mut() {
                above.done = false;
            }
        }
        self.pruned = self.nodes.len() - self.free.len();
    }
}

/// How many sequences are planned in some twigs.
fn leaves_of(twigs: &[Twig]) -> usize {
    let is_leaf = |i: usize| twigs.get(i + 1).is_none_or(|next| next.depth <= twigs[i].depth);
    (0..twigs.len()).filter(|&i| twigs[i].part != Part::Elsewhere && is_leaf(i)).count()
}

/// The first depth at which more than one way is planned.
fn split_level(twigs: &[Twig]) -> u32 {
    let is_leaf = |i: &usize| twigs.get(i + 1).is_none_or(|next| next.depth <= twigs[*i].depth);
    let path_end = (0..twigs.len()).find(|i| twigs[*i].part != Part::Elsewhere && is_leaf(i));
    let behind = path_end.map_or(&[] as &[Twig], |end| &twigs[end + 1..]);
    behind.iter().map(|t| t.depth).min().unwrap_or(0)
}

/// Whether this can be the result of these leaves.
fn is_sound(explored: &Explored, leaves: &[u32], nodes: &[Node]) -> bool {
    let depth_of = |root: u32| leaves.get(root as usize).map(|leaf| nodes[*leaf as usize].depth);
    let found = |f: &Found| depth_of(f.root).is_some_and(|depth| f.depth < depth) && !f.items.is_empty();
    let rest = |twigs: &Vec<Twig>| {
        let mut deepest = 0;
        let fits = |twig: &Twig| {
            let fits = twig.depth <= deepest && matches!(twig.part, Part::Inner | Part::Elsewhere);
            deepest = twig.depth + u32::from(twig.part == Part::Inner);
            fits
        };
        !twigs.is_empty() && twigs.iter().all(fits)
    };
    explored.finished as usize <= leaves.len()
        && explored.found.iter().all(found)
        && explored.rest.as_ref().is_none_or(|r| (explored.finished as usize) < leaves.len() && rest(r))
}
