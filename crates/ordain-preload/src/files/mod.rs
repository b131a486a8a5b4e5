//! Files, paths and what else the kernel keeps for threads to find again: each call that others can notice is a step on the objects
//! that it touches, and is then made.
//!
//! Calls come here as system calls, whoever makes them: the kernel sends back those that the C library makes by itself
//! (`dispatch.rs`), so that `fopen`, `remove` or `readdir` need no functions of their own here. The objects are *names* (a directory and
//! the last part of a path), whose word leads to the *file* behind; *descriptions*, which have a position in a file; *listings* of
//! directories; *numbers* of descriptors; and the *tree*, which decides what paths mean.

mod calls;
mod functions;
mod inheriting;
mod locks;
mod messages;
mod names;
mod numbers;
mod own;
mod path_text;
mod paths;
mod state;

use crate::engine::{engine, step};
use crate::lessons::Lesson;
use crate::objects;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use ordain_model::{Member, ObjectId, ObjectKind, Operation, Outcome};

pub use calls::{is_followed, lock, made_socket, open, order_address, path_key, system_call};
pub use inheriting::{add_children, children_matter, order_child, order_with_children};
pub use locks::{is_lock_command, lock_objects, may_be_locked};
pub use messages::{anyone_waits_for_kernel, serve_from_outside};
pub use numbers::{
    before_close, closed, copied, count_numbers, is_in_use, learn_that_numbers_matter, look_at_numbers, number_object,
    opened, order_file, order_reopening, order_use, take_number, take_number_of,
};
pub use path_text::{descriptor_info_path, descriptor_path};
pub use paths::number_in;
pub use state::{
    after_call, is_shared, learn_that_limits_matter, order_attributes, order_call, order_command, order_opening_with,
    order_state, refuse_command, use_flags, use_limits,
};

/// Everything about files; nothing of it survives an execution.
#[derive(Default)]
struct Files {
    /// Objects that are known by a key, in this execution.
    objects: BTreeMap<u64, ObjectId>,
    /// The paths of names among them.
    named: Vec<Vec<u8>>,
    /// Files by device and number.
    identities: BTreeMap<(u64, u64), ObjectId>,
    /// What is known of descriptors, by number.
    numbers: Vec<Option<numbers::Number>>,
    /// What directories are called really, by what the program calls them.
    directories: BTreeMap<Vec<u8>, Vec<u8>>,
    /// Directories that were made in this execution.
    made: Vec<Vec<u8>>,
    /// Goes up when paths may mean something else.
    version: u64,
    /// Standard output and standard error are no longer what they were.
    redirected: bool,
    /// Files that were locked as a whole, and the objects of all locks.
    whole: Vec<locks::Whole>,
    locks: Vec<ObjectId>,
    /// A file was locked when there was one thread.
    locked: bool,
    /// Numbers that the kernel has given out to queues and sets of semaphores, and the keys of these.
    met: BTreeMap<(u64, u64), u64>,
    /// Calls that wait for them.
    waiting: Vec<messages::Waiter>,
    queue_waits: Vec<messages::QueueWait>,
}

/// In the runtime's heap, so that children of the process in fork mode use the same memory one after the other.
static mut FILES: *mut Files = core::ptr::null_mut();

fn files() -> &'static mut Files {
    // SAFETY: made before the program begins; only the carrier comes here, and no reference is kept across a step.
    unsafe { &mut *FILES }
}

/// Makes what is needed, once.
pub fn prepare() {
    // SAFETY: only the carrier comes here.
    unsafe { FILES = Box::into_raw(Box::default()) };
    state::prepare();
    locks::prepare();
}

/// Begins an execution: no file was touched.
pub fn begin() {
    let version = files().version;
    *files() = Files { version, ..Files::default() };
}

/// Keys of objects that there is one of.
const TREE: u64 = 0x7472_6565;

/// The object of a key, which has this word if it was not touched yet.
fn object(key: u64, initial: impl FnOnce() -> u64) -> ObjectId {
    if let Some(object) = files().objects.get(&key) {
        return *object;
    }
    let word = initial();
    let object = objects::find(key, ObjectKind::File, word);
    files().objects.insert(key, object);
    object
}

/// The object that decides what paths mean: the working directory, directories that are moved, symbolic links.
fn tree() -> ObjectId {
    object(TREE, || 0)
}

/// What a call touches.
#[derive(Default)]
struct Touched {
    members: Vec<(ObjectId, u64)>,
    /// Only looks.
    looks: bool,
    /// Some of it was found by a path.
    by_path: bool,
}

impl Touched {
    fn add(&mut self, object: ObjectId, how: u64) {
        match self.members.iter_mut().find(|m| m.0 == object) {
            Some(member) => member.1 |= how,
            None => self.members.push((object, how)),
        }
    }

    /// Whether paths may mean something else behind it.
    fn moves_paths(&self) -> bool {
        let tree = tree();
        self.members.iter().any(|m| m.0 == tree && m.1 & Member::WRITE != 0)
    }

    /// Orders the call with those of others.
    fn order(&self) -> Outcome {
        if self.members.is_empty() {
            return Outcome::DONE;
        }
        let mut members = self.members.clone();
        add_children(&mut members);
        step(Operation::Access { set: objects::set_of(&members), looks: self.looks })
    }
}

/// Orders a call that touches what `touched` says, asked again if paths or numbers mean something else when its turn has come.
fn order(mut touched: impl FnMut(&mut Touched)) {
    if engine().is_alone() {
        return;
    }
    let mut now = Touched::default();
    touched(&mut now);
    for _ in 0..8 {
        if now.moves_paths() {
            Lesson::Paths.learn(engine());
        }
        let version = files().version;
        now.order();
        if version == files().version {
            return;
        }
        let mut again = Touched::default();
        touched(&mut again);
        if again.members == now.members {
            return;
        }
        if now.by_path || again.by_path {
            Lesson::Paths.learn(engine());
        }
        now = again;
    }
}

/// Orders looking at what paths and numbers lead to, if others change that: what is touched then follows from what happened before, not from who
/// happened to be first.
pub fn look_at_paths() {
    look_at_numbers();
    if Lesson::Paths.is_known(engine()) {
        order(|touched| {
            touched.looks = true;
            touched.add(tree(), Member::READ);
        });
    }
}

/// What calls touch that are about to be made may be something else from now on.
pub fn look_again() {
    turn_version();
}

/// Paths and numbers may mean something else from now on.
fn turn_version() {
    files().version += 1;
}
