//! The path of a search in words.

use crate::run::Branch;
use ordain_model::describe::{self, Words};
use ordain_model::{Execution, Transition};

/// Says what was done and what can be done in the state after so many steps of an execution.
pub fn branch(
    words: &dyn Words,
    execution: &Execution,
    depth: usize,
    taken: Transition,
    explored: &[Transition],
    left: &[Transition],
) -> Branch {
    let tell = |transition: &Transition| {
        let who = words.thread(transition.thread);
        let steps = execution.steps.get(depth..).unwrap_or_default();
        let next = steps.iter().find(|s| s.thread == transition.thread).map(|s| s.op);
        let next = next.or_else(|| execution.pending.iter().find(|p| p.thread == transition.thread).map(|p| p.op));
        let outcome =
            if transition.choice > 0 { format!(" (outcome {})", transition.choice + 1) } else { String::new() };
        match next {
            Some(op) => format!("{who} {}{outcome}", describe::operation(words, &op)),
            None => format!("{who}{outcome}"),
        }
    };
    let all = |transitions: &[Transition]| transitions.iter().map(tell).collect();
    Branch { taken: tell(&taken), explored: all(explored), left: all(left) }
}
