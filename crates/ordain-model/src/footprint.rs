//! Footprints: which objects an operation touches, each read or written.
//!
//! Two operations are *dependent* if they touch a common object and one writes it. "Read" means that the accesses of
//! several threads commute with each other: plain reading, but also taking a read lock or dropping one of many senders.

use crate::names::ObjectId;
use smallvec::SmallVec;

/// An object, read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Access(u32);

impl Access {
    /// Depends on everything: the step of a thread that went on only because nobody else could.
    pub const EVERYTHING: Self = Self(u32::MAX);

    /// An access that commutes with other reads.
    pub fn read(object: ObjectId) -> Self {
        Self(object.0 << 1)
    }

    /// An access that commutes with no other.
    pub fn write(object: ObjectId) -> Self {
        Self(object.0 << 1 | 1)
    }

    /// The object.
    pub fn object(self) -> ObjectId {
        ObjectId(self.0 >> 1)
    }

    /// Whether it writes.
    pub fn is_write(self) -> bool {
        self.0 & 1 == 1
    }

    /// Whether the two do not commute.
    pub fn conflicts(self, other: Self) -> bool {
        self.0 >> 1 == other.0 >> 1 && (self.0 | other.0) & 1 == 1
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
}
