//! Names by birth: the same thread or object has the same name in every execution.
//!
//! A thread is named by its parent and its number among the parent's children, an object by the thread that created it
//! and its number among that thread's objects, never by address. [`Names`] interns these names as dense numbers and
//! lives as long as the exploration, so that numbers can be compared across executions.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::cmp::Ordering;

/// A thread: the interned birth name. `ThreadId::MAIN` is the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ThreadId(pub u32);

impl ThreadId {
    /// The thread that the program starts with.
    pub const MAIN: Self = Self(0);

    /// The number as an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// An object: the interned birth name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ObjectId(pub u32);

impl ObjectId {
    /// The number as an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// Of a descriptor: what says which poll sets are told when it becomes ready. Its word is the number of a set of objects, or zero.
    pub fn watchers(self) -> Self {
        self.offset(1)
    }

    /// The object `n` places behind this one, in a group that was named together.
    pub(crate) fn offset(self, n: u32) -> Self {
        Self(self.0 + n)
    }
}

/// What an object is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum ObjectKind {
    /// The life of a thread, its park token, its place in a wait queue, whether it is to end, and its signals.
    Thread,
    /// A mutex.
    Mutex,
    /// A spin lock.
    Spin,
    /// A read-write lock; and, behind it, how many tickets its writers have taken.
    RwLock,
    /// A condition variable.
    Condvar,
    /// A semaphore.
    Semaphore,
    /// A barrier.
    Barrier,
    /// An initialisation that happens once.
    Once,
    /// The wait queue of a futex.
    Futex,
    /// A channel.
    Channel,
    /// An atomic memory cell.
    Atomic,
    /// A reference count.
    Count,
    /// A plain memory cell.
    Plain,
    /// What a file descriptor refers to; and, behind it, who is told when it becomes ready.
    Descriptor,
    /// Signals that are pending for the process, and those that are ignored.
    Signals,
    /// A set of objects that is waited for, or accessed together.
    Poll,
    /// A name in a directory, a file, or something else that the kernel keeps and threads find again by a name or number.
    File,
    /// The lock on a file, as an opening of the file waits for it.
    FileLock,
}

impl ObjectKind {
    /// The word for it in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Thread => "thread",
            Self::Mutex => "mutex",
            Self::Spin => "spin lock",
            Self::RwLock => "rwlock",
            Self::Condvar => "condvar",
            Self::Semaphore => "semaphore",
            Self::Barrier => "barrier",
            Self::Once => "once",
            Self::Futex => "futex",
            Self::Channel => "channel",
            Self::Atomic => "atomic",
            Self::Count => "count",
            Self::Plain => "cell",
            Self::Descriptor => "descriptor",
            Self::Signals => "signals",
            Self::Poll => "poll set",
            Self::File => "file",
            Self::FileLock => "file lock",
        }
    }

    /// How many consecutive object numbers an object of this kind takes.
    pub(crate) fn width(self) -> u32 {
        match self {
            Self::Thread => 6,
            Self::Channel => 4,
            Self::Signals | Self::Descriptor | Self::RwLock => 2,
            _ => 1,
        }
    }
}

/// Adds a word to a number that stands for several words.
pub fn mix(hash: u64, word: u64) -> u64 {
    (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29).wrapping_add(word)
}

/// What keys of objects begin with. Small numbers would not do: mixing a number into itself leaves nothing of either.
const CREATED: u64 = 0x6372_6561_7465_6421;
const EXTERNAL: u64 = 0x6578_7465_726e_616c;

/// What [`Names`] knows of a thread.
struct Thread {
    /// Its creator and its number among the creator's children, from 1; `None` for main.
    birth: Option<(ThreadId, u32)>,
    /// The first of its own objects (life, token, place, cancellation, mask, signals).
    object: ObjectId,
    /// Its children, by number.
    children: Vec<ThreadId>,
    /// The objects it created, by number.
    objects: Vec<ObjectId>,
    /// Objects that it created at a number where another execution had one of another kind.
    others: Vec<(u32, ObjectId)>,
}

/// Where an object comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Birth {
    /// Created by a thread, as its n-th object.
    Created(ThreadId, u32),
    /// Existed before the execution began.
    External {
        /// Its number in order of first use.
        number: u32,
        /// By what it is known: an address, or another number that is the same in every execution.
        key: u64,
        /// How many objects were known by the same before, in its execution.
        generation: u32,
    },
    /// A part of another object, such as a message of a channel.
    Part(ObjectId, u32),
}

/// The interned names of all threads and objects that any execution has shown.
pub struct Names {
    threads: Vec<Thread>,
    objects: Vec<(Birth, ObjectKind)>,
    externals: u32,
    /// Parts by owning object.
    parts: Vec<(ObjectId, Vec<ObjectId>)>,
}

impl Default for Names {
    fn default() -> Self {
        let mut names = Self { threads: Vec::new(), objects: Vec::new(), externals: 0, parts: Vec::new() };
        names.push_thread(None);
        names
    }
}

impl Names {
    /// How many threads have names.
    pub fn thread_count(&self) -> usize {
        self.threads.len()
    }

    /// How many objects have names.
    pub fn object_count(&self) -> usize {
        self.objects.len()
    }

    fn push_thread(&mut self, birth: Option<(ThreadId, u32)>) -> ThreadId {
        let id = ThreadId(self.threads.len() as u32);
        let object = self.push_object(Birth::Created(id, 0), ObjectKind::Thread);
        self.threads.push(Thread { birth, object, children: Vec::new(), objects: Vec::new(), others: Vec::new() });
        id
    }

    fn push_object(&mut self, birth: Birth, kind: ObjectKind) -> ObjectId {
        let id = ObjectId(self.objects.len() as u32);
        self.objects.push((birth, kind));
        for n in 1..kind.width() {
            self.objects.push((Birth::Part(id, n), kind));
        }
        id
    }

    /// The `number`-th child, from 0, of `parent`.
    pub fn child(&mut self, parent: ThreadId, number: u32) -> ThreadId {
        while self.threads[parent.index()].children.len() <= number as usize {
            let n = self.threads[parent.index()].children.len() as u32;
            let id = self.push_thread(Some((parent, n + 1)));
            self.threads[parent.index()].children.push(id);
        }
        self.threads[parent.index()].children[number as usize]
    }

    /// The `number`-th object, from 0, that `creator` makes. An execution that makes an object of another kind at this
    /// place gets another object.
    pub fn object(&mut self, creator: ThreadId, number: u32, kind: ObjectKind) -> ObjectId {
        let thread = &self.threads[creator.index()];
        let known = thread.objects.get(number as usize).copied().filter(|o| *o != UNNAMED);
        match known {
            Some(object) if self.objects[object.index()].1 == kind => return object,
            Some(_) => {
                let other = thread.others.iter().find(|o| o.0 == number && self.objects[o.1.index()].1 == kind);
                if let Some(other) = other {
                    return other.1;
                }
            }
            None => {}
        }
        let id = self.push_object(Birth::Created(creator, number), kind);
        let thread = &mut self.threads[creator.index()];
        if known.is_some() {
            thread.others.push((number, id));
        } else {
            if thread.objects.len() <= number as usize {
                thread.objects.resize(number as usize + 1, UNNAMED);
            }
            thread.objects[number as usize] = id;
        }
        id
    }

    /// A new object that no execution has created, such as a static. The caller knows by what it is known, and remembers which it is.
    pub fn external(&mut self, kind: ObjectKind, key: u64, generation: u32) -> ObjectId {
        let number = self.externals;
        self.externals += 1;
        self.push_object(Birth::External { number, key, generation }, kind)
    }

    /// By what an object is known that no execution has created, and how many were known by the same before.
    pub fn external_key(&self, object: ObjectId) -> Option<(u64, u32)> {
        match self.objects.get(object.index())?.0 {
            Birth::External { key, generation, .. } => Some((key, generation)),
            _ => None,
        }
    }

    /// A number for an object that is the same whoever gave out the numbers, and in which order.
    pub fn stable_key(&self, object: ObjectId) -> u64 {
        let Some((birth, kind)) = self.objects.get(object.index()) else { return 0 };
        match *birth {
            Birth::Created(thread, n) => {
                let lineage = self.lineage(thread).into_iter().map(u64::from);
                lineage.chain([u64::from(n), *kind as u64]).fold(CREATED, mix)
            }
            Birth::External { key, generation, .. } => {
                [key, u64::from(generation), *kind as u64].into_iter().fold(EXTERNAL, mix)
            }
            Birth::Part(owner, n) => mix(self.stable_key(owner), u64::from(n)),
        }
    }

    /// The `number`-th part of `owner`: a message of a channel.
    pub fn part(&mut self, owner: ObjectId, number: u32) -> ObjectId {
        let place = match self.parts.binary_search_by_key(&owner, |p| p.0) {
            Ok(place) => place,
            Err(place) => {
                self.parts.insert(place, (owner, Vec::new()));
                place
            }
        };
        while self.parts[place].1.len() <= number as usize {
            let n = self.parts[place].1.len() as u32 + self.kind(owner).width();
            let kind = self.kind(owner);
            let id = ObjectId(self.objects.len() as u32);
            self.objects.push((Birth::Part(owner, n), kind));
            self.parts[place].1.push(id);
        }
        self.parts[place].1[number as usize]
    }

    /// How everything got its number, in order: given to [`Names::adopt`] one after the other, the same numbers come out.
    pub fn births(&self, from: usize) -> impl Iterator<Item = (usize, Birth, ObjectKind)> + '_ {
        let numbered = self.objects.iter().enumerate().skip(from);
        numbered.map(|(i, (birth, kind))| match (*birth, *kind) {
            // A thread is known by its parent.
            (Birth::Created(thread, _), ObjectKind::Thread) => match self.birth(thread) {
                Some((parent, n)) => (i, Birth::Created(parent, n - 1), *kind),
                None => (i, *birth, *kind),
            },
            _ => (i, *birth, *kind),
        })
    }

    /// Takes over a birth from elsewhere. Those that are known already change nothing.
    pub fn adopt(&mut self, number: usize, birth: Birth, kind: ObjectKind) {
        if number < self.objects.len() || number != self.objects.len() {
            return;
        }
        match birth {
            Birth::Created(parent, n) if kind == ObjectKind::Thread => {
                self.child(parent, n);
            }
            Birth::Created(thread, n) => {
                self.object(thread, n, kind);
            }
            Birth::External { key, generation, .. } => {
                self.external(kind, key, generation);
            }
            Birth::Part(owner, n) => {
                self.part(owner, n - self.kind(owner).width());
            }
        }
    }

    /// Takes over all births from elsewhere, in order from the first; false if a number means something else here.
    pub fn agree(&mut self, births: &[(usize, Birth, ObjectKind)]) -> bool {
        let same = births.iter().zip(self.births(0)).all(|(theirs, ours)| *theirs == ours);
        if same {
            let known = self.objects.len().min(births.len());
            for (number, birth, kind) in &births[known..] {
                self.adopt(*number, *birth, *kind);
            }
        }
        same && self.objects.len() >= births.len()
    }

    /// What `object` is.
    pub fn kind(&self, object: ObjectId) -> ObjectKind {
        self.objects[object.index()].1
    }

    /// The creator of `thread` and its number, from 1, among the creator's children.
    pub fn birth(&self, thread: ThreadId) -> Option<(ThreadId, u32)> {
        self.threads[thread.index()].birth
    }

    /// The place of a thread in the tree of births: which child of which child of main it is, from 0.
    pub fn lineage(&self, mut thread: ThreadId) -> Vec<u32> {
        let mut lineage = Vec::new();
        while let Some((parent, number)) = self.birth(thread) {
            lineage.push(number - 1);
            thread = parent;
        }
        lineage.reverse();
        lineage
    }

    /// Which of two threads comes first in the tree of births: parents before children, older children before younger ones.
    pub fn order_of_birth(&self, one: ThreadId, other: ThreadId) -> Ordering {
        // Ancestors have lower numbers, so the one with the higher number is never an ancestor of the other.
        let (mut one, mut other) = ((one, 0), (other, 0));
        while one.0 != other.0 {
            let later = if one.0 > other.0 { &mut one } else { &mut other };
            let Some(birth) = self.birth(later.0) else { break };
            *later = birth;
        }
        one.1.cmp(&other.1)
    }

    /// The thread at a place in the tree of births.
    pub fn descendant(&mut self, lineage: &[u32]) -> ThreadId {
        lineage.iter().fold(ThreadId::MAIN, |thread, number| self.child(thread, *number))
    }

    /// How many threads were named before the object of that number.
    pub fn threads_before(&self, number: usize) -> usize {
        self.threads.partition_point(|t| t.object.index() < number)
    }

    /// The thread whose own an object is: its life, its token, its place in a wait queue.
    pub fn thread_of(&self, object: ObjectId) -> Option<ThreadId> {
        match *self.objects.get(object.index())? {
            (Birth::Created(thread, 0), ObjectKind::Thread) => Some(thread),
            (Birth::Part(owner, _), ObjectKind::Thread) => self.thread_of(owner),
            _ => None,
        }
    }

    /// The object of a thread's life: written when it ends, read by who joins it.
    pub(crate) fn life(&self, thread: ThreadId) -> ObjectId {
        self.threads[thread.index()].object
    }

    /// The name of a thread: `main`, `main.1`, `main.1.2`.
    pub fn thread_name(&self, thread: ThreadId) -> String {
        match self.threads.get(thread.index()).and_then(|t| t.birth) {
            None => "main".to_string(),
            Some((parent, n)) => format!("{}.{n}", self.thread_name(parent)),
        }
    }

    /// The thread of that name, if any execution has had it.
    pub fn thread_by_name(&self, name: &str) -> Option<ThreadId> {
        let mut parts = name.split('.');
        if parts.next() != Some("main") {
            return None;
        }
        parts.try_fold(ThreadId::MAIN, |thread, part| {
            let n: usize = part.parse().ok()?;
            self.threads[thread.index()].children.get(n.checked_sub(1)?).copied()
        })
    }

    /// The name of an object: `main/mutex#3`, the fourth object that main made.
    pub fn object_name(&self, object: ObjectId) -> String {
        let (birth, kind) = &self.objects[object.index()];
        match *birth {
            Birth::Created(thread, _) if *kind == ObjectKind::Thread => self.thread_name(thread),
            Birth::Created(thread, n) => format!("{}/{}#{n}", self.thread_name(thread), kind.name()),
            Birth::External { number, .. } => format!("static/{}#{number}", kind.name()),
            Birth::Part(owner, n) => format!("{}[{n}]", self.object_name(owner)),
        }
    }
}

/// Marks a number for which no object has been made yet.
const UNNAMED: ObjectId = ObjectId(u32::MAX);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_named_by_birth() {
        let mut names = Names::default();
        let second = names.child(ThreadId::MAIN, 1);
        let grandchild = names.child(second, 0);
        assert_eq!(names.thread_name(grandchild), "main.2.1");
        assert_eq!(names.thread_by_name("main.2.1"), Some(grandchild));
        assert_eq!(names.thread_by_name("main.9"), None);
        assert_eq!(names.thread_by_name("main.0"), None);
        assert_eq!(names.child(ThreadId::MAIN, 1), second);
    }

    #[test]
    fn the_order_of_births_does_not_depend_on_who_was_met_first() {
        let by_birth = |lineages: &[&[u32]]| {
            let mut names = Names::default();
            let mut threads: Vec<ThreadId> = lineages.iter().map(|lineage| names.descendant(lineage)).collect();
            threads.sort_by(|a, b| names.order_of_birth(*a, *b));
            threads.into_iter().map(|t| names.thread_name(t)).collect::<Vec<_>>()
        };
        let sorted = ["main", "main.1", "main.1.1", "main.1.2.1", "main.2", "main.2.1"];
        assert_eq!(by_birth(&[&[], &[0], &[1], &[0, 0], &[0, 1, 0], &[1, 0]]), sorted);
        assert_eq!(by_birth(&[&[1, 0], &[0, 1, 0], &[1], &[0, 0], &[], &[0]]), sorted);
    }

    #[test]
    fn what_belongs_to_a_thread_leads_to_it() {
        let mut names = Names::default();
        let child = names.child(ThreadId::MAIN, 0);
        let mutex = names.object(child, 0, ObjectKind::Mutex);
        let life = names.life(child);
        assert_eq!(names.thread_of(life), Some(child));
        assert_eq!(names.thread_of(life.offset(2)), Some(child));
        assert_eq!(names.thread_of(mutex), None);
        assert_eq!(names.thread_of(UNNAMED), None);
    }

    #[test]
    fn objects_of_different_threads_have_different_keys() {
        let mut names = Names::default();
        let mut keys = alloc::collections::BTreeSet::new();
        let lineages: [&[u32]; 9] = [&[], &[0], &[1], &[2], &[3], &[0, 1], &[1, 0], &[1, 1], &[1, 1, 1]];
        for lineage in lineages {
            let thread = names.descendant(lineage);
            for number in 0..100 {
                let object = names.object(thread, number, ObjectKind::File);
                assert!(keys.insert(names.stable_key(object)), "{lineage:?} {number}");
            }
        }
    }

    #[test]
    fn objects_are_named_by_creator_number_and_kind() {
        let mut names = Names::default();
        let mutex = names.object(ThreadId::MAIN, 3, ObjectKind::Mutex);
        let atomic = names.object(ThreadId::MAIN, 3, ObjectKind::Atomic);
        assert_ne!(mutex, atomic);
        assert_eq!(names.object(ThreadId::MAIN, 3, ObjectKind::Mutex), mutex);
        assert_eq!(names.object_name(mutex), "main/mutex#3");
        let channel = names.object(ThreadId::MAIN, 4, ObjectKind::Channel);
        let message = names.part(channel, 2);
        assert_eq!(names.part(channel, 2), message);
        assert_ne!(names.part(channel, 1), message);
    }

    #[test]
    fn births_give_the_same_numbers_elsewhere() {
        let mut names = Names::default();
        let child = names.child(ThreadId::MAIN, 1);
        names.object(child, 2, ObjectKind::Mutex);
        let channel = names.object(ThreadId::MAIN, 0, ObjectKind::Channel);
        names.part(channel, 3);
        names.external(ObjectKind::Once, 77, 0);
        names.child(child, 0);
        let mut other = Names::default();
        for (number, birth, kind) in names.births(0) {
            other.adopt(number, birth, kind);
        }
        assert_eq!(other.object_count(), names.object_count());
        for i in 0..names.object_count() as u32 {
            assert_eq!(other.object_name(ObjectId(i)), names.object_name(ObjectId(i)));
        }
    }
}
