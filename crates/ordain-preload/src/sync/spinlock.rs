//! Spin locks. Nobody spins: who waits is not enabled.

use crate::context::interpose;
use crate::engine::step;
use crate::initialisation::initialise;
use crate::objects;
use core::ffi::c_int;
use libc::EBUSY;
use ordain_model::{ObjectId, ObjectKind, Operation, Outcome, Wait};

interpose! {
    pthread_spin_init => init;
    pthread_spin_destroy => destroy;
    pthread_spin_lock => lock;
    pthread_spin_trylock => try_lock;
    pthread_spin_unlock => unlock;
}

/// What an unlocked spin lock of the C library holds.
pub const UNLOCKED: u32 = 1;

unsafe fn object(lock: *mut u32) -> ObjectId {
    // SAFETY: the program's lock.
    unsafe { objects::marked_short(lock, ObjectKind::Spin, UNLOCKED) }
}

unsafe extern "C" fn init(lock: *mut u32, shared: c_int) -> c_int {
    super::note_shared(shared != 0);
    // SAFETY: the program's memory.
    unsafe {
        // It crashes if it is not there.
        lock.read_volatile();
        *lock = objects::short_mark_of(initialise(lock as u64, ObjectKind::Spin, 0));
    }
    0
}

unsafe extern "C" fn destroy(lock: *mut u32) -> c_int {
    // SAFETY: the program's lock.
    let object = unsafe { object(lock) };
    step(Operation::Destroy { object });
    0
}

unsafe extern "C" fn lock(lock: *mut u32) -> c_int {
    // SAFETY: the program's lock.
    let lock = unsafe { object(lock) };
    step(Operation::Lock { lock, wait: Wait::Block });
    0
}

unsafe extern "C" fn try_lock(lock: *mut u32) -> c_int {
    // SAFETY: the program's lock.
    let lock = unsafe { object(lock) };
    if step(Operation::Lock { lock, wait: Wait::Try }) == Outcome::FAILED { EBUSY } else { 0 }
}

unsafe extern "C" fn unlock(lock: *mut u32) -> c_int {
    // SAFETY: the program's lock.
    let lock = unsafe { object(lock) };
    step(Operation::Unlock { lock });
    0
}
