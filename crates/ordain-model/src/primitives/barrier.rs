//! Barriers: the last to arrive wakes all that wait. Word: the list of waiters, as that of a [condition variable](super::condvar).

use super::condvar::wake;
use crate::footprint::{Access, Footprint};
use crate::names::{ObjectId, ThreadId};
use crate::operation::Outcome;
use crate::state::{State, View};
use smallvec::SmallVec;

/// Whether the next arrival completes the barrier.
fn completes(barrier: ObjectId, view: &impl View) -> bool {
    view.fixed().waiters(view.word(barrier)).len() as u64 + 1 >= view.fixed().param(barrier)
}

pub(super) fn footprint(barrier: ObjectId, thread: ThreadId, view: &impl View, out: &mut Footprint) {
    let place = |t: ThreadId| Access::write(view.fixed().place(t));
    out.push(Access::write(barrier));
    if completes(barrier, view) {
        out.extend(view.fixed().waiters(view.word(barrier)).iter().copied().map(place));
    } else {
        out.push(place(thread));
    }
}

pub(super) fn apply(barrier: ObjectId, thread: ThreadId, state: &mut State) -> Outcome {
    if completes(barrier, state) {
        let waiters: SmallVec<[ThreadId; 4]> = state.fixed.waiters(state.word(barrier)).iter().copied().collect();
        wake(barrier, &waiters, state);
        Outcome::SERIAL
    } else {
        state.enqueue(barrier, thread);
        Outcome::DONE
    }
}
