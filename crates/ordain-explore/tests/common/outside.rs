//! Descriptors, poll sets, names and files of programs: what the kernel would do.

use super::interpreter::Objects;
use super::program::I;
use ordain_model::{Arbiter, Member, ObjectId, Outcome};

/// Bits of the word of a descriptor: there is something to take, and there is room for more.
pub(super) const READY: u64 = 1;
pub(super) const ROOM: u64 = 2;
/// Everything that a poll set may have been told.
pub(super) const TOLD: u64 = Member::TAKE - 1;

/// What an instruction does to descriptors, names and files.
pub(super) fn members(instruction: I, o: &Objects) -> Vec<(ObjectId, u64)> {
    match instruction {
        I::Shut(s) => vec![(o.signals[s], Member::WRITE | Member::TELL)],
        I::Watch(s) => {
            vec![(o.epoll, Member::WRITE), (o.signals[s], Member::READ), (o.signals[s].watchers(), Member::WRITE)]
        }
        I::MakeName(n) => vec![(o.names[n], Member::WRITE | Member::NEW)],
        I::OpenName(n) => vec![(o.names[n], Member::MAKE | Member::WRITE_BEHIND)],
        I::LookAtFile(n) => vec![(o.names[n], Member::READ | Member::READ_BEHIND)],
        I::ChangeFile(n) => vec![(o.names[n], Member::READ | Member::WRITE_BEHIND)],
        I::RemoveName(n) => vec![(o.names[n], Member::WRITE | Member::WRITE_BEHIND)],
        I::LinkName(n, to) => {
            vec![(o.names[n], Member::READ | Member::WRITE_BEHIND), (o.names[to], Member::WRITE | Member::NEW)]
        }
        _ => Vec::new(),
    }
}

/// Tells the arbiter what the words are after an instruction. Gives what the thread learns, if it is more than the outcome.
pub(super) fn settle(instruction: I, outcome: Outcome, o: &Objects, arbiter: &mut Arbiter) -> Option<u64> {
    if outcome != Outcome::DONE {
        return None;
    }
    match instruction {
        I::Raise(s) => arbiter.set_value(o.signals[s], READY | ROOM),
        I::Await(s, _) => arbiter.set_value(o.signals[s], ROOM),
        I::PollSet(_) => {
            let told = arbiter.value(o.epoll);
            arbiter.set_value(o.epoll, 0);
            return Some(told);
        }
        I::Feed(s) | I::Shut(s) => {
            arbiter.set_value(o.signals[s], READY | ROOM);
            if arbiter.value(o.signals[s].watchers()) != 0 {
                // The order in which it was told shows.
                let told = arbiter.value(o.epoll);
                arbiter.set_value(o.epoll, (told * 4 + s as u64 + 1) % TOLD);
            }
        }
        I::Watch(s) => {
            let watchers = o.signals[s].watchers();
            let watched = arbiter.value(watchers) != 0;
            arbiter.set_value(watchers, if watched { 0 } else { u64::from(o.told.0) });
            if !watched && arbiter.value(o.signals[s]) & READY != 0 {
                arbiter.set_value(o.epoll, s as u64 + 1);
            }
        }
        I::MakeName(n) => arbiter.set_value(o.names[n], u64::from(o.files[n].0)),
        I::OpenName(n) | I::LookAtFile(n) | I::ChangeFile(n) | I::RemoveName(n) | I::LinkName(n, _) => {
            let found = arbiter.value(o.names[n]);
            let file = ObjectId(found as u32);
            let content = if found == 0 { u64::MAX } else { arbiter.value(file) };
            match instruction {
                I::OpenName(_) if found == 0 => arbiter.set_value(o.names[n], u64::from(o.files[n].0)),
                _ if found == 0 => {}
                I::OpenName(_) => arbiter.set_value(file, 0),
                I::LookAtFile(_) => {}
                _ => arbiter.set_value(file, content + 1),
            }
            match instruction {
                I::RemoveName(_) => arbiter.set_value(o.names[n], 0),
                I::LinkName(_, to) => arbiter.set_value(o.names[to], found),
                _ => {}
            }
            return Some(content);
        }
        _ => {}
    }
    None
}
