// A Rust thread aborts the process if it sees an invariant broken, which holds only after two critical sections.
// Aborts if main looks between the two.

use std::cell::UnsafeCell;
use std::ffi::c_int;
use std::process;
use std::ptr;
use std::sync::atomic::{AtomicI32, Ordering::Relaxed};
use std::thread;

/// A mutex of the C library, whose calls are visible where those of std's are not.
#[repr(C, align(8))]
struct PthreadMutex(UnsafeCell<[u8; 40]>);

// SAFETY: a mutex is there to be shared.
unsafe impl Sync for PthreadMutex {}

unsafe extern "C" {
    fn pthread_mutex_lock(mutex: *mut PthreadMutex) -> c_int;
    fn pthread_mutex_unlock(mutex: *mut PthreadMutex) -> c_int;
}

impl PthreadMutex {
    const fn new() -> Self {
        // All zero, as PTHREAD_MUTEX_INITIALIZER is.
        Self(UnsafeCell::new([0; 40]))
    }

    fn with<T>(&self, body: impl FnOnce() -> T) -> T {
        let mutex = ptr::from_ref(self).cast_mut();
        // SAFETY: the mutex is initialised and in a static.
        unsafe { pthread_mutex_lock(mutex) };
        let result = body();
        // SAFETY: as above, and this thread holds it.
        unsafe { pthread_mutex_unlock(mutex) };
        result
    }
}

static LOCK: PthreadMutex = PthreadMutex::new();
static HALVES: [AtomicI32; 2] = [AtomicI32::new(5), AtomicI32::new(5)];

fn main() {
    let auditor = thread::spawn(|| {
        let sum = LOCK.with(|| HALVES[0].load(Relaxed) + HALVES[1].load(Relaxed));
        if sum != 10 {
            process::abort();
        }
    });
    LOCK.with(|| HALVES[0].fetch_sub(1, Relaxed));
    LOCK.with(|| HALVES[1].fetch_add(1, Relaxed));
    auditor.join().unwrap();
}
