//! Whether a thread that is led instruction by instruction goes round: it comes to the same state again and again, by the same way.

use crate::hash::mix;

/// How often a thread must go the same way to be taken to wait.
const ROUNDS: u32 = 3;

/// What is known of the way of a thread.
pub struct Rounds {
    /// How many instructions are left.
    left: u32,
    /// A state that it was in, how many instructions ago, and after how many another one is remembered.
    state: u64,
    length: u32,
    renewal: u32,
    /// The way since then, and the last way that ended where it began.
    way: u64,
    last: (u32, u64),
    rounds: u32,
    /// The lowest address of an instruction on that way.
    lowest: u64,
}

impl Rounds {
    /// For a thread that is in a state, for at most so many instructions.
    pub fn new(state: u64, left: u32) -> Self {
        // It has gone round for long, so it is likely to come back to where it is.
        Self { left, state, length: 0, renewal: left / 4, way: 0, last: (0, 0), rounds: 0, lowest: u64::MAX }
    }

    /// How many instructions are left.
    pub fn left(&self) -> u32 {
        self.left
    }

    /// The lowest address of an instruction on the way round.
    pub fn lowest(&self) -> u64 {
        self.lowest
    }

    /// Takes note of the state behind an instruction, and where the next one is; true if the thread is found to go round.
    pub fn go_on(&mut self, state: u64, rip: u64) -> bool {
        self.left -= 1;
        self.length += 1;
        self.way = mix(self.way ^ state);
        self.lowest = self.lowest.min(rip);
        if state == self.state {
            let round = (self.length, self.way);
            self.rounds = if round == self.last { self.rounds + 1 } else { 1 };
            (self.last, self.length, self.way) = (round, 0, 0);
            return self.rounds >= ROUNDS;
        }
        if self.length == self.renewal {
            // Another state, and twice as long: whichever way it goes, it comes back to one of these (Brent).
            (self.state, self.length, self.way, self.rounds, self.lowest) = (state, 0, 0, 0, u64::MAX);
            self.renewal *= 2;
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Leads a thread whose states are these; gives after how many instructions it is found to go round.
    fn lead(rounds: &mut Rounds, states: impl IntoIterator<Item = u64>) -> Option<usize> {
        let most = rounds.left() as usize;
        let mut states = states.into_iter().take(most);
        states.position(|state| rounds.go_on(state, 0x1000 + state)).map(|place| place + 1)
    }

    #[test]
    fn a_loop_is_found_after_three_rounds() {
        let mut rounds = Rounds::new(0, 1024);
        assert_eq!(lead(&mut rounds, (1..).map(|n| n % 5)), Some(15));
        assert_eq!(rounds.lowest(), 0x1000);
        assert_eq!(rounds.left(), 1024 - 15);
        // Of one instruction, such as a jump to itself.
        assert_eq!(lead(&mut Rounds::new(7, 1024), [7; 10]), Some(3));
    }

    /// Only what is in the loop counts for where it is.
    #[test]
    fn a_loop_is_found_behind_other_instructions() {
        let before = 1..300u64;
        let mut rounds = Rounds::new(0, 1024);
        let found = lead(&mut rounds, before.chain((0..).map(|n| 5000 + n % 7)));
        assert!(found.is_some_and(|found| found < 1024), "{found:?}");
        assert_eq!(rounds.lowest(), 0x1000 + 5000);
    }

    #[test]
    fn what_computes_does_not_go_round() {
        let mut rounds = Rounds::new(0, 1024);
        assert_eq!(lead(&mut rounds, 1..), None);
        assert_eq!(rounds.left(), 0);
    }

    /// The same state by another way: something is different in between.
    #[test]
    fn ways_must_be_the_same() {
        let states = (1..).flat_map(|n: u64| [n * 10, n * 10 + 1, 0]);
        assert_eq!(lead(&mut Rounds::new(0, 1024), states), None);
        // Rounds that alternate are not three of the same in a row.
        let states = (0..).flat_map(|n: u64| [1 + n % 2, 0]);
        assert_eq!(lead(&mut Rounds::new(0, 64), states), None);
    }

    #[test]
    fn a_loop_that_is_longer_than_it_is_led_is_not_found() {
        assert_eq!(lead(&mut Rounds::new(0, 1024), (1..).map(|n| n % 600)), None);
    }
}
