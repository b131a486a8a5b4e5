//! Initialisation that happens once. Word: new, complete, poisoned, or running and by whom.

use crate::finding::Misuse;
use crate::names::{ObjectId, ThreadId};
use crate::operation::Outcome;
use crate::state::{DESTROYED, State, View};

const NEW: u64 = 0;
pub(super) const COMPLETE: u64 = 1;
const POISONED: u64 = 2;
const RUNNING: u64 = 3;

pub(super) fn served(once: ObjectId, view: &impl View) -> bool {
    view.word(once) < RUNNING || view.word(once) & DESTROYED != 0
}

/// Whether the caller becomes the one that runs the initialisation.
pub(super) fn runs(once: ObjectId, force: bool, view: &impl View) -> bool {
    let word = view.word(once);
    word == NEW || word == POISONED && force
}

pub(super) fn begin(once: ObjectId, thread: ThreadId, force: bool, state: &mut State) -> Outcome {
    if runs(once, force, state) {
        state.set(once, RUNNING + u64::from(thread.0));
        state.hold(thread, once, false);
        return Outcome::RUN;
    }
    if state.word(once) == COMPLETE { Outcome::DONE } else { Outcome::POISONED }
}

pub(super) fn end(once: ObjectId, thread: ThreadId, complete: bool, state: &mut State) -> (Outcome, Option<Misuse>) {
    if state.word(once) != RUNNING + u64::from(thread.0) {
        return (Outcome::FAILED, Some(Misuse::UnlockByNonOwner));
    }
    state.set(once, if complete { COMPLETE } else { POISONED });
    state.release(thread, once);
    (Outcome::DONE, None)
}
