//! Channels inside checks: unbounded, bounded, rendezvous; timed and tried; disconnected.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{classes, finding, outcomes, outcomes_with, quiet, verify};
use ordain::FindingKind::Deadlock;
use ordain::sync::mpsc::{RecvError, RecvTimeoutError, SendError, TryRecvError, TrySendError, channel, sync_channel};
use ordain::thread;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

const LONG: Duration = Duration::from_secs(3600);

#[test]
fn messages_of_one_sender_keep_their_order() {
    let count = classes(|| {
        let (sender, receiver) = channel();
        let other = thread::spawn(move || (0..4).for_each(|i| sender.send(i).unwrap()));
        assert_eq!(receiver.iter().collect::<Vec<_>>(), [0, 1, 2, 3]);
        other.join().unwrap();
    });
    assert_eq!(count, 1, "sending commutes with receiving");
}

#[test]
fn messages_of_two_senders_mix_in_every_way() {
    let seen = outcomes(|| {
        let (sender, receiver) = channel();
        let sender2 = sender.clone();
        thread::spawn(move || {
            sender2.send('a').unwrap();
            sender2.send('b').unwrap();
        });
        thread::spawn(move || sender.send('c').unwrap());
        receiver.iter().collect::<String>()
    });
    assert_eq!(seen, BTreeSet::from(["abc", "acb", "cab"].map(String::from)));
}

#[test]
fn an_empty_channel_is_empty_or_disconnected() {
    let seen = outcomes(|| {
        let (sender, receiver) = channel();
        thread::spawn(move || sender.send(1).is_ok());
        [receiver.try_recv(), receiver.try_recv()].map(|got| match got {
            Ok(number) => number.to_string(),
            Err(TryRecvError::Empty) => "empty".to_owned(),
            Err(TryRecvError::Disconnected) => "disconnected".to_owned(),
        })
    });
    let expected = [["empty", "empty"], ["empty", "1"], ["1", "empty"], ["1", "disconnected"]];
    assert_eq!(seen, BTreeSet::from(expected.map(|pair| pair.map(String::from))));
}

#[test]
fn receiving_without_senders_fails_and_sending_without_a_receiver_gives_the_message_back() {
    verify(|| {
        let (sender, receiver) = channel::<u32>();
        sender.send(1).unwrap();
        drop(sender);
        assert_eq!((receiver.recv(), receiver.recv()), (Ok(1), Err(RecvError)));
        assert_eq!(receiver.recv_timeout(LONG), Err(RecvTimeoutError::Disconnected));
        let (sender, receiver) = sync_channel(1);
        drop(receiver);
        assert_eq!(sender.send(7), Err(SendError(7)));
        assert_eq!(sender.try_send(8), Err(TrySendError::Disconnected(8)));
    });
}

#[test]
fn a_send_meets_a_receiver_that_goes() {
    let seen = outcomes(|| {
        let (sender, receiver) = channel();
        let other = thread::spawn(move || drop(receiver));
        let sent = sender.send(1).is_ok();
        other.join().unwrap();
        (sent, sender.send(2).is_ok())
    });
    assert_eq!(seen, BTreeSet::from([(false, false), (true, false)]));
}

#[test]
fn waiting_for_a_message_that_nobody_sends_is_a_deadlock() {
    let found = finding(Deadlock, || {
        let (sender, receiver) = channel::<u32>();
        let _ = receiver.recv();
        drop(sender);
    });
    assert!(found.message().starts_with("main waits to receive channel receiver at "), "{found}");
}

#[test]
fn a_bounded_channel_blocks_when_full() {
    let seen = outcomes(|| {
        let (sender, receiver) = sync_channel(1);
        let other = thread::spawn(move || {
            let first = sender.try_send(1).is_ok();
            let second = sender.try_send(2).is_ok();
            (first, second)
        });
        let got = receiver.try_recv().ok();
        let (first, second) = other.join().unwrap();
        (first, second, got)
    });
    assert_eq!(seen, BTreeSet::from([(true, false, None), (true, false, Some(1)), (true, true, Some(1))]));
    let found = finding(Deadlock, || {
        let (sender, receiver) = sync_channel(1);
        sender.send(1).unwrap();
        sender.send(2).unwrap();
        drop(receiver);
    });
    assert!(found.message().starts_with("main waits to send channel sender at "), "{found}");
}

#[test]
fn a_bounded_channel_is_a_ring() {
    verify(|| {
        let (sender, receiver) = sync_channel(2);
        let other = thread::spawn(move || (0..5).for_each(|i| sender.send(i).unwrap()));
        assert_eq!(receiver.iter().collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
        other.join().unwrap();
    });
}

#[test]
fn a_rendezvous_hands_over() {
    let count = classes(|| {
        let (sender, receiver) = sync_channel(0);
        let other = thread::spawn(move || {
            sender.send(1).unwrap();
            sender.send(2).unwrap();
        });
        assert_eq!((receiver.recv(), receiver.recv(), receiver.recv()), (Ok(1), Ok(2), Err(RecvError)));
        other.join().unwrap();
    });
    assert!(count >= 1);
}

#[test]
fn a_rendezvous_without_a_receiver_is_a_deadlock_or_an_error() {
    finding(Deadlock, || {
        let (sender, receiver) = sync_channel(0);
        sender.send(1).unwrap();
        drop(receiver);
    });
    let seen = outcomes(|| {
        let (sender, receiver) = sync_channel(0);
        let other = thread::spawn(move || drop(receiver));
        let sent = sender.send(5);
        other.join().unwrap();
        sent.map_err(|e| e.0)
    });
    assert_eq!(seen, BTreeSet::from([Err(5)]), "the message comes back");
}

#[test]
fn an_attempt_at_a_rendezvous_needs_a_receiver_that_waits() {
    let seen = outcomes(|| {
        let (sender, receiver) = sync_channel(0);
        let other = thread::spawn(move || receiver.recv().ok());
        let sent = sender.try_send(1).is_ok();
        drop(sender);
        (sent, other.join().unwrap())
    });
    assert_eq!(seen, BTreeSet::from([(false, None), (true, Some(1))]));
}

#[test]
fn a_timed_receive_may_expire_unless_time_is_kind() {
    let program = || {
        let (sender, receiver) = channel();
        let other = thread::spawn(move || sender.send(1).unwrap());
        let got = receiver.recv_timeout(LONG);
        other.join().unwrap();
        got.ok()
    };
    assert_eq!(outcomes(program), BTreeSet::from([None, Some(1)]));
    assert_eq!(outcomes_with(quiet().kind_time(true), program), BTreeSet::from([Some(1)]));
    let nobody_sends = || {
        let (sender, receiver) = channel::<u32>();
        let got = receiver.recv_timeout(LONG);
        drop(sender);
        got == Err(RecvTimeoutError::Timeout)
    };
    assert_eq!(outcomes_with(quiet().kind_time(true), nobody_sends), BTreeSet::from([true]));
}

#[test]
fn iterators_take_what_there_is() {
    verify(|| {
        let (sender, receiver) = channel();
        (0..3).for_each(|i| sender.send(i).unwrap());
        assert_eq!(receiver.try_iter().collect::<Vec<_>>(), [0, 1, 2]);
        sender.send(9).unwrap();
        drop(sender);
        assert_eq!((&receiver).into_iter().next(), Some(9));
        assert_eq!(receiver.into_iter().next(), None);
    });
}

/// Counts how often it is dropped.
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

#[test]
fn messages_are_dropped_once_whatever_happens() {
    for capacity in [None, Some(0), Some(1), Some(2)] {
        verify(move || {
            let dropped = Arc::new(AtomicUsize::new(0));
            let messages = [Counted(dropped.clone()), Counted(dropped.clone())];
            // Whether they arrive depends on when the receiver goes.
            match capacity {
                None => {
                    let (sender, receiver) = channel();
                    let other = thread::spawn(move || drop(receiver.try_recv().ok()));
                    let _ = messages.map(|m| sender.send(m).is_ok());
                    other.join().unwrap();
                }
                Some(capacity) => {
                    let (sender, receiver) = sync_channel(capacity);
                    let other = thread::spawn(move || drop(receiver.try_recv().ok()));
                    let _ = messages.map(|m| sender.send(m).is_ok());
                    other.join().unwrap();
                }
            }
            assert_eq!(dropped.load(SeqCst), 2);
        });
    }
}

#[test]
fn fan_in_has_as_many_classes_as_orders() {
    for (senders, orders) in [(1, 1), (2, 2), (3, 6), (4, 24)] {
        let count = classes(move || {
            let (sender, receiver) = channel();
            for i in 0..senders {
                let sender = sender.clone();
                thread::spawn(move || sender.send(i).unwrap());
            }
            let mut received: Vec<usize> = (0..senders).map(|_| receiver.recv().unwrap()).collect();
            received.sort_unstable();
            assert_eq!(received, (0..senders).collect::<Vec<_>>());
        });
        assert_eq!(count, orders);
    }
}
