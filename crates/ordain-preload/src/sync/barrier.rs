//! Barriers.

use crate::context::interpose;
use crate::engine::step;
use crate::initialisation::initialise;
use crate::objects;
use core::ffi::{c_int, c_uint};
use libc::{EINVAL, pthread_barrier_t};
use ordain_model::{ObjectId, ObjectKind, Operation, Outcome, Wait};

/// The C library's layout, as far as it matters.
#[repr(C)]
struct Layout {
    words: [u32; 2],
    count: u32,
    shared: u32,
    out: u64,
    mark: u64,
}

/// No barrier counts more threads in the C library.
const MOST: c_uint = c_uint::MAX / 2;

interpose! {
    pthread_barrier_init => init;
    pthread_barrier_destroy => destroy;
    pthread_barrier_wait => wait;
}

unsafe extern "C" fn init(
    barrier: *mut pthread_barrier_t,
    attributes: *const libc::pthread_barrierattr_t,
    count: c_uint,
) -> c_int {
    if count == 0 || count > MOST {
        return EINVAL;
    }
    let layout = barrier as *mut Layout;
    // SAFETY: the program's memory; attributes are one word that says whether other processes can use it.
    unsafe {
        super::note_shared(!attributes.is_null() && (attributes as *const u32).read() != 0);
        let mark = objects::mark_of(initialise(barrier as u64, ObjectKind::Barrier, u64::from(count)));
        layout.write(Layout { words: [0; 2], count, shared: 0, out: 0, mark });
    }
    0
}

unsafe extern "C" fn destroy(barrier: *mut pthread_barrier_t) -> c_int {
    // SAFETY: the program's barrier.
    let queue = unsafe { object(barrier) };
    // As the C library does, it waits until all who came have left.
    step(Operation::DestroyQueue { queue });
    0
}

unsafe fn object(barrier: *mut pthread_barrier_t) -> ObjectId {
    let layout = barrier as *mut Layout;
    // SAFETY: the program's barrier.
    unsafe {
        let count = u64::from((*layout).count);
        if count == 0 {
            return objects::unmarked(barrier as u64, &raw mut (*layout).mark, ObjectKind::Barrier);
        }
        objects::marked(barrier as u64, &raw mut (*layout).mark, ObjectKind::Barrier, count)
    }
}

unsafe extern "C" fn wait(barrier: *mut pthread_barrier_t) -> c_int {
    // SAFETY: the program's barrier.
    let object = unsafe { object(barrier) };
    match step(Operation::Arrive { barrier: object }) {
        Outcome::SERIAL => return libc::PTHREAD_BARRIER_SERIAL_THREAD,
        Outcome::DONE => {
            step(Operation::Woken { queue: object, wait: Wait::Block });
        }
        _ => {}
    }
    0
}
