//! System calls about signals that come back from the kernel: those of `syscall`, and those that the C library makes by itself, in
//! `sighold`, `sigset` or `sigpause`, where a jump or another context puts a mask back.

use super::Action;
use super::calls::{
    self, change_mask, get_pending, get_timer, set_alarm, set_stack, set_timer, suspend_with, wait_for_some_time,
};
use core::ffi::c_int;
use libc::sigset_t;

/// Signals that the C library has for itself.
const OWN: [c_int; 2] = [32, 33];

/// Whether a system call is about signals, and answered here.
pub fn is_followed(number: i64, arguments: &[usize; 6]) -> bool {
    match number {
        libc::SYS_rt_sigaction => !OWN.contains(&(arguments[0] as c_int)),
        libc::SYS_rt_sigprocmask
        | libc::SYS_rt_sigpending
        | libc::SYS_rt_sigtimedwait
        | libc::SYS_rt_sigsuspend
        | libc::SYS_rt_sigqueueinfo
        | libc::SYS_rt_tgsigqueueinfo
        | libc::SYS_sigaltstack
        | libc::SYS_pause
        | libc::SYS_alarm
        | libc::SYS_setitimer
        | libc::SYS_getitimer => true,
        _ => false,
    }
}

/// What a function of the C library gave, as the kernel would.
fn as_kernel(result: c_int) -> isize {
    // SAFETY: the thread's own.
    if result == -1 { -(unsafe { *libc::__errno_location() } as isize) } else { result as isize }
}

/// Answers such a call.
pub unsafe fn system_call(number: i64, [a, b, c, d, ..]: [usize; 6]) -> isize {
    let set = |word: usize| word as *const sigset_t;
    // SAFETY: what the program asks for.
    unsafe {
        match number {
            libc::SYS_rt_sigaction => set_action(a as c_int, b as *const Action, c as *mut Action),
            libc::SYS_rt_sigprocmask => as_kernel(change_mask(a as c_int, set(b), c as *mut sigset_t)),
            libc::SYS_rt_sigpending => as_kernel(get_pending(a as *mut sigset_t)),
            libc::SYS_rt_sigtimedwait => as_kernel(wait_for_some_time(set(a), b as *mut _, c as *const _)),
            libc::SYS_rt_sigsuspend => as_kernel(suspend_with(set(a))),
            libc::SYS_rt_sigqueueinfo => -(calls::queue(a as c_int, b as c_int, value(c)) as isize),
            libc::SYS_rt_tgsigqueueinfo => -(calls::queue_to(b as c_int, c as c_int, value(d)) as isize),
            libc::SYS_sigaltstack => as_kernel(set_stack(a as *const _, b as *mut _)),
            libc::SYS_alarm => set_alarm(a as u32) as isize,
            libc::SYS_setitimer => as_kernel(set_timer(a as c_int, b as *const _, c as *mut _)),
            libc::SYS_getitimer => as_kernel(get_timer(a as c_int, b as *mut _)),
            _ => as_kernel(calls::wait_for_handler()),
        }
    }
}

/// The value that comes with a queued signal.
unsafe fn value(info: usize) -> usize {
    // SAFETY: the program's structure: number, error and code; then process, user and value.
    unsafe { (info as *const usize).add(3).read() }
}

unsafe fn set_action(signal: c_int, new: *const Action, old: *mut Action) -> isize {
    // SAFETY: the program's arguments, in the kernel's layout.
    unsafe {
        match calls::exchange(signal, new.as_ref().copied()) {
            Ok(was) => {
                if !old.is_null() {
                    *old = was;
                }
                0
            }
            Err(error) => -(error as isize),
        }
    }
}
