//! Events: all that an arbiter must be told to come to the same execution.

use alloc::vec::Vec;
use ordain_model::{Divergence, Named, ObjectId, ObjectKind, Operation, ThreadId};
use serde::{Deserialize, Serialize};

/// One thing that happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event {
    /// A thread is about to do something.
    Announce {
        /// Who.
        thread: ThreadId,
        /// What.
        op: Operation,
        /// The address behind the call.
        site: u64,
    },
    /// A transition was taken.
    Step {
        /// Who moved.
        thread: ThreadId,
        /// With which outcome.
        choice: u32,
    },
    /// A thread made an object.
    Create {
        /// Who.
        thread: ThreadId,
        /// What.
        kind: ObjectKind,
        /// See [`ordain_model::Arbiter::create`].
        initial: u64,
        /// The number it got.
        object: ObjectId,
    },
    /// An object that no thread made was used for the first time. It is known by where it is.
    Found {
        /// Its address, or another number that is the same in every execution.
        address: u64,
        /// How many objects were there before, in this execution.
        generation: u32,
        /// What it is.
        kind: ObjectKind,
        /// See [`ordain_model::Arbiter::create`].
        initial: u64,
        /// The number it got.
        object: ObjectId,
    },
    /// A member of the poll set that is made next.
    PollMember {
        /// The object.
        object: ObjectId,
        /// The bits waited for.
        mask: u64,
    },
    /// A thread made a poll set of the members that were told.
    CreatePoll {
        /// Who.
        thread: ThreadId,
        /// The number it got.
        set: ObjectId,
    },
    /// The members that were told are those of a set that is known by what is in it.
    Members {
        /// The set.
        set: ObjectId,
    },
    /// Something has become known that earlier executions did not know of, and that changes which steps depend on each other.
    Lesson {
        /// What it is.
        lesson: u64,
    },
    /// The word of an object, as the kernel or the memory has it.
    Value {
        /// The object.
        object: ObjectId,
        /// The word.
        value: u64,
    },
    /// How long the next timed operations of a thread wait, in nanoseconds.
    Patience {
        /// Who.
        thread: ThreadId,
        /// How long.
        nanoseconds: u64,
    },
    /// Time passes for a thread.
    Advance {
        /// Who.
        thread: ThreadId,
        /// How much.
        nanoseconds: u64,
    },
}

/// What a runtime that starts must know of earlier executions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Knowledge {
    /// Names, in order of numbers.
    pub births: Vec<Named>,
    /// Sites of long loops.
    pub long_loops: Vec<u64>,
}

impl Knowledge {
    /// Writes it; `None` if there is no room.
    pub fn write(&self, room: &mut [u8]) -> Option<usize> {
        postcard::to_slice(self, room).ok().map(|used| used.len())
    }

    /// Reads it.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        postcard::from_bytes(bytes).ok()
    }
}

/// A departure from a plan, as bytes.
pub struct Departure;

impl Departure {
    /// Writes it; `None` if there is no room.
    pub fn write(divergence: &Divergence, room: &mut [u8]) -> Option<usize> {
        postcard::to_slice(divergence, room).ok().map(|used| used.len())
    }

    /// Reads it.
    pub fn read(bytes: &[u8]) -> Option<Divergence> {
        postcard::from_bytes(bytes).ok()
    }
}

/// A fragment of a divided search, and what has become of it, as bytes.
pub struct FragmentBytes;

impl FragmentBytes {
    /// Writes it; `None` if there is no room.
    pub fn write<T: Serialize>(piece: &T, room: &mut [u8]) -> Option<usize> {
        postcard::to_slice(piece, room).ok().map(|used| used.len())
    }

    /// Reads it.
    pub fn read<T: for<'a> Deserialize<'a>>(bytes: &[u8]) -> Option<T> {
        postcard::from_bytes(bytes).ok()
    }
}

/// Events in a row, in memory that may be shared.
///
/// Most are steps and announcements of few threads. Writing and reading each field of these as a number of any size takes time that
/// counts in every step, so they have a form of their own, which begins with a byte that begins no other event.
pub struct Log;

/// Begins a step: thread and choice follow, a byte each.
const SHORT_STEP: u8 = 0xf0;
/// Begins an announcement: the thread follows in a byte, the site in [`SITE`] bytes, then the operation.
const SHORT_ANNOUNCE: u8 = 0xf1;
/// Addresses of programs have no more bytes.
const SITE: usize = 6;

impl Log {
    /// Appends an event at `at`; gives the new length, or `None` if there is no room.
    #[inline]
    pub fn write(room: &mut [u8], at: usize, event: &Event) -> Option<usize> {
        let room = room.get_mut(at..)?;
        let used = match *event {
            Event::Step { thread, choice } if thread.0 < 0x100 && choice < 0x100 => {
                *room.first_chunk_mut()? = [SHORT_STEP, thread.0 as u8, choice as u8];
                3
            }
            Event::Announce { thread, op, site } if thread.0 < 0x100 && site >> (8 * SITE) == 0 => {
                let (head, rest) = room.split_first_chunk_mut::<{ 2 + SITE }>()?;
                // The lowest bytes of the site, and below them what comes first.
                *head = (site << 16 | u64::from(thread.0) << 8 | u64::from(SHORT_ANNOUNCE)).to_le_bytes();
                2 + SITE + postcard::to_slice(&op, rest).ok()?.len()
            }
            _ => postcard::to_slice(event, room).ok()?.len(),
        };
        Some(at + used)
    }

    /// Reads the event at the beginning of `bytes`; gives it and what follows. `None` if it is no event.
    #[inline]
    pub fn read(bytes: &[u8]) -> Option<(Event, &[u8])> {
        match *bytes.first()? {
            SHORT_STEP => {
                let ([_, thread, choice], rest) = bytes.split_first_chunk()?;
                Some((Event::Step { thread: ThreadId((*thread).into()), choice: (*choice).into() }, rest))
            }
            SHORT_ANNOUNCE => {
                let (head, rest) = bytes.split_first_chunk()?;
                let head = u64::from_le_bytes(*head);
                let (op, rest) = postcard::take_from_bytes(rest).ok()?;
                Some((Event::Announce { thread: ThreadId((head >> 8) as u8 as u32), op, site: head >> 16 }, rest))
            }
            _ => postcard::take_from_bytes(bytes).ok(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ordain_model::Wait;
    use ordain_model::names::Birth;

    #[test]
    fn events_survive_the_wire_and_rubbish_is_no_event() {
        let events = [
            Event::Announce {
                thread: ThreadId(3),
                op: Operation::Lock { lock: ObjectId(900), wait: Wait::Timed },
                site: 7,
            },
            Event::Announce { thread: ThreadId(0x100), op: Operation::Exit, site: 0x7fff_1234_5678 },
            Event::Announce { thread: ThreadId(0xff), op: Operation::Exit, site: 0xffff_1234_5678 },
            Event::Announce { thread: ThreadId(1), op: Operation::Exit, site: 1 << 48 },
            Event::Step { thread: ThreadId(1), choice: 2 },
            Event::Step { thread: ThreadId(0x100), choice: 0xff },
            Event::Step { thread: ThreadId(0xff), choice: 0x100 },
            Event::Create { thread: ThreadId(0), kind: ObjectKind::Mutex, initial: 4, object: ObjectId(12) },
        ];
        let mut room = [0; 256];
        let mut length = 0;
        for event in &events {
            length = Log::write(&mut room, length, event).expect("room");
        }
        let mut rest = &room[..length];
        for event in &events {
            let (read, behind) = Log::read(rest).expect("an event");
            assert_eq!(read, *event);
            rest = behind;
        }
        assert!(Log::read(&[0xff; 16]).is_none());
        assert!(Log::read(&room[..1]).is_none());
        assert!(Log::write(&mut room, 255, &events[0]).is_none());
    }

    #[test]
    fn what_is_known_survives_the_wire() {
        let known = Knowledge {
            births: alloc::vec![(4, Birth::Created(ThreadId(0), 1), ObjectKind::Mutex)],
            ..Knowledge::default()
        };
        let mut room = [0; 256];
        let length = known.write(&mut room).expect("room");
        assert_eq!(Knowledge::read(&room[..length]), Some(known));
    }
}
