//! Ordain explores every inequivalent schedule of concurrent Rust code inside `cargo test`.
//!
//! Memory model explored: **sequential consistency**. Threads interleave, but each sees the latest write; weak-memory effects are
//! not explored. Data races on [`cell::UnsafeCell`] are found with the real orderings: a `Relaxed` store publishes nothing.
//!
//! ```should_panic
//! use ordain::sync::{Arc, Mutex};
//!
//! ordain::check(|| {
//!     let (a, b) = (Arc::new(Mutex::new(0)), Arc::new(Mutex::new(0)));
//!     let (a2, b2) = (a.clone(), b.clone());
//!     let other = ordain::thread::spawn(move || {
//!         let _a = a2.lock().unwrap();
//!         let _b = b2.lock().unwrap();
//!     });
//!     let _b = b.lock().unwrap();
//!     let _a = a.lock().unwrap(); // deadlock: the other way round
//!     drop((_a, _b));
//!     other.join().unwrap();
//! });
//! ```
//!
//! # How it works
//! Use the types of [`sync`], [`thread`], [`cell`], [`hint`] and [`time`] in place of std's. Inside a check each thread is
//! a coroutine, every operation is a step, and the search runs the closure again and again, each time in another order that
//! matters; orders of steps that do not depend on each other count as one. Outside a check the types behave as std's.
//! The closure must be deterministic but for the order of its threads and for [`choose`].
//!
//! # When something is found
//! The check panics with the finding: what happened, who was involved and where, the steps, and one line to replay it under
//! `cargo test`. The schedule is kept in `.ordain/<test>/`. Found are panics and failed assertions, deadlocks, data races, livelocks,
//! locks held at a thread's end, and misuse. See [`Check`] for options and [`Report`] for the result.
//!
//! # What it does not see
//! Anything that is not a type of Ordain: locks, atomics and channels of std or of other crates are invisible, and one that
//! blocks for real ends the process with a message. Timed waits may expire at any moment, however long they are
//! ([`Check::timeouts`]). A loop that waits for something to change is explored for a few rounds and then taken to wait
//! ([`Check::spin_bound`]); the verdict says so when it happened.
#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod cell;
mod check;
mod conduct;
mod finding;
pub mod hint;
mod home;
mod program;
mod record;
mod replay;
mod report;
mod rt;
pub mod sync;
pub mod thread;
pub mod time;

#[doc(hidden)]
pub use check::target;
pub use check::{Check, ParallelCheck, Strategy, check};
pub use finding::{Finding, FindingKind};
#[doc(hidden)]
pub use finding::{LEVEL, SCOPE};
/// Makes a function a test that checks it: every inequivalent schedule of its body is explored.
///
/// Short for a `#[test]` that calls [`check`], with the options of [`Check`] in parentheses. The check has the name of the
/// test, so a finding is replayed by the line that it prints, whatever the number of test threads.
///
/// ```
/// use ordain::sync::{Arc, Mutex};
///
/// #[ordain::test]
/// fn two_threads_count_to_two() {
///     let count = Arc::new(Mutex::new(0));
///     let other = {
///         let count = count.clone();
///         ordain::thread::spawn(move || *count.lock().unwrap() += 1)
///     };
///     *count.lock().unwrap() += 1;
///     other.join().unwrap();
///     assert_eq!(*count.lock().unwrap(), 2);
/// }
///
/// #[ordain::test(strategy = "pct", max_executions = 1000, seed = 7)]
/// fn many_threads_count() -> Result<(), String> {
///     // the program
///     Ok(())
/// }
/// ```
///
pub use ordain_macros::test;
pub use ordain_report::Timeouts;
pub use report::{Estimate, Report, Require, Verdict};

/// Picks a number below `n`, and explores every pick: data nondeterminism.
///
/// Outside a check it is always zero.
///
/// # Panics
/// If `n` is zero.
///
/// ```
/// ordain::check(|| {
///     let size = 1 + ordain::choose(3);
///     assert!((1..=3).contains(&size));
/// });
/// ```
#[track_caller]
pub fn choose(n: usize) -> usize {
    assert!(n > 0, "ordain::choose(0): there is nothing to choose from");
    let n = u32::try_from(n).expect("ordain::choose: more than 4,294,967,295 to choose from");
    if rt::active() { rt::choose(n) as usize } else { 0 }
}
