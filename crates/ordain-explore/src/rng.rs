//! Random numbers that are the same for the same seed everywhere.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng as _};

/// A seeded stream of random numbers.
pub(crate) struct Rng(Xoshiro256PlusPlus);

impl Rng {
    /// The stream number `stream` of a seed: executions of one exploration have one each.
    pub(crate) fn new(seed: u64, stream: u64) -> Self {
        // Streams of neighbouring numbers must not be alike, so the number is spread before it is mixed in.
        let spread = stream.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
        Self(Xoshiro256PlusPlus::seed_from_u64(seed ^ spread))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number below `n`.
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(n)) >> 64) as u64
    }
}
