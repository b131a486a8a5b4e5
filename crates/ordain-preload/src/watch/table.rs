//! Who has used which memory: a hash table of a fixed size over granules of eight bytes.

use crate::hash::mix;
use alloc::vec::Vec;

/// Room for so many uses: more than breakpoints are reached, each of which may touch two granules.
pub const ROOM: usize = 1 << 18;
/// How many places are looked at for one use.
const MOST_PROBES: usize = 256;

/// A use of some bytes of a granule by a thread.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Use {
    /// The number of the granule, or zero.
    granule: u64,
    thread: u32,
    /// The thread's time.
    clock: u32,
    /// Where the instruction is.
    site: u64,
    /// Its bytes; none if it was forgotten.
    mask: u32,
    /// Calls that led to it.
    calls: [u64; 3],
}

/// What a use comes to.
pub enum UseResult {
    /// Nobody has used it yet, but for threads that are known.
    New,
    /// The same thread has used it before.
    Again,
    /// Another thread has used it, at an instruction.
    Shared {
        /// The other thread.
        thread: u32,
        /// Where its instruction is.
        site: u64,
        /// Calls that led to it.
        calls: [u64; 3],
    },
    /// There is no room to take it down.
    NoRoom,
}

/// The table.
pub struct Table {
    uses: &'static mut [Use; ROOM],
    /// Places that are taken: few, so that looking at all uses is quick.
    taken: Vec<u32>,
}

impl Table {
    /// An empty table in memory that is all zero.
    pub fn new(uses: &'static mut [Use; ROOM]) -> Self {
        Self { uses, taken: Vec::new() }
    }

    /// Takes down that a thread uses bytes of a granule, at its time and at an instruction. `knows` whether it knows what another one had
    /// done by some time.
    pub fn note(
        &mut self,
        granule: u64,
        mask: u8,
        (thread, clock, site): (u32, u32, u64),
        calls: [u64; 3],
        knows: impl Fn(u32, u32) -> bool,
    ) -> UseResult {
        let mask = u32::from(mask);
        let (mut free, mut own) = (None, None);
        for at in places(granule) {
            let used = self.uses[at];
            if used.mask == 0 {
                free = free.or(Some(at));
            }
            if used.granule == 0 {
                break;
            }
            if used.granule != granule || used.mask == 0 {
                continue;
            }
            if used.thread == thread {
                if used.mask & mask == mask {
                    own = Some(at);
                }
            } else if used.mask & mask != 0 && !knows(used.thread, used.clock) {
                return UseResult::Shared { thread: used.thread, site: used.site, calls: used.calls };
            }
        }
        match own.or(free) {
            Some(at) => {
                if self.uses[at].granule == 0 {
                    self.taken.push(at as u32);
                }
                let mask = if own.is_some() { self.uses[at].mask } else { mask };
                self.uses[at] = Use { granule, thread, clock, site, mask, calls };
                if own.is_some() { UseResult::Again } else { UseResult::New }
            }
            None => UseResult::NoRoom,
        }
    }

    /// Forgets all uses of memory.
    pub fn forget(&mut self, low: u64, length: u64) {
        let (first, last) = (low >> 3, low.saturating_add(length).saturating_sub(1) >> 3);
        if length == 0 {
            return;
        }
        if last - first >= self.taken.len() as u64 {
            for at in &self.taken {
                let used = &mut self.uses[*at as usize];
                if (first..=last).contains(&used.granule) {
                    used.mask = 0;
                }
            }
            return;
        }
        for granule in first..=last {
            for at in places(granule) {
                match self.uses[at].granule {
                    0 => break,
                    other if other == granule => self.uses[at].mask = 0,
                    _ => {}
                }
            }
        }
    }
}

/// Where uses of a granule may be.
fn places(granule: u64) -> impl Iterator<Item = usize> {
    let first = mix(granule) as usize;
    (0..MOST_PROBES).map(move |i| (first + i) % ROOM)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let uses = vec![Use { granule: 0, thread: 0, clock: 0, site: 0, mask: 0, calls: [0; 3] }; ROOM];
        let uses = uses.leak().try_into().expect("there are so many");
        Table::new(uses)
    }

    /// Notes a use at time 1 by a thread that knows nothing of others.
    fn note(table: &mut Table, granule: u64, mask: u8, thread: u32) -> UseResult {
        table.note(granule, mask, (thread, 1, 0x1000 + u64::from(thread)), [thread.into(); 3], |_, _| false)
    }

    #[test]
    fn two_threads_share_the_bytes_that_both_use() {
        let mut table = table();
        assert!(matches!(note(&mut table, 5, 0b0011, 1), UseResult::New));
        assert!(matches!(note(&mut table, 5, 0b0001, 1), UseResult::Again));
        // Other bytes, and another granule.
        assert!(matches!(note(&mut table, 5, 0b1100, 2), UseResult::New));
        assert!(matches!(note(&mut table, 6, 0b0011, 2), UseResult::New));
        let seen = note(&mut table, 5, 0b0110, 2);
        assert!(matches!(seen, UseResult::Shared { thread: 1, site: 0x1001, calls: [1, 1, 1] }));
    }

    #[test]
    fn uses_that_are_known_are_not_shared() {
        let mut table = table();
        table.note(9, 0xff, (1, 7, 1), [0; 3], |_, _| false);
        let knows_until = |time| move |thread: u32, clock: u32| (thread, clock) <= (1, time);
        assert!(matches!(table.note(9, 1, (2, 1, 2), [0; 3], knows_until(7)), UseResult::New));
        assert!(matches!(table.note(9, 1, (3, 1, 3), [0; 3], knows_until(6)), UseResult::Shared { thread: 1, .. }));
    }

    #[test]
    fn freed_memory_is_forgotten() {
        for length in [1, 8, 64, 1 << 40] {
            let mut table = table();
            note(&mut table, 0x100 >> 3, 1, 1);
            note(&mut table, 0xf8 >> 3, 1, 1);
            table.forget(0x100, length);
            assert!(matches!(note(&mut table, 0x100 >> 3, 1, 2), UseResult::New), "{length}");
            assert!(matches!(note(&mut table, 0xf8 >> 3, 1, 2), UseResult::Shared { .. }), "{length}");
        }
    }

    #[test]
    fn nothing_is_forgotten_where_nothing_was_freed() {
        let mut table = table();
        note(&mut table, 0, 1, 1);
        note(&mut table, 4, 1, 1);
        table.forget(0, 0);
        table.forget(32, 0);
        assert!(matches!(note(&mut table, 4, 1, 2), UseResult::Shared { .. }));
        table.forget(u64::MAX, u64::MAX);
        assert!(matches!(note(&mut table, 4, 1, 2), UseResult::Shared { .. }));
    }

    #[test]
    fn a_full_table_says_so() {
        let mut table = table();
        // Uses of one granule by many threads that know of each other all look for room at the same places.
        for thread in 0..MOST_PROBES as u32 {
            assert!(matches!(table.note(3, 1, (thread, 1, 0), [0; 3], |_, _| true), UseResult::New));
        }
        assert!(matches!(table.note(3, 1, (u32::MAX, 1, 0), [0; 3], |_, _| true), UseResult::NoRoom));
    }
}
