//! Who has used which memory: a hash table of a fixed size over granules of eight bytes.

use crate::random::mix;
use crate::sys;
use alloc::vec::Vec;

/// Room for so many uses: more than breakpoints are reached, each of which may touch two granules.
const ROOM: usize = 1 << 18;
/// How many places are looked at for one use.
const MOST_PROBES: usize = 256;

/// A use of some bytes of a granule by a thread.
#[derive(Clone, Copy)]
#[repr(C)]
struct Use {
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
pub enum Seen {
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
    uses: &'static mut [Use],
    /// Places that are taken: few, so that looking at all uses is quick.
    taken: Vec<u32>,
}

impl Table {
    /// An empty table.
    pub fn new() -> Option<Self> {
        let at = sys::map_shared(ROOM * size_of::<Use>()) as *mut Use;
        // SAFETY: new memory of that size, all zero.
        let uses = (!at.is_null()).then(|| unsafe { core::slice::from_raw_parts_mut(at, ROOM) });
        uses.map(|uses| Self { uses, taken: Vec::new() })
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
    ) -> Seen {
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
                return Seen::Shared { thread: used.thread, site: used.site, calls: used.calls };
            }
        }
        match own.or(free) {
            Some(at) => {
                if self.uses[at].granule == 0 {
                    self.taken.push(at as u32);
                }
                let mask = if own.is_some() { self.uses[at].mask } else { mask };
                self.uses[at] = Use { granule, thread, clock, site, mask, calls };
                if own.is_some() { Seen::Again } else { Seen::New }
            }
            None => Seen::NoRoom,
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
