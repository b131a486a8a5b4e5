//! Read-write locks.
//!
//! Word: writer + 1 in the low half, number of readers above it. Readers commute with each other: taking and releasing a
//! read lock are reads, what a writer does is a write. A writer waits for several independent readers at once; the search
//! has to know that (see the reversal of races in `ordain-explore`).

use super::truth;
use crate::finding::Misuse;
use crate::names::{ObjectId, ThreadId};
use crate::operation::Outcome;
use crate::state::{DESTROYED, State, View};

const WRITER: u64 = 0xffff_ffff;
const READER: u64 = 1 << 32;

pub(super) fn read_served(lock: ObjectId, view: &impl View) -> bool {
    view.word(lock) & WRITER == 0
}

pub(super) fn write_served(lock: ObjectId, view: &impl View) -> bool {
    view.word(lock) & !DESTROYED == 0
}

pub(super) fn read_lock(lock: ObjectId, thread: ThreadId, state: &mut State) -> Outcome {
    let served = read_served(lock, state);
    if served {
        state.set(lock, state.word(lock) + READER);
        state.hold(thread, lock, true);
    }
    truth(served)
}

pub(super) fn write_lock(lock: ObjectId, thread: ThreadId, state: &mut State) -> Outcome {
    let served = write_served(lock, state);
    if served {
        state.set(lock, u64::from(thread.0) + 1);
        state.hold(thread, lock, false);
    }
    truth(served)
}

pub(super) fn unlock(lock: ObjectId, thread: ThreadId, shared: bool, state: &mut State) -> (Outcome, Option<Misuse>) {
    let held = state.holds.iter().any(|h| h.thread == thread && h.object == lock && h.shared == shared);
    if !held {
        return (Outcome::FAILED, Some(Misuse::UnlockByNonOwner));
    }
    state.release(thread, lock);
    let word = state.word(lock);
    state.set(lock, if shared { word - READER } else { word & !WRITER });
    (Outcome::DONE, None)
}
