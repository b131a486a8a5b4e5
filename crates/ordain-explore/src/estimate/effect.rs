//! What a step writes: always the same, something more than was there, or something more than the thread saw last.
//!
//! Programs decide what they write, and say so only when they do. Which of the three it is shows when it has been seen a few times.

use ordain_model::Operation;

/// One write.
#[derive(Clone, Copy)]
pub(super) struct Change {
    pub(super) before: u64,
    /// What the thread saw in the step before.
    pub(super) seen: u64,
    pub(super) after: u64,
}

/// What a step writes, as far as it is known.
#[derive(Clone, Copy, Default)]
pub(super) struct Effect {
    /// What it wrote the last time.
    value: u64,
    /// By how much that differed from what was there.
    change: u64,
    /// By how much from what the thread had seen.
    offset: u64,
    /// How often each of them was the same as the time before.
    values: u32,
    changes: u32,
    offsets: u32,
    times: u32,
}

impl Effect {
    /// What one write shows.
    pub(super) fn first(change: Change, op: &Operation) -> Self {
        let mut effect = Self::default();
        effect.learn(change);
        // Updates change what is there, as a rule.
        effect.changes = u32::from(matches!(op, Operation::Update { .. }));
        effect
    }

    /// Learns from a write.
    pub(super) fn learn(&mut self, change: Change) {
        let now = (change.after, change.after.wrapping_sub(change.before), change.after.wrapping_sub(change.seen));
        if self.times > 0 {
            self.values += u32::from(self.value == now.0);
            self.changes += u32::from(self.change == now.1);
            self.offsets += u32::from(self.offset == now.2);
        }
        (self.value, self.change, self.offset) = now;
        self.times += 1;
    }

    /// Whether one of the three has always been the same.
    pub(super) fn is_law(&self) -> bool {
        self.times > 1 && self.values.max(self.changes).max(self.offsets) == self.times - 1
    }

    /// The word that follows `word`, by what has been the same most often.
    pub(super) fn on(&self, word: u64, seen: Option<u64>) -> u64 {
        match seen {
            Some(seen) if self.offsets > self.values.max(self.changes) => seen.wrapping_add(self.offset),
            _ if self.changes > self.values => word.wrapping_add(self.change),
            _ => self.value,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What follows the word 50, seen 7, after writes of `after` to `before` by a thread that had seen `seen`.
    fn learned(writes: [(u64, u64, u64); 3]) -> u64 {
        let mut effect = Effect::default();
        for (before, seen, after) in writes {
            effect.learn(Change { before, seen, after });
        }
        assert!(effect.is_law());
        effect.on(50, Some(7))
    }

    #[test]
    fn constants_changes_and_copies_are_told_apart() {
        assert_eq!(learned([(1, 2, 9), (2, 5, 9), (3, 1, 9)]), 9);
        assert_eq!(learned([(1, 2, 3), (2, 5, 4), (6, 1, 8)]), 52);
        assert_eq!(learned([(1, 2, 3), (2, 5, 6), (6, 1, 2)]), 8);
    }
}
