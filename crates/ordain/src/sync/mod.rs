//! Synchronisation, shaped like [`std::sync`].
//!
//! Outside a check every type behaves as std's. Inside, each operation that threads can tell apart is a step of the model.
//! `new` is not `const`, because it gives the object its name in the running execution; statics use `const_new`.

pub mod atomic;
pub mod mpsc;

mod arc;
mod barrier;
mod condvar;
mod lazy_lock;
mod mutex;
mod once;
mod once_lock;
mod poison;
mod rwlock;
mod semaphore;

pub use arc::{Arc, Weak};
pub use barrier::{Barrier, BarrierWaitResult};
pub use condvar::{Condvar, WaitTimeoutResult};
pub use lazy_lock::LazyLock;
pub use mutex::{Mutex, MutexGuard};
pub use once::{Once, OnceState};
pub use once_lock::OnceLock;
pub use rwlock::{RwLock, RwLockReadGuard, RwLockWriteGuard};
pub use semaphore::Semaphore;
pub use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};
