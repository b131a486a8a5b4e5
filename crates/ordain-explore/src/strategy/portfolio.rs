//! Portfolio: optimal search and sampling by turns, so that one stuck strategy cannot blind the search.
//!
//! Every second execution is the optimal search's; the others go round the samplers. It ends when the optimal search does.

use super::{Mixed, Optimal};
use crate::estimate::Path;
#[cfg(feature = "std")]
use crate::frontier::Line;
use crate::frontier::{Divisible, Explored, Fragment};
use crate::plan::Plan;
use crate::search::{Coverage, Strategy};
use alloc::vec::Vec;
use ordain_model::{Execution, Transition};

/// Optimal search interleaved with sampling.
pub struct Portfolio {
    optimal: Optimal,
    samplers: Mixed,
    seed: u64,
    /// Executions since the search began.
    turn: u64,
}

impl Portfolio {
    /// A portfolio whose samplers use this seed.
    pub fn new(seed: u64) -> Self {
        Self { optimal: Optimal::default(), samplers: Mixed::new(seed), seed, turn: 0 }
    }

    /// The optimal search has every second turn.
    fn current(&mut self) -> &mut dyn Strategy {
        if self.turn.is_multiple_of(2) { &mut self.optimal } else { &mut self.samplers }
    }
}

impl Strategy for Portfolio {
    fn plan(&mut self) -> Option<Plan<'_>> {
        if self.optimal.is_finished() {
            return None;
        }
        self.current().plan()
    }

    fn learn(&mut self, execution: &Execution) {
        self.current().learn(execution);
        self.turn += 1;
    }

    fn path(&self) -> Option<Path<'_>> {
        Some(Path { samples: self.samplers.drawn(), ..self.optimal.path()? })
    }

    fn scheduled(&self, depth: usize, out: &mut Vec<Transition>) {
        self.optimal.scheduled(depth, out);
    }

    fn divisible(&mut self) -> Option<&mut dyn Divisible> {
        Some(self)
    }

    fn restart(&mut self) {
        self.optimal.restart();
        self.samplers.begin_round();
        self.turn = 0;
    }

    fn coverage(&self) -> Coverage {
        Coverage::Everything
    }
}

impl Divisible for Portfolio {
    fn load(&mut self, fragment: &Fragment) {
        self.optimal.load(fragment);
    }

    #[cfg(feature = "std")]
    fn connect(&mut self, line: Line) {
        self.optimal.connect(line);
    }

    fn unload(&mut self) -> Explored {
        self.optimal.unload()
    }

    fn go_on_after(&mut self, executions: u64) {
        // Samples that were drawn before are not drawn again.
        let optimal = core::mem::take(&mut self.optimal);
        let samples = executions / 2;
        let seed = self.seed.wrapping_add(samples.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        *self = Self { optimal, samplers: Mixed::new(seed).after(samples), seed: self.seed, turn: executions };
    }
}
