//! Operations: what a thread is about to do to objects.
//!
//! A thread *announces* one operation, waits until it is picked, and gets an [`Outcome`] back. Everything that happens
//! between two announcements is local to the thread. Calls of real libraries map to one to three operations: waiting on
//! a condition variable, for example, is [`Operation::QueueWait`], [`Operation::Woken`] and [`Operation::Lock`].

mod properties;

use crate::names::{ObjectId, ThreadId};

/// What a blocking operation does when it cannot be served at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Wait {
    /// Waits for ever: the operation is not enabled until it can be served.
    Block,
    /// Gives up at once.
    Try,
    /// Gives up when its time is over. Time is virtual: whenever it cannot be served, it may expire.
    Timed,
    /// Waits until it is served, its thread is to end ([`Operation::Cancel`]) or a handler of a signal has run.
    Interruptible,
}

/// Memory ordering of an atomic operation. The exploration is sequentially consistent whatever the ordering; it decides
/// which accesses to plain memory are ordered, that is, which of them are data races.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[allow(missing_docs)]
pub enum MemoryOrder {
    Relaxed,
    Acquire,
    Release,
    AcqRel,
    SeqCst,
}

impl MemoryOrder {
    /// Whether an operation with this ordering sees what happened before the release it reads from.
    pub fn acquires(self) -> bool {
        matches!(self, Self::Acquire | Self::AcqRel | Self::SeqCst)
    }

    /// Whether an operation with this ordering publishes what happened before it.
    pub fn releases(self) -> bool {
        matches!(self, Self::Release | Self::AcqRel | Self::SeqCst)
    }
}

/// An announced operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Operation {
    /// Creates a thread. Outcome: [`Outcome::DONE`].
    Spawn {
        /// The new thread.
        child: ThreadId,
    },
    /// Begins the announcing thread: nothing of it has run before.
    Start,
    /// Ends the announcing thread.
    Exit,
    /// Waits for the end of a thread: [`Outcome::DONE`], or [`Outcome::FAILED`] if it gave up.
    Join {
        /// The thread waited for.
        thread: ThreadId,
        /// What to do while it still runs.
        wait: Wait,
    },
    /// Asks whether a thread has ended: [`Outcome::DONE`] if so, else [`Outcome::FAILED`].
    IsFinished {
        /// The thread asked about.
        thread: ThreadId,
    },
    /// Gives up the right to join a thread.
    Detach {
        /// The thread let go.
        thread: ThreadId,
    },

    /// Takes a mutex or spin lock: [`Outcome::DONE`]; [`Outcome::FAILED`] if it gave up; [`Outcome::WOULD_DEADLOCK`]
    /// (error-checking mutex held by the caller); [`Outcome::OWNER_DIED`] (robust, taken, the last owner ended);
    /// [`Outcome::UNRECOVERABLE`] (robust, unlocked while inconsistent).
    Lock {
        /// The mutex or spin lock.
        lock: ObjectId,
        /// What to do while it is held.
        wait: Wait,
    },
    /// Releases a mutex or spin lock.
    Unlock {
        /// The mutex or spin lock.
        lock: ObjectId,
    },
    /// Marks a robust mutex, taken with [`Outcome::OWNER_DIED`], as consistent again.
    MakeConsistent {
        /// The mutex.
        lock: ObjectId,
    },

    /// Takes a read-write lock for reading: [`Outcome::DONE`] or [`Outcome::FAILED`].
    ReadLock {
        /// The read-write lock.
        lock: ObjectId,
        /// What to do while a writer holds it.
        wait: Wait,
    },
    /// Takes a read-write lock for writing: [`Outcome::DONE`] or [`Outcome::FAILED`].
    WriteLock {
        /// The read-write lock.
        lock: ObjectId,
        /// What to do while anyone holds it.
        wait: Wait,
    },
    /// Takes a read-write lock that prefers writers for writing if it is free ([`Outcome::DONE`]); else joins the writers that
    /// wait and keep new readers out ([`Outcome::FAILED`]), and [`Operation::WriteTurn`] must follow. A writer whose wait cannot expire
    /// joins them only while readers hold the lock: while a writer does, readers are kept out anyway.
    WriteQueue {
        /// The read-write lock.
        lock: ObjectId,
        /// Whether the wait can expire.
        wait: Wait,
    },
    /// Waits for the lock as one of its waiting writers: [`Outcome::DONE`], or [`Outcome::FAILED`] if it gave up.
    WriteTurn {
        /// The read-write lock.
        lock: ObjectId,
        /// Whether the wait can expire.
        wait: Wait,
    },
    /// Takes a ticket of a read-write lock whose writers are served in the order in which they ask for it: [`Operation::WriteByTicket`] must
    /// follow. The outcome is its number. From now on, nobody else gets the lock before.
    WriteTicket {
        /// The read-write lock.
        lock: ObjectId,
    },
    /// Waits for the lock with a ticket.
    WriteByTicket {
        /// The read-write lock.
        lock: ObjectId,
        /// The number of the ticket.
        ticket: u32,
    },
    /// Releases a read-write lock held for reading.
    ReadUnlock {
        /// The read-write lock.
        lock: ObjectId,
    },
    /// Releases a read-write lock held for writing.
    WriteUnlock {
        /// The read-write lock.
        lock: ObjectId,
    },

    /// Joins a wait queue (condition variable) and releases `lock` in one step. [`Operation::Woken`] and, to take the
    /// lock back, [`Operation::Lock`] must follow.
    QueueWait {
        /// The condition variable.
        queue: ObjectId,
        /// The mutex to release.
        lock: ObjectId,
    },
    /// Joins the wait queue of a futex if its cell holds `expected` ([`Outcome::DONE`], and [`Operation::Woken`] must
    /// follow), else does nothing ([`Outcome::FAILED`]).
    FutexWait {
        /// The memory cell.
        cell: ObjectId,
        /// The wait queue that belongs to the cell.
        queue: ObjectId,
        /// The value that makes the caller wait.
        expected: u64,
    },
    /// Waits to be woken from a queue: [`Outcome::DONE`] when notified, [`Outcome::FAILED`] when time was over or the
    /// wake-up was spurious.
    Woken {
        /// The queue that the thread is in.
        queue: ObjectId,
        /// Whether the wait can expire.
        wait: Wait,
    },
    /// Wakes up to `count` threads of a queue; which ones is a choice. Outcome: how many.
    Notify {
        /// The condition variable or futex queue.
        queue: ObjectId,
        /// How many to wake; `u32::MAX` wakes all.
        count: u32,
    },
    /// Wakes up to `count` threads of a futex queue and moves up to `moved` of the others to queue `to`.
    /// Outcome: how many were woken or moved.
    Requeue {
        /// The queue they wait in.
        queue: ObjectId,
        /// The queue they are moved to.
        to: ObjectId,
        /// How many to wake.
        count: u32,
        /// How many to move.
        moved: u32,
    },

    /// Takes one from a semaphore: [`Outcome::DONE`] or [`Outcome::FAILED`].
    Acquire {
        /// The semaphore.
        semaphore: ObjectId,
        /// What to do while it is zero.
        wait: Wait,
    },
    /// Adds `count` to a semaphore.
    Post {
        /// The semaphore.
        semaphore: ObjectId,
        /// How much to add.
        count: u32,
        /// Whether it fails beyond the maximum, as `sem_post` does, where it is a misuse otherwise.
        fails: bool,
    },

    /// Arrives at a barrier: [`Outcome::SERIAL`] for the thread that completes it, which goes on at once; for the others
    /// [`Outcome::DONE`], and [`Operation::Woken`] on the barrier must follow. Which thread is the serial one is explored
    /// through the order of arrivals.
    Arrive {
        /// The barrier.
        barrier: ObjectId,
    },

    /// Begins an initialisation: [`Outcome::RUN`] to the thread that must run it (and end it with
    /// [`Operation::OnceEnd`]), [`Outcome::DONE`] if it is complete, [`Outcome::POISONED`] if an earlier one panicked.
    OnceBegin {
        /// The once flag.
        once: ObjectId,
        /// Run even if an earlier initialisation panicked.
        force: bool,
    },
    /// Ends an initialisation.
    OnceEnd {
        /// The once flag.
        once: ObjectId,
        /// Whether it succeeded.
        complete: bool,
    },
    /// Asks whether an initialisation is complete: [`Outcome::DONE`] if so, else [`Outcome::FAILED`].
    OnceCheck {
        /// The once flag.
        once: ObjectId,
    },

    /// Sends a message: its number (see [`Outcome::message`]), [`Outcome::FAILED`] (full), [`Outcome::DISCONNECTED`]. On a channel of
    /// capacity zero [`Operation::SendTaken`] must follow a blocking or timed send that is done.
    Send {
        /// The channel.
        channel: ObjectId,
        /// What to do while the channel is full.
        wait: Wait,
    },
    /// Waits until the message that the thread offered to a channel of capacity zero is taken: [`Outcome::DONE`],
    /// [`Outcome::FAILED`] (withdrawn after its time), [`Outcome::DISCONNECTED`] (the receiver is gone).
    SendTaken {
        /// The channel.
        channel: ObjectId,
        /// The number of the message: the outcome value of the send, see [`Outcome::message`].
        message: u32,
        /// Whether the offer can expire.
        wait: Wait,
    },
    /// Says that a receiver of a channel of capacity zero is there. Must precede a blocking or timed [`Operation::Receive`] on
    /// such channels.
    ReceiveReady {
        /// The channel.
        channel: ObjectId,
    },
    /// Receives a message: its number (see [`Outcome::message`]), [`Outcome::FAILED`] (empty), [`Outcome::DISCONNECTED`].
    Receive {
        /// The channel.
        channel: ObjectId,
        /// What to do while the channel is empty.
        wait: Wait,
    },
    /// One more sender. Not a scheduling point for others: it commutes with everything.
    CloneSender {
        /// The channel.
        channel: ObjectId,
    },
    /// One sender less.
    DropSender {
        /// The channel.
        channel: ObjectId,
    },
    /// One receiver less.
    DropReceiver {
        /// The channel.
        channel: ObjectId,
    },

    /// Waits for the announcing thread's token and takes it: [`Outcome::DONE`], or [`Outcome::FAILED`] if time was over
    /// or the wake-up was spurious.
    Park {
        /// Whether the wait can expire.
        wait: Wait,
    },
    /// Gives a thread its token.
    Unpark {
        /// The thread.
        thread: ThreadId,
    },

    /// Reads an atomic cell.
    Load {
        /// The cell.
        cell: ObjectId,
        /// Its ordering.
        order: MemoryOrder,
    },
    /// Writes an atomic cell. The value is told with [`crate::Arbiter::set_value`].
    Store {
        /// The cell.
        cell: ObjectId,
        /// Its ordering.
        order: MemoryOrder,
    },
    /// Reads and writes an atomic cell in one step. The value is told with [`crate::Arbiter::set_value`].
    Update {
        /// The cell.
        cell: ObjectId,
        /// Its ordering.
        order: MemoryOrder,
    },
    /// Writes an atomic cell if it holds `expected`: [`Outcome::DONE`] (and the value is told with
    /// [`crate::Arbiter::set_value`]) or [`Outcome::FAILED`].
    CompareExchange {
        /// The cell.
        cell: ObjectId,
        /// The value that it must hold.
        expected: u64,
        /// Ordering if it succeeds.
        success: MemoryOrder,
        /// Ordering if it fails.
        failure: MemoryOrder,
    },

    /// Changes a reference count in a way that nobody can see but by the order in which it reaches zero. Changes that do
    /// not observe commute; the number is the front end's business.
    Count {
        /// The reference count.
        count: ObjectId,
        /// Whether the thread learns something of the count (whether it was the last, how many there are).
        observes: bool,
    },

    /// One more share in what is counted.
    AddShare {
        /// The reference count.
        count: ObjectId,
        /// Whether it keeps nothing alive.
        weak: bool,
    },
    /// Gives up a share in what is counted. Shares that are given up commute, but for the last one.
    DropShare {
        /// The reference count.
        count: ObjectId,
        /// Whether it kept nothing alive.
        weak: bool,
    },

    /// Sleeps. Time is virtual: it takes no time and orders nothing.
    Sleep,
    /// Gives others a chance to run.
    Yield,
    /// Picks a number below `count`, the outcome: data nondeterminism.
    Choose {
        /// How many there are to choose from.
        count: u32,
    },

    /// Waits until one of the bits of `mask` is set in the word of an object whose state the front end knows: a file descriptor
    /// that is ready, a signal that is pending. Outcome: [`Outcome::DONE`] or [`Outcome::FAILED`]. What the word is afterwards is
    /// told with [`crate::Arbiter::set_value`].
    Await {
        /// The descriptor or the signals.
        object: ObjectId,
        /// The bits waited for.
        mask: u64,
        /// What to do while none is set.
        wait: Wait,
    },
    /// Waits until one of several objects has one of the bits that are waited for: see [`crate::Arbiter::create_poll`].
    Poll {
        /// The set of objects.
        set: ObjectId,
        /// What to do while none has.
        wait: Wait,
    },
    /// Does something to several objects at once whose state the front end knows: names and files, numbers of descriptors, queues
    /// between processes. See [`crate::Arbiter::set_members`] for the objects, and [`crate::Member`] for what is done to each. Outcome:
    /// [`Outcome::DONE`], or [`Outcome::FAILED`] if something is there that should be made, and nothing is done.
    Access {
        /// The set of objects.
        set: ObjectId,
        /// Only looks whether something has changed, as loops do that wait for it.
        looks: bool,
    },
    /// Sends a signal to a thread, or to the process; then any thread that does not block it may have to take it, which is a choice.
    /// Outcome: the number of the thread that it has come for, [`Outcome::DONE`] if it is pending for the process,
    /// [`Outcome::FAILED`] if it is ignored.
    Signal {
        /// The signals of the process.
        signals: ObjectId,
        /// The thread, if it is for one.
        thread: Option<ThreadId>,
        /// Which signal, from 1 to 64.
        number: u32,
    },
    /// Says which signals the announcing thread blocks from now on.
    BlockSignals {
        /// The signals of the process.
        signals: ObjectId,
        /// The set of blocked signals.
        mask: u64,
    },
    /// Says which signals are ignored from now on, or that something else about their handlers has changed.
    SetActions {
        /// The signals of the process.
        signals: ObjectId,
        /// The set of ignored signals, and [`crate::SIGNAL_ONCE`] if there are handlers for one signal only.
        ignored: u64,
    },
    /// Waits for one of these signals and takes it: its number, or [`Outcome::FAILED`].
    TakeSignal {
        /// The signals of the process.
        signals: ObjectId,
        /// The signals waited for.
        set: u64,
        /// What to do while there is none.
        wait: Wait,
    },
    /// Takes signals that have come and does nothing else. Precedes what cannot be announced twice: [`Operation::Spawn`],
    /// [`Operation::Exit`], [`Operation::End`].
    Look,
    /// Asks a thread to end: waits and tests of it that heed that get [`Outcome::CANCELLED`], unless it has turned that off.
    Cancel {
        /// The thread.
        thread: ThreadId,
    },
    /// Asks whether the announcing thread is to end: [`Outcome::CANCELLED`] or [`Outcome::DONE`].
    TestCancel,
    /// Says whether the announcing thread heeds that it is to end.
    SetCancel {
        /// Whether it does.
        heeds: bool,
    },
    /// Ends the program: no other thread goes on. It depends on everything that others have done and could still do.
    End,

    /// Gives an object its initial state, whatever happened to it before: holders do not keep others out any longer, and waiters
    /// wait in vain.
    Initialise {
        /// The object.
        object: ObjectId,
        /// Its word: the count of a semaphore.
        word: u64,
        /// Its parameter: the number of threads of a barrier, the kind of a mutex.
        param: u64,
    },
    /// Ends the life of an object; a finding if it is in use.
    Destroy {
        /// The object.
        object: ObjectId,
    },
    /// Ends the life of a condition variable or barrier, as soon as nobody waits in it.
    DestroyQueue {
        /// The condition variable or barrier.
        queue: ObjectId,
    },
    /// Gives back the memory that an object is in; using it afterwards is a finding.
    Free {
        /// The object.
        object: ObjectId,
    },

    /// Ends the program as [`Operation::End`] does, because its thread has crashed. The crash comes behind the thread's last step, and
    /// others may still go on until it has ended the program.
    Crash,
}

/// What an operation gives back to its thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Outcome(pub u64);

impl Outcome {
    /// Served.
    pub const DONE: Self = Self(u64::MAX);
    /// Not served: busy, full, empty, timed out, unequal.
    pub const FAILED: Self = Self(u64::MAX - 1);
    /// The other side of the channel is gone.
    pub const DISCONNECTED: Self = Self(u64::MAX - 2);
    /// The caller completed the barrier.
    pub const SERIAL: Self = Self(u64::MAX - 3);
    /// The caller must run the initialisation.
    pub const RUN: Self = Self(u64::MAX - 4);
    /// An earlier initialisation panicked.
    pub const POISONED: Self = Self(u64::MAX - 5);
    /// The caller holds the error-checking mutex already.
    pub const WOULD_DEADLOCK: Self = Self(u64::MAX - 6);
    /// Taken, but the last owner ended while it held the robust mutex.
    pub const OWNER_DIED: Self = Self(u64::MAX - 7);
    /// The robust mutex is unusable for ever.
    pub const UNRECOVERABLE: Self = Self(u64::MAX - 8);

    /// Nothing was done: a signal had come, whose handler runs first.
    pub const SIGNALLED: Self = Self(u64::MAX - 12);
    /// As [`Outcome::SIGNALLED`], for a wait that could not have been served yet and may end because of the handler.
    pub const BROKEN_OFF: Self = Self(u64::MAX - 13);

    /// Its thread is to end, and does not heed that any more from now on.
    pub const CANCELLED: Self = Self(u64::MAX - 10);
    /// As [`Outcome::CANCELLED`], by a thread that was woken too: somebody else must be woken in its stead.
    pub const CANCELLED_WOKEN: Self = Self(u64::MAX - 11);

    /// The number of the message that was received or offered, if one was.
    pub fn message(self) -> Option<u32> {
        u32::try_from(self.0).ok()
    }
}
