//! C11 threads: the same objects under other names.

use super::{condvar, mutex};
use crate::context::interpose;
use crate::threads;
use core::ffi::{c_int, c_void};
use libc::{EBUSY, ETIMEDOUT, pthread_cond_t, pthread_mutex_t, timespec};
use ordain_model::Wait;

const SUCCESS: c_int = 0;
const BUSY: c_int = 1;
const ERROR: c_int = 2;
const TIMED_OUT: c_int = 4;

interpose! {
    thrd_create => create;
    thrd_join => join;
    thrd_detach => detach;
    thrd_exit => exit;
    mtx_init => mutex_init;
    mtx_destroy => mutex_destroy;
    mtx_lock => lock;
    mtx_trylock => try_lock;
    mtx_timedlock => timed_lock;
    mtx_unlock => unlock;
    cnd_init => cond_init;
    cnd_destroy => cond_destroy;
    cnd_wait => wait;
    cnd_timedwait => timed_wait;
    cnd_signal => signal;
    cnd_broadcast => broadcast;
}

fn code(error: c_int) -> c_int {
    match error {
        0 => SUCCESS,
        EBUSY => BUSY,
        ETIMEDOUT => TIMED_OUT,
        _ => ERROR,
    }
}

unsafe extern "C" fn create(
    out: *mut libc::pthread_t,
    start: unsafe extern "C" fn(*mut c_void) -> *mut c_void,
    argument: *mut c_void,
) -> c_int {
    // SAFETY: a start function that returns an int leaves it in the same register.
    code(unsafe { threads::spawn(start, argument, false, out) })
}

unsafe extern "C" fn join(thread: libc::pthread_t, result: *mut c_int) -> c_int {
    let mut value: *mut c_void = core::ptr::null_mut();
    // SAFETY: the program's arguments.
    unsafe {
        let error = threads::join_with(thread, &mut value, Wait::Interruptible);
        if error == 0 && !result.is_null() {
            *result = value as usize as c_int;
        }
        code(error)
    }
}

unsafe extern "C" fn detach(thread: libc::pthread_t) -> c_int {
    // SAFETY: the program's argument.
    code(unsafe { threads::detach(thread) })
}

unsafe extern "C" fn exit(result: c_int) -> ! {
    // SAFETY: ends the thread.
    unsafe { threads::exit_thread(result as usize as *mut c_void) }
}

unsafe extern "C" fn mutex_init(mutex: *mut pthread_mutex_t, kind: c_int) -> c_int {
    // SAFETY: the program's memory. Bit 0 of the kind says recursive.
    unsafe { mutex::init_kind(mutex, (kind & 1) as u32) };
    SUCCESS
}

unsafe extern "C" fn mutex_destroy(mutex: *mut pthread_mutex_t) {
    // SAFETY: the program's mutex.
    unsafe { mutex::destroy(mutex) };
}

unsafe extern "C" fn lock(mutex: *mut pthread_mutex_t) -> c_int {
    // SAFETY: the program's mutex.
    code(unsafe { mutex::lock(mutex) })
}

unsafe extern "C" fn try_lock(mutex: *mut pthread_mutex_t) -> c_int {
    // SAFETY: the program's mutex.
    code(unsafe { mutex::try_lock(mutex) })
}

unsafe extern "C" fn timed_lock(mutex: *mut pthread_mutex_t, until: *const timespec) -> c_int {
    // SAFETY: the program's arguments.
    code(unsafe { mutex::timed_lock(mutex, until) })
}

unsafe extern "C" fn unlock(mutex: *mut pthread_mutex_t) -> c_int {
    // SAFETY: the program's mutex.
    code(unsafe { mutex::unlock(mutex) })
}

unsafe extern "C" fn cond_init(cond: *mut pthread_cond_t) -> c_int {
    // SAFETY: the program's memory.
    code(unsafe { condvar::init(cond, core::ptr::null()) })
}

unsafe extern "C" fn cond_destroy(cond: *mut pthread_cond_t) {
    // SAFETY: the program's condition variable.
    unsafe { condvar::destroy(cond) };
}

unsafe extern "C" fn wait(cond: *mut pthread_cond_t, mutex: *mut pthread_mutex_t) -> c_int {
    // SAFETY: the program's objects.
    code(unsafe { condvar::wait(cond, mutex) })
}

unsafe extern "C" fn timed_wait(
    cond: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
    until: *const timespec,
) -> c_int {
    // SAFETY: the program's objects.
    code(unsafe { condvar::timed_wait(cond, mutex, until) })
}

unsafe extern "C" fn signal(cond: *mut pthread_cond_t) -> c_int {
    // SAFETY: the program's condition variable.
    code(unsafe { condvar::signal(cond) })
}

unsafe extern "C" fn broadcast(cond: *mut pthread_cond_t) -> c_int {
    // SAFETY: the program's condition variable.
    code(unsafe { condvar::broadcast(cond) })
}
