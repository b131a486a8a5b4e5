//! Optimal dynamic partial-order reduction with wakeup trees: every class exactly once, and no run in vain.
//!
//! Abdulla, Aronis, Jonsson and Sagonas, "Source sets: a foundation for optimal dynamic partial order reduction", with
//! races reversed as in [`crate::reversal`], so that operations may block and have several outcomes. Each complete execution
//! is searched for reversals; each that no sleeper covers goes into the wakeup tree of the state before its first event.

use super::reducing::{Method, Reducing};
use crate::estimate::Path;
use crate::frontier::{Connection, Divisible, Explored, Fragment};
use crate::plan::{Lowest, Plan};
use crate::reversal::{Sequence, Which};
use crate::search::{Coverage, Stop, Strategy};
use crate::wakeup::{Head, Items, Sleeper, Trees, is_covered};
use alloc::vec::Vec;
use ordain_model::{Execution, HappensBefore, Transition};

/// Wakeup trees.
#[derive(Default)]
struct Wakeup;

impl Method for Wakeup {
    const WHICH: Which = Which::Complete;
    type Policy = Lowest;

    fn plan(trees: &mut Trees, tree: &mut Head, _taken: Transition, sequence: &Sequence<'_>, _order: &HappensBefore) {
        trees.insert(tree, sequence);
    }

    fn is_planned(
        trees: &mut Trees,
        tree: Head,
        _taken: Transition,
        sequence: &Sequence<'_>,
        _order: &HappensBefore,
    ) -> bool {
        trees.covers(tree, sequence)
    }

    fn is_asleep(sleep: &[Sleeper], sequence: &Sequence<'_>, _order: &HappensBefore) -> bool {
        is_covered(sleep, sequence)
    }

    const WHOLE: bool = true;

    fn is_begun(_: &[Transition], _: &Sequence<'_>, _: &HappensBefore) -> bool {
        false
    }

    fn told<'a>(sequence: &Sequence<'a>, _order: &HappensBefore) -> impl Items + 'a {
        *sequence
    }

    fn prepare(_: &mut Lowest, _: usize, _: &[Sleeper], _: &mut dyn Iterator<Item = (usize, &Sleeper)>) {}
}

/// The default strategy.
#[derive(Default)]
pub struct Optimal(Reducing<Wakeup>);

impl Optimal {
    /// Executions that took a transition which was asleep. Always zero; counted so that it can be checked.
    pub fn redundant(&self) -> u64 {
        self.0.redundant()
    }

    /// Whether nothing is left to run.
    pub(super) fn is_finished(&self) -> bool {
        self.0.is_finished()
    }
}

impl Strategy for Optimal {
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

impl Divisible for Optimal {
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
