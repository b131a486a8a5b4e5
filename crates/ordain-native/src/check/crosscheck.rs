//! The cross-check of a search that explored everything and found nothing, before its verdict is told.
//!
//! A search goes by what is visible. If threads also synchronise by memory, other orders than those it thinks of lead to other classes, which
//! it never sees. Samples do not reason: so random, PCT and POS schedules are drawn, and each must end well and belong to a class that
//! was explored.

use super::Problem;
use super::run::{Run, TURN};
use crate::finding::{self, Noticed};
use crate::target::{Allowance, Native, Recognised, Search, Wanted};
use ordain_explore::strategy::Mixed;
use ordain_explore::{Lowest, Plan, Summary, Target, key_of, prefix_of, search};
use ordain_model::{End, Execution};
use ordain_wire::Mode;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// Samples that are drawn at least.
pub(super) const LEAST: u64 = 1000;
/// More are drawn in this part of the time that the search took.
const SHARE: u32 = 10;
/// Samples are not those that a portfolio has drawn with the same seed.
pub(super) const SEED: u64 = 0x6372_6f73_735f_6368;
/// How often a lost process is started again.
const ATTEMPTS: u32 = 3;

/// Why a verdict is retracted if samples show that more must be told apart than the search did.
const TAUGHT: &str = "a sampled schedule shows that more steps depend on each other than the search took for granted";

/// What a cross-check came to.
pub(super) enum CrossCheck {
    /// Everything was as the search says.
    Held,
    /// Something was not: why there is no verdict.
    Retracted(String),
    /// It did not come to its end.
    Unfinished,
}

/// What a sample showed.
enum Shown {
    Finding(Noticed),
    /// Nobody has explored its class.
    Unexplored,
    /// A loop that was taken to wait ends by itself.
    Learned,
}

/// Whether the class of an execution says something: held threads make rounds that are not all explored.
pub(super) fn is_comparable(execution: &Execution) -> bool {
    !execution.spin_held && !matches!(execution.end, End::Cut | End::Diverged(_))
}

impl Run<'_> {
    /// Draws samples after a search that took so long, and made these executions.
    pub(super) fn cross_check(&mut self, searched: Duration, total: &Summary) -> Result<CrossCheck, Problem> {
        let (begin, time) = (Instant::now(), searched / SHARE);
        self.native.begin_with(None);
        let mut inside = self.native.mode() != Mode::Exec && !self.check.compare_output;
        if inside {
            self.native.restart_search();
            self.native.write_classes(&self.classes)?;
        }
        let mut strategy = Mixed::new(self.check.seed ^ SEED);
        let mut attempts = 0;
        let known = self.native.loops().len();
        while self.cross_checked < LEAST || begin.elapsed() < time {
            let left = LEAST.saturating_sub(self.cross_checked);
            let most = if left > 0 { left } else { u64::MAX };
            let turn = self.limit.left().min(TURN).min(self.observer.allowance(total.executions).0);
            let (drawn, shown) = match inside {
                true => match self.sample_inside(most, turn)? {
                    Some(sampled) => sampled,
                    None if self.native.is_over() => return Ok(CrossCheck::Unfinished),
                    None => {
                        attempts += 1;
                        inside = attempts <= ATTEMPTS && self.native.mode() != Mode::Exec;
                        if inside {
                            self.native.write_classes(&self.classes)?;
                        }
                        continue;
                    }
                },
                false => self.sample_from_here(&mut strategy, most, turn)?,
            };
            self.cross_checked += drawn;
            self.tell_progress(total);
            self.note_end();
            let taught = self.native.loops().len() > known;
            match shown {
                None if self.timed_out || self.interrupted => return Ok(CrossCheck::Unfinished),
                None if taught => return Ok(CrossCheck::Retracted(TAUGHT.into())),
                None => {}
                Some(Shown::Finding(noticed)) => {
                    self.keep(noticed)?;
                    return Ok(CrossCheck::Retracted(
                        "a sampled schedule shows a finding that the search did not meet".into(),
                    ));
                }
                // Under what was known before, its class could not be explored.
                Some(Shown::Unexplored) if taught => return Ok(CrossCheck::Retracted(TAUGHT.into())),
                Some(Shown::Unexplored) => {
                    if !self.confirm_unexplored()? {
                        return Ok(CrossCheck::Unfinished);
                    }
                    return Ok(CrossCheck::Retracted(
                        "a sampled schedule belongs to a class that the search did not come to".into(),
                    ));
                }
                Some(Shown::Learned) => {
                    return Ok(CrossCheck::Retracted(
                        "a loop that the search took to wait for something ended by itself in a sampled schedule"
                            .into(),
                    ));
                }
            }
        }
        self.native.stop_exploring();
        Ok(CrossCheck::Held)
    }

    /// Lets the process draw samples; `None` if it was lost.
    fn sample_inside(&mut self, most: u64, time: Duration) -> Result<Option<(u64, Option<Shown>)>, Problem> {
        let seed = self.check.seed ^ SEED;
        let job = Search { seed, bound: None, recognise: Recognised::Compared, ..self.job() };
        let allowance =
            Allowance { before: self.cross_checked, executions: most, time, forecast: Wanted::No, keep: false };
        let Some(turn) = self.native.explore(&job, &allowance)? else { return Ok(None) };
        let noticed = if turn.telling { finding::notice(&self.native, self.check.expected_status) } else { None };
        let shown = match noticed {
            Some(noticed) => Some(Shown::Finding(noticed)),
            None if turn.telling && turn.unexplored => Some(Shown::Unexplored),
            None if turn.telling => {
                let message = format!("the process saw it end with {:?}", self.native.aftermath().ended);
                return Err(Problem::Unconfirmed { kind: "misbehaviour", message });
            }
            None => None,
        };
        Ok(Some((turn.summary.executions, shown)))
    }

    /// Leads samples from here.
    fn sample_from_here(
        &mut self,
        strategy: &mut Mixed,
        most: u64,
        time: Duration,
    ) -> Result<(u64, Option<Shown>), Problem> {
        let begin = Instant::now();
        let (classes, limit, check, outputs) = (&self.classes, &self.limit, self.check, &mut self.outputs);
        let mut shown = None;
        let summary = search(&mut self.native, strategy, &mut |native: &mut Native, summary| {
            let execution = native.execution();
            let learned = execution.learned;
            let unexplored = is_comparable(execution) && classes.is_unexplored(key_of(execution));
            shown = match finding::notice(native, check.expected_status) {
                Some(noticed) => Some(Shown::Finding(noticed)),
                None if check.compare_output => super::run::compare_output(native, outputs).map(Shown::Finding),
                None => None,
            };
            if shown.is_none() && (learned || unexplored) {
                shown = Some(if learned { Shown::Learned } else { Shown::Unexplored });
            }
            let over = summary.executions >= most || limit.is_over() || begin.elapsed() >= time;
            if shown.is_some() || over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        if self.native.is_over() {
            return Ok((summary.executions.saturating_sub(1), None));
        }
        match self.native.failure() {
            Some(failure) => Err(failure.clone().into()),
            None => Ok((summary.executions, shown)),
        }
    }

    /// Runs the schedule of the last execution, whose class nobody has explored, in a fresh process: it is the program's doing if that comes to
    /// such a class too. `false` if there is no time for that.
    fn confirm_unexplored(&mut self) -> Result<bool, Problem> {
        let steps = prefix_of(self.native.execution());
        self.native.end_process();
        let mut fresh = self.native.fresh(Mode::Exec)?;
        fresh.set_limit(self.limit.clone());
        fresh.run(&mut Plan::follow(&steps, &mut Lowest));
        if fresh.is_over() {
            self.note_end();
            return Ok(false);
        }
        if let Some(failure) = fresh.failure() {
            return Err(failure.clone().into());
        }
        if let End::Diverged(divergence) = &fresh.execution().end {
            let difference = self.check.difference(&fresh, divergence);
            return Err(Problem::Nondeterminism { step: divergence.step, difference });
        }
        if self.classes.is_unexplored(key_of(fresh.execution())) {
            return Ok(true);
        }
        let difference = "threads met in another order in a fresh process".into();
        Err(Problem::Nondeterminism { step: steps.len(), difference })
    }
}
