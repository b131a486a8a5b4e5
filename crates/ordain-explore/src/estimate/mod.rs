//! How much is left: how many executions an exhaustive search will make in all.
//!
//! Two ways to tell. [`Foresight`] learns what threads do and counts the classes that are left, which is right from early
//! on for most programs; it is what users see. [`Backtracks`] are the estimators of the literature (Šimša, "Systematic and
//! Scalable Testing of Concurrent Programs", and the report it builds on), which look at the shape of the explored tree only;
//! they can also be computed from an exploration trace ([`trace`]).
//!
//! All numbers are natural logarithms: there may be more executions than numbers can hold.

mod count;
mod course;
mod effect;
mod fit;
mod kin;
mod numbers;
mod promise;
mod sketch;
mod touched;
pub mod trace;
mod tree;

pub use fit::{Fit, Progression};
pub use tree::{Backtracks, Expectation, Measure, Method, Technique};

use crate::plan::{Planned, Target};
use crate::rng::Rng;
use crate::search::Strategy;
use crate::strategy::Kind;
use crate::wakeup::Sleeper;
use alloc::vec::Vec;
use core::ops::ControlFlow;
use count::Counter;
use numbers::{add_logs, ln};
use ordain_model::{End, Execution};
use promise::Promise;
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
    /// Executions that did not belong to the search.
    pub(crate) samples: u64,
}

/// How many executions there are in all, as natural logarithms.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Estimate {
    /// The best guess.
    pub ln: f64,
    /// The lower end of an interval that should hold the number nine times out of ten.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// How many of them have been made.
    pub done: u64,
}

/// How much a forecast may cost.
#[derive(Clone, Copy)]
pub struct Effort<'a> {
    /// Executions in random orders.
    pub probes: u64,
    /// Imagined states to look at.
    pub work: u64,
    /// Whether it is over before that: asked now and then.
    is_over: &'a dyn Fn() -> bool,
}

impl<'a> Effort<'a> {
    /// A few hundredths of what the search has cost since the last forecast, but not so little that it is worth nothing.
    pub fn beside(executions: u64, steps: u64) -> Self {
        Self { probes: (executions / 16).min(64), ..Self::of((steps / 96).clamp(20_000, 300_000)) }
    }

    /// For the last word on a search: it may cost more.
    pub fn at_the_end(executions: u64, steps: u64) -> Self {
        Self { probes: (executions / 8).min(200), ..Self::of((steps / 16).clamp(5_000, 600_000)) }
    }

    /// So many imagined states, and no executions.
    pub fn of(work: u64) -> Self {
        Self { probes: 0, work, is_over: &|| false }
    }

    /// The same, until somebody says that it is over.
    pub fn until(self, is_over: &'a dyn Fn() -> bool) -> Self {
        Self { is_over, ..self }
    }

    fn is_over(&self) -> bool {
        (self.is_over)()
    }
}

/// What a forecast came to.
#[derive(Clone, Copy, Debug)]
pub enum Forecast {
    /// An estimate, if there can be one.
    Estimate(Option<Estimate>),
    /// An execution taught that the search rests on a wrong assumption; it begins again.
    Restarted,
    /// Whoever looked on broke off.
    Broken,
}

/// Counts that are made to learn how far they differ.
const REPLICAS: usize = 6;
/// Counts whose logarithms differ by more are far from each other.
const FAR: f64 = 0.7;
/// Counts if there is little time.
const FEW_REPLICAS: usize = 3;
/// Fewer states of one depth are not enough.
const LEAST_GROUPS: u64 = 16;
/// States of one depth that are looked at if there is time for it.
const MOST_GROUPS: usize = 8192;
/// Longer executions are not foreseen: it would take too long.
const LONGEST: usize = 50_000;
/// Searches that end before that teach nothing: they are over before anybody asks. Then one in [`OFTEN`] executions is learned from, the
/// longer the search the fewer, in the end one in [`RARELY`].
const SHORT: u64 = 16;
const OFTEN: u64 = 4;
const RARELY: u64 = 32;

/// Foresees how many executions there are.
#[derive(Default)]
pub struct Foresight {
    sketch: Sketch,
    promise: Promise,
    heard: u64,
    counts: u64,
    probes: u64,
    /// The last estimate, and how much estimates change from one to the next.
    last: Option<f64>,
    drift: f64,
}

impl Foresight {
    /// Hears of an execution of the search, and learns from it if it is time.
    #[inline]
    pub fn hear(&mut self, execution: &Execution) {
        self.heard += 1;
        let interval = (self.heard / 8).next_power_of_two().clamp(OFTEN, RARELY);
        if self.heard >= SHORT && self.heard.is_multiple_of(interval) {
            self.learn(execution);
        }
    }

    /// Learns from an execution.
    pub fn learn(&mut self, execution: &Execution) {
        if execution.steps.len() <= LONGEST && !execution.spawned_by.is_empty() {
            self.sketch.learn(execution);
        }
    }

    /// Forgets the estimates, not the program: the search begins again.
    pub fn restart(&mut self) {
        (self.last, self.drift) = (None, 0.0);
    }

    /// Runs the program in random orders, to see what its threads do then. `look` sees each execution and may break off.
    pub fn probe<T: Target + ?Sized>(
        &mut self,
        target: &mut T,
        count: u64,
        look: &mut dyn FnMut(&mut T) -> ControlFlow<()>,
    ) {
        for _ in 0..count {
            let number = self.probes as usize;
            self.probes += 1;
            let kind = [Kind::Random, Kind::Pct, Kind::Pos, Kind::Urw][number % 4];
            let mut strategy = kind.make_plain(self.probes, 1 + number / 4 % 3);
            let Some(mut plan) = strategy.plan() else { return };
            target.run(&mut plan);
            if matches!(target.execution().end, End::Interrupted) {
                return;
            }
            self.learn(target.execution());
            if look(target).is_break() {
                return;
            }
        }
    }

    /// Runs the program a few times in random orders and estimates how many executions a search makes in all that has made `executions` so
    /// far. `look` sees each execution and may break off.
    pub fn forecast<T: Target>(
        &mut self,
        target: &mut T,
        strategy: &mut dyn Strategy,
        executions: u64,
        effort: Effort<'_>,
        look: &mut dyn FnMut(&mut T) -> ControlFlow<()>,
    ) -> Forecast {
        if strategy.path().is_none() {
            return Forecast::Estimate(None);
        }
        if !matches!(target.execution().end, End::Interrupted) {
            self.learn(target.execution());
        }
        let (mut learned, mut broken) = (false, false);
        let probes = if effort.is_over() { 0 } else { effort.probes };
        self.probe(target, probes, &mut |target| {
            learned = target.execution().learned;
            broken = look(target).is_break();
            if learned || broken || effort.is_over() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        if learned {
            // What was explored rests on an assumption about a loop that is now known to be wrong.
            strategy.restart();
            self.restart();
            return Forecast::Restarted;
        }
        if broken {
            return Forecast::Broken;
        }
        Forecast::Estimate(self.estimate(strategy, executions, effort))
    }

    /// Estimates how many executions a search makes in all that has made `executions` so far, by looking at imagined states. `None` if the
    /// strategy cannot tell where it is, executions are too long, or it is over too soon.
    pub fn estimate(&mut self, strategy: &dyn Strategy, executions: u64, effort: Effort<'_>) -> Option<Estimate> {
        let work = effort.work;
        let path = strategy.path()?;
        let longest = self.sketch.longest;
        if longest > LONGEST || longest == 0 {
            return None;
        }
        let done = executions.saturating_sub(path.samples);
        // Less than that says nothing.
        let least = LEAST_GROUPS * 3 * longest as u64;
        let replicas = if work >= REPLICAS as u64 * least { REPLICAS } else { FEW_REPLICAS };
        let each = (work / replicas as u64).max(least);
        // At first as if everything could be looked at; often it can.
        let mut most = MOST_GROUPS;
        let fitting = (each / (3 * longest as u64)).clamp(LEAST_GROUPS, MOST_GROUPS as u64) as usize;
        let mut logs: Vec<f64> = Vec::new();
        let mut spent = 0;
        // The first are made before it is known what groups promise. While they differ and there is time, later ones take their place.
        while logs.len() < replicas || spent < work && differ(&logs[logs.len() - replicas..]) {
            if effort.is_over() {
                break;
            }
            self.counts += 1;
            let rng = Rng::new(0x0e57_1a7e, self.counts);
            let limit = if most > fitting { each } else { 4 * each };
            let mut counter = Counter::new(&mut self.sketch, path.reduces, most, rng, &self.promise, limit, effort);
            let count = counter.count(&path);
            spent += counter.work;
            let lineage = counter.lineage;
            if !count.finished && effort.is_over() {
                break;
            }
            if !count.finished {
                // Too much for what may be spent.
                most = if most > fitting { fitting } else { most / 4 };
                if most < 4 {
                    return None;
                }
                continue;
            }
            logs.push(count.log);
            if count.exact {
                break;
            }
            self.promise.learn(&lineage);
        }
        if logs.is_empty() {
            return None;
        }
        let settled = logs.len().saturating_sub(replicas);
        Some(self.conclude(&logs[settled..], done))
    }

    /// What the counts come to.
    fn conclude(&mut self, logs: &[f64], done: u64) -> Estimate {
        let known = ln(done as f64);
        let n = logs.len() as f64;
        let left = logs.iter().fold(f64::NEG_INFINITY, |sum, log| add_logs(sum, *log)) - ln(n);
        let total = add_logs(known, left);
        let totals: Vec<f64> = logs.iter().map(|log| add_logs(known, *log)).collect();
        let center = totals.iter().sum::<f64>() / n;
        let variance = totals.iter().map(|t| (t - center) * (t - center)).sum::<f64>() / (n - 1.0).max(1.0);
        // How far counts differ among each other, how far what threads do was not foreseen, and how far estimates have moved.
        let chance = 2.0 * libm::sqrt(variance / n);
        let surprise = self.sketch.surprises / self.sketch.steps.max(1.0) * self.sketch.longest as f64;
        if let Some(last) = self.last.replace(total) {
            self.drift = (0.5 * self.drift).max(libm::fabs(total - last));
        }
        // The nearer the end, the less is uncertain.
        let open = 1.0 - numbers::exp((known - total).min(0.0));
        let half = chance + open * (libm::sqrt(surprise) + self.drift);
        Estimate { ln: total, low: (total - half).max(known), high: total + half, done }
    }
}

/// Whether counts are far from each other.
fn differ(logs: &[f64]) -> bool {
    let (low, high) = logs.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), log| (l.min(*log), h.max(*log)));
    high - low > FAR
}
