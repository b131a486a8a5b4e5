//! Source-DPOR: every class, none twice; some runs are cut short.
//!
//! Abdulla, Aronis, Jonsson and Sagonas, "Optimal dynamic partial order reduction". A reversal adds its first transition
//! unless one of its initials (transitions that could come first) is there.

use super::awake::Awake;
use super::reducing::{Method, Reducing};
use crate::estimate::Path;
use crate::frontier::{Connection, Divisible, Explored, Fragment};
use crate::plan::Plan;
use crate::reversal::{Sequence, Which};
use crate::search::{Coverage, Stop, Strategy};
use crate::wakeup::{Head, Items, Sleeper, Trees};
use alloc::vec::Vec;
use ordain_model::{Access, Execution, HappensBefore, Operation, ThreadId, Transition, affects};
use smallvec::SmallVec;

/// Whether an item of the sequence depends on none before it.
pub(super) fn is_initial(sequence: &Sequence<'_>, item: usize, order: &HappensBefore) -> bool {
    match sequence.events.get(item) {
        Some(&event) => {
            sequence.events[..item].iter().all(|&other| !order.happens_before(other as usize, event as usize))
        }
        None => (0..item).all(|i| {
            let ((other, footprint), thread) = (sequence.item(i), sequence.last.thread);
            let spawns = matches!(sequence.op(i), Operation::Spawn { child } if child == thread);
            other.thread != thread && !spawns && !affects(footprint, sequence.last_footprint)
        }),
    }
}

/// The transitions of a sequence that could come first.
struct Initials<'a> {
    sequence: Sequence<'a>,
    places: SmallVec<[usize; 16]>,
}

impl Items for Initials<'_> {
    fn len(&self) -> usize {
        self.places.len()
    }

    fn item(&self, i: usize) -> (Transition, &[Access]) {
        self.sequence.item(self.places[i])
    }

    fn op(&self, i: usize) -> Operation {
        self.sequence.op(self.places[i])
    }

    fn left(&self, i: usize) -> Option<u64> {
        self.sequence.left(self.places[i])
    }
}

/// Backtrack sets.
#[derive(Default)]
struct Backtrack;

/// Whether one of the transitions could come first.
fn has_initial(known: impl Fn(Transition) -> bool, sequence: &Sequence<'_>, order: &HappensBefore) -> bool {
    (0..sequence.len()).any(|i| known(sequence.item(i).0) && is_initial(sequence, i, order))
}

impl Method for Backtrack {
    const WHICH: Which = Which::UpToSecond;
    type Policy = Awake;

    fn plan(trees: &mut Trees, tree: &mut Head, taken: Transition, sequence: &Sequence<'_>, order: &HappensBefore) {
        if !Self::is_planned(trees, *tree, taken, sequence, order) {
            trees.append_first(tree, sequence);
        }
    }

    fn is_planned(
        trees: &mut Trees,
        tree: Head,
        taken: Transition,
        sequence: &Sequence<'_>,
        order: &HappensBefore,
    ) -> bool {
        has_initial(|t| t == taken || trees.heads(tree).any(|head| head == t), sequence, order)
    }

    fn is_asleep(sleep: &[Sleeper], sequence: &Sequence<'_>, order: &HappensBefore) -> bool {
        has_initial(|t| sleep.iter().any(|s| s.transition == t), sequence, order)
    }

    const WHOLE: bool = false;

    fn is_begun(others: &[Transition], sequence: &Sequence<'_>, order: &HappensBefore) -> bool {
        !others.is_empty() && has_initial(|t| others.contains(&t), sequence, order)
    }

    fn told<'a>(sequence: &Sequence<'a>, order: &HappensBefore) -> impl Items + 'a {
        // Of each thread only the first can be.
        let mut threads: SmallVec<[ThreadId; 16]> = SmallVec::new();
        let initials = (0..sequence.len()).filter(|&i| {
            let thread = sequence.item(i).0.thread;
            let first = !threads.contains(&thread);
            if first {
                threads.push(thread);
            }
            first && is_initial(sequence, i, order)
        });
        Initials { sequence: *sequence, places: initials.collect() }
    }

    fn prepare(policy: &mut Awake, kept: usize, sleep: &[Sleeper], later: &mut dyn Iterator<Item = (usize, &Sleeper)>) {
        policy.prepare(kept, sleep, later);
    }

    fn in_vain(policy: &Awake) -> Option<usize> {
        policy.in_vain()
    }
}

/// Source-DPOR with sleep sets.
#[derive(Default)]
pub struct Source(Reducing<Backtrack>);

impl Strategy for Source {
    fn plan(&mut self) -> Option<Plan<'_>> {
        self.0.plan()
    }

    fn learn(&mut self, execution: &Execution) {
        self.0.learn(execution);
    }

    fn path(&self) -> Option<Path<'_>> {
        self.0.path()
    }

    fn scheduled(&self, depth: usize, out: &mut Vec<Transition>) {
        self.0.scheduled(depth, out);
    }

    fn in_vain(&self) -> bool {
        self.0.in_vain()
    }

    fn divisible(&mut self) -> Option<&mut dyn Divisible> {
        Some(self)
    }

    fn restart(&mut self) {
        self.0.restart();
    }

    fn stop_when(&mut self, stop: Stop) {
        self.0.stop_when(stop);
    }

    fn coverage(&self) -> Coverage {
        Coverage::Everything
    }
}

impl Divisible for Source {
    fn load(&mut self, fragment: &Fragment) {
        self.0.load(fragment);
    }

    fn connect(&mut self, connection: Connection) {
        self.0.connect(connection);
    }

    fn unload(&mut self) -> Explored {
        self.0.unload()
    }
}
