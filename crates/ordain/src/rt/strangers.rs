//! Threads that are none of the check's and use its objects all the same.
//!
//! A thread of std, or of a pool that was started elsewhere, runs whenever the system lets it, and Ordain sees nothing of what it does. If
//! it uses an object that was made in an execution, the check cannot say that everything was explored.

use super::executor::is_running;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Numbers of executions whose objects were used like that, and that have not heard of it yet.
static USED: Mutex<Vec<u64>> = Mutex::new(Vec::new());
/// How many there are.
static COUNT: AtomicUsize = AtomicUsize::new(0);
/// More are not kept: executions that are over never ask.
const MOST: usize = 4096;

fn used() -> MutexGuard<'static, Vec<u64>> {
    USED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An object of an execution is used, and no execution is active on this OS thread.
#[cold]
pub(super) fn note(execution: u64) {
    if is_running() {
        // The execution is being torn down.
        return;
    }
    let mut used = used();
    if !used.contains(&execution) {
        if used.len() >= MOST {
            used.remove(0);
        }
        used.push(execution);
        COUNT.store(used.len(), Ordering::Release);
    }
}

/// Whether a stranger has used an object of this execution; forgets it.
pub(super) fn were_there(execution: u64) -> bool {
    if COUNT.load(Ordering::Acquire) == 0 {
        return false;
    }
    let mut used = used();
    let before = used.len();
    used.retain(|e| *e != execution);
    COUNT.store(used.len(), Ordering::Release);
    used.len() < before
}
