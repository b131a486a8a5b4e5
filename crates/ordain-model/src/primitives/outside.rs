//! What comes from outside the threads: descriptors that are ready, signals, cancellation, and the end of the program.
//!
//! Word of a descriptor or of signals: bits that the front end sets after each operation on it. Word of a cancellation: whether the
//! thread is to end, and whether it heeds that. Word of a name: the number of the file that it leads to.

use super::{condvar, served};
use crate::footprint::{Access, Footprint};
use crate::names::{ObjectId, ThreadId};
use crate::operation::{Operation, Outcome, Wait};
use crate::state::{State, View};

/// Bit of a cancellation: the thread is to end.
const CANCEL: u64 = 1;
/// Whether the word of a cancellation asks its thread to end.
pub(crate) fn is_asked_to_end(word: u64) -> bool {
    word & CANCEL != 0
}

/// Bit of a cancellation: the thread does not heed that it is to end.
const HEEDLESS: u64 = 2;

/// What is done to a member of a set, as its mask.
pub struct Member;

impl Member {
    /// In an access: the object is read.
    pub const READ: u64 = 0;
    /// In an access: the object is written.
    pub const WRITE: u64 = 1;
    /// In an access: the object that this one leads to, if it does, is read.
    pub const READ_BEHIND: u64 = 2;
    /// In an access: the object that this one leads to, if it does, is written.
    pub const WRITE_BEHIND: u64 = 4;
    /// In an access: the poll sets that are told of what happens to the object are written.
    pub const TELL: u64 = 16;
    /// In an access: the object is written if it leads nowhere: it is made then.
    pub const MAKE: u64 = 32;
    /// In an access: the object is to be made. If it leads somewhere already, nothing is done, and all objects are read.
    pub const NEW: u64 = 8;
    /// In an access: if the object leads somewhere, it is written together with what it leads to, which is given up.
    pub const GIVE_UP: u64 = 64;
    /// In a poll, besides what is waited for: whoever is served takes something from the object.
    pub const TAKE: u64 = 1 << 63;
}

/// Whether one of the objects has what is waited for.
pub(super) fn ready(set: ObjectId, view: &impl View) -> bool {
    view.fixed().poll(set).iter().any(|(object, mask)| view.word(*object) & mask & !Member::TAKE != 0)
}

/// The poll sets that are told when this is done to a descriptor, and what says which these are.
fn told(object: ObjectId, mask: u64, view: &impl View, out: &mut Footprint) {
    let watchers = view.fixed().param(object);
    if watchers == 0 {
        return;
    }
    let watchers = ObjectId(watchers as u32);
    add(Access::read(watchers), out);
    let set = view.word(watchers);
    if set != 0 {
        let told = view.fixed().poll(ObjectId(set as u32)).iter().filter(|(_, by)| by & mask != 0);
        told.for_each(|(poll, _)| add(Access::write(*poll), out));
    }
}

/// Adds an access; an object that is read and written is written.
fn add(access: Access, out: &mut Footprint) {
    match out.iter_mut().find(|a| a.object() == access.object()) {
        Some(known) if access.is_write() => *known = access,
        Some(_) => {}
        None => out.push(access),
    }
}

/// Whether something is there that an access is to make.
fn is_there(set: ObjectId, view: &impl View) -> bool {
    view.fixed().poll(set).iter().any(|(object, mask)| mask & Member::NEW != 0 && view.word(*object) != 0)
}

/// The accesses to the members of a set.
fn access(set: ObjectId, view: &impl View, out: &mut Footprint) {
    let done = !is_there(set, view);
    for (object, mask) in view.fixed().poll(set) {
        let makes = mask & Member::MAKE != 0 && view.word(*object) == 0;
        let gives_up = mask & Member::GIVE_UP != 0 && view.word(*object) != 0;
        add(super::read_or_write(*object, makes || gives_up || done && mask & Member::WRITE != 0), out);
        if mask & Member::TELL != 0 {
            told(*object, u64::MAX, view, out);
        }
        let behind = view.word(*object);
        if mask & (Member::READ_BEHIND | Member::WRITE_BEHIND | Member::GIVE_UP) != 0 && behind != 0 {
            let writes = gives_up || done && mask & Member::WRITE_BEHIND != 0;
            add(super::read_or_write(ObjectId(behind as u32), writes), out);
        }
    }
}

fn is_cancelled(thread: ThreadId, view: &impl View) -> bool {
    view.word(view.fixed().cancellation(thread)) & (CANCEL | HEEDLESS) == CANCEL
}

/// The access of a thread that looks whether it is to end, and takes notice.
pub(super) fn look(thread: ThreadId, view: &impl View) -> Access {
    super::read_or_write(view.fixed().cancellation(thread), is_cancelled(thread, view))
}

/// Takes notice that the thread is to end, if that is so: it heeds nothing more.
fn take_cancel(thread: ThreadId, state: &mut State) -> bool {
    let cancelled = is_cancelled(thread, state);
    if cancelled {
        let cancellation = state.fixed.cancellation(thread);
        state.set(cancellation, state.word(cancellation) | HEEDLESS);
    }
    cancelled
}

/// Whether a wait looks for cancellation. Who joins a thread that has ended does not; waits with a limit look
/// when they are about to give up; waits on condition variables look in any case.
pub(super) fn looks(op: &Operation, thread: ThreadId, view: &impl View) -> bool {
    match (op, op.wait()) {
        (Operation::Woken { .. }, Some(Wait::Interruptible | Wait::Timed)) => true,
        (Operation::Join { .. }, Some(Wait::Interruptible | Wait::Timed))
        | (Operation::Acquire { .. } | Operation::Await { .. } | Operation::Poll { .. }, Some(Wait::Timed)) => {
            !served(op, thread, view)
        }
        (_, wait) => wait == Some(Wait::Interruptible),
    }
}

/// Whether the thread may end although it was woken: then there is one outcome more.
pub(super) fn may_end_woken(op: &Operation, thread: ThreadId, view: &impl View) -> bool {
    matches!(op, Operation::Woken { wait: Wait::Interruptible | Wait::Timed, .. })
        && condvar::notified(thread, view)
        && is_cancelled(thread, view)
}

/// Whether a wait ends because its thread is to end, whatever it waits for. Who waits for a thread, or in a queue, or
/// with a limit, looks at that first.
pub(super) fn breaks_off_at_once(op: &Operation, thread: ThreadId, view: &impl View) -> bool {
    op.wait() == Some(Wait::Interruptible)
        && !matches!(op, Operation::Join { .. } | Operation::Woken { .. })
        && is_cancelled(thread, view)
}

/// Whether a wait that is not served ends because its thread is to end.
pub(super) fn breaks_off(op: &Operation, thread: ThreadId, view: &impl View) -> bool {
    looks(op, thread, view) && is_cancelled(thread, view)
}

/// What a wait gets instead of what it waits for, because its thread is to end.
pub(super) fn break_off(op: &Operation, thread: ThreadId, choice: u32, state: &mut State) -> Option<Outcome> {
    if !looks(op, thread, state) {
        return None;
    }
    let woken = condvar::notified(thread, state);
    let may_end = !matches!(op, Operation::Woken { .. }) || !woken || choice > 0;
    if !may_end || !take_cancel(thread, state) {
        return None;
    }
    Some(match *op {
        Operation::Woken { queue, .. } => condvar::leave(queue, thread, state),
        _ => Outcome::CANCELLED,
    })
}

pub(super) fn footprint(op: &Operation, thread: ThreadId, view: &impl View, out: &mut Footprint) {
    match *op {
        Operation::Await { object, mask, wait } => {
            let takes = view.word(object) & mask != 0 || wait == Wait::Try;
            out.push(if takes { Access::write(object) } else { Access::read(object) });
            if takes {
                told(object, mask, view, out);
            }
        }
        Operation::Poll { set, wait } => {
            let takes = wait == Wait::Try || ready(set, view);
            let members = view.fixed().poll(set).iter();
            out.extend(members.map(|(o, mask)| super::read_or_write(*o, takes && mask & Member::TAKE != 0)));
        }
        Operation::Access { set, .. } => access(set, view, out),
        Operation::TestCancel => out.push(look(thread, view)),
        Operation::Cancel { thread: target } => out.push(Access::write(view.fixed().cancellation(target))),
        Operation::SetCancel { .. } => out.push(Access::write(view.fixed().cancellation(thread))),
        Operation::End | Operation::Crash => out.push(Access::EVERYTHING),
        _ => {}
    }
}

pub(super) fn apply(op: &Operation, thread: ThreadId, state: &mut State) -> Outcome {
    match *op {
        Operation::Await { object, mask, .. } => super::truth(state.word(object) & mask != 0),
        Operation::Poll { set, .. } => super::truth(ready(set, state)),
        Operation::Access { set, .. } => super::truth(!is_there(set, state)),
        Operation::Cancel { thread: target } => {
            let cancellation = state.fixed.cancellation(target);
            state.set(cancellation, state.word(cancellation) | CANCEL);
            Outcome::DONE
        }
        Operation::TestCancel if take_cancel(thread, state) => Outcome::CANCELLED,
        Operation::SetCancel { heeds } => {
            let cancellation = state.fixed.cancellation(thread);
            let rest = state.word(cancellation) & !HEEDLESS;
            state.set(cancellation, if heeds { rest } else { rest | HEEDLESS });
            Outcome::DONE
        }
        _ => Outcome::DONE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arbiter::{Arbiter, Options};
    use crate::names::ObjectKind;

    fn begun() -> Arbiter {
        let mut arbiter = Arbiter::new(Options::default());
        arbiter.begin();
        arbiter
    }

    fn footprint_of(arbiter: &Arbiter, op: Operation) -> Footprint {
        let mut out = Footprint::new();
        crate::primitives::footprint(&op, ThreadId::MAIN, 0, &arbiter.execution().state, &mut out);
        out
    }

    #[test]
    fn an_access_follows_names_to_files() {
        let mut arbiter = begun();
        let file = arbiter.create(ThreadId::MAIN, ObjectKind::File, 0);
        let name = arbiter.create(ThreadId::MAIN, ObjectKind::File, 0);
        let set = arbiter.create_poll(ThreadId::MAIN, &[(name, Member::MAKE | Member::WRITE_BEHIND)]);
        let op = Operation::Access { set, looks: false };
        assert_eq!(footprint_of(&arbiter, op).as_slice(), [Access::write(name)], "it is made");
        arbiter.set_value(name, u64::from(file.0));
        assert_eq!(footprint_of(&arbiter, op).as_slice(), [Access::read(name), Access::write(file)], "it is there");
    }

    #[test]
    fn what_is_held_is_given_up_and_nothing_else() {
        let mut arbiter = begun();
        let locks = arbiter.create(ThreadId::MAIN, ObjectKind::File, 0);
        let holder = arbiter.create(ThreadId::MAIN, ObjectKind::File, 0);
        let set = arbiter.create_poll(ThreadId::MAIN, &[(holder, Member::GIVE_UP)]);
        let op = Operation::Access { set, looks: false };
        assert_eq!(footprint_of(&arbiter, op).as_slice(), [Access::read(holder)]);
        arbiter.set_value(holder, u64::from(locks.0) | 1 << 40);
        assert_eq!(footprint_of(&arbiter, op).as_slice(), [Access::write(holder), Access::write(locks)]);
    }

    #[test]
    fn what_is_there_already_is_not_made() {
        let mut arbiter = begun();
        let name = arbiter.create(ThreadId::MAIN, ObjectKind::File, 0);
        let set = arbiter.create_poll(ThreadId::MAIN, &[(name, Member::WRITE | Member::NEW)]);
        let op = Operation::Access { set, looks: false };
        assert_eq!(footprint_of(&arbiter, op).as_slice(), [Access::write(name)]);
        arbiter.set_value(name, 1);
        assert_eq!(footprint_of(&arbiter, op).as_slice(), [Access::read(name)]);
    }

    #[test]
    fn who_makes_a_descriptor_ready_writes_the_poll_sets_that_it_is_in() {
        let mut arbiter = begun();
        let pipe = arbiter.create(ThreadId::MAIN, ObjectKind::Descriptor, 3);
        let epoll = arbiter.create(ThreadId::MAIN, ObjectKind::Descriptor, 1);
        let told = arbiter.create_poll(ThreadId::MAIN, &[(epoll, 2)]);
        let write = Operation::Await { object: pipe, mask: 2, wait: Wait::Block };
        let read = Operation::Await { object: pipe, mask: 1, wait: Wait::Block };
        assert!(!footprint_of(&arbiter, write).contains(&Access::write(epoll)), "nobody watches");
        arbiter.set_value(pipe.watchers(), u64::from(told.0));
        assert!(footprint_of(&arbiter, write).contains(&Access::write(epoll)));
        assert!(!footprint_of(&arbiter, read).contains(&Access::write(epoll)), "reading makes nothing ready");
        let set = arbiter.create_poll(ThreadId::MAIN, &[(epoll, 1 | Member::TAKE)]);
        let wait = Operation::Poll { set, wait: Wait::Block };
        assert_eq!(footprint_of(&arbiter, wait).as_slice(), [Access::write(epoll)], "what is told is taken");
    }
}
