//! Plain depth-first search: every schedule, whatever is independent. The oracle for everything else.

use crate::estimate::Path;
use crate::plan::{Pick, Plan, Planned, Policy};
use crate::search::{Coverage, Strategy};
use crate::wakeup::Sleeper;
use alloc::vec::Vec;
use ordain_model::{Access, Arbiter, Execution, Footprint, Transition};

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
    /// What was done beside the path, at each of its states.
    done: Vec<Vec<Sleeper>>,
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
                self.done.resize_with(depth + 1, Vec::new);
                let footprint = Footprint::from_slice(&[Access::EVERYTHING]);
                self.done[depth].push(Sleeper { transition: taken, footprint });
                return;
            }
        }
        self.finished = true;
    }

    fn path(&self) -> Option<Path<'_>> {
        let kept = self.prefix.len().checked_sub(1).filter(|_| !self.finished)?;
        let sleep = self.done[..=kept].iter().map(Vec::as_slice).collect();
        Some(Path { prefix: &self.prefix, kept, sleep, reduces: false, samples: 0 })
    }

    fn scheduled(&self, depth: usize, out: &mut Vec<Transition>) {
        let (Some(enabled), Some(taken)) = (self.policy.enabled.get(depth), self.prefix.get(depth)) else { return };
        out.extend(enabled.iter().skip_while(|t| **t != taken.transition).skip(1));
    }

    fn restart(&mut self) {
        *self = Self::default();
    }

    fn coverage(&self) -> Coverage {
        Coverage::Everything
    }
}
