//! Condition variables: joining the queue and releasing the mutex, being woken, taking the mutex back are a step each.

use super::mutex;
use crate::cancellation;
use crate::context::interpose;
use crate::engine::{step, step_cancellable};
use crate::initialisation::initialise;
use crate::objects;
use crate::time::{self, timed};
use core::ffi::c_int;
use libc::{EINVAL, ETIMEDOUT, pthread_cond_t, pthread_mutex_t, timespec};
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

pub(super) unsafe extern "C" fn init(cond: *mut pthread_cond_t, attributes: *const libc::pthread_condattr_t) -> c_int {
    // SAFETY: the program's memory; the lowest bit of attributes says whether other processes can use it.
    unsafe {
        super::note_shared(!attributes.is_null() && (attributes as *const u32).read() & 1 != 0);
        let object = initialise(cond as u64, ObjectKind::Condvar, 0);
        core::ptr::write_bytes(cond as *mut u8, 0, size_of::<pthread_cond_t>());
        (cond as *mut u64).write(objects::mark_of(object));
    }
    0
}

pub(super) unsafe extern "C" fn destroy(cond: *mut pthread_cond_t) -> c_int {
    // SAFETY: the program's condition variable.
    let queue = unsafe { object(cond) };
    // As the C library does, it waits until nobody waits there any more.
    step(Operation::DestroyQueue { queue });
    0
}

/// Waits on a condition variable.
pub(super) unsafe fn wait_with(cond: *mut pthread_cond_t, mutex: *mut pthread_mutex_t, wait: Wait) -> c_int {
    // SAFETY: the program's objects.
    unsafe {
        let queue = object(cond);
        let lock = mutex::object(mutex);
        let wait = super::early_or(wait);
        if step(Operation::QueueWait { queue, lock }) == Outcome::FAILED {
            // There is nothing to wait for any more.
            return 0;
        }
        mutex::show(mutex, false);
        let wait = if wait == Wait::Block { Wait::Interruptible } else { wait };
        let woken = step_cancellable(Operation::Woken { queue, wait });
        if woken == Outcome::CANCELLED_WOKEN {
            // Who ends takes no wake-up away from others.
            step(Operation::Notify { queue, count: 1 });
        }
        let locked = mutex::take(mutex, Wait::Block);
        if matches!(woken, Outcome::CANCELLED | Outcome::CANCELLED_WOKEN) {
            cancellation::act();
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
    clock: c_int,
    until: *const timespec,
) -> c_int {
    if !time::limits_waits(clock) {
        return EINVAL;
    }
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
