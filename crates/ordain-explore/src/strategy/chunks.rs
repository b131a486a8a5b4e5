//! Samples in chunks: each chunk has a seed of its own and begins with nothing learned, so it is the same whoever draws it.
//!
//! [`Chunks`] is the sampler that draws one after the other. Several workers share a [`Deal`], which hands chunks out, and
//! whoever leads them brings what they tell into the order of one worker with [`InOrder`].

use crate::plan::Plan;
use crate::search::{Coverage, Strategy};
use crate::strategy::Kind;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::collections::vec_deque::VecDeque;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use ordain_model::Execution;

/// Samples of a chunk.
pub const CHUNK: u64 = 256;

/// The seed of a chunk, given that of the first.
fn seed_of(seed: u64, chunk: u64) -> u64 {
    seed.wrapping_add(chunk.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// A sampler that draws chunk after chunk.
pub struct Chunks {
    kind: Kind,
    seed: u64,
    depth: usize,
    chunk: u64,
    /// Samples of the present chunk that were drawn.
    drawn: u64,
    sampler: Box<dyn Strategy>,
}

impl Chunks {
    /// Begins with the chunk of this seed.
    pub(super) fn new(kind: Kind, seed: u64, depth: usize) -> Self {
        Self { kind, seed, depth, chunk: 0, drawn: 0, sampler: kind.make_plain(seed, depth) }
    }
}

impl Strategy for Chunks {
    fn plan(&mut self) -> Option<Plan<'_>> {
        if self.drawn == CHUNK {
            (self.chunk, self.drawn) = (self.chunk + 1, 0);
            self.sampler = self.kind.make_plain(seed_of(self.seed, self.chunk), self.depth);
        }
        let plan = self.sampler.plan()?;
        Some(if self.drawn == 0 { plan.anew() } else { plan })
    }

    fn learn(&mut self, execution: &Execution) {
        self.drawn += 1;
        self.sampler.learn(execution);
    }

    fn restart(&mut self) {
        self.drawn += 1;
        self.sampler.restart();
    }

    fn coverage(&self) -> Coverage {
        Coverage::Samples
    }
}

/// Samples that one worker draws.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Its number, from zero.
    pub number: u64,
    /// The seed with which a strategy begins that draws it.
    pub seed: u64,
    /// How many samples it has.
    pub samples: u64,
}

/// Hands out chunks to workers, in order.
#[derive(Debug)]
pub struct Deal {
    seed: u64,
    /// Samples in all.
    most: u64,
    next: AtomicU64,
    /// The last chunk that matters.
    last: AtomicU64,
}

impl Deal {
    /// All chunks of a seed, up to so many samples.
    pub fn new(seed: u64, most: u64) -> Self {
        Self { seed, most, next: AtomicU64::new(0), last: AtomicU64::new(u64::MAX) }
    }

    /// The next chunk; `None` if there is none, or none that matters.
    pub fn next(&self) -> Option<Chunk> {
        let number = self.next.fetch_add(1, Relaxed);
        let first = number.saturating_mul(CHUNK);
        let due = first < self.most && self.matters(number);
        due.then(|| Chunk { number, seed: seed_of(self.seed, number), samples: CHUNK.min(self.most - first) })
    }

    /// One worker would not have gone beyond this chunk.
    pub fn end_with(&self, number: u64) {
        self.last.fetch_min(number, Relaxed);
    }

    /// Whether one worker would have come to this chunk, as far as is known.
    pub fn matters(&self, number: u64) -> bool {
        number <= self.last.load(Relaxed)
    }
}

/// What workers tell of their chunks, in the order in which one worker would have told it.
#[derive(Debug)]
pub struct InOrder<T> {
    /// Of each chunk what was told, and whether that is all.
    chunks: BTreeMap<u64, (VecDeque<T>, bool)>,
    next: u64,
}

impl<T> Default for InOrder<T> {
    fn default() -> Self {
        Self { chunks: BTreeMap::new(), next: 0 }
    }
}

impl<T> InOrder<T> {
    /// Something was told of a chunk.
    pub fn tell(&mut self, chunk: u64, what: T) {
        self.chunks.entry(chunk).or_default().0.push_back(what);
    }

    /// A chunk is begun again: of what was told, only this counts.
    pub fn begin_again(&mut self, chunk: u64, counts: impl Fn(&T) -> bool) {
        self.chunks.entry(chunk).or_default().0.retain(|what| counts(what));
    }

    /// All was told of a chunk.
    pub fn complete(&mut self, chunk: u64) {
        self.chunks.entry(chunk).or_default().1 = true;
    }

    /// The next thing that was told, if all was told of the chunks before it and of its own.
    pub fn take(&mut self) -> Option<T> {
        loop {
            let mut entry = self.chunks.first_entry().filter(|entry| *entry.key() == self.next && entry.get().1)?;
            if let Some(what) = entry.get_mut().0.pop_front() {
                return Some(what);
            }
            entry.remove();
            self.next += 1;
        }
    }

    /// What is left when nobody tells any more, in order.
    pub fn rest(self) -> impl Iterator<Item = T> {
        self.chunks.into_values().flat_map(|(told, _)| told)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn chunks_add_up_to_what_is_allowed() {
        for most in [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 10 * CHUNK + 7] {
            let deal = Deal::new(4, most);
            let dealt: Vec<Chunk> = core::iter::from_fn(|| deal.next()).collect();
            assert_eq!(dealt.iter().map(|c| c.samples).sum::<u64>(), most);
            assert!(dealt.first().is_none_or(|c| c.seed == 4), "the first chunk has the seed that was given");
        }
    }

    #[test]
    fn chunks_behind_the_last_are_not_dealt() {
        let deal = Deal::new(0, u64::MAX);
        assert_eq!(deal.next().map(|c| c.number), Some(0));
        deal.end_with(1);
        deal.end_with(3);
        assert_eq!(deal.next().map(|c| c.number), Some(1));
        assert_eq!(deal.next(), None);
        assert!(deal.matters(1) && !deal.matters(2));
    }

    #[test]
    fn what_is_told_in_any_order_comes_in_order() {
        let mut told = InOrder::default();
        told.tell(1, "second");
        told.complete(1);
        assert_eq!(told.take(), None);
        told.tell(0, "in vain");
        told.tell(0, "lost");
        told.begin_again(0, |what| *what == "lost");
        told.tell(0, "first");
        assert_eq!(told.take(), None, "the chunk may be begun again");
        told.complete(0);
        assert_eq!(
            [told.take(), told.take(), told.take(), told.take()],
            [Some("lost"), Some("first"), Some("second"), None]
        );
        told.tell(4, "late");
        told.tell(3, "early");
        told.complete(4);
        assert_eq!(told.take(), None);
        assert_eq!(told.rest().collect::<Vec<_>>(), ["early", "late"]);
    }
}
