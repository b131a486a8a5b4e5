//! Priorities, policies and processors of threads. Nothing is really scheduled by them.

use super::{Attributes, Processors, change, of, slot_of, slots, state};
use crate::files;
use crate::sys::call;
use core::ffi::c_int;
use libc::{SCHED_BATCH, SCHED_FIFO, SCHED_IDLE, SCHED_OTHER, SCHED_RESET_ON_FORK, SCHED_RR};

const INVALID: isize = -(libc::EINVAL as isize);
const FORBIDDEN: isize = -(libc::EPERM as isize);
/// Whom `ioprio_set` is about: a thread.
const IO_OF_THREAD: usize = 1;

/// What `sched_setattr` and `sched_getattr` exchange, as far as all kernels know it.
#[repr(C)]
#[derive(Clone, Copy)]
struct Scheduling {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    /// Of deadlines.
    times: [u64; 3],
}

/// Whether the process may raise priorities.
pub(super) fn may_raise() -> bool {
    const CAP_SYS_NICE: u32 = 23;
    let header = [0x2008_0522u32, 0];
    let mut sets = [0u32; 6];
    // SAFETY: asks for the capabilities of this process.
    unsafe { call!(libc::SYS_capget, header.as_ptr(), sets.as_mut_ptr()) == 0 && sets[0] & 1 << CAP_SYS_NICE != 0 }
}

/// Answers calls about scheduling of the program's own threads.
pub(super) fn answer(number: i64, [a, b, c, d, ..]: [usize; 6]) -> Option<isize> {
    let thread = || {
        let changes = matches!(
            number,
            libc::SYS_sched_setaffinity
                | libc::SYS_sched_setscheduler
                | libc::SYS_sched_setparam
                | libc::SYS_sched_setattr
                | libc::SYS_ioprio_set
        );
        let number = if matches!(number, libc::SYS_ioprio_set | libc::SYS_ioprio_get) { b } else { a };
        let slot = slot_of(number as c_int)?;
        files::order_attributes(Some(slot), changes);
        Some(slot)
    };
    // SAFETY: structures and variables of the program. What is not there crashes, where the kernel would fail.
    unsafe {
        Some(match number {
            libc::SYS_sched_setaffinity => set_processors(thread()?, b, c as *const u8),
            libc::SYS_sched_getaffinity => get_processors(thread()?, b, c as *mut u8),
            libc::SYS_sched_getscheduler => {
                let own = of(thread()?);
                (own.policy | if own.resets { SCHED_RESET_ON_FORK } else { 0 }) as isize
            }
            libc::SYS_sched_getparam => {
                *(b as *mut c_int) = of(thread()?).priority;
                0
            }
            libc::SYS_sched_setscheduler => set_policy(thread()?, b as c_int, *(c as *const c_int)),
            libc::SYS_sched_setparam => {
                let slot = thread()?;
                set_policy(slot, of(slot).policy, *(b as *const c_int))
            }
            libc::SYS_sched_setattr => {
                let (slot, wanted) = (thread()?, *(b as *const Scheduling));
                let resets = if wanted.flags & 1 != 0 { SCHED_RESET_ON_FORK } else { 0 };
                match set_policy(slot, wanted.policy as c_int | resets, wanted.priority as c_int) {
                    0 if is_real_time(wanted.policy as c_int) => 0,
                    0 => set_nice(slot, wanted.nice),
                    error => error,
                }
            }
            libc::SYS_sched_getattr => get_scheduling(thread()?, b as *mut Scheduling, c, d),
            libc::SYS_setpriority => {
                let nice = (c as c_int).clamp(-20, 19);
                return of_whom(a as u32, b as c_int, true, |slots| {
                    slots.map(|s| set_nice(s, nice)).min().unwrap_or(0)
                });
            }
            libc::SYS_getpriority => {
                return of_whom(a as u32, b as c_int, false, |slots| {
                    20 - slots.map(|s| of(s).nice).min().unwrap_or(0) as isize
                });
            }
            libc::SYS_ioprio_set if a == IO_OF_THREAD => set_io(thread()?, c as c_int),
            libc::SYS_ioprio_get if a == IO_OF_THREAD => of(thread()?).io as isize,
            _ => return None,
        })
    }
}

/// Does something for the thread, or all threads of the group or user, that are meant; `None` if it is about other processes.
fn of_whom(
    which: u32,
    who: c_int,
    changes: bool,
    f: impl Fn(&mut dyn Iterator<Item = usize>) -> isize,
) -> Option<isize> {
    match which {
        libc::PRIO_PROCESS => {
            let slot = slot_of(who)?;
            files::order_attributes(Some(slot), changes);
            Some(f(&mut core::iter::once(slot)))
        }
        libc::PRIO_PGRP | libc::PRIO_USER if who == 0 => {
            files::order_attributes(None, changes);
            Some(f(&mut slots()))
        }
        _ => None,
    }
}

fn is_real_time(policy: c_int) -> bool {
    matches!(policy & !SCHED_RESET_ON_FORK, SCHED_FIFO | SCHED_RR)
}

pub(super) fn set_policy(slot: usize, policy: c_int, priority: c_int) -> isize {
    let resets = policy & SCHED_RESET_ON_FORK != 0;
    let policy = policy & !SCHED_RESET_ON_FORK;
    let valid = match policy {
        SCHED_FIFO | SCHED_RR => (1..=99).contains(&priority),
        SCHED_OTHER | SCHED_BATCH | SCHED_IDLE => priority == 0,
        _ => false,
    };
    if !valid {
        return INVALID;
    }
    if is_real_time(policy) && !state().privileged {
        return FORBIDDEN;
    }
    change(slot, |a| *a = Attributes { policy, priority, resets, ..*a });
    0
}

fn set_nice(slot: usize, nice: c_int) -> isize {
    if nice < of(slot).nice && !state().privileged {
        return -(libc::EACCES as isize);
    }
    change(slot, |a| a.nice = nice);
    0
}

fn set_io(slot: usize, priority: c_int) -> isize {
    let (class, level) = (priority >> 13, priority & 0x1fff);
    match class {
        0 if level != 0 => return INVALID,
        0 | 3 => {}
        1 if !state().privileged => return FORBIDDEN,
        1 | 2 if level < 8 => {}
        _ => return INVALID,
    }
    change(slot, |a| a.io = priority);
    0
}

unsafe fn get_scheduling(slot: usize, out: *mut Scheduling, size: usize, flags: usize) -> isize {
    if size < size_of::<Scheduling>() || flags != 0 {
        return INVALID;
    }
    let own = of(slot);
    let nice = if is_real_time(own.policy) { 0 } else { own.nice };
    // SAFETY: the program has room for it.
    unsafe {
        *out = Scheduling {
            size: size_of::<Scheduling>() as u32,
            policy: own.policy as u32,
            flags: u64::from(own.resets),
            nice,
            priority: own.priority as u32,
            times: [0; 3],
        };
    }
    0
}

pub(super) unsafe fn set_processors(slot: usize, size: usize, from: *const u8) -> isize {
    let mut wanted: Processors = [0; 16];
    let length = size.min(size_of::<Processors>());
    // SAFETY: the program's set, of this size.
    unsafe { core::ptr::copy_nonoverlapping(from, (&raw mut wanted).cast::<u8>(), length) };
    wanted.iter_mut().zip(state().allowed).for_each(|(w, allowed)| *w &= allowed);
    if wanted == [0; 16] {
        return INVALID;
    }
    change(slot, |a| a.processors = wanted);
    0
}

pub(super) unsafe fn get_processors(slot: usize, size: usize, to: *mut u8) -> isize {
    let length = state().length;
    if size < length || !size.is_multiple_of(8) {
        return INVALID;
    }
    let own = of(slot).processors;
    // SAFETY: the program has room for so many bytes.
    unsafe { core::ptr::copy_nonoverlapping((&raw const own).cast::<u8>(), to, length) };
    length as isize
}
