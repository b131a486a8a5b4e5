//! Queues and semaphores of the kernel that threads of one process may share: those of System V, and queues of POSIX.
//!
//! A call that would wait is made so that it does not; if there is nothing, its thread waits until something has been done to the queue or
//! the semaphores, and tries again. The word of such an object has one bit, which moves with each change.

use super::{files, numbers, object};
use crate::descriptors;
use crate::engine::{self, engine, step};
use crate::kernel;
use crate::sys::{call, syscall6};
use crate::time;
use crate::unmodelled::{self, Unmodelled};
use core::ffi::c_int;
use libc::{EAGAIN, ETIMEDOUT, IPC_NOWAIT, timespec};
use ordain_model::names::mix;
use ordain_model::{Member, ObjectId, Operation, Outcome, Wait};

/// Keys of the objects: one for all names and numbers, and one for each queue or set.
const NAMES: u64 = 0x6970_636e;
const SEMAPHORES: u64 = 0x7365_6d73;
const MESSAGES: u64 = 0x6d73_6773;
const QUEUE: u64 = 0x6d71_7565;
/// Versions that are told apart.
const VERSIONS: u32 = 32;
const NO_MESSAGE: isize = -(libc::ENOMSG as isize);

/// Whether a system call is about queues, semaphores or shared memory of the kernel.
pub(super) fn is_one(number: i64) -> bool {
    matches!(
        number,
        libc::SYS_semget
            | libc::SYS_semop
            | libc::SYS_semtimedop
            | libc::SYS_semctl
            | libc::SYS_msgget
            | libc::SYS_msgsnd
            | libc::SYS_msgrcv
            | libc::SYS_msgctl
            | libc::SYS_shmget
            | libc::SYS_shmat
            | libc::SYS_shmdt
            | libc::SYS_shmctl
            | libc::SYS_mq_open
            | libc::SYS_mq_unlink
            | libc::SYS_mq_timedsend
            | libc::SYS_mq_timedreceive
            | libc::SYS_mq_getsetattr
    )
}

/// An object that threads wait for a change of.
pub(super) fn waited(key: u64) -> ObjectId {
    object(key, || 1)
}

/// Orders a call with all others on the same object.
fn order(object: ObjectId) {
    if engine().is_alone() {
        return;
    }
    let set = crate::objects::set_of(&[(object, Member::WRITE)]);
    step(Operation::Access { set, looks: false });
}

/// Orders a call on an open queue with all others on it, and with who polls it.
fn order_queue(fd: c_int, object: ObjectId) {
    super::order(|touched| {
        numbers::add_use(touched, fd);
        touched.add(object, Member::WRITE);
        if let Some(polled) = descriptors::queue_object(fd) {
            touched.add(polled, Member::WRITE | Member::TELL);
        }
    });
    numbers::learn_if_closed(fd);
}

/// Makes a call on an open queue that does not wait, as a step, until it has something or gives up.
fn retry_queue(fd: c_int, Waiting { waits, limit, restarts }: Waiting, mut call: impl FnMut() -> isize) -> isize {
    numbers::look_at_numbers();
    let object = queue(fd);
    let nothing = -(if waits { ETIMEDOUT } else { EAGAIN } as isize);
    loop {
        order_queue(fd, object);
        let result = call();
        if result >= 0 {
            changed(object);
            descriptors::queue_changed(fd);
        }
        if result != nothing || !waits {
            return result;
        }
        if let Err(error) = await_change(object, limit, restarts) {
            return -(error as isize);
        }
    }
}

/// Something was changed: whoever waits looks again.
pub(super) fn changed(object: ObjectId) {
    let word = engine().arbiter.value(object);
    let next = if word >> (VERSIONS - 1) & 1 == 1 { 1 } else { word << 1 };
    engine().set_value(object, next.max(1));
}

/// Waits for a change, at most so long unless zero; an error if it gives up. `restarts` if it goes on behind handlers that want that.
pub(super) fn await_change(object: ObjectId, limit: u64, restarts: bool) -> Result<(), c_int> {
    let mask = ((1u64 << VERSIONS) - 1) & !engine().arbiter.value(object);
    let wait = if limit != 0 { Wait::Timed } else { Wait::Interruptible };
    if wait == Wait::Timed {
        time::wait_at_most(limit);
    }
    match engine::wait(Operation::Await { object, mask, wait }, restarts)? {
        Outcome::FAILED => {
            time::advance(limit);
            Err(ETIMEDOUT)
        }
        _ => Ok(()),
    }
}

/// How a call waits.
#[derive(Clone, Copy)]
struct Waiting {
    /// Whether it does.
    waits: bool,
    /// At most so long, unless zero.
    limit: u64,
    /// Whether it goes on behind handlers that want that: calls on queues of POSIX do, those of System V never.
    restarts: bool,
}

/// Makes a call that does not wait until it has something, or gives up with what it says then.
fn retry(
    object: ObjectId,
    Waiting { waits, limit, restarts }: Waiting,
    nothing: isize,
    mut call: impl FnMut() -> isize,
) -> isize {
    order(object);
    loop {
        let result = call();
        if result != nothing {
            if result >= 0 {
                changed(object);
            }
            return result;
        }
        if !waits {
            return result;
        }
        if let Err(error) = await_change(object, limit, restarts) {
            return -(error as isize);
        }
    }
}

/// How long until a time of the program's, or how long it is.
unsafe fn span(time: *const timespec, absolute: bool) -> Option<u64> {
    // SAFETY: the program's argument.
    let time = unsafe { time.as_ref() }?;
    let whole = (time.tv_sec.max(0) as u64).saturating_mul(1_000_000_000).saturating_add(time.tv_nsec.max(0) as u64);
    Some(if absolute { whole.saturating_sub(time::now()) } else { whole })
}

/// Makes such a call.
pub(super) unsafe fn system_call(number: i64, [a, b, c, d, e, f]: [usize; 6]) -> isize {
    let waited = |kind: u64| waited(identity(kind, a as u64));
    // SAFETY: what the program asks for.
    unsafe {
        match number {
            libc::SYS_semop | libc::SYS_semtimedop => {
                // The flag to give up at once is with each operation: a limit of nothing gives up with another error.
                let operations = core::slice::from_raw_parts(b as *const libc::sembuf, c.min(512));
                let waits = !operations.iter().any(|o| o.sem_flg & IPC_NOWAIT as i16 != 0);
                let limit = if number == libc::SYS_semtimedop { span(d as *const timespec, false) } else { None };
                let now = timespec { tv_sec: 0, tv_nsec: 0 };
                let result = retry(
                    waited(SEMAPHORES),
                    Waiting { waits: waits && limit != Some(0), limit: limit.unwrap_or(0), restarts: false },
                    -(EAGAIN as isize),
                    || call!(libc::SYS_semtimedop, a, b, c, &raw const now),
                );
                if result == -(ETIMEDOUT as isize) { -(EAGAIN as isize) } else { result }
            }
            libc::SYS_semctl | libc::SYS_msgctl => {
                let object = waited(if number == libc::SYS_semctl { SEMAPHORES } else { MESSAGES });
                order(object);
                let result = syscall6(number, a, b, c, d, e, f);
                if result >= 0 {
                    changed(object);
                }
                result
            }
            libc::SYS_msgsnd => {
                let waits = d as c_int & IPC_NOWAIT == 0;
                retry(waited(MESSAGES), Waiting { waits, limit: 0, restarts: false }, -(EAGAIN as isize), || {
                    call!(libc::SYS_msgsnd, a, b, c, d as c_int | IPC_NOWAIT)
                })
            }
            libc::SYS_msgrcv => {
                let waits = e as c_int & IPC_NOWAIT == 0;
                retry(waited(MESSAGES), Waiting { waits, limit: 0, restarts: false }, NO_MESSAGE, || {
                    call!(libc::SYS_msgrcv, a, b, c, d, e as c_int | IPC_NOWAIT)
                })
            }
            libc::SYS_mq_timedsend | libc::SYS_mq_timedreceive => {
                let flags = call!(libc::SYS_fcntl, a, libc::F_GETFL);
                let waits = flags >= 0 && flags & libc::O_NONBLOCK as isize == 0;
                let limit = span(e as *const timespec, true);
                // A time that is over: the kernel gives up at once.
                let past = timespec { tv_sec: 0, tv_nsec: 0 };
                let waiting = Waiting { waits: waits && limit != Some(0), limit: limit.unwrap_or(0), restarts: true };
                retry_queue(a as c_int, waiting, || call!(number, a, b, c, d, &raw const past))
            }
            libc::SYS_mq_getsetattr => {
                numbers::look_at_numbers();
                order_queue(a as c_int, queue(a as c_int));
                syscall6(number, a, b, c, d, e, f)
            }
            libc::SYS_shmat => {
                unmodelled::note_if_shared(Unmodelled::SharedMemory);
                order(object(NAMES, || 0));
                kernel::make(number, [a, b, c, d, e, f])
            }
            _ => {
                order(object(NAMES, || 0));
                let result = syscall6(number, a, b, c, d, e, f);
                match number {
                    libc::SYS_semget if result >= 0 => meet(SEMAPHORES, result as u64, a as u64),
                    libc::SYS_msgget if result >= 0 => meet(MESSAGES, result as u64, a as u64),
                    libc::SYS_mq_open if result >= 0 => {
                        let text = core::ffi::CStr::from_ptr(a as *const core::ffi::c_char).to_bytes();
                        let name = text.iter().fold(1, |h, c| mix(h, u64::from(*c)));
                        numbers::opened(result as c_int);
                        meet(QUEUE, inode(result as c_int), name);
                        descriptors::adopt_queue(result as c_int, mix(QUEUE, name));
                    }
                    _ => {}
                }
                result
            }
        }
    }
}

/// A number that the kernel has given out stands for this name of the program's. What has none is known by how many there were before.
fn meet(kind: u64, number: u64, name: u64) {
    let count = files().met.len() as u64;
    let name = if name == libc::IPC_PRIVATE as u64 { mix(count, kind) } else { name };
    files().met.entry((kind, number)).or_insert(mix(kind, name));
}

/// What a number of the kernel's stands for: a key that is the same in every execution.
fn identity(kind: u64, number: u64) -> u64 {
    files().met.get(&(kind, number)).copied().unwrap_or_else(|| mix(kind, number))
}

fn inode(fd: c_int) -> u64 {
    // SAFETY: zeroes are valid, and the kernel fills it in.
    unsafe {
        let mut status: libc::stat = core::mem::zeroed();
        if call!(libc::SYS_fstat, fd, &raw mut status) < 0 { 0 } else { status.st_ino }
    }
}

/// The object of an open queue.
fn queue(fd: c_int) -> ObjectId {
    waited(identity(QUEUE, inode(fd)))
}
