// Two Rust threads take two mutexes of the C library in the same order.

use std::cell::UnsafeCell;
use std::ffi::c_int;
use std::ptr;
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

static FROM: PthreadMutex = PthreadMutex::new();
static TO: PthreadMutex = PthreadMutex::new();

fn main() {
    let pay = thread::spawn(|| FROM.with(|| TO.with(|| ())));
    let refund = thread::spawn(|| FROM.with(|| TO.with(|| ())));
    pay.join().unwrap();
    refund.join().unwrap();
}
