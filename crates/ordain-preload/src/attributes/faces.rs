//! The C library's functions about attributes of threads.

use super::{answer, change, of, options};
use crate::context::interpose;
use crate::files;
use crate::kernel;
use crate::real::{c_result, set_errno};
use crate::threads;
use core::ffi::{CStr, c_char, c_int};
use libc::{ERANGE, ESRCH};

interpose! {
    prctl => control;
    pthread_setname_np => set_name; pthread_getname_np => get_name;
    sched_setaffinity => set_processors; sched_getaffinity => get_processors;
    pthread_setaffinity_np => set_thread_processors; pthread_getaffinity_np => get_thread_processors;
    sched_setscheduler => set_scheduler; sched_getscheduler => get_scheduler;
    sched_setparam => set_parameters; sched_getparam => get_parameters;
    pthread_setschedparam => set_thread_scheduler; pthread_getschedparam => get_thread_scheduler;
    pthread_setschedprio => set_thread_priority;
    setpriority => set_priority; getpriority => get_priority; nice => be_nice;
}

/// Makes a system call of the program, whose arguments are looked at.
unsafe fn make(number: i64, a: usize, b: usize, c: usize) -> c_int {
    // SAFETY: what the program asks for.
    c_result(unsafe { kernel::make(number, [a, b, c, 0, 0, 0]) }) as c_int
}

unsafe extern "C" fn control(option: c_int, a: usize, b: usize, c: usize, d: usize) -> c_int {
    // SAFETY: what the program asks for.
    c_result(unsafe { kernel::make(libc::SYS_prctl, [option as usize, a, b, c, d, 0]) }) as c_int
}

unsafe extern "C" fn set_name(thread: libc::pthread_t, name: *const c_char) -> c_int {
    let Some(slot) = threads::slot_of(thread) else { return ESRCH };
    // SAFETY: the program's string.
    if unsafe { CStr::from_ptr(name) }.count_bytes() > 15 {
        return ERANGE;
    }
    files::order_attributes(Some(slot), true);
    change(slot, |a| a.name = options::read_name(name.cast()));
    0
}

unsafe extern "C" fn get_name(thread: libc::pthread_t, to: *mut c_char, size: usize) -> c_int {
    let Some(slot) = threads::slot_of(thread) else { return ESRCH };
    if size < 16 {
        return ERANGE;
    }
    files::order_attributes(Some(slot), false);
    // SAFETY: the program has room for it.
    unsafe { *to.cast::<[u8; 16]>() = of(slot).name };
    0
}

unsafe extern "C" fn set_processors(number: c_int, size: usize, set: usize) -> c_int {
    // SAFETY: the program's arguments.
    unsafe { make(libc::SYS_sched_setaffinity, number as usize, size, set) }
}

unsafe extern "C" fn get_processors(number: c_int, size: usize, set: usize) -> c_int {
    // SAFETY: the program's arguments; what the kernel does not tell of the set is empty.
    unsafe {
        let told = make(libc::SYS_sched_getaffinity, number as usize, size, set);
        if told < 0 {
            return told;
        }
        (set as *mut u8).add(told as usize).write_bytes(0, size - told as usize);
        0
    }
}

/// Answers a call about a thread; gives an error as functions of pthreads do.
unsafe fn about(thread: libc::pthread_t, changes: bool, f: impl FnOnce(usize) -> isize) -> c_int {
    let Some(slot) = threads::slot_of(thread) else { return ESRCH };
    files::order_attributes(Some(slot), changes);
    -f(slot).min(0) as c_int
}

unsafe extern "C" fn set_thread_processors(thread: libc::pthread_t, size: usize, set: *const u8) -> c_int {
    // SAFETY: the program's arguments.
    unsafe { about(thread, true, |slot| super::scheduling::set_processors(slot, size, set)) }
}

unsafe extern "C" fn get_thread_processors(thread: libc::pthread_t, size: usize, set: *mut u8) -> c_int {
    // SAFETY: the program's arguments; what the kernel does not tell of the set is empty.
    unsafe {
        about(thread, false, |slot| {
            let told = super::scheduling::get_processors(slot, size, set);
            if told > 0 {
                set.add(told as usize).write_bytes(0, size - told as usize);
            }
            told
        })
    }
}

unsafe extern "C" fn set_scheduler(number: c_int, policy: c_int, parameters: usize) -> c_int {
    // SAFETY: the program's arguments.
    unsafe { make(libc::SYS_sched_setscheduler, number as usize, policy as usize, parameters) }
}

unsafe extern "C" fn get_scheduler(number: c_int) -> c_int {
    // SAFETY: the program's argument.
    unsafe { make(libc::SYS_sched_getscheduler, number as usize, 0, 0) }
}

unsafe extern "C" fn set_parameters(number: c_int, parameters: usize) -> c_int {
    // SAFETY: the program's arguments.
    unsafe { make(libc::SYS_sched_setparam, number as usize, parameters, 0) }
}

unsafe extern "C" fn get_parameters(number: c_int, parameters: usize) -> c_int {
    // SAFETY: the program's arguments.
    unsafe { make(libc::SYS_sched_getparam, number as usize, parameters, 0) }
}

unsafe extern "C" fn set_thread_scheduler(thread: libc::pthread_t, policy: c_int, parameters: *const c_int) -> c_int {
    // SAFETY: the program's arguments.
    unsafe { about(thread, true, |slot| super::scheduling::set_policy(slot, policy, *parameters)) }
}

unsafe extern "C" fn get_thread_scheduler(
    thread: libc::pthread_t,
    policy: *mut c_int,
    parameters: *mut c_int,
) -> c_int {
    // SAFETY: the program wants to know.
    unsafe {
        about(thread, false, |slot| {
            (*policy, *parameters) = (of(slot).policy, of(slot).priority);
            0
        })
    }
}

unsafe extern "C" fn set_thread_priority(thread: libc::pthread_t, priority: c_int) -> c_int {
    // SAFETY: the program's arguments.
    unsafe { about(thread, true, |slot| super::scheduling::set_policy(slot, of(slot).policy, priority)) }
}

unsafe extern "C" fn set_priority(which: c_int, who: c_int, nice: c_int) -> c_int {
    // SAFETY: the program's arguments.
    unsafe { make(libc::SYS_setpriority, which as usize, who as usize, nice as usize) }
}

unsafe extern "C" fn get_priority(which: c_int, who: c_int) -> c_int {
    // SAFETY: the program's arguments. The kernel tells it from 40, the highest, to 1.
    let told = unsafe { make(libc::SYS_getpriority, which as usize, who as usize, 0) };
    if told < 0 { told } else { 20 - told }
}

extern "C" fn be_nice(more: c_int) -> c_int {
    let me = crate::engine::engine().current;
    let wanted = of(me).nice.saturating_add(more).clamp(-20, 19);
    match answer(libc::SYS_setpriority, [libc::PRIO_PROCESS as usize, 0, wanted as usize, 0, 0, 0]) {
        Some(0) | None => of(me).nice,
        Some(_) => {
            set_errno(libc::EPERM);
            -1
        }
    }
}
