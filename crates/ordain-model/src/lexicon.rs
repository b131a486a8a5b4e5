//! Names that several workers share.
//!
//! Workers that explore parts of one search give numbers to threads and objects as they meet them, each in its own order. Where their
//! results come together a [`Lexicon`] has the numbers that count: it interns what a worker has named, and gives the [`Renaming`] from the
//! worker's numbers to its own. A worker begins with the lexicon's names, so only what it has met first is renamed.

use crate::execution::Transition;
use crate::footprint::{Access, Footprint};
use crate::names::{Birth, Names, ObjectId, ObjectKind, ThreadId};
use crate::operation::Operation;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// How something got its number: the number, where it comes from, what it is.
pub type Named = (usize, Birth, ObjectKind);

/// More names than this are not taken from elsewhere.
const MOST_NAMES: usize = 1 << 26;
/// Children or objects of one thread, or parts of one object, beyond this are not taken from elsewhere.
const MOST_OF_ONE: u32 = 1 << 24;

/// Names that several workers share.
#[derive(Default)]
pub struct Lexicon {
    names: Names,
    externals: BTreeMap<(u64, u32, u8), ObjectId>,
}

impl Lexicon {
    /// The names.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// All births, in order of numbers.
    pub fn births(&self) -> Vec<Named> {
        self.names.births(0).collect()
    }

    /// Takes in what a worker has named that began with the first `base` names from here. `None` if it makes no sense.
    pub fn learn(&mut self, base: usize, births: &[Named]) -> Option<Renaming> {
        if base > self.names.object_count() || base + births.len() > MOST_NAMES {
            return None;
        }
        let threads = self.names.threads_before(base);
        let mut renaming = Renaming { base, objects: Vec::new(), threads_base: threads, threads: Vec::new() };
        for (number, birth, kind) in births {
            if *number != base + renaming.objects.len() {
                // The parts that come with an object.
                let with = matches!(birth, Birth::Part(_, n) if *n < kind.width());
                if with && *number < base + renaming.objects.len() {
                    continue;
                }
                return None;
            }
            let object = match *birth {
                Birth::Created(parent, n) if *kind == ObjectKind::Thread && n < MOST_OF_ONE => {
                    let thread = self.names.child(renaming.thread(parent)?, n);
                    renaming.threads.push(thread);
                    self.names.life(thread)
                }
                Birth::Created(thread, n) if *kind != ObjectKind::Thread && n < MOST_OF_ONE => {
                    self.names.object(renaming.thread(thread)?, n, *kind)
                }
                Birth::External { key, generation, .. } => {
                    let names = &mut self.names;
                    let known = self.externals.entry((key, generation, *kind as u8));
                    *known.or_insert_with(|| names.external(*kind, key, generation))
                }
                Birth::Part(owner, n) if n < MOST_OF_ONE => {
                    let owner = renaming.object(owner)?;
                    let width = self.names.kind(owner).width();
                    let part = self.names.part(owner, n.checked_sub(width)?);
                    renaming.objects.push(part);
                    continue;
                }
                _ => return None,
            };
            renaming.objects.extend((0..kind.width()).map(|n| object.offset(n)));
        }
        Some(renaming)
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for Lexicon {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.births().serialize(serializer)
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for Lexicon {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let births = <Vec<Named>>::deserialize(deserializer)?;
        let mut lexicon = Self::default();
        let first = lexicon.names.object_count().min(births.len());
        match lexicon.learn(first, &births[first..]) {
            Some(renaming) if renaming.is_identity() => Ok(lexicon),
            _ => Err(serde::de::Error::custom("names that make no sense")),
        }
    }
}

/// From the numbers of a worker to those of a lexicon.
pub struct Renaming {
    /// Lower numbers are the same.
    base: usize,
    objects: Vec<ObjectId>,
    threads_base: usize,
    threads: Vec<ThreadId>,
}

impl Renaming {
    /// Whether all numbers are the same.
    pub fn is_identity(&self) -> bool {
        self.objects.iter().enumerate().all(|(i, o)| o.index() == self.base + i)
            && self.threads.iter().enumerate().all(|(i, t)| t.index() == self.threads_base + i)
    }

    /// The number of an object; `None` if it has none.
    pub fn object(&self, object: ObjectId) -> Option<ObjectId> {
        match object.index().checked_sub(self.base) {
            None => Some(object),
            Some(place) => self.objects.get(place).copied(),
        }
    }

    /// The number of a thread.
    pub fn thread(&self, thread: ThreadId) -> Option<ThreadId> {
        match thread.index().checked_sub(self.threads_base) {
            None => Some(thread),
            Some(place) => self.threads.get(place).copied(),
        }
    }

    /// A transition.
    pub fn transition(&self, transition: Transition) -> Option<Transition> {
        Some(Transition { thread: self.thread(transition.thread)?, ..transition })
    }

    /// What an operation touches.
    pub fn footprint(&self, footprint: &[Access]) -> Option<Footprint> {
        let rename = |access: &Access| match *access {
            Access::EVERYTHING => Some(Access::EVERYTHING),
            access => Some(access.with_object(self.object(access.object())?)),
        };
        footprint.iter().map(rename).collect()
    }

    /// An operation.
    pub fn operation(&self, op: &Operation) -> Option<Operation> {
        let mut renamed = *op;
        let (mut threads, mut objects) = (true, true);
        renamed.each_number(
            |thread| {
                let new = self.thread(*thread);
                threads &= new.is_some();
                *thread = new.unwrap_or(*thread);
            },
            |object| {
                let new = self.object(*object);
                objects &= new.is_some();
                *object = new.unwrap_or(*object);
            },
        );
        (threads && objects).then_some(renamed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::Wait;

    /// Two workers that meet things in other orders.
    #[test]
    fn what_workers_name_comes_together() {
        let mut lexicon = Lexicon::default();
        let base = lexicon.names().object_count();
        let mut first = Names::default();
        let a = first.child(ThreadId::MAIN, 0);
        let b = first.child(ThreadId::MAIN, 1);
        let static_one = first.external(ObjectKind::Once, 100, 0);
        let channel = first.object(b, 0, ObjectKind::Channel);
        let message = first.part(channel, 1);
        let births: Vec<Named> = first.births(base).collect();
        let renaming = lexicon.learn(base, &births).expect("names");
        assert!(renaming.is_identity());

        let mut second = Names::default();
        let static_two = second.external(ObjectKind::Once, 200, 0);
        let static_one_too = second.external(ObjectKind::Once, 100, 0);
        let a_too = second.child(ThreadId::MAIN, 0);
        let b_too = second.child(ThreadId::MAIN, 1);
        let channel_too = second.object(b_too, 0, ObjectKind::Channel);
        let message_too = second.part(channel_too, 1);
        let births: Vec<Named> = second.births(base).collect();
        let renaming = lexicon.learn(base, &births).expect("names");
        assert!(!renaming.is_identity());
        assert_eq!(renaming.thread(a_too), Some(a));
        assert_eq!(renaming.thread(b_too), Some(b));
        assert_eq!(renaming.object(static_one_too), Some(static_one));
        assert_eq!(renaming.object(channel_too), Some(channel));
        assert_eq!(renaming.object(message_too), Some(message));
        let new = renaming.object(static_two).expect("a name");
        assert_eq!(lexicon.names().external_key(new), Some((200, 0)));
        let op = Operation::Receive { channel: channel_too, wait: Wait::Try };
        assert_eq!(renaming.operation(&op), Some(Operation::Receive { channel, wait: Wait::Try }));
        let op = Operation::Join { thread: b_too, wait: Wait::Block };
        assert_eq!(renaming.operation(&op), Some(Operation::Join { thread: b, wait: Wait::Block }));
        let touched = [Access::EVERYTHING, Access::write(message_too), Access::read(channel_too)];
        let expected = [Access::EVERYTHING, Access::write(message), Access::read(channel)];
        assert_eq!(renaming.footprint(&touched).as_deref(), Some(&expected[..]));
        assert_eq!(renaming.object(ObjectId(10_000)), None);
        assert_eq!(renaming.operation(&Operation::Detach { thread: ThreadId(99) }), None);
    }

    #[test]
    fn rubbish_is_not_learned() {
        let mut lexicon = Lexicon::default();
        let base = lexicon.names().object_count();
        let rubbish: [&[Named]; 5] = [
            &[(base + 1, Birth::Created(ThreadId::MAIN, 0), ObjectKind::Mutex)],
            &[(base, Birth::Created(ThreadId(9), 0), ObjectKind::Mutex)],
            &[(base, Birth::Part(ObjectId(77), 9), ObjectKind::Channel)],
            &[(base, Birth::Part(ObjectId(0), 1), ObjectKind::Thread)],
            &[(base, Birth::Created(ThreadId::MAIN, u32::MAX), ObjectKind::Thread)],
        ];
        for births in rubbish {
            assert!(lexicon.learn(base, births).is_none(), "{births:?}");
        }
        assert!(lexicon.learn(base + 1, &[]).is_none());
    }
}
