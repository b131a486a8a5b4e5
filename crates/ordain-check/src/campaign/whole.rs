//! A search that one process explores from its beginning to its end, of which is kept what is left.

use super::checkpoint::Checkpoint;
use super::{Attempt, Campaign, Explored};
use crate::explorer::Explorer;
use crate::turn::{Allowance, Part, Wanted};
use ordain_explore::Summary;
use ordain_explore::frontier::{self, Controller, Order, Rule};
use ordain_report::checkpoint::Rhythm;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What is kept.
pub(super) struct Keeping {
    rule: Rule,
    /// Time that the search took in earlier runs.
    pub(super) before: Duration,
    pub(super) rhythm: Rhythm,
    /// What was done in what is kept.
    pub(super) total: Summary,
}

impl<E: Explorer> Campaign<'_, E> {
    /// Explores as one worker, from what was kept on.
    pub(super) fn search_whole(&mut self, kept: Option<Checkpoint<E::Finding>>) -> Attempt<Explored, E> {
        let Some(rule) = self.kind.rule().filter(|_| self.is_keepable()) else {
            return self.search(Summary::default(), None);
        };
        let mut keeping =
            Keeping { rule, before: Duration::ZERO, rhythm: Rhythm::default(), total: Summary::default() };
        if let Some(Checkpoint { mut controller, elapsed, .. }) = kept {
            controller.take_over();
            (keeping.before, keeping.total) = (elapsed, controller.total());
            self.observer.resumed(keeping.total.executions);
            if !self.findings.is_empty() && !self.settings.keep_going {
                return Ok((keeping.total, None, None));
            }
            self.begin_with(&mut controller);
        }
        self.search(Summary::default(), Some(&mut keeping))
    }

    /// Keeps that everything was explored and only the cross-check is left.
    pub(super) fn keep_finished(&mut self, summary: &Summary, before: Duration) {
        let Some(rule) = self.kind.rule().filter(|_| self.is_keepable()) else { return };
        let explored =
            frontier::Explored { finished: 1, loops: self.worker.explorer.lessons().to_vec(), ..Default::default() };
        if let Some(controller) = Controller::undivided(rule, explored, self.worker.explorer.names(), *summary) {
            self.resumable = self.keep_search(&controller, before);
        }
    }

    /// Keeps what is left after some executions; `false` if that is not possible.
    pub(super) fn keep_whole(&mut self, keeping: &mut Keeping, explored: frontier::Explored, total: &Summary) -> bool {
        if total.steps == keeping.total.steps {
            return true;
        }
        let begin = Instant::now();
        let Some(mut controller) = Controller::undivided(keeping.rule, explored, self.worker.explorer.names(), *total)
        else {
            self.note_once("what is left of the search could not be kept: it makes no sense");
            return false;
        };
        let kept = self.keep_search(&controller, keeping.before);
        self.begin_with(&mut controller);
        keeping.total = *total;
        keeping.rhythm.note(begin);
        kept
    }

    /// Keeps what is left at the end.
    pub(super) fn keep_the_last(&mut self, keeping: &mut Keeping, total: &Summary) -> Attempt<(), E> {
        let (time, forecast) = (Duration::ZERO, Wanted::No);
        let allowance = Allowance { before: total.executions, executions: 0, time, forecast, keep: true };
        let job = self.job();
        let explored =
            self.in_a_moment(|campaign| campaign.worker.explore(&job, Part::Whole, &allowance, None, &campaign.limit));
        if let Some(explored) = explored?.and_then(|turn| turn.explored) {
            self.resumable = self.keep_whole(keeping, explored, total);
        }
        Ok(())
    }

    /// A process that is lost goes on from there.
    fn begin_with(&mut self, controller: &mut Controller) {
        let rest = controller.whole().map(|(task, births)| Order { task, births: Arc::new(births) });
        self.worker.resume_from(rest);
    }
}
