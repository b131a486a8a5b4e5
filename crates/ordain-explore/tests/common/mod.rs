//! A small language of concurrent programs, interpreted on the arbiter alone: the target of the property tests.
#![allow(dead_code, unreachable_pub, unused_imports)] // Each test file uses a part of it.

use ordain_explore::{Class, Strategy, Summary, Target, class_of, search};
use ordain_model::End;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

pub mod compare;
mod interpreter;
mod outside;
mod program;
pub mod random;

pub use interpreter::{CELLS, Interpreter};
pub use program::{I, Opts, Program};

/// What an exploration has found.
#[derive(Default)]
pub struct Explored {
    /// How often each class was run to its end, and the final state it had.
    pub classes: BTreeMap<Class, (u64, u64)>,
    pub final_states: BTreeSet<u64>,
    pub deadlocks: BTreeSet<Class>,
    pub livelocks: BTreeSet<Class>,
    pub summary: Summary,
    /// A class that ended in two different states: independent steps that are not.
    pub inconsistent: bool,
    /// The limit was hit.
    pub limited: bool,
}

/// Explores a program, at most `limit` executions.
pub fn explore(program: &Program, strategy: &mut dyn Strategy, limit: u64) -> Explored {
    let mut explored = Explored::default();
    let mut target = Interpreter::new(program.clone());
    // The observer sees the target only as a target; the state is read through a shared cell of the run before.
    let mut summary = Summary::default();
    loop {
        let Some(mut plan) = strategy.plan() else {
            summary.exhausted = true;
            break;
        };
        target.run(&mut plan);
        let execution = target.execution();
        if let End::Diverged(divergence) = &execution.end {
            panic!("diverged: {divergence:?}\n{program:?}");
        }
        assert!(!matches!(execution.end, End::StepLimit), "step limit: {program:?}");
        if execution.learned {
            strategy.restart();
            explored = Explored::default();
            summary = Summary::default();
            continue;
        }
        if matches!(execution.end, End::Cut) || strategy.in_vain() {
            summary.blocked += 1;
        } else {
            summary.executions += 1;
            let class = class_of(execution);
            let state = target.final_state();
            explored.final_states.insert(state);
            match &execution.end {
                End::Deadlock(_) => {
                    explored.deadlocks.insert(class);
                }
                End::Livelock { .. } => {
                    explored.livelocks.insert(class);
                }
                _ => {}
            }
            let entry = explored.classes.entry(class).or_insert((0, state));
            entry.0 += 1;
            explored.inconsistent |= entry.1 != state;
        }
        summary.steps += execution.steps.len() as u64;
        strategy.learn(execution);
        if summary.executions + summary.blocked >= limit {
            explored.limited = true;
            break;
        }
    }
    explored.summary = summary;
    explored
}

/// Runs a strategy through the library's own loop and counts.
pub fn count(program: &Program, strategy: &mut dyn Strategy) -> Summary {
    let mut target = Interpreter::new(program.clone());
    search(&mut target, strategy, &mut |target, _| {
        assert!(!matches!(target.execution().end, End::Diverged(_)), "diverged");
        ControlFlow::Continue(())
    })
}
