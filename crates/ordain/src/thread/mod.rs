//! Threads, shaped like [`std::thread`].
//!
//! Threads started inside a check are modelled: they run one at a time, on the OS thread of the check, in the order that is
//! explored. Those started outside are real. Sleeping takes no time in a check, and orders nothing.

mod handle;
mod local;
mod scope;
mod spawn;

pub use handle::{Thread, ThreadId};
pub use local::{AccessError, LocalKey};
pub use scope::{Scope, ScopedJoinHandle, scope};
pub use spawn::{Builder, JoinHandle, spawn};
pub use std::thread::{Result, available_parallelism};

use crate::{home, rt};
use ordain_model::{Operation, Outcome, Wait};
use std::time::Duration;

/// The running thread.
#[must_use]
pub fn current() -> Thread {
    if rt::active() {
        let id = rt::current();
        Thread::modelled(id, rt::given_name(id))
    } else {
        Thread::real(std::thread::current())
    }
}

/// Waits for the running thread's token, and takes it.
#[track_caller]
pub fn park() {
    if rt::active() {
        rt::step(Operation::Park { wait: Wait::Block });
    } else if home::ending() {
        home::blocked();
    } else {
        std::thread::park();
    }
}

/// Waits for the running thread's token, no longer than `timeout`. In a check it may expire whenever the token is not
/// there.
#[track_caller]
pub fn park_timeout(timeout: Duration) {
    if rt::active() {
        rt::wait_at_most(timeout);
        let early = rt::wakes_early();
        let wait = if early { Wait::Block } else { Wait::Timed };
        if rt::step(Operation::Park { wait }) == Outcome::FAILED && !early {
            rt::advance(timeout);
        }
    } else if home::ending() {
        rt::idle_in_tear_down();
    } else {
        std::thread::park_timeout(timeout);
    }
}

/// Sleeps; in a check, for virtual time.
#[track_caller]
pub fn sleep(duration: Duration) {
    if rt::active() {
        rt::wait_at_most(duration);
        rt::step(Operation::Sleep);
        rt::advance(duration);
    } else if home::ending() {
        rt::idle_in_tear_down();
    } else {
        std::thread::sleep(duration);
    }
}

/// Gives other threads a chance to run.
#[track_caller]
pub fn yield_now() {
    if rt::active() {
        rt::step(Operation::Yield);
    } else {
        rt::idle_in_tear_down();
        std::thread::yield_now();
    }
}

/// Whether the running thread is unwinding because of a panic.
#[must_use]
pub fn panicking() -> bool {
    rt::panicking()
}
