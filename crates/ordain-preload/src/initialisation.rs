//! Initialising objects that other threads may use already.
//!
//! An object that is initialised before others can know of it has the name of who made it, and that is no step. But a thread can be made
//! first and the semaphore that it posts to afterwards; then the order matters, and what comes first uses memory that holds nothing yet. So it
//! is watched whether initialising an object happens before every use of it by others. The first that does not teaches the search
//! that initialisations matter: it begins again, objects that are initialised beside other threads are known by their addresses, and
//! initialising them is a step.

use crate::engine::{Engine, engine, step};
use crate::lessons::Lesson;
use crate::objects;
use alloc::vec::Vec;
use ordain_model::{
    Access, Execution, MemoryOrder, ObjectId, ObjectKind, Operation, ThreadId, Wait, clock, first_state,
};

/// What is known of the initialisations of an execution. Clocks say how many of each thread's happened before.
#[derive(Default)]
pub struct Initialisations {
    /// By thread, how many it has made; nothing is kept while there are none.
    made: Vec<u32>,
    threads: Vec<Vec<u32>>,
    /// By object: what happened before it was last written, and what before it was read since.
    objects: Vec<[Vec<u32>; 2]>,
    /// Whether the last object that was initialised had threads waiting for it, which are forgotten.
    forgets: bool,
    /// By object: who initialised it, and which of its initialisations that was; zero if none.
    born: Vec<(u32, u32)>,
    /// Objects of numbers of descriptors that were given out again.
    numbers: Vec<ObjectId>,
}

/// What a step shows that used something whose initialisation did not happen before.
#[derive(Default)]
struct Late {
    object: bool,
    number: bool,
}

impl Late {
    fn learn(self, e: &mut Engine) {
        if self.object {
            Lesson::Initialisations.learn(e);
        }
        if self.number {
            Lesson::Numbers.learn(e);
        }
    }
}

impl Initialisations {
    /// Begins an execution.
    pub fn begin(&mut self) {
        if !self.made.is_empty() {
            *self = Self::default();
        }
    }

    fn note(&mut self, object: ObjectId, thread: ThreadId) {
        let number = at(&mut self.made, thread.index());
        *number += 1;
        let number = *number;
        *at(at(&mut self.threads, thread.index()), thread.index()) = number;
        *at(&mut self.born, object.index()) = (thread.0, number);
    }

    /// What using an object shows for a thread that knows of these initialisations.
    fn late(&self, object: ObjectId, known: &[u32]) -> Late {
        let (creator, number) = self.born.get(object.index()).copied().unwrap_or_default();
        let is_late = number > known.get(creator as usize).copied().unwrap_or(0);
        let is_number = is_late && self.numbers.contains(&object);
        Late { object: is_late && !is_number, number: is_number }
    }

    /// Takes in the last step of an execution; says whether it used something whose initialisation did not happen before.
    fn follow(&mut self, execution: &Execution) -> Late {
        let Some(number) = execution.steps.len().checked_sub(1) else { return Late::default() };
        let made = &execution.steps[number];
        let thread = made.thread.index();
        let mut known = core::mem::take(at(&mut self.threads, thread));
        let mut late = Late::default();
        let footprint = execution.footprint(number).iter().filter(|access| **access != Access::EVERYTHING);
        for access in footprint.clone() {
            let Late { object, number } = self.late(access.object(), &known);
            (late.object, late.number) = (late.object | object, late.number | number);
        }
        for access in footprint.clone() {
            let [written, read] = at(&mut self.objects, access.object().index());
            join(&mut known, written);
            if access.is_write() {
                join(&mut known, read);
            }
        }
        for access in footprint {
            let [written, read] = at(&mut self.objects, access.object().index());
            if access.is_write() {
                written.clone_from(&known);
                read.clear();
            } else {
                join(read, &known);
            }
        }
        if let Operation::Spawn { child } = made.op {
            at(&mut self.threads, child.index()).clone_from(&known);
        }
        self.threads[thread] = known;
        late
    }
}

/// The item at `index`, which is made if it is not there.
fn at<T: Clone + Default>(list: &mut Vec<T>, index: usize) -> &mut T {
    if list.len() <= index {
        list.resize(index + 1, T::default());
    }
    &mut list[index]
}

fn join(into: &mut Vec<u32>, from: &[u32]) {
    if into.len() < from.len() {
        into.resize(from.len(), 0);
    }
    clock::join(into, from);
}

/// A step is about to be made: takes note whether it initialises an object for which threads wait.
pub fn before_step(e: &mut Engine, thread: ThreadId) {
    if let Some((Operation::Initialise { object, .. }, _)) = e.arbiter.pending(thread) {
        let waits = |op: &Operation| may_wait(op) && op.object() == Some(object);
        let mut alive = e.arbiter.alive().iter().copied();
        e.initialisations.forgets =
            alive.any(|t| e.arbiter.pending(t).is_some_and(|(op, _)| waits(&op)) && e.arbiter.choices(t) == 0);
    }
}

/// A step was made.
pub fn follow(e: &mut Engine) {
    if e.initialisations.made.is_empty() {
        return;
    }
    let late = e.initialisations.follow(e.arbiter.execution());
    late.learn(e);
}

/// The running thread is about to announce an operation. It may never be served, so its step may never come.
pub fn before_announcing(op: &Operation) {
    let e = engine();
    let Some(object) = op.object().filter(|_| !e.initialisations.made.is_empty()) else { return };
    let known = e.initialisations.threads.get(e.me().index()).map_or(&[][..], Vec::as_slice);
    e.initialisations.late(object, known).learn(e);
}

/// A number of a descriptor was given out again, and is this object now. Who uses it without knowing may have meant what it led to before.
pub fn note_number(object: ObjectId) {
    let e = engine();
    if !Lesson::Numbers.is_known(e) {
        let me = e.me();
        e.initialisations.note(object, me);
        e.initialisations.numbers.push(object);
    }
}

/// A call initialises the program's object at `address`; gives the object. Memory is to be changed afterwards.
pub fn initialise(address: u64, kind: ObjectKind, initial: u64) -> ObjectId {
    let e = engine();
    if e.is_alone() {
        return objects::create(address, kind, initial);
    }
    let replaced = e.objects.living_at(address);
    if !Lesson::Initialisations.is_known(e) {
        if replaced.is_some_and(|object| was_used_by_others(e, object)) {
            Lesson::Initialisations.learn(e);
        }
        let object = objects::create(address, kind, initial);
        let e = engine();
        let me = e.me();
        e.initialisations.note(object, me);
        return object;
    }
    let same = replaced.filter(|object| e.arbiter.names().kind(*object) == kind);
    let object = same.unwrap_or_else(|| objects::find(address, kind, 0));
    engine().objects.expect(address, object);
    let (word, param) = first_state(kind, initial);
    step(Operation::Initialise { object, word, param });
    let e = engine();
    e.objects.expect_no_longer(address);
    if e.initialisations.forgets {
        let message = format_args!("a {} was initialised while another thread waited for it", kind.name());
        objects::end_at(address, message);
    }
    object
}

/// Whether a thread can wait for an object in an operation, whatever state that is in.
fn may_wait(op: &Operation) -> bool {
    let waits = |wait: Wait| wait != Wait::Try;
    match *op {
        Operation::Lock { wait, .. }
        | Operation::ReadLock { wait, .. }
        | Operation::WriteLock { wait, .. }
        | Operation::WriteQueue { wait, .. }
        | Operation::Acquire { wait, .. } => waits(wait),
        _ => false,
    }
}

/// The running thread may have to wait for an object. Who waits for one that is initialised meanwhile is forgotten there, so beginning to wait
/// is a step too where initialisations matter.
pub fn begin_wait(op: &Operation) {
    let e = engine();
    let Some(object) = op.object().filter(|_| may_wait(op)) else { return };
    if !e.is_alone() && Lesson::Initialisations.is_known(e) && e.objects.address(object) != 0 {
        step(Operation::Load { cell: object, order: MemoryOrder::SeqCst });
    }
}

/// Whether another thread has initialised or used an object that is still in use as far as the running thread can know, or is about to.
fn was_used_by_others(e: &Engine, object: ObjectId) -> bool {
    let (execution, me) = (e.arbiter.execution(), e.me());
    let is_about_to = |t: &ThreadId| e.arbiter.pending(*t).is_some_and(|(op, _)| op.object() == Some(object));
    if e.arbiter.alive().iter().any(|t| *t != me && is_about_to(t)) {
        return true;
    }
    let (maker, number) = e.initialisations.born.get(object.index()).copied().unwrap_or_default();
    let is_others = number > 0 && maker != me.0;
    let uses = |number: &usize| execution.footprint(*number).iter().any(|access| access.object() == object);
    let mut steps = (0..execution.steps.len()).rev().filter(uses).map(|number| &execution.steps[number]);
    // Who ended its life itself knows that nobody uses it any more, or that is a finding.
    let Some(last) = steps.next() else { return is_others };
    let is_over = matches!(last.op, Operation::Destroy { .. } | Operation::DestroyQueue { .. }) && last.thread == me;
    !is_over && (is_others || last.thread != me || steps.any(|step| step.thread != me))
}
