//! One thread writes a message and raises a flag, the other waits for the flag and reads. The flag is relaxed.

use ordain::cell::UnsafeCell;
use ordain::sync::Arc;
use ordain::sync::atomic::{AtomicBool, Ordering};
use ordain::{hint, thread};

struct Letter {
    message: UnsafeCell<u32>,
    written: AtomicBool,
}

// SAFETY: wrong on purpose. It would be right if `written` ordered the accesses to `message`.
unsafe impl Sync for Letter {}

pub(super) fn program() {
    let letter = Arc::new(Letter { message: UnsafeCell::new(0), written: AtomicBool::new(false) });
    let writer = {
        let letter = letter.clone();
        thread::spawn(move || {
            // SAFETY: all threads of a check take turns on one OS thread, so the race is found, not suffered.
            letter.message.with_mut(|message| unsafe { *message = 42 });
            letter.written.store(true, Ordering::Relaxed);
        })
    };
    while !letter.written.load(Ordering::Relaxed) {
        hint::spin_loop();
    }
    // SAFETY: as above.
    let message = letter.message.with(|message| unsafe { *message });
    assert_eq!(message, 42);
    writer.join().expect("no panic");
}
