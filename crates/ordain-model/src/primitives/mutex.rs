//! Mutexes (normal, recursive, error-checking, robust) and spin locks.
//!
//! Word: owner + 1 in the low half, depth of a recursive lock above it, then flags. Every change is a write, so that all
//! acquisitions of a lock are ordered; an attempt that fails only reads.

use super::truth;
use crate::finding::Misuse;
use crate::names::{ObjectId, ThreadId};
use crate::operation::Outcome;
use crate::state::{DESTROYED, State, View};

/// Parameter bit: the owner may take it again.
pub(crate) const RECURSIVE: u64 = 1;
/// Parameter bit: taking it again is an error that the caller is told.
pub(crate) const ERROR_CHECKING: u64 = 2;
/// Parameter bit: the next owner is told if the owner ended.
pub(crate) const ROBUST: u64 = 4;

const OWNER: u64 = 0xffff_ffff;
const DEPTH: u64 = 1 << 32;
/// Word bit: the last owner ended while it held the lock.
pub(crate) const DEAD_OWNER: u64 = 1 << 60;
/// Word bit: it was unlocked without being made consistent.
const BROKEN: u64 = 1 << 61;

/// What an attempt to take the lock would meet.
enum Meets {
    Free,
    Again,
    WouldDeadlock,
    Broken,
    Busy,
}

fn meets(lock: ObjectId, thread: ThreadId, view: &impl View) -> Meets {
    let (word, param) = (view.word(lock), view.fixed().param(lock));
    if word & (BROKEN | DESTROYED) != 0 {
        // Whoever waits for what was destroyed goes on, and is told.
        Meets::Broken
    } else if word & OWNER == 0 {
        Meets::Free
    } else if word & OWNER != u64::from(thread.0) + 1 {
        Meets::Busy
    } else if param & RECURSIVE != 0 {
        Meets::Again
    } else if param & ERROR_CHECKING != 0 {
        Meets::WouldDeadlock
    } else {
        Meets::Busy
    }
}

pub(super) fn served(lock: ObjectId, thread: ThreadId, view: &impl View) -> bool {
    !matches!(meets(lock, thread, view), Meets::Busy)
}

/// Whether the thread becomes owner, once more or for the first time.
pub(super) fn takes(lock: ObjectId, thread: ThreadId, view: &impl View) -> bool {
    matches!(meets(lock, thread, view), Meets::Free | Meets::Again)
}

pub(super) fn lock(lock: ObjectId, thread: ThreadId, state: &mut State) -> Outcome {
    let word = state.word(lock);
    match meets(lock, thread, state) {
        Meets::Free => {
            state.set(lock, word & !OWNER | (u64::from(thread.0) + 1));
            state.hold(thread, lock, false);
            if word & DEAD_OWNER != 0 { Outcome::OWNER_DIED } else { Outcome::DONE }
        }
        Meets::Again => {
            state.set(lock, word + DEPTH);
            Outcome::DONE
        }
        Meets::WouldDeadlock => Outcome::WOULD_DEADLOCK,
        Meets::Broken => Outcome::UNRECOVERABLE,
        Meets::Busy => truth(false),
    }
}

/// Whether `thread` is the owner.
pub(super) fn owned(lock: ObjectId, thread: ThreadId, view: &impl View) -> bool {
    view.word(lock) & OWNER == u64::from(thread.0) + 1
}

/// Depth of the owner's further acquisitions.
fn depth(word: u64) -> u64 {
    (word >> 32) & 0xffff
}

pub(super) fn unlock(lock: ObjectId, thread: ThreadId, state: &mut State) -> (Outcome, Option<Misuse>) {
    if !owned(lock, thread, state) {
        // It may have been initialised since.
        state.release(thread, lock);
        let misuse = if state.word(lock) & OWNER == 0 { Misuse::UnlockUnlocked } else { Misuse::UnlockByNonOwner };
        return (Outcome::FAILED, Some(misuse));
    }
    let word = state.word(lock);
    if depth(word) > 0 {
        state.set(lock, word - DEPTH);
    } else {
        let broken = if word & DEAD_OWNER != 0 { BROKEN } else { 0 };
        state.set(lock, (word & !(OWNER | DEAD_OWNER)) | broken);
        state.release(thread, lock);
    }
    (Outcome::DONE, None)
}

pub(super) fn make_consistent(lock: ObjectId, thread: ThreadId, state: &mut State) -> (Outcome, Option<Misuse>) {
    let word = state.word(lock);
    if !owned(lock, thread, state) || word & DEAD_OWNER == 0 {
        return (Outcome::FAILED, Some(Misuse::NotInconsistent));
    }
    state.set(lock, word & !DEAD_OWNER);
    (Outcome::DONE, None)
}
