//! Counting semaphores. Word: the count.

use super::truth;
use crate::finding::Misuse;
use crate::names::ObjectId;
use crate::operation::Outcome;
use crate::state::{State, View};

/// The largest count that POSIX promises.
const MAX: u64 = i32::MAX as u64;

pub(super) fn acquire(semaphore: ObjectId, state: &mut State) -> Outcome {
    let count = state.word(semaphore);
    if count > 0 {
        state.set(semaphore, count - 1);
    }
    truth(count > 0)
}

pub(super) fn post(semaphore: ObjectId, count: u32, fails: bool, state: &mut State) -> (Outcome, Option<Misuse>) {
    let sum = state.word(semaphore) + u64::from(count);
    if sum > MAX {
        return (Outcome::FAILED, (!fails).then_some(Misuse::SemaphoreOverflow));
    }
    state.set(semaphore, sum);
    (Outcome::DONE, None)
}
