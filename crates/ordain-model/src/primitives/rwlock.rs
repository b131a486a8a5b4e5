//! Read-write locks.
//!
//! Word: writer + 1 in the low half, number of readers above it, then the number of writers that wait, if the lock prefers
//! them. Readers commute with each other: taking and releasing a read lock are reads, what a writer does is a write. A
//! writer waits for several independent readers at once; the search has to know that (see the reversal of races in
//! `ordain-explore`). Where writers are preferred, beginning to wait is a step, because from then on readers are kept out.
//!
//! A lock with a parameter serves its writers by tickets instead. Tickets are an object of their own, with the number of those that were
//! taken; the word of the lock has the number of those that were served in place of the number of writers that wait. Who takes a ticket does
//! not depend on who gives the lock back, and all that wait are served in the order in which they asked. So there are as many classes as if
//! nobody were kept out while a writer waits: whether it came before a reader or after it is all there is to decide.

use super::truth;
use crate::finding::Misuse;
use crate::names::{ObjectId, ThreadId};
use crate::operation::Outcome;
use crate::state::{DESTROYED, State, View};

const WRITER: u64 = 0xffff_ffff;
const READER: u64 = 1 << 32;
const READERS: u64 = 0xffff << 32;
/// One writer that waits.
const WAITING: u64 = 1 << 48;
const ALL_WAITING: u64 = 0x3fff << 48;

/// The tickets of a lock that has them.
pub(super) fn tickets(lock: ObjectId, view: &impl View) -> Option<ObjectId> {
    (view.fixed().param(lock) != 0).then(|| lock.offset(1))
}

/// Whether a writer waits that others must let go first.
fn is_awaited(lock: ObjectId, view: &impl View) -> bool {
    let count = view.word(lock) & ALL_WAITING;
    count != tickets(lock, view).map_or(0, |tickets| view.word(tickets).wrapping_mul(WAITING) & ALL_WAITING)
}

pub(super) fn read_served(lock: ObjectId, view: &impl View) -> bool {
    view.word(lock) & WRITER == 0 && !is_awaited(lock, view) || is_destroyed(lock, view)
}

pub(super) fn write_served(lock: ObjectId, view: &impl View) -> bool {
    view.word(lock) & (WRITER | READERS) == 0 && !is_awaited(lock, view) || is_destroyed(lock, view)
}

/// Whether the writer with this ticket can have the lock.
pub(super) fn ticket_served(lock: ObjectId, ticket: u32, view: &impl View) -> bool {
    let word = view.word(lock);
    word & (WRITER | READERS) == 0 && word & ALL_WAITING == u64::from(ticket).wrapping_mul(WAITING) & ALL_WAITING
        || is_destroyed(lock, view)
}

/// Whether a writer can take the lock or begin to wait for its readers.
pub(super) fn queue_served(lock: ObjectId, view: &impl View) -> bool {
    view.word(lock) & WRITER == 0 || is_destroyed(lock, view)
}

/// Whether it is the turn of the writers that wait.
pub(super) fn turn_served(lock: ObjectId, view: &impl View) -> bool {
    view.word(lock) & (WRITER | READERS) == 0 || is_destroyed(lock, view)
}

/// Whoever waits for what was destroyed goes on, and is told.
fn is_destroyed(lock: ObjectId, view: &impl View) -> bool {
    view.word(lock) & DESTROYED != 0
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
        take(lock, thread, state);
    }
    truth(served)
}

/// Takes the lock if it is free, else waits for it from now on.
pub(super) fn write_queue(lock: ObjectId, thread: ThreadId, state: &mut State) -> Outcome {
    let served = write_lock(lock, thread, state);
    if served != Outcome::DONE {
        state.set(lock, state.word(lock) + WAITING);
    }
    served
}

/// Takes the lock or gives up; in any case the thread does not wait any more.
pub(super) fn write_turn(lock: ObjectId, thread: ThreadId, state: &mut State) -> Outcome {
    let served = turn_served(lock, state);
    let word = state.word(lock);
    // It may have been initialised since it began to wait.
    state.set(lock, word - if word & ALL_WAITING != 0 { WAITING } else { 0 });
    if served {
        take(lock, thread, state);
    }
    truth(served)
}

pub(super) fn take_ticket(lock: ObjectId, state: &mut State) -> Outcome {
    let Some(tickets) = tickets(lock, state) else { return Outcome(0) };
    let taken = state.word(tickets);
    state.set(tickets, taken + 1);
    Outcome(taken)
}

pub(super) fn write_by_ticket(lock: ObjectId, thread: ThreadId, state: &mut State) -> Outcome {
    let word = state.word(lock);
    state.set(lock, word & !ALL_WAITING | (word + WAITING) & ALL_WAITING);
    take(lock, thread, state);
    Outcome::DONE
}

fn take(lock: ObjectId, thread: ThreadId, state: &mut State) {
    state.set(lock, state.word(lock) | (u64::from(thread.0) + 1));
    state.hold(thread, lock, false);
}

pub(super) fn unlock(lock: ObjectId, thread: ThreadId, shared: bool, state: &mut State) -> (Outcome, Option<Misuse>) {
    let held = state.holds.iter().any(|h| h.thread == thread && h.object == lock && h.shared == shared);
    if !held {
        return (Outcome::FAILED, Some(Misuse::UnlockByNonOwner));
    }
    state.release(thread, lock);
    let word = state.word(lock);
    // It may have been initialised since it was taken.
    let reader = if word & READERS != 0 { READER } else { 0 };
    state.set(lock, if shared { word - reader } else { word & !WRITER });
    (Outcome::DONE, None)
}
