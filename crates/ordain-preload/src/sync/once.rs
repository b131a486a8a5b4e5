//! Initialisations that happen once. The routine is called from a C frame, because exceptions may pass.

use crate::context::interpose;
use crate::engine::{active, engine, step};
use crate::objects;
use core::ffi::{c_int, c_void};
use ordain_model::{ObjectKind, Operation, Outcome};

unsafe extern "C" {
    fn ordain_pthread_once(once: *mut c_void, routine: unsafe extern "C" fn()) -> c_int;
}

interpose! {
    pthread_once => ordain_pthread_once;
    call_once => ordain_pthread_once;
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
