//! Initialisations that happen once: by `pthread_once`, and of C++ objects at their first use.
//!
//! The routine of `pthread_once` is called from a C frame, because exceptions may pass. Objects of C++ have guards: compiled code looks at
//! the first byte itself and calls only if that is zero, so an initialised object is no operation.

use crate::context::interpose;
use crate::engine::{active, engine, step};
use crate::objects;
use core::ffi::{c_int, c_void};
use ordain_model::{ObjectId, ObjectKind, Operation, Outcome};

unsafe extern "C" {
    fn ordain_pthread_once(once: *mut c_void, routine: unsafe extern "C" fn()) -> c_int;
}

interpose! {
    pthread_once => ordain_pthread_once;
    call_once => ordain_pthread_once;
    __cxa_guard_acquire => acquire_guard;
    __cxa_guard_release => release_guard;
    __cxa_guard_abort => abort_guard;
}

/// What the C library puts there when the initialisation is complete.
pub const COMPLETE: u32 = 2;

/// Whether the caller must run the routine.
#[unsafe(no_mangle)]
unsafe extern "C" fn ordain_once_begin(once: *mut u32) -> c_int {
    // SAFETY: the program's flag.
    unsafe {
        if !active() {
            if *once == COMPLETE {
                return 0;
            }
            *once = COMPLETE;
            return 1;
        }
        if *once == COMPLETE {
            // Complete before the program was under control.
            return 0;
        }
        let object = objects::marked_short(once, ObjectKind::Once, 0);
        c_int::from(step(Operation::OnceBegin { once: object, force: true }) == Outcome::RUN)
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ordain_once_end(once: *mut u32, complete: c_int) {
    if !active() {
        return;
    }
    let e = engine();
    // The call began long ago; what the routine called has been noted since.
    e.slots[e.current].registers[0] = 0;
    // SAFETY: the program's flag.
    let object = unsafe { objects::marked_short(once, ObjectKind::Once, 0) };
    step(Operation::OnceEnd { once: object, complete: complete != 0 });
}

unsafe fn guard_object(guard: *mut u8) -> ObjectId {
    // SAFETY: the program's guard, of eight bytes; the upper four are free.
    unsafe { objects::marked_short(guard.add(4) as *mut u32, ObjectKind::Once, 0) }
}

unsafe extern "C" fn acquire_guard(guard: *mut u8) -> c_int {
    // SAFETY: the program's guard.
    unsafe {
        if guard.read_volatile() != 0 {
            return 0;
        }
        c_int::from(step(Operation::OnceBegin { once: guard_object(guard), force: true }) == Outcome::RUN)
    }
}

unsafe extern "C" fn release_guard(guard: *mut u8) {
    // SAFETY: the program's guard.
    unsafe {
        guard.write_volatile(1);
        step(Operation::OnceEnd { once: guard_object(guard), complete: true });
    }
}

unsafe extern "C" fn abort_guard(guard: *mut u8) {
    // SAFETY: the program's guard.
    unsafe {
        step(Operation::OnceEnd { once: guard_object(guard), complete: false });
    }
}
