//! The samplers by turns: each is blind to something that another one sees.

use super::{Pct, Pos, Random, Urw};
use crate::plan::Plan;
use crate::search::{Coverage, Strategy};
use ordain_model::Execution;

/// Samplers.
const ROUND: u64 = 5;

/// The samplers by turns.
pub struct Mixed {
    pos: Pos,
    pct2: Pct,
    pct3: Pct,
    urw: Urw,
    random: Random,
    /// Samples that were drawn.
    drawn: u64,
}

impl Mixed {
    /// The samples of this seed.
    pub fn new(seed: u64) -> Self {
        Self {
            pos: Pos::new(seed),
            pct2: Pct::new(seed, 2),
            pct3: Pct::new(seed ^ 1, 3),
            urw: Urw::new(seed),
            random: Random::new(seed),
            drawn: 0,
        }
    }

    /// The same, as if so many had been drawn.
    pub(super) fn after(self, drawn: u64) -> Self {
        Self { drawn, ..self }
    }

    /// Samples that were drawn.
    pub(super) fn drawn(&self) -> u64 {
        self.drawn
    }

    /// Begins with the first sampler again.
    pub(super) fn begin_round(&mut self) {
        self.drawn = 0;
    }

    fn current(&mut self) -> &mut dyn Strategy {
        match self.drawn % ROUND {
            0 => &mut self.pos,
            1 => &mut self.pct2,
            2 => &mut self.urw,
            3 => &mut self.pct3,
            _ => &mut self.random,
        }
    }
}

impl Strategy for Mixed {
    fn plan(&mut self) -> Option<Plan<'_>> {
        self.current().plan()
    }

    fn learn(&mut self, execution: &Execution) {
        self.current().learn(execution);
        self.drawn += 1;
    }

    fn restart(&mut self) {
        self.current().restart();
        self.drawn += 1;
    }

    fn coverage(&self) -> Coverage {
        Coverage::Samples
    }
}
