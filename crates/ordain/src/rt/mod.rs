//! The runtime behind the faces: threads as coroutines on one OS thread, one step at a time.
//!
//! A thread that announces an operation decides itself, by the plan, who moves next; only if that is another thread does it
//! give way to the executor, which resumes the other one. So a step of the thread that is running costs no switch.
//! `executor` runs executions, `object` names objects, `panics` catches what panics say, `sight` knows what a check does not
//! see, `strangers` knows of threads that are none of the check's, `watchdog` notices calls that block for real.

mod executor;
mod object;
mod panics;
mod sight;
mod strangers;
mod watchdog;

use core::time::Duration;
use ordain_model::{MemoryOrder, Operation, Outcome, Site, ThreadId};
use std::any::Any;
use std::panic::Location;

pub(crate) use executor::{Executor, Panicked};
pub(crate) use object::Object;
pub(crate) use panics::install_hook;
pub(crate) use sight::Sight;

use executor::{ACTIVE, tear_down, with};

/// Whether the caller runs inside an execution of a check (and not in its tear-down).
/// When false, every face behaves as std's type.
#[inline]
pub(crate) fn active() -> bool {
    let active = ACTIVE.get();
    if !active {
        tear_down::end_again();
    }
    active
}

/// The caller's place in the source, as the model carries it.
#[track_caller]
#[inline]
fn site() -> Site {
    site_of(Location::caller())
}

/// Where sites are counted from. Where a program is in memory differs from process to process; how far its parts are from each other does not,
/// so sites can be kept, and sent to other workers.
static ORIGIN: u8 = 0;

/// A place in the source, as the model carries it.
#[inline]
fn site_of(location: &'static Location<'static>) -> Site {
    let address = std::ptr::from_ref(location).expose_provenance();
    Site(address.wrapping_sub(std::ptr::from_ref(&ORIGIN).addr()) as u64)
}

/// The place in the source that a site of this process stands for.
pub(crate) fn location(site: Site) -> Option<&'static Location<'static>> {
    if site.0 == 0 {
        return None;
    }
    let address = usize::try_from(site.0).ok()?.wrapping_add(std::ptr::from_ref(&ORIGIN).addr());
    // SAFETY: sites are made by `site_of` alone, from references to locations, which are static; zero stands for none.
    unsafe { std::ptr::with_exposed_provenance::<Location<'static>>(address).as_ref() }
}

/// Announces `op` at the caller's location, waits until it is picked, applies it. Only when `active()`.
#[track_caller]
#[inline]
pub(crate) fn step(op: Operation) -> Outcome {
    executor::step(op, site())
}

/// As [`step`], at a given place: for destructors, which do not know where they are called from.
#[inline]
pub(crate) fn step_at(op: Operation, location: &'static Location<'static>) -> Outcome {
    executor::step(op, site_of(location))
}

/// Tells the model the value (zero-extended bits) that an atomic cell holds after a write.
#[inline]
pub(crate) fn set_value(cell: ordain_model::ObjectId, value: u64) {
    with(|rt| rt.arbiter.set_value(cell, value));
}

/// An access to plain memory by an exclusive borrow: no scheduling point, checked for data races. Only when `active()`.
#[track_caller]
pub(crate) fn exclusive_access(cell: ordain_model::ObjectId) {
    let site = site();
    with(|rt| rt.exclusive.push((rt.current, site)));
    drop(begin_access(cell, true));
}

/// An access to plain memory that lasts until it is dropped. Only when `active()`.
///
/// # Panics
/// If the running thread is in the middle of another access to the cell and one of them writes.
#[track_caller]
pub(crate) fn begin_access(cell: ordain_model::ObjectId, write: bool) -> PlainUse {
    let site = site();
    let (thread, conflicts) = with(|rt| {
        let thread = rt.current;
        let mut uses = rt.uses.iter();
        (thread, uses.any(|u| u.thread == thread && u.cell == cell && (u.write || write)))
    });
    if conflicts {
        let what = if write { "written" } else { "read" };
        panic!(
            "ordain: a cell is {what} (UnsafeCell::with{}) inside a closure of the same thread that uses it (with or with_mut): \
             two pointers to one value at the same time, of which one is for writing",
            if write { "_mut" } else { "" }
        );
    }
    with(|rt| {
        let begin = rt.arbiter.plain_access(thread, cell, write, site);
        let begun = rt.arbiter.execution().steps.len();
        rt.uses.push(executor::Use { thread, cell, write, begin });
        PlainUse { thread, cell, write, begin, begun, site, execution: rt.number }
    })
}

/// An access to plain memory that lasts.
pub(crate) struct PlainUse {
    thread: ThreadId,
    cell: ordain_model::ObjectId,
    write: bool,
    /// The number of the access.
    begin: u32,
    /// How many steps had been made.
    begun: usize,
    site: Site,
    execution: u64,
}

impl Drop for PlainUse {
    fn drop(&mut self) {
        if !ACTIVE.get() {
            return;
        }
        with(|rt| {
            if rt.number != self.execution {
                return;
            }
            if let Some(place) = rt.uses.iter().rposition(|u| u.begin == self.begin) {
                rt.uses.swap_remove(place);
            }
            if rt.arbiter.execution().steps.len() > self.begun {
                // Others may have moved meanwhile.
                rt.arbiter.end_plain_access(self.thread, self.cell, self.write, self.begin, self.site);
            }
        });
    }
}

/// An atomic fence: no scheduling point under sequential consistency; counts for data races. Only when `active()`.
pub(crate) fn fence(order: MemoryOrder) {
    with(|rt| rt.arbiter.fence(rt.current, order));
}

/// The running thread. Only when `active()`.
pub(crate) fn current() -> ThreadId {
    with(|rt| rt.current)
}

/// Whether the running thread (not some other one) is unwinding. Works inside and outside a check.
pub(crate) fn panicking() -> bool {
    if active() { with(|rt| rt.is_panicking()) } else { std::thread::panicking() }
}

/// Virtual time of the running thread since the execution began. Only when `active()`.
pub(crate) fn now() -> Duration {
    Duration::from_nanos(with(|rt| rt.arbiter.time(rt.current)))
}

/// Says how long the running thread's next timed operation waits. Only when `active()`.
pub(crate) fn wait_at_most(duration: Duration) {
    let nanoseconds = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
    with(|rt| rt.arbiter.set_patience(rt.current, nanoseconds));
}

/// Adds to the virtual time of the running thread (a sleep or an expired wait). Only when `active()`.
pub(crate) fn advance(by: Duration) {
    let nanoseconds = u64::try_from(by.as_nanos()).unwrap_or(u64::MAX);
    with(|rt| rt.arbiter.advance(rt.current, nanoseconds));
}

/// Whether the running thread's next timed wait ends without a reason instead: explored, if the check asks for spurious wake-ups. It must
/// wait without a time then. Only when `active()`.
#[track_caller]
pub(crate) fn wakes_early() -> bool {
    with(|rt| rt.arbiter.may_wake_early(rt.current)) && choose(2) == 1
}

/// A pick of a number below `n`: explored data nondeterminism. Only when `active()`.
#[track_caller]
pub(crate) fn choose(n: u32) -> u32 {
    step(Operation::Choose { count: n }).0 as u32
}

/// Creates a modelled thread that runs `body` and makes the Spawn step. `body` must not unwind but in a tear-down.
/// `stack_size`: bytes, or `None` for the check's default. `borrows`: whether it may use stacks of others. Only when `active()`.
#[track_caller]
pub(crate) fn spawn(
    name: Option<String>,
    stack_size: Option<usize>,
    borrows: bool,
    body: Box<dyn FnOnce()>,
) -> ThreadId {
    executor::spawn(name, stack_size, borrows, body, site())
}

/// The name given to a modelled thread by its Builder, if any.
pub(crate) fn given_name(thread: ThreadId) -> Option<String> {
    with(|rt| rt.given_name(thread))
}

/// Tells the runtime that the running thread's body ended with a panic. It is a finding unless [`panic_observed`] is called
/// for the thread before the execution ends.
pub(crate) fn report_panic(payload: &(dyn Any + Send)) {
    with(|rt| rt.report_panic(payload));
}

/// Someone joined `thread` and got its panic.
pub(crate) fn panic_observed(thread: ThreadId) {
    with(|rt| rt.panics.iter_mut().filter(|p| p.thread == thread).for_each(|p| p.observed = true));
}

/// Storage of `thread_local!` values of the running modelled thread: a map from the key's address to a boxed value.
/// Values are dropped, newest first, on the thread's own stack when its body is over, before its Exit step.
pub(crate) fn with_locals<R>(f: impl FnOnce(&mut Vec<(usize, Box<dyn Any>)>) -> R) -> R {
    with(|rt| f(rt.locals()))
}

/// Runs `hook` when the current execution ends, after all its threads are gone.
pub(crate) fn at_execution_end(hook: Box<dyn FnOnce()>) {
    with(|rt| rt.end_hooks.push(hook));
}

/// In a tear-down, waits until another thread has given something back; false if none will.
pub(crate) fn wait_for_others() -> bool {
    tear_down::wait_for_others()
}

/// In a tear-down, takes note that a destructor gives others a chance: none of them is going to do anything but end.
pub(crate) fn idle_in_tear_down() {
    tear_down::tire(tear_down::IDLE);
}

/// Leaves the running thread for ever: in a tear-down it would wait for something that cannot happen any more.
pub(crate) fn abandon() -> ! {
    tear_down::abandon()
}
