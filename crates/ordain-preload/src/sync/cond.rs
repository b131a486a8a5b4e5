//! Condition variables: joining the queue and releasing the mutex, being woken, taking the mutex back are a step each.

use super::mutex;
use crate::context::interpose;
use crate::engine::step;
use crate::objects;
use crate::time::timed;
use crate::{signals, threads};
use core::ffi::c_int;
use libc::{ETIMEDOUT, pthread_cond_t, pthread_mutex_t, timespec};
use ordain_model::{ObjectId, ObjectKind, Operation, Outcome, Wait};

unsafe fn object(cond: *mut pthread_cond_t) -> ObjectId {
    // SAFETY: the program's condition variable; its first word is not used otherwise.
    unsafe { objects::marked(cond as u64, cond as *mut u64, ObjectKind::Condvar, 0) }
}

interpose! {
    pthread_cond_init => init;
    pthread_cond_destroy => destroy;
    pthread_cond_wait => wait;
    pthread_cond_timedwait => timed_wait;
    pthread_cond_clockwait => clock_wait;
    pthread_cond_signal => signal;
    pthread_cond_broadcast => broadcast;
}

pub(super) unsafe extern "C" fn init(cond: *mut pthread_cond_t, _attributes: *const libc::pthread_condattr_t) -> c_int {
    // SAFETY: the program's memory.
    unsafe {
        core::ptr::write_bytes(cond as *mut u8, 0, size_of::<pthread_cond_t>());
        objects::mark(cond as u64, cond as *mut u64, ObjectKind::Condvar, 0);
    }
    0
}

pub(super) unsafe extern "C" fn destroy(cond: *mut pthread_cond_t) -> c_int {
    // SAFETY: the program's condition variable. The model has no operation for its end: only its waiters would matter.
    unsafe {
        object(cond);
        (cond as *mut u64).write_volatile(0);
    }
    0
}

/// Waits on a condition variable.
pub(super) unsafe fn wait_with(cond: *mut pthread_cond_t, mutex: *mut pthread_mutex_t, wait: Wait) -> c_int {
    // SAFETY: the program's objects.
    unsafe {
        let queue = object(cond);
        let lock = mutex::object(mutex);
        if step(Operation::QueueWait { queue, lock }) == Outcome::INTERRUPTED {
            // Cancelled before it waited: the mutex is still held.
            threads::interrupted();
            return 0;
        }
        mutex::show(mutex, false);
        let woken = step(Operation::Woken { queue, wait });
        if woken == Outcome::INTERRUPTED {
            // Handlers run without the mutex.
            signals::take();
        }
        let locked = mutex::take(mutex, Wait::Block);
        if woken == Outcome::INTERRUPTED {
            threads::interrupted();
        }
        match (locked, woken) {
            (0, Outcome::FAILED) if wait == Wait::Timed => ETIMEDOUT,
            (error, _) => error,
        }
    }
}

pub(super) unsafe extern "C" fn wait(cond: *mut pthread_cond_t, mutex: *mut pthread_mutex_t) -> c_int {
    // SAFETY: the program's objects.
    unsafe { wait_with(cond, mutex, Wait::Block) }
}

pub(super) unsafe extern "C" fn timed_wait(
    cond: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
    until: *const timespec,
) -> c_int {
    // SAFETY: the program's objects.
    unsafe { timed(until, |wait| wait_with(cond, mutex, wait)) }
}

unsafe extern "C" fn clock_wait(
    cond: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
    _clock: c_int,
    until: *const timespec,
) -> c_int {
    // SAFETY: the program's objects.
    unsafe { timed_wait(cond, mutex, until) }
}

unsafe fn notify(cond: *mut pthread_cond_t, count: u32) -> c_int {
    // SAFETY: the program's condition variable.
    let queue = unsafe { object(cond) };
    step(Operation::Notify { queue, count });
    0
}

pub(super) unsafe extern "C" fn signal(cond: *mut pthread_cond_t) -> c_int {
    // SAFETY: the program's condition variable.
    unsafe { notify(cond, 1) }
}

pub(super) unsafe extern "C" fn broadcast(cond: *mut pthread_cond_t) -> c_int {
    // SAFETY: the program's condition variable.
    unsafe { notify(cond, u32::MAX) }
}
