//! The cross-check of a search that explored everything and found nothing, before its verdict is told.
//!
//! A search goes by what is visible. If threads also synchronise by memory, other orders than those it thinks of lead to other classes, which
//! it never sees. Samples do not reason: so random, PCT and POS schedules are drawn, and each must end well and belong to a class that
//! was explored.

use super::{Attempt, Campaign, TURN, difference};
use crate::Problem;
use crate::explorer::{Explorer, Observation, Watched};
use crate::turn::{Allowance, Job, Part, Recognition, Wanted};
use ordain_explore::{Lowest, Plan, Summary, key_of, prefix_of};
use ordain_model::End;
use std::time::{Duration, Instant};

/// More samples than the least are drawn in this part of the time that the search took.
const SHARE: u32 = 10;
/// Samples are not those that a portfolio has drawn with the same seed.
pub(super) const SEED: u64 = 0x6372_6f73_735f_6368;
/// How often a lost process is started again.
const ATTEMPTS: u32 = 3;

/// Why a verdict is retracted if samples show that more must be told apart than the search did.
const TAUGHT: &str = "a sampled schedule shows that more steps depend on each other than the search took for granted";

/// Why a verdict is retracted for a finding.
const FINDING: &str = "a sampled schedule shows a finding that the search did not meet";

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
    Observation(Observation),
    /// Nobody has explored its class.
    Unexplored,
    /// A loop that was taken to wait ends by itself.
    Learned,
}

impl<E: Explorer> Campaign<'_, E> {
    /// Draws samples after a search that took so long, and made these executions.
    pub(super) fn cross_check(&mut self, searched: Duration, total: &Summary) -> Attempt<CrossCheck, E> {
        let (begin, time) = (Instant::now(), searched / SHARE);
        self.worker.begin_with(None);
        self.worker.compare_with(&self.classes)?;
        let mut attempts = 0;
        let known = self.worker.explorer.lessons().len();
        let (least, most) = self.worker.explorer.samples();
        while self.cross_checked < least || self.cross_checked < most && begin.elapsed() < time {
            let left = least.saturating_sub(self.cross_checked);
            let (most, left) = match left {
                0 => (most - self.cross_checked, time.saturating_sub(begin.elapsed())),
                _ => (left, TURN),
            };
            let turn = self.limit.left().min(TURN).min(left).min(self.observer.allowance(total.executions).0);
            let Some((drawn, shown)) = self.draw(most, turn)? else {
                if self.worker.explorer.is_over() {
                    return Ok(CrossCheck::Unfinished);
                }
                attempts += 1;
                if attempts > ATTEMPTS {
                    self.worker.lead();
                }
                self.worker.write_classes(&self.classes)?;
                continue;
            };
            self.cross_checked += drawn;
            self.tell_progress(total);
            self.note_end();
            let taught = self.worker.explorer.lessons().len() > known;
            match shown {
                None if self.timed_out || self.interrupted => return Ok(CrossCheck::Unfinished),
                None if taught => return Ok(CrossCheck::Retracted(TAUGHT.into())),
                None => {}
                Some(Shown::Observation(observation)) => {
                    return match self.keep(observation) {
                        Ok(()) => Ok(CrossCheck::Retracted(FINDING.into())),
                        // Its schedule rests on some lessons and not on all: what it showed is met again by samples that rest on all.
                        Err(Problem::Unconfirmed { .. }) if taught => Ok(CrossCheck::Retracted(TAUGHT.into())),
                        Err(problem) => Err(problem),
                    };
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
        self.worker.restart();
        self.worker.explorer.release();
        Ok(CrossCheck::Held)
    }

    /// Draws samples for a turn; `None` if they were lost.
    fn draw(&mut self, most: u64, time: Duration) -> Attempt<Option<(u64, Option<Shown>)>, E> {
        let seed = self.settings.seed ^ SEED;
        let recognition = Recognition::Compared;
        let job = Job { seed, bound: None, recognition, foresees: false, ..self.job() };
        let allowance =
            Allowance { before: self.cross_checked, executions: most, time, forecast: Wanted::No, keep: false };
        let Some(turn) = self.worker.explore(&job, Part::Whole, &allowance, None, &self.limit)? else {
            return Ok(None);
        };
        let drawn = turn.summary.executions;
        if self.worker.explorer.is_over() {
            self.note_end();
            return Ok(Some((drawn, None)));
        }
        if let Some(divergence) = turn.departure {
            let difference = difference(&self.worker.explorer, &divergence);
            return Err(Problem::Nondeterminism { step: divergence.step, difference });
        }
        if let Some(message) = turn.unexplained {
            return Err(super::unexplained(message));
        }
        let shown = match turn.observation {
            Some(observation) => Some(Shown::Observation(observation)),
            None if turn.learned => Some(Shown::Learned),
            None if turn.unexplored => Some(Shown::Unexplored),
            None => None,
        };
        Ok(Some((drawn, shown)))
    }

    /// Runs the schedule of the last execution, whose class nobody has explored, in a fresh process: it is the program's doing if that comes to
    /// such a class too. `false` if there is no time for that.
    fn confirm_unexplored(&mut self) -> Attempt<bool, E> {
        let explorer = &mut self.worker.explorer;
        let steps = prefix_of(explorer.execution());
        explorer.release();
        let (limit, classes) = (self.limit.clone(), &self.classes);
        let again = explorer.in_fresh(true, |fresh| {
            let before = fresh.set_limit(limit);
            fresh.run(&mut Plan::follow(&steps, &mut Lowest));
            fresh.set_limit(before);
            let problem = match (&fresh.execution().end, fresh.failure()) {
                _ if fresh.is_over() => return Ok(None),
                (_, Some(failure)) => Problem::Failure(failure),
                (End::Diverged(divergence), None) => {
                    Problem::Nondeterminism { step: divergence.step, difference: difference(fresh, divergence) }
                }
                _ if classes.is_unexplored(key_of(fresh.execution())) => return Ok(Some(())),
                _ => {
                    let difference = "threads met in another order in a fresh process".into();
                    Problem::Nondeterminism { step: steps.len(), difference }
                }
            };
            Err(problem)
        })??;
        self.note_end();
        Ok(again.is_some())
    }

    /// Looks at a few executions more closely, if that can be done.
    pub(super) fn watch(&mut self, total: &Summary) -> Attempt<CrossCheck, E> {
        let seed = self.settings.seed ^ SEED;
        self.worker.explorer.release();
        let (observer, limit) = (&mut *self.observer, &self.limit);
        let watched = self.worker.explorer.watch(seed, &mut || !observer.is_stopped() && !limit.is_over())?;
        self.tell_progress(total);
        self.note_end();
        Ok(match watched {
            Watched::Held => CrossCheck::Held,
            Watched::Unfinished => CrossCheck::Unfinished,
            Watched::Observed(observation) => {
                self.keep(observation)?;
                CrossCheck::Retracted(FINDING.into())
            }
        })
    }
}
