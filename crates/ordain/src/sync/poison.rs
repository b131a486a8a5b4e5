//! Poisoning of locks whose holder panicked.
//!
//! The flag of std's locks asks whether the OS thread panics, which is wrong when another modelled thread was switched
//! away in the middle of its unwinding. The faces therefore keep their own flag and ignore std's.

use crate::{home, rt};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};

/// The flag of a lock.
#[derive(Debug)]
pub(crate) struct Poison(AtomicBool);

impl Poison {
    pub(crate) const fn new() -> Self {
        Self(AtomicBool::new(false))
    }

    pub(crate) fn get(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn clear(&self) {
        self.0.store(false, Ordering::Relaxed);
    }

    /// Ends a critical section: poisons the lock if the holder began to panic in it. An unwinding that only tears an
    /// execution down is not a panic.
    pub(crate) fn leave(&self, panicking_before: bool) {
        if !panicking_before && rt::panicking() && !home::ending() {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    /// Wraps what a lock gives to its new holder.
    pub(crate) fn result<G>(&self, guard: G) -> LockResult<G> {
        if self.get() { Err(PoisonError::new(guard)) } else { Ok(guard) }
    }

    /// As [`Poison::result`], for an attempt that succeeded.
    pub(crate) fn try_result<G>(&self, guard: G) -> TryLockResult<G> {
        self.result(guard).map_err(TryLockError::Poisoned)
    }
}

/// What a blocking std lock gives, poisoned or not.
pub(crate) fn ignore<G>(result: LockResult<G>) -> G {
    result.unwrap_or_else(PoisonError::into_inner)
}

/// What an attempt to take a std lock gives, poisoned or not; `None` if it is held.
pub(crate) fn attempt<G>(result: TryLockResult<G>) -> Option<G> {
    match result {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(error)) => Some(error.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

/// The real lock, which the model says is free.
pub(crate) fn must<G>(result: TryLockResult<G>) -> G {
    attempt(result).unwrap_or_else(|| {
        panic!(
            "ordain: a lock that is free in this execution is held by someone outside it; make the lock inside the \
             checked closure, or with `LazyLock::const_new` if it is a static"
        )
    })
}

/// Takes a std lock outside a check, where it may really block, or in a tear-down, where it must not.
pub(crate) fn real<G>(attempt_lock: impl Fn() -> TryLockResult<G>, lock: impl FnOnce() -> LockResult<G>) -> G {
    if !home::ending() {
        return ignore(lock());
    }
    loop {
        if let Some(guard) = attempt(attempt_lock()) {
            return guard;
        }
        if !rt::wait_for_others() {
            home::blocked();
        }
    }
}

/// Repeats an attempt to take a std lock until it succeeds or the time is over.
pub(crate) fn timed<G>(timeout: std::time::Duration, attempt_lock: impl Fn() -> TryLockResult<G>) -> Option<G> {
    use std::time::{Duration, Instant};
    let start = Instant::now();
    let mut pause = Duration::from_micros(1);
    loop {
        let guard = attempt(attempt_lock());
        if guard.is_some() || home::ending() {
            return guard;
        }
        let left = timeout.checked_sub(start.elapsed()).filter(|left| !left.is_zero())?;
        std::thread::sleep(pause.min(left));
        pause = (pause * 2).min(Duration::from_millis(1));
    }
}
