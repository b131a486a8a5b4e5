//! Child processes: making them, waiting for them, and the numbers by which they are known.
//!
//! A child runs on its own, without control; what it leaves behind cannot be undone in memory. It sees the numbers that the program
//! sees: [`stand_in`] has the functions that are ours in a child, too.

mod groups;
pub mod handlers;
pub mod locks;
mod waiting;

pub use groups::{raw_group, raw_set_group, send};
pub use waiting::{note_running, raw_wait4, raw_waitid};

use crate::context::interpose;
use crate::dispatch::undisturbed;
use crate::engine::{self, active, control, engine};
use crate::handles::{self, add_child, next_child, shown_process};
use crate::real::call_real;
use crate::sys::{self, call};
use crate::unmodelled::{self, Unmodelled};
use crate::{descriptors, objects, signals, sync, time, trap, watch};
use core::ffi::{CStr, c_char, c_int, c_void};
use core::sync::atomic::Ordering::Relaxed;
use ordain_wire::Mode;

interpose! {
    __register_atfork => handlers::register; __cxa_finalize => finalize_library;
    fork => fork_process; vfork => fork_for_exec;
    posix_spawn => spawn_process; posix_spawnp => spawn_process_in_path; system => run_command; popen => open_command;
    getpid => process_number; getppid => parent_number; gettid => thread_number;
}

/// The function of ours that stands for one of the C library in child processes.
pub fn stand_in(name: &CStr) -> Option<usize> {
    let name = name.to_bytes();
    Some(match name {
        b"fork" => fork_process as *const () as usize,
        b"vfork" => fork_for_exec as *const () as usize,
        b"posix_spawn" => spawn_process as *const () as usize,
        b"posix_spawnp" => spawn_process_in_path as *const () as usize,
        b"getpid" => process_number as *const () as usize,
        b"getppid" => parent_number as *const () as usize,
        b"gettid" => thread_number as *const () as usize,
        _ => {
            return waiting::stand_in(name)
                .or_else(|| groups::stand_in(name))
                .or_else(|| locks::stand_in(name))
                .or_else(|| descriptors::stand_in(name));
        }
    })
}

extern "C" fn process_number() -> c_int {
    handles::own()
}

extern "C" fn parent_number() -> c_int {
    handles::parent()
}

/// A number for the running thread that is the same in every execution.
pub extern "C" fn thread_number() -> c_int {
    if active() {
        return handles::of_thread(engine().me());
    }
    // SAFETY: asks for a number.
    shown_process(unsafe { call!(sys::SYS_gettid) } as c_int)
}

/// Memory cannot undo what children do.
fn refuse_children() {
    if active() && engine().mode == Mode::Snapshot {
        engine::refuse(format_args!("the program makes child processes, which putting its memory back does not undo"));
    }
}

/// Calls a function of the C library that makes a child process, without control meanwhile.
unsafe fn with_child<R>(f: impl FnOnce() -> R) -> R {
    refuse_children();
    let was = active();
    engine::set_active(false);
    // The program that the child becomes has no handler for reading the processor's time.
    time::set_virtual(false);
    let result = f();
    time::set_virtual(was);
    engine::set_active(was);
    note_child();
    result
}

type Pointer = *mut c_void;

/// Calls a function that tells the number of a new process, and tells the program another.
unsafe fn numbered(out: *mut c_int, spawn: impl FnOnce(*mut c_int) -> c_int) -> c_int {
    let (shown, mut real) = (next_child(), 0);
    // SAFETY: what the program asks for.
    unsafe {
        let error = with_child(|| spawn(&raw mut real));
        if error == 0 {
            add_child(shown, real);
            if !out.is_null() {
                *out = shown;
            }
            if active() {
                signals::expect_child(shown, real);
            }
        }
        error
    }
}

unsafe extern "C" fn spawn_process(
    out: *mut c_int,
    b: Pointer,
    c: Pointer,
    d: Pointer,
    e: Pointer,
    f: Pointer,
) -> c_int {
    // SAFETY: what the program asks for.
    unsafe { numbered(out, |real| undisturbed(|| call_real!(posix_spawn(real.cast(), b, c, d, e, f)))) }
}

unsafe extern "C" fn spawn_process_in_path(
    out: *mut c_int,
    b: Pointer,
    c: Pointer,
    d: Pointer,
    e: Pointer,
    f: Pointer,
) -> c_int {
    // SAFETY: what the program asks for.
    unsafe { numbered(out, |real| undisturbed(|| call_real!(posix_spawnp(real.cast(), b, c, d, e, f)))) }
}

unsafe extern "C" fn run_command(command: *const c_char) -> c_int {
    // SAFETY: what the program asks for.
    unsafe { with_child(|| undisturbed(|| call_real!(system(command)))) }
}

unsafe extern "C" fn open_command(command: *const c_char, how: *const c_char) -> *mut c_void {
    // SAFETY: what the program asks for.
    unsafe { with_child(|| undisturbed(|| call_real!(popen(command, how)))) }
}

/// Makes a child process that goes on as this one does. It has a copy of all locks, so it matters who holds them.
pub unsafe extern "C" fn fork_process() -> c_int {
    refuse_children();
    // SAFETY: handlers of the program, and the C library's fork.
    unsafe {
        handlers::run_before();
        if active() && !engine().is_alone() {
            locks::look_at_all();
        }
        let child = make_child();
        handlers::run_behind(child == 0);
        child
    }
}

/// Makes a child process that does nothing but execute another program, or end.
pub unsafe extern "C" fn fork_for_exec() -> c_int {
    refuse_children();
    // SAFETY: the C library's fork.
    unsafe { make_child() }
}

/// Refuses what would be explored wrongly: locks that a child uses too.
pub fn refuse_shared_locks() {
    if sync::are_shared_with_others() {
        engine::refuse(format_args!(
            "the program shares locks with child processes (PTHREAD_PROCESS_SHARED, sem_init with pshared, sem_open), which cannot be \
             explored; check one process at a time"
        ));
    }
    if sys::has_shared_mappings() {
        unmodelled::note(Unmodelled::ChildMemory);
    }
}

/// A library is unloaded, or all are.
unsafe extern "C" fn finalize_library(library: *mut c_void) {
    handlers::forget(library);
    // SAFETY: the C library's function of this name.
    unsafe {
        let real: unsafe extern "C" fn(*mut c_void) = core::mem::transmute(crate::real::next(c"__cxa_finalize"));
        real(library);
    }
}

unsafe fn make_child() -> c_int {
    let was = active();
    let shown = next_child();
    // SAFETY: the C library's fork; in the child there is only this thread, and nothing is controlled.
    unsafe {
        let lent = was.then(objects::lend);
        let inherited = was.then(signals::inherited);
        if was {
            refuse_shared_locks();
            locks::note_orphans();
            engine::set_active(false);
            descriptors::share();
        }
        watch::pause();
        let child = undisturbed(|| call_real!(fork()));
        if child == 0 {
            watch::stop();
            lent.into_iter().for_each(objects::Lent::keep);
            handles::become_child(shown);
            call!(sys::SYS_prctl, libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            if let Some(inherited) = inherited {
                time::set_virtual(false);
                trap::pass_through();
                inherited.take();
            }
            return 0;
        }
        watch::go_on();
        lent.into_iter().for_each(objects::Lent::take_back);
        engine::set_active(was);
        if child < 0 {
            return child;
        }
        add_child(shown, child);
        note_child();
        if was {
            signals::expect_child(shown, child);
        }
        shown
    }
}

/// Counts a child process of this execution.
fn note_child() {
    if active() {
        control().children.fetch_max(handles::count_child(), Relaxed);
    }
}
