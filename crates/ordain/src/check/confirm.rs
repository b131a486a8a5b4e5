//! From what an execution showed to a finding: its schedule is made smaller and run again.

use super::{Noticed, Run, Watch};
use crate::finding::{self, Finding, FindingKind};
use crate::rt::Executor;
use ordain_explore::{Lowest, Plan, Planned, Preemptions, Target as _, shrink};
use ordain_report::Shrunk;
use std::cell::RefCell;
use std::time::Instant;

/// Steps that are kept of an execution that goes on for ever.
const BEGINNING: usize = 1_000;

impl Run<'_> {
    /// Makes a finding's schedule smaller and runs it again: only what happens again is shown as it is.
    pub(super) fn confirm(&mut self, noticed: Noticed, number: usize) -> Finding {
        if matches!(noticed.kind, FindingKind::Nondeterminism) {
            return self.describe(noticed, number, &[], None);
        }
        if matches!(noticed.kind, FindingKind::Livelock | FindingKind::StepLimit) {
            // What goes on for ever needs only its beginning: the rest follows by itself.
            let beginning = noticed.prefix.len().min(BEGINNING);
            let (again, preemptions) = self.run_schedule(&noticed.prefix[..beginning]);
            if let Some(mut again) = again.filter(|a| a.kind == noticed.kind) {
                again.prefix.truncate(beginning);
                return self.describe(again, number, &preemptions, None);
            }
        }
        let (again, preemptions) = self.run_schedule(&noticed.prefix);
        match again {
            Some(again) if again.is_like(&noticed) => self.describe_small(again, number, preemptions),
            other => {
                let what = match &other {
                    Some(other) if other.kind == noticed.kind => {
                        format!("showed it at another place ({})", other.message)
                    }
                    Some(other) => format!("showed a {}", other.kind.title()),
                    None => "ended well".to_owned(),
                };
                let message = format!(
                    "a {} was found ({}), but the same schedule then {what}. {}",
                    noticed.kind.title(),
                    noticed.message,
                    finding::NONDETERMINISM_ADVICE
                );
                let (kind, prefix) = (FindingKind::Nondeterminism, noticed.prefix);
                self.describe(Noticed { kind, message, prefix, place: String::new() }, number, &preemptions, None)
            }
        }
    }

    /// Describes a finding with a schedule as small as can be; the last execution shows it with the schedule that was found.
    pub(super) fn describe_small(&mut self, noticed: Noticed, number: usize, preemptions: Vec<usize>) -> Finding {
        let endless = matches!(noticed.kind, FindingKind::Livelock | FindingKind::StepLimit);
        let shrunk = if endless { None } else { self.shrink(&noticed) };
        let Some(ordain_explore::Shrunk { prefix, from, executions, fewest, stopped, .. }) = shrunk else {
            return self.describe(noticed, number, &preemptions, None);
        };
        let shrunk = Some(Shrunk { from, executions, fewest, stopped });
        match self.run_schedule(&prefix) {
            (Some(again), preemptions) if again.is_like(&noticed) => self.describe(again, number, &preemptions, shrunk),
            _ => {
                // It is deterministic, so this cannot be; but what was found first is true in any case.
                self.run_schedule(&noticed.prefix);
                self.describe(noticed, number, &preemptions, None)
            }
        }
    }

    /// Looks for a smaller schedule that shows the same, as long as that may take.
    pub(super) fn shrink(&mut self, noticed: &Noticed) -> Option<ordain_explore::Shrunk> {
        let (limit, started) = (self.check.shrink_time, Instant::now());
        if limit.is_zero() {
            return None;
        }
        let mut races = Vec::new();
        let mut shows =
            |executor: &mut Executor| finding::notice(executor, &mut races).is_some_and(|again| again.is_like(noticed));
        shrink(&mut self.executor, &noticed.prefix, &mut shows, &mut || started.elapsed() < limit)
    }

    /// Runs a schedule; gives what it showed, and which of its steps were preemptions.
    pub(super) fn run_schedule(&mut self, prefix: &[Planned]) -> (Option<Noticed>, Vec<usize>) {
        let found = RefCell::new(None);
        let mut policy = Preemptions::of(Lowest);
        let mut plan = Plan::follow(prefix, &mut policy);
        Watch { target: &mut self.executor, races: Vec::new(), found: &found }.run(&mut plan);
        (found.into_inner(), policy.steps)
    }

    /// Makes the finding that the last execution shows presentable, and writes its schedule.
    pub(super) fn describe(
        &self,
        noticed: Noticed,
        number: usize,
        preemptions: &[usize],
        shrunk: Option<Shrunk>,
    ) -> Finding {
        let directory = self.check.directory.as_deref();
        let context = finding::Context { check: &self.name, directory, number, preemptions, shrunk };
        finding::describe(&self.executor, noticed, &context)
    }
}
