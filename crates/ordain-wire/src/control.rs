//! The shared memory: a page of control words, the plan, the log of events, and what is known from earlier executions.

use crate::numbered::{AtomicEnum, Numbered as _, numbered};
use crate::watch::{MOST_SITES, Watch, WatchSite};
use core::sync::atomic::{AtomicI32, AtomicU32, AtomicU64};

/// Both sides must be of this version.
pub const VERSION: u32 = 6;
/// Where the plan's forced decisions begin: pairs of thread and choice.
pub const PLAN_OFFSET: usize = 1 << 20;
/// More forced decisions than this cannot be told.
pub const MOST_PREFIX: usize = (1 << 25) / 8;
/// Where the names that are known already begin.
pub const NAMES_OFFSET: usize = PLAN_OFFSET + (1 << 25);
/// How much room they have.
pub const NAMES_SIZE: usize = 1 << 26;
/// Where the log of events begins.
pub const LOG_OFFSET: usize = NAMES_OFFSET + NAMES_SIZE;
/// How much room it has.
pub const LOG_SIZE: usize = 1 << 28;
/// Where records of what came from outside begin.
pub const INPUTS_OFFSET: usize = LOG_OFFSET + LOG_SIZE;
/// How much room they have.
pub const INPUTS_SIZE: usize = 1 << 26;
/// Where the fragment of a divided search begins, and later what has become of it.
pub const FRAGMENT_OFFSET: usize = INPUTS_OFFSET + INPUTS_SIZE;
/// How much room it has.
pub const FRAGMENT_SIZE: usize = 1 << 28;
/// Where fingerprints of classes begin: those that were explored in a turn, or those that samples are compared with, in order.
pub const CLASSES_OFFSET: usize = FRAGMENT_OFFSET + FRAGMENT_SIZE;
/// Most of them.
pub const MOST_CLASSES: usize = 1 << 16;
/// Where the instructions to watch begin.
pub const SITES_OFFSET: usize = CLASSES_OFFSET + MOST_CLASSES * 8;
/// The size of the shared memory. Only what is touched takes room.
pub const SHARED_SIZE: usize = SITES_OFFSET + MOST_SITES * size_of::<WatchSite>();
/// Longest message.
pub const MESSAGE_SIZE: usize = 4096;
/// Most signals that child processes can send to the program in an execution.
pub const MOST_SENT: usize = 64;
/// Most threads whose registers are told at the end.
pub const MOST_THREADS: usize = 1024;

/// Whose turn it is: the value of [`Control::turn`].
pub struct Turn;

impl Turn {
    /// The launcher's: the runtime waits.
    pub const LAUNCHER: u32 = 0;
    /// The runtime's: the launcher waits.
    pub const RUNTIME: u32 = 1;
}

numbered! {
    /// How an execution is started.
    Mode {
        /// The memory of the process is put back.
        Snapshot,
        /// A child of the process, which has run up to main, is made.
        Fork,
        /// The program is started anew.
        Exec,
    }
}

impl Mode {
    /// The mode of that name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|mode| mode.name() == name)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Snapshot => "snapshot",
            Self::Fork => "fork",
            Self::Exec => "exec",
        }
    }
}

numbered! {
    /// Why the runtime gave the turn to the launcher.
    Status {
        /// It has not done anything yet.
        None,
        /// Ready for the first request.
        Ready,
        /// The execution is over; see [`Control::ending`].
        Done,
        /// It asks which transition to take.
        Ask,
        /// The program does something that this mode cannot undo, or that the runtime cannot control; see the message.
        Refused,
        /// The execution needs more threads than were prepared: start again with more.
        MoreThreads,
        /// The runtime has failed; see the message.
        Broken,
        /// It has explored for a while, or the last execution is worth telling, or nothing is left.
        Explored,
        /// Executions would find something of each other in this mode, but not in another one; see the message.
        OtherMode,
        /// The code that is watched has changed: the launcher is to tell what to watch now, and to give the turn back.
        Watch,
    }
}

numbered! {
    /// How an execution ended, as far as the model does not decide it.
    Ending {
        /// The model decides: no transition was taken.
        Model,
        /// The program exited; [`Control::detail`] is the status.
        Exit,
        /// A signal killed it: [`Control::detail`] is its number, [`Control::address`] the address it is about.
        Signal,
        /// An assertion failed; the message says which.
        Assertion,
        /// The program called `abort`, or one of the C library's checks did.
        Abort,
        /// Nothing visible happened for too long.
        Hang,
        /// An object was used that is not one: [`Control::address`] says where, the message what.
        InvalidObject,
        /// A child process waits for a lock that nobody can release: [`Control::address`] says where it is.
        ChildDeadlock,
    }
}

numbered! {
    /// What the launcher asks of the runtime when it gives the turn.
    Request {
        /// Run the plan once.
        Run,
        /// Explore with the strategy that was told, until something is worth telling.
        Explore,
        /// The same with a fragment of the search, and tell what has become of it.
        ExploreFragment,
    }
}

numbered! {
    /// What is done with the classes of executions.
    ClassUse {
        /// Nothing.
        None,
        /// Their fingerprints are told.
        Collect,
        /// They are compared with those that were told, and one that is not among them is worth telling. The strategy is to draw samples
        /// with all samplers.
        Compare,
    }
}

numbered! {
    /// Who decides behind the forced decisions.
    Policy {
        /// The first enabled transition.
        Lowest,
        /// A random walk.
        Random,
        /// The launcher is asked.
        Remote,
    }
}

numbered! {
    /// What the search is bounded by.
    BoundKind {
        /// Nothing.
        None,
        /// Preemptions.
        Preemptions,
        /// Delays.
        Delays,
    }
}

numbered! {
    /// Whether to estimate how much there is.
    Estimating {
        /// No.
        No,
        /// In passing.
        Rough,
        /// As well as can be.
        Best,
    }
}

numbered! {
    /// Whether nothing is left to explore.
    Exhausted {
        /// There is more.
        No,
        /// Everything was explored.
        Everything,
        /// Everything within the bound was.
        Bound,
        /// The samples were drawn.
        Samples,
    }
}

numbered! {
    /// What the last execution of a turn showed.
    Observation {
        /// Nothing that is worth a look.
        None,
        /// It is worth a look: its events are in the log.
        Execution,
        /// It departed from its plan, and how is in the message.
        Departure,
    }
}

/// A thread at the end of an execution: where it is, for its backtrace.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct ThreadRecord {
    /// Its number.
    pub thread: u32,
    /// Whether `registers[0]` is the place itself, not a return address.
    pub exact: u32,
    /// rip, rsp, rbp, rbx, r12, r13, r14, r15.
    pub registers: [u64; 8],
    /// The base of its thread-local storage, by which its kernel thread is found.
    pub fs: u64,
}

/// A signal that a child process has sent to the program.
#[derive(Debug)]
#[repr(C)]
pub struct SentSignal {
    /// Its number; zero until the rest is there.
    pub number: AtomicI32,
    /// Where it comes from (`si_code`).
    pub code: AtomicI32,
    /// Who has sent it, as the program knows it.
    pub process: AtomicI32,
    /// The value that comes with it.
    pub value: AtomicU64,
}

/// The first page of the shared memory.
#[repr(C)]
pub struct Control {
    /// [`VERSION`] of the launcher.
    pub version: u32,
    /// The process that is under control.
    pub process: AtomicI32,
    /// The kernel thread that carries the program's threads.
    pub carrier: AtomicI32,
    /// Whose turn it is. Both sides wait on this word.
    pub turn: AtomicU32,
    /// Why the launcher has the turn.
    pub status: AtomicEnum<Status>,
    /// How executions are started.
    pub mode: AtomicEnum<Mode>,
    /// How many threads to prepare.
    pub pool: AtomicU32,
    /// Seed of the program's random numbers.
    pub entropy: AtomicU64,

    /// What to do.
    pub request: AtomicEnum<Request>,
    /// The number of the search: another one begins anew.
    pub search: AtomicU32,
    /// The strategy to explore with: its place in the list of all.
    pub strategy: AtomicU32,
    /// Ordering constraints that probabilistic concurrency testing looks for.
    pub depth: AtomicU32,
    /// What is bounded.
    pub bound_kind: AtomicEnum<BoundKind>,
    /// The bound.
    pub bound: AtomicU32,
    /// Most executions of this turn.
    pub most: AtomicU64,
    /// Most time of this turn, in microseconds.
    pub time: AtomicU64,
    /// Set while the runtime has the turn: it shall come back with what it has, after this execution.
    pub stop: AtomicU32,
    /// Whether to estimate how much there is.
    pub estimating: AtomicEnum<Estimating>,
    /// Executions of the search before this turn.
    pub before: AtomicU64,
    /// The exit status that is not worth telling.
    pub expected_status: AtomicI32,

    /// What to do with classes.
    pub class_use: AtomicEnum<ClassUse>,
    /// How many fingerprints of classes there are.
    pub class_count: AtomicU32,
    /// How many low bits are zero in all of them; others are left out.
    pub class_bits: AtomicU32,
    /// Whether the last execution is worth telling because its class is none of those.
    pub unexplored: AtomicU32,

    /// Executions of this turn.
    pub executions: AtomicU64,
    /// Executions of this turn that were cut short.
    pub blocked: AtomicU64,
    /// Steps of this turn.
    pub steps: AtomicU64,
    /// Most threads and most steps in an execution.
    pub most_threads: AtomicU32,
    /// Most steps in an execution.
    pub most_steps: AtomicU32,
    /// Most visible operations in an execution.
    pub most_visible: AtomicU32,
    /// Whether a spinning thread was held.
    pub spin_held: AtomicU32,
    /// Whether nothing is left.
    pub exhausted: AtomicEnum<Exhausted>,
    /// What the last execution showed.
    pub observation: AtomicEnum<Observation>,
    /// Processor time of this turn, in nanoseconds.
    pub cpu: AtomicU64,
    /// Whether what was counted before was explored under a wrong assumption, and is explored again.
    pub restarted: AtomicU32,

    /// Whether there is an estimate of this turn.
    pub estimated: AtomicU32,
    /// The estimate and its interval: the bits of natural logarithms.
    pub estimate: [AtomicU64; 3],
    /// How many of them have been made.
    pub estimate_done: AtomicU64,

    /// Bytes of the fragment, or of what has become of it.
    pub fragment_length: AtomicU32,
    /// Whether to tell what is left at the end of a turn, if that can be told.
    pub keep: AtomicU32,

    /// Number of forced decisions.
    pub prefix_length: AtomicU32,
    /// Whether the decisions are a schedule that an exploration has found: threads that it held may go on.
    pub follows: AtomicU32,
    /// Who decides afterwards.
    pub policy: AtomicEnum<Policy>,
    /// Seed of a random walk.
    pub seed: AtomicU64,
    /// The number of the execution in a random walk.
    pub stream: AtomicU64,
    /// The decision that was asked for: thread.
    pub answer_thread: AtomicU32,
    /// The decision that was asked for: choice. `u32::MAX` ends the execution.
    pub answer_choice: AtomicU32,

    /// Waits may end without a reason.
    pub spurious: AtomicU32,
    /// Time passes only when nobody can go on.
    pub kind_time: AtomicU32,
    /// Idle rounds before a spinning thread is held.
    pub spin_bound: AtomicU32,
    /// Idle rounds that are a livelock.
    pub livelock_rounds: AtomicU32,
    /// Most steps.
    pub max_steps: AtomicU64,
    /// Bits of what the program has done that the model does not know: [`crate::Unmodelled`].
    pub unmodelled: AtomicU64,
    /// Whether a debugger may look on, who would take instructions that are led one by one for its own.
    pub debugged: AtomicU32,
    /// Processor time that went into leading threads one by one, in nanoseconds: it is not the program's.
    pub led: AtomicU64,
    /// A child process that waits for ever: its real number.
    pub stuck_child: AtomicI32,
    /// Whether somebody passes on the signals that child processes send to the program in this execution.
    pub relays: AtomicU32,
    /// How many signals child processes have sent to the program in this execution.
    pub sent_count: AtomicU32,
    /// The first of them.
    pub sent: [SentSignal; MOST_SENT],
    /// Child processes that an execution made, at most.
    pub children: AtomicU32,
    /// What the program has made or changed that executions at the same time share, as bits of [`crate::Named`].
    pub named: AtomicU32,
    /// Whether what goes to standard output and standard error is compared, so that its order counts.
    pub compare_output: AtomicU32,

    /// Bytes of names and other knowledge; read when the runtime starts.
    pub names_length: AtomicU32,
    /// Bytes of the log.
    pub log_length: AtomicU32,
    /// Bytes of what came from outside.
    pub inputs_length: AtomicU64,
    /// Goes up with every visible operation, so that a hang is seen.
    pub heartbeat: AtomicU64,
    /// For debuggers: where the runtime passes whenever it has given the turn away.
    pub passing: AtomicU64,
    /// For debuggers: where the number of the running thread is found: the address of a pointer, and an offset from there.
    pub running: [AtomicU64; 2],
    /// The launcher has decided that the execution hangs: 1, or 2 if a signal has stopped it.
    pub hang: AtomicU32,

    /// How the execution ended.
    pub ending: AtomicEnum<Ending>,
    /// Exit status or signal.
    pub detail: AtomicI32,
    /// The thread that ended it.
    pub culprit: AtomicU32,
    /// The address that a signal is about.
    pub address: AtomicU64,
    /// Bytes of the message.
    pub message_length: AtomicU32,
    /// Number of thread records.
    pub thread_count: AtomicU32,
    /// What went to standard output and standard error, in bytes.
    pub output: [AtomicU64; 2],
    /// Pages that were written, of the last execution, and of those how many had to be looked for.
    pub pages: [AtomicU32; 2],

    /// What is watched.
    pub watch: Watch,

    /// A message.
    pub message: [u8; MESSAGE_SIZE],
    /// Where threads are.
    pub threads: [ThreadRecord; MOST_THREADS],
}

const _: () = assert!(size_of::<Control>() <= PLAN_OFFSET);
