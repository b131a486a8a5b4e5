//! The language: instructions, and programs made of them.

use ordain_model::{Wait, mutex_kind};

/// One instruction. Numbers name objects of the kind that the instruction is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum I {
    Lock(usize, Wait),
    Unlock(usize),
    MakeConsistent(usize),
    /// Begin an object anew, with what it began with.
    InitMutex(usize),
    InitRwLock(usize),
    InitCond(usize),
    InitSemaphore(usize),
    InitBarrier(usize),
    /// Ends the life of a mutex.
    Destroy(usize),
    Read(usize, Wait),
    Write(usize, Wait),
    /// Releases the read-write lock in whatever way it is held.
    Release(usize),
    /// Waits on condition variable `.0` with mutex `.1`, if it is held.
    CondWait(usize, usize, Wait),
    Notify(usize, u32),
    /// Ends the life of a condition variable when nobody waits there.
    DestroyCond(usize),
    /// Gives back the memory of a mutex.
    FreeMutex(usize),
    Acquire(usize, Wait),
    Post(usize),
    Barrier(usize),
    Once(usize),
    /// Begins an initialisation, even if an earlier one failed, and fails.
    OnceFail(usize),
    OnceCheck(usize),
    Send(usize, Wait),
    Receive(usize, Wait),
    CloneSender(usize),
    DropSender(usize),
    DropReceiver(usize),
    Park(Wait),
    Unpark(usize),
    Load(usize),
    Store(usize, u64),
    Add(usize),
    Cas(usize, u64, u64),
    Count(usize, bool),
    FutexWait(usize, u64, Wait),
    FutexWake(usize, u32),
    /// Wakes one waiter of cell `.0` and moves the others to the queue of cell `.1`.
    Requeue(usize, usize),
    Choose(u32),
    /// What a new thread does first, and what changes nothing.
    Start,
    Yield,
    Sleep,
    IsFinished(usize),
    Join(usize, Wait),
    /// Spawns a thread that main does not spawn at the beginning: the first such instruction of an earlier thread does it.
    Spawn(usize),
    Detach(usize),
    /// Skips that many instructions if the last outcome was a failure.
    SkipIfFailed(usize),
    /// Skips that many instructions if the last outcome was no failure.
    SkipUnlessFailed(usize),
    /// Skips that many instructions if the last value was odd.
    SkipIfOdd(usize),
    /// Loads until the cell is not zero, yielding in between.
    SpinUntilSet(usize),
    /// Loads until the cell is not zero.
    BareSpin(usize),
    /// Tries to lock with a time-out until it succeeds.
    RetryLock(usize),
    /// Tries to receive until it succeeds, sleeping in between.
    RetryReceive(usize),
    /// Waits on condition variable `.0` with mutex `.1` and a time-out until it is notified.
    RetryWait(usize, usize),
    /// Loads a number of times, whatever comes.
    LongLoop(usize, usize),
    /// Adds to cell 1 and yields until cell `.0` is not zero.
    BusyUntilSet(usize),
    /// Adds to a cell and yields a number of times.
    BusyLoop(usize, usize),
    /// Updates a cell, and leaves it as it is, until it is not zero.
    UpdateSpin(usize),
    /// Loads a cell and yields, until what was loaded is not zero.
    LateSpin(usize),
    /// Looks at count `.0` and yields until the thread has the only share, if it has any.
    ShareSpin(usize),
    /// One more share in count `.0`, if the thread has one.
    AddShare(usize),
    /// Gives up a share in count `.0`, if the thread has one, and learns whether it was the last.
    DropShare(usize),
    /// Makes signal `.0` pending.
    Raise(usize),
    /// Waits for signal `.0` and takes it.
    Await(usize, Wait),
    /// Waits until a signal is pending.
    Poll(Wait),
    /// Makes descriptor `.0` ready, once it has room, and tells the poll set if that watches it.
    Feed(usize),
    /// Changes descriptor `.0` in a way that the poll set is told of.
    Shut(usize),
    /// Lets the poll set watch descriptor `.0`, or no more if it did.
    Watch(usize),
    /// Waits until the poll set has been told something, and takes that.
    PollSet(Wait),
    /// Makes name `.0`, which leads to the file of that number, unless it is there.
    MakeName(usize),
    /// Makes name `.0`, or empties the file that it leads to.
    OpenName(usize),
    /// Looks at the file that name `.0` leads to.
    LookAtFile(usize),
    /// Changes the file that name `.0` leads to.
    ChangeFile(usize),
    /// Removes name `.0`, of which its file knows.
    RemoveName(usize),
    /// Makes name `.1` lead where name `.0` leads, unless it is there.
    LinkName(usize, usize),
    Cancel(usize),
    TestCancel,
    SetCancel(bool),
    /// Sends signal `.1` to a thread.
    Kill(usize, u32),
    /// Sends a signal to the process.
    KillAny(u32),
    /// Says which signals the thread blocks.
    Block(u64),
    /// Says which signals are ignored. Handlers tell which were when they began.
    Ignore(u64),
    /// Says that no signal is ignored, and that handlers are for one signal only.
    HandleOnce,
    /// Waits for one of these signals.
    TakeSignal(u64, Wait),
    /// Ends the program.
    End,
    /// Ends the program, as a thread that crashes does.
    Crash,
}

/// A program: what main does after it has spawned the others but those that others spawn, and what those do.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Program {
    pub threads: Vec<Vec<I>>,
    /// Capacities of the channels.
    pub channels: Vec<u64>,
    pub barrier: u64,
    pub semaphore: u64,
    pub mutexes: Vec<u64>,
    /// Whether read-write locks keep readers out while a writer waits.
    pub prefers_writers: bool,
    /// Whether writers that cannot give up are served by tickets; then it makes no difference whether they are preferred.
    pub tickets: bool,
    pub options: Opts,
}

/// The options that programs vary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Opts {
    pub spurious: bool,
    pub kind_time: bool,
    /// What a thread stores and sends is done at one place, and it lets others go first each time.
    pub turns: bool,
}

impl Program {
    pub fn new(threads: Vec<Vec<I>>) -> Self {
        Self {
            threads,
            channels: vec![u64::MAX, 1],
            barrier: 2,
            semaphore: 1,
            mutexes: vec![mutex_kind::NORMAL; 2],
            prefers_writers: false,
            tickets: false,
            options: Opts::default(),
        }
    }

    /// Who spawns a thread, if not main at the beginning.
    pub fn spawner(&self, thread: usize) -> Option<usize> {
        (0..thread.min(self.threads.len())).find(|t| self.threads[*t].contains(&I::Spawn(thread)))
    }
}
