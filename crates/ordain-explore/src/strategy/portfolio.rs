//! Portfolio: optimal search and sampling by turns, so that one stuck strategy cannot blind the search.
//!
//! Every second execution is the optimal search's; the others go round the samplers. It ends when the optimal search does.

use super::{Optimal, Pct, Pos, Random, Urw};
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
    pos: Pos,
    pct2: Pct,
    pct3: Pct,
    urw: Urw,
    random: Random,
    seed: u64,
    /// Executions since the search began.
    turn: usize,
    /// Those of the samplers.
    samples: u64,
}

/// The turns; the optimal search has every second.
const ROUND: usize = 10;

impl Portfolio {
    /// A portfolio whose samplers use this seed.
    pub fn new(seed: u64) -> Self {
        Self {
            optimal: Optimal::default(),
            pos: Pos::new(seed),
            pct2: Pct::new(seed, 2),
            pct3: Pct::new(seed ^ 1, 3),
            urw: Urw::new(seed),
            random: Random::new(seed),
            seed,
            turn: 0,
            samples: 0,
        }
    }

    fn current(&mut self) -> &mut dyn Strategy {
        match self.turn % ROUND {
            1 => &mut self.pos,
            3 => &mut self.pct2,
            5 => &mut self.urw,
            7 => &mut self.pct3,
            9 => &mut self.random,
            _ => &mut self.optimal,
        }
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
        self.samples += u64::from(!self.turn.is_multiple_of(2));
        self.turn += 1;
    }

    fn path(&self) -> Option<Path<'_>> {
        Some(Path { samples: self.samples, ..self.optimal.path()? })
    }

    fn scheduled(&self, depth: usize, out: &mut Vec<Transition>) {
        self.optimal.scheduled(depth, out);
    }

    fn divisible(&mut self) -> Option<&mut dyn Divisible> {
        Some(self)
    }

    fn restart(&mut self) {
        self.optimal.restart();
        self.samples = 0;
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
        *self = Self { optimal, seed: self.seed, turn: executions as usize, samples, ..Self::new(seed) };
    }
}
