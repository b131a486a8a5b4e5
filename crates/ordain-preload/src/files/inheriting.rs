//! Making child processes: a child has what the process has at that moment, and sees what others have done by then.
//!
//! So making one is a step that all calls depend on that are followed here. Few programs make children while there are other threads: the
//! first that does teaches the search that it matters, and then every such call reads one object more, which making a child writes. Pipes,
//! sockets and locks are objects of their own; a child that is made reads them.
//!
//! From then on the kernel alone knows what becomes of pipes and sockets that a child has too. What threads still do to one of them is in order.

use super::{Touched, object, order};
use crate::descriptors;
use crate::engine::engine;
use crate::lessons::Lesson;
use crate::objects;
use crate::signals;
use alloc::vec::Vec;
use ordain_model::{Member, ObjectId, Operation};

const CHILDREN: u64 = 0x6368_696c;

/// The object that making a child process writes.
pub(super) fn children() -> ObjectId {
    object(CHILDREN, || 0)
}

/// Whether child processes are made beside other threads.
pub fn children_matter() -> bool {
    Lesson::Children.is_known(engine())
}

/// Adds that a child process which is made earlier or later would see the difference.
pub fn add_children(members: &mut Vec<(ObjectId, u64)>) {
    if children_matter() {
        let children = children();
        if !members.iter().any(|m| m.0 == children) {
            members.push((children, Member::READ));
        }
    }
}

/// Orders a change that a child process would have a copy of, and that nothing else orders with it.
pub fn order_with_children() {
    let mut members = Vec::new();
    add_children(&mut members);
    if !members.is_empty() && !engine().is_alone() {
        crate::engine::step(Operation::Access { set: objects::set_of(&members), looks: false });
    }
}

/// Orders making a child process with all that it can see; it has `locks` as they are then.
pub fn order_child(mut locks: impl FnMut() -> Vec<ObjectId>) {
    if engine().is_alone() {
        return;
    }
    Lesson::Children.learn(engine());
    order(|touched| {
        touched.add(children(), Member::WRITE);
        descriptors::all_objects().for_each(|object| touched.add(object, Member::READ));
        signals::actions().into_iter().for_each(|object| touched.add(object, Member::READ));
        locks().into_iter().for_each(|lock| touched.add(lock, Member::READ));
    });
}

/// Adds the use of a descriptor that only the kernel knows any more, because a child process has or had it too.
pub(super) fn add_adrift(touched: &mut Touched, fd: core::ffi::c_int) {
    if !descriptors::is_adrift(fd) {
        return;
    }
    match descriptors::adrift_object(fd) {
        Some(object) => {
            touched.add(object, Member::WRITE);
            touched.add(children(), Member::READ);
        }
        // A copy, or something that came later: it may be any of them.
        None => touched.add(children(), Member::WRITE),
    }
}
