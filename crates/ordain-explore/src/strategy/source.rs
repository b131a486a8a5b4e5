//! Source-DPOR: every class, none twice; some runs are cut short.
//!
//! Abdulla, Aronis, Jonsson and Sagonas, "Optimal dynamic partial order reduction". A reversal adds its first transition
//! unless one of its initials (transitions that could come first) is there.

use super::backtrack::{Backtrack, Node, is_initial};
use crate::estimate::Path;
use crate::plan::Plan;
use crate::reversal::{Sequence, Which};
use crate::search::{Coverage, Strategy};
use crate::trace::Trace;
use alloc::vec::Vec;
use ordain_model::{Execution, Transition};

/// Source-DPOR with sleep sets.
#[derive(Default)]
pub struct Source(Backtrack);

fn add(node: &mut Node, sequence: &Sequence<'_>, trace: &Trace) {
    let is_there =
        (0..sequence.len()).any(|i| node.backtrack.contains(&sequence.item(i).0) && is_initial(sequence, i, trace));
    if !is_there {
        node.backtrack.push(sequence.item(0).0);
    }
}

impl Strategy for Source {
    fn plan(&mut self) -> Option<Plan<'_>> {
        self.0.plan()
    }

    fn learn(&mut self, execution: &Execution) {
        self.0.learn(execution, Which::UpToSecond, add);
    }

    fn path(&self) -> Option<Path<'_>> {
        self.0.path()
    }

    fn scheduled(&self, depth: usize, out: &mut Vec<Transition>) {
        self.0.scheduled(depth, out);
    }

    fn restart(&mut self) {
        *self = Self::default();
    }

    fn coverage(&self) -> Coverage {
        Coverage::Everything
    }
}
