//! Two polite threads: each says that it wants to go, and waits as long as the other one wants to go, too.

use ordain::sync::Arc;
use ordain::sync::atomic::{AtomicBool, Ordering};
use ordain::thread;

fn go(mine: &AtomicBool, other: &AtomicBool) {
    mine.store(true, Ordering::SeqCst);
    while other.load(Ordering::SeqCst) {
        thread::yield_now();
    }
    mine.store(false, Ordering::SeqCst);
}

pub(super) fn program() {
    let wants = Arc::new([AtomicBool::new(false), AtomicBool::new(false)]);
    let other = {
        let wants = wants.clone();
        thread::spawn(move || go(&wants[1], &wants[0]))
    };
    go(&wants[0], &wants[1]);
    other.join().expect("no panic");
}
