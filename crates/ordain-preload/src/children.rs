//! Child processes: making them, waiting for them, and the numbers by which they are known.
//!
//! A child runs on its own, without control; what it leaves behind cannot be undone in memory. It sees the numbers that the program
//! sees: [`stand_in`] has the functions that are ours in a child, too.

use crate::context::interpose;
use crate::engine::{self, active, engine};
use crate::handles::{self, OUTSIDE, add_child, next_child, real_process, shown_process};
use crate::real::{c_result, call_real};
use crate::sys::{self, call};
use crate::{descriptors, objects, signals, time, trap};
use core::ffi::{CStr, c_char, c_int, c_void};
use libc::{EINTR, EPERM, WNOHANG, WNOWAIT, rusage, siginfo_t};
use ordain_wire::Mode;

/// How long the oldest child may take to end, in milliseconds, before others are looked at; and if nobody wants to wait.
const OLDEST: c_int = 1000;
const AT_ONCE: c_int = 50;

interpose! {
    fork => fork_process; vfork => fork_process;
    posix_spawn => spawn_process; posix_spawnp => spawn_process_in_path; system => run_command; popen => open_command;
    wait => wait_for_any; waitpid => wait_for_process; __waitpid => wait_for_process;
    wait3 => wait_with_usage; wait4 => wait_for_with_usage; waitid => wait_for_state;
    getpid => process_number; getppid => parent_number; gettid => thread_number;
    getpgrp => own_group; getpgid => group_of; setpgid => set_group; setpgrp => lead_group;
    getsid => session_of; setsid => lead_session;
}

/// The function of ours that stands for one of the C library in child processes.
pub fn stand_in(name: &CStr) -> Option<usize> {
    Some(match name.to_bytes() {
        b"fork" | b"vfork" => fork_process as *const () as usize,
        b"posix_spawn" => spawn_process as *const () as usize,
        b"posix_spawnp" => spawn_process_in_path as *const () as usize,
        b"wait" => wait_for_any as *const () as usize,
        b"waitpid" | b"__waitpid" => wait_for_process as *const () as usize,
        b"wait3" => wait_with_usage as *const () as usize,
        b"wait4" => wait_for_with_usage as *const () as usize,
        b"waitid" => wait_for_state as *const () as usize,
        b"getpid" => process_number as *const () as usize,
        b"getppid" => parent_number as *const () as usize,
        b"gettid" => thread_number as *const () as usize,
        b"getpgrp" => own_group as *const () as usize,
        b"getpgid" => group_of as *const () as usize,
        b"setpgid" => set_group as *const () as usize,
        b"setpgrp" => lead_group as *const () as usize,
        b"getsid" => session_of as *const () as usize,
        b"setsid" => lead_session as *const () as usize,
        b"kill" => kill_from_child as *const () as usize,
        b"killpg" => kill_group_from_child as *const () as usize,
        other => return descriptors::stand_in(other),
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
    unsafe { numbered(out, |real| call_real!(posix_spawn(real.cast(), b, c, d, e, f))) }
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
    unsafe { numbered(out, |real| call_real!(posix_spawnp(real.cast(), b, c, d, e, f))) }
}

unsafe extern "C" fn run_command(command: *const c_char) -> c_int {
    // SAFETY: what the program asks for.
    unsafe { with_child(|| call_real!(system(command))) }
}

unsafe extern "C" fn open_command(command: *const c_char, how: *const c_char) -> *mut c_void {
    // SAFETY: what the program asks for.
    unsafe { with_child(|| call_real!(popen(command, how))) }
}

pub unsafe extern "C" fn fork_process() -> c_int {
    refuse_children();
    let was = active();
    let shown = next_child();
    // SAFETY: the C library's fork; in the child there is only this thread, and nothing is controlled.
    unsafe {
        let lent = was.then(objects::lend);
        if was {
            engine::set_active(false);
            descriptors::share();
        }
        let child = call_real!(fork());
        if child == 0 {
            lent.into_iter().for_each(objects::Lent::keep);
            handles::become_child(shown);
            call!(sys::SYS_prctl, libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            if was {
                time::set_virtual(false);
                trap::pass_through();
                signals::release();
            }
            return 0;
        }
        lent.into_iter().for_each(objects::Lent::take_back);
        engine::set_active(was);
        if child < 0 {
            return child;
        }
        add_child(shown, child);
        shown
    }
}

/// Waits until a process has ended, at most so many milliseconds. False if it has not, or if the kernel cannot tell.
fn ends_within(real: c_int, milliseconds: c_int) -> bool {
    // SAFETY: a descriptor of our own, for a moment.
    unsafe {
        let fd = call!(libc::SYS_pidfd_open, real, 0);
        if fd < 0 {
            return false;
        }
        let ended = descriptors::ask(fd as c_int, libc::POLLIN, milliseconds) != 0;
        call!(sys::SYS_close, fd);
        ended
    }
}

/// Which real process a wait is for. When children end is not the same in every execution: so a wait for any child is one for the
/// oldest, and one that does not wait gives the child a moment.
fn choose(which: c_int, options: c_int) -> c_int {
    let limit = if options & WNOHANG != 0 { AT_ONCE } else { OLDEST };
    match which {
        -1 | 0 => handles::children().find(|c| ends_within(c.real, limit)).map_or(which, |c| c.real),
        1.. => {
            let real = real_process(which);
            if options & WNOHANG != 0 {
                ends_within(real, limit);
            }
            real
        }
        _ => -real_process(-which),
    }
}

/// Waits for a process as `wait4` does; gives what the system call gives. Processor time is not modelled.
pub unsafe fn raw_wait4(which: c_int, status: *mut c_int, options: c_int, usage: *mut rusage) -> isize {
    let real = choose(which, options);
    let mut state: c_int = 0;
    // SAFETY: what the program asks for.
    unsafe {
        let mut result = call!(sys::SYS_wait4, real, &raw mut state, options, 0);
        while result == -(EINTR as isize) && active() {
            // Signals for the program never come from the kernel.
            result = call!(sys::SYS_wait4, real, &raw mut state, options, 0);
        }
        if result <= 0 {
            return result;
        }
        if !status.is_null() {
            *status = state;
        }
        if !usage.is_null() {
            usage.write_bytes(0, 1);
        }
        let shown = shown_process(result as c_int);
        if libc::WIFEXITED(state) || libc::WIFSIGNALED(state) {
            handles::forget_child(result as c_int);
        }
        shown as isize
    }
}

/// Waits for a process as `waitid` does; gives what the system call gives.
pub unsafe fn raw_waitid(kind: c_int, which: c_int, info: *mut siginfo_t, options: c_int, usage: *mut rusage) -> isize {
    const ANY: c_int = libc::P_ALL as c_int;
    const ONE: c_int = libc::P_PID as c_int;
    const GROUP: c_int = libc::P_PGID as c_int;
    let ends = options & (libc::WSTOPPED | libc::WCONTINUED) == 0;
    let (kind, real) = match kind {
        ANY if ends => match choose(-1, options) {
            -1 => (ANY, 0),
            real => (ONE, real),
        },
        ONE => (ONE, choose(which, if ends { options } else { 0 })),
        GROUP => (GROUP, if which > 0 { real_process(which) } else { which }),
        _ => (kind, which),
    };
    // SAFETY: what the program asks for.
    unsafe {
        let mut own: siginfo_t = core::mem::zeroed();
        let mut result = call!(libc::SYS_waitid, kind, real, &raw mut own, options, 0);
        while result == -(EINTR as isize) && active() {
            result = call!(libc::SYS_waitid, kind, real, &raw mut own, options, 0);
        }
        if result < 0 {
            return result;
        }
        // Number, error and code; then process, user, status, and times of the processor.
        let words = (&raw mut own).cast::<c_int>();
        let (child, code) = (words.add(4).read(), words.add(2).read());
        if child > 0 {
            words.add(4).write(shown_process(child));
            (&raw mut own).cast::<u64>().add(4).write_bytes(0, 2);
            if options & WNOWAIT == 0 && matches!(code, libc::CLD_EXITED | libc::CLD_KILLED | libc::CLD_DUMPED) {
                handles::forget_child(child);
            }
        }
        if !info.is_null() {
            *info = own;
        }
        if !usage.is_null() {
            usage.write_bytes(0, 1);
        }
        result
    }
}

unsafe extern "C" fn wait_for_any(status: *mut c_int) -> c_int {
    // SAFETY: the program's arguments.
    c_result(unsafe { raw_wait4(-1, status, 0, core::ptr::null_mut()) }) as c_int
}

unsafe extern "C" fn wait_for_process(which: c_int, status: *mut c_int, options: c_int) -> c_int {
    // SAFETY: the program's arguments.
    c_result(unsafe { raw_wait4(which, status, options, core::ptr::null_mut()) }) as c_int
}

unsafe extern "C" fn wait_with_usage(status: *mut c_int, options: c_int, usage: *mut rusage) -> c_int {
    // SAFETY: the program's arguments.
    c_result(unsafe { raw_wait4(-1, status, options, usage) }) as c_int
}

unsafe extern "C" fn wait_for_with_usage(
    which: c_int,
    status: *mut c_int,
    options: c_int,
    usage: *mut rusage,
) -> c_int {
    // SAFETY: the program's arguments.
    c_result(unsafe { raw_wait4(which, status, options, usage) }) as c_int
}

unsafe extern "C" fn wait_for_state(kind: c_int, which: c_int, info: *mut siginfo_t, options: c_int) -> c_int {
    // SAFETY: the program's arguments.
    c_result(unsafe { raw_waitid(kind, which, info, options, core::ptr::null_mut()) }) as c_int
}

/// A process that is named by its number, or itself by zero.
fn named(process: c_int) -> c_int {
    if process == 0 { 0 } else { real_process(process) }
}

/// What the program sees in place of a group: its own is that of the program itself, as if it were started by a shell.
fn shown_group(group: isize) -> isize {
    if group <= 0 {
        return group;
    }
    let shown = shown_process(group as c_int);
    // Groups that no process of the program leads are the one that it was started in.
    (if shown == group as c_int { handles::VIRTUAL_PROCESS } else { shown }) as isize
}

/// The group of a process; gives what the system call gives.
pub fn raw_group(process: c_int) -> isize {
    // SAFETY: asks for a number.
    shown_group(unsafe { call!(libc::SYS_getpgid, named(process)) })
}

extern "C" fn own_group() -> c_int {
    raw_group(0) as c_int
}

extern "C" fn group_of(process: c_int) -> c_int {
    c_result(raw_group(process)) as c_int
}

/// Puts a process into a group; gives what the system call gives.
pub fn raw_set_group(process: c_int, group: c_int) -> isize {
    let itself = process == 0 || process == handles::own();
    if active() && itself && (group == 0 || group == handles::own()) {
        // It leads its group already, in whichever way it was started.
        return 0;
    }
    // SAFETY: what the program asks for.
    unsafe { call!(libc::SYS_setpgid, named(process), named(group)) }
}

extern "C" fn set_group(process: c_int, group: c_int) -> c_int {
    c_result(raw_set_group(process, group)) as c_int
}

extern "C" fn lead_group() -> c_int {
    set_group(0, 0)
}

extern "C" fn session_of(process: c_int) -> c_int {
    // SAFETY: asks for a number.
    let session = unsafe { call!(libc::SYS_getsid, named(process)) };
    if session < 0 {
        return c_result(session) as c_int;
    }
    let shown = shown_process(session as c_int);
    if shown == session as c_int { OUTSIDE } else { shown }
}

extern "C" fn lead_session() -> c_int {
    if active() {
        // Who leads a group cannot.
        return c_result(-EPERM as isize) as c_int;
    }
    // SAFETY: what the program asks for.
    let session = unsafe { call!(libc::SYS_setsid) };
    c_result(if session < 0 { session } else { handles::own() as isize }) as c_int
}

/// Whom a signal reaches, as the kernel knows it: a process, or a group if below zero.
pub fn receiver(process: c_int) -> c_int {
    match process {
        1.. => real_process(process),
        -1 | 0 => process,
        _ => -real_process(-process),
    }
}

unsafe extern "C" fn kill_from_child(process: c_int, signal: c_int) -> c_int {
    // SAFETY: what the program asks for.
    c_result(unsafe { call!(libc::SYS_kill, receiver(process), signal) }) as c_int
}

unsafe extern "C" fn kill_group_from_child(group: c_int, signal: c_int) -> c_int {
    // SAFETY: what the program asks for.
    unsafe { kill_from_child(-group, signal) }
}
