//! Waiting for descriptors that other processes have too: children of the program, or who it is connected to.
//!
//! What others do is not under control. Who waits for them first waits for real, as if they were the fastest. If they do nothing for
//! a while, they may wait for other threads, and these go on. Nobody is deadlocked as long as there is a process that may still write
//! or close: when no thread can go on, that is waited for. The launcher has a limit for it.

use super::{ask, descriptors, file_kind, is_group_behind, is_nonblocking, refresh, tell};
use crate::children::family;
use crate::engine::{self, engine};
use crate::files;
use crate::link;
use crate::objects;
use crate::spin;
use crate::sync;
use crate::sys::call;
use crate::threads::State;
use crate::unmodelled::{self, Unmodelled};
use alloc::vec::Vec;
use core::ffi::c_int;
use libc::pollfd;
use ordain_model::{ObjectId, ObjectKind, Operation, Wait};

/// How long others may do nothing, in milliseconds, before threads of the program go on; and how often to look.
const PATIENCE: c_int = 1000;
const SLICE: c_int = 10;
/// After so many decisions others are looked at although threads can go on: these may wait in a loop.
const LOOKS: u32 = 1000;

/// A descriptor, and what is waited for there.
pub(super) type Wanted = (c_int, i16);

/// A thread that waits for other processes.
pub(super) struct Waiter {
    /// Its word is 1 when something is ready.
    object: ObjectId,
    fds: Vec<Wanted>,
    /// Decisions since it waits.
    decisions: u32,
}

/// Waits for one of some descriptors, at most so many milliseconds.
fn poll(fds: &[Wanted], milliseconds: c_int) -> bool {
    let mut list: Vec<pollfd> =
        fds.iter().map(|(fd, events)| pollfd { fd: *fd, events: *events, revents: 0 }).collect();
    // SAFETY: a list of our own.
    unsafe { call!(libc::SYS_poll, list.as_mut_ptr(), list.len(), milliseconds) > 0 }
}

/// Waits until one of some descriptors is ready, or other processes do nothing for a while.
fn gets_ready(fds: &[Wanted]) -> bool {
    let (mut used, mut idle) = (0, 0);
    while idle < PATIENCE {
        if poll(fds, SLICE) {
            return true;
        }
        if gets_on(&mut used) { idle = 0 } else { idle += SLICE }
    }
    false
}

/// Whether processes that the program has made have done anything since the last look.
fn gets_on(used: &mut u64) -> bool {
    let now = family::time_used();
    let gets_on = core::mem::replace(used, now) != now;
    if gets_on {
        engine().beat();
    }
    gets_on
}

/// Waits until a descriptor that is not known is ready, if other processes may have it.
pub(super) fn await_one(fd: c_int, events: i16) -> Result<(), c_int> {
    if may_wait(fd) { await_any(&[(fd, events)]) } else { Ok(()) }
}

/// Whether a call on a descriptor may wait for other processes that have it.
pub(super) fn may_wait(fd: c_int) -> bool {
    descriptors().shared && !matches!(file_kind(fd), libc::S_IFREG | libc::S_IFDIR) && !is_nonblocking(fd)
}

/// Waits until one of some descriptors is ready.
pub(super) fn await_any(fds: &[Wanted]) -> Result<(), c_int> {
    if poll(fds, 0) || gets_ready(fds) {
        return Ok(());
    }
    loop {
        if spin::others_can_go() {
            unmodelled::note(Unmodelled::ChildRuns);
            let object = begin(fds);
            let result = engine::wait(Operation::Await { object, mask: 1, wait: Wait::Interruptible }, true);
            end(object);
            result?;
        }
        if poll(fds, SLICE) {
            return Ok(());
        }
        let mut used = 0;
        gets_on(&mut used);
    }
}

/// Gives other processes the time to make a descriptor ready.
pub(super) fn give_time(fds: &[Wanted]) {
    gets_ready(fds);
}

/// The running thread begins to wait for some descriptors; gives the object whose word tells when one is ready.
pub(super) fn begin(fds: &[Wanted]) -> ObjectId {
    let e = engine();
    let current = e.current;
    let object = match e.slots[current].outside {
        Some(object) => object,
        None => objects::create(0, ObjectKind::Descriptor, 0),
    };
    engine().slots[current].outside = Some(object);
    descriptors().waiters.push(Waiter { object, fds: fds.to_vec(), decisions: 0 });
    object
}

/// It does not wait any more.
pub(super) fn end(object: ObjectId) {
    descriptors().waiters.retain(|w| w.object != object);
    tell(object, 0);
}

/// Tells the model what other processes have done, if nobody can go on without it, or if it is overdue. Waits for it as long as there
/// are such processes.
pub fn look_outside() {
    let d = descriptors();
    if d.waiters.is_empty() && !d.shared {
        return;
    }
    d.waiters.iter_mut().for_each(|w| w.decisions += 1);
    if !engine().arbiter.is_stuck() {
        tell_ready(|w| w.decisions > LOOKS);
        return;
    }
    if !anyone_waits() && !files::anyone_waits_for_kernel() {
        refuse_shared_waits();
        return;
    }
    if files::anyone_waits_for_kernel() {
        unmodelled::note(Unmodelled::ChildRuns);
    }
    unmodelled::note_if_shared(Unmodelled::ChildRuns);
    let mut used = 0;
    loop {
        // Asked first: what such a process has done at last is seen below.
        let more_may_come = !d.waiters.is_empty() || family::any_runs();
        if tell_ready(|_| true) | tell_groups() | files::serve_from_outside() {
            return;
        }
        if !more_may_come {
            refuse_shared_waits();
            return;
        }
        let fds: Vec<Wanted> = d.waiters.iter().flat_map(|w| w.fds.iter().copied()).collect();
        poll(&fds, SLICE);
        gets_on(&mut used);
    }
}

/// Refuses to call it a deadlock if a thread waits for what a child process may do by memory or by a semaphore with a name.
fn refuse_shared_waits() {
    let e = engine();
    let mut waiting = e.slots.iter().filter(|s| s.state == State::Running).filter_map(|s| e.arbiter.pending(s.thread));
    let shares_memory = unmodelled::is_noted(Unmodelled::ChildMemory);
    let shared = waiting.any(|(op, _)| match op.object().map(|object| e.arbiter.names().kind(object)) {
        Some(ObjectKind::Futex) => shares_memory,
        Some(ObjectKind::Semaphore) => sync::has_named_semaphores(),
        _ => false,
    });
    if shared {
        link::refuse(format_args!(
            "threads wait for a child process by shared memory or by a semaphore with a name (sem_open): what it does there is not followed, so \
             nobody knows whether that is a deadlock"
        ));
    }
}

/// Whether a thread waits for a descriptor: others wait for each other, and no process helps them.
fn anyone_waits() -> bool {
    let e = engine();
    let mut waiting = e.slots.iter().filter(|s| s.state == State::Running).filter_map(|s| e.arbiter.pending(s.thread));
    waiting.any(|(op, _)| match op {
        Operation::Await { object, .. } => e.arbiter.names().kind(object) == ObjectKind::Descriptor,
        Operation::Poll { .. } => true,
        _ => false,
    })
}

/// Tells those of the waiting threads that have something to go on with; true if there are any.
fn tell_ready(may: impl Fn(&Waiter) -> bool) -> bool {
    let mut any = false;
    for i in 0..descriptors().waiters.len() {
        let waiter = &descriptors().waiters[i];
        if may(waiter) && waiter.fds.iter().any(|(fd, events)| ask(*fd, *events, 0) != 0) {
            any = true;
            tell(waiter.object, 1);
        }
    }
    any
}

/// Tells threads that have waited since before there were other processes; true if one can go on.
fn tell_groups() -> bool {
    if !descriptors().shared {
        return false;
    }
    for group in 0..descriptors().groups.len() {
        if is_group_behind(group) {
            refresh(group);
        }
    }
    !engine().arbiter.is_stuck()
}
