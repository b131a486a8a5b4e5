//! How far a thread has come: which of the places in its program that look alike it is at.
//!
//! What a thread got done, in order, tells. What was in vain does not count: the thread comes back to where it was.

use crate::hash::{mix, mix_text};
use ordain_model::{Operation, Outcome, Site, ThreadId, Wait};

/// How far a thread has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Course {
    /// A hash of what it got done, and how much that was.
    done: u64,
    pub(super) length: u32,
    /// Both when it last got more done than looking and noting.
    before: (u64, u32),
    /// Whether it takes a lock back that it gave up to wait.
    returning: bool,
}

impl Course {
    pub(super) fn new(thread: ThreadId) -> Self {
        let done = u64::from(thread.0) + 1;
        Self { done, length: 0, before: (done, 0), returning: false }
    }

    /// Goes on by a step; gives the key of the location behind it.
    pub(super) fn go_on(&mut self, op: &Operation, site: Site, outcome: Outcome) -> u64 {
        // Where the program does not say where it is, what it works on must do.
        let spot = if site.0 == 0 { op.object().map_or(0, |o| u64::from(o.0)) } else { site.0 };
        let spot = mix_text(spot, op.verb());
        let waits = matches!(op, Operation::QueueWait { .. } | Operation::FutexWait { .. } | Operation::Woken { .. });
        let back = self.returning && matches!(op, Operation::Lock { .. });
        // Who only tries goes on, one way or the other; who waits or exchanges in vain comes back.
        let in_vain = outcome == Outcome::FAILED && op.wait() != Some(Wait::Try);
        let idle = waits || back || in_vain || matches!(op, Operation::Yield | Operation::Sleep);
        self.returning = waits;
        if !idle {
            self.done = mix(self.done, spot);
            self.length += 1;
        }
        if matches!(op, Operation::Choose { .. }) {
            // Everything behind it may depend on what was chosen.
            self.done = mix(self.done, outcome.0);
        }
        match op {
            // What led up to it was in vain as well, and is done again.
            Operation::CompareExchange { .. } if in_vain => (self.done, self.length) = self.before,
            Operation::Load { .. } | Operation::Store { .. } => {}
            _ => self.before = (self.done, self.length),
        }
        let kind = if outcome.message().is_some() { 0 } else { outcome.0 };
        mix(mix(self.done, spot), kind)
    }
}
