//! Two threads count. Each reads the counter, adds one, and writes it back.

use ordain::sync::Arc;
use ordain::sync::atomic::{AtomicUsize, Ordering};
use ordain::thread;

fn count(counter: &AtomicUsize) {
    let seen = counter.load(Ordering::SeqCst);
    counter.store(seen + 1, Ordering::SeqCst);
}

pub(super) fn program() {
    let counter = Arc::new(AtomicUsize::new(0));
    let other = {
        let counter = counter.clone();
        thread::spawn(move || count(&counter))
    };
    count(&counter);
    other.join().expect("no panic");
    assert_eq!(counter.load(Ordering::SeqCst), 2, "a count was lost");
}
