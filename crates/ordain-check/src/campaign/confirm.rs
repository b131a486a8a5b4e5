//! From what an execution showed to a finding: made smaller, shown again in a fresh process, described.

use super::{Attempt, Campaign, Outcome, difference};
use crate::Problem;
use crate::explorer::{Explorer, Observation, Proof};
use crate::limit::Limit;
use ordain_explore::{Lowest, Plan, Planned, Policy, Preemptions, Summary, prefix_of, shrink};
use ordain_model::{Divergence, End};
use ordain_report::terminal::with_article;
use ordain_report::{Kind, Shrunk};
use std::time::{Duration, Instant};

/// More findings than this are not kept.
const MOST_FINDINGS: usize = 100;
/// How much longer than two executions the first finding may take to be confirmed when the time is over.
const LAST_WORD: Duration = Duration::from_secs(1);
/// If more is to be found, all findings together are made smaller in this part of the time of the check, and one in this part of what is
/// left of that.
const SHRINKING: u32 = 4;
const EACH: u32 = 2;
/// Steps that are kept of an execution that goes on for ever.
const BEGINNING: usize = 1_000;

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
    pub(super) fn problem<F: std::error::Error + 'static>(&self) -> Option<Problem<F>> {
        let (kind, message) = self.first.clone()?;
        Some(Problem::NoTimeToConfirm { kind, message, more: self.late - 1 })
    }
}

impl<E: Explorer> Campaign<'_, E> {
    /// A plan could not be followed. If a fresh process does the same, the program synchronises in ways that are not visible. If it does
    /// something else, the program is not deterministic, or something is left of earlier executions.
    pub(super) fn explain_departure(&mut self, divergence: &Divergence) -> Attempt<String, E> {
        explain_departure(&mut self.worker.explorer, divergence, &self.limit)
    }

    /// Confirms what was observed, and keeps it. When the time is over, only the first finding is confirmed; others are counted.
    pub(super) fn keep(&mut self, observation: Observation) -> Attempt<(), E> {
        if self.findings.len() >= MOST_FINDINGS {
            self.unconfirmed.surplus += 1;
            self.unconfirmed_places.push(observation);
            return Ok(());
        }
        let first = self.findings.is_empty() && self.unconfirmed.late == 0;
        let over = self.limit.is_over() || self.observer.is_stopped();
        let confirmed = match over && !first {
            true => None,
            false => self.confirm(observation.clone(), first)?,
        };
        match confirmed {
            Some(finding) => {
                self.observed.push(observation);
                self.findings.push(finding);
            }
            None => {
                self.unconfirmed.late += 1;
                let first = || (observation.kind.name(), observation.message.clone());
                self.unconfirmed.first.get_or_insert_with(first);
                self.unconfirmed_places.push(observation);
            }
        }
        Ok(())
    }

    /// Confirms one of several observations that are not kept here: there are so many findings before it.
    pub(crate) fn confirm_alone(&mut self, observation: Observation, before: usize) -> Attempt<Option<E::Finding>, E> {
        self.numbered = before;
        self.confirm(observation, true)
    }

    /// Runs a plan; `true` if it shows a finding, which is then confirmed and kept.
    pub fn try_plan(&mut self, prefix: &[Planned], policy: &mut dyn Policy) -> Attempt<bool, E> {
        let explorer = &mut self.worker.explorer;
        explorer.run(&mut Plan::follow(prefix, policy));
        if explorer.is_over() {
            return Ok(false);
        }
        if let Some(failure) = explorer.failure() {
            return Err(failure.into());
        }
        match explorer.observe() {
            Some(observation) => self.keep(observation).map(|()| true),
            None => Ok(false),
        }
    }

    /// Ends a check that found something in executions of its own.
    pub fn end_after(self, executions: u64) -> Attempt<Outcome<E>, E> {
        self.conclude(Summary { executions, ..Summary::default() }, None, None)
    }

    /// Whether nothing may be run any more.
    pub fn is_over(&self) -> bool {
        self.worker.explorer.is_over() || self.limit.is_over() || self.observer.is_stopped()
    }

    /// Whether something like that was observed before.
    pub(super) fn is_known(&self, observation: &Observation) -> bool {
        self.observed.iter().chain(&self.unconfirmed_places).any(|known| known.is_like(observation))
    }

    /// An execution took so long, with starting its process if that was necessary.
    pub(super) fn note_execution(&mut self, time: Duration) {
        self.slowest = self.slowest.max(time);
    }

    /// How long what was observed may take to show in a fresh process when the time is over.
    fn last_word(&self, observation: &Observation) -> Duration {
        LAST_WORD + self.slowest * 2 + self.worker.explorer.time_to_show(observation.kind)
    }

    /// How long a schedule may be made smaller now.
    fn shrink_time(&self) -> Duration {
        let settings = self.settings;
        // What is found when the time is over is shown as it is.
        let most = if self.limit.is_over() { Duration::ZERO } else { settings.shrink_time.min(self.limit.left()) };
        match settings.max_time.filter(|_| settings.keep_going) {
            Some(time) => most.min((time / SHRINKING).saturating_sub(self.shrinking) / EACH),
            None => most,
        }
    }

    /// Makes the schedule of what was observed smaller, as far as time allows.
    fn shrink(&mut self, observation: &mut Observation) -> Attempt<Option<Shrunk>, E> {
        let time = self.shrink_time();
        // What goes on for ever takes long each time that it shows.
        if time.is_zero() || observation.prefix.len() <= 1 || is_endless(observation.kind) {
            return Ok(None);
        }
        let started = Instant::now();
        let limit = Limit::at(started.checked_add(time)).or(self.observer.stop_flag());
        let observer = &mut *self.observer;
        let found = &*observation;
        let mut go_on = || {
            let elapsed = started.elapsed();
            observer.shrinking(found.kind, elapsed);
            elapsed < time && !observer.is_stopped()
        };
        let mut shows = |explorer: &mut E| explorer.observe_again(found.kind).is_some_and(|again| again.is_like(found));
        let (shrunk, failure) = self.worker.explorer.in_copy(|copy| {
            let before = copy.set_limit(limit);
            let shrunk = shrink(copy, &found.prefix, &mut shows, &mut go_on);
            let failure = copy.failure().filter(|_| !copy.is_over());
            copy.set_limit(before);
            (shrunk, failure)
        })?;
        self.shrinking += started.elapsed();
        if let Some(failure) = failure {
            return Err(failure.into());
        }
        Ok(shrunk.map(|smaller| {
            let ordain_explore::Shrunk { prefix, from, executions, fewest, stopped, .. } = smaller;
            observation.prefix = prefix;
            Shrunk { from, executions, fewest, stopped }
        }))
    }

    /// Shows the finding in a fresh process and describes it; `None` if there is no time for that. The first may take a last word.
    fn confirm(&mut self, mut observation: Observation, first: bool) -> Attempt<Option<E::Finding>, E> {
        let found = observation.clone();
        self.worker.explorer.release();
        let shrunk = self.shrink(&mut observation)?;
        let limit = match first {
            true => self.limit.clone().with_last_word(self.last_word(&found)),
            false => self.limit.clone(),
        };
        let mut again = Again::No(String::new());
        if is_endless(found.kind) && found.prefix.len() > BEGINNING {
            // What goes on for ever needs only its beginning: the rest follows by itself.
            observation.prefix.truncate(BEGINNING);
            again = self.show_again(&observation, None, &limit, true)?;
            observation.prefix.clone_from(&found.prefix);
        }
        if matches!(again, Again::No(_)) {
            again = self.show_again(&observation, shrunk, &limit, true)?;
        }
        if matches!(again, Again::No(_)) && shrunk.is_some() {
            // What was made smaller in another mode must show in a fresh process too; if not, what was found is told as it is.
            again = self.show_again(&found, None, &limit, true)?;
        }
        if matches!(again, Again::No(_)) && !self.worker.explorer.lessons().is_empty() {
            // It was this very execution that taught something.
            again = self.show_again(&found, None, &limit, false)?;
        }
        match again {
            Again::Shown(finding) => Ok(Some(*finding)),
            Again::NoTime => Ok(None),
            Again::No(instead) => {
                Err(Problem::Unconfirmed { kind: found.kind.name(), message: found.message, instead })
            }
        }
    }

    /// Runs it in a fresh process, which knows what executions have taught, or begins without that.
    fn show_again(
        &mut self,
        observation: &Observation,
        shrunk: Option<Shrunk>,
        limit: &Limit,
        taught: bool,
    ) -> Attempt<Again<E::Finding>, E> {
        let number = self.numbered + self.findings.len() + 1;
        let again = self.worker.explorer.in_fresh(taught, |fresh| {
            let before = fresh.set_limit(limit.clone());
            let mut policy = Preemptions::of(Lowest);
            fresh.run(&mut Plan::follow(&observation.prefix, &mut policy));
            let again = match (fresh.is_over(), fresh.failure()) {
                (true, _) => Ok(Again::NoTime),
                (false, Some(failure)) => Err(failure),
                (false, None) => Ok(match fresh.observe_again(observation.kind) {
                    None => Again::No("ended well".into()),
                    Some(again) if fresh.is_shown_again(observation, &again) => {
                        let again = Observation { prefix: observation.prefix.clone(), ..again };
                        let proof = Proof { number, preemptions: &policy.steps, shrunk };
                        Again::Shown(Box::new(fresh.describe(&again, &proof)))
                    }
                    Some(again) if again.kind == observation.kind => {
                        Again::No(format!("showed it at another place ({})", again.message))
                    }
                    Some(again) => Again::No(format!("showed {}", with_article(again.kind.title()))),
                }),
            };
            fresh.set_limit(before);
            again
        })?;
        Ok(again?)
    }
}

/// Whether something goes on for ever.
fn is_endless(kind: Kind) -> bool {
    matches!(kind, Kind::StepLimit | Kind::Livelock)
}

/// Whether something shows again.
enum Again<F> {
    Shown(Box<F>),
    /// It does not; what the schedule came to.
    No(String),
    /// The time was over before that could be seen.
    NoTime,
}

/// See [`Campaign::explain_departure`].
pub(crate) fn explain_departure<E: Explorer>(
    explorer: &mut E,
    divergence: &Divergence,
    limit: &Limit,
) -> Attempt<String, E> {
    let told = difference(explorer, divergence);
    let nondeterminism = |step, difference| Err(Problem::Nondeterminism { step, difference });
    if !explorer.departures_are_hidden() {
        return nondeterminism(divergence.step, told);
    }
    let mut steps = prefix_of(explorer.execution());
    steps.truncate(divergence.step);
    steps.push(Planned { transition: divergence.expected, op: divergence.expected_op });
    explorer.release();
    let limit = limit.clone().with_last_word(LAST_WORD);
    let again = explorer.in_fresh(true, |fresh| {
        let before = fresh.set_limit(limit);
        fresh.run(&mut Plan::follow(&steps, &mut Lowest));
        fresh.set_limit(before);
        let end = fresh.execution().end.clone();
        let again = match &end {
            End::Diverged(again) => difference(fresh, again),
            _ => String::new(),
        };
        (fresh.failure(), end, again)
    })?;
    let same = |again: &Divergence| match (&again.found, &divergence.found) {
        (Some(again), Some(found)) => again.is_as_planned(found),
        (again, found) => again.is_none() && found.is_none(),
    };
    match again {
        (Some(failure), ..) => Err(failure.into()),
        (None, End::Diverged(again), _) if again.step == divergence.step && same(&again) => Ok(told),
        (None, End::Diverged(again), difference) if again.step < divergence.step => {
            nondeterminism(again.step, difference)
        }
        _ => nondeterminism(divergence.step, told),
    }
}
