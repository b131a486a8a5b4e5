//! Signals: masks, what has come for whom, and who takes what.
//!
//! Words are sets of signals. Of a thread: those that it blocks (all, before it is spawned and when it has ended), and those that have come
//! for it. Of the process: those that nobody may take yet, and those that are ignored. A thread for which a signal has come that it does
//! not block takes it in place of what it announced, and announces that again. A program in which nobody can send signals has no object
//! of kind `Signals`, and nothing here concerns it.

use super::{served, truth};
use crate::footprint::{Access, Footprint};
use crate::names::{ObjectId, ThreadId};
use crate::operation::{Operation, Outcome, Wait};
use crate::state::{State, View};
use smallvec::SmallVec;

/// Bit of the word of ignored signals: some handlers are for one signal only. The C library keeps that signal to itself.
pub const ONCE: u64 = 1 << 31;

fn bit(number: u32) -> u64 {
    1 << (number - 1)
}

fn ignored(signals: ObjectId) -> ObjectId {
    signals.offset(1)
}

/// Whether a thread takes a signal now in place of `op`.
#[inline]
pub(super) fn is_due(op: &Operation, thread: ThreadId, view: &impl View) -> bool {
    view.fixed().signals.is_some() && due(op, thread, view) != 0
}

fn due(op: &Operation, thread: ThreadId, view: &impl View) -> u64 {
    let fixed = view.fixed();
    let awaited = match op {
        // Before these there is always a look.
        Operation::Spawn { .. } | Operation::Exit | Operation::End | Operation::Crash => return 0,
        Operation::TakeSignal { set, .. } => *set,
        _ => 0,
    };
    view.word(fixed.come(thread)) & !view.word(fixed.mask(thread)) & !awaited
}

/// Whether a wait ends when a handler has run.
fn is_broken_off(op: &Operation) -> bool {
    match op {
        Operation::Acquire { wait, .. }
        | Operation::Await { wait, .. }
        | Operation::Poll { wait, .. }
        | Operation::TakeSignal { wait, .. } => matches!(wait, Wait::Interruptible | Wait::Timed),
        Operation::Sleep => true,
        _ => false,
    }
}

/// The threads that may take a signal for the process, in order of birth.
fn takers(number: u32, view: &impl View) -> SmallVec<[ThreadId; 8]> {
    let fixed = view.fixed();
    let threads = fixed.threads.iter().filter(|(t, _)| view.word(fixed.mask(*t)) & bit(number) == 0);
    let mut threads: SmallVec<[_; 8]> = threads.collect();
    threads.sort_by(|a, b| a.1.cmp(&b.1));
    threads.iter().map(|(thread, _)| *thread).collect()
}

/// The thread that takes a signal for the process, if anybody may and wants to.
fn taker(signals: ObjectId, number: u32, choice: u32, view: &impl View) -> Option<ThreadId> {
    if is_ignored(signals, number, view) {
        return None;
    }
    takers(number, view).get(choice as usize).copied()
}

fn is_ignored(signals: ObjectId, number: u32, view: &impl View) -> bool {
    view.word(ignored(signals)) & bit(number) != 0
}

/// In how many ways a signal can be sent.
pub(super) fn alternatives(signals: ObjectId, thread: Option<ThreadId>, number: u32, view: &impl View) -> u32 {
    if thread.is_some() || is_ignored(signals, number, view) {
        return 1;
    }
    takers(number, view).len().max(1) as u32
}

/// Whether one of these signals is there for a thread.
pub(super) fn is_there(signals: ObjectId, set: u64, thread: ThreadId, view: &impl View) -> bool {
    (view.word(signals) | view.word(view.fixed().come(thread))) & set != 0
}

fn push(out: &mut Footprint, access: Access) {
    match out.iter_mut().find(|a| **a != Access::EVERYTHING && a.object() == access.object()) {
        Some(known) if access.is_write() => *known = access,
        Some(_) => {}
        None => out.push(access),
    }
}

/// The footprint of taking a signal in place of `op`, of which `normal` is the footprint.
pub(super) fn due_footprint(
    op: &Operation,
    thread: ThreadId,
    normal: &Footprint,
    view: &impl View,
    out: &mut Footprint,
) {
    let fixed = view.fixed();
    let Some(signals) = fixed.signals else { return };
    out.push(Access::write(fixed.come(thread)));
    out.push(Access::write(fixed.mask(thread)));
    // The handler blocks signals meanwhile, and whoever changes a mask reads this: see the footprint of sending.
    out.push(Access::read(signals));
    let ignored = ignored(signals);
    out.push(super::read_or_write(ignored, view.word(ignored) & ONCE != 0));
    if is_broken_off(op) {
        // Whether it had to wait makes the difference.
        normal.iter().for_each(|access| push(out, Access::read(access.object())));
    }
}

/// Adds what `op` means to signals, in a program in which there can be any.
pub(super) fn footprint(op: &Operation, thread: ThreadId, choice: u32, view: &impl View, out: &mut Footprint) {
    let fixed = view.fixed();
    let Some(process) = fixed.signals else { return };
    if op.ends_program() {
        return;
    }
    push(out, Access::read(fixed.come(thread)));
    match *op {
        Operation::Spawn { child } => {
            push(out, Access::write(fixed.mask(child)));
            push(out, Access::read(process));
        }
        Operation::Exit => {
            push(out, Access::write(fixed.mask(thread)));
            push(out, Access::read(process));
        }
        Operation::Signal { signals, thread: to, number } => {
            push(out, Access::read(ignored(signals)));
            let to = match to {
                Some(to) => Some(to),
                None => {
                    // Whoever changes a mask reads it, so it stands for the masks of all threads, also of those that are still to come.
                    push(out, Access::write(signals));
                    taker(signals, number, choice, view)
                }
            };
            if let Some(to) = to {
                push(out, Access::write(fixed.come(to)));
            }
        }
        Operation::BlockSignals { signals, mask } => {
            let own = fixed.mask(thread);
            if view.word(signals) & !mask != 0 {
                push(out, Access::write(signals));
                push(out, Access::write(fixed.come(thread)));
            } else {
                push(out, Access::read(signals));
            }
            push(out, Access::write(own));
        }
        Operation::SetActions { signals, ignored: set } => {
            let ignored = ignored(signals);
            push(out, Access::write(ignored));
            if set & !view.word(ignored) & !ONCE != 0 {
                push(out, Access::write(signals));
                let dropped =
                    fixed.threads.iter().map(|(t, _)| fixed.come(*t)).filter(|come| view.word(*come) & set != 0);
                dropped.for_each(|come| push(out, Access::write(come)));
            }
        }
        Operation::TakeSignal { signals, set, .. } => {
            if view.word(fixed.come(thread)) & set != 0 {
                push(out, Access::write(fixed.come(thread)));
                // Had it been ignored meanwhile, it would be gone.
                push(out, Access::read(ignored(signals)));
            } else {
                push(out, super::read_or_write(signals, view.word(signals) & set != 0));
            }
        }
        _ => {}
    }
}

/// Takes the lowest signal in place of `op`. Who runs handlers says what is left, and which signals are blocked meanwhile.
pub(super) fn take(op: &Operation, thread: ThreadId, state: &mut State) -> Outcome {
    let due = due(op, thread, state);
    let waits = is_broken_off(op) && (*op == Operation::Sleep || !served(op, thread, state));
    let come = state.fixed.come(thread);
    state.set(come, state.word(come) & !(due & due.wrapping_neg()));
    if waits { Outcome::BROKEN_OFF } else { Outcome::SIGNALLED }
}

/// A thread begins with the mask of the one that made it.
pub(super) fn spawn(thread: ThreadId, child: ThreadId, state: &mut State) {
    if state.fixed.signals.is_some() {
        state.set(state.fixed.mask(child), state.word(state.fixed.mask(thread)));
    }
}

/// A thread that has ended takes nothing.
pub(super) fn exit(thread: ThreadId, state: &mut State) {
    if state.fixed.signals.is_some() {
        state.set(state.fixed.mask(thread), u64::MAX);
    }
}

pub(super) fn apply(op: &Operation, thread: ThreadId, choice: u32, state: &mut State) -> Outcome {
    match *op {
        Operation::Signal { signals, thread: to, number } => {
            let to = match to {
                Some(to) => {
                    let blocked = state.word(state.fixed.mask(to)) & bit(number) != 0;
                    if is_ignored(signals, number, state) && !blocked {
                        return truth(false);
                    }
                    to
                }
                None => match taker(signals, number, choice, state) {
                    Some(to) => to,
                    None if takers(number, state).is_empty() => {
                        state.set(signals, state.word(signals) | bit(number));
                        return truth(true);
                    }
                    None => return truth(false),
                },
            };
            let come = state.fixed.come(to);
            state.set(come, state.word(come) | bit(number));
            Outcome(u64::from(to.0))
        }
        Operation::BlockSignals { signals, mask } => {
            let (own, come) = (state.fixed.mask(thread), state.fixed.come(thread));
            let moved = state.word(signals) & !mask;
            state.set(signals, state.word(signals) & mask);
            state.set(come, state.word(come) | moved);
            state.set(own, mask);
            Outcome::DONE
        }
        Operation::SetActions { signals, ignored: set } => {
            let ignored = ignored(signals);
            let new = set & !state.word(ignored) & !ONCE;
            state.set(ignored, set);
            if new != 0 {
                state.set(signals, state.word(signals) & !new);
                for i in 0..state.fixed.threads.len() {
                    let come = state.fixed.come(state.fixed.threads[i].0);
                    state.set(come, state.word(come) & !new);
                }
            }
            Outcome::DONE
        }
        Operation::TakeSignal { signals, set, .. } => {
            let come = state.fixed.come(thread);
            let from = if state.word(come) & set != 0 { come } else { signals };
            let there = state.word(from) & set;
            if there == 0 {
                return truth(false);
            }
            state.set(from, state.word(from) & !(there & there.wrapping_neg()));
            Outcome(u64::from(there.trailing_zeros()) + 1)
        }
        _ => Outcome::DONE,
    }
}
