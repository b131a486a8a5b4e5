//! Estimates of how much there is, during a search and at its end.

use super::Problem;
use super::run::{Run, TURN};
use crate::finding::{self, Noticed};
use crate::limit::Limit;
use crate::target::{Allowance, Search, Wanted};
use ordain_explore::estimate::{Effort, Forecast};
use ordain_explore::strategy::{Kind as StrategyKind, Portfolio};
use ordain_explore::{Strategy, Summary};
use ordain_report::Estimate;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// Time between estimates of how much there is, and before the first.
pub(super) const FORESEEN: Duration = Duration::from_secs(1);
const FIRST_FORESEEN: Duration = Duration::from_millis(300);
/// How often its own time an estimate is not made again.
const SHARE: u32 = 25;
/// How long the last word on a search may take, which comes when the time is over.
const MOMENT: Duration = Duration::from_millis(200);

impl Run<'_> {
    /// Whether it is time for an estimate, given how long the present turn may take.
    pub(super) fn wants_forecast(&self, time: Duration) -> Wanted {
        let since = self.foreseen.1.elapsed();
        let due = since >= FORESEEN || self.estimate.is_none() && since >= FIRST_FORESEEN || time <= TURN;
        let affordable = since >= SHARE * self.forecast_cost;
        if due && affordable && self.is_exhaustive() { Wanted::Rough } else { Wanted::No }
    }

    /// Takes an estimate that was made now, and what it cost.
    pub(super) fn take_estimate(&mut self, estimate: Option<ordain_explore::estimate::Estimate>, cost: Duration) {
        (self.foreseen.1, self.forecast_cost) = (Instant::now(), cost);
        if let Some(e) = estimate {
            self.estimate = Some(Estimate::from_ln(e.ln, e.low, e.high, e.done));
        }
    }

    /// Gives the program a moment more, though the time is over.
    pub(super) fn in_a_moment<R>(&mut self, what: impl FnOnce(&mut Self) -> R) -> R {
        let before = self.native.set_limit(Limit::soon(MOMENT));
        let result = what(self);
        self.native.set_limit(before);
        result
    }

    /// Estimates as well as can be how much there is, at the end of a search that could not explore all of it. That runs the program a few
    /// times in random orders; if they show something, it is a finding.
    pub(super) fn look_at_what_is_left(&mut self, job: &Search, total: &Summary) -> Result<(), Problem> {
        let allowance =
            Allowance { before: total.executions, executions: 0, time: TURN, forecast: Wanted::Best, keep: false };
        let Some(turn) = self.in_a_moment(|run| run.native.explore(job, &allowance))? else { return Ok(()) };
        self.take_estimate(turn.estimate, Duration::ZERO);
        self.crossings = turn.crossings;
        if turn.telling
            && let Some(noticed) = finding::notice(&self.native, self.check.expected_status)
        {
            self.keep(noticed)?;
        }
        Ok(())
    }

    /// Estimates how much there is in a search that is led from here; gives what was noticed.
    pub(super) fn forecast(
        &mut self,
        strategy: &mut dyn Strategy,
        total: &mut Summary,
        effort: Effort<'_>,
    ) -> Option<Noticed> {
        let (check, known) = (self.check, (&self.noticed, &self.unconfirmed_places));
        let mut interesting = None;
        let (done, begin) = (total.executions, Instant::now());
        let end = begin + self.limit.left().min(FORESEEN).max(MOMENT);
        let is_over = || Instant::now() >= end;
        let forecast =
            self.foresight.forecast(&mut self.native, strategy, done, effort.until(&is_over), &mut |native| {
                interesting = finding::notice(native, check.expected_status)
                    .filter(|n| !known.0.iter().chain(known.1).any(|k| k.is_like(n)));
                let over = interesting.is_some() || native.failure().is_some();
                if over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
        match forecast {
            Forecast::Estimate(estimate) => self.take_estimate(estimate, begin.elapsed()),
            Forecast::Restarted => self.begin_again(total, Summary::default()),
            Forecast::Broken => {}
        }
        self.foreseen = (*total, Instant::now());
        interesting
    }

    /// What was explored rests on a wrong assumption: from `before` on it is explored again.
    pub(super) fn begin_again(&mut self, total: &mut Summary, before: Summary) {
        self.discarded += total.executions.saturating_sub(before.executions);
        *total = Summary { executions: before.executions, blocked: before.blocked, ..*total };
        self.estimate = None;
        self.classes.clear();
    }

    /// How many executions were of the search itself, and not samples of a portfolio.
    pub(super) fn searched(&self, total: &Summary) -> u64 {
        total.executions - self.samples(total)
    }

    /// How many executions were samples of a portfolio.
    pub(super) fn samples(&self, total: &Summary) -> u64 {
        let samples = self.kind() == StrategyKind::Portfolio;
        if samples { Portfolio::samples(total.executions, self.workers as u64) } else { 0 }
    }
}
