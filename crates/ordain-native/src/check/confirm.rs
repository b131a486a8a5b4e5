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
use std::time::{Duration, Instant};

/// More findings than this are not kept.
const MOST_FINDINGS: usize = 100;
/// How much longer than two executions the first finding may take to be confirmed when the time is over.
const LAST_WORD: Duration = Duration::from_secs(1);
/// If more is to be found, all findings together are made smaller in this part of the time of the check, and one in this part of what is
/// left of that.
const SHRINKING: u32 = 4;
const EACH: u32 = 2;

/// Executions that misbehaved in ways which were not confirmed: no findings, but nothing to be silent about.
#[derive(Clone, Debug, Default)]
pub(super) struct Unconfirmed {
    /// There was no time for so many.
    late: usize,
    /// So many came when there were findings enough.
    surplus: usize,
    /// The first of the late.
    first: Option<(&'static str, String)>,
}

impl Unconfirmed {
    /// Whether there was no time for one.
    pub(super) fn is_any(&self) -> bool {
        self.late > 0
    }

    /// Whether there was no time for more than these.
    pub(super) fn is_more_than(&self, other: &Self) -> bool {
        self.late > other.late
    }

    /// What to tell of them beside findings.
    pub(super) fn notes(&self) -> impl Iterator<Item = String> {
        let more = |count: usize, why: &str| {
            let executions = ordain_report::terminal::plural(count, "more execution");
            (count > 0).then(|| format!("{executions} misbehaved in other ways; {why}"))
        };
        let late = if self.late == 1 { "there was no time to confirm it" } else { "there was no time to confirm them" };
        let surplus = format!("no more than {MOST_FINDINGS} findings are kept");
        [more(self.late, late), more(self.surplus, &surplus)].into_iter().flatten()
    }

    /// What there is to tell if nothing could be confirmed at all.
    pub(super) fn problem(&self) -> Option<Problem> {
        let (kind, message) = self.first.clone()?;
        Some(Problem::NoTimeToConfirm { kind, message, more: self.late - 1 })
    }
}

impl Check {
    /// A plan could not be followed. If a fresh process does the same, the program synchronises in ways that are not visible. If it does
    /// something else, the program is not deterministic, or the mode does not put everything back.
    pub(super) fn explain_departure(&self, native: &mut Native, divergence: &Divergence) -> Result<String, Problem> {
        let difference = self.difference(native, divergence);
        let mut steps = prefix_of(native.execution());
        steps.truncate(divergence.step);
        steps.push(Planned { transition: divergence.expected, op: divergence.expected_op });
        native.end_process();
        let mut fresh = native.fresh(Mode::Exec)?;
        fresh.set_limit(native.limit().clone().with_last_word(LAST_WORD));
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
    /// Confirms what was noticed, and keeps it. When the time is over, only the first finding is confirmed; others are counted.
    pub(super) fn keep(&mut self, noticed: Noticed) -> Result<(), Problem> {
        if self.findings.len() >= MOST_FINDINGS {
            self.unconfirmed.surplus += 1;
            self.unconfirmed_places.push(noticed);
            return Ok(());
        }
        let first = self.findings.is_empty() && self.unconfirmed.late == 0;
        let over = self.limit.is_over() || self.observer.is_stopped();
        let confirmed = match over && !first {
            true => None,
            false => self.confirm(noticed.clone(), first)?,
        };
        match confirmed {
            Some(finding) => {
                self.noticed.push(noticed);
                self.findings.push(finding);
            }
            None => {
                self.unconfirmed.late += 1;
                self.unconfirmed.first.get_or_insert_with(|| (noticed.kind.word(), noticed.message.clone()));
                self.unconfirmed_places.push(noticed);
            }
        }
        Ok(())
    }

    /// Whether something like that was noticed before.
    pub(super) fn is_known(&self, noticed: &Noticed) -> bool {
        self.noticed.iter().chain(&self.unconfirmed_places).any(|n| n.is_like(noticed))
    }

    /// An execution took so long, with starting its process if that was necessary.
    pub(super) fn note_execution(&mut self, time: Duration) {
        self.slowest = self.slowest.max(time);
    }

    /// How long what was noticed may take to show in a fresh process when the time is over.
    fn last_word(&self, noticed: &Noticed) -> Duration {
        // A hang is one when it has lasted so long.
        let hang = if noticed.kind == Kind::Hang { self.check.patience.blocked } else { Duration::ZERO };
        LAST_WORD + self.slowest * 2 + hang
    }

    /// How long a schedule may be made smaller now.
    fn shrink_time(&self) -> Duration {
        // What is found when the time is over is shown as it is.
        let most = if self.limit.is_over() { Duration::ZERO } else { self.check.shrink_time.min(self.limit.left()) };
        match self.check.max_time.filter(|_| self.check.keep_going) {
            Some(time) => most.min((time / SHRINKING).saturating_sub(self.shrinking) / EACH),
            None => most,
        }
    }

    /// Makes the schedule of what was noticed smaller, as far as time allows.
    fn shrink(&mut self, noticed: &mut Noticed) -> Result<Option<Shrunk>, Problem> {
        let limit = self.shrink_time();
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
        self.shrinking += started.elapsed();
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

    /// Shows the finding in a fresh process and describes it; `None` if there is no time for that. The first may take a last word.
    fn confirm(&mut self, mut noticed: Noticed, first: bool) -> Result<Option<Finding>, Problem> {
        let found = noticed.clone();
        self.native.end_process();
        let shrunk = self.shrink(&mut noticed)?;
        let limit = match first {
            true => self.limit.clone().with_last_word(self.last_word(&found)),
            false => self.limit.clone(),
        };
        let mut again = self.show_again(&noticed, shrunk, &limit, true)?;
        if matches!(again, Again::No) && shrunk.is_some() {
            // What was made smaller in another mode must show in a fresh process too; if not, what was found is told as it is.
            again = self.show_again(&found, None, &limit, true)?;
        }
        if matches!(again, Again::No) && !self.native.loops().is_empty() {
            // It was this very execution that taught something.
            again = self.show_again(&found, None, &limit, false)?;
        }
        match again {
            Again::Shown(finding) => Ok(Some(*finding)),
            Again::NoTime => Ok(None),
            Again::No => Err(Problem::Unconfirmed { kind: found.kind.word(), message: found.message }),
        }
    }

    /// Runs it in a fresh process, which knows what executions have taught, or begins without that.
    fn show_again(
        &mut self,
        noticed: &Noticed,
        shrunk: Option<Shrunk>,
        limit: &Limit,
        taught: bool,
    ) -> Result<Again, Problem> {
        let mut fresh = self.native.fresh(Mode::Exec)?;
        if !taught {
            fresh.forget_lessons();
        }
        fresh.set_limit(limit.clone());
        let mut policy = Preemptions::of(Lowest);
        fresh.run(&mut Plan::follow(&noticed.prefix, &mut policy));
        if fresh.is_over() {
            return Ok(Again::NoTime);
        }
        if let Some(failure) = fresh.failure() {
            return Err(failure.clone().into());
        }
        let usual = self.outputs.first().filter(|_| noticed.kind == Kind::Output);
        let again = match usual {
            Some(usual) => finding::unlike(usual, &mut fresh),
            None => finding::notice(&fresh, self.check.expected_status),
        };
        let Some(again) = again.filter(|again| again.kind == noticed.kind) else { return Ok(Again::No) };
        let context = finding::Context {
            check: self.check,
            number: self.findings.len() + 1,
            preemptions: &policy.steps,
            shrunk,
            usual,
        };
        let again = Noticed { prefix: noticed.prefix.clone(), ..again };
        Ok(Again::Shown(Box::new(finding::describe(&mut fresh, &again, &context))))
    }
}

/// Whether something shows again.
enum Again {
    Shown(Box<Finding>),
    No,
    /// The time was over before that could be seen.
    NoTime,
}
