//! Channels: unbounded, bounded, and of capacity zero (rendezvous).
//!
//! A channel is a group of objects, so that sending commutes with receiving earlier messages: its *tail* (word: how many
//! were sent), its *head* (how many were received, and how many receivers are there), the number of *receivers*, the
//! number of *senders*, and one *place* for each message; a bounded channel uses its places as a ring. Cloning and
//! dropping senders commute; seeing that there is none left does not commute with them.

use crate::footprint::{Access, Footprint};
use crate::names::ObjectId;
use crate::operation::{Operation, Outcome, Wait};
use crate::state::{State, View};

/// Capacity of an unbounded channel.
pub(crate) const UNBOUNDED: u64 = u64::MAX;

/// Words of a message's place.
const EMPTY: u64 = 0;
const FULL: u64 = 1;
const TAKEN: u64 = 2;
const WITHDRAWN: u64 = 3;

/// In the word of a head, counts receivers that are there.
const READY: u64 = 1 << 32;

pub(super) fn head(channel: ObjectId) -> ObjectId {
    channel.offset(1)
}

pub(crate) fn receivers(channel: ObjectId) -> ObjectId {
    channel.offset(2)
}

pub(crate) fn senders(channel: ObjectId) -> ObjectId {
    channel.offset(3)
}

/// The place of a message.
fn place(channel: ObjectId, number: u64, view: &impl View) -> ObjectId {
    match view.fixed().param(channel) {
        0 | UNBOUNDED => view.fixed().part(channel, number),
        capacity => view.fixed().part(channel, number % capacity),
    }
}

fn is_rendezvous(channel: ObjectId, view: &impl View) -> bool {
    view.fixed().param(channel) == 0
}

/// Whether a receiver said that it is there before it receives; one that only tries does not.
fn was_ready(channel: ObjectId, wait: Wait, view: &impl View) -> bool {
    is_rendezvous(channel, view) && wait != Wait::Try
}

/// The number of the next message to receive: offers that were withdrawn are passed over.
fn next(channel: ObjectId, view: &impl View) -> u64 {
    let mut number = view.word(head(channel)) % READY;
    if is_rendezvous(channel, view) {
        while view.word(place(channel, number, view)) == WITHDRAWN {
            number += 1;
        }
    }
    number
}

/// Whether a receiver waits for whom no offer is there yet.
fn receiver_waits(channel: ObjectId, view: &impl View) -> bool {
    let word = view.word(head(channel));
    let offers =
        (word % READY..view.word(channel)).filter(|&n| view.word(place(channel, n, view)) == FULL).count() as u64;
    word / READY > offers
}

pub(super) fn send_served(channel: ObjectId, wait: Wait, view: &impl View) -> bool {
    if view.word(receivers(channel)) == 0 {
        return true;
    }
    match view.fixed().param(channel) {
        UNBOUNDED => true,
        0 => wait != Wait::Try || receiver_waits(channel, view),
        _ => view.word(place(channel, view.word(channel), view)) == EMPTY,
    }
}

pub(super) fn taken_served(channel: ObjectId, message: u32, view: &impl View) -> bool {
    view.word(place(channel, u64::from(message), view)) == TAKEN || view.word(receivers(channel)) == 0
}

pub(super) fn receive_served(channel: ObjectId, view: &impl View) -> bool {
    view.word(place(channel, next(channel, view), view)) == FULL || view.word(senders(channel)) == 0
}

pub(super) fn footprint(op: &Operation, view: &impl View, out: &mut Footprint) {
    match *op {
        Operation::Send { channel, wait } => {
            out.push(Access::read(receivers(channel)));
            if view.word(receivers(channel)) == 0 {
                return;
            }
            let mode = if send_served(channel, wait, view) { Access::write } else { Access::read };
            out.extend([mode(channel), mode(place(channel, view.word(channel), view))]);
            if is_rendezvous(channel, view) && wait == Wait::Try {
                let first = view.word(head(channel)) % READY;
                out.push(Access::read(head(channel)));
                out.extend((first..view.word(channel)).map(|n| Access::read(place(channel, n, view))));
            }
        }
        Operation::SendTaken { channel, message, .. } => {
            let place = place(channel, u64::from(message), view);
            if view.word(place) == TAKEN {
                out.push(Access::read(place));
            } else {
                // The offer is withdrawn: no receiver is left to take it, or its time is over.
                out.extend([Access::write(place), Access::read(receivers(channel))]);
            }
        }
        Operation::ReceiveReady { channel } => out.push(Access::write(head(channel))),
        Operation::Receive { channel, wait } => {
            let number = next(channel, view);
            let message = place(channel, number, view);
            if is_rendezvous(channel, view) {
                let first = view.word(head(channel)) % READY;
                out.extend((first..number).map(|n| Access::read(place(channel, n, view))));
            }
            if view.word(message) == FULL {
                out.extend([Access::write(head(channel)), Access::write(message)]);
            } else {
                let mode = if was_ready(channel, wait, view) { Access::write } else { Access::read };
                out.extend([mode(head(channel)), Access::read(message), Access::write(senders(channel))]);
            }
        }
        Operation::CloneSender { channel } | Operation::DropSender { channel } => {
            out.push(Access::read(senders(channel)));
        }
        Operation::DropReceiver { channel } => out.push(Access::write(receivers(channel))),
        _ => {}
    }
}

pub(super) fn apply(op: &Operation, state: &mut State) -> Outcome {
    match *op {
        Operation::Send { channel, wait } => {
            if state.word(receivers(channel)) == 0 {
                return Outcome::DISCONNECTED;
            }
            if !send_served(channel, wait, state) {
                return Outcome::FAILED;
            }
            let number = state.word(channel);
            let message = place(channel, number, state);
            state.set(message, FULL);
            state.set(channel, number + 1);
            Outcome(number)
        }
        Operation::SendTaken { channel, message, .. } => {
            let place = place(channel, u64::from(message), state);
            if state.word(place) == TAKEN {
                return Outcome::DONE;
            }
            state.set(place, WITHDRAWN);
            if state.word(receivers(channel)) == 0 { Outcome::DISCONNECTED } else { Outcome::FAILED }
        }
        Operation::ReceiveReady { channel } => {
            state.set(head(channel), state.word(head(channel)) + READY);
            Outcome::DONE
        }
        Operation::Receive { channel, wait } => {
            let number = next(channel, state);
            let message = place(channel, number, state);
            let ring = !matches!(state.fixed.param(channel), 0 | UNBOUNDED);
            let left = if was_ready(channel, wait, state) { READY } else { 0 };
            let word = state.word(head(channel));
            if state.word(message) == FULL {
                state.set(message, if ring { EMPTY } else { TAKEN });
                state.set(head(channel), (word / READY * READY).saturating_sub(left) + number + 1);
                return Outcome(number);
            }
            state.set(head(channel), word.saturating_sub(left));
            if state.word(senders(channel)) == 0 { Outcome::DISCONNECTED } else { Outcome::FAILED }
        }
        Operation::CloneSender { channel } => {
            state.set(senders(channel), state.word(senders(channel)) + 1);
            Outcome::DONE
        }
        Operation::DropSender { channel } => {
            state.set(senders(channel), state.word(senders(channel)).saturating_sub(1));
            Outcome::DONE
        }
        Operation::DropReceiver { channel } => {
            state.set(receivers(channel), state.word(receivers(channel)).saturating_sub(1));
            Outcome::DONE
        }
        _ => Outcome::DONE,
    }
}
