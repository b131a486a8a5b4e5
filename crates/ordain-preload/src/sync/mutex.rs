//! Mutexes. The program's object keeps the shape that the C library gives it: lock word, count, owner, kind.

use crate::context::interpose;
use crate::engine::{engine, step};
use crate::initialisation::initialise;
use crate::link;
use crate::objects;
use crate::time::{self, timed};
use crate::unmodelled::{self, Unmodelled};
use core::ffi::c_int;
use libc::{EBUSY, EDEADLK, EINVAL, ENOTRECOVERABLE, EOWNERDEAD, EPERM, ETIMEDOUT, pthread_mutex_t, timespec};
use ordain_model::{ObjectId, ObjectKind, Operation, Outcome, Wait, mutex_kind};

/// The C library's layout, as far as it matters. The list is used for robust mutexes only, and not by us: the mark is there.
#[repr(C)]
struct Layout {
    lock: u32,
    count: u32,
    owner: u32,
    users: u32,
    kind: u32,
    spins: u32,
    mark: u64,
    next: u64,
}

const ROBUST: u32 = 16;
/// The owner inherits priorities.
const INHERITS: u32 = 32;

fn initial(kind: u32) -> u64 {
    let base = match kind & 3 {
        1 => mutex_kind::RECURSIVE,
        2 => mutex_kind::ERROR_CHECKING,
        _ => mutex_kind::NORMAL,
    };
    base | if kind & ROBUST != 0 { mutex_kind::ROBUST } else { 0 }
}

/// The object of a mutex.
pub(super) unsafe fn object(mutex: *mut pthread_mutex_t) -> ObjectId {
    let layout = mutex as *mut Layout;
    // SAFETY: the program's mutex.
    unsafe { objects::marked(mutex as u64, &raw mut (*layout).mark, ObjectKind::Mutex, initial((*layout).kind)) }
}

/// Lets the program's object show who holds it, as debuggers expect.
pub(super) unsafe fn show(mutex: *mut pthread_mutex_t, held: bool) {
    let layout = mutex as *mut Layout;
    let owner = if held { engine().current as u32 + 1 } else { 0 };
    // SAFETY: the program's mutex.
    unsafe {
        (&raw mut (*layout).lock).write_volatile(u32::from(held));
        (&raw mut (*layout).owner).write_volatile(owner);
    }
}

interpose! {
    pthread_mutex_init => init;
    pthread_mutex_destroy => destroy;
    pthread_mutex_lock => lock;
    pthread_mutex_trylock => try_lock;
    pthread_mutex_timedlock => timed_lock;
    pthread_mutex_clocklock => clock_lock;
    pthread_mutex_unlock => unlock;
    pthread_mutex_consistent => make_consistent;
    pthread_mutex_consistent_np => make_consistent;
}

/// Initialises a mutex of a kind, in the C library's numbers.
pub(super) unsafe fn init_kind(mutex: *mut pthread_mutex_t, kind: u32) {
    let layout = mutex as *mut Layout;
    // SAFETY: the program's memory.
    unsafe {
        let mark = objects::mark_of(initialise(mutex as u64, ObjectKind::Mutex, initial(kind)));
        layout.write(Layout { lock: 0, count: 0, owner: 0, users: 0, kind, spins: 0, mark, next: 0 });
    }
}

unsafe extern "C" fn init(mutex: *mut pthread_mutex_t, attributes: *const libc::pthread_mutexattr_t) -> c_int {
    let mut kind = 0;
    if !attributes.is_null() {
        /// Protocols: what happens to priorities.
        const INHERIT: u32 = 1;
        const PROTECT: u32 = 2;
        // SAFETY: the program's attributes: the C library keeps the type in the low bits, the protocol in bits 28 and 29, and robustness in
        // bit 30.
        let word = unsafe { (attributes as *const u32).read() };
        super::note_shared(word >> 31 != 0);
        kind = word & 3 | if word & 0x4000_0000 != 0 { ROBUST } else { 0 };
        match word >> 28 & 3 {
            INHERIT => kind |= INHERITS,
            PROTECT => link::refuse(format_args!(
                "the program makes a mutex with a priority ceiling (PTHREAD_PRIO_PROTECT); whether it can be locked depends on priorities \
                 of threads, which have no effect here"
            )),
            _ => {}
        }
    }
    // SAFETY: the program's memory.
    unsafe { init_kind(mutex, kind) };
    0
}

pub(super) unsafe extern "C" fn destroy(mutex: *mut pthread_mutex_t) -> c_int {
    // SAFETY: the program's mutex.
    let object = unsafe { object(mutex) };
    step(Operation::Destroy { object });
    0
}

/// Its kind, in the C library's numbers.
unsafe fn kind(mutex: *mut pthread_mutex_t) -> u32 {
    // SAFETY: the program's mutex.
    unsafe { (*(mutex as *const Layout)).kind }
}

/// Takes the mutex.
pub(super) unsafe fn take(mutex: *mut pthread_mutex_t, wait: Wait) -> c_int {
    // SAFETY: the program's mutex.
    unsafe {
        let lock = object(mutex);
        let outcome = step(Operation::Lock { lock, wait });
        match outcome {
            Outcome::FAILED if wait == Wait::Try => EBUSY,
            Outcome::FAILED => ETIMEDOUT,
            // The C library looks who the owner is before it tries one of these kinds.
            Outcome::WOULD_DEADLOCK if wait == Wait::Try && kind(mutex) & (ROBUST | INHERITS) == 0 => EBUSY,
            Outcome::WOULD_DEADLOCK => EDEADLK,
            Outcome::UNRECOVERABLE => {
                if wait == Wait::Try && kind(mutex) & (ROBUST | INHERITS) == ROBUST {
                    unmodelled::note(Unmodelled::Unrecoverable);
                }
                ENOTRECOVERABLE
            }
            Outcome::OWNER_DIED => {
                show(mutex, true);
                EOWNERDEAD
            }
            _ => {
                show(mutex, true);
                0
            }
        }
    }
}

pub(super) unsafe extern "C" fn lock(mutex: *mut pthread_mutex_t) -> c_int {
    // SAFETY: the program's mutex.
    unsafe { take(mutex, Wait::Block) }
}

pub(super) unsafe extern "C" fn try_lock(mutex: *mut pthread_mutex_t) -> c_int {
    // SAFETY: the program's mutex.
    unsafe { take(mutex, Wait::Try) }
}

pub(super) unsafe extern "C" fn timed_lock(mutex: *mut pthread_mutex_t, until: *const timespec) -> c_int {
    // SAFETY: the program's arguments.
    unsafe {
        if !time::is_valid(&*until) {
            // That matters only if it would have to wait.
            return match take(mutex, Wait::Try) {
                EBUSY if is_own(mutex) => EDEADLK,
                EBUSY => EINVAL,
                result => result,
            };
        }
        timed(until, |wait| take(mutex, wait))
    }
}

/// Whether the running thread holds an error-checking mutex.
unsafe fn is_own(mutex: *mut pthread_mutex_t) -> bool {
    let layout = mutex as *const Layout;
    // SAFETY: the program's mutex.
    unsafe { (*layout).kind & 3 == 2 && (*layout).owner == engine().current as u32 + 1 }
}

unsafe extern "C" fn clock_lock(mutex: *mut pthread_mutex_t, clock: c_int, until: *const timespec) -> c_int {
    if !time::limits_waits(clock) {
        return EINVAL;
    }
    // SAFETY: the program's arguments.
    unsafe { timed_lock(mutex, until) }
}

pub(super) unsafe extern "C" fn unlock(mutex: *mut pthread_mutex_t) -> c_int {
    // SAFETY: the program's mutex.
    unsafe {
        let lock = object(mutex);
        let kind = kind(mutex);
        let outcome = step(Operation::Unlock { lock });
        if outcome == Outcome::FAILED {
            return if kind & 3 != 0 || kind & ROBUST != 0 { EPERM } else { 0 };
        }
        show(mutex, false);
    }
    0
}

unsafe extern "C" fn make_consistent(mutex: *mut pthread_mutex_t) -> c_int {
    // SAFETY: the program's mutex.
    let lock = unsafe { object(mutex) };
    if step(Operation::MakeConsistent { lock }) == Outcome::DONE { 0 } else { EINVAL }
}
