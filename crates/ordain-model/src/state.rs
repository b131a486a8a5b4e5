//! The state of all objects: one word each.
//!
//! A word is all that decides what an operation on the object does next, so an old state can be looked at again through
//! a [`View`] of old words: that is how the search evaluates an operation at a place where it was not executed.

use crate::names::{ObjectId, ThreadId};
use alloc::vec::Vec;

/// Something that knows the words of objects: the present state, or an earlier one.
pub trait View {
    /// The word of an object.
    fn word(&self, object: ObjectId) -> u64;
    /// What does not change: waiter lists, parameters, parts.
    fn fixed(&self) -> &Fixed;
}

/// What belongs to an execution and does not change once it is there.
#[derive(Clone, Default)]
pub struct Fixed {
    /// The parameter of each object: capacity, kind of mutex, number of threads.
    pub(crate) params: Vec<u64>,
    /// Waiter lists; words of queues are spans of this. Only ever appended to during an execution.
    pub(crate) lists: Vec<ThreadId>,
    /// The life object of each thread; token, place, cancellation, mask and signals that have come follow it.
    pub(crate) lives: Vec<ObjectId>,
    /// The signals of the process, if any can be sent.
    pub(crate) signals: Option<ObjectId>,
    /// If so, the threads that there are and will be, each with its place in the tree of births. Only ever appended to.
    pub(crate) threads: Vec<(ThreadId, Vec<u32>)>,
    /// The parts of each channel, by its number.
    pub(crate) parts: Vec<Vec<ObjectId>>,
    /// What each poll set waits for, by its number: objects and masks.
    pub(crate) polls: Vec<Vec<(ObjectId, u64)>>,
    /// Whether waits may end without a reason.
    pub(crate) spurious: bool,
    /// Whether waits expire only when nobody can go on.
    pub(crate) kind_time: bool,
}

impl Fixed {
    pub(crate) fn param(&self, object: ObjectId) -> u64 {
        self.params[object.index()]
    }

    /// The threads in a queue, given the queue's word.
    pub(crate) fn waiters(&self, word: u64) -> &[ThreadId] {
        let word = split(word).1;
        let (start, len) = ((word >> 32) as usize, word as u32 as usize);
        &self.lists[start..start + len]
    }

    pub(crate) fn life(&self, thread: ThreadId) -> ObjectId {
        self.lives[thread.index()]
    }

    pub(crate) fn token(&self, thread: ThreadId) -> ObjectId {
        self.life(thread).offset(1)
    }

    pub(crate) fn place(&self, thread: ThreadId) -> ObjectId {
        self.life(thread).offset(2)
    }

    pub(crate) fn cancellation(&self, thread: ThreadId) -> ObjectId {
        self.life(thread).offset(3)
    }

    /// The signals that a thread blocks.
    pub(crate) fn mask(&self, thread: ThreadId) -> ObjectId {
        self.life(thread).offset(4)
    }

    /// The signals that have come for a thread.
    pub(crate) fn come(&self, thread: ThreadId) -> ObjectId {
        self.life(thread).offset(5)
    }

    /// Whether signals can be sent, so that any operation may have to wait for a handler.
    pub fn has_signals(&self) -> bool {
        self.signals.is_some()
    }

    pub(crate) fn poll(&self, set: ObjectId) -> &[(ObjectId, u64)] {
        &self.polls[set.index()]
    }

    pub(crate) fn part(&self, channel: ObjectId, number: u64) -> ObjectId {
        self.parts[channel.index()][number as usize]
    }
}

/// A lock that a thread holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hold {
    /// Who holds it.
    pub thread: ThreadId,
    /// The lock.
    pub object: ObjectId,
    /// Whether others may hold it too.
    pub shared: bool,
}

/// The present state of all objects.
#[derive(Clone, Default)]
pub struct State {
    pub(crate) words: Vec<u64>,
    pub(crate) fixed: Fixed,
    /// Who holds which lock, in order of acquisition.
    pub(crate) holds: Vec<Hold>,
}

impl View for State {
    #[inline]
    fn word(&self, object: ObjectId) -> u64 {
        self.words[object.index()]
    }

    fn fixed(&self) -> &Fixed {
        &self.fixed
    }
}

impl State {
    /// One more than the highest number of an object.
    pub fn object_count(&self) -> usize {
        self.words.len()
    }

    #[inline]
    pub(crate) fn set(&mut self, object: ObjectId, word: u64) {
        self.words[object.index()] = word;
    }

    /// Begins an object anew. Who held it does not know, and gives it back as if nothing had happened.
    pub(crate) fn initialise(&mut self, object: ObjectId, word: u64, param: u64) {
        self.fixed.params[object.index()] = param;
        self.set(object, word);
    }

    /// Stores a new list of waiters as the word of `queue`.
    #[cfg(test)]
    pub(crate) fn set_waiters(&mut self, queue: ObjectId, waiters: impl Iterator<Item = ThreadId>) {
        let start = self.fixed.lists.len();
        self.fixed.lists.extend(waiters);
        let len = self.fixed.lists.len() - start;
        self.set(queue, (start as u64) << 32 | len as u64);
    }

    /// Adds a thread at the end of a queue.
    pub(crate) fn enqueue(&mut self, queue: ObjectId, thread: ThreadId) {
        let (over, word) = split(self.word(queue));
        let (start, len) = ((word >> 32) as usize, word as u32 as usize);
        let new = self.fixed.lists.len();
        self.fixed.lists.extend_from_within(start..start + len);
        self.fixed.lists.push(thread);
        self.set(queue, over | (new as u64) << 32 | (len as u64 + 1));
        self.set(self.fixed.place(thread), WAITING + u64::from(queue.0));
    }

    /// Takes the threads for which `leaves` holds out of a queue.
    pub(crate) fn dequeue(&mut self, queue: ObjectId, mut leaves: impl FnMut(ThreadId) -> bool) {
        let (over, word) = split(self.word(queue));
        let (start, len) = ((word >> 32) as usize, word as u32 as usize);
        let new = self.fixed.lists.len();
        for i in start..start + len {
            let thread = self.fixed.lists[i];
            if !leaves(thread) {
                self.fixed.lists.push(thread);
            }
        }
        let len = self.fixed.lists.len() - new;
        self.set(queue, over | (new as u64) << 32 | len as u64);
    }

    pub(crate) fn hold(&mut self, thread: ThreadId, object: ObjectId, shared: bool) {
        self.holds.push(Hold { thread, object, shared });
    }

    /// Robust mutexes that a thread holds: whoever takes them next is told if it ends.
    pub(crate) fn robust(&self, thread: ThreadId) -> impl Iterator<Item = ObjectId> + '_ {
        let own = self.holds.iter().filter(move |h| h.thread == thread).map(|h| h.object);
        own.filter(|object| self.is_robust(*object))
    }

    /// Whether one of the objects that threads touch when they end is a mutex whose next owner is told.
    pub(crate) fn is_robust(&self, object: ObjectId) -> bool {
        self.fixed.param(object) & crate::primitives::ROBUST != 0
    }

    /// Forgets a hold; false if there was none.
    pub(crate) fn release(&mut self, thread: ThreadId, object: ObjectId) -> bool {
        match self.holds.iter().rposition(|h| h.thread == thread && h.object == object) {
            Some(place) => {
                self.holds.remove(place);
                true
            }
            None => false,
        }
    }
}

/// Parts the bits that say that an object's life is over from the rest of its word.
fn split(word: u64) -> (u64, u64) {
    (word & (DESTROYED | FREED), word & !(DESTROYED | FREED))
}

/// Word of a place: not in a queue.
pub(crate) const ABSENT: u64 = 0;
/// Word of a place: taken out of the queue by a notification.
pub(crate) const NOTIFIED: u64 = 1;
/// Word of a place: this plus the number of the queue that the thread waits in.
pub(crate) const WAITING: u64 = 2;
/// Bit of a word: the object's life is over.
pub(crate) const DESTROYED: u64 = 1 << 63;
/// Bit of a word, beside [`DESTROYED`]: its memory was given back.
pub(crate) const FREED: u64 = 1 << 62;
