//! What a program does that may carry an order between its threads and that the model does not know.

/// What a program makes or changes that has a name outside of it; a bit of [`crate::Control::named`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Named {
    /// Files, directories and objects of the kernel that were not there before; names that are removed.
    New = 1,
    /// Files and objects that were there before, and ports.
    Existing = 2,
}

/// A kind of calls; its place is its bit in [`crate::Control::unmodelled`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Unmodelled {
    /// Threads share a stream, and one of them uses it very often.
    LongStream,
    /// A file is mapped so that what is written there is seen by others.
    SharedMapping,
    /// Threads share what one of them has opened of the kernel's files.
    KernelFiles,
    /// Changes of files are waited for.
    Inotify,
    /// Memory is shared by the number of a segment.
    SharedMemory,
    /// Threads wait in loops for memory to change.
    MemoryLoops,
    /// Child processes use threads or locks.
    ChildLocks,
    /// Child processes share memory with the program.
    ChildMemory,
    /// Child processes run while threads of the program do.
    ChildRuns,
    /// Which of several child processes ends first, or whether one has ended yet, makes a difference.
    ChildEnds,
    /// Child processes send signals to the program.
    ChildSignals,
    /// Libraries are loaded or unloaded while there are other threads.
    Loader,
    /// The kernel cannot tell what the C library does by itself.
    Unseen,
    /// Other calls of the kernel that wait or carry data and that are not followed.
    Other,
    /// Threads use atomic instructions on the same memory.
    Atomics,
    /// Whether threads use atomic instructions on the same memory could not be seen.
    Unwatched,
    /// State of the kernel that others may see is changed or asked.
    KernelState,
    /// Loops that give way to others end although nothing has changed that can be seen.
    GivingWay,
    /// An alarm without a handler would have ended the program.
    Alarm,
    /// A thread that is to be cancelled runs destructors.
    CancelledAtEnd,
    /// The kernel chooses between listeners, or closes what is in messages.
    Sockets,
    /// The kernel's files are asked for state of the process that other threads may change.
    ProcessFiles,
    /// Threads may be cancelled in what the C library does by itself.
    InnerPoints,
    /// Poll sets keep interests in descriptors whose numbers were closed.
    Interests,
    /// A mutex that is not recoverable is tried.
    Unrecoverable,
    /// A timer with an interval rings early more often than is explored.
    Ticks,
    /// Both ends of a terminal are in the program.
    Terminals,
}

impl Unmodelled {
    /// All of them.
    pub const ALL: [Self; 27] = [
        Self::LongStream,
        Self::SharedMapping,
        Self::KernelFiles,
        Self::Inotify,
        Self::SharedMemory,
        Self::MemoryLoops,
        Self::ChildLocks,
        Self::ChildMemory,
        Self::ChildRuns,
        Self::ChildEnds,
        Self::ChildSignals,
        Self::Loader,
        Self::Unseen,
        Self::Other,
        Self::Atomics,
        Self::Unwatched,
        Self::KernelState,
        Self::GivingWay,
        Self::Alarm,
        Self::CancelledAtEnd,
        Self::Sockets,
        Self::ProcessFiles,
        Self::InnerPoints,
        Self::Interests,
        Self::Unrecoverable,
        Self::Ticks,
        Self::Terminals,
    ];

    /// Its bit.
    pub fn bit(self) -> u64 {
        1 << self as u32
    }

    /// Whether these bits mean anything.
    pub fn is_known(bits: u64) -> bool {
        bits >> Self::ALL.len() == 0
    }

    /// Those whose bits are set.
    pub fn of(bits: u64) -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(move |u| bits & u.bit() != 0)
    }

    /// What the program did, as the rest of a sentence that begins with "threads".
    pub fn text(self) -> &'static str {
        match self {
            Self::LongStream => "share a stream (FILE) that one of them uses more than 1000 times",
            Self::SharedMapping => "have a file mapped with MAP_SHARED",
            Self::KernelFiles => "share an open file below /proc or /sys",
            Self::Inotify => "wait for changes of files (inotify, fanotify)",
            Self::SharedMemory => "use shared memory (shmat)",
            Self::GivingWay => "sleep or yield in loops that end although nothing has changed that Ordain sees",
            Self::MemoryLoops => "wait in loops for memory to change (flags, atomics)",
            Self::ChildLocks => "make child processes that use locks or threads of their own",
            Self::ChildMemory => "make child processes with which they share memory",
            Self::ChildRuns => "go on, or end, while child processes run",
            Self::ChildEnds => "wait for any of several child processes (wait), or ask whether one has ended (WNOHANG)",
            Self::ChildSignals => "make child processes that send them signals",
            Self::Loader => {
                "load or unload libraries (dlopen, dlclose) while there are others, under a lock of the loader"
            }
            Self::Unseen => "may use files by stdio, which this kernel cannot show (syscall user dispatch, Linux 5.11)",
            Self::Other => {
                "use calls between threads that Ordain does not follow (splice, tee, vmsplice, sendfile, recvmmsg, sendmmsg)"
            }
            Self::Alarm => "sleep for longer than an alarm that nobody handles, which would have ended the program",
            Self::CancelledAtEnd => {
                "are cancelled while destructors of their values run, where the C library may still end what they do"
            }
            Self::Sockets => {
                "have several sockets that listen at one address, or close one with descriptors in it that nobody has received"
            }
            Self::ProcessFiles => {
                "look below /proc or /dev at state of the process that others may change (status, fdinfo, lists of descriptors or threads)"
            }
            Self::InnerPoints => {
                "may be cancelled inside calls of stdio, or of others that the C library makes points of cancellation by what they call"
            }
            Self::Interests => {
                "have a poll set (epoll) with a descriptor that was closed while something keeps it open: a copy of it, another process, a call"
            }
            Self::Unrecoverable => {
                "try to lock (pthread_mutex_trylock) a robust mutex that is not recoverable, which the C library leaves locked for ever"
            }
            Self::Ticks => {
                "have a timer with an interval (setitimer, ualarm), which may ring before each of their steps, more often than is explored"
            }
            Self::Terminals => "use terminals that the program has made (openpty), whose ends Ordain does not follow",
            Self::Atomics => "use atomic instructions on the same memory",
            Self::Unwatched => {
                "may use atomic instructions on the same memory, for which not all code could be watched"
            }
            Self::KernelState => {
                "change or ask something of the kernel whose effect on other threads Ordain does not follow (limits of sizes and of \
                 time, namespaces, mounts, traces; the page on system calls lists them)"
            }
        }
    }
}
