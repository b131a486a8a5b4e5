//! Destructors that run when a thread ends: of thread-specific values, and of thread-local objects.
//!
//! Threads do not end the C library's way here, so these are called by the runtime, in the order in which the C library would.

use crate::context::interpose;
use crate::engine::{self, engine, step};
use crate::files;
use crate::lessons::Lesson;
use crate::link;
use crate::objects;
use crate::real::{self, call_real};
use core::ffi::{c_int, c_void};
use ordain_model::{MemoryOrder, ObjectId, Operation};
use ordain_wire::State;

/// Destructors of thread-specific values, by key.
static mut KEYS: [Option<unsafe extern "C" fn(*mut c_void)>; 1024] = [None; 1024];
/// How many decisions had been made when each key was.
static mut MADE: [u64; 1024] = [u64::MAX; 1024];
/// No key is higher than this.
static mut KEYS_USED: u32 = 0;
/// Those that were there before the program began.
static mut FIRST_KEYS: [Option<unsafe extern "C" fn(*mut c_void)>; 1024] = [None; 1024];

/// Remembers the keys that exist when the program begins.
pub fn keep() {
    // SAFETY: only the carrier comes here.
    unsafe { FIRST_KEYS = KEYS };
}

/// Forgets keys of earlier executions.
pub fn begin() {
    // SAFETY: only the carrier comes here.
    unsafe {
        let (keys, first) = (&mut *(&raw mut KEYS), &*(&raw const FIRST_KEYS));
        let used = KEYS_USED as usize;
        keys[..used].copy_from_slice(&first[..used]);
    }
}

#[unsafe(export_name = "pthread_key_create")]
unsafe extern "C" fn key_create(key: *mut u32, destructor: Option<unsafe extern "C" fn(*mut c_void)>) -> c_int {
    // SAFETY: the C library fills in the key; only the carrier comes here.
    unsafe {
        // Destructors are called by us, because threads do not end the C library's way. Without control they are the C library's.
        let ours = link::is_connected();
        if engine::active() {
            // Who comes first gets the lower number.
            files::order_state(State::ValueKeys, true);
        }
        let error = call_real!(pthread_key_create(key, if ours { None } else { destructor }));
        if error == 0
            && ours
            && let Some(entry) = (*(&raw mut KEYS)).get_mut(*key as usize)
        {
            *entry = destructor;
            (*(&raw mut MADE))[*key as usize] = if engine::active() { engine().heartbeat() } else { u64::MAX };
            KEYS_USED = KEYS_USED.max(*key + 1);
        }
        error
    }
}

#[unsafe(export_name = "__pthread_key_create")]
unsafe extern "C" fn key_create_alias(key: *mut u32, destructor: Option<unsafe extern "C" fn(*mut c_void)>) -> c_int {
    // SAFETY: the program's arguments.
    unsafe { key_create(key, destructor) }
}

#[unsafe(export_name = "tss_create")]
unsafe extern "C" fn tss_create(key: *mut u32, destructor: Option<unsafe extern "C" fn(*mut c_void)>) -> c_int {
    // SAFETY: the program's arguments; any error is thrd_error.
    if unsafe { key_create(key, destructor) } == 0 { 0 } else { 2 }
}

/// Stands for the address of the keys: no object of a program is there.
const KEYS_PLACE: u64 = 8;

/// Orders what ends of threads find of the keys with who deletes some.
fn order(operation: impl FnOnce(ObjectId) -> Operation) {
    if Lesson::Keys.is_known(engine()) && !engine().is_alone() {
        let (cell, _) = objects::futex(KEYS_PLACE);
        step(operation(cell));
    }
}

/// Threads that end later do not find it.
unsafe extern "C" fn key_delete(key: u32) -> c_int {
    // SAFETY: only the carrier comes here.
    let made = unsafe { (*(&raw const MADE)).get(key as usize).copied() };
    // One that was just made is nobody else's.
    if made != Some(engine().heartbeat()) {
        order(|cell| Operation::Update { cell, order: MemoryOrder::SeqCst });
        if !engine().is_alone() {
            Lesson::Keys.learn(engine());
        }
    }
    // SAFETY: only the carrier comes here.
    unsafe {
        if let Some(entry) = (*(&raw mut KEYS)).get_mut(key as usize) {
            *entry = None;
        }
        call_real!(pthread_key_delete(key))
    }
}

interpose! {
    pthread_key_delete => key_delete;
    tss_delete => key_delete;
    __cxa_thread_atexit_impl => thread_atexit;
}

unsafe extern "C" fn thread_atexit(
    function: unsafe extern "C" fn(*mut c_void),
    object: *mut c_void,
    library: *mut c_void,
) -> c_int {
    if engine().current != 0 {
        let e = engine();
        e.slots[e.current].destructors.push((function, object));
        return 0;
    }
    // SAFETY: main's are run by the C library when the program exits.
    unsafe {
        let target = real::next(c"__cxa_thread_atexit_impl");
        let target: unsafe extern "C" fn(unsafe extern "C" fn(*mut c_void), *mut c_void, *mut c_void) -> c_int =
            core::mem::transmute(target);
        target(function, object, library)
    }
}

fn look_at_keys() {
    order(|cell| Operation::Load { cell, order: MemoryOrder::SeqCst });
}

/// Runs destructors of the running thread, as the C library does when a thread ends; says whether there were any.
pub fn run() -> bool {
    let mut ran = false;
    loop {
        let e = engine();
        let Some((function, object)) = e.slots[e.current].destructors.pop() else { break };
        // SAFETY: the program registered it.
        unsafe { function(object) };
        ran = true;
    }
    for _ in 0..4 {
        let mut any = false;
        look_at_keys();
        // SAFETY: a number that only the carrier writes.
        for key in 0..unsafe { KEYS_USED } {
            // SAFETY: keys and values are the program's; its destructor takes the value.
            unsafe {
                let Some(destructor) = (*(&raw const KEYS))[key as usize] else { continue };
                let value = libc::pthread_getspecific(key);
                if !value.is_null() {
                    libc::pthread_setspecific(key, core::ptr::null());
                    destructor(value);
                    look_at_keys();
                    (any, ran) = (true, true);
                }
            }
        }
        if !any {
            break;
        }
    }
    ran
}
