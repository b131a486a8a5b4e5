//! Wakeup trees and sleep sets (Abdulla, Aronis, Jonsson and Sagonas, "Source sets: a foundation for optimal dynamic partial
//! order reduction").
//!
//! A wakeup tree holds the sequences that must be executed from a state so that known races are reversed and no run ends
//! in a state whose continuations are all covered elsewhere. Trees of all states on the current path live in one arena.

use crate::frontier::{Part, Twig};
use alloc::vec::Vec;
use ordain_model::{Access, Footprint, ObjectId, Operation, Transition, affects};

/// A sequence of transitions at their places.
pub(crate) trait Items {
    fn len(&self) -> usize;
    /// The transition and footprint of an item.
    fn item(&self, i: usize) -> (Transition, &[Access]);
    fn op(&self, i: usize) -> Operation;
    /// How many shares are left behind an item that gives one up, where it is.
    fn left(&self, i: usize) -> Option<u64>;
}

/// What a step does to the number of shares in an object. A handler may run in its place, and then it does not touch it.
fn effect(op: &Operation, footprint: &[Access]) -> Option<(ObjectId, i64)> {
    let (count, by) = match *op {
        Operation::AddShare { count, weak: false } => (count, 1),
        Operation::DropShare { count, weak: false } => (count, -1),
        _ => return None,
    };
    footprint.iter().any(|a| a.object() == count).then_some((count, by))
}

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
        self.transition.thread != step.thread && !affects(footprint, &self.footprint)
    }
}

/// What is left of a sequence on its way through a tree.
#[derive(Clone, Debug, Default)]
pub(crate) struct Left {
    gone: Vec<bool>,
    /// Everything before this place is gone.
    first: usize,
    /// What was passed that changes how many shares are left: its place in the sequence, or the sequence's length, the object, and the change.
    shares: Vec<(usize, ObjectId, i64)>,
}

impl Left {
    /// All of a sequence is left.
    pub(crate) fn reset(&mut self, len: usize) {
        self.gone.clear();
        self.gone.resize(len, false);
        self.first = 0;
        self.shares.clear();
    }

    /// The places that are left, in order.
    pub(crate) fn places(&self) -> impl DoubleEndedIterator<Item = usize> + '_ {
        self.gone[self.first..].iter().enumerate().filter(|(_, gone)| !**gone).map(|(i, _)| self.first + i)
    }

    /// A step was passed that has this place in the sequence, or the sequence's length if it is not in it.
    pub(crate) fn pass(&mut self, place: usize, op: Option<&Operation>, footprint: &[Access]) {
        if let Some(gone) = self.gone.get_mut(place) {
            *gone = true;
        }
        // Mostly a tree has the items in the same order.
        while self.gone.get(self.first).copied().unwrap_or(false) {
            self.first += 1;
        }
        if let Some((count, by)) = op.and_then(|op| effect(op, footprint)) {
            self.shares.push((place, count, by));
        }
    }

    /// The footprint that an item has behind what was passed, if it is not that which it has in the sequence.
    fn changed(&self, i: usize, sequence: &impl Items) -> Option<Footprint> {
        if self.shares.is_empty() {
            return None;
        }
        let (left, Operation::DropShare { count, .. }) = (sequence.left(i)?, sequence.op(i)) else { return None };
        // What comes before it in the sequence has been counted.
        let others = self.shares.iter().filter(|(place, object, _)| *place >= i && *object == count);
        let left = left.saturating_add_signed(others.map(|(_, _, by)| by).sum());
        let mut footprint = Footprint::from_slice(sequence.item(i).1);
        for access in footprint.iter_mut().filter(|a| a.object() == count) {
            *access = Access::give_up(count, left);
        }
        Some(footprint)
    }

    /// The footprint that an item has behind what was passed.
    pub(crate) fn footprint(&self, i: usize, sequence: &impl Items) -> Footprint {
        self.changed(i, sequence).unwrap_or_else(|| Footprint::from_slice(sequence.item(i).1))
    }

    /// Whether a transition can come first in an execution that begins with what is left, extended if need be. Gives its place, or the
    /// sequence's length.
    #[inline]
    pub(crate) fn begins_with(
        &self,
        transition: Transition,
        footprint: &[Access],
        sequence: &impl Items,
    ) -> Option<usize> {
        weak_initial(transition, footprint, sequence, self.places(), |i| self.changed(i, sequence))
    }
}

/// Whether `transition` can come first in an execution that begins with the items of `sequence` that are left, extended if need be.
/// Gives its place in the sequence, or the sequence's length. `changed` gives footprints that are not those of the sequence.
#[inline]
fn weak_initial(
    transition: Transition,
    footprint: &[Access],
    sequence: &impl Items,
    left: impl Iterator<Item = usize>,
    changed: impl Fn(usize) -> Option<Footprint>,
) -> Option<usize> {
    for i in left {
        let (other, other_footprint) = sequence.item(i);
        if other.thread == transition.thread {
            return (other == transition).then_some(i);
        }
        let affected = match changed(i) {
            Some(changed) => affects(&changed, footprint),
            None => affects(other_footprint, footprint),
        };
        if affected {
            return None;
        }
    }
    Some(sequence.len())
}

/// Whether a sleeper covers the sequence.
pub(crate) fn is_covered(sleep: &[Sleeper], sequence: &impl Items) -> bool {
    let begins = |s: &Sleeper| weak_initial(s.transition, &s.footprint, sequence, 0..sequence.len(), |_| None);
    sleep.iter().any(|s| begins(s).is_some())
}

/// A list of trees: the first child of a state, if any.
pub(crate) type Head = u32;
/// The empty list.
pub(crate) const NO_TREE: Head = u32::MAX;

/// A node of a tree.
struct Node {
    transition: Transition,
    /// What the thread announces; not known if nobody has been there.
    op: Option<Operation>,
    footprint: Footprint,
    part: Part,
    child: Head,
    sibling: Head,
}

/// The first tree of a list, taken off it.
pub(crate) struct Taken {
    pub(crate) transition: Transition,
    pub(crate) op: Option<Operation>,
    pub(crate) footprint: Footprint,
    pub(crate) part: Part,
    /// Its subtrees.
    pub(crate) children: Head,
}

/// The arena of all wakeup trees.
#[derive(Default)]
pub(crate) struct Trees {
    nodes: Vec<Node>,
    free: Vec<Head>,
    left: Left,
}

/// Where a sequence leads in a tree.
enum Walked {
    /// To a sequence that covers it.
    Covered,
    /// To the end of a list: the node above and the last node of the list.
    End(Head, Head),
    /// To where somebody else explores.
    Unknown,
}

impl Trees {
    /// Goes as far as the sequence and the tree agree; tells what is left then.
    fn walk(&self, root: Head, sequence: &impl Items, left: &mut Left) -> Walked {
        left.reset(sequence.len());
        let mut parent = NO_TREE;
        'walk: loop {
            let mut previous = NO_TREE;
            let mut at = if parent == NO_TREE { root } else { self.nodes[parent as usize].child };
            while at != NO_TREE {
                let node = &self.nodes[at as usize];
                if let Some(place) = left.begins_with(node.transition, &node.footprint, sequence) {
                    if node.part == Part::Elsewhere {
                        // What is there is not known here.
                        return Walked::Unknown;
                    }
                    if node.child == NO_TREE || node.part == Part::Root {
                        return Walked::Covered;
                    }
                    left.pass(place, node.op.as_ref(), &node.footprint);
                    parent = at;
                    continue 'walk;
                }
                previous = at;
                at = node.sibling;
            }
            return if left.places().next().is_none() { Walked::Covered } else { Walked::End(parent, previous) };
        }
    }

    /// Whether the tree covers a sequence, as far as is known here.
    pub(crate) fn covers(&mut self, root: Head, sequence: &impl Items) -> bool {
        let mut left = core::mem::take(&mut self.left);
        let walked = self.walk(root, sequence, &mut left);
        self.left = left;
        matches!(walked, Walked::Covered)
    }

    /// Inserts a sequence; false if the tree covers it already.
    pub(crate) fn insert(&mut self, root: &mut Head, sequence: &impl Items) -> bool {
        let mut left = core::mem::take(&mut self.left);
        let inserted = match self.walk(*root, sequence, &mut left) {
            Walked::Covered | Walked::Unknown => false,
            Walked::End(parent, previous) => {
                let chain = self.chain(sequence, &left);
                match (previous, parent) {
                    (NO_TREE, NO_TREE) => *root = chain,
                    (NO_TREE, parent) => self.nodes[parent as usize].child = chain,
                    (previous, _) => self.nodes[previous as usize].sibling = chain,
                }
                true
            }
        };
        self.left = left;
        inserted
    }

    fn push(&mut self, node: Node) -> Head {
        match self.free.pop() {
            Some(place) => {
                self.nodes[place as usize] = node;
                place
            }
            None => {
                self.nodes.push(node);
                self.nodes.len() as Head - 1
            }
        }
    }

    /// Makes a chain of nodes from the items that are left.
    fn chain(&mut self, sequence: &impl Items, left: &Left) -> Head {
        let mut head = NO_TREE;
        for i in left.places().rev() {
            let (transition, op) = (sequence.item(i).0, Some(sequence.op(i)));
            let footprint = left.footprint(i, sequence);
            head = self.push(Node { transition, op, footprint, part: Part::Inner, child: head, sibling: NO_TREE });
        }
        head
    }

    /// Puts the first item of a sequence at the end of a list.
    pub(crate) fn append_first(&mut self, root: &mut Head, sequence: &impl Items) {
        let (transition, footprint) = sequence.item(0);
        let (op, footprint) = (Some(sequence.op(0)), Footprint::from_slice(footprint));
        let node = Node { transition, op, footprint, part: Part::Inner, child: NO_TREE, sibling: NO_TREE };
        let place = self.push(node);
        let mut at = *root;
        if at == NO_TREE {
            *root = place;
            return;
        }
        while self.nodes[at as usize].sibling != NO_TREE {
            at = self.nodes[at as usize].sibling;
        }
        self.nodes[at as usize].sibling = place;
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
    pub(crate) fn take_first(&mut self, root: &mut Head) -> Option<Taken> {
        if *root == NO_TREE {
            return None;
        }
        let first = *root;
        let node = &mut self.nodes[first as usize];
        *root = node.sibling;
        self.free.push(first);
        Some(Taken {
            transition: node.transition,
            op: node.op,
            footprint: core::mem::take(&mut node.footprint),
            part: node.part,
            children: node.child,
        })
    }

    /// Builds the trees that twigs tell of.
    pub(crate) fn load(&mut self, twigs: &[Twig]) -> Head {
        let mut root = NO_TREE;
        // The last node at each depth.
        let mut last: Vec<Head> = Vec::new();
        for twig in twigs {
            let depth = twig.depth as usize;
            let (transition, op, footprint) = (twig.transition, twig.op, twig.footprint.clone());
            let node = self.push(Node { transition, op, footprint, part: twig.part, child: NO_TREE, sibling: NO_TREE });
            match (last.get(depth).copied(), depth.checked_sub(1).and_then(|d| last.get(d).copied())) {
                (Some(previous), _) => self.nodes[previous as usize].sibling = node,
                (None, Some(parent)) => self.nodes[parent as usize].child = node,
                (None, None) => root = node,
            }
            last.truncate(depth);
            last.push(node);
        }
        root
    }

    /// Tells the trees of a list, as twigs at a depth.
    pub(crate) fn unload(&self, root: Head, depth: usize, out: &mut Vec<Twig>) {
        let mut above: Vec<Head> = Vec::new();
        let mut at = root;
        loop {
            if at == NO_TREE {
                let Some(parent) = above.pop() else { return };
                at = self.nodes[parent as usize].sibling;
                continue;
            }
            let node = &self.nodes[at as usize];
            out.push(Twig {
                transition: node.transition,
                op: node.op,
                footprint: node.footprint.clone(),
                part: node.part,
                depth: (depth + above.len()) as u32,
            });
            above.push(at);
            at = node.child;
        }
    }
}
