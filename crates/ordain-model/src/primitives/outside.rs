//! What comes from outside the threads: descriptors that are ready, signals, interruptions, and the end of the program.
//!
//! Word of a descriptor or of signals: bits that the front end sets after each operation on it. Word of an interruption: whether
//! there is one that the thread has not taken yet.

use crate::footprint::{Access, Footprint};
use crate::names::{ObjectId, ThreadId};
use crate::operation::{Operation, Outcome, Wait};
use crate::state::{INTERRUPTED, State, View, WAITING};

/// Whether one of the objects has what is waited for.
pub(super) fn ready(set: ObjectId, view: &impl View) -> bool {
    view.fixed().poll(set).iter().any(|(object, mask)| view.word(*object) & mask != 0)
}

pub(super) fn is_interrupted(thread: ThreadId, view: &impl View) -> bool {
    view.word(view.fixed().interruption(thread)) != 0
}

/// The access of a thread that looks whether it was interrupted, and takes the interruption.
pub(super) fn look(thread: ThreadId, view: &impl View) -> Access {
    let interruption = view.fixed().interruption(thread);
    if is_interrupted(thread, view) { Access::write(interruption) } else { Access::read(interruption) }
}

/// Takes the interruption, if there is one.
pub(super) fn take_interrupt(thread: ThreadId, state: &mut State) -> bool {
    let interrupted = is_interrupted(thread, state);
    state.set(state.fixed.interruption(thread), 0);
    interrupted
}

/// The condition variable or futex that a thread waits in and leaves when it is interrupted. Nobody leaves a barrier early.
fn left(thread: ThreadId, view: &impl View) -> Option<ObjectId> {
    let place = view.word(view.fixed().place(thread));
    let queue = (place >= WAITING).then(|| ObjectId((place - WAITING) as u32))?;
    (view.fixed().param(queue) == 0).then_some(queue)
}

pub(super) fn footprint(op: &Operation, thread: ThreadId, view: &impl View, out: &mut Footprint) {
    match *op {
        Operation::Await { object, mask, wait } => {
            let takes = view.word(object) & mask != 0 || wait == Wait::Try;
            out.push(if takes { Access::write(object) } else { Access::read(object) });
        }
        Operation::Poll { set, .. } => {
            out.extend(view.fixed().poll(set).iter().map(|(object, _)| Access::read(*object)));
        }
        Operation::Interrupt { thread: target } => {
            out.push(Access::write(view.fixed().place(target)));
            match left(target, view) {
                Some(queue) => out.push(Access::write(queue)),
                None => out.push(Access::write(view.fixed().interruption(target))),
            }
        }
        Operation::TakeInterrupt => out.push(look(thread, view)),
        Operation::End => out.push(Access::EVERYTHING),
        _ => {}
    }
}

pub(super) fn apply(op: &Operation, thread: ThreadId, state: &mut State) -> Outcome {
    match *op {
        Operation::Await { object, mask, .. } => super::truth(state.word(object) & mask != 0),
        Operation::Poll { set, .. } => super::truth(ready(set, state)),
        Operation::Interrupt { thread: target } => {
            match left(target, state) {
                Some(queue) => {
                    state.dequeue(queue, |t| t == target);
                    state.set(state.fixed.place(target), INTERRUPTED);
                }
                None => state.set(state.fixed.interruption(target), 1),
            }
            Outcome::DONE
        }
        Operation::TakeInterrupt => {
            if take_interrupt(thread, state) {
                Outcome::INTERRUPTED
            } else {
                Outcome::DONE
            }
        }
        _ => Outcome::DONE,
    }
}
