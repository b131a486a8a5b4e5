//! Footprints: which objects an operation touches, each read or written.
//!
//! Two operations are *dependent* if they touch a common object and one writes it. "Read" means that the accesses of
//! several threads commute with each other: plain reading, but also taking a read lock or dropping one of many senders.
//! Giving up a share commutes with giving up others unless that decides whose is the last. Happens-before knows nothing of it: the last one
//! writes. But who has not given up a share yet, and would have the last one from now on, depends on who gives up the last but one.

use crate::names::ObjectId;
use smallvec::SmallVec;

/// Low bits of an access that writes.
const WRITE: u32 = 1;
/// Bit of an access that gives up a share which is not the last; the bit below it says that one is left then.
const GIVE_UP: u32 = 2;

/// An object, read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Access(u32);

impl Access {
    /// Depends on everything: the step of a thread that went on only because nobody else could.
    pub const EVERYTHING: Self = Self(!3 | WRITE);

    /// An access that commutes with other reads.
    pub fn read(object: ObjectId) -> Self {
        Self(object.0 << 2)
    }

    /// An access that commutes with no other.
    pub fn write(object: ObjectId) -> Self {
        Self(object.0 << 2 | WRITE)
    }

    /// Gives up one of several shares in an object, of which so many are left then.
    pub fn give_up(object: ObjectId, left: u64) -> Self {
        match left {
            0 => Self::write(object),
            1 => Self(object.0 << 2 | GIVE_UP | 1),
            _ => Self(object.0 << 2 | GIVE_UP),
        }
    }

    /// The same with another object.
    pub fn with_object(self, object: ObjectId) -> Self {
        Self(object.0 << 2 | self.0 & 3)
    }

    /// The object.
    pub fn object(self) -> ObjectId {
        ObjectId(self.0 >> 2)
    }

    /// Whether it writes.
    pub fn is_write(self) -> bool {
        self.0 & 3 == WRITE
    }

    /// Whether the two do not commute.
    pub fn conflicts(self, other: Self) -> bool {
        let decides = || self.0 & other.0 & GIVE_UP != 0 && (self.0 | other.0) & 1 == 1;
        self.0 >> 2 == other.0 >> 2 && (self.is_write() || other.is_write() || decides())
    }

    /// Whether a step with this access matters to an operation that waits with the other: see [`affects`].
    fn affects(self, waiting: Self) -> bool {
        let decides = || waiting.0 & GIVE_UP != 0 && self.0 & 3 == GIVE_UP | 1;
        self.0 >> 2 == waiting.0 >> 2 && (self.is_write() || waiting.is_write() || decides())
    }
}

/// The accesses of one operation.
pub type Footprint = SmallVec<[Access; 4]>;

/// Whether operations of different threads with these footprints are dependent.
#[inline]
pub fn dependent(a: &[Access], b: &[Access]) -> bool {
    if a.first() == Some(&Access::EVERYTHING) || b.first() == Some(&Access::EVERYTHING) {
        return true;
    }
    a.iter().any(|x| b.iter().any(|y| x.conflicts(*y)))
}

/// Whether a step matters to an operation that another thread could have executed before it, and executes later. As many shares are left
/// whichever of the two gives one up first, and only the step's footprint tells how many: that of the other was made somewhere else.
#[inline]
pub fn affects(step: &[Access], waiting: &[Access]) -> bool {
    if step.first() == Some(&Access::EVERYTHING) || waiting.first() == Some(&Access::EVERYTHING) {
        return true;
    }
    step.iter().any(|x| waiting.iter().any(|y| x.affects(*y)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_commute_and_writes_do_not() {
        let (x, y) = (ObjectId(3), ObjectId(4));
        assert!(!dependent(&[Access::read(x)], &[Access::read(x)]));
        assert!(dependent(&[Access::read(x)], &[Access::write(x)]));
        assert!(dependent(&[Access::write(x)], &[Access::write(x)]));
        assert!(!dependent(&[Access::write(x)], &[Access::write(y)]));
        assert!(dependent(&[Access::EVERYTHING], &[]));
    }

    #[test]
    fn giving_up_shares_commutes_unless_one_is_left() {
        let x = ObjectId(3);
        let [last, second, many] = [0, 1, 2].map(|left| [Access::give_up(x, left)]);
        assert!(!dependent(&many, &many) && dependent(&many, &second) && dependent(&second, &second));
        assert!(last[0].is_write() && dependent(&last, &many) && dependent(&last, &[Access::read(x)]));
        assert!(!dependent(&second, &[Access::read(x)]) && !second[0].is_write());
        assert_eq!(second[0].with_object(ObjectId(4)), Access::give_up(ObjectId(4), 1));
        assert!(affects(&second, &many) && !affects(&many, &second) && affects(&many, &last));
        assert!(!affects(&second, &[Access::read(x)]) && affects(&last, &[Access::read(x)]));
    }
}
