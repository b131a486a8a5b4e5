//! Channels with one receiver, shaped like [`std::sync::mpsc`].
//!
//! A channel belongs to where it was made: one made inside a check is modelled, with any capacity down to zero; one made
//! outside is std's and cannot be used inside a check. A timed receive may expire whenever no message is there.

mod channel;
mod iter;

pub use iter::{IntoIter, Iter, TryIter};
pub use std::sync::mpsc::{RecvError, RecvTimeoutError, SendError, TryRecvError, TrySendError};

use crate::rt;
use channel::{ReceiveEnd, SendEnd, UNBOUNDED};
use ordain_model::Wait;
use std::fmt;
use std::sync::mpsc as real;
use std::time::Duration;

/// Which channel a handle belongs to.
enum End<R, M> {
    /// Made outside a check.
    Real(R),
    /// Made inside a check.
    Modelled(M),
}

impl<R, M> End<R, M> {
    /// The end of a modelled channel, or the real end if it may be used here.
    #[track_caller]
    fn usable(&self) -> &Self {
        assert!(
            matches!(self, Self::Modelled(_)) || !rt::active(),
            "ordain: this channel was made outside the check; make it inside the closure"
        );
        self
    }
}

impl<R: Clone, M: Clone> Clone for End<R, M> {
    #[track_caller]
    fn clone(&self) -> Self {
        match self {
            Self::Real(end) => Self::Real(end.clone()),
            Self::Modelled(end) => Self::Modelled(end.clone()),
        }
    }
}

/// Makes a channel that is never full.
#[must_use]
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    if rt::active() {
        let (sender, receiver) = channel::channel(UNBOUNDED);
        (Sender { end: End::Modelled(sender) }, Receiver { end: End::Modelled(receiver) })
    } else {
        let (sender, receiver) = real::channel();
        (Sender { end: End::Real(sender) }, Receiver { end: End::Real(receiver) })
    }
}

/// Makes a channel for up to `bound` messages on their way. If it is zero, each send waits for its receive.
#[must_use]
pub fn sync_channel<T>(bound: usize) -> (SyncSender<T>, Receiver<T>) {
    if rt::active() {
        let (sender, receiver) = channel::channel(bound as u64);
        (SyncSender { end: End::Modelled(sender) }, Receiver { end: End::Modelled(receiver) })
    } else {
        let (sender, receiver) = real::sync_channel(bound);
        (SyncSender { end: End::Real(sender) }, Receiver { end: End::Real(receiver) })
    }
}

/// A sender of a channel that is never full, as [`std::sync::mpsc::Sender`].
pub struct Sender<T> {
    end: End<real::Sender<T>, SendEnd<T>>,
}

/// A sender of a channel that may be full, as [`std::sync::mpsc::SyncSender`].
pub struct SyncSender<T> {
    end: End<real::SyncSender<T>, SendEnd<T>>,
}

/// The receiver of a channel, as [`std::sync::mpsc::Receiver`].
pub struct Receiver<T> {
    end: End<real::Receiver<T>, ReceiveEnd<T>>,
}

/// What a send that waits can fail with: the receiver is gone.
fn unsent<T>(error: TrySendError<T>) -> SendError<T> {
    match error {
        TrySendError::Full(message) | TrySendError::Disconnected(message) => SendError(message),
    }
}

impl<T> Sender<T> {
    /// Sends a message, or gives it back if the receiver is gone.
    #[track_caller]
    pub fn send(&self, message: T) -> Result<(), SendError<T>> {
        match self.end.usable() {
            End::Real(sender) => sender.send(message),
            End::Modelled(sender) => sender.send(message, Wait::Block).map_err(unsent),
        }
    }
}

impl<T> SyncSender<T> {
    /// Sends a message, or gives it back if the receiver is gone. Waits while the channel is full.
    #[track_caller]
    pub fn send(&self, message: T) -> Result<(), SendError<T>> {
        match self.end.usable() {
            End::Real(sender) => sender.send(message),
            End::Modelled(sender) => sender.send(message, Wait::Block).map_err(unsent),
        }
    }

    /// Sends a message, or gives it back if the channel is full or the receiver is gone.
    #[track_caller]
    pub fn try_send(&self, message: T) -> Result<(), TrySendError<T>> {
        match self.end.usable() {
            End::Real(sender) => sender.try_send(message),
            End::Modelled(sender) => sender.send(message, Wait::Try),
        }
    }
}

impl<T> Receiver<T> {
    /// Receives a message; waits until there is one or the senders are gone.
    #[track_caller]
    pub fn recv(&self) -> Result<T, RecvError> {
        match self.end.usable() {
            End::Real(receiver) => receiver.recv(),
            End::Modelled(receiver) => receiver.receive(Wait::Block).map_err(|_| RecvError),
        }
    }

    /// Receives a message if there is one.
    #[track_caller]
    pub fn try_recv(&self) -> Result<T, TryRecvError> {
        match self.end.usable() {
            End::Real(receiver) => receiver.try_recv(),
            End::Modelled(receiver) => receiver.receive(Wait::Try),
        }
    }

    /// Receives a message; waits no longer than `timeout`.
    #[track_caller]
    pub fn recv_timeout(&self, timeout: Duration) -> Result<T, RecvTimeoutError> {
        match self.end.usable() {
            End::Real(receiver) => receiver.recv_timeout(timeout),
            End::Modelled(receiver) => {
                if rt::active() {
                    rt::wait_at_most(timeout);
                }
                receiver.receive(Wait::Timed).map_err(|error| match error {
                    TryRecvError::Empty => {
                        rt::advance(timeout);
                        RecvTimeoutError::Timeout
                    }
                    TryRecvError::Disconnected => RecvTimeoutError::Disconnected,
                })
            }
        }
    }

    /// The messages, waiting for each, until the senders are gone.
    pub fn iter(&self) -> Iter<'_, T> {
        Iter { receiver: self }
    }

    /// The messages that are there.
    pub fn try_iter(&self) -> TryIter<'_, T> {
        TryIter { receiver: self }
    }
}

impl<T> Clone for Sender<T> {
    #[track_caller]
    fn clone(&self) -> Self {
        Self { end: self.end.clone() }
    }
}

impl<T> Clone for SyncSender<T> {
    #[track_caller]
    fn clone(&self) -> Self {
        Self { end: self.end.clone() }
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for SyncSender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SyncSender").finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver").finish_non_exhaustive()
    }
}
