//! A mailbox for one letter, from one thread to another, without a lock.

use ordain::cell::UnsafeCell;
use ordain::sync::atomic::{AtomicBool, Ordering};

/// Holds one letter, or nothing yet.
pub struct Mailbox {
    full: AtomicBool,
    letter: UnsafeCell<u32>,
}

// SAFETY: whoever reads the letter has seen `full`, which is set after the letter was written.
unsafe impl Sync for Mailbox {}

impl Mailbox {
    /// An empty mailbox.
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        Self { full: AtomicBool::new(false), letter: UnsafeCell::new(0) }
    }

    /// Puts the letter in. To be called once.
    pub fn send(&self, letter: u32) {
        self.letter.with_mut(|place| unsafe { *place = letter });
        self.full.store(true, Ordering::Relaxed);
    }

    /// The letter, if it is there already.
    pub fn receive(&self) -> Option<u32> {
        self.full.load(Ordering::Relaxed).then(|| self.letter.with(|place| unsafe { *place }))
    }
}

#[cfg(test)]
mod tests {
    use super::Mailbox;
    use ordain::thread;

    fn send_and_receive() {
        let mailbox = Mailbox::new();
        thread::scope(|scope| {
            scope.spawn(|| mailbox.send(42));
            if let Some(letter) = mailbox.receive() {
                assert_eq!(letter, 42);
            }
        });
        assert_eq!(mailbox.receive(), Some(42));
    }

    #[test]
    fn letters_arrive_a_thousand_times() {
        for _ in 0..1000 {
            send_and_receive();
        }
    }

    #[ordain::test]
    fn letters_arrive_under_every_schedule() {
        send_and_receive();
    }
}
