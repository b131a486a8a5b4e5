//! Read-write locks. Any number of readers. A preference is one of the orders that are explored, unless it keeps readers out while
//! a writer waits: then beginning to wait is a step of its own.

use crate::context::interpose;
use crate::engine::{engine, step};
use crate::initialisation::initialise;
use crate::objects;
use crate::time::{self, timed};
use core::ffi::c_int;
use libc::{EBUSY, EDEADLK, EINVAL, ETIMEDOUT, pthread_rwlock_t, timespec};
use ordain_model::{ObjectId, ObjectKind, Operation, Outcome, Wait};

/// The C library's layout, as far as it matters.
#[repr(C)]
struct Layout {
    readers: u32,
    words: [u32; 5],
    writer: u32,
    shared: u32,
    padding: u64,
    mark: u64,
    kind: u64,
}

/// The kind that keeps readers out while a writer waits (PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP).
const PREFERS_WRITERS: u64 = 2;

unsafe fn object(lock: *mut pthread_rwlock_t) -> ObjectId {
    let layout = lock as *mut Layout;
    // SAFETY: the program's lock.
    unsafe { objects::marked(lock as u64, &raw mut (*layout).mark, ObjectKind::RwLock, 0) }
}

interpose! {
    pthread_rwlock_init => init;
    pthread_rwlock_destroy => destroy;
    pthread_rwlock_rdlock => read_lock;
    pthread_rwlock_tryrdlock => try_read_lock;
    pthread_rwlock_timedrdlock => timed_read_lock;
    pthread_rwlock_clockrdlock => clock_read_lock;
    pthread_rwlock_wrlock => write_lock;
    pthread_rwlock_trywrlock => try_write_lock;
    pthread_rwlock_timedwrlock => timed_write_lock;
    pthread_rwlock_clockwrlock => clock_write_lock;
    pthread_rwlock_unlock => unlock;
}

unsafe extern "C" fn init(lock: *mut pthread_rwlock_t, attributes: *const libc::pthread_rwlockattr_t) -> c_int {
    // SAFETY: the program's memory; attributes begin with the kind, and say then whether other processes can use it.
    unsafe {
        super::note_shared(!attributes.is_null() && (attributes as *const u32).add(1).read() != 0);
        let object = initialise(lock as u64, ObjectKind::RwLock, 0);
        core::ptr::write_bytes(lock as *mut u8, 0, size_of::<pthread_rwlock_t>());
        let layout = lock as *mut Layout;
        if !attributes.is_null() {
            (*layout).kind = u64::from((attributes as *const u32).read());
        }
        (*layout).mark = objects::mark_of(object);
    }
    0
}

unsafe extern "C" fn destroy(lock: *mut pthread_rwlock_t) -> c_int {
    // SAFETY: the program's lock.
    let object = unsafe { object(lock) };
    step(Operation::Destroy { object });
    0
}

unsafe fn take(lock: *mut pthread_rwlock_t, write: bool, wait: Wait) -> c_int {
    let me = engine().current as u32 + 1;
    // SAFETY: the program's lock.
    unsafe {
        let object = object(lock);
        let layout = lock as *mut Layout;
        if (*layout).writer == me && wait != Wait::Try {
            return EDEADLK;
        }
        let outcome = if !write {
            step(Operation::ReadLock { lock: object, wait })
        } else if (*layout).kind == PREFERS_WRITERS && wait != Wait::Try {
            match step(Operation::WriteQueue { lock: object, wait }) {
                Outcome::FAILED => step(Operation::WriteTurn { lock: object, wait }),
                taken => taken,
            }
        } else {
            step(Operation::WriteLock { lock: object, wait })
        };
        match outcome {
            Outcome::FAILED => return if wait == Wait::Try { EBUSY } else { ETIMEDOUT },
            _ if write => (&raw mut (*layout).writer).write_volatile(me),
            _ => {
                let readers = (&raw mut (*layout).readers).read_volatile();
                (&raw mut (*layout).readers).write_volatile(readers.wrapping_add(1));
            }
        }
    }
    0
}

unsafe extern "C" fn read_lock(lock: *mut pthread_rwlock_t) -> c_int {
    // SAFETY: the program's lock.
    unsafe { take(lock, false, Wait::Block) }
}

unsafe extern "C" fn try_read_lock(lock: *mut pthread_rwlock_t) -> c_int {
    // SAFETY: the program's lock.
    unsafe { take(lock, false, Wait::Try) }
}

unsafe extern "C" fn timed_read_lock(lock: *mut pthread_rwlock_t, until: *const timespec) -> c_int {
    // SAFETY: the program's arguments.
    unsafe { timed(until, |wait| take(lock, false, wait)) }
}

unsafe extern "C" fn clock_read_lock(lock: *mut pthread_rwlock_t, clock: c_int, until: *const timespec) -> c_int {
    if !time::limits_waits(clock) {
        return EINVAL;
    }
    // SAFETY: the program's arguments.
    unsafe { timed_read_lock(lock, until) }
}

unsafe extern "C" fn write_lock(lock: *mut pthread_rwlock_t) -> c_int {
    // SAFETY: the program's lock.
    unsafe { take(lock, true, Wait::Block) }
}

unsafe extern "C" fn try_write_lock(lock: *mut pthread_rwlock_t) -> c_int {
    // SAFETY: the program's lock.
    unsafe { take(lock, true, Wait::Try) }
}

unsafe extern "C" fn timed_write_lock(lock: *mut pthread_rwlock_t, until: *const timespec) -> c_int {
    // SAFETY: the program's arguments.
    unsafe { timed(until, |wait| take(lock, true, wait)) }
}

unsafe extern "C" fn clock_write_lock(lock: *mut pthread_rwlock_t, clock: c_int, until: *const timespec) -> c_int {
    if !time::limits_waits(clock) {
        return EINVAL;
    }
    // SAFETY: the program's arguments.
    unsafe { timed_write_lock(lock, until) }
}

unsafe extern "C" fn unlock(lock: *mut pthread_rwlock_t) -> c_int {
    let me = engine().current as u32 + 1;
    // SAFETY: the program's lock.
    unsafe {
        let object = object(lock);
        let layout = lock as *mut Layout;
        if (*layout).writer == me {
            (&raw mut (*layout).writer).write_volatile(0);
            step(Operation::WriteUnlock { lock: object });
        } else if (*layout).writer != 0 {
            step(Operation::WriteUnlock { lock: object });
        } else {
            let readers = (&raw mut (*layout).readers).read_volatile();
            (&raw mut (*layout).readers).write_volatile(readers.saturating_sub(1));
            step(Operation::ReadUnlock { lock: object });
        }
    }
    0
}
