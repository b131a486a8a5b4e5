//! Groups and sessions of processes, and signals to other processes.
//!
//! A signal never leaves the family: it reaches the processes that the program has made, and in them the one that made them, whatever
//! number or group is named.

use crate::context::interpose;
use crate::engine::active;
use crate::files;
use crate::handles::{self, OUTSIDE, VIRTUAL_PROCESS, real_process, shown_process};
use crate::real::c_result;
use crate::signals::{self, SI_QUEUE, SI_USER};
use crate::sys::{self, call};
use core::ffi::c_int;
use libc::{EPERM, ESRCH};
use ordain_wire::State;

interpose! {
    getpgrp => own_group; getpgid => group_of; setpgid => set_group; setpgrp => lead_group;
    getsid => session_of; setsid => lead_session;
}

/// The function of ours that stands for one of the C library in child processes.
pub fn stand_in(name: &[u8]) -> Option<usize> {
    Some(match name {
        b"getpgrp" => own_group as *const () as usize,
        b"getpgid" => group_of as *const () as usize,
        b"setpgid" => set_group as *const () as usize,
        b"setpgrp" => lead_group as *const () as usize,
        b"getsid" => session_of as *const () as usize,
        b"setsid" => lead_session as *const () as usize,
        b"kill" => kill_from_child as *const () as usize,
        b"killpg" => kill_group_from_child as *const () as usize,
        b"sigqueue" => queue_from_child as *const () as usize,
        _ => return None,
    })
}

/// Orders asking for or changing groups and sessions, which threads share.
fn order(changes: bool) {
    if active() {
        files::order_state(State::Session, changes);
    }
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
    (if shown == group as c_int { VIRTUAL_PROCESS } else { shown }) as isize
}

/// The group of a process; gives what the system call gives.
pub fn raw_group(process: c_int) -> isize {
    order(false);
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
    order(true);
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
    order(false);
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
        order(true);
        // Who leads a group cannot.
        return c_result(-EPERM as isize) as c_int;
    }
    // SAFETY: what the program asks for.
    let session = unsafe { call!(libc::SYS_setsid) };
    c_result(if session < 0 { session } else { handles::own() as isize }) as c_int
}

/// Sends a signal to another process or a group of them; gives what the system call gives.
pub fn send(process: c_int, signal: c_int) -> isize {
    match process {
        VIRTUAL_PROCESS if handles::in_child() => to_program(signal, SI_USER, 0),
        // Natively everybody but init and the sender.
        -1 => to_all(handles::relatives(), signal),
        0 => {
            let sent = to_all(handles::relatives().filter(|real| has_group(*real, own_real_group())), signal);
            // SAFETY: a signal to this very process.
            if handles::in_child() { unsafe { call!(libc::SYS_kill, call!(sys::SYS_getpid), signal) } } else { sent }
        }
        1.. => to_all(Some(real_process(process)).into_iter().filter(|real| is_relative(*real)), signal),
        _ => {
            let group = process.checked_neg().map_or(0, real_process);
            to_all(handles::relatives().filter(|real| has_group(*real, group)), signal)
        }
    }
}

/// Whether a process is this one, one that it has made, or one that made it.
fn is_relative(real: c_int) -> bool {
    // SAFETY: asks for a number.
    real as isize == unsafe { call!(sys::SYS_getpid) } || handles::relatives().any(|relative| relative == real)
}

/// Whether a process is the program, and this one a child that it has made. Its signals are not the kernel's business.
fn is_program(real: c_int) -> bool {
    // SAFETY: asks for a number.
    handles::in_child() && handles::parent() == VIRTUAL_PROCESS && real as isize == unsafe { call!(libc::SYS_getppid) }
}

/// Sends a signal from a child to the program. Stopping it and letting it go on is the kernel's business, and so is a signal that the
/// program does not expect.
fn to_program(signal: c_int, code: c_int, value: usize) -> isize {
    signals::note_sent(signal);
    let passes = signals::are_passed_on();
    if !passes || matches!(signal, libc::SIGSTOP | libc::SIGCONT) {
        // SAFETY: what the child asks for; the process is the program.
        let result = unsafe { call!(libc::SYS_kill, real_process(VIRTUAL_PROCESS), signal) };
        if !passes || signal == libc::SIGSTOP || result < 0 {
            return result;
        }
    }
    signals::send_from_child(signal, code, value)
}

fn own_real_group() -> c_int {
    // SAFETY: asks for a number.
    unsafe { call!(libc::SYS_getpgid, 0) as c_int }
}

pub(super) fn has_group(real: c_int, group: c_int) -> bool {
    // SAFETY: asks for a number.
    group > 1 && unsafe { call!(libc::SYS_getpgid, real) } == group as isize
}

/// Sends a signal to each of some processes: done if it reached one.
fn to_all(processes: impl Iterator<Item = c_int>, signal: c_int) -> isize {
    let each = processes.filter(|real| *real > 1).map(|real| {
        if is_program(real) {
            return to_program(signal, SI_USER, 0);
        }
        // SAFETY: what the program asks for; one process, which is one of its own.
        unsafe { call!(libc::SYS_kill, real, signal) }
    });
    each.fold(-ESRCH as isize, |sum, result| if sum == 0 { 0 } else { result })
}

unsafe extern "C" fn kill_from_child(process: c_int, signal: c_int) -> c_int {
    c_result(send(process, signal)) as c_int
}

unsafe extern "C" fn kill_group_from_child(group: c_int, signal: c_int) -> c_int {
    c_result(if group < 0 { -libc::EINVAL as isize } else { send(-group, signal) }) as c_int
}

unsafe extern "C" fn queue_from_child(process: c_int, signal: c_int, value: usize) -> c_int {
    if process == VIRTUAL_PROCESS {
        return c_result(to_program(signal, SI_QUEUE, value)) as c_int;
    }
    // SAFETY: what the program asks for.
    unsafe { crate::real::call_real!(sigqueue(real_process(process), signal, value)) }
}
