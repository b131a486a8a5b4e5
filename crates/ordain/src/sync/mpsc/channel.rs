//! A channel that was made inside a check: the model decides who sends and receives what, the messages are kept here.
//!
//! A handle may outlive its execution or be used while one is torn down; then nothing waits any more.

use crate::rt::{self, Object};
use ordain_model::{ObjectId, ObjectKind, Operation, Outcome, Wait};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{TryRecvError, TrySendError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The capacity of a channel that is never full.
pub(super) const UNBOUNDED: u64 = u64::MAX;

/// A modelled channel.
struct Channel<T> {
    /// The channel in the model.
    object: Object,
    /// How many messages fit.
    capacity: u64,
    /// The messages on their way, with their numbers, oldest first.
    messages: Mutex<VecDeque<(u32, T)>>,
    /// Whether the receiver is gone.
    closed: AtomicBool,
}

impl<T> Channel<T> {
    fn id(&self) -> ObjectId {
        self.object.id(ObjectKind::Channel, || self.capacity)
    }

    /// The messages. Held for a few instructions only, never across a step or a destructor.
    fn messages(&self) -> MutexGuard<'_, VecDeque<(u32, T)>> {
        self.messages.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes out the message of that number.
    fn take(&self, number: u32) -> T {
        let mut messages = self.messages();
        let place = messages.iter().position(|(n, _)| *n == number);
        let message = place.and_then(|place| messages.remove(place));
        message.expect("ordain: a message that the model knows is in its channel").1
    }
}

/// Makes a channel.
pub(super) fn channel<T>(capacity: u64) -> (SendEnd<T>, ReceiveEnd<T>) {
    let channel = Arc::new(Channel {
        object: Object::new(ObjectKind::Channel, capacity),
        capacity,
        messages: Mutex::new(VecDeque::new()),
        closed: AtomicBool::new(false),
    });
    (SendEnd(channel.clone()), ReceiveEnd(channel))
}

/// One of the senders of a channel.
pub(super) struct SendEnd<T>(Arc<Channel<T>>);

impl<T> SendEnd<T> {
    /// Sends a message, or gives it back.
    #[track_caller]
    pub(super) fn send(&self, message: T, wait: Wait) -> Result<(), TrySendError<T>> {
        let channel = &*self.0;
        if !self.0.object.active() {
            if channel.closed.load(Ordering::Relaxed) {
                return Err(TrySendError::Disconnected(message));
            }
            channel.messages().push_back((u32::MAX, message));
            return Ok(());
        }
        let id = channel.id();
        let outcome = rt::step(Operation::Send { channel: id, wait });
        let number = match outcome {
            Outcome::FAILED => return Err(TrySendError::Full(message)),
            Outcome::DISCONNECTED => return Err(TrySendError::Disconnected(message)),
            _ => outcome.message().expect("ordain: a message that was sent has a number"),
        };
        channel.messages().push_back((number, message));
        if channel.capacity == 0 && wait != Wait::Try {
            let taken = rt::step(Operation::SendTaken { channel: id, message: number, wait });
            if taken != Outcome::DONE {
                return Err(TrySendError::Disconnected(channel.take(number)));
            }
        }
        Ok(())
    }
}

impl<T> Clone for SendEnd<T> {
    #[track_caller]
    fn clone(&self) -> Self {
        if self.0.object.active() {
            rt::step(Operation::CloneSender { channel: self.0.id() });
        }
        Self(self.0.clone())
    }
}

impl<T> Drop for SendEnd<T> {
    #[track_caller]
    fn drop(&mut self) {
        if self.0.object.active() {
            rt::step(Operation::DropSender { channel: self.0.id() });
        }
    }
}

/// The receiver of a channel.
pub(super) struct ReceiveEnd<T>(Arc<Channel<T>>);

impl<T> ReceiveEnd<T> {
    /// Receives a message.
    #[track_caller]
    pub(super) fn receive(&self, wait: Wait) -> Result<T, TryRecvError> {
        let channel = &*self.0;
        if !self.0.object.active() {
            return channel.messages().pop_front().map(|(_, message)| message).ok_or(TryRecvError::Disconnected);
        }
        let id = channel.id();
        if channel.capacity == 0 && wait != Wait::Try {
            rt::step(Operation::ReceiveReady { channel: id });
        }
        match rt::step(Operation::Receive { channel: id, wait }) {
            Outcome::FAILED => Err(TryRecvError::Empty),
            Outcome::DISCONNECTED => Err(TryRecvError::Disconnected),
            outcome => Ok(channel.take(outcome.message().expect("ordain: a message that was received has a number"))),
        }
    }
}

impl<T> Drop for ReceiveEnd<T> {
    #[track_caller]
    fn drop(&mut self) {
        let channel = &*self.0;
        if self.0.object.active() {
            rt::step(Operation::DropReceiver { channel: channel.id() });
            channel.closed.store(true, Ordering::Relaxed);
            // The senders of a channel without capacity wait for their messages to be taken, and now take them back.
            if channel.capacity == 0 {
                return;
            }
        }
        channel.closed.store(true, Ordering::Relaxed);
        let left = std::mem::take(&mut *channel.messages());
        drop(left);
    }
}
