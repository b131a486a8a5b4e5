//! Laws: what a thread does at places it has hardly been to, by what it did at similar ones.
//!
//! The rounds of a loop are different locations, and each has to be seen in all circumstances before it is known. But they are *kin*: the thread
//! has come from the same step of the source. If what kin do follows from what the thread has seen, wherever that could be checked, it is taken
//! for a law, and a location expects what the law says where it has no experience of its own. One exception breaks a law for good.

use super::sketch::Place;
use crate::hash::{Map, mix, mix_text};
use alloc::vec::Vec;
use ordain_model::{Operation, Outcome, Site, ThreadId};

/// The number of a family of locations.
pub(super) type Family = u32;
/// A location without kin.
pub(super) const NONE: Family = Family::MAX;
/// What laws may go by: the values that the thread saw, or only whether somebody had changed them.
pub(super) const LAWS: usize = 2;
/// More cases are not remembered.
const MOST_CASES: usize = 100_000;

/// Locations that a thread reaches by the same step of the source, with the same outcome.
#[derive(Default)]
pub(super) struct Kin {
    pub(super) places: Vec<Place>,
    broken: [bool; LAWS],
    /// What was done in the same case at more than one of them.
    pub(super) confirmed: Vec<u64>,
}

/// What was done in one case.
struct Case {
    reaction: u64,
    /// Where it was met first, and whether also elsewhere.
    place: Place,
    confirmed: bool,
}

/// All families and their laws.
#[derive(Default)]
pub(super) struct Laws {
    pub(super) families: Vec<Kin>,
    numbers: Map<Family>,
    cases: Map<Case>,
}

impl Laws {
    /// Adds a location behind a step to its family.
    pub(super) fn join(
        &mut self,
        place: Place,
        thread: ThreadId,
        op: &Operation,
        site: Site,
        outcome: Outcome,
    ) -> Family {
        // Where the program does not say where it is, nobody knows who is kin.
        if site.0 == 0 {
            return NONE;
        }
        let outcome = if outcome.message().is_some() { 0 } else { outcome.0 };
        let key = mix(mix(reaction(op, site), outcome), u64::from(thread.0));
        let families = &mut self.families;
        let family = *self.numbers.entry(key).or_insert_with(|| {
            families.push(Kin::default());
            families.len() as Family - 1
        });
        families[family as usize].places.push(place);
        family
    }

    /// Notes what a thread did at a location; true if that breaks a law.
    pub(super) fn note(&mut self, family: Family, place: Place, seen: [u64; LAWS], reaction: u64) -> bool {
        let Some(kin) = self.families.get_mut(family as usize) else { return false };
        let before = kin.broken;
        for (law, seen) in seen.into_iter().enumerate() {
            if kin.broken[law] {
                continue;
            }
            let key = case(family, law, seen);
            if let Some(case) = self.cases.get_mut(&key) {
                kin.broken[law] = case.reaction != reaction;
                case.confirmed |= case.place != place;
                if case.confirmed && !kin.confirmed.contains(&reaction) {
                    kin.confirmed.push(reaction);
                }
            } else if self.cases.len() < MOST_CASES {
                self.cases.insert(key, Case { reaction, place, confirmed: false });
            }
        }
        before != kin.broken
    }

    /// What a law says that a thread does.
    pub(super) fn say(&self, family: Family, law: usize, seen: u64) -> Option<u64> {
        if self.is_broken(family, law) {
            return None;
        }
        self.cases.get(&case(family, law, seen)).filter(|case| case.confirmed).map(|case| case.reaction)
    }

    /// Whether there was an exception from a law, or cannot be a law.
    pub(super) fn is_broken(&self, family: Family, law: usize) -> bool {
        self.families.get(family as usize).is_none_or(|kin| kin.broken[law])
    }

    /// Whether a family has a law.
    pub(super) fn is_lawful(kin: &Kin) -> bool {
        kin.places.len() > 1 && kin.broken.iter().any(|broken| !broken)
    }
}

/// The key of a case.
fn case(family: Family, law: usize, seen: u64) -> u64 {
    mix(mix(u64::from(family), law as u64), seen)
}

/// What laws tell apart of what a thread does: the step of the source, whatever it works on.
pub(super) fn reaction(op: &Operation, site: Site) -> u64 {
    mix_text(site.0, op.verb())
}

#[cfg(test)]
mod tests {
    use super::*;

    const END: u64 = 1;
    const ROUND: u64 = 2;

    /// The laws of a loop with three locations.
    fn family() -> (Laws, Family) {
        let mut laws = Laws::default();
        let join = |place| laws.join(place, ThreadId::MAIN, &Operation::Yield, Site(5), Outcome::DONE);
        let [family, ..] = [0, 1, 2].map(join);
        (laws, family)
    }

    #[test]
    fn what_two_locations_show_is_a_law_for_all() {
        let (mut laws, family) = family();
        laws.note(family, 0, [7, 1], ROUND);
        assert_eq!(laws.say(family, 0, 7), None);
        laws.note(family, 1, [7, 1], ROUND);
        assert_eq!(laws.say(family, 0, 7), Some(ROUND));
        assert_eq!(laws.say(family, 0, 8), None);
    }

    #[test]
    fn an_exception_breaks_only_its_law() {
        let (mut laws, family) = family();
        for (place, seen, reaction) in [(0, 7, ROUND), (1, 7, ROUND), (1, 8, END), (2, 8, END)] {
            laws.note(family, place, [seen, 1], reaction);
        }
        assert_eq!([laws.say(family, 0, 7), laws.say(family, 0, 8)], [Some(ROUND), Some(END)]);
        assert_eq!(laws.say(family, 1, 1), None);
    }
}
