// A Rust thread uses a value that was set before the thread was spawned.

use std::cell::UnsafeCell;
use std::ffi::c_int;
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};
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
static VALUE: AtomicU32 = AtomicU32::new(0);

fn main() {
    LOCK.with(|| VALUE.store(8, Ordering::Relaxed));
    let worker = thread::spawn(|| {
        let value = LOCK.with(|| VALUE.load(Ordering::Relaxed));
        assert_eq!(value, 8, "the value is not there yet");
    });
    worker.join().unwrap();
}
