//! What groups with sleepers are worth, learned from counts before.
//!
//! Most of what makes groups of one depth differ in worth is how many sleepers wait to be woken, and by whom: one that only some far
//! step can wake is often never woken. Dropping groups at random in proportion to what they promise makes counts steadier; it
//! cannot make them wrong.

use super::numbers::{add_logs, exp};
use alloc::vec::Vec;

/// More sleepers of a kind are not told apart.
const MOST: usize = 6;
/// How many kinds of groups there are.
const KINDS: usize = (MOST + 1) * (MOST + 1);

/// The kind of a group, by its sleepers: all, and those that only a far step can wake.
pub(super) fn kind(sleepers: usize, far: usize) -> u8 {
    (sleepers.min(MOST) * (MOST + 1) + far.min(MOST)) as u8
}

/// A group that was branched from.
struct Node {
    parent: u32,
    depth: u32,
    kind: u8,
    /// Logarithms.
    weight: f64,
    worth: f64,
}

/// No group.
pub(super) const NOBODY: u32 = u32::MAX;

/// Who came from whom in one count.
#[derive(Default)]
pub(super) struct Lineage {
    nodes: Vec<Node>,
}

impl Lineage {
    /// Notes a group that is branched from.
    pub(super) fn add(&mut self, parent: u32, depth: usize, kind: u8, weight: f64) -> u32 {
        self.nodes.push(Node { parent, depth: depth as u32, kind, weight, worth: f64::NEG_INFINITY });
        self.nodes.len() as u32 - 1
    }

    /// Gives credit to the forebears of a leaf.
    pub(super) fn credit(&mut self, mut node: u32, weight: f64) {
        while node != NOBODY {
            let entry = &mut self.nodes[node as usize];
            entry.worth = add_logs(entry.worth, weight);
            node = entry.parent;
        }
    }
}

/// What kinds of groups promise, compared with others of their depth.
pub(super) struct Promise {
    /// What was expected of groups of this kind, and what came: sums of shares.
    expected: [f64; KINDS],
    came: [f64; KINDS],
}

impl Default for Promise {
    fn default() -> Self {
        Self { expected: [0.0; KINDS], came: [0.0; KINDS] }
    }
}

impl Promise {
    /// The logarithm of what a group of this kind is worth beside others.
    pub(super) fn of(&self, kind: u8) -> f64 {
        let kind = usize::from(kind);
        let ratio = (self.came[kind] + 0.02) / (self.expected[kind] + 0.02);
        super::numbers::ln(ratio.clamp(0.002, 50.0))
    }

    /// Learns from a count.
    pub(super) fn learn(&mut self, lineage: &Lineage) {
        let depths = lineage.nodes.iter().map(|n| n.depth as usize + 1).max().unwrap_or(0);
        let mut sums = alloc::vec![(f64::NEG_INFINITY, f64::NEG_INFINITY); depths];
        for node in &lineage.nodes {
            let (weight, worth) = &mut sums[node.depth as usize];
            *weight = add_logs(*weight, node.weight);
            *worth = add_logs(*worth, node.worth);
        }
        for kind in 0..KINDS {
            self.expected[kind] *= 0.7;
            self.came[kind] *= 0.7;
        }
        for node in &lineage.nodes {
            let (weight, worth) = sums[node.depth as usize];
            if worth > f64::NEG_INFINITY {
                self.expected[usize::from(node.kind)] += exp(node.weight - weight);
                self.came[usize::from(node.kind)] += exp(node.worth - worth);
            }
        }
    }
}
