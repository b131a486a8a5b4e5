//! Which object of the model belongs to which object of the program.
//!
//! A mark inside the program's own object says which it is, so that everything that happens to the program's memory happens to
//! the object: it is put back with the memory, freed and used again with it, and touching what is not there crashes as it would.
//! Objects that were never initialised by a call are known by their address, which is the same in every execution.

use crate::engine::{crash, engine};
use crate::lessons::Lesson;
use crate::lifetimes;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use ordain_model::{ObjectId, ObjectKind};
use ordain_wire::{Ending, Event};

/// The upper half of a mark.
const MARK: u64 = 0x4f72_6461 << 32;
/// The upper part of a short mark.
const SHORT_MARK: u32 = 0x4d6 << 21;
const SHORT_MASK: u32 = 0x7ff << 21;

/// Stands for the slot of an object that is on no stack.
const NO_STACK: u32 = u32::MAX;

/// Where objects are.
#[derive(Default)]
pub struct Objects {
    /// Addresses, by number of the object.
    addresses: Vec<u64>,
    /// The slots whose stacks objects are on, by number of the object; [`NO_STACK`] if none.
    stacks: Vec<u32>,
    /// Objects whose end of life matters, by address.
    living: BTreeMap<u64, ObjectId>,
    /// Objects that threads are about to initialise, by address: their memory has no mark yet.
    expected: BTreeMap<u64, ObjectId>,
    /// Objects known by address, generation and kind.
    pub found: BTreeMap<(u64, u32, u8), ObjectId>,
    /// How many objects were found at an address, and in which execution.
    generations: BTreeMap<u64, (u64, u32)>,
    /// Cells and queues of futexes by address, and the execution in which they were last used.
    futexes: BTreeMap<u64, (u64, ObjectId, ObjectId)>,
    /// Sets by what is in them, and the execution in which they were last used.
    sets: BTreeMap<Vec<(ObjectId, u64)>, (u64, ObjectId)>,
    /// Objects that threads are about to use although nobody has initialised them yet.
    doubts: Vec<Doubt>,
    execution: u64,
}

/// An object that a thread is about to use although nobody has initialised it yet.
#[derive(Clone, Copy)]
struct Doubt {
    slot: usize,
    object: ObjectId,
    address: u64,
    place: Place,
}

/// Where the mark of an object is.
#[derive(Clone, Copy)]
enum Place {
    Long(*const u64),
    Short(*const u32),
}

impl Objects {
    /// Begins an execution: no object is there.
    pub fn begin(&mut self) {
        self.execution += 1;
        self.addresses.fill(0);
        self.living.clear();
        self.expected.clear();
        self.doubts.clear();
    }

    /// The object whose end of life matters that is at an address, or was there if nothing was told of its end.
    pub fn living_at(&self, address: u64) -> Option<ObjectId> {
        self.living.get(&address).copied()
    }

    /// An object is about to be initialised: who uses its memory first uses the same object.
    pub fn expect(&mut self, address: u64, object: ObjectId) {
        self.expected.insert(address, object);
    }

    /// Undoes [`Objects::expect`].
    pub fn expect_no_longer(&mut self, address: u64) {
        self.expected.remove(&address);
    }

    fn expected_at(&self, address: u64) -> Option<ObjectId> {
        self.expected.get(&address).copied()
    }

    fn place(&mut self, object: ObjectId, address: u64, kind: ObjectKind) {
        if self.addresses.len() <= object.index() {
            self.addresses.resize(object.index() + 1, 0);
            self.stacks.resize(object.index() + 1, NO_STACK);
        }
        self.addresses[object.index()] = address;
        self.stacks[object.index()] = NO_STACK;
        if has_life(kind) {
            self.living.insert(address, object);
            if let Some(slot) = lifetimes::slot_with_stack(address) {
                self.stacks[object.index()] = slot as u32;
            }
        }
    }

    /// The slot whose stack an object is on.
    pub fn stack(&self, object: ObjectId) -> Option<usize> {
        self.stacks.get(object.index()).copied().filter(|slot| *slot != NO_STACK).map(|slot| slot as usize)
    }

    /// Where an object is; zero if that is not known.
    pub fn address(&self, object: ObjectId) -> u64 {
        self.addresses.get(object.index()).copied().unwrap_or(0)
    }

    /// The first object from `low` on and below `high`, if any.
    pub fn first_within(&self, low: u64, high: u64) -> Option<ObjectId> {
        self.living.range(low..high).next().map(|(_, object)| *object)
    }

    /// Undoes [`Objects::forget`].
    pub fn come_back(&mut self, object: ObjectId, address: u64) {
        self.living.insert(address, object);
        self.addresses[object.index()] = address;
    }

    /// Forgets where an object is: its memory is something else from now on.
    pub fn forget(&mut self, object: ObjectId) {
        let address = self.address(object);
        self.living.remove(&address);
        self.addresses[object.index()] = 0;
    }

    fn is_at(&self, number: u32, address: u64) -> bool {
        self.addresses.get(number as usize) == Some(&address)
    }

    /// What the memory of a futex holds.
    pub fn futex_value(&self, cell: ObjectId) -> u64 {
        let address = self.address(cell);
        // SAFETY: the program waits on this address; if it is not there, it crashes as it would in the kernel's stead.
        unsafe { u64::from((address as *const u32).read_volatile()) }
    }
}

/// The objects that the program has in this execution at some address.
pub fn all() -> impl Iterator<Item = ObjectId> {
    let addresses = &engine().objects.addresses;
    addresses.iter().enumerate().filter(|(_, address)| **address != 0).map(|(number, _)| ObjectId(number as u32))
}

/// Where an object is, if it is one of the program's in this execution.
pub fn address(object: ObjectId) -> Option<u64> {
    engine().objects.addresses.get(object.index()).copied().filter(|address| *address != 0)
}

/// Whether using an object of this kind after its end is a finding. Words of memory have no end.
fn has_life(kind: ObjectKind) -> bool {
    matches!(
        kind,
        ObjectKind::Mutex
            | ObjectKind::RwLock
            | ObjectKind::Condvar
            | ObjectKind::Semaphore
            | ObjectKind::Barrier
            | ObjectKind::Once
            | ObjectKind::Spin
    )
}

/// Makes an object for the program's object at `address`, which a call initialises.
pub fn create(address: u64, kind: ObjectKind, initial: u64) -> ObjectId {
    let e = engine();
    let thread = e.me();
    let object = e.arbiter.create(thread, kind, initial);
    e.log(&Event::Create { thread, kind, initial, object });
    e.objects.place(object, address, kind);
    object
}

/// The object that is known by its address and has not been used in this execution.
pub fn find(address: u64, kind: ObjectKind, initial: u64) -> ObjectId {
    let e = engine();
    let execution = e.objects.execution;
    let entry = e.objects.generations.entry(address).or_insert((0, 0));
    if entry.0 != execution {
        *entry = (execution, 0);
    }
    let generation = entry.1;
    entry.1 += 1;
    let names = e.arbiter.names_mut();
    let found = e.objects.found.entry((address, generation, kind as u8));
    let object = *found.or_insert_with(|| names.external(kind, address, generation));
    e.arbiter.initialise(object, initial);
    e.log(&Event::Found { address, generation, kind, initial, object });
    e.objects.place(object, address, kind);
    object
}

/// The set of these members, which is known by what is in it.
pub fn set_of(members: &[(ObjectId, u64)]) -> ObjectId {
    set_of_kind(members, ObjectKind::Poll)
}

/// The set of these members, which is called something else in messages.
pub fn set_of_kind(members: &[(ObjectId, u64)], kind: ObjectKind) -> ObjectId {
    let e = engine();
    let execution = e.objects.execution;
    if let Some((used, set)) = e.objects.sets.get(members)
        && *used == execution
    {
        return *set;
    }
    let names = e.arbiter.names();
    let words = members.iter().flat_map(|(object, mask)| [names.stable_key(*object), *mask]);
    let key = words.fold(0, ordain_model::names::mix);
    let set = find(key, kind, 0);
    let e = engine();
    for (object, mask) in members {
        e.log(&Event::PollMember { object: *object, mask: *mask });
    }
    e.arbiter.set_members(set, members);
    e.log(&Event::Members { set });
    e.objects.sets.insert(members.to_vec(), (execution, set));
    set
}

/// The object whose mark is at `mark`; found by its address if the mark is that of an object which no call initialised.
pub unsafe fn marked(address: u64, mark: *mut u64, kind: ObjectKind, initial: u64) -> ObjectId {
    crate::children::locks::meet(address, kind);
    // SAFETY: the program passes its object; if that is not there, it crashes as it would.
    let value = unsafe { mark.read_volatile() };
    let e = engine();
    if value & !0xffff_ffff == MARK && e.objects.is_at(value as u32, address) {
        let object = ObjectId(value as u32);
        if e.arbiter.names().kind(object) == kind {
            return object;
        }
    }
    if value != 0 {
        return doubtful(address, kind, Place::Long(mark));
    }
    let object = found(address, kind, initial);
    // SAFETY: as above.
    unsafe { mark.write_volatile(mark_of(object)) };
    object
}

/// The object for memory of a barrier that was never initialised.
pub fn unmarked(address: u64, mark: *mut u64, kind: ObjectKind) -> ObjectId {
    doubtful(address, kind, Place::Long(mark))
}

/// The object for memory that holds something else. Where initialisations matter, another thread may still initialise it until it is used.
fn doubtful(address: u64, kind: ObjectKind, place: Place) -> ObjectId {
    let e = engine();
    if e.is_alone() || !Lesson::Initialisations.is_known(e) {
        invalid(address, kind);
    }
    let object = found(address, kind, 0);
    let e = engine();
    e.objects.doubts.push(Doubt { slot: e.current, object, address, place });
    object
}

/// The running thread has used an object: ends the program if that was never initialised.
pub fn check_doubt(object: ObjectId) {
    let e = engine();
    let slot = e.current;
    let Some(at) = e.objects.doubts.iter().position(|doubt| doubt.slot == slot && doubt.object == object) else {
        return;
    };
    let Doubt { address, place, .. } = e.objects.doubts.swap_remove(at);
    // SAFETY: the program's object, which it has just used.
    let is_marked = unsafe {
        match place {
            Place::Long(mark) => mark.read_volatile() == mark_of(object),
            Place::Short(mark) => mark.read_volatile() == short_mark_of(object),
        }
    };
    if !is_marked {
        invalid(address, e.arbiter.names().kind(object));
    }
}

/// The object for memory that holds nothing: the one that a thread is about to initialise, or one that is known by its address.
fn found(address: u64, kind: ObjectKind, initial: u64) -> ObjectId {
    let e = engine();
    let expected = e.objects.expected_at(address).filter(|object| e.arbiter.names().kind(*object) == kind);
    expected.unwrap_or_else(|| find(address, kind, initial))
}

/// What marks the program's object as this one.
pub fn mark_of(object: ObjectId) -> u64 {
    MARK | u64::from(object.0)
}

/// As [`mark_of`], for objects of four bytes.
pub fn short_mark_of(object: ObjectId) -> u32 {
    SHORT_MARK | object.0
}

/// As [`marked`], for objects of four bytes. `fresh` is what they hold before their first use.
pub unsafe fn marked_short(word: *mut u32, kind: ObjectKind, fresh: u32) -> ObjectId {
    crate::children::locks::meet(word as u64, kind);
    // SAFETY: the program passes its object.
    let value = unsafe { word.read_volatile() };
    let e = engine();
    if value & SHORT_MASK == SHORT_MARK && e.objects.is_at(value & !SHORT_MASK, word as u64) {
        return ObjectId(value & !SHORT_MASK);
    }
    if value != fresh {
        return doubtful(word as u64, kind, Place::Short(word));
    }
    let object = found(word as u64, kind, 0);
    // SAFETY: as above.
    unsafe { word.write_volatile(short_mark_of(object)) };
    object
}

/// Objects of four bytes that hold what the C library expects there, as long as this lives.
pub struct Lent(Vec<(*mut u32, u32)>);

/// Lets the C library's functions understand once flags and spin locks: a child process is made, and finds them so.
pub fn lend() -> Lent {
    let e = engine();
    let mut lent = Vec::new();
    for (number, address) in e.objects.addresses.iter().enumerate().filter(|(_, address)| **address != 0) {
        let object = ObjectId(number as u32);
        let is_set = e.arbiter.value(object);
        let value = match e.arbiter.names().kind(object) {
            ObjectKind::Once if is_set == 1 => crate::sync::COMPLETE,
            ObjectKind::Once => 0,
            ObjectKind::Spin => u32::from(is_set == 0) * crate::sync::UNLOCKED,
            _ => continue,
        };
        let mark = short_mark_of(object);
        if crate::sys::read_word(*address) == Some(mark) {
            // SAFETY: the memory is there, and holds our mark.
            unsafe { (*address as *mut u32).write_volatile(value) };
            lent.push((*address as *mut u32, mark));
        }
    }
    Lent(lent)
}

impl Lent {
    /// In the program itself: takes them back.
    pub fn take_back(self) {
        for (word, mark) in self.0 {
            // SAFETY: nobody else has run since.
            unsafe { word.write_volatile(mark) };
        }
    }

    /// In the child: they stay so. What is known of them is the program's, and not to be freed.
    pub fn keep(self) {
        core::mem::forget(self.0);
    }
}

/// The cell and the queue of a futex.
pub fn futex(address: u64) -> (ObjectId, ObjectId) {
    let e = engine();
    let execution = e.objects.execution;
    if let Some((used, cell, queue)) = e.objects.futexes.get(&address)
        && *used == execution
    {
        return (*cell, *queue);
    }
    let cell = find(address, ObjectKind::Atomic, 0);
    let queue = find(address, ObjectKind::Futex, 0);
    engine().objects.futexes.insert(address, (execution, cell, queue));
    (cell, queue)
}

fn invalid(address: u64, kind: ObjectKind) -> ! {
    let message = format_args!(
        "a {} was used whose memory holds something else: it was never initialised, or it was freed or \
        overwritten",
        kind.name()
    );
    end_at(address, message)
}

/// Ends the program, in which the object at `address` was used although it is none.
pub fn end_at(address: u64, message: core::fmt::Arguments<'_>) -> ! {
    crash(Ending::InvalidObject, 0, address, message)
}
