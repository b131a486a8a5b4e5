//! Condition variables, and the wait queues that futexes and barriers have as well.
//!
//! Word of a queue: the list of its waiters. A thread joins a queue in one step and waits for the change of its own *place*
//! in another, so that a woken thread depends on the notification that woke it and on no other.

use super::{mutex, truth};
use crate::finding::Misuse;
use crate::footprint::{Access, Footprint};
use crate::names::{ObjectId, ThreadId};
use crate::operation::{Operation, Outcome};
use crate::state::{ABSENT, FREED, NOTIFIED, State, View, WAITING};
use smallvec::SmallVec;

pub(super) fn notified(thread: ThreadId, view: &impl View) -> bool {
    view.word(view.fixed().place(thread)) == NOTIFIED
}

/// Whether nobody waits in the queue.
pub(super) fn is_empty(queue: ObjectId, view: &impl View) -> bool {
    view.fixed().waiters(view.word(queue)).is_empty()
}

/// Number of ways to pick `k` of `n`.
fn combinations(n: u32, k: u32) -> u32 {
    let k = k.min(n - k);
    (0..k).fold(1u64, |all, i| (all * u64::from(n - i) / u64::from(i + 1)).min(u64::from(u32::MAX))) as u32
}

/// In how many ways up to `count` waiters can be woken.
pub(super) fn alternatives(queue: ObjectId, count: u32, view: &impl View) -> u32 {
    let waiting = view.fixed().waiters(view.word(queue)).len() as u32;
    combinations(waiting, count.min(waiting))
}

/// The waiters that the `choice`-th way to wake `count` of them wakes.
fn picked(queue: ObjectId, count: u32, choice: u32, view: &impl View) -> SmallVec<[ThreadId; 4]> {
    let waiters = view.fixed().waiters(view.word(queue));
    let mut left = count.min(waiters.len() as u32);
    let mut rank = choice;
    let mut picked = SmallVec::new();
    for (i, thread) in waiters.iter().enumerate() {
        if left == 0 {
            break;
        }
        let behind = (waiters.len() - i - 1) as u32;
        let with_this = if behind >= left - 1 { combinations(behind, left - 1) } else { 0 };
        if rank < with_this {
            picked.push(*thread);
            left -= 1;
        } else {
            rank -= with_this;
        }
    }
    picked
}

/// The waiters that a requeue moves: the first ones that it does not wake.
fn moved(queue: ObjectId, woken: &[ThreadId], count: u32, view: &impl View) -> SmallVec<[ThreadId; 4]> {
    let waiters = view.fixed().waiters(view.word(queue));
    waiters.iter().copied().filter(|t| !woken.contains(t)).take(count as usize).collect()
}

/// The queue that a thread waits in, which a requeue may have changed.
fn current_queue(thread: ThreadId, announced: ObjectId, view: &impl View) -> ObjectId {
    match view.word(view.fixed().place(thread)) {
        ABSENT | NOTIFIED => announced,
        waiting => ObjectId((waiting - WAITING) as u32),
    }
}

pub(super) fn footprint(op: &Operation, thread: ThreadId, choice: u32, view: &impl View, out: &mut Footprint) {
    let place = |t: ThreadId| Access::write(view.fixed().place(t));
    match *op {
        Operation::QueueWait { queue, lock } => {
            out.extend([Access::write(queue), Access::write(lock), place(thread)]);
        }
        Operation::FutexWait { cell, queue, expected } => {
            out.push(Access::read(cell));
            if view.word(cell) == expected {
                out.extend([Access::write(queue), place(thread)]);
            }
        }
        Operation::Woken { queue, .. } => {
            out.push(place(thread));
            if !notified(thread, view) {
                out.push(Access::write(current_queue(thread, queue, view)));
            }
        }
        Operation::Notify { queue, count } => {
            let woken = picked(queue, count, choice, view);
            out.push(if woken.is_empty() { Access::read(queue) } else { Access::write(queue) });
            out.extend(woken.into_iter().map(place));
        }
        Operation::Requeue { queue, to, count, moved: most } => {
            let woken = picked(queue, count, choice, view);
            let others = moved(queue, &woken, most, view);
            out.push(if woken.is_empty() && others.is_empty() { Access::read(queue) } else { Access::write(queue) });
            if !others.is_empty() && to != queue {
                out.push(Access::write(to));
            }
            out.extend(woken.into_iter().chain(others).map(place));
        }
        _ => {}
    }
}

pub(super) fn apply(op: &Operation, thread: ThreadId, choice: u32, state: &mut State) -> (Outcome, Option<Misuse>) {
    match *op {
        Operation::QueueWait { queue, lock } => {
            let misuse = (!mutex::owned(lock, thread, state)).then_some(Misuse::WaitWithoutLock);
            if misuse.is_none() {
                // Only once: a recursive mutex that was taken twice stays taken.
                mutex::unlock(lock, thread, state);
            }
            state.enqueue(queue, thread);
            (Outcome::DONE, misuse)
        }
        Operation::FutexWait { cell, queue, expected } => {
            let waits = state.word(cell) == expected;
            if waits {
                state.enqueue(queue, thread);
            }
            (truth(waits), None)
        }
        Operation::Woken { queue, .. } => {
            let served = notified(thread, state);
            let mut misuse = None;
            if !served {
                let queue = current_queue(thread, queue, state);
                state.dequeue(queue, |t| t == thread);
                misuse = (state.word(queue) & FREED != 0).then_some(Misuse::UseAfterFree);
            }
            state.set(state.fixed.place(thread), ABSENT);
            (truth(served), misuse)
        }
        Operation::Notify { queue, count } => {
            let woken = picked(queue, count, choice, state);
            wake(queue, &woken, state);
            (Outcome(woken.len() as u64), None)
        }
        Operation::Requeue { queue, to, count, moved: most } => {
            let woken = picked(queue, count, choice, state);
            let others = moved(queue, &woken, most, state);
            wake(queue, &woken, state);
            if !others.is_empty() && to != queue {
                state.dequeue(queue, |t| others.contains(&t));
                for thread in &others {
                    state.enqueue(to, *thread);
                }
            }
            (Outcome((woken.len() + others.len()) as u64), None)
        }
        _ => (Outcome::DONE, None),
    }
}

/// A thread that is to end leaves the queue; if it was woken, that is for somebody else.
pub(super) fn leave(queue: ObjectId, thread: ThreadId, state: &mut State) -> Outcome {
    let place = state.fixed.place(thread);
    let word = state.word(place);
    if word >= WAITING {
        let queue = current_queue(thread, queue, state);
        state.dequeue(queue, |t| t == thread);
    }
    state.set(place, ABSENT);
    if word == NOTIFIED { Outcome::CANCELLED_WOKEN } else { Outcome::CANCELLED }
}

/// Wakes these waiters.
pub(super) fn wake(queue: ObjectId, woken: &[ThreadId], state: &mut State) {
    if woken.is_empty() {
        return;
    }
    state.dequeue(queue, |t| woken.contains(&t));
    for thread in woken {
        state.set(state.fixed.place(*thread), NOTIFIED);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_choice_of_waiters_is_picked_once() {
        let mut state = State::default();
        state.words.push(0);
        let queue = ObjectId(0);
        state.set_waiters(queue, (0..5).map(ThreadId));
        let mut seen = alloc::collections::BTreeSet::new();
        assert_eq!(alternatives(queue, 2, &state), 10);
        for choice in 0..10 {
            let pick = picked(queue, 2, choice, &state);
            assert_eq!(pick.len(), 2);
            assert!(seen.insert(pick));
        }
        assert_eq!(alternatives(queue, u32::MAX, &state), 1);
        assert_eq!(picked(queue, u32::MAX, 0, &state).len(), 5);
        assert_eq!(alternatives(queue, 0, &state), 1);
    }
}
