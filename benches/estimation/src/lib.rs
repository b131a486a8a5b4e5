//! How well the number of executions is foreseen: explores workloads whose number is known in the end, and looks what was
//! estimated when a hundredth, a twentieth, a tenth and a quarter had been explored.
//!
//! [`measure`] explores a workload three times. First wholly, recorded as an exploration trace, from which the twenty-four combinations
//! of the literature follow; then twice up to a quarter with [`Foresight`], with a fixed effort and with the one of a running check.

mod irregular;
pub mod plot;
#[path = "../../programs.rs"]
#[allow(dead_code, unreachable_pub, clippy::unwrap_used, clippy::redundant_closure, reason = "shared with the peers")]
mod programs;
pub mod report;
mod tool;
pub mod workloads;

use ordain_explore::estimate::trace::{Event, Recorder};
use ordain_explore::estimate::{Backtracks, Effort, Estimate, Forecast, Foresight, Measure, Technique};
use ordain_explore::strategy::Kind;
use ordain_explore::{Strategy, Target};
use ordain_model::End;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};
use workloads::{Program, Workload};

/// The shares of the exploration after which estimates are looked at.
pub const SHARES: [f64; 4] = [0.01, 0.05, 0.10, 0.25];
/// What a forecast may cost at each of them: executions in random orders, and imagined states.
pub const PROBES: u64 = 64;
/// See [`PROBES`].
pub const WORK: u64 = 200_000;
/// Bigger workloads are refused: their traces would not fit into memory.
const MOST: u64 = 1_000_000;

/// How much a forecast may cost.
#[derive(Clone, Copy, Debug)]
pub enum Spending {
    /// The same at each: [`PROBES`] and [`WORK`].
    Fixed,
    /// What a running check spends: a few hundredths of the search since the last.
    Beside,
}

/// One forecast.
#[derive(Clone, Copy, Debug)]
pub struct Foreseen {
    /// Executions before it.
    pub done: u64,
    /// The estimate; none if there was none.
    pub estimate: Option<Estimate>,
    /// The total time, in steps, that follows from it: executions times their mean length so far.
    pub steps: Option<f64>,
    /// What the search up to it took.
    pub search: Duration,
    /// What this and those before took.
    pub forecasts: Duration,
}

/// What the combinations said at one moment: executions and steps, as logarithms.
pub type Combined = Vec<[Option<f64>; 2]>;

/// What came of a workload.
pub struct Measured {
    /// The workload.
    pub workload: Workload,
    /// All executions that ran to their end.
    pub executions: u64,
    /// All executions, also those that were cut short.
    pub branches: u64,
    /// Steps of all.
    pub steps: u64,
    /// Most steps of one.
    pub depth: usize,
    /// What exploring it took, without recording.
    pub took: Duration,
    /// What the combinations said, at each share, in the order of [`Technique::all`].
    pub combined: Vec<Combined>,
    /// The forecasts with the same effort at each.
    pub fixed: Vec<Foreseen>,
    /// The forecasts with that of a running check.
    pub beside: Vec<Foreseen>,
}

/// 100·min(estimate/true, true/estimate), from the logarithm of the estimate.
pub fn accuracy(estimate: f64, truth: f64) -> f64 {
    100.0 * (-(estimate - truth.ln()).abs()).exp()
}

/// After how many executions a share of them is explored.
pub fn mark(executions: u64, share: f64) -> u64 {
    ((executions as f64 * share).ceil() as u64).max(1)
}

/// Explores a workload and looks at the estimates.
///
/// # Panics
/// If it cannot be run, or does not end.
pub fn measure(workload: &Workload) -> Measured {
    match &workload.program {
        Program::Library(program) => {
            let make = || {
                let program = program.clone();
                ordain::target(move || program())
            };
            measure_on(workload, make)
        }
        Program::Native(program, arguments) => measure_on(workload, || workloads::native(program, arguments)),
    }
}

fn measure_on<T: Target>(workload: &Workload, make: impl Fn() -> T) -> Measured {
    let trace = explore(&mut make(), workload.kind);
    let counts = Counts { executions: trace.executions, branches: trace.branches };
    let combined = combine(&trace.events, trace.branches);
    drop(trace.events);
    let marks = SHARES.map(|share| mark(counts.branches, share));
    let foresee = |spending| forecasts(&mut make(), workload.kind, &marks, spending);
    Measured {
        workload: workload.clone(),
        executions: counts.executions,
        branches: counts.branches,
        steps: trace.steps,
        depth: trace.depth,
        took: trace.took,
        combined,
        fixed: foresee(Spending::Fixed),
        beside: foresee(Spending::Beside),
    }
}

struct Counts {
    executions: u64,
    branches: u64,
}

/// A whole exploration.
struct Trace {
    events: Vec<Event>,
    executions: u64,
    branches: u64,
    steps: u64,
    depth: usize,
    took: Duration,
}

/// Runs the next plan of a strategy. `false` if nothing is left.
///
/// # Panics
/// If the program departs from the plan: it cannot be run here.
fn advance<T: Target>(target: &mut T, strategy: &mut dyn Strategy) -> bool {
    match strategy.plan() {
        Some(mut plan) => target.run(&mut plan),
        None => return false,
    }
    let end = &target.execution().end;
    assert!(!matches!(end, End::Diverged(_)), "the program is not deterministic: {end:?}");
    true
}

/// Explores everything and records it, with steps for time.
fn explore<T: Target>(target: &mut T, kind: Kind) -> Trace {
    let mut strategy = kind.make(0, 3);
    let (mut recorder, mut events) = (Recorder::default(), Vec::new());
    let (mut executions, mut branches, mut steps, mut depth) = (0, 0, 0, 0);
    let mut took = Duration::ZERO;
    loop {
        let begin = Instant::now();
        if !advance(target, &mut *strategy) {
            break;
        }
        let execution = target.execution();
        if execution.learned {
            strategy.restart();
            recorder.restart();
            events.clear();
            (executions, branches, steps) = (0, 0, 0);
            continue;
        }
        strategy.learn(execution);
        took += begin.elapsed();
        let length = execution.steps.len();
        recorder.record(execution, &*strategy, length as f64, &mut |event| events.push(event));
        executions += u64::from(!matches!(execution.end, End::Cut));
        (branches, steps, depth) = (branches + 1, steps + length as u64, depth.max(length));
        assert!(branches < MOST, "it has more than {MOST} executions");
    }
    Trace { events, executions, branches, steps, depth, took }
}

/// What all combinations say at the shares of a trace.
fn combine(events: &[Event], branches: u64) -> Vec<Combined> {
    let mut tree = Backtracks::with_oracle(events.iter());
    let marks = SHARES.map(|share| mark(branches, share));
    let mut combined = vec![Combined::new(); SHARES.len()];
    for event in events {
        tree.take(event).unwrap_or_else(|error| panic!("the trace makes no sense: {error}"));
        if !matches!(event, Event::End { .. }) {
            continue;
        }
        for (at, _) in marks.iter().enumerate().filter(|(_, mark)| **mark == tree.executions()) {
            let both = |t| [Measure::Executions, Measure::Time].map(|measure| tree.estimate(t, measure));
            combined[at] = Technique::all().map(both).collect();
        }
        if tree.executions() >= marks[SHARES.len() - 1] {
            break;
        }
    }
    combined
}

/// What is foreseen when so many executions have been made, cut ones included.
pub fn forecasts<T: Target>(target: &mut T, kind: Kind, marks: &[u64], spending: Spending) -> Vec<Foreseen> {
    let mut strategy = kind.make(0, 3);
    let mut foresight = Foresight::default();
    let mut seen: Vec<Foreseen> = Vec::new();
    let (mut executions, mut branches, mut steps) = (0, 0, 0);
    // Executions and steps at the last forecast.
    let mut last = (0, 0);
    let (mut search, mut spent) = (Duration::ZERO, Duration::ZERO);
    while seen.len() < marks.len() {
        let begin = Instant::now();
        if !advance(target, &mut *strategy) {
            break;
        }
        let execution = target.execution();
        let cut = matches!(execution.end, End::Cut);
        if execution.learned {
            strategy.restart();
            foresight.restart();
            (executions, branches, steps, last) = (0, 0, 0, (0, 0));
            continue;
        }
        strategy.learn(execution);
        foresight.hear(execution);
        (executions, branches, steps) =
            (executions + u64::from(!cut), branches + 1, steps + execution.steps.len() as u64);
        search += begin.elapsed();
        if branches != marks[seen.len()] {
            continue;
        }
        let effort = match spending {
            Spending::Fixed => {
                let mut effort = Effort::of(WORK);
                effort.probes = PROBES;
                effort
            }
            Spending::Beside => Effort::beside(executions - last.0, steps - last.1),
        };
        last = (executions, steps);
        let begin = Instant::now();
        let estimate =
            match foresight.forecast(target, &mut *strategy, executions, effort, &mut |_| ControlFlow::Continue(())) {
                Forecast::Estimate(estimate) => estimate,
                Forecast::Broken => None,
                Forecast::Restarted => {
                    seen.clear();
                    (executions, branches, steps, last) = (0, 0, 0, (0, 0));
                    continue;
                }
            };
        spent += begin.elapsed();
        let foreseen = Foreseen {
            done: executions,
            estimate,
            steps: estimate.map(|e| e.ln + (steps as f64 / executions.max(1) as f64).ln()),
            search,
            forecasts: spent,
        };
        // Small workloads reach several shares at once.
        while marks.get(seen.len()) == Some(&branches) {
            seen.push(foreseen);
        }
    }
    seen
}

/// What is foreseen of a workload on the way, by a running check that looks after so many executions.
pub fn curve(workload: &Workload, marks: &[u64], spending: Spending) -> Vec<Foreseen> {
    match &workload.program {
        Program::Library(program) => {
            let program = program.clone();
            forecasts(&mut ordain::target(move || program()), workload.kind, marks, spending)
        }
        Program::Native(program, arguments) => {
            forecasts(&mut workloads::native(program, arguments), workload.kind, marks, spending)
        }
    }
}
