//! What executions teach about a program that changes which steps there are.
//!
//! Some things are steps only for programs that do what few do, because a step more for all would be too much. Who notices that the present
//! program is one of them learns it: the search begins again with that in mind. Schedules keep what was known when they were made.

use crate::engine::Engine;
use ordain_model::Site;
use ordain_wire::Event;

/// Something that matters for the present program.
#[derive(Clone, Copy)]
#[repr(u64)]
pub enum Lesson {
    /// Which number a descriptor gets: a closed one was used, or an open one replaced.
    Numbers = 1,
    /// When calls on descriptors begin: one was closed on which a call waits.
    Beginnings = 2,
    /// When objects are initialised: one was used by another thread, which could have come first.
    Initialisations = 3,
    /// When keys of thread-specific values are deleted: one was, while other threads could end.
    Keys = 4,
    /// Who holds the lock of a stream of the C library: one was locked for longer than a call.
    StreamLocks = 5,
    /// When calls on streams end: one made a system call that is a step, on a stream that threads share.
    StreamCalls = 6,
    /// When the environment is changed: it was, beside other threads.
    Environment = 7,
    /// In which order numbers are drawn from the C library's sequences: a seed was set beside other threads.
    Draws = 8,
    /// What paths mean: the working directory, a link or a directory was changed beside other threads.
    Paths = 9,
    /// Whether closing a descriptor gives up locks on its file: one was locked.
    FileLocks = 10,
    /// When limits of resources are changed: one was, beside other threads.
    Limits = 11,
    /// When child processes are made: one was, beside other threads.
    Children = 12,
}

impl Lesson {
    fn site(self) -> Site {
        Site(u64::MAX - self as u64)
    }

    /// Whether the search knows it.
    pub fn is_known(self, e: &Engine) -> bool {
        e.arbiter.long_loops().contains(&self.site())
    }

    /// Teaches the search.
    pub fn learn(self, e: &mut Engine) {
        if !self.is_known(e) {
            e.log(&Event::Lesson { lesson: self.site().0 });
            e.arbiter.learn(self.site());
        }
    }
}
