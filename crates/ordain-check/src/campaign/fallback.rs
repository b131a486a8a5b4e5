//! Going down: where a program does not do the same again, the search begins again with less that executions could have in common.
//!
//! Several workers may get into each other's way, by a file or a port; a mode may not put back something that the program has changed.
//! So there is one worker first, then fork mode, then exec mode. Only what differs there too is not deterministic.

use super::{Attempt, Campaign};
use crate::Problem;
use crate::explorer::Explorer;
use crate::pool::Utilisation;
use ordain_report::terminal::with_article;
use std::time::Instant;

impl<E: Explorer> Campaign<'_, E> {
    /// Runs the program twice under the same schedule, in the first mode in which it does the same.
    pub(crate) fn settle(&mut self) -> Attempt<(), E> {
        while let Err(problem) = self.run_twice() {
            self.go_down(problem)?;
        }
        Ok(())
    }

    /// Prepares to begin again, if the problem may be that executions have something in common. If not, gives it back.
    pub(super) fn go_down(&mut self, problem: Problem<E::Failure>) -> Attempt<(), E> {
        let what = match &problem {
            Problem::Nondeterminism { step, difference } => {
                format!("under the same schedule the program did not do the same: after {step} steps {difference}")
            }
            Problem::Unconfirmed { kind, .. } => {
                format!("{} did not show again in a fresh process", with_article(kind))
            }
            _ => return Err(problem),
        };
        if self.limit.is_over() {
            return Err(problem);
        }
        let divided_among = std::mem::take(&mut self.divided_among);
        if divided_among > 1 {
            self.workers = 1;
            self.note_once(format!("with {divided_among} workers {what}. The search began again with one"));
            // What is still running there must not disturb the next.
            self.worker.explorer.anew()?;
        } else {
            let Some([from, to]) = self.worker.explorer.lower(&what)? else { return Err(problem) };
            self.note_once(format!("in {from} mode {what}. The search began again in {to} mode"));
        }
        self.worker.begin_anew();
        self.branch_points.clear();
        self.classes.clear();
        (self.visible, self.spin_held, self.discarded, self.resumable) = (0, false, 0, false);
        (self.cross_checked, self.took_turns, self.failing) = (0, false, 0);
        (self.estimate, self.foreseen) = (None, Instant::now());
        (self.division, self.utilisation) = (None, Utilisation::default());
        Ok(())
    }
}
