//! What an operation says by itself, whatever state it meets: how it waits, which objects it names, what it is called.

use super::{Operation, Wait};
use crate::names::{ObjectId, ThreadId};

impl Operation {
    /// Whether the operation waits while it cannot be served.
    pub fn blocks(&self) -> bool {
        matches!(self.wait(), Some(Wait::Block | Wait::Interruptible))
    }

    /// How the operation waits, if it is one that may have to.
    pub fn wait(&self) -> Option<Wait> {
        match *self {
            Self::Join { wait, .. }
            | Self::Lock { wait, .. }
            | Self::ReadLock { wait, .. }
            | Self::WriteLock { wait, .. }
            | Self::WriteTurn { wait, .. }
            | Self::Woken { wait, .. }
            | Self::Acquire { wait, .. }
            | Self::Send { wait, .. }
            | Self::SendTaken { wait, .. }
            | Self::Receive { wait, .. }
            | Self::Await { wait, .. }
            | Self::Poll { wait, .. }
            | Self::TakeSignal { wait, .. }
            | Self::Park { wait } => Some(wait),
            Self::OnceBegin { .. }
            | Self::DestroyQueue { .. }
            | Self::WriteQueue { wait: Wait::Block, .. }
            | Self::WriteByTicket { .. } => Some(Wait::Block),
            _ => None,
        }
    }

    /// Whether the front end decides the word that the object has afterwards: the value of a cell, the state of a descriptor.
    pub fn is_valued_outside(&self) -> bool {
        matches!(
            self,
            Self::Load { .. }
                | Self::Store { .. }
                | Self::Update { .. }
                | Self::CompareExchange { .. }
                | Self::Await { .. }
                | Self::Poll { .. }
                | Self::TakeSignal { .. }
                | Self::Access { .. }
        )
    }

    /// Whether the operation may end without being served although it waits: its time is over, or the wake-up is spurious.
    pub fn may_give_up(&self) -> bool {
        self.wait() == Some(Wait::Timed) || matches!(self, Self::Woken { .. } | Self::Park { .. })
    }

    /// The object that the operation is about, for messages.
    pub fn object(&self) -> Option<ObjectId> {
        match *self {
            Self::Lock { lock, .. }
            | Self::Unlock { lock }
            | Self::MakeConsistent { lock }
            | Self::ReadLock { lock, .. }
            | Self::WriteLock { lock, .. }
            | Self::WriteQueue { lock, .. }
            | Self::WriteTurn { lock, .. }
            | Self::WriteTicket { lock }
            | Self::WriteByTicket { lock, .. }
            | Self::ReadUnlock { lock }
            | Self::WriteUnlock { lock } => Some(lock),
            Self::QueueWait { queue, .. }
            | Self::Woken { queue, .. }
            | Self::Notify { queue, .. }
            | Self::Requeue { queue, .. }
            | Self::DestroyQueue { queue } => Some(queue),
            Self::FutexWait { cell, .. }
            | Self::Load { cell, .. }
            | Self::Store { cell, .. }
            | Self::Update { cell, .. }
            | Self::CompareExchange { cell, .. } => Some(cell),
            Self::Acquire { semaphore, .. } | Self::Post { semaphore, .. } => Some(semaphore),
            Self::Arrive { barrier } => Some(barrier),
            Self::OnceBegin { once, .. } | Self::OnceEnd { once, .. } | Self::OnceCheck { once } => Some(once),
            Self::Send { channel, .. }
            | Self::SendTaken { channel, .. }
            | Self::ReceiveReady { channel }
            | Self::Receive { channel, .. }
            | Self::CloneSender { channel }
            | Self::DropSender { channel }
            | Self::DropReceiver { channel } => Some(channel),
            Self::Count { count, .. } | Self::AddShare { count, .. } | Self::DropShare { count, .. } => Some(count),
            Self::Initialise { object, .. }
            | Self::Destroy { object }
            | Self::Free { object }
            | Self::Await { object, .. }
            | Self::Poll { set: object, .. }
            | Self::Access { set: object, .. } => Some(object),
            Self::Signal { signals, .. }
            | Self::BlockSignals { signals, .. }
            | Self::SetActions { signals, .. }
            | Self::TakeSignal { signals, .. } => Some(signals),
            Self::Spawn { .. }
            | Self::Start
            | Self::Exit
            | Self::Join { .. }
            | Self::IsFinished { .. }
            | Self::Detach { .. }
            | Self::Park { .. }
            | Self::Unpark { .. }
            | Self::Sleep
            | Self::Yield
            | Self::Choose { .. }
            | Self::Cancel { .. }
            | Self::TestCancel
            | Self::SetCancel { .. }
            | Self::Look
            | Self::End
            | Self::Crash => None,
        }
    }

    /// Whether the operation is one by which threads synchronise, and not one that every program with threads has.
    pub fn is_synchronisation(&self) -> bool {
        !matches!(
            self,
            Self::Spawn { .. }
                | Self::Start
                | Self::Exit
                | Self::Join { .. }
                | Self::Detach { .. }
                | Self::TestCancel
                | Self::SetCancel { .. }
                | Self::Look
                | Self::Access { .. }
                | Self::End
                | Self::Crash
        )
    }

    /// Whether it ends the program for all threads.
    pub fn ends_program(&self) -> bool {
        matches!(self, Self::End | Self::Crash)
    }

    /// Whether everything that the operation is about has a name: for operations that come from elsewhere.
    pub fn is_known(&self, names: &crate::names::Names) -> bool {
        self.is_within(names.thread_count(), names.object_count())
    }

    /// Whether it is about nothing but the first so many threads and objects.
    pub fn is_within(&self, threads: usize, objects: usize) -> bool {
        let mut within = (true, true);
        let mut op = *self;
        op.each_number(|t| within.0 &= t.index() < threads, |o| within.1 &= o.index() < objects);
        within.0 && within.1
    }

    /// Calls `thread` and `object` with each number of a thread or object in it, which they may change.
    #[inline]
    pub(crate) fn each_number(&mut self, mut thread: impl FnMut(&mut ThreadId), mut object: impl FnMut(&mut ObjectId)) {
        match self {
            Self::Spawn { child: t }
            | Self::Join { thread: t, .. }
            | Self::IsFinished { thread: t }
            | Self::Detach { thread: t }
            | Self::Unpark { thread: t }
            | Self::Cancel { thread: t } => thread(t),
            Self::QueueWait { queue: a, lock: b }
            | Self::FutexWait { cell: a, queue: b, .. }
            | Self::Requeue { queue: a, to: b, .. } => {
                object(a);
                object(b);
            }
            Self::Lock { lock: o, .. }
            | Self::Unlock { lock: o }
            | Self::MakeConsistent { lock: o }
            | Self::ReadLock { lock: o, .. }
            | Self::WriteLock { lock: o, .. }
            | Self::WriteQueue { lock: o, .. }
            | Self::WriteTurn { lock: o, .. }
            | Self::WriteTicket { lock: o }
            | Self::WriteByTicket { lock: o, .. }
            | Self::ReadUnlock { lock: o }
            | Self::WriteUnlock { lock: o }
            | Self::Woken { queue: o, .. }
            | Self::Notify { queue: o, .. }
            | Self::Acquire { semaphore: o, .. }
            | Self::Post { semaphore: o, .. }
            | Self::Arrive { barrier: o }
            | Self::OnceBegin { once: o, .. }
            | Self::OnceEnd { once: o, .. }
            | Self::OnceCheck { once: o }
            | Self::Send { channel: o, .. }
            | Self::SendTaken { channel: o, .. }
            | Self::ReceiveReady { channel: o }
            | Self::Receive { channel: o, .. }
            | Self::CloneSender { channel: o }
            | Self::DropSender { channel: o }
            | Self::DropReceiver { channel: o }
            | Self::Load { cell: o, .. }
            | Self::Store { cell: o, .. }
            | Self::Update { cell: o, .. }
            | Self::CompareExchange { cell: o, .. }
            | Self::Count { count: o, .. }
            | Self::AddShare { count: o, .. }
            | Self::DropShare { count: o, .. }
            | Self::Await { object: o, .. }
            | Self::Poll { set: o, .. }
            | Self::BlockSignals { signals: o, .. }
            | Self::SetActions { signals: o, .. }
            | Self::TakeSignal { signals: o, .. }
            | Self::Access { set: o, .. }
            | Self::Initialise { object: o, .. }
            | Self::Destroy { object: o }
            | Self::DestroyQueue { queue: o }
            | Self::Free { object: o } => object(o),
            Self::Signal { signals: o, thread: t, .. } => {
                object(o);
                t.iter_mut().for_each(thread);
            }
            Self::Start
            | Self::Exit
            | Self::Park { .. }
            | Self::Sleep
            | Self::Yield
            | Self::Choose { .. }
            | Self::TestCancel
            | Self::SetCancel { .. }
            | Self::Look
            | Self::End
            | Self::Crash => {}
        }
    }

    /// Whether this is what a plan meant by `planned`. Values that may be addresses differ between executions; and what a path leads to
    /// is found when it is announced, so that it may be something else if another thread has not moved yet.
    pub fn is_as_planned(&self, planned: &Self) -> bool {
        match (self, planned) {
            (Self::Access { .. }, Self::Access { .. }) => true,
            (
                Self::CompareExchange { cell, success, failure, .. },
                Self::CompareExchange { cell: planned, success: on_success, failure: on_failure, .. },
            ) => (cell, success, failure) == (planned, on_success, on_failure),
            _ => self == planned,
        }
    }

    /// A short name of the operation, as messages and schedule files show it.
    pub fn verb(&self) -> &'static str {
        match self {
            Self::Spawn { .. } => "spawn",
            Self::Start => "start",
            Self::Exit => "exit",
            Self::Join { .. } => "join",
            Self::IsFinished { .. } => "is-finished",
            Self::Detach { .. } => "detach",
            Self::Lock { wait: Wait::Block | Wait::Interruptible, .. } => "lock",
            Self::Lock { wait: Wait::Try, .. } => "try-lock",
            Self::Lock { wait: Wait::Timed, .. } => "timed-lock",
            Self::Unlock { .. } => "unlock",
            Self::MakeConsistent { .. } => "make-consistent",
            Self::ReadLock { wait: Wait::Block | Wait::Interruptible, .. } => "read-lock",
            Self::ReadLock { wait: Wait::Try, .. } => "try-read-lock",
            Self::ReadLock { wait: Wait::Timed, .. } => "timed-read-lock",
            Self::WriteLock { wait: Wait::Block | Wait::Interruptible, .. } => "write-lock",
            Self::WriteLock { wait: Wait::Try, .. } => "try-write-lock",
            Self::WriteLock { wait: Wait::Timed, .. } => "timed-write-lock",
            Self::WriteQueue { .. } | Self::WriteTurn { wait: Wait::Block | Wait::Interruptible, .. } => "write-lock",
            Self::WriteTurn { .. } => "timed-write-lock",
            Self::WriteTicket { .. } => "write-ticket",
            Self::WriteByTicket { .. } => "write-lock",
            Self::ReadUnlock { .. } => "read-unlock",
            Self::WriteUnlock { .. } => "write-unlock",
            Self::QueueWait { .. } => "wait",
            Self::FutexWait { .. } => "futex-wait",
            Self::Woken { .. } => "woken",
            Self::Notify { count: 1, .. } => "notify-one",
            Self::Notify { .. } => "notify-all",
            Self::Requeue { .. } => "requeue",
            Self::Acquire { wait: Wait::Block | Wait::Interruptible, .. } => "acquire",
            Self::Acquire { wait: Wait::Try, .. } => "try-acquire",
            Self::Acquire { wait: Wait::Timed, .. } => "timed-acquire",
            Self::Post { .. } => "post",
            Self::Arrive { .. } => "arrive",
            Self::OnceBegin { .. } => "once-begin",
            Self::OnceEnd { .. } => "once-end",
            Self::OnceCheck { .. } => "once-check",
            Self::Send { wait: Wait::Block | Wait::Interruptible, .. } => "send",
            Self::Send { wait: Wait::Try, .. } => "try-send",
            Self::Send { wait: Wait::Timed, .. } => "timed-send",
            Self::SendTaken { .. } => "send-taken",
            Self::ReceiveReady { .. } => "receive-ready",
            Self::Receive { wait: Wait::Block | Wait::Interruptible, .. } => "receive",
            Self::Receive { wait: Wait::Try, .. } => "try-receive",
            Self::Receive { wait: Wait::Timed, .. } => "timed-receive",
            Self::CloneSender { .. } => "clone-sender",
            Self::DropSender { .. } => "drop-sender",
            Self::DropReceiver { .. } => "drop-receiver",
            Self::Park { .. } => "park",
            Self::Unpark { .. } => "unpark",
            Self::Load { .. } => "load",
            Self::Store { .. } => "store",
            Self::Update { .. } => "update",
            Self::CompareExchange { .. } => "compare-exchange",
            Self::Count { observes: false, .. } => "count",
            Self::Count { .. } => "observe-count",
            Self::AddShare { .. } => "add-share",
            Self::DropShare { .. } => "drop-share",
            Self::Sleep => "sleep",
            Self::Yield => "yield",
            Self::Choose { .. } => "choose",
            Self::Await { .. } => "await",
            Self::Poll { .. } => "poll",
            Self::Access { .. } => "access",
            Self::Cancel { .. } => "cancel",
            Self::TestCancel => "test-cancel",
            Self::SetCancel { heeds: true } => "enable-cancel",
            Self::SetCancel { heeds: false } => "disable-cancel",
            Self::Signal { .. } => "signal",
            Self::BlockSignals { .. } => "block-signals",
            Self::SetActions { .. } => "set-actions",
            Self::TakeSignal { .. } => "take-signal",
            Self::Look => "look",
            Self::End => "end",
            Self::Initialise { .. } => "initialise",
            Self::Destroy { .. } | Self::DestroyQueue { .. } => "destroy",
            Self::Free { .. } => "free",
            Self::Crash => "crash",
        }
    }
}
