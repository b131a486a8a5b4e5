//! Which classes were explored, within bounded memory.
//!
//! Fingerprints are kept whose low bits are zero: at first all, and whenever they are too many, half of those. Of a class whose
//! fingerprint would be kept it is known whether it was explored; so if there are classes that nobody has explored, drawing enough of them
//! shows it.

use crate::hash::Spread;
use alloc::vec::Vec;
use core::hash::BuildHasherDefault;
use hashbrown::HashSet;

/// Most fingerprints that are kept.
pub const MOST_CLASSES: usize = 1 << 16;

/// The classes that were explored.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(from = "Kept", into = "Kept"))]
pub struct Classes {
    /// How many low bits are zero in those that are kept.
    bits: u32,
    kept: HashSet<u64, BuildHasherDefault<Spread>>,
}

/// The same as lists.
#[cfg(feature = "serde")]
#[derive(serde::Serialize, serde::Deserialize)]
struct Kept(u32, Vec<u64>);

#[cfg(feature = "serde")]
impl From<Kept> for Classes {
    fn from(Kept(bits, kept): Kept) -> Self {
        Self { bits: bits.min(63), kept: kept.into_iter().collect() }
    }
}

#[cfg(feature = "serde")]
impl From<Classes> for Kept {
    fn from(classes: Classes) -> Self {
        Self(classes.bits, classes.list())
    }
}

/// Whether a fingerprint has so many low bits that are zero.
pub fn has_low_zeros(fingerprint: u64, bits: u32) -> bool {
    fingerprint.trailing_zeros() >= bits
}

impl Classes {
    /// Notes an explored class by its fingerprint.
    pub fn note(&mut self, fingerprint: u64) {
        if !has_low_zeros(fingerprint, self.bits) {
            return;
        }
        self.kept.insert(fingerprint);
        while self.kept.len() > MOST_CLASSES {
            self.bits += 1;
            let bits = self.bits;
            self.kept.retain(|f| has_low_zeros(*f, bits));
        }
    }

    /// Whether it is certain that the class was not explored.
    pub fn is_unexplored(&self, fingerprint: u64) -> bool {
        has_low_zeros(fingerprint, self.bits) && !self.kept.contains(&fingerprint)
    }

    /// Forgets all of them: what was explored does not count.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// How many low bits are zero in the fingerprints that are kept.
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// The fingerprints that are kept, in order.
    pub fn list(&self) -> Vec<u64> {
        let mut list: Vec<u64> = self.kept.iter().copied().collect();
        list.sort_unstable();
        list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_noted_is_never_unexplored_and_memory_is_bounded() {
        let fingerprint = |n: u64| crate::hash::mix(n, 7);
        let mut classes = Classes::default();
        for n in 0..300_000 {
            classes.note(fingerprint(n));
        }
        assert!(classes.kept.len() <= MOST_CLASSES && classes.bits() == 3);
        assert!((0..300_000).all(|n| !classes.is_unexplored(fingerprint(n))));
        let others = (300_000..310_000).filter(|n| classes.is_unexplored(fingerprint(*n))).count();
        assert!((900..1600).contains(&others), "one in eight: {others}");
        classes.clear();
        assert!(classes.is_unexplored(fingerprint(0)));
    }
}
