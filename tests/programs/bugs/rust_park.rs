// A Rust thread parks if it finds no work, but it is unparked only if it has said that it sleeps.
// Deadlocks if main looks after the thread found no work and before it says that it sleeps.

use std::cell::UnsafeCell;
use std::ffi::c_int;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
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
static WORK: AtomicBool = AtomicBool::new(false);
static SLEEPING: AtomicBool = AtomicBool::new(false);

fn main() {
    let worker = thread::spawn(|| {
        while !LOCK.with(|| WORK.load(Ordering::Relaxed)) {
            LOCK.with(|| SLEEPING.store(true, Ordering::Relaxed));
            thread::park();
        }
    });
    let sleeping = LOCK.with(|| {
        WORK.store(true, Ordering::Relaxed);
        SLEEPING.load(Ordering::Relaxed)
    });
    if sleeping {
        worker.thread().unpark();
    }
    worker.join().unwrap();
}
