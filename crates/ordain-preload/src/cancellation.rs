//! Cancellation: asking threads to end, and the points at which they do.
//!
//! Which functions are such points was tried out with the C library (2.36): with a thread that is to end, then the call. Functions
//! that wait for something that the model knows look by themselves, in the very step. The others look before they do anything:
//! their stubs call [`ordain_cancellation_point`]. Programs that are not linked with `pthread_cancel` pay nothing for it.
//!
//! Nobody is cancelled inside functions that the C library runs by itself until they read, write or open something, such as those of stdio.
//! [`note_inside`] takes note of threads that were there and that somebody cancels.

use crate::context::{interpose, interpose_passing};
use crate::engine::{engine, step, step_now};
use crate::link;
use crate::real::call_real;
use crate::signals;
use crate::threads::{slot_of, unwind_thread};
use crate::unmodelled::{self, Unmodelled};
use core::ffi::{c_int, c_void};
use libc::{EINVAL, ESRCH};
use ordain_model::{Operation, Outcome, Wait};

/// 1 if the program can cancel threads.
pub static mut ORDAIN_CANCELS: u8 = 0;

/// When a function is a cancellation point.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Point {
    /// Whatever its arguments are.
    Always = 0,
    /// If its second argument is a command that waits for a record lock.
    Locking = 1,
    /// If its second argument is the command of `lockf` that waits.
    LockingFile = 2,
    /// If the time in its second argument is valid.
    Timed = 3,
    /// Not at all, or it looks by itself.
    Never = 4,
}

/// Values of arguments, which the C library names with prefixes.
const F_LOCK: c_int = 1;
const ENABLE: c_int = 0;
const DISABLE: c_int = 1;
const DEFERRED: c_int = 0;
const ASYNCHRONOUS: c_int = 1;

/// Functions that look before they do anything.
const ALWAYS: &[&str] = &[
    "__close",
    "__connect",
    "__open",
    "__open64",
    "__open64_2",
    "__open_2",
    "__openat64_2",
    "__openat_2",
    "__poll",
    "__poll_chk",
    "__ppoll_chk",
    "__read",
    "__read_chk",
    "__recv_chk",
    "__recvfrom_chk",
    "__select",
    "__send",
    "__waitpid",
    "__write",
    "accept",
    "accept4",
    "clock_nanosleep",
    "close",
    "connect",
    "copy_file_range",
    "creat",
    "creat64",
    "epoll_pwait",
    "epoll_pwait2",
    "epoll_wait",
    "eventfd_read",
    "eventfd_write",
    "fallocate",
    "fallocate64",
    "fdatasync",
    "fopen",
    "fopen64",
    "fsync",
    "getrandom",
    "mq_receive",
    "mq_send",
    "mq_timedreceive",
    "mq_timedsend",
    "msgrcv",
    "msgsnd",
    "msync",
    "nanosleep",
    "open",
    "open64",
    "openat",
    "openat64",
    "poll",
    "ppoll",
    "pread",
    "pread64",
    "preadv",
    "preadv2",
    "preadv64",
    "preadv64v2",
    "pselect",
    "pwrite",
    "pwrite64",
    "pwritev",
    "pwritev2",
    "pwritev64",
    "pwritev64v2",
    "read",
    "readv",
    "recv",
    "recvfrom",
    "recvmmsg",
    "recvmsg",
    "select",
    "send",
    "sendmmsg",
    "sendmsg",
    "sendto",
    "sigtimedwait",
    "sleep",
    "splice",
    "sync_file_range",
    "system",
    "tcdrain",
    "tee",
    "thrd_sleep",
    "usleep",
    "vmsplice",
    "wait",
    "wait3",
    "wait4",
    "waitid",
    "waitpid",
    "write",
    "writev",
];

const fn is_same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut i = 0;
    while i < a.len() && i < b.len() && a[i] == b[i] {
        i += 1;
    }
    i == a.len() && i == b.len()
}

/// When the function of a name is a cancellation point at its stub.
pub const fn point(name: &str) -> Point {
    let mut i = 0;
    while i < ALWAYS.len() {
        if is_same(ALWAYS[i], name) {
            return Point::Always;
        }
        i += 1;
    }
    if is_same(name, "fcntl") || is_same(name, "fcntl64") || is_same(name, "__fcntl") {
        Point::Locking
    } else if is_same(name, "lockf") || is_same(name, "lockf64") {
        Point::LockingFile
    } else if is_same(name, "sem_timedwait") {
        Point::Timed
    } else {
        Point::Never
    }
}

/// What stubs compare [`ORDAIN_CANCELS`] with: never equal for functions that are no cancellation points.
pub const fn flag(name: &str) -> u8 {
    if matches!(point(name), Point::Never) { u8::MAX } else { 1 }
}

/// The program is about to begin: finds out whether it can cancel threads.
pub fn prepare() {
    // SAFETY: only the carrier comes here.
    unsafe { ORDAIN_CANCELS = u8::from(signals::is_linked(&[c"pthread_cancel"])) };
}

/// Whether the program can cancel threads.
pub fn is_possible() -> bool {
    // SAFETY: a number that is set before the program begins.
    unsafe { ORDAIN_CANCELS != 0 }
}

interpose_passing! {
    copy_file_range; creat; creat64; fallocate; fallocate64; fdatasync; fsync; lockf; lockf64; mq_receive; mq_send;
    mq_timedreceive; mq_timedsend; msync; preadv; preadv2;
    preadv64; preadv64v2; pwritev; pwritev2; pwritev64; pwritev64v2; recvmmsg; sendmmsg; splice; sync_file_range; tcdrain;
    tee; vmsplice;
}

interpose! {
    pthread_cancel => cancel;
    pthread_setcancelstate => set_state;
    pthread_setcanceltype => set_type;
    pthread_testcancel => test;
    __pthread_register_cancel_defer => defer;
    __pthread_unregister_cancel_restore => restore;
}

/// Called by stubs of functions that are cancellation points, with the arguments of the call.
pub unsafe extern "C" fn ordain_cancellation_point(second: usize, kind: u8) {
    let is_point = match kind {
        k if k == Point::Locking as u8 => matches!(second as c_int, libc::F_SETLKW | libc::F_OFD_SETLKW),
        k if k == Point::LockingFile as u8 => second as c_int == F_LOCK,
        // SAFETY: the program's argument.
        k if k == Point::Timed as u8 => unsafe {
            (0..1_000_000_000).contains(&(*(second as *const libc::timespec)).tv_nsec)
        },
        _ => true,
    };
    if is_point {
        look();
    }
}

/// A point at which the running thread may be cancelled.
pub fn look() {
    let e = engine();
    if is_possible() && !e.slots[e.current].cancel_disabled {
        step(Operation::TestCancel);
    }
}

/// The running thread is in a function of the C library that may be a point at which it is cancelled. It counts whoever asks for that, before
/// or after: nothing orders the two.
pub fn note_inside() {
    let e = engine();
    let slot = &mut e.slots[e.current];
    if !slot.cancel_disabled {
        slot.cancel_inside = true;
        if slot.cancel_asked {
            unmodelled::note(Unmodelled::InnerPoints);
        }
    }
}

/// The C library makes a system call by itself: perhaps in a function that is such a point. Those that are none have the same calls.
pub fn note_system_call(number: i64) {
    let may_be_one = matches!(
        number,
        libc::SYS_read
            | libc::SYS_readv
            | libc::SYS_pread64
            | libc::SYS_write
            | libc::SYS_writev
            | libc::SYS_pwrite64
            | libc::SYS_open
            | libc::SYS_openat
            | libc::SYS_close
            | libc::SYS_connect
            | libc::SYS_accept
            | libc::SYS_accept4
            | libc::SYS_sendto
            | libc::SYS_sendmsg
            | libc::SYS_recvfrom
            | libc::SYS_recvmsg
            | libc::SYS_poll
            | libc::SYS_ppoll
            | libc::SYS_select
            | libc::SYS_pselect6
            | libc::SYS_wait4
            | libc::SYS_waitid
            | libc::SYS_nanosleep
            | libc::SYS_clock_nanosleep
    );
    if may_be_one {
        note_inside();
    }
}

/// Ends the running thread, which was cancelled.
pub fn act() -> ! {
    let e = engine();
    // Whatever call it was in has ended.
    e.slots[e.current].masked = signals::MaskedCall::NONE;
    unwind_thread(usize::MAX as *mut c_void)
}

/// Whether the running thread may be cancelled anywhere.
pub fn is_anywhere() -> bool {
    let e = engine();
    let slot = &e.slots[e.current];
    slot.cancel_asynchronous && !slot.cancel_disabled
}

/// Makes a step of a thread that may be cancelled anywhere: before it, and while it waits.
#[cold]
pub fn step_anywhere(op: Operation) -> Outcome {
    match step_now(Operation::TestCancel) {
        Outcome::CANCELLED => act(),
        Outcome::SIGNALLED => return Outcome::SIGNALLED,
        _ => {}
    }
    let op = match op {
        Operation::Lock { lock, wait: Wait::Block } => Operation::Lock { lock, wait: Wait::Interruptible },
        Operation::ReadLock { lock, wait: Wait::Block } => Operation::ReadLock { lock, wait: Wait::Interruptible },
        Operation::WriteLock { lock, wait: Wait::Block } => Operation::WriteLock { lock, wait: Wait::Interruptible },
        op => op,
    };
    step_now(op)
}

unsafe extern "C" fn cancel(thread: libc::pthread_t) -> c_int {
    let Some(number) = slot_of(thread) else { return ESRCH };
    if !is_possible() {
        link::refuse(format_args!(
            "a library that was loaded while the program ran cancels threads; link the program with it"
        ));
    }
    let target = &mut engine().slots[number];
    target.cancel_asked = true;
    if target.cancel_inside {
        unmodelled::note(Unmodelled::InnerPoints);
    }
    let target = target.thread;
    step(Operation::Cancel { thread: target });
    look_if_anywhere();
    0
}

fn look_if_anywhere() {
    if is_anywhere() {
        look();
    }
}

/// The running thread heeds cancellation, or not any more.
pub fn heed(heeds: bool) {
    let e = engine();
    if e.slots[e.current].cancel_disabled == heeds {
        if is_possible() {
            step(Operation::SetCancel { heeds });
        }
        let e = engine();
        e.slots[e.current].cancel_disabled = !heeds;
    }
}

unsafe extern "C" fn set_state(state: c_int, old: *mut c_int) -> c_int {
    if !matches!(state, ENABLE | DISABLE) {
        return EINVAL;
    }
    let e = engine();
    if !old.is_null() {
        // SAFETY: the program wants to know.
        unsafe { *old = c_int::from(e.slots[e.current].cancel_disabled) };
    }
    if !e.slots[e.current].exiting {
        heed(state == ENABLE);
        look_if_anywhere();
    }
    0
}

unsafe extern "C" fn set_type(kind: c_int, old: *mut c_int) -> c_int {
    if !matches!(kind, DEFERRED | ASYNCHRONOUS) {
        return EINVAL;
    }
    let e = engine();
    let slot = &mut e.slots[e.current];
    if !old.is_null() {
        // SAFETY: the program wants to know.
        unsafe { *old = c_int::from(slot.cancel_asynchronous) };
    }
    slot.cancel_asynchronous = kind == ASYNCHRONOUS;
    look_if_anywhere();
    0
}

/// What `pthread_cleanup_push_defer_np` calls: meanwhile the thread is cancelled at certain points only.
unsafe extern "C" fn defer(buffer: *mut c_void) {
    let e = engine();
    let slot = &mut e.slots[e.current];
    let was = core::mem::replace(&mut slot.cancel_asynchronous, false);
    slot.cancel_deferred.push(was);
    // SAFETY: the program's argument goes on.
    unsafe { call_real!(__pthread_register_cancel_defer(buffer)) };
}

unsafe extern "C" fn restore(buffer: *mut c_void) {
    // SAFETY: the program's argument goes on.
    unsafe { call_real!(__pthread_unregister_cancel_restore(buffer)) };
    let e = engine();
    let slot = &mut e.slots[e.current];
    slot.cancel_asynchronous = slot.cancel_deferred.pop().unwrap_or(false);
    look_if_anywhere();
}

extern "C" fn test() {
    look();
}
