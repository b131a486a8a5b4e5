//! Futexes: through `syscall`, and raw ones that the kernel sends back to us.

use crate::engine::{step, step_if, step_now};
use crate::link;
use crate::objects;
use crate::signals;
use crate::time::{self, timed_for};
use libc::{EAGAIN, EINTR, ENOSYS, ETIMEDOUT, timespec};
use ordain_model::{ObjectId, Operation, Outcome, Wait};

fn wait_in(cell: ObjectId, queue: ObjectId, expected: u32, wait: Wait) -> i32 {
    let wait = super::early_or(wait);
    if step(Operation::FutexWait { cell, queue, expected: u64::from(expected) }) == Outcome::FAILED {
        return EAGAIN;
    }
    let woken = loop {
        match step_now(Operation::Woken { queue, wait }) {
            Outcome::SIGNALLED => {
                signals::take();
                // Waits for a time never go on.
                if signals::has_broken(wait != Wait::Timed) {
                    // Unless it was woken in the meantime.
                    if step(Operation::Woken { queue, wait: Wait::Try }) == Outcome::FAILED {
                        return EINTR;
                    }
                    return 0;
                }
            }
            woken => break woken,
        }
    };
    match woken {
        Outcome::FAILED if wait == Wait::Timed => ETIMEDOUT,
        _ => 0,
    }
}

/// A futex operation, as the kernel would do it; gives what the system call returns.
pub unsafe fn futex(word: *mut u32, op: i32, value: u32, timeout: usize, word2: *mut u32, value3: u32) -> isize {
    let (cell, queue) = objects::futex(word as u64);
    let chooses = matches!(op & 0x7f, libc::FUTEX_WAIT_BITSET | libc::FUTEX_WAKE_BITSET);
    if chooses && value3 != u32::MAX && value3 != 0 {
        link::refuse(format_args!(
            "the program wakes threads by the bits of a futex (FUTEX_WAKE_BITSET), which is not modelled"
        ));
    }
    // SAFETY: the program's memory.
    unsafe {
        match op & 0x7f {
            libc::FUTEX_WAIT | libc::FUTEX_WAIT_BITSET => {
                let error = if timeout == 0 {
                    wait_in(cell, queue, value, Wait::Block)
                } else {
                    let limit = &*(timeout as *const timespec);
                    let limit = (limit.tv_sec.max(0) as u64).saturating_mul(1_000_000_000) + limit.tv_nsec as u64;
                    let relative = op & 0x7f == libc::FUTEX_WAIT;
                    let span = if relative { limit } else { limit.saturating_sub(time::now()) };
                    timed_for(span, |wait| wait_in(cell, queue, value, wait))
                };
                -(error as isize)
            }
            libc::FUTEX_WAKE | libc::FUTEX_WAKE_BITSET => {
                step(Operation::Notify { queue, count: value.min(i32::MAX as u32) }).0 as isize
            }
            libc::FUTEX_REQUEUE | libc::FUTEX_CMP_REQUEUE => {
                let (_, to) = objects::futex(word2 as u64);
                let requeue = Operation::Requeue { queue, to, count: value, moved: timeout as u32 };
                if op & 0x7f == libc::FUTEX_REQUEUE {
                    return step(requeue).0 as isize;
                }
                match step_if(requeue, Operation::Requeue { queue, to, count: 0, moved: 0 }, word, value3) {
                    Some(outcome) => outcome.0 as isize,
                    None => -(EAGAIN as isize),
                }
            }
            libc::FUTEX_WAKE_OP => {
                let (_, second) = objects::futex(word2 as u64);
                let mut woken = step(Operation::Notify { queue, count: value }).0;
                // It is this thread's turn now, and nobody who was woken has run.
                let old = word2.read_volatile();
                let mut argument = value3 >> 12 & 0xfff;
                if value3 >> 31 != 0 {
                    argument = 1 << (argument & 31);
                }
                let new = match value3 >> 28 & 7 {
                    0 => argument,
                    1 => old.wrapping_add(argument),
                    2 => old | argument,
                    3 => old & !argument,
                    _ => old ^ argument,
                };
                word2.write_volatile(new);
                let (old, compare) = (old as i32, (value3 & 0xfff) as i32);
                let also = match value3 >> 24 & 0xf {
                    0 => old == compare,
                    1 => old != compare,
                    2 => old < compare,
                    3 => old <= compare,
                    4 => old > compare,
                    _ => old >= compare,
                };
                if also {
                    woken += step(Operation::Notify { queue: second, count: timeout as u32 }).0;
                }
                woken as isize
            }
            libc::FUTEX_LOCK_PI | libc::FUTEX_UNLOCK_PI | libc::FUTEX_TRYLOCK_PI => -(ENOSYS as isize),
            _ => -(ENOSYS as isize),
        }
    }
}
