//! The guards of C++ objects that are initialised at their first use.
//!
//! Compiled code looks at the first byte itself and calls only if it is zero, so an initialised object is no operation.

use crate::context::interpose;
use crate::engine::step;
use crate::objects;
use core::ffi::c_int;
use ordain_model::{ObjectId, ObjectKind, Operation, Outcome};

interpose! {
    __cxa_guard_acquire => acquire;
    __cxa_guard_release => release;
    __cxa_guard_abort => abort;
}

unsafe fn object(guard: *mut u8) -> ObjectId {
    // SAFETY: the program's guard, of eight bytes; the upper four are free.
    unsafe { objects::marked_short(guard.add(4) as *mut u32, ObjectKind::Once, 0) }
}

unsafe extern "C" fn acquire(guard: *mut u8) -> c_int {
    // SAFETY: the program's guard.
    unsafe {
        if guard.read_volatile() != 0 {
            return 0;
        }
        c_int::from(step(Operation::OnceBegin { once: object(guard), force: true }) == Outcome::RUN)
    }
}

unsafe extern "C" fn release(guard: *mut u8) {
    // SAFETY: the program's guard.
    unsafe {
        guard.write_volatile(1);
        step(Operation::OnceEnd { once: object(guard), complete: true });
    }
}

unsafe extern "C" fn abort(guard: *mut u8) {
    // SAFETY: the program's guard.
    unsafe {
        step(Operation::OnceEnd { once: object(guard), complete: false });
    }
}
