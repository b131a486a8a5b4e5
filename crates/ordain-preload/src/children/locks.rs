//! Locks in child processes: a child has a copy of all locks as they were, but none of the threads that held them.
//!
//! Who takes such a lock in a child waits for ever. That is told to the program's process, which sees it when it waits for the child.

use crate::engine::{engine, step};
use crate::files;
use crate::handles;
use crate::link::control;
use crate::objects;
use crate::real;
use crate::signals;
use crate::sys::{self, call};
use crate::unmodelled::{self, Unmodelled};
use alloc::vec::Vec;
use core::ffi::{CStr, c_int, c_void};
use core::sync::atomic::Ordering::Relaxed;
use ordain_model::{ObjectId, ObjectKind, Operation};

/// Where the object is said to be that stands for which locks are known.
const KNOWN: u64 = 6;

/// Whether the program can make children, and the object that orders their making with the first use of locks.
static mut FORKS: bool = false;
static mut KNOWN_LOCKS: Option<ObjectId> = None;

/// Asks once whether the program can make children that have its locks.
pub fn prepare() {
    // SAFETY: only the carrier comes here.
    unsafe { FORKS = signals::imports::any(&[c"fork", c"vfork", c"syscall"]) };
}

/// Begins an execution: no lock is known.
pub fn begin() {
    // SAFETY: only the carrier comes here.
    unsafe { KNOWN_LOCKS = None };
}

fn known_locks() -> ObjectId {
    // SAFETY: only the carrier comes here.
    unsafe { *(*(&raw mut KNOWN_LOCKS)).get_or_insert_with(|| objects::find(KNOWN, ObjectKind::Count, 0)) }
}

fn is_lock(kind: ObjectKind) -> bool {
    matches!(kind, ObjectKind::Mutex | ObjectKind::RwLock | ObjectKind::Spin | ObjectKind::Semaphore)
}

/// The running thread uses an object. If that is a lock which it has not used before, a child that is made earlier could not depend on it,
/// so this is a step. It does not depend on whether others have used the lock, or have ended by chance: that is not known here.
pub fn meet(address: u64, kind: ObjectKind) {
    // SAFETY: only the carrier comes here.
    if is_lock(kind) {
        meet_any(address);
    }
}

/// The running thread uses the lock with this key, which may be in the kernel: as [`meet`].
pub fn meet_any(address: u64) {
    // SAFETY: only the carrier comes here.
    if unsafe { !FORKS } || engine().is_alone() {
        return;
    }
    let e = engine();
    let locks = &mut e.slots[e.current].locks;
    if !locks.contains(&address) {
        locks.push(address);
        step(Operation::Count { count: known_locks(), observes: false });
    }
}

/// A step that looks at all that a child has which is made then: also at all locks there are, as they are.
pub fn look_at_all() {
    step(Operation::Count { count: known_locks(), observes: true });
    files::order_child(all);
}

/// All locks that are known.
fn all() -> Vec<ObjectId> {
    let names = engine().arbiter.names();
    let locks = objects::all().filter(|object| is_lock(names.kind(*object)));
    locks.chain(files::lock_objects().iter().copied()).collect()
}

/// Takes down which locks other threads than the running one hold: in a child they are held for ever.
pub fn note_orphans() {
    let e = engine();
    let me = e.me();
    let orphans =
        e.arbiter.holds().filter(|(_, thread)| *thread != me).filter_map(|(object, _)| objects::address(object));
    handles::set_orphans(orphans);
}

/// The function of ours that stands for one of the C library in child processes.
pub fn stand_in(name: &[u8]) -> Option<usize> {
    if orders(name) {
        unmodelled::note(Unmodelled::ChildLocks);
    }
    Some(match name {
        b"pthread_mutex_lock" => lock_mutex as *const () as usize,
        b"mtx_lock" => lock_c11 as *const () as usize,
        b"pthread_rwlock_rdlock" => lock_for_reading as *const () as usize,
        b"pthread_rwlock_wrlock" => lock_for_writing as *const () as usize,
        b"pthread_spin_lock" => lock_spin as *const () as usize,
        b"pthread_mutex_init" => init_mutex as *const () as usize,
        b"pthread_rwlock_init" => init_rwlock as *const () as usize,
        _ => return None,
    })
}

/// Whether a function is one by which threads and processes wait for each other.
fn orders(name: &[u8]) -> bool {
    const FAMILIES: [&[u8]; 10] = [
        b"pthread_create",
        b"pthread_mutex_",
        b"pthread_cond_",
        b"pthread_rwlock_",
        b"pthread_spin_",
        b"pthread_barrier_",
        b"sem_",
        b"mtx_",
        b"cnd_",
        b"thrd_create",
    ];
    const HARMLESS: [&[u8]; 3] = [b"_init", b"_destroy", b"unlock"];
    FAMILIES.iter().any(|family| name.starts_with(family)) && !HARMLESS.iter().any(|end| name.ends_with(end))
}

/// If the lock is one that a thread of the program held when this child was made: says so, and waits for ever, as it would.
fn wait_if_orphaned(lock: *mut c_void) {
    if !handles::is_orphan(lock as u64) {
        return;
    }
    let control = control();
    control.address.store(lock as u64, Relaxed);
    // SAFETY: asks for a number.
    control.stuck_child.store(unsafe { call!(sys::SYS_getpid) } as i32, Relaxed);
    loop {
        // SAFETY: waits for signals.
        unsafe { call!(libc::SYS_pause) };
    }
}

/// Defines functions that wait for ever if their lock is orphaned, and else are those of the C library.
macro_rules! careful {
    ($($own:ident => $name:literal;)*) => {$(
        unsafe extern "C" fn $own(lock: *mut c_void) -> c_int {
            wait_if_orphaned(lock);
            // SAFETY: the C library's function of this name.
            unsafe {
                let real: unsafe extern "C" fn(*mut c_void) -> c_int = core::mem::transmute(address($name));
                real(lock)
            }
        }
    )*};
}

careful! {
    lock_mutex => c"pthread_mutex_lock";
    lock_c11 => c"mtx_lock";
    lock_for_reading => c"pthread_rwlock_rdlock";
    lock_for_writing => c"pthread_rwlock_wrlock";
    lock_spin => c"pthread_spin_lock";
}

fn address(name: &CStr) -> usize {
    match real::next(name) {
        0 => sys::exit_group(105),
        address => address,
    }
}

unsafe fn init(name: &CStr, lock: *mut c_void, attributes: *const c_void) -> c_int {
    handles::forget_orphan(lock as u64);
    // SAFETY: the C library's function of this name.
    unsafe {
        let real: unsafe extern "C" fn(*mut c_void, *const c_void) -> c_int = core::mem::transmute(address(name));
        real(lock, attributes)
    }
}

unsafe extern "C" fn init_mutex(lock: *mut c_void, attributes: *const c_void) -> c_int {
    // SAFETY: the program's arguments.
    unsafe { init(c"pthread_mutex_init", lock, attributes) }
}

unsafe extern "C" fn init_rwlock(lock: *mut c_void, attributes: *const c_void) -> c_int {
    // SAFETY: the program's arguments.
    unsafe { init(c"pthread_rwlock_init", lock, attributes) }
}
