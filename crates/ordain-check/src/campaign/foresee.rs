//! Estimates of how much there is, during a search and at its end.

use super::{Attempt, Campaign, TURN};
use crate::explorer::Explorer;
use crate::limit::Limit;
use crate::turn::{Allowance, Job, Part, Wanted};
use ordain_explore::Summary;
use ordain_explore::estimate::Estimate as Total;
use ordain_explore::strategy::{Kind as StrategyKind, Portfolio};
use ordain_report::Estimate;
use std::time::{Duration, Instant};

/// Time between estimates of how much there is, and before the first.
pub(super) const FORESEEN: Duration = Duration::from_secs(1);
const FIRST_FORESEEN: Duration = Duration::from_millis(300);
/// How often its own time an estimate is not made again.
const SHARE: u32 = 25;
/// How long the last word on a search may take, which comes when the time is over.
const MOMENT: Duration = Duration::from_millis(200);

impl<E: Explorer> Campaign<'_, E> {
    /// Whether it is time for an estimate, given how long the present turn may take.
    pub(super) fn wants_forecast(&self, time: Duration) -> Wanted {
        let since = self.foreseen.elapsed();
        // What is led is stopped by an estimate; what explores by itself makes it at the end of a turn.
        let first = if self.worker.leads() { FORESEEN } else { FIRST_FORESEEN };
        let due = since >= FORESEEN || self.estimate.is_none() && since >= first || time <= TURN;
        let affordable = since >= SHARE * self.forecast_cost;
        if due && affordable && self.is_exhaustive() { Wanted::Rough } else { Wanted::No }
    }

    /// Takes an estimate that was made now, and what it cost.
    pub(super) fn take_estimate(&mut self, estimate: Option<Total>, cost: Duration) {
        (self.foreseen, self.forecast_cost) = (Instant::now(), cost);
        if let Some(e) = estimate {
            self.estimate = Some(Estimate::from_ln(e.ln, e.low, e.high, e.done));
        }
    }

    /// Gives the program a moment more, though the time is over.
    pub(super) fn in_a_moment<R>(&mut self, what: impl FnOnce(&mut Self) -> R) -> R {
        let moment = Limit::soon(MOMENT);
        let before = std::mem::replace(&mut self.limit, moment.clone());
        self.worker.explorer.set_limit(moment);
        let result = what(self);
        self.worker.explorer.set_limit(before.clone());
        self.limit = before;
        result
    }

    /// Estimates as well as can be how much there is, at the end of a search that could not explore all of it. That runs the program a few
    /// times in random orders; if they show something, it is a finding.
    pub(super) fn look_at_what_is_left(&mut self, job: &Job, total: &Summary) -> Attempt<(), E> {
        let allowance =
            Allowance { before: total.executions, executions: 0, time: TURN, forecast: Wanted::Best, keep: false };
        let explored =
            self.in_a_moment(|campaign| campaign.worker.explore(job, Part::Whole, &allowance, None, &campaign.limit));
        let Some(turn) = explored? else { return Ok(()) };
        self.take_estimate(turn.estimate, Duration::ZERO);
        self.branch_points = turn.branch_points;
        self.failing += turn.failing;
        match turn.observation {
            Some(observation) if !self.is_known(&observation) => self.keep(observation),
            _ => Ok(()),
        }
    }

    /// What was explored rests on a wrong assumption: from `before` on it is explored again.
    pub(super) fn begin_again(&mut self, total: &mut Summary, before: Summary) {
        self.discarded += total.executions.saturating_sub(before.executions);
        *total = Summary { executions: before.executions, blocked: before.blocked, ..*total };
        (self.estimate, self.failing) = (None, self.observed.len() as u64);
        self.classes.clear();
        self.took_turns = false;
    }

    /// How many executions were of the search itself, and not samples of a portfolio.
    pub(super) fn searched(&self, total: &Summary) -> u64 {
        total.executions - self.samples(total)
    }

    /// How many executions were samples of a portfolio.
    pub(super) fn samples(&self, total: &Summary) -> u64 {
        let samples = self.kind == StrategyKind::Portfolio;
        if samples { Portfolio::samples(total.executions, self.divided_among.max(1) as u64) } else { 0 }
    }
}
