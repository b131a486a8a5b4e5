//! The life of threads, and the end of objects. Word of a life: running or ended, joined, detached.

use super::{DEAD_OWNER, ROBUST, truth};
use crate::finding::Misuse;
use crate::names::{ObjectId, ThreadId};
use crate::operation::Outcome;
use crate::state::{DESTROYED, FREED, State, View};

const ENDED: u64 = 1;
const JOINED: u64 = 2;
const DETACHED: u64 = 4;

pub(super) fn ended(thread: ThreadId, view: &impl View) -> bool {
    view.word(view.fixed().life(thread)) & ENDED != 0
}

pub(super) fn exit(thread: ThreadId, state: &mut State) -> (Outcome, Option<Misuse>) {
    let life = state.fixed.life(thread);
    state.set(life, state.word(life) | ENDED);
    let mut misuse = None;
    for i in (0..state.holds.len()).rev() {
        let hold = state.holds[i];
        if hold.thread == thread {
            if state.fixed.param(hold.object) & ROBUST != 0 {
                state.set(hold.object, DEAD_OWNER);
                state.holds.remove(i);
            } else {
                misuse = Some(Misuse::LockHeldAtExit(hold.object));
            }
        }
    }
    (Outcome::DONE, misuse)
}

pub(super) fn join(target: ThreadId, state: &mut State) -> (Outcome, Option<Misuse>) {
    let life = state.fixed.life(target);
    let word = state.word(life);
    if word & ENDED == 0 {
        return (truth(false), None);
    }
    state.set(life, word | JOINED);
    let misuse = match (word & JOINED != 0, word & DETACHED != 0) {
        (true, _) => Some(Misuse::JoinTwice),
        (_, true) => Some(Misuse::JoinDetached),
        _ => None,
    };
    (Outcome::DONE, misuse)
}

pub(super) fn detach(target: ThreadId, state: &mut State) -> (Outcome, Option<Misuse>) {
    let life = state.fixed.life(target);
    let word = state.word(life);
    state.set(life, word | DETACHED);
    let misuse = (word & (JOINED | DETACHED) != 0).then_some(Misuse::DetachTwice);
    (Outcome::DONE, misuse)
}

/// Ends an object's life; nobody may hold it.
pub(super) fn destroy(object: ObjectId, state: &mut State) -> (Outcome, Option<Misuse>) {
    let held = state.holds.iter().any(|h| h.object == object);
    state.set(object, state.word(object) | DESTROYED);
    (Outcome::DONE, held.then_some(Misuse::DestroyInUse))
}

/// Takes an object's memory away. That is harmless as long as nobody uses it any more, even if someone holds it.
pub(super) fn free(object: ObjectId, state: &mut State) -> (Outcome, Option<Misuse>) {
    state.set(object, state.word(object) | DESTROYED | FREED);
    (Outcome::DONE, None)
}
