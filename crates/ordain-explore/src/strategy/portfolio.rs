//! Portfolio: optimal search and sampling by turns, so that one stuck strategy cannot blind the search.
//!
//! At first every second execution is a sample, drawn by one sampler after the other; what is found by sampling at all is mostly found
//! then. Later only every tenth is, so that the optimal search gets to its end, which is the end of the portfolio too.

use super::{Mixed, Optimal};
use crate::estimate::Path;
use crate::frontier::{Connection, Divisible, Explored, Fragment};
use crate::plan::Plan;
use crate::search::{Coverage, Stop, Strategy};
use alloc::vec::Vec;
use ordain_model::{Execution, Transition};

/// So many executions are made by turns.
const BEGINNING: u64 = 10_000;
/// After that, every so-and-so-many-th is a sample.
const LATER: u64 = 10;

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

    /// How many of so many executions were samples, at most, if that many workers made them.
    pub fn samples(executions: u64, workers: u64) -> u64 {
        let workers = workers.max(1);
        let each = executions.div_ceil(workers);
        let later = each.saturating_sub(BEGINNING);
        let samples = each.min(BEGINNING) / 2 + later / LATER;
        samples.saturating_mul(workers).min(executions / 2)
    }

    /// Whether the next execution is one of the search, not a sample.
    fn searches(&self) -> bool {
        if self.turn < BEGINNING { self.turn.is_multiple_of(2) } else { self.turn % LATER != LATER - 1 }
    }

    fn current(&mut self) -> &mut dyn Strategy {
        if self.searches() { &mut self.optimal } else { &mut self.samplers }
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

    fn stop_when(&mut self, stop: Stop) {
        self.optimal.stop_when(stop);
    }

    fn coverage(&self) -> Coverage {
        Coverage::Everything
    }
}

impl Divisible for Portfolio {
    fn load(&mut self, fragment: &Fragment) {
        self.optimal.load(fragment);
    }

    fn connect(&mut self, connection: Connection) {
        self.optimal.connect(connection);
    }

    fn unload(&mut self) -> Explored {
        self.optimal.unload()
    }

    fn go_on_after(&mut self, executions: u64) {
        // Samples that were drawn before are not drawn again.
        let optimal = core::mem::take(&mut self.optimal);
        let samples = Self::samples(executions, 1);
        let seed = self.seed.wrapping_add(samples.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        *self = Self { optimal, samplers: Mixed::new(seed).after(samples), seed: self.seed, turn: executions };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_counted_as_they_are_drawn() {
        let mut portfolio = Portfolio::new(0);
        let mut samples = 0;
        for executions in 0..3 * BEGINNING {
            assert_eq!(Portfolio::samples(executions, 1), samples, "of {executions}");
            portfolio.turn = executions;
            samples += u64::from(!portfolio.searches());
        }
    }

    #[test]
    fn several_workers_draw_at_most_as_many_as_is_said() {
        for (first, second) in [(10_000, 10_000), (30_000, 500), (7, 90_000), (0, 1)] {
            let drawn = Portfolio::samples(first, 1) + Portfolio::samples(second, 1);
            assert!(drawn <= Portfolio::samples(first + second, 2), "{first} and {second}");
        }
    }
}
