//! What policies come to, measured: real explorations are recorded, one execution at a time, and the allocator then spends
//! simulated time on the recordings.
//!
//! The experiment is that of Simsa, Bryant and Gibson (resource allocation): how long it takes to complete the first k tests,
//! as a share of what taking turns needs; and how even the coverage of tests is when a tenth of all the time is given. Their
//! coverage error is printed upside-down; their example fixes what is meant: the factor by which a test has too much or too
//! little, at least 1.

use crate::allocate::{Allocator, Policy};
use crate::cargo::Found;
use crate::conduct::total_ln;
use crate::gate::{Gate, Grant};
use crate::library::Library;
use crate::result::Trouble;
use ordain_report::Estimate;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

/// How long a test may be silent while it is recorded.
const PATIENCE: Duration = Duration::from_secs(60);

/// The recording of a complete exploration.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// What was explored.
    pub name: String,
    /// What an execution costs, in any unit.
    pub cost: f64,
    /// What was estimated after each execution; there are as many as executions.
    pub estimates: Vec<Option<Estimate>>,
}

impl Trace {
    /// What the whole exploration costs.
    pub fn total(&self) -> f64 {
        self.cost * self.estimates.len() as f64
    }
}

/// How far a test is in a simulation.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// The test.
    pub trace: &'a Trace,
    /// Executions that were made.
    pub executions: u64,
}

/// What estimates how many executions a test has in all.
pub type Estimator<'a> = &'a mut dyn FnMut(Progress<'_>) -> Option<Estimate>;

/// What was estimated when the trace was recorded.
pub fn recorded(progress: Progress<'_>) -> Option<Estimate> {
    progress.trace.estimates[progress.executions as usize - 1]
}

/// The truth.
pub fn oracle(progress: Progress<'_>) -> Option<Estimate> {
    let ln = (progress.trace.estimates.len() as f64).ln();
    Some(Estimate::from_ln(ln, ln, ln, progress.executions))
}

/// Nothing.
pub fn unknown(_progress: Progress<'_>) -> Option<Estimate> {
    None
}

/// What a policy came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Spent {
    /// What each test has cost.
    pub spent: Vec<f64>,
    /// When each test was done.
    pub done_at: Vec<Option<f64>>,
}

impl Spent {
    /// When the first, second, third … test was done.
    pub fn completions(&self) -> Vec<f64> {
        let mut times: Vec<f64> = self.done_at.iter().flatten().copied().collect();
        times.sort_by(f64::total_cmp);
        times
    }
}

/// Spends a budget on the tests as a suite does, `slice` executions at a time.
pub fn simulate(traces: &[Trace], policy: Policy, slice: u64, budget: f64, estimate: Estimator<'_>) -> Spent {
    let mut allocator = Allocator::new(policy, &vec![1.0; traces.len()]);
    let mut executions = vec![0u64; traces.len()];
    let mut result = Spent { spent: vec![0.0; traces.len()], done_at: vec![None; traces.len()] };
    let mut clock = 0.0;
    while clock < budget {
        let Some(test) = allocator.take() else { break };
        let trace = &traces[test];
        let all = trace.estimates.len() as u64;
        let affordable = ((budget - clock) / trace.cost).ceil().max(1.0) as u64;
        let steps = slice.min(all - executions[test]).min(affordable);
        executions[test] += steps;
        clock += steps as f64 * trace.cost;
        let spent = executions[test] as f64 * trace.cost;
        let done = executions[test] == all;
        result.spent[test] = spent;
        result.done_at[test] = done.then_some(clock);
        let estimate = estimate(Progress { trace, executions: executions[test] });
        allocator.give_back(test, spent, total_ln(spent, executions[test], estimate, None), 0, done);
    }
    result
}

/// What nobody can do better: the tests one after the other, the shortest first, without looking at the others before.
pub fn optimum(traces: &[Trace]) -> Spent {
    let mut order: Vec<usize> = (0..traces.len()).collect();
    order.sort_by(|a, b| traces[*a].total().total_cmp(&traces[*b].total()));
    let mut result = Spent { spent: traces.iter().map(Trace::total).collect(), done_at: vec![None; traces.len()] };
    let mut clock = 0.0;
    for test in order {
        clock += traces[test].total();
        result.done_at[test] = Some(clock);
    }
    result
}

/// The time to complete the first k tests as a share of another's, for every k.
pub fn completion_shares(of: &Spent, other: &Spent) -> Vec<f64> {
    of.completions().iter().zip(other.completions()).map(|(a, b)| a / b).collect()
}

/// The coverage error of each test: by which factor it has more or less than with perfectly even coverage.
pub fn coverage_errors(traces: &[Trace], spent: &Spent) -> Vec<f64> {
    let even = spent.spent.iter().sum::<f64>() / traces.iter().map(Trace::total).sum::<f64>();
    let error = |(trace, spent): (&Trace, &f64)| {
        let share = spent / trace.total();
        (share / even).max(even / share)
    };
    traces.iter().zip(&spent.spent).map(error).collect()
}

/// The arithmetic mean.
pub fn mean(numbers: &[f64]) -> f64 {
    numbers.iter().sum::<f64>() / numbers.len() as f64
}

/// Records the exploration of a Rust test: runs it as a suite does, with slices of one execution.
pub fn record(binary: &Path, test: &str) -> Result<Trace, Trouble> {
    let directory = tempfile::tempdir().map_err(|error| Trouble::new(error.to_string(), "is there room for it?"))?;
    let found = Found { binary: binary.to_owned(), test: test.to_owned(), directory: ".".into() };
    let (to, from) = channel();
    let (grant, grants) = channel();
    let mut gate = Gate::new(0, to, grants, None, Arc::default());
    let mut estimates = Vec::new();
    let grant_one = |done: u64| {
        // Who has ended does not listen, and has said so.
        let _ = grant.send(Grant::Slice { time: Duration::MAX, until: done + 1 });
    };
    let end = std::thread::scope(|scope| {
        let directory = directory.path();
        scope.spawn(move || {
            gate.wait();
            let library = Library {
                found: &found,
                environment: Vec::new(),
                fingerprint: None,
                resume: false,
                directory,
                patience: PATIENCE,
            };
            let end = library.run(&mut gate);
            gate.end(end);
        });
        grant_one(0);
        loop {
            let told = from.recv().ok()?;
            if told.end.is_some() {
                return told.end;
            }
            estimates.resize(told.executions as usize, None);
            if let Some(last) = estimates.last_mut() {
                *last = told.estimate;
            }
            grant_one(told.executions);
        }
    });
    let end = end.unwrap_or_default();
    if let Some(trouble) = end.trouble {
        return Err(trouble);
    }
    let run = end.run.filter(|run| run.exhausted && run.executions > 0);
    let run = run.ok_or_else(|| Trouble::new(format!("{test} was not explored to its end"), "give it no limit"))?;
    estimates.resize(run.executions as usize, None);
    Ok(Trace { name: test.to_owned(), cost: run.steps as f64 / run.executions as f64, estimates })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sixty tests, a few of which have most of the executions.
    fn traces() -> Vec<Trace> {
        let size = |i: usize| (4.0 * 1.12f64.powi((i * 37 % 60) as i32)) as usize;
        let trace = |i| Trace { name: format!("{i}"), cost: 1.0 + (i % 7) as f64, estimates: vec![None; size(i)] };
        (0..60).map(trace).collect()
    }

    #[test]
    fn everything_is_done_in_the_same_time_in_the_end() {
        let traces = traces();
        let total: f64 = traces.iter().map(Trace::total).sum();
        for policy in Policy::ALL {
            let spent = simulate(&traces, policy, 1, f64::INFINITY, &mut oracle);
            let last = spent.completions().last().copied().unwrap_or_default();
            assert!((last - total).abs() < 1e-6 && spent.completions().len() == 60, "{policy:?}");
        }
    }

    #[test]
    fn who_knows_the_truth_is_near_the_optimum() {
        let traces = traces();
        let turns = simulate(&traces, Policy::RoundRobin, 1, f64::INFINITY, &mut unknown);
        let knowing = simulate(&traces, Policy::ShortestFirst, 1, f64::INFINITY, &mut oracle);
        let (best, knowing) = (completion_shares(&optimum(&traces), &turns), completion_shares(&knowing, &turns));
        assert!(mean(&best) < mean(&knowing) && mean(&knowing) < 0.45, "{} {}", mean(&best), mean(&knowing));
        assert!(best.iter().zip(&knowing).all(|(best, knowing)| best <= knowing));
        assert_eq!(best.last().map(|share| (share * 1e6).round()), Some(1e6));
    }

    #[test]
    fn estimates_that_are_all_wrong_by_the_same_factor_do_no_harm() {
        let traces = traces();
        let mut low = |progress: Progress<'_>| {
            let truth = oracle(progress)?;
            let log10 = (truth.log10 - 0.5).max((progress.executions as f64).log10());
            Some(Estimate { log10, ..truth })
        };
        let budget = traces.iter().map(Trace::total).sum::<f64>() / 10.0;
        let knowing = coverage_errors(&traces, &simulate(&traces, Policy::EvenCoverage, 1, budget, &mut oracle));
        let low = coverage_errors(&traces, &simulate(&traces, Policy::EvenCoverage, 1, budget, &mut low));
        let turns = coverage_errors(&traces, &simulate(&traces, Policy::RoundRobin, 1, budget, &mut unknown));
        assert!(mean(&knowing) < 1.3 && mean(&low) < 1.3, "{} {}", mean(&knowing), mean(&low));
        assert!(mean(&turns) > 3.0, "{}", mean(&turns));
        assert!(knowing.iter().all(|error| *error >= 1.0));
    }

    #[test]
    fn the_budget_is_kept() {
        let traces = traces();
        let spent = simulate(&traces, Policy::RoundRobin, 10, 500.0, &mut unknown);
        let sum: f64 = spent.spent.iter().sum();
        assert!((500.0..510.0).contains(&sum), "{sum}");
    }
}
