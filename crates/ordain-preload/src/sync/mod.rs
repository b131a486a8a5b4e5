//! One file for each primitive: the functions that programs call, mapped to operations of the model. Files are named as in `ordain::sync`, which
//! has the same for Rust code. C programs have more: names of C11, futexes and spin locks.

mod barrier;
mod c11;
mod condvar;
pub mod futex;
mod mutex;
mod once;
mod rwlock;
mod semaphore;
mod spinlock;

use crate::engine;
use ordain_model::{Operation, Outcome, Wait};

pub use once::COMPLETE;
pub use spinlock::UNLOCKED;

/// How a wait ends that may end for lack of time: explored, if waits may also end without a reason before that time.
fn early_or(wait: Wait) -> Wait {
    let e = engine::engine();
    let may = wait == Wait::Timed && e.arbiter.may_wake_early(e.me());
    if may && engine::step(Operation::Choose { count: 2 }) == Outcome(1) { Wait::Interruptible } else { wait }
}

/// Begins an execution.
pub fn begin() {
    crate::destructors::begin();
    semaphore::begin();
    crate::signals::begin();
    crate::descriptors::begin();
    crate::handles::begin();
    crate::attributes::begin();
    crate::children::handlers::begin();
    crate::children::locks::begin();
    // SAFETY: only the carrier comes here.
    unsafe { SHARED_WITH_OTHERS = false };
}

/// Whether the program has made objects in this execution that other processes can use.
static mut SHARED_WITH_OTHERS: bool = false;

/// An object is made; `shared` says whether other processes can use it.
fn note_shared(shared: bool) {
    if shared {
        // SAFETY: only the carrier comes here.
        unsafe { SHARED_WITH_OTHERS = true };
        if crate::handles::children().next().is_some() {
            crate::children::refuse_shared_locks();
        }
    }
}

/// Whether the program has opened semaphores that have names, which other processes can open, too.
pub fn has_named_semaphores() -> bool {
    semaphore::has_named()
}

/// Whether there are objects that other processes can use.
pub fn are_shared_with_others() -> bool {
    // SAFETY: only the carrier comes here.
    unsafe { SHARED_WITH_OTHERS }
}
