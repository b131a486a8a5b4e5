//! From what an execution showed to a finding: made smaller, shown again in a fresh process, described.

use super::run::Run;
use super::{Check, Problem};
use crate::finding::{self, Finding, Noticed};
use crate::limit::Limit;
use crate::target::Native;
use ordain_explore::{Lowest, Plan, Planned, Preemptions, Target, prefix_of, shrink};
use ordain_model::{Divergence, End};
use ordain_report::{Kind, Shrunk};
use ordain_wire::Mode;
use std::time::Instant;

/// More findings than this are not kept.
const MOST_FINDINGS: usize = 100;

impl Check {
    /// A plan could not be followed. If a fresh process does the same, the program synchronises in ways that are not visible. If it does
    /// something else, the program is not deterministic, or the mode does not put everything back.
    pub(super) fn explain_departure(&self, native: &Native, divergence: &Divergence) -> Result<String, Problem> {
        let difference = self.difference(native, divergence);
        let mut steps = prefix_of(native.execution());
        steps.truncate(divergence.step);
        steps.push(Planned { transition: divergence.expected, op: divergence.expected_op });
        let mut fresh = native.fresh(Mode::Exec)?;
        fresh.run(&mut Plan::follow(&steps, &mut Lowest));
        if let Some(failure) = fresh.failure() {
            return Err(failure.clone().into());
        }
        let same = |again: &Divergence| match (&again.found, &divergence.found) {
            (Some(again), Some(found)) => again.is_as_planned(found),
            (again, found) => again.is_none() && found.is_none(),
        };
        match fresh.execution().end.clone() {
            End::Diverged(again) if again.step == divergence.step && same(&again) => Ok(difference),
            End::Diverged(again) if again.step < divergence.step => {
                Err(Problem::Nondeterminism { step: again.step, difference: self.difference(&fresh, &again) })
            }
            _ => Err(Problem::Nondeterminism { step: divergence.step, difference }),
        }
    }
}

impl Run<'_> {
    /// Confirms what was noticed, and keeps it.
    pub(super) fn keep(&mut self, noticed: Noticed) -> Result<(), Problem> {
        self.noticed.push(noticed.clone());
        let finding = self.confirm(noticed)?;
        if self.findings.len() < MOST_FINDINGS {
            self.findings.push(finding);
        }
        Ok(())
    }

    /// Makes the schedule of what was noticed smaller, as far as time allows.
    fn shrink(&mut self, noticed: &mut Noticed) -> Result<Option<Shrunk>, Problem> {
        // What is found when the time is over is shown as it is.
        let limit = self.check.shrink_time.min(self.limit.left());
        // A hang takes seconds each time that it shows.
        let worthwhile = noticed.prefix.len() > 1 && !matches!(noticed.kind, Kind::StepLimit | Kind::Livelock);
        if limit.is_zero() || !worthwhile {
            return Ok(None);
        }
        let mut target = self.native.fresh(self.native.mode())?;
        let started = Instant::now();
        target.set_limit(Limit::at(started.checked_add(limit)).or(self.observer.stop_flag()));
        let (kind, place, status) = (noticed.kind, noticed.place.clone(), self.check.expected_status);
        let usual = if kind == Kind::Output { self.outputs.first() } else { None };
        let mut shows = |native: &mut Native| {
            let shown = match usual {
                Some(usual) => finding::notice(native, status).or_else(|| finding::unlike(usual, native)),
                None => finding::notice(native, status),
            };
            shown.is_some_and(|n| n.kind == kind && n.place == place)
        };
        let observer = &mut *self.observer;
        let mut go_on = || {
            let elapsed = started.elapsed();
            observer.shrinking(kind, elapsed);
            elapsed < limit && !observer.is_stopped()
        };
        let shrunk = shrink(&mut target, &noticed.prefix, &mut shows, &mut go_on);
        if let Some(failure) = target.failure().filter(|_| !target.is_over()) {
            return Err(failure.clone().into());
        }
        Ok(shrunk.map(|smaller| {
            noticed.prefix = smaller.prefix;
            Shrunk {
                from: smaller.from,
                executions: smaller.executions,
                fewest: smaller.fewest,
                stopped: smaller.stopped,
            }
        }))
    }

    /// Shows the finding in a fresh process and describes it.
    fn confirm(&mut self, mut noticed: Noticed) -> Result<Finding, Problem> {
        let found = noticed.clone();
        let shrunk = self.shrink(&mut noticed)?;
        match self.show_again(&noticed, shrunk)? {
            Some(finding) => Ok(finding),
            // What was made smaller in another mode must show in a fresh process too; if not, what was found is told as it is.
            None if shrunk.is_some() => self.show_again(&found, None)?.ok_or_else(|| unconfirmed(&found)),
            None => Err(unconfirmed(&found)),
        }
    }

    fn show_again(&mut self, noticed: &Noticed, shrunk: Option<Shrunk>) -> Result<Option<Finding>, Problem> {
        let mut fresh = self.native.fresh(Mode::Exec)?;
        let mut policy = Preemptions::of(Lowest);
        fresh.run(&mut Plan::follow(&noticed.prefix, &mut policy));
        if let Some(failure) = fresh.failure() {
            return Err(failure.clone().into());
        }
        let usual = self.outputs.first().filter(|_| noticed.kind == Kind::Output);
        let again = match usual {
            Some(usual) => finding::unlike(usual, &mut fresh),
            None => finding::notice(&fresh, self.check.expected_status),
        };
        let Some(again) = again.filter(|again| again.kind == noticed.kind) else { return Ok(None) };
        let context = finding::Context {
            check: self.check,
            number: self.findings.len() + 1,
            preemptions: &policy.steps,
            shrunk,
            usual,
        };
        let again = Noticed { prefix: noticed.prefix.clone(), ..again };
        Ok(Some(finding::describe(&mut fresh, &again, &context)))
    }
}

fn unconfirmed(noticed: &Noticed) -> Problem {
    Problem::Unconfirmed { kind: noticed.kind.word(), message: noticed.message.clone() }
}
