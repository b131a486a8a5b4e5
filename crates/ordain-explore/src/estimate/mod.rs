//! How much is left: estimates of the number of executions that an exhaustive search will make.
mod count;
mod hash;
mod numbers;
mod sketch;

use crate::plan::{Planned, Target};
use crate::strategy::Kind;
use crate::rng::Rng;
use crate::search::Strategy;
use crate::wakeup::Sleeper;
use alloc::vec::Vec;
use count::Counter;
use numbers::{add_logs, exp, ln};
use ordain_model::Execution;
use sketch::Sketch;

/// The path of a search, and what is covered beside it.
pub struct Path<'a> {
    pub(crate) prefix: &'a [Planned],
    /// How many steps of the prefix have been executed.
    pub(crate) kept: usize,
    /// The sleepers at each state up to there. At the last one, what was done there last is among them.
    pub(crate) sleep: Vec<&'a [Sleeper]>,
    /// Whether independent steps commute.
    pub(crate) reduces: bool,
}

/// Foresees how many executions are left.
#[derive(Default)]
pub struct Foresight {
    sketch: Sketch,
    heard: u64,
    runs: u64,
    probes: u64,
}

/// How many executions are left, as logarithms.
#[derive(Clone, Copy, Debug)]
pub struct Remaining {
    /// The best guess.
    pub log: f64,
    /// The lower end of an interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// Whether nothing was left to chance in counting.
    pub exact: bool,
    /// States looked at.
    pub work: u64,
}

impl Foresight {
    /// Learns from an execution.
    pub fn learn(&mut self, execution: &Execution) {
        self.sketch.learn(execution);
    }

    /// Hears of an execution, and learns from it if it is time.
    pub fn hear(&mut self, execution: &Execution) {
        self.heard += 1;
        if self.heard <= 64 || self.heard % 32 == 0 {
            self.sketch.learn(execution);
        }
    }

    /// Runs the program in random orders, to see what its threads do then.
    pub fn probe(&mut self, target: &mut dyn Target, count: u32) {
        for _ in 0..count {
            self.probes += 1;
            let kind = [Kind::Random, Kind::Pct, Kind::Pos, Kind::Urw][self.probes as usize % 4];
            let mut strategy = kind.make(self.probes, 1 + self.probes as usize / 4 % 3);
            let Some(mut plan) = strategy.plan() else { return };
            target.run(&mut plan);
            self.sketch.learn(target.execution());
        }
    }

    /// Says what is left of a search.
    pub fn remaining(&mut self, strategy: &dyn Strategy, most: usize) -> Option<Remaining> {
        let path = strategy.path()?;
        const REPLICAS: usize = 4;
        let mut logs: Vec<f64> = Vec::new();
        let mut work = 0;
        let mut exact = true;
        for replica in 0..REPLICAS {
            self.runs += 1;
            let rng = Rng::new(0x0e57_1a7e, self.runs);
            let count = Counter::new(&mut self.sketch, path.reduces, most, rng).count(&path);
            work += count.work;
            exact &= count.exact;
            logs.push(count.log);
            if count.exact && replica == 0 {
                break;
            }
        }
        let n = logs.len() as f64;
        let mean = logs.iter().fold(f64::NEG_INFINITY, |s, l| add_logs(s, *l)) - ln(n);
        let spread = if logs.len() > 1 {
            let center = logs.iter().sum::<f64>() / n;
            libm::sqrt(logs.iter().map(|l| (l - center) * (l - center)).sum::<f64>() / (n - 1.0))
        } else {
            0.0
        };
        let _ = exp(0.0);
        let half = 2.35 * spread / libm::sqrt(n);
        Some(Remaining { log: mean, low: mean - half, high: mean + half, exact, work })
    }
}
