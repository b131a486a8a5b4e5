//! Classic dynamic partial-order reduction with persistent sets (Flanagan and Godefroid, "Dynamic partial-order reduction for
//! model checking software") and sleep sets.
//!
//! A reversal adds the next transition of the thread that is moved forward if the reversed order can begin with it, else
//! everything that is enabled. (Adding it merely because it is enabled is not enough next to sleep sets: if it is asleep, the
//! sleeper need not cover the reversed order.)

use super::backtrack::{Backtrack, Node, is_initial};
use crate::estimate::Path;
use crate::plan::Plan;
use crate::reversal::{Sequence, Which};
use crate::search::{Coverage, Strategy};
use crate::trace::Trace;
use alloc::vec::Vec;
use ordain_model::{Execution, Transition};

/// Classic DPOR with sleep sets.
#[derive(Default)]
pub struct Dpor(Backtrack);

fn add(node: &mut Node, sequence: &Sequence<'_>, trace: &Trace) {
    let thread = sequence.last.thread;
    let next = (0..sequence.len()).find(|&i| sequence.item(i).0.thread == thread);
    let next = next.filter(|&i| is_initial(sequence, i, trace)).map(|i| sequence.item(i).0);
    let all = node.enabled.len();
    for i in 0..all {
        let transition = node.enabled[i];
        if next.is_none_or(|next| next == transition) && !node.backtrack.contains(&transition) {
            node.backtrack.push(transition);
        }
    }
}

impl Strategy for Dpor {
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
