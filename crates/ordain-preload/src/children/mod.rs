//! Child processes: making them, waiting for them, and the numbers by which they are known.
//!
//! A child runs on its own, without control; what it leaves behind cannot be undone in memory. It sees the numbers that the program
//! sees: [`stand_in`] has the functions that are ours in a child, too.

pub mod family;
mod groups;
pub mod handlers;
pub mod locks;
mod making;
mod waiting;

pub use groups::{raw_group, raw_set_group, send};
pub use making::{fork_process, raw_clone};
pub use waiting::{note_running, raw_wait4, raw_waitid};

use crate::context::interpose;
use crate::engine::{active, engine};
use crate::handles::{self, shown_process};
use crate::link;
use crate::sys::{self, call};
use crate::unmodelled::{self, Unmodelled};
use crate::{descriptors, sync};
use core::ffi::{CStr, c_int, c_void};

interpose! {
    __register_atfork => handlers::register; __cxa_finalize => finalize_library;
    getpid => process_number; getppid => parent_number; gettid => thread_number;
}

/// The function of ours that stands for one of the C library in child processes.
pub fn stand_in(name: &CStr) -> Option<usize> {
    let name = name.to_bytes();
    Some(match name {
        b"getpid" => process_number as *const () as usize,
        b"getppid" => parent_number as *const () as usize,
        b"gettid" => thread_number as *const () as usize,
        _ => {
            return making::stand_in(name)
                .or_else(|| waiting::stand_in(name))
                .or_else(|| groups::stand_in(name))
                .or_else(|| locks::stand_in(name))
                .or_else(|| descriptors::stand_in(name));
        }
    })
}

extern "C" fn process_number() -> c_int {
    handles::own()
}

extern "C" fn parent_number() -> c_int {
    handles::parent()
}

/// A number for the running thread that is the same in every execution.
pub extern "C" fn thread_number() -> c_int {
    if active() {
        return handles::of_thread(engine().me());
    }
    // SAFETY: asks for a number.
    shown_process(unsafe { call!(sys::SYS_gettid) } as c_int)
}

/// Refuses what would be explored wrongly: locks that a child uses too.
pub fn refuse_shared_locks() {
    if sync::are_shared_with_others() {
        link::refuse(format_args!(
            "the program shares locks with child processes (PTHREAD_PROCESS_SHARED, sem_init with pshared, sem_open), which cannot be \
             explored; check one process at a time"
        ));
    }
    if crate::maps::has_shared() {
        unmodelled::note(Unmodelled::ChildMemory);
    }
}

/// A library is unloaded, or all are.
unsafe extern "C" fn finalize_library(library: *mut c_void) {
    handlers::forget(library);
    // SAFETY: the C library's function of this name.
    unsafe {
        let real: unsafe extern "C" fn(*mut c_void) = core::mem::transmute(crate::real::next(c"__cxa_finalize"));
        real(library);
    }
}
