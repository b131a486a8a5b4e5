//! Plain depth-first search: every schedule, whatever is independent. The oracle for everything else.

use crate::plan::{Pick, Plan, Planned, Policy};
use crate::search::{Coverage, Strategy};
use alloc::vec::Vec;
use ordain_model::{Arbiter, Execution, Transition};

/// Takes the first enabled transition and remembers what else was enabled.
#[derive(Default)]
struct Remember {
    enabled: Vec<Vec<Transition>>,
}

impl Policy for Remember {
    fn pick(&mut self, arbiter: &mut Arbiter) -> Pick {
        let depth = arbiter.execution().steps.len();
        if self.enabled.len() <= depth {
            self.enabled.resize_with(depth + 1, Vec::new);
        }
        arbiter.enabled(&mut self.enabled[depth]);
        self.enabled[depth].first().map_or(Pick::Nothing, |t| Pick::Take(*t))
    }
}

/// Plain depth-first search.
#[derive(Default)]
pub struct Dfs {
    prefix: Vec<Planned>,
    policy: Remember,
    finished: bool,
}

impl Strategy for Dfs {
    fn plan(&mut self) -> Option<Plan<'_>> {
        if self.finished {
            return None;
        }
        Some(Plan::new(&self.prefix, &mut self.policy))
    }

    fn learn(&mut self, execution: &Execution) {
        for depth in (0..execution.steps.len()).rev() {
            let taken = execution.steps[depth].transition();
            let enabled = &self.policy.enabled[depth];
            let next = enabled.iter().skip_while(|t| **t != taken).nth(1);
            if let Some(&next) = next {
                self.prefix.truncate(depth);
                for s in &execution.steps[self.prefix.len()..depth] {
                    self.prefix.push(Planned { transition: s.transition(), op: Some(s.op) });
                }
                self.prefix.push(Planned { transition: next, op: None });
                return;
            }
        }
        self.finished = true;
    }

    fn restart(&mut self) {
        *self = Self::default();
    }

    fn coverage(&self) -> Coverage {
        Coverage::Everything
    }
}
