//! What may still be touched, as small sets: enough to tell that nothing that follows depends on a step.

use ordain_model::{Access, ObjectId, ThreadId};

/// Which objects may be touched, by a hash of their numbers.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Touched {
    read: [u64; 4],
    written: [u64; 4],
    /// Whether the program may be ended.
    ends: bool,
    /// Threads that have been waited for by then, in any case.
    pub(super) joined: u64,
}

impl Touched {
    pub(super) fn add(&mut self, access: Access) {
        if access == Access::EVERYTHING {
            (self.ends, self.joined) = (true, 0);
            return;
        }
        let (word, bit) = spot(access.object());
        let set = if access.is_write() { &mut self.written } else { &mut self.read };
        set[word] |= bit;
    }

    pub(super) fn unite(&mut self, other: &Self) {
        for i in 0..4 {
            self.read[i] |= other.read[i];
            self.written[i] |= other.written[i];
        }
        self.joined = match (self.ends, other.ends) {
            (true, true) => self.joined & other.joined,
            (true, false) => self.joined,
            (false, _) => other.joined,
        };
        self.ends |= other.ends;
    }

    /// Whether the program may be ended before a thread is waited for.
    pub(super) fn ends_before(&self, thread: ThreadId) -> bool {
        self.ends && (thread.0 >= 64 || self.joined >> thread.0 & 1 == 0)
    }

    /// Whether a step of a thread may depend on what is touched.
    pub(super) fn meets(&self, thread: ThreadId, footprint: &[Access]) -> bool {
        self.ends_before(thread)
            || footprint.iter().any(|access| {
                if *access == Access::EVERYTHING {
                    return true;
                }
                let (word, bit) = spot(access.object());
                self.written[word] & bit != 0 || access.is_write() && self.read[word] & bit != 0
            })
    }
}

fn spot(object: ObjectId) -> (usize, u64) {
    let place = object.0 as usize % 256;
    (place / 64, 1 << (place % 64))
}
