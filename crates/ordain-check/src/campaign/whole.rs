//! A search that one process explores from its beginning to its end, with checkpoints.

use super::checkpoint::Checkpoint;
use super::{Attempt, Campaign, Explored};
use crate::checkpoint::CheckpointTimer;
use crate::explorer::Explorer;
use crate::turn::{Allowance, Part, Wanted};
use ordain_explore::Summary;
use ordain_explore::frontier::{self, Controller, Order, Rule};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The checkpoints of a search.
pub(super) struct Checkpointing {
    rule: Rule,
    /// Time that the search took in earlier runs.
    pub(super) before: Duration,
    pub(super) timer: CheckpointTimer,
    /// What was done before the last checkpoint.
    pub(super) total: Summary,
}

impl<E: Explorer> Campaign<'_, E> {
    /// Explores as one worker, from a checkpoint if there is one.
    pub(super) fn search_whole(&mut self, checkpoint: Option<Checkpoint<E::Finding>>) -> Attempt<Explored, E> {
        let Some(rule) = self.kind.rule().filter(|_| self.can_checkpoint()) else {
            return self.search(Summary::default(), None);
        };
        let mut checkpointing = Checkpointing {
            rule,
            before: Duration::ZERO,
            timer: CheckpointTimer::default(),
            total: Summary::default(),
        };
        if let Some(Checkpoint { mut controller, elapsed, .. }) = checkpoint {
            controller.take_over();
            (checkpointing.before, checkpointing.total) = (elapsed, controller.total());
            self.observer.resumed(checkpointing.total.executions);
            if !self.findings.is_empty() && !self.settings.keep_going {
                return Ok((checkpointing.total, None, None));
            }
            self.begin_with(&mut controller);
        }
        self.search(Summary::default(), Some(&mut checkpointing))
    }

    /// Writes the checkpoint of a search in which only the cross-check is left.
    pub(super) fn checkpoint_finished(&mut self, summary: &Summary, before: Duration) {
        let Some(rule) = self.kind.rule().filter(|_| self.can_checkpoint()) else { return };
        let explored =
            frontier::Explored { finished: 1, loops: self.worker.explorer.lessons().to_vec(), ..Default::default() };
        if let Some(controller) = Controller::undivided(rule, explored, self.worker.explorer.names(), *summary) {
            self.resumable = self.write_checkpoint(&controller, before);
        }
    }

    /// Writes what is left after some executions; `false` if that is not possible.
    pub(super) fn checkpoint_rest(
        &mut self,
        checkpointing: &mut Checkpointing,
        explored: frontier::Explored,
        total: &Summary,
    ) -> bool {
        if total.steps == checkpointing.total.steps {
            return true;
        }
        let begin = Instant::now();
        let Some(mut controller) =
            Controller::undivided(checkpointing.rule, explored, self.worker.explorer.names(), *total)
        else {
            self.note_once("the checkpoint could not be written: what is left of the search is not consistent");
            return false;
        };
        let written = self.write_checkpoint(&controller, checkpointing.before);
        self.begin_with(&mut controller);
        checkpointing.total = *total;
        checkpointing.timer.note(begin);
        written
    }

    /// Writes what is left at the end.
    pub(super) fn checkpoint_end(&mut self, checkpointing: &mut Checkpointing, total: &Summary) -> Attempt<(), E> {
        let (time, forecast) = (Duration::ZERO, Wanted::No);
        let allowance = Allowance { before: total.executions, executions: 0, time, forecast, keep: true };
        let job = self.job();
        let explored =
            self.in_a_moment(|campaign| campaign.worker.explore(&job, Part::Whole, &allowance, None, &campaign.limit));
        if let Some(explored) = explored?.and_then(|turn| turn.explored) {
            self.resumable = self.checkpoint_rest(checkpointing, explored, total);
        }
        Ok(())
    }

    /// A process that is lost goes on from there.
    fn begin_with(&mut self, controller: &mut Controller) {
        let rest = controller.whole().map(|(task, births)| Order { task, births: Arc::new(births) });
        self.worker.resume_from(rest);
    }
}
