//! Handlers that are to run when a process makes a child (`pthread_atfork`).
//!
//! They lock and unlock the program's locks, so they run under control, before and behind the fork itself, and not inside the C
//! library's.

use core::ffi::{c_int, c_void};

type Handler = Option<unsafe extern "C" fn()>;

/// Handlers that were registered together.
#[derive(Clone, Copy)]
struct Handlers {
    before: Handler,
    in_parent: Handler,
    in_child: Handler,
    /// The library that they belong to.
    library: *mut c_void,
}

/// More are not kept.
const MOST: usize = 512;

struct Registered {
    all: [Handlers; MOST],
    count: usize,
    /// How many there were before main.
    first: usize,
}

static mut REGISTERED: Registered = Registered {
    all: [Handlers { before: None, in_parent: None, in_child: None, library: core::ptr::null_mut() }; MOST],
    count: 0,
    first: 0,
};

fn registered() -> &'static mut Registered {
    // SAFETY: only the carrier comes here, and no reference is kept while a handler runs.
    unsafe { &mut *(&raw mut REGISTERED) }
}

/// Registers handlers: stands for the C library's function, whether the program is under control or not.
pub unsafe extern "C" fn register(
    before: Handler,
    in_parent: Handler,
    in_child: Handler,
    library: *mut c_void,
) -> c_int {
    let r = registered();
    if r.count == MOST {
        return libc::ENOMEM;
    }
    r.all[r.count] = Handlers { before, in_parent, in_child, library };
    r.count += 1;
    0
}

/// A library goes away, and its handlers with it.
pub fn forget(library: *mut c_void) {
    let r = registered();
    let mut kept = 0;
    for i in 0..r.count {
        if r.all[i].library != library {
            r.all[kept] = r.all[i];
            kept += 1;
        }
    }
    r.count = kept;
}

/// What is registered now was so before main.
pub fn keep() {
    let r = registered();
    r.first = r.count;
}

/// Begins an execution.
pub fn begin() {
    let r = registered();
    r.count = r.first;
}

/// Runs handlers before a child is made, the last one first.
pub unsafe fn run_before() {
    for i in (0..registered().count).rev() {
        // SAFETY: the program's handler.
        unsafe { call(registered().all[i].before) };
    }
}

/// Runs handlers behind that, in the order of their registration.
pub unsafe fn run_behind(in_child: bool) {
    for i in 0..registered().count {
        let handlers = registered().all[i];
        // SAFETY: the program's handler.
        unsafe { call(if in_child { handlers.in_child } else { handlers.in_parent }) };
    }
}

unsafe fn call(handler: Handler) {
    if let Some(handler) = handler {
        // SAFETY: the program's handler, which was registered for this.
        unsafe { handler() };
    }
}
