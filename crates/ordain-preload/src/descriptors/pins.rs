//! Calls that wait keep open what they wait on.
//!
//! The kernel looks a number up when a call begins, and the call holds the open file until it returns: closing the number meanwhile does
//! not wake it. So beginning a call is a step of its own, which depends on who closes the number; a descriptor that is closed while
//! calls hold it lives on under a number of ours. Few programs do that, and a step more for every call is too much for the others: the first
//! such closing teaches the search that beginnings matter, and it begins again with that in mind.

use super::{Entry, Kind, change, descriptors, entry, object_of, refresh};
use crate::engine::engine;
use crate::files;
use crate::lessons::Lesson;
use crate::sys::{self, call};
use alloc::vec::Vec;
use core::ffi::c_int;
use ordain_wire::FIRST_OWN_FD;

/// A descriptor that a call holds.
pub(super) struct Pin {
    /// Who makes the call, and below how many handlers.
    slot: usize,
    depth: usize,
    /// The number that the program knows, and the one by which the open file is reached.
    fd: c_int,
    at: c_int,
    pub(super) entry: Entry,
}

fn matter() -> bool {
    Lesson::Beginnings.is_known(engine())
}

/// Who runs now, and below how many handlers.
fn place() -> (usize, usize) {
    let e = engine();
    (e.current, e.slots[e.current].handlers.len())
}

/// Does something that may wait on these descriptors, and holds them meanwhile.
pub(super) fn held<T>(fds: &[c_int], f: impl FnOnce() -> T) -> T {
    release();
    files::look_at_numbers();
    for fd in fds {
        hold(*fd);
    }
    let result = f();
    release();
    result
}

/// The running thread begins a call on a descriptor.
fn hold(fd: c_int) {
    if engine().is_alone() || fd < 0 {
        return;
    }
    // Also if it is closed: a call that begins behind the closing could have begun before. The standard ones are for printing.
    if (matter() || files::children_matter()) && (fd > 2 || entry(fd).is_some()) {
        files::order_use(fd);
    }
    let Some(entry) = entry(fd).filter(|e| e.group.is_some() || matches!(e.kind, Kind::Epoll(_))) else { return };
    let (slot, depth) = place();
    descriptors().pins.push(Pin { slot, depth, fd, at: fd, entry });
}

/// The running thread lets go of what its calls hold: of the last one, or of one that was left by a jump.
fn release() {
    let (slot, depth) = place();
    while let Some(i) = descriptors().pins.iter().position(|p| p.slot == slot && p.depth >= depth) {
        let pin = descriptors().pins.remove(i);
        if pin.at == pin.fd {
            continue;
        }
        if let Some(group) = pin.entry.group {
            change(object_of(group));
            descriptors().groups[group].ends[pin.entry.end].retain(|fd| *fd != pin.at);
        }
        close(pin.at);
        pin.entry.group.into_iter().for_each(refresh);
    }
}

fn close(own: c_int) {
    // SAFETY: a descriptor of our own.
    unsafe { call!(sys::SYS_close, own) };
}

/// The number by which the call of the running thread reaches a descriptor that it holds, and what that is.
pub(super) fn reached(fd: c_int) -> (c_int, Option<Entry>) {
    let (slot, depth) = place();
    let pin = descriptors().pins.iter().find(|p| (p.slot, p.depth, p.fd) == (slot, depth, fd) && p.at != fd);
    pin.map_or_else(|| (fd, entry(fd)), |pin| (pin.at, Some(pin.entry)))
}

/// A number is about to be closed, or to lead to something else: calls of other threads that hold it go on without it.
pub(super) fn keep(fd: c_int) {
    let Some(known) = entry(fd) else { return };
    let slot = engine().current;
    let mut held: Vec<usize> = Vec::new();
    for (number, pin) in descriptors().pins.iter().enumerate() {
        let same = (pin.entry.kind, pin.entry.group) == (known.kind, known.group);
        if pin.slot != slot && pin.fd == fd && pin.at == fd && same {
            held.push(number);
        }
    }
    if held.is_empty() {
        return;
    }
    if !matter() {
        Lesson::Beginnings.learn(engine());
        return;
    }
    for number in held {
        // SAFETY: a copy of our own of the program's descriptor.
        let own = unsafe { call!(sys::SYS_fcntl, fd, libc::F_DUPFD_CLOEXEC, FIRST_OWN_FD) } as c_int;
        if own < 0 {
            crate::link::refuse(format_args!(
                "there is no number for a descriptor that is closed while a thread waits on it"
            ));
        }
        let d = descriptors();
        d.pins[number].at = own;
        if let Some(group) = known.group {
            d.groups[group].ends[known.end].push(own);
        }
        if let Kind::Epoll(set) = known.kind {
            d.epolls[set].fd = own;
        }
    }
}

/// Begins an execution: no call holds anything.
pub(super) fn begin() {
    for pin in descriptors().pins.drain(..) {
        if pin.at != pin.fd {
            close(pin.at);
        }
    }
}
