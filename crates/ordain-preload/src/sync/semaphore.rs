//! Semaphores, unnamed and named. The program's object keeps its value where the C library has it.

use crate::context::interpose;
use crate::engine::{self, engine, step};
use crate::initialisation::initialise;
use crate::objects;
use crate::real::set_errno;
use crate::time::{self, timed};
use alloc::string::String;
use alloc::vec::Vec;
use core::ffi::{CStr, c_char, c_int, c_uint};
use libc::{EAGAIN, EEXIST, EINVAL, ENOENT, EOVERFLOW, ETIMEDOUT, sem_t, timespec};
use ordain_model::{ObjectId, ObjectKind, Operation, Outcome, Wait};

/// The C library's layout, as far as it matters.
#[repr(C)]
struct Layout {
    value: u32,
    waiters: u32,
    shared: u64,
    mark: u64,
    rest: u64,
}

unsafe fn object(semaphore: *mut sem_t) -> ObjectId {
    let layout = semaphore as *mut Layout;
    // SAFETY: the program's semaphore.
    unsafe {
        objects::marked(semaphore as u64, &raw mut (*layout).mark, ObjectKind::Semaphore, u64::from((*layout).value))
    }
}

unsafe fn show(semaphore: *mut sem_t, object: ObjectId) {
    let value = engine().arbiter.value(object) as u32;
    // SAFETY: the program's semaphore.
    unsafe { (&raw mut (*(semaphore as *mut Layout)).value).write_volatile(value) };
}

interpose! {
    sem_init => init;
    sem_destroy => destroy;
    sem_wait => wait;
    sem_trywait => try_wait;
    sem_timedwait => timed_wait;
    sem_clockwait => clock_wait;
    sem_post => post;
    sem_getvalue => get_value;
    sem_open => open;
    sem_close => close;
    sem_unlink => unlink;
}

unsafe extern "C" fn init(semaphore: *mut sem_t, shared: c_int, value: c_uint) -> c_int {
    super::note_shared(shared != 0);
    if value > i32::MAX as u32 {
        set_errno(EINVAL);
        return -1;
    }
    let layout = semaphore as *mut Layout;
    // SAFETY: the program's memory.
    unsafe {
        let mark = objects::mark_of(initialise(semaphore as u64, ObjectKind::Semaphore, u64::from(value)));
        layout.write(Layout { value, waiters: 0, shared: 0, mark, rest: 0 });
    }
    0
}

unsafe extern "C" fn destroy(semaphore: *mut sem_t) -> c_int {
    // SAFETY: the program's semaphore.
    let object = unsafe { object(semaphore) };
    step(Operation::Destroy { object });
    0
}

/// Takes one; gives an error number.
unsafe fn take(semaphore: *mut sem_t, wait: Wait) -> c_int {
    // SAFETY: the program's semaphore.
    unsafe {
        let object = object(semaphore);
        match engine::wait(Operation::Acquire { semaphore: object, wait }, wait != Wait::Timed) {
            Err(error) => error,
            Ok(Outcome::FAILED) if wait == Wait::Try => EAGAIN,
            Ok(Outcome::FAILED) => ETIMEDOUT,
            Ok(_) => {
                show(semaphore, object);
                0
            }
        }
    }
}

fn result(error: c_int) -> c_int {
    if error == 0 {
        return 0;
    }
    set_errno(error);
    -1
}

unsafe extern "C" fn wait(semaphore: *mut sem_t) -> c_int {
    // SAFETY: the program's semaphore.
    result(unsafe { take(semaphore, Wait::Interruptible) })
}

unsafe extern "C" fn try_wait(semaphore: *mut sem_t) -> c_int {
    // SAFETY: the program's semaphore.
    result(unsafe { take(semaphore, Wait::Try) })
}

unsafe extern "C" fn timed_wait(semaphore: *mut sem_t, until: *const timespec) -> c_int {
    // SAFETY: the program's arguments.
    result(unsafe { timed(until, |wait| take(semaphore, wait)) })
}

unsafe extern "C" fn clock_wait(semaphore: *mut sem_t, clock: c_int, until: *const timespec) -> c_int {
    if !time::limits_waits(clock) {
        return result(EINVAL);
    }
    // SAFETY: the program's arguments.
    unsafe { timed_wait(semaphore, until) }
}

unsafe extern "C" fn post(semaphore: *mut sem_t) -> c_int {
    // SAFETY: the program's semaphore.
    unsafe {
        let object = object(semaphore);
        if step(Operation::Post { semaphore: object, count: 1, fails: true }) == Outcome::FAILED {
            return result(EOVERFLOW);
        }
        show(semaphore, object);
    }
    0
}

unsafe extern "C" fn get_value(semaphore: *mut sem_t, out: *mut c_int) -> c_int {
    // SAFETY: the program's semaphore and memory.
    unsafe {
        let object = object(semaphore);
        // Looking is an operation: it depends on those that change the value.
        step(Operation::Load { cell: object, order: ordain_model::MemoryOrder::SeqCst });
        *out = engine().arbiter.value(object) as c_int;
    }
    0
}

/// A named semaphore of this execution. Names are the program's own: nothing is shared with other processes.
struct Named {
    name: String,
    linked: bool,
    place: *mut sem_t,
    /// How often it was opened and not closed.
    openings: u32,
    /// Its value when it was last closed.
    value: c_uint,
}

static mut NAMED: Vec<Named> = Vec::new();
/// Memory for named semaphores, from the program's heap would be freed with it; this is the runtime's.
static mut PLACES: Vec<*mut sem_t> = Vec::new();

/// The first so many have the same addresses in every process.
const MOST_ALIKE: usize = 64;
static mut ROOM: [core::mem::MaybeUninit<sem_t>; MOST_ALIKE] = [const { core::mem::MaybeUninit::zeroed() }; MOST_ALIKE];

/// Begins an execution: no named semaphore is there.
pub fn begin() {
    // SAFETY: only the carrier comes here.
    unsafe { (*(&raw mut NAMED)).clear() };
}

/// Names are shared by all threads: who comes first matters.
fn touch_names() {
    let (cell, _) = objects::futex(NAMES);
    step(Operation::Update { cell, order: ordain_model::MemoryOrder::SeqCst });
}

/// Stands for the address of the names: no object of a program is there.
const NAMES: u64 = 4;

/// Whether there are semaphores with names.
pub(super) fn has_named() -> bool {
    // SAFETY: only the carrier comes here.
    unsafe { !(*(&raw const NAMED)).is_empty() }
}

unsafe extern "C" fn open(name: *const c_char, flags: c_int, _mode: c_uint, value: c_uint) -> *mut sem_t {
    touch_names();
    // SAFETY: the program's name; the tables are the carrier's.
    unsafe {
        let name = CStr::from_ptr(name).to_string_lossy();
        let (named, places) = (&mut *(&raw mut NAMED), &mut *(&raw mut PLACES));
        let mut value = value;
        if let Some(known) = named.iter_mut().find(|n| n.linked && n.name == name) {
            if flags & libc::O_CREAT != 0 && flags & libc::O_EXCL != 0 {
                set_errno(EEXIST);
                return core::ptr::null_mut();
            }
            if known.openings > 0 {
                known.openings += 1;
                return known.place;
            }
            // It is mapped anew.
            (known.linked, value) = (false, known.value);
        } else if flags & libc::O_CREAT == 0 {
            set_errno(ENOENT);
            return core::ptr::null_mut();
        }
        if named.len() == places.len() {
            let room = &raw mut ROOM;
            places.push(match places.len() {
                n if n < MOST_ALIKE => (room as *mut sem_t).add(n),
                _ => alloc::boxed::Box::into_raw(alloc::boxed::Box::new(core::mem::zeroed())),
            });
        }
        if value > i32::MAX as u32 {
            set_errno(EINVAL);
            return core::ptr::null_mut();
        }
        let place = places[named.len()];
        // Whoever finds it by its name comes behind the step above, so initialising it needs none of its own.
        let mark = objects::mark_of(objects::create(place as u64, ObjectKind::Semaphore, u64::from(value)));
        (place as *mut Layout).write(Layout { value, waiters: 0, shared: 0, mark, rest: 0 });
        named.push(Named { name: String::from(name), linked: true, place, openings: 1, value });
        place
    }
}

/// The last one who closes it takes its memory away.
unsafe extern "C" fn close(semaphore: *mut sem_t) -> c_int {
    touch_names();
    // SAFETY: the table is the carrier's.
    let named = unsafe { &mut *(&raw mut NAMED) };
    if let Some(named) = named.iter_mut().find(|n| n.place == semaphore) {
        named.openings = named.openings.saturating_sub(1);
        if named.openings == 0 {
            // SAFETY: a semaphore of the table.
            let object = unsafe { object(semaphore) };
            named.value = engine().arbiter.value(object) as c_uint;
            step(Operation::Free { object });
        }
    }
    0
}

unsafe extern "C" fn unlink(name: *const c_char) -> c_int {
    touch_names();
    // SAFETY: the program's name; the table is the carrier's.
    unsafe {
        let name = CStr::from_ptr(name).to_string_lossy();
        match (*(&raw mut NAMED)).iter_mut().find(|n| n.linked && n.name == name) {
            Some(named) => {
                named.linked = false;
                0
            }
            None => result(ENOENT),
        }
    }
}
