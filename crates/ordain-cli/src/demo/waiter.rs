//! A thread waits until a job is ready. It looks before it takes the lock.

use ordain::sync::atomic::{AtomicBool, Ordering};
use ordain::sync::{Arc, Condvar, Mutex};
use ordain::thread;

pub(super) fn program() {
    let ready = Arc::new(AtomicBool::new(false));
    let bell = Arc::new((Mutex::new(()), Condvar::new()));
    let worker = {
        let (ready, bell) = (ready.clone(), bell.clone());
        thread::spawn(move || {
            if !ready.load(Ordering::SeqCst) {
                let guard = bell.0.lock().expect("not poisoned");
                let _guard = bell.1.wait(guard).expect("not poisoned");
            }
        })
    };
    ready.store(true, Ordering::SeqCst);
    bell.1.notify_one();
    worker.join().expect("no panic");
}
