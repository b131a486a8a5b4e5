//! Objects: making them, telling their values, and accesses to plain memory, which are no steps.

use super::Arbiter;
use crate::execution::{PlainAccess, PlainKind, Site};
use crate::idle::Version;
use crate::names::{ObjectId, ObjectKind, ThreadId};
use crate::operation::MemoryOrder;
use crate::state::View;
use crate::turns::Unseen;
use alloc::vec::Vec;

/// The word and the parameter of an object of one part that begins with `initial`.
pub fn first_state(kind: ObjectKind, initial: u64) -> (u64, u64) {
    match kind {
        ObjectKind::Mutex | ObjectKind::RwLock => (0, initial),
        ObjectKind::Barrier => (0, initial.max(1)),
        _ => (initial, 0),
    }
}

impl Arbiter {
    pub(super) fn init_object(&mut self, object: ObjectId, word: u64, param: u64) {
        let (index, state) = (object.index(), &mut self.execution.state);
        if state.words.len() <= index {
            let count = self.names.object_count();
            state.words.resize(count, 0);
            state.fixed.params.resize(count, 0);
            self.versions.resize(count, Version::default());
            self.unseen.resize(count, Unseen::default());
            self.times.resize(count, (0, 0));
        }
        state.words[index] = word;
        state.fixed.params[index] = param;
        self.versions[index] = Version::default();
        self.unseen[index] = Unseen::default();
        self.times[index] = (0, 0);
    }

    /// Makes an object. `initial` is the count of a semaphore, the number of threads of a barrier, the capacity of a channel
    /// (`u64::MAX` if unbounded), the value of a cell, the kind of a mutex (see [`crate::mutex_kind`]), the set of signals that are
    /// ignored, else zero. The signals of a process are made before it makes threads.
    pub fn create(&mut self, creator: ThreadId, kind: ObjectKind, initial: u64) -> ObjectId {
        let number = self.threads[creator.index()].objects;
        self.threads[creator.index()].objects += 1;
        let object = self.names.object(creator, number, kind);
        self.initialise(object, initial);
        object
    }

    /// Gives an object that was named before, such as a static, its initial state in this execution.
    pub fn initialise(&mut self, object: ObjectId, initial: u64) {
        match self.names.kind(object) {
            ObjectKind::Channel => {
                self.init_object(object, 0, initial);
                self.init_object(object.offset(1), 0, 0);
                self.init_object(object.offset(2), 1, 0);
                self.init_object(object.offset(3), 1, 0);
                let parts = &mut self.execution.state.fixed.parts;
                if parts.len() <= object.index() {
                    parts.resize_with(object.index() + 1, Vec::new);
                }
                parts[object.index()].clear();
                self.extend_channel(object, 0);
            }
            ObjectKind::Signals => {
                self.init_object(object, 0, 0);
                self.init_object(object.offset(1), initial, 0);
                if self.execution.state.fixed.signals.is_none() {
                    self.execution.state.fixed.signals = Some(object);
                    self.expect_thread(ThreadId::MAIN, 0);
                }
            }
            ObjectKind::RwLock => {
                self.init_object(object, 0, initial);
                self.init_object(object.offset(1), 0, 0);
            }
            ObjectKind::Descriptor => {
                self.init_object(object, initial, u64::from(object.watchers().0));
                self.init_object(object.watchers(), 0, 0);
            }
            kind => {
                let (word, param) = first_state(kind, initial);
                self.init_object(object, word, param);
            }
        }
    }

    /// Makes a set of objects, each with the bits that are waited for, for [`crate::Operation::Poll`].
    pub fn create_poll(&mut self, creator: ThreadId, members: &[(ObjectId, u64)]) -> ObjectId {
        let set = self.create(creator, ObjectKind::Poll, 0);
        self.set_members(set, members);
        set
    }

    /// Says which objects belong to a set, each with what is waited for or done to it: see [`crate::Operation::Poll`] and [`crate::Member`].
    pub fn set_members(&mut self, set: ObjectId, members: &[(ObjectId, u64)]) {
        let polls = &mut self.execution.state.fixed.polls;
        if polls.len() <= set.index() {
            polls.resize_with(set.index() + 1, Vec::new);
        }
        polls[set.index()].clear();
        polls[set.index()].extend_from_slice(members);
    }

    /// Makes sure that the place of message `number` is there.
    pub(super) fn extend_channel(&mut self, channel: ObjectId, number: u64) {
        let capacity = self.execution.state.fixed.param(channel);
        let number = if matches!(capacity, 0 | u64::MAX) { number } else { number % capacity };
        while self.execution.state.fixed.parts[channel.index()].len() as u64 <= number {
            let next = self.execution.state.fixed.parts[channel.index()].len() as u32;
            let part = self.names.part(channel, next);
            self.init_object(part, 0, 0);
            self.execution.state.fixed.parts[channel.index()].push(part);
        }
    }

    /// Tells the value that an atomic cell holds after the step that wrote it.
    #[inline]
    pub fn set_value(&mut self, cell: ObjectId, value: u64) {
        let same = self.execution.state.word(cell) == value;
        self.execution.state.set(cell, value);
        if let Some(unsettled) = self.unsettled.take_if(|u| u.cell == Some(cell)) {
            self.settle(&unsettled, same);
        }
    }

    /// The value of an atomic cell.
    pub fn value(&self, cell: ObjectId) -> u64 {
        self.execution.state.word(cell)
    }

    /// Takes note of an access to a plain cell; gives its number.
    pub fn plain_access(&mut self, thread: ThreadId, cell: ObjectId, write: bool, site: Site) -> u32 {
        let kind = if write { PlainKind::Write(cell) } else { PlainKind::Read(cell) };
        self.note_plain(thread, kind, site);
        self.execution.plain.len() as u32 - 1
    }

    /// Takes note that an access to a plain cell has lasted until now.
    pub fn end_plain_access(&mut self, thread: ThreadId, cell: ObjectId, write: bool, begin: u32, site: Site) {
        self.note_plain(thread, PlainKind::End { cell, write, begin }, site);
    }

    /// Takes note of a fence.
    pub fn fence(&mut self, thread: ThreadId, order: MemoryOrder) {
        self.note_plain(thread, PlainKind::Fence(order), Site::default());
    }

    fn note_plain(&mut self, thread: ThreadId, kind: PlainKind, site: Site) {
        let after = self.execution.steps.len() as u32;
        self.execution.plain.push(PlainAccess { after, thread, kind, site });
    }
}
