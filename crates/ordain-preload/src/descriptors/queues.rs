//! Queues for messages (`mq_open`) as descriptors that are polled. Sending and receiving are in `files/messages.rs`.

use super::{Entry, Kind, descriptors, entry, insert, new_group, object_of, refresh};
use crate::objects;
use core::ffi::c_int;
use ordain_model::names::mix;
use ordain_model::{ObjectId, ObjectKind};

/// What keys of such objects begin with.
const POLLED: u64 = 0x706f_6c6c;

/// A queue was opened. `key` is the same for all descriptors of it, in every execution.
pub fn adopt_queue(fd: c_int, key: u64) {
    let known = descriptors().queues.iter().find(|q| q.0 == key).map(|q| q.1);
    let group = known.unwrap_or_else(|| {
        let group = new_group(objects::find(mix(POLLED, key), ObjectKind::Descriptor, 0));
        descriptors().queues.push((key, group));
        group
    });
    insert(fd, Entry { group: Some(group), ..Entry::new(Kind::Queue) });
    refresh(group);
}

/// The group of a queue.
fn group_of(fd: c_int) -> Option<usize> {
    entry(fd).filter(|e| e.kind == Kind::Queue)?.group
}

/// The object that says what a queue is ready for.
pub fn queue_object(fd: c_int) -> Option<ObjectId> {
    group_of(fd).map(object_of)
}

/// Something was sent to a queue or received from it.
pub fn queue_changed(fd: c_int) {
    group_of(fd).into_iter().for_each(refresh);
}
