//! The runtime behind the faces: threads as coroutines, one step at a time. (signatures; bodies to come)
#![allow(unused)]

use core::time::Duration;
use ordain_model::{MemoryOrder, ObjectId, ObjectKind, Operation, Outcome, ThreadId};

/// Whether the caller runs inside an execution of a check (and not in its tear-down).
/// When false, every face behaves as std's type.
pub(crate) fn active() -> bool { unimplemented!() }

/// Announces `op` at the caller's location, waits until it is picked, applies it. Only when `active()`.
/// During the tear-down of an execution faces see `active() == false`, so they never get here.
#[track_caller]
pub(crate) fn step(op: Operation) -> Outcome { unimplemented!() }

/// Tells the model the value (zero-extended bits) that an atomic cell holds after a Store, Update or successful CompareExchange.
pub(crate) fn set_value(cell: ObjectId, value: u64) { unimplemented!() }

/// An access to plain memory: no scheduling point, checked for data races. Only when `active()`.
#[track_caller]
pub(crate) fn plain_access(cell: ObjectId, write: bool) { unimplemented!() }

/// An atomic fence: no scheduling point under sequential consistency; counts for data races. Only when `active()`.
pub(crate) fn fence(order: MemoryOrder) { unimplemented!() }

/// The running thread. Only when `active()`.
pub(crate) fn current() -> ThreadId { unimplemented!() }

/// Whether the running thread (not some other one) is unwinding. Works inside and outside a check.
pub(crate) fn panicking() -> bool { unimplemented!() }

/// Virtual time of the running thread since the execution began. Only when `active()`.
pub(crate) fn now() -> Duration { unimplemented!() }

/// Adds to the virtual time of the running thread (a sleep or an expired wait). Only when `active()`.
pub(crate) fn advance(by: Duration) { unimplemented!() }

/// A pick of a number below `n`: explored data nondeterminism. Only when `active()`.
#[track_caller]
pub(crate) fn choose(n: u32) -> u32 { unimplemented!() }

/// Creates a modelled thread that runs `body` (which must not unwind: faces catch panics themselves and store the result)
/// and makes the Spawn step. `stack_size`: bytes, or None for the check's default. Only when `active()`.
#[track_caller]
pub(crate) fn spawn(name: Option<String>, stack_size: Option<usize>, body: Box<dyn FnOnce()>) -> ThreadId { unimplemented!() }

/// The name given to a modelled thread by its Builder, if any.
pub(crate) fn given_name(thread: ThreadId) -> Option<String> { unimplemented!() }

/// Tells the runtime how a thread's body ended with a panic (called by the body wrapper in the thread it concerns).
/// The panic is a finding unless `panic_observed` is called for the thread before the execution ends.
pub(crate) fn report_panic(payload: &(dyn core::any::Any + Send)) { unimplemented!() }

/// Someone joined `thread` and got its panic.
pub(crate) fn panic_observed(thread: ThreadId) { unimplemented!() }

/// Storage of `thread_local!` values of the running modelled thread: a map from the key's address to a boxed value.
/// Values are dropped, newest first, on the thread's own stack when its body is over, before its Exit step.
pub(crate) fn with_locals<R>(f: impl FnOnce(&mut Vec<(usize, Box<dyn core::any::Any>)>) -> R) -> R { unimplemented!() }

/// Runs `reset` when the current execution ends (to put statics back to their initial state).
pub(crate) fn at_execution_end(reset: Box<dyn FnOnce()>) { unimplemented!() }

/// The identity of a face's object in the model. One field in every face.
/// `new` registers the object in the running execution (if there is one); objects made outside (statics, values captured
/// by the closure) are registered at first use in each execution.
#[derive(Debug)]
pub(crate) struct Object { /* id and execution number, atomics */ }

impl Object {
    /// For `new()` of faces: registers now if `active()`. `initial`: the initial word (see `id`).
    pub(crate) fn new(kind: ObjectKind, initial: u64) -> Self { unimplemented!() }
    /// For `const_new()` of faces meant for statics.
    pub(crate) const fn unregistered() -> Self { Self {} }
    /// The object's number in the running execution; registers it if need be, with the initial word that `initial` gives.
    /// Initial words: mutex, rwlock, condvar, once, futex: 0 (recursive mutex: see model); semaphore: count; barrier: number of threads;
    /// channel: capacity, or u64::MAX for unbounded; atomic: its value as bits; plain cell: 0; count: its value.
    /// Only when `active()`.
    pub(crate) fn id(&self, kind: ObjectKind, initial: impl FnOnce() -> u64) -> ObjectId { unimplemented!() }
}
