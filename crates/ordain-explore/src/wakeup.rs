//! Wakeup trees and sleep sets (Abdulla, Aronis, Jonsson and Sagonas, "Source sets: a foundation for optimal dynamic partial
//! order reduction").
//!
//! A wakeup tree holds the sequences that must be executed from a state so that known races are reversed and no run ends
//! in a state whose continuations are all covered elsewhere. Trees of all states on the current path live in one arena.

use crate::reversal::Sequence;
use alloc::vec::Vec;
use ordain_model::{Access, Footprint, Operation, Transition, dependent};

/// A transition that need not be taken, because all classes that begin with it have been explored.
#[derive(Clone)]
pub(crate) struct Sleeper {
    pub(crate) transition: Transition,
    pub(crate) footprint: Footprint,
}

impl Sleeper {
    /// Whether the sleeper is still asleep after another thread's step.
    #[inline]
    pub(crate) fn survives(&self, step: Transition, footprint: &[Access]) -> bool {
        self.transition.thread != step.thread && !dependent(&self.footprint, footprint)
    }
}

/// Whether `transition` can come first in an execution that begins with `sequence`, extended if need be. `gone` marks items
/// to pass over. Gives the place of the transition in the sequence, or its length.
fn weak_initial(transition: Transition, footprint: &[Access], sequence: &Sequence<'_>, gone: &[bool]) -> Option<usize> {
    for i in 0..sequence.len() {
        if gone.get(i).copied().unwrap_or(false) {
            continue;
        }
        let (other, other_footprint) = sequence.item(i);
        if other.thread == transition.thread {
            return (other == transition).then_some(i);
        }
        if dependent(footprint, other_footprint) {
            return None;
        }
    }
    Some(sequence.len())
}

/// Whether a sleeper covers the sequence.
pub(crate) fn is_covered(sleep: &[Sleeper], sequence: &Sequence<'_>) -> bool {
    sleep.iter().any(|s| weak_initial(s.transition, &s.footprint, sequence, &[]).is_some())
}

/// A list of trees: the first child of a state, if any.
pub(crate) type Head = u32;
/// The empty list.
pub(crate) const NO_TREE: Head = u32::MAX;

struct Node {
    transition: Transition,
    op: Operation,
    footprint: Footprint,
    child: Head,
    sibling: Head,
}

/// The arena of all wakeup trees.
#[derive(Default)]
pub(crate) struct Trees {
    nodes: Vec<Node>,
    free: Vec<Head>,
    gone: Vec<bool>,
}

impl Trees {
    /// Inserts a sequence; false if the tree covers it already.
    pub(crate) fn insert(&mut self, root: &mut Head, sequence: &Sequence<'_>) -> bool {
        let mut gone = core::mem::take(&mut self.gone);
        gone.clear();
        gone.resize(sequence.len(), false);
        let mut left = sequence.len();
        let mut parent = NO_TREE;
        let inserted = 'walk: loop {
            let mut previous = NO_TREE;
            let mut at = if parent == NO_TREE { *root } else { self.nodes[parent as usize].child };
            while at != NO_TREE {
                let node = &self.nodes[at as usize];
                if let Some(place) = weak_initial(node.transition, &node.footprint, sequence, &gone) {
                    if node.child == NO_TREE {
                        break 'walk false;
                    }
                    if place < sequence.len() {
                        gone[place] = true;
                        left -= 1;
                    }
                    parent = at;
                    continue 'walk;
                }
                previous = at;
                at = node.sibling;
            }
            if left == 0 {
                break false;
            }
            let chain = self.chain(sequence, &gone);
            match (previous, parent) {
                (NO_TREE, NO_TREE) => *root = chain,
                (NO_TREE, parent) => self.nodes[parent as usize].child = chain,
                (previous, _) => self.nodes[previous as usize].sibling = chain,
            }
            break true;
        };
        self.gone = gone;
        inserted
    }

    /// Makes a chain of nodes from the items that are not gone.
    fn chain(&mut self, sequence: &Sequence<'_>, gone: &[bool]) -> Head {
        let mut head = NO_TREE;
        for i in (0..sequence.len()).rev().filter(|&i| !gone[i]) {
            let (transition, footprint) = sequence.item(i);
            let (op, footprint) = (sequence.op(i), Footprint::from_slice(footprint));
            let node = Node { transition, op, footprint, child: head, sibling: NO_TREE };
            head = match self.free.pop() {
                Some(place) => {
                    self.nodes[place as usize] = node;
                    place
                }
                None => {
                    self.nodes.push(node);
                    self.nodes.len() as Head - 1
                }
            };
        }
        head
    }

    /// The first transitions of the trees on a list.
    pub(crate) fn heads(&self, root: Head) -> impl Iterator<Item = Transition> + '_ {
        let mut at = root;
        core::iter::from_fn(move || {
            let node = self.nodes.get(at as usize)?;
            at = node.sibling;
            Some(node.transition)
        })
    }

    /// Takes the first tree off a list: its transition, operation, and the list of its subtrees.
    pub(crate) fn take_first(&mut self, root: &mut Head) -> Option<(Transition, Operation, Head)> {
        if *root == NO_TREE {
            return None;
        }
        let first = *root;
        let node = &mut self.nodes[first as usize];
        *root = node.sibling;
        self.free.push(first);
        Some((node.transition, node.op, node.child))
    }
}
