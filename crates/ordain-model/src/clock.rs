//! Dense vector clocks: for each thread, how much of it has happened before.

use alloc::vec::Vec;

/// One clock for each event, all of the same width, in one flat table.
#[derive(Default)]
pub struct Clocks {
    width: usize,
    table: Vec<u32>,
}

impl Clocks {
    /// Forgets all clocks and sets the number of threads.
    pub fn reset(&mut self, threads: usize) {
        self.width = threads;
        self.table.clear();
    }

    /// Number of threads.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Number of clocks.
    pub fn len(&self) -> usize {
        self.table.len().checked_div(self.width).unwrap_or(0)
    }

    /// Whether there is no clock.
    pub fn is_empty(&self) -> bool {
        self.table.is_empty()
    }

    /// Forgets all clocks but the first `len`.
    pub fn truncate(&mut self, len: usize) {
        self.table.truncate(len * self.width);
    }

    /// Adds a clock: a copy of clock `from`, or zero.
    pub fn push(&mut self, from: Option<usize>) {
        match from {
            Some(from) => self.table.extend_from_within(from * self.width..(from + 1) * self.width),
            None => self.table.resize(self.table.len() + self.width, 0),
        }
    }

    /// The clock of an event.
    #[inline]
    pub fn get(&self, event: usize) -> &[u32] {
        &self.table[event * self.width..(event + 1) * self.width]
    }

    /// What an event's clock says of a thread.
    #[inline]
    pub fn at(&self, event: usize, thread: usize) -> u32 {
        self.table[event * self.width + thread]
    }

    /// Sets what an event's clock says of a thread.
    #[inline]
    pub fn set(&mut self, event: usize, thread: usize, value: u32) {
        self.table[event * self.width + thread] = value;
    }

    /// Takes the maximum of the last clock and that of an earlier event into the last clock.
    #[inline]
    pub fn join_last(&mut self, earlier: usize) {
        let split = self.table.len() - self.width;
        let (old, last) = self.table.split_at_mut(split);
        let from = &old[earlier * self.width..(earlier + 1) * self.width];
        join(last, from);
    }
}

/// Takes the pointwise maximum into `into`.
#[inline]
pub fn join(into: &mut [u32], from: &[u32]) {
    for (a, b) in into.iter_mut().zip(from) {
        *a = (*a).max(*b);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_join_pointwise() {
        let mut clocks = Clocks::default();
        clocks.reset(3);
        clocks.push(None);
        clocks.set(0, 0, 5);
        clocks.push(None);
        clocks.set(1, 2, 7);
        clocks.join_last(0);
        assert_eq!(clocks.get(1), [5, 0, 7]);
        clocks.push(Some(1));
        assert_eq!(clocks.get(2), [5, 0, 7]);
        clocks.truncate(1);
        assert_eq!(clocks.len(), 1);
    }
}
