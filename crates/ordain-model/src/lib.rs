//! Ordain's model of concurrency: the words, the arbiter, and one model of each primitive.
//!
//! A front end (coroutines in Rust code, an interposed library in an unmodified program) lets threads *announce* what they
//! are about to do; the [`Arbiter`] says what is possible and records what happened as an [`Execution`]. The search in
//! `ordain-explore` reads executions and says what to try next. Nothing here knows of processes, files, clocks or
//! terminals, and it needs no standard library, because it also runs inside other people's processes.
//!
//! The memory model is sequential consistency; memory orderings matter for data races only.
#![no_std]

extern crate alloc;
#[cfg(feature = "mutate")]
extern crate std;

pub mod arbiter;
pub mod clock;
pub mod describe;
pub mod execution;
pub mod finding;
pub mod footprint;
pub mod happens_before;
mod idle;
pub mod imagine;
pub mod level;
pub mod lexicon;
#[cfg(feature = "mutate")]
pub mod mutation;
pub mod names;
pub mod operation;
pub mod primitives;
pub mod races;
pub mod schedule;
pub mod state;
mod turns;

pub use arbiter::{Arbiter, Mark, Options, first_state};
pub use execution::{Divergence, End, Execution, PendingOp, Site, Size, Step, Transition};
pub use finding::{DataRace, Deadlock, Misuse};
pub use footprint::{Access, Footprint, affects, dependent};
pub use happens_before::HappensBefore;
pub use imagine::{Imagined, Moment};
pub use level::Level;
pub use lexicon::{Lexicon, Named, Renaming};
pub use names::{Names, ObjectId, ObjectKind, ThreadId};
pub use operation::{MemoryOrder, Operation, Outcome, Wait};
pub use primitives::{Member, SIGNAL_ONCE};
pub use schedule::{Schedule, ScheduleError};

/// Kinds of mutexes, to be combined: the initial value of [`ObjectKind::Mutex`].
pub mod mutex_kind {
    /// Locking it twice is a deadlock.
    pub const NORMAL: u64 = 0;
    /// The owner may lock it again.
    pub const RECURSIVE: u64 = 1;
    /// Locking it twice is an error that the caller is told.
    pub const ERROR_CHECKING: u64 = 2;
    /// The next owner is told if the owner ended while it held the mutex.
    pub const ROBUST: u64 = 4;
}
