//! Hashing for tables that nobody attacks.

use core::hash::{BuildHasherDefault, Hasher};

/// A table whose keys are hashes, or numbers that follow each other.
pub(crate) type Map<T> = hashbrown::HashMap<u64, T, BuildHasherDefault<Spread>>;

/// Spreads numbers: taken as they are, those that follow each other would fill one long stretch of a table, and finding a free place would
/// take for ever.
#[derive(Default)]
pub(crate) struct Spread(u64);

impl Hasher for Spread {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = mix(self.0, u64::from(*byte));
        }
    }

    fn write_u128(&mut self, value: u128) {
        self.write_u64((value >> 64) as u64 ^ value as u64);
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = value.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

/// Mixes a value into a hash.
#[inline]
pub(crate) fn mix(hash: u64, value: u64) -> u64 {
    let product =
        u128::from(hash ^ 0x9e37_79b9_7f4a_7c15) * u128::from(value ^ 0xd6e8_feb8_6659_fd93 ^ hash.rotate_left(32));
    (product >> 64) as u64 ^ product as u64 ^ value.rotate_left(17)
}

/// Mixes a word into a hash, several letters at a time.
pub(crate) fn mix_text(hash: u64, text: &str) -> u64 {
    text.as_bytes()
        .chunks(8)
        .fold(hash, |hash, piece| mix(hash, piece.iter().fold(0, |letters, letter| letters << 8 | u64::from(*letter))))
}
