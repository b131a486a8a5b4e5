//! Adding to the tree what workers find to be done in states that they share with others.

use super::{Frontier, Rule, Status};
use crate::frontier::Item;
use crate::wakeup::{Items, Left};
use alloc::vec::Vec;
use ordain_model::{Access, Footprint, Operation, Transition};

impl Items for &[Item] {
    fn len(&self) -> usize {
        <[Item]>::len(self)
    }

    fn item(&self, i: usize) -> (Transition, &[Access]) {
        (self[i].transition, &self[i].footprint)
    }

    fn op(&self, i: usize) -> Operation {
        self[i].op
    }

    fn left(&self, i: usize) -> Option<u64> {
        self[i].left
    }
}

impl Frontier {
    /// Adds what was found to be done from a state by whoever took this way from it, and knows the ways before that one.
    pub(in crate::frontier) fn add(&mut self, taken: u32, items: &impl Items) {
        match self.rule {
            Rule::Optimal => self.insert(taken, items),
            Rule::Source => {
                if items.len() > 0 && !self.has_one_of(taken, items) {
                    let footprint = Footprint::from_slice(items.item(0).1);
                    self.push_item(self.node(taken).parent, items, 0, footprint, Status::Pending);
                }
            }
        }
    }

    /// Whether this way from a state, or one that comes after it, begins with one of the items.
    fn has_one_of(&self, taken: u32, items: &impl Items) -> bool {
        let is_there = |t: Transition| (0..items.len()).any(|i| items.item(i).0 == t);
        self.list(taken).any(|way| is_there(self.node(way).transition))
    }

    fn insert(&mut self, taken: u32, items: &impl Items) {
        let mut left = core::mem::take(&mut self.left);
        if let Some(end) = self.walk(taken, items, &mut left) {
            let mut at = end;
            let mut places = left.places().peekable();
            while let Some(i) = places.next() {
                let last = places.peek().is_none();
                let status = if last { Status::Pending } else { Status::Interior };
                at = self.push_item(at, items, i, left.footprint(i, items), status);
            }
        }
        self.left = left;
    }

    /// Goes as far as the tree and the items agree, beginning with the ways that come after one from the same state, and tells what is left then;
    /// `None` if the tree covers them.
    fn walk(&self, taken: u32, items: &impl Items, left: &mut Left) -> Option<u32> {
        left.reset(items.len());
        let (mut at, mut way) = (self.node(taken).parent, self.node(taken).next);
        while let Some(node) = self.nodes.get(way as usize) {
            let Some(place) = left.begins_with(node.transition, &node.footprint, items) else {
                way = node.next;
                continue;
            };
            if node.status != Status::Interior || node.root {
                return None;
            }
            left.pass(place, node.op.as_ref(), &node.footprint);
            (at, way) = (way, node.first);
        }
        Some(at)
    }

    fn push_item(&mut self, parent: u32, items: &impl Items, i: usize, footprint: Footprint, status: Status) -> u32 {
        self.push(parent, items.item(i).0, footprint, Some(items.op(i)), status)
    }
}

/// What workers on threads of the same process ask.
impl Frontier {
    /// The ways that are taken to a root of a lease, from the first state on; false if nobody has the lease.
    pub(in crate::frontier) fn ways(&self, lease: u64, root: u32, out: &mut Vec<u32>) -> bool {
        out.clear();
        let Some(leaf) = self.leases.get(&lease).and_then(|leaves| leaves.get(root as usize)) else { return false };
        let mut at = *leaf;
        while at != super::ROOT {
            out.push(at);
            at = self.node(at).parent;
        }
        out.reverse();
        true
    }

    /// The transitions of the ways that come after one from the same state.
    pub(in crate::frontier) fn later(&self, taken: u32) -> impl Iterator<Item = Transition> + '_ {
        self.list(self.node(taken).next).map(|way| self.node(way).transition)
    }

    /// Whether [`Self::add`] would change nothing.
    pub(in crate::frontier) fn covers(&self, taken: u32, items: &impl Items, left: &mut Left) -> bool {
        match self.rule {
            Rule::Optimal => self.walk(taken, items, left).is_none_or(|_| left.places().next().is_none()),
            Rule::Source => self.has_one_of(taken, items),
        }
    }
}
