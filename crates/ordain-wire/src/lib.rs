//! What the launcher and the runtime inside a program tell each other, through one piece of shared memory.
//!
//! The launcher writes a plan and gives the turn to the runtime; that runs the program once, takes down what happens as
//! [`Event`]s, and gives the turn back. The launcher feeds the events to an arbiter of its own: it believes nothing that its own
//! model does not confirm, because a program can write over anything that is mapped into its process.
#![no_std]

extern crate alloc;

mod control;
mod event;
mod follow;
mod numbered;
mod sharing;
mod syscalls;
mod unmodelled;
mod watch;

pub use control::{
    BoundKind, CLASSES_OFFSET, ClassUse, Control, Ending, Estimating, Exhausted, FRAGMENT_OFFSET, FRAGMENT_SIZE,
    INPUTS_OFFSET, INPUTS_SIZE, LOG_OFFSET, LOG_SIZE, MESSAGE_SIZE, MOST_CLASSES, MOST_PREFIX, MOST_SENT, MOST_THREADS,
    Mode, NAMES_OFFSET, NAMES_SIZE, Observation, PLAN_OFFSET, Policy, Request, SHARED_SIZE, SITES_OFFSET, SentSignal,
    Status, ThreadRecord, Turn, VERSION,
};
pub use event::{Departure, Event, FragmentBytes, Knowledge, Log};
pub use follow::{Authority, Contradiction, Follower};
pub use numbered::{AtomicEnum, Numbered};
pub use sharing::{SHARING, Sharing, State, sharing};
pub use syscalls::{Class, SYSTEM_CALLS, system_call};
pub use unmodelled::{Named, Unmodelled};
pub use watch::{MOST_SITES, MOST_SPANS, NO_REGISTER, SLOT, Trouble, Watch, WatchSite, WatchSpan};

/// The descriptor under which the program finds the shared memory.
pub const SHARED_FD: i32 = 1000;
/// The descriptor of the runtime's own image, from which it is preloaded.
pub const IMAGE_FD: i32 = 1001;
/// What the launcher adds to the environment for the loader of the program; the runtime takes it out again before the program sees it.
pub const LOADER_ENVIRONMENT: [&core::ffi::CStr; 3] = [
    c"LD_BIND_NOW=1",
    c"GLIBC_TUNABLES=glibc.pthread.rseq=0:glibc.malloc.arena_max=1",
    c"LD_PRELOAD=/proc/self/fd/1001",
];
/// The least descriptor that the runtime uses for itself.
pub const FIRST_OWN_FD: i32 = 1002;
