//! One file for each primitive: the functions that programs call, mapped to operations of the model.

mod barrier;
mod c11;
mod cond;
pub mod futex;
mod guard;
mod mutex;
mod once;
mod rwlock;
mod semaphore;
mod spin;

pub use once::COMPLETE;
pub use spin::UNLOCKED;

/// Begins an execution.
pub fn begin() {
    crate::destructors::begin();
    semaphore::begin();
    crate::signals::begin();
    crate::descriptors::begin();
    crate::handles::begin();
}
