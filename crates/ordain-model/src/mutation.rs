//! Mutations of footprints, for the test that every access in them is needed.
//!
//! An access is known by its operation, by what its object is to the operation, and by whether it writes. A *mutant* leaves one kind of
//! access out everywhere, or takes a write for a read. There is one for each thread of the test, which asks first what footprints there are.

use crate::footprint::{Access, Footprint};
use crate::names::{ObjectId, ThreadId};
use crate::operation::Operation;
use crate::state::Fixed;
use core::cell::{Cell, RefCell};
use std::collections::BTreeSet;

/// A kind of access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Entry {
    /// The operation.
    pub op: &'static str,
    /// What the object is to it.
    pub object: &'static str,
    /// Whether it writes.
    pub write: bool,
}

/// What becomes of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Change {
    /// It is left out.
    LeftOut,
    /// It is a read instead of a write.
    Weakened,
}

std::thread_local! {
    static MUTANT: Cell<Option<(Entry, Change)>> = const { Cell::new(None) };
    static SEEN: RefCell<BTreeSet<Entry>> = const { RefCell::new(BTreeSet::new()) };
}

/// Changes footprints from now on, in this thread.
pub fn set(mutant: Option<(Entry, Change)>) {
    MUTANT.set(mutant);
}

/// The accesses that there were in this thread since the last time.
pub fn take_seen() -> BTreeSet<Entry> {
    SEEN.take()
}

/// Notes and changes the footprint of an operation, or of the handler that runs in its place.
pub(crate) fn apply(op: &Operation, thread: ThreadId, handles: bool, fixed: &Fixed, footprint: &mut Footprint) {
    let entry = |access: Access| {
        let write = access.is_write();
        if !write && access != Access::read(access.object()) {
            return Entry { op: name(op), object: "share that is not the last", write: true };
        }
        if access == Access::EVERYTHING {
            return Entry { op: name(op), object: "everything", write };
        }
        match (signal_role(thread, access.object(), fixed), handles) {
            (Some(object), true) => Entry { op: "handle", object, write },
            // What a handler interrupts makes no difference but for whether it had to wait.
            (None, true) => Entry { op: "handle", object: "what is waited for", write },
            // All operations look whether a signal has come.
            (Some(object), false) if !is_about_signals(op) => Entry { op: "any", object, write },
            (Some(object), false) => Entry { op: name(op), object, write },
            (None, false) => Entry { op: name(op), object: role(op, thread, access.object(), fixed), write },
        }
    };
    match MUTANT.get() {
        None => SEEN.with_borrow_mut(|seen| seen.extend(footprint.iter().map(|access| entry(*access)))),
        Some((mutated, Change::LeftOut)) => footprint.retain(|access| entry(*access) != mutated),
        Some((mutated, Change::Weakened)) => {
            for access in footprint.iter_mut().filter(|access| entry(**access) == mutated) {
                *access = Access::read(access.object());
            }
        }
    }
}

/// The verb of an operation, or another name where several operations have one verb.
fn name(op: &Operation) -> &'static str {
    match op {
        Operation::WriteQueue { .. } => "write-queue",
        Operation::WriteTurn { .. } => "write-turn",
        Operation::WriteByTicket { .. } => "write-by-ticket",
        Operation::DestroyQueue { .. } => "destroy-queue",
        _ => op.verb(),
    }
}

/// Whether an operation changes who takes which signals.
fn is_about_signals(op: &Operation) -> bool {
    matches!(
        op,
        Operation::Signal { .. }
            | Operation::BlockSignals { .. }
            | Operation::SetActions { .. }
            | Operation::TakeSignal { .. }
            | Operation::Spawn { .. }
            | Operation::Exit
    )
}

/// What an object is to the signals of a thread, if it is about signals.
fn signal_role(thread: ThreadId, object: ObjectId, fixed: &Fixed) -> Option<&'static str> {
    let process = fixed.signals?;
    match object.0.wrapping_sub(process.0) {
        0 => return Some("signals of the process"),
        1 => return Some("ignored signals"),
        _ => {}
    }
    fixed.threads.iter().find_map(|(t, _)| match (object, *t == thread) {
        (o, true) if o == fixed.mask(*t) => Some("own mask"),
        (o, false) if o == fixed.mask(*t) => Some("other's mask"),
        (o, true) if o == fixed.come(*t) => Some("own signals"),
        (o, false) if o == fixed.come(*t) => Some("other's signals"),
        _ => None,
    })
}

/// What an object is to an operation of a thread.
fn role(op: &Operation, thread: ThreadId, object: ObjectId, fixed: &Fixed) -> &'static str {
    let mut named = [None; 2];
    let mut count = 0;
    let mut op = *op;
    op.each_number(
        |_| {},
        |o| {
            named[count.min(1)] = Some(*o);
            count += 1;
        },
    );
    let lives = fixed.lives.iter().enumerate();
    let mut part =
        lives.filter(|(_, life)| (life.0..life.0 + 4).contains(&object.0)).map(|(t, life)| (t, object.0 - life.0));
    if let Some((owner, part)) = part.next_back() {
        return match (part, owner == thread.index()) {
            (0, true) => "own life",
            (0, false) => "other's life",
            (1, true) => "own token",
            (1, false) => "other's token",
            (2, true) => "own place",
            (2, false) => "other's place",
            (_, true) => "own cancellation",
            (_, false) => "other's cancellation",
        };
    }
    let channel = matches!(
        op,
        Operation::Send { .. }
            | Operation::SendTaken { .. }
            | Operation::ReceiveReady { .. }
            | Operation::Receive { .. }
            | Operation::CloneSender { .. }
            | Operation::DropSender { .. }
            | Operation::DropReceiver { .. }
    );
    match named {
        [Some(channel_id), _] if channel => match object.0.wrapping_sub(channel_id.0) {
            0 => "tail",
            1 => "head",
            2 => "receivers",
            3 => "senders",
            _ => "message",
        },
        [Some(first), _] if first == object => "object",
        [_, Some(second)] if second == object => "second object",
        _ => match op {
            Operation::Poll { .. } => "member",
            Operation::Access { set, .. } if fixed.poll(set).iter().any(|(member, _)| *member == object) => "member",
            Operation::ReadLock { .. } | Operation::WriteLock { .. } | Operation::WriteTicket { .. } => "tickets",
            Operation::Await { object: known, .. } if known.watchers() == object => "watchers",
            Operation::Await { .. } => "poll set that is told",
            Operation::Access { set, .. }
                if fixed.poll(set).iter().any(|(o, _)| fixed.param(*o) == u64::from(object.0)) =>
            {
                "watchers"
            }
            // Descriptors have watchers, and files have none.
            Operation::Access { .. } if fixed.param(object) != 0 => "poll set that is told",
            Operation::Access { .. } => "file behind a name",
            Operation::Woken { .. } => "queue that it was moved to",
            Operation::Exit => "robust mutex",
            _ => "other",
        },
    }
}
