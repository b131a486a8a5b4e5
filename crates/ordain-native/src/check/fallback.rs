//! Going down: where a program does not do the same again, the search begins again with less that executions could have in common.
//!
//! Several workers may get into each other's way, by a file or a port; a mode may not put back something that the program has changed.
//! So there is one worker first, then fork mode, then exec mode. Only what differs there too is not deterministic.

use super::Problem;
use super::run::Run;
use ordain_explore::Summary;
use ordain_explore::estimate::Foresight;
use ordain_explore::frontier::Labour;
use std::time::Instant;

impl Run<'_> {
    /// Runs the program twice under the same schedule, in the first mode in which it does the same.
    pub(super) fn settle(&mut self) -> Result<(), Problem> {
        while let Err(problem) = self.run_twice() {
            self.go_down(problem)?;
        }
        Ok(())
    }

    /// Prepares to begin again, if the problem may be that executions have something in common. If not, gives it back.
    pub(super) fn go_down(&mut self, problem: Problem) -> Result<(), Problem> {
        let what = match &problem {
            Problem::Nondeterminism { step, difference } => {
                format!("under the same schedule the program did not do the same: after {step} steps {difference}")
            }
            Problem::Unconfirmed { kind, .. } => format!("a {kind} did not show again in a fresh process"),
            _ => return Err(problem),
        };
        if self.limit.is_over() {
            return Err(problem);
        }
        let crowd = std::mem::take(&mut self.crowd);
        if crowd > 1 {
            self.workers = 1;
            self.note_once(format!("with {crowd} workers {what}. The search began again with one"));
            // What is still running there must not disturb the next.
            self.native = self.native.fresh_like()?;
        } else {
            let mode = self.native.mode();
            let Some(lower) = self.native.lower(&what)? else { return Err(problem) };
            self.native = lower;
            let next = self.native.mode().word();
            self.note_once(format!("in {} mode {what}. The search began again in {next} mode", mode.word()));
        }
        self.outputs.clear();
        self.crossings.clear();
        self.classes.clear();
        (self.visible, self.spin_held, self.discarded, self.resumable) = (0, false, 0, false);
        self.cross_checked = 0;
        (self.estimate, self.foresight) = (None, Foresight::default());
        self.foreseen = (Summary::default(), Instant::now());
        (self.division, self.labour) = (None, Labour::default());
        Ok(())
    }
}
