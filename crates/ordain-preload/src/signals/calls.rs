//! The functions about signals that programs call.

use super::{
    Action, COUNT, Recipient, Signal, await_one, bit, faults, handlers, is_shared, send, set_mask, set_of, signals,
    suspend,
    timers::{self, arm},
};
use crate::children;
use crate::context::interpose;
use crate::engine::{engine, step};
use crate::handles::{self, VIRTUAL_PROCESS};
use crate::link;
use crate::real::{self, c_result, set_errno};
use crate::sys::{self, call};
use crate::threads::{self, Slot, State};
use crate::time;
use core::ffi::{c_int, c_uint, c_void};
use libc::{EINTR, EINVAL, ENOMEM, EPERM, ESRCH, SIG_ERR, sigset_t, timespec, timeval};
use ordain_model::{MemoryOrder, Operation, Wait};

const RESTORER: u64 = 0x0400_0000;
/// Where a signal comes from: `kill`, `sigqueue`, `tgkill`, the kernel.
pub const SI_USER: c_int = 0;
pub const SI_QUEUE: c_int = -1;
pub(super) const SI_TKILL: c_int = -6;
pub(super) const SI_KERNEL: c_int = 0x80;
const SECOND: u64 = 1_000_000_000;

interpose! {
    sigaction => set_action; __sigaction => set_action;
    signal => set_handler; bsd_signal => set_handler; ssignal => set_handler; __sysv_signal => set_handler_once;
    sysv_signal => set_handler_once;
    siginterrupt => set_interrupting;
    sigprocmask => change_mask; pthread_sigmask => change_thread_mask;
    sigpending => get_pending;
    sigwait => wait_for; sigwaitinfo => wait_for_info; sigtimedwait => wait_for_some_time;
    sigsuspend => suspend_with; pause => wait_for_handler;
    kill => send_to_process; killpg => send_to_group; raise => send_to_self; gsignal => send_to_self;
    pthread_kill => send_to_thread; pthread_sigqueue => queue_to_thread; sigqueue => queue_to_process;
    tgkill => send_to_number;
    alarm => set_alarm; ualarm => set_short_alarm; setitimer => set_timer; getitimer => get_timer;
    sigaltstack => set_stack; abort => abort_program;
    siglongjmp => jump; longjmp => jump; _longjmp => jump; __longjmp_chk => jump;
    signalfd => refuse_descriptor; timer_create => refuse_timer;
}

fn is_signal(signal: c_int) -> bool {
    (1..COUNT as c_int).contains(&signal)
}

/// Whether a signal is none of those that the C library has for itself.
fn is_programs(signal: c_int) -> bool {
    !matches!(signal, 32 | 33)
}

fn fail(error: c_int) -> c_int {
    c_result(-error as isize) as c_int
}

unsafe fn set_at(set: *const sigset_t) -> u64 {
    // SAFETY: the program's set; the kernel knows its first word.
    unsafe { (set as *const u64).read() }
}

/// Gives a signal another disposition, if there is one; gives the one that it had.
pub(super) fn exchange(signal: c_int, new: Option<Action>) -> Result<Action, c_int> {
    if !is_signal(signal) || new.is_some() && matches!(signal, libc::SIGKILL | libc::SIGSTOP) {
        return Err(EINVAL);
    }
    let Some(action) = new else { return Ok(handlers::get_action(signal)) };
    // The C library always has a place to return to, and shows that.
    let was = handlers::set_action(signal, Action { flags: action.flags | RESTORER, ..action });
    faults::place(signal);
    Ok(was)
}

unsafe extern "C" fn set_action(signal: c_int, new: *const libc::sigaction, old: *mut libc::sigaction) -> c_int {
    // SAFETY: the program's arguments; the C library's layout has the mask before the flags.
    unsafe {
        let new = new.as_ref().map(|new| Action {
            handler: new.sa_sigaction,
            flags: u64::from(new.sa_flags as u32),
            restorer: 0,
            mask: set_at(&new.sa_mask),
        });
        let was = match exchange(signal, new) {
            Ok(was) if is_programs(signal) => was,
            _ => return fail(EINVAL),
        };
        if !old.is_null() {
            core::ptr::write_bytes(old, 0, 1);
            (*old).sa_sigaction = was.handler;
            (*old).sa_flags = was.flags as u32 as c_int;
            (&raw mut (*old).sa_mask as *mut u64).write(was.mask);
        }
    }
    0
}

fn handle_with(signal: c_int, handler: usize, flags: c_int) -> usize {
    if !is_signal(signal) || !is_programs(signal) {
        set_errno(EINVAL);
        return SIG_ERR;
    }
    let mask = if flags & libc::SA_NODEFER == 0 { bit(signal) } else { 0 };
    let action = Action { handler, flags: u64::from(flags as u32), restorer: 0, mask };
    exchange(signal, Some(action)).map_or_else(
        |error| {
            set_errno(error);
            SIG_ERR
        },
        |was| was.handler,
    )
}

unsafe extern "C" fn set_handler(signal: c_int, handler: usize) -> usize {
    handle_with(signal, handler, libc::SA_RESTART)
}

unsafe extern "C" fn set_handler_once(signal: c_int, handler: usize) -> usize {
    handle_with(signal, handler, libc::SA_RESETHAND | libc::SA_NODEFER)
}

unsafe extern "C" fn set_interrupting(signal: c_int, interrupts: c_int) -> c_int {
    if !is_signal(signal) {
        return fail(EINVAL);
    }
    let restart = u64::from(libc::SA_RESTART as u32);
    let mut action = handlers::get_action(signal);
    action.flags = if interrupts != 0 { action.flags & !restart } else { action.flags | restart };
    exchange(signal, Some(action)).map_or_else(fail, |_| 0)
}

unsafe fn mask_with(how: c_int, set: *const sigset_t, old: *mut sigset_t) -> c_int {
    let e = engine();
    let was = e.slots[e.current].mask;
    // SAFETY: the program's arguments.
    unsafe {
        if !set.is_null() {
            let set = set_at(set);
            match how {
                libc::SIG_BLOCK => set_mask(was | set),
                libc::SIG_UNBLOCK => set_mask(was & !set),
                libc::SIG_SETMASK => set_mask(set),
                _ => return EINVAL,
            }
        }
        if !old.is_null() {
            (old as *mut u64).write(was);
        }
    }
    0
}

unsafe extern "C" fn change_thread_mask(how: c_int, set: *const sigset_t, old: *mut sigset_t) -> c_int {
    // SAFETY: the program's arguments.
    unsafe { mask_with(how, set, old) }
}

pub(super) unsafe extern "C" fn change_mask(how: c_int, set: *const sigset_t, old: *mut sigset_t) -> c_int {
    // SAFETY: the program's arguments.
    fail_if(unsafe { mask_with(how, set, old) })
}

fn fail_if(error: c_int) -> c_int {
    if error == 0 { 0 } else { fail(error) }
}

pub(super) unsafe extern "C" fn get_pending(set: *mut sigset_t) -> c_int {
    if is_shared() {
        step(Operation::Load { cell: super::object(), order: MemoryOrder::SeqCst });
    }
    let e = engine();
    let pending = set_of(&e.slots[e.current].come) | set_of(&signals().pending);
    // SAFETY: the program wants to know.
    unsafe { (set as *mut u64).write(pending) };
    0
}

unsafe extern "C" fn wait_for(set: *const sigset_t, out: *mut c_int) -> c_int {
    // SAFETY: the program's arguments.
    unsafe {
        match await_one(set_at(set), Wait::Interruptible, false) {
            Ok(signal) => {
                *out = signal.number;
                0
            }
            Err(error) => error,
        }
    }
}

unsafe fn wait_with(set: *const sigset_t, out: *mut libc::siginfo_t, wait: Wait) -> c_int {
    // SAFETY: the program's arguments.
    unsafe {
        match await_one(set_at(set), wait, true) {
            Ok(signal) => {
                if !out.is_null() {
                    // The C library does not tell `tgkill` from `kill` here.
                    let code = if signal.code == SI_TKILL { SI_USER } else { signal.code };
                    handlers::fill(out, &Signal { code, ..signal });
                }
                signal.number
            }
            Err(error) => fail(error),
        }
    }
}

unsafe extern "C" fn wait_for_info(set: *const sigset_t, out: *mut libc::siginfo_t) -> c_int {
    // SAFETY: the program's arguments.
    unsafe { wait_with(set, out, Wait::Interruptible) }
}

pub(super) unsafe extern "C" fn wait_for_some_time(
    set: *const sigset_t,
    out: *mut libc::siginfo_t,
    limit: *const timespec,
) -> c_int {
    if limit.is_null() {
        // SAFETY: the program's arguments.
        return unsafe { wait_with(set, out, Wait::Interruptible) };
    }
    // SAFETY: the program's arguments.
    unsafe {
        let limit = &*limit;
        if limit.tv_nsec < 0 || limit.tv_nsec >= SECOND as i64 || limit.tv_sec < 0 {
            return fail(EINVAL);
        }
        let span = (limit.tv_sec as u64).saturating_mul(SECOND).saturating_add(limit.tv_nsec as u64);
        if span == 0 {
            return wait_with(set, out, Wait::Try);
        }
        time::wait_at_most(span);
        let signal = wait_with(set, out, Wait::Timed);
        if signal < 0 {
            time::advance(span);
        }
        signal
    }
}

pub(super) unsafe extern "C" fn suspend_with(mask: *const sigset_t) -> c_int {
    // SAFETY: the program's argument.
    suspend(Some(unsafe { set_at(mask) }));
    fail(EINTR)
}

pub(super) extern "C" fn wait_for_handler() -> c_int {
    suspend(None);
    fail(EINTR)
}

/// Whether a number means this process.
fn is_own(process: c_int) -> bool {
    // SAFETY: asks for a number.
    let own = unsafe { call!(sys::SYS_getpid) } as c_int;
    process == 0 || process == own || process == -own || process.abs() == VIRTUAL_PROCESS
}

/// Sends a signal, unless it is none; gives an error.
fn post(signal: c_int, to: Recipient, code: c_int, value: usize) -> c_int {
    match signal {
        0 => 0,
        _ if !is_signal(signal) => EINVAL,
        _ => {
            send(Signal::new(signal, code, value), to);
            0
        }
    }
}

unsafe extern "C" fn send_to_process(process: c_int, signal: c_int) -> c_int {
    if !is_own(process) {
        return c_result(children::send(process, signal)) as c_int;
    }
    fail_if(post(signal, Recipient::Process, SI_USER, 0))
}

/// `kill` as a system call; gives what that returns.
pub fn raw_kill(process: c_int, signal: c_int) -> isize {
    if is_own(process) {
        return -(post(signal, Recipient::Process, SI_USER, 0) as isize);
    }
    children::send(process, signal)
}

unsafe extern "C" fn send_to_group(group: c_int, signal: c_int) -> c_int {
    // SAFETY: what the program asks for.
    unsafe { send_to_process(-group, signal) }
}

unsafe extern "C" fn queue_to_process(process: c_int, signal: c_int, value: usize) -> c_int {
    fail_if(queue(process, signal, value))
}

/// Queues a signal for the process; gives an error.
pub(super) fn queue(process: c_int, signal: c_int, value: usize) -> c_int {
    if is_own(process) { post(signal, Recipient::Process, SI_QUEUE, value) } else { EPERM }
}

/// Queues a signal for the thread with a number; gives an error.
pub(super) fn queue_to(thread: c_int, signal: c_int, value: usize) -> c_int {
    slot_with(thread).map_or(ESRCH, |slot| post(signal, Recipient::Thread(slot), SI_QUEUE, value))
}

unsafe extern "C" fn send_to_self(signal: c_int) -> c_int {
    let me = engine().current;
    fail_if(post(signal, Recipient::Thread(me), SI_TKILL, 0))
}

unsafe extern "C" fn send_to_thread(thread: libc::pthread_t, signal: c_int) -> c_int {
    match threads::slot_of(thread) {
        _ if !is_programs(signal) => EINVAL,
        Some(slot) => post(signal, Recipient::Thread(slot), SI_TKILL, 0),
        None => ESRCH,
    }
}

unsafe extern "C" fn queue_to_thread(thread: libc::pthread_t, signal: c_int, value: usize) -> c_int {
    match threads::slot_of(thread) {
        _ if !is_programs(signal) => EINVAL,
        Some(slot) => post(signal, Recipient::Thread(slot), SI_QUEUE, value),
        None => ESRCH,
    }
}

/// Sends a signal to the thread with a number, as the system call does; gives an error.
pub fn send_to(thread: c_int, signal: c_int) -> c_int {
    slot_with(thread).map_or(ESRCH, |slot| post(signal, Recipient::Thread(slot), SI_TKILL, 0))
}

/// The slot of the thread with a number.
fn slot_with(thread: c_int) -> Option<usize> {
    let is_meant = |s: &Slot| s.state == State::Running && handles::of_thread(s.thread) == thread;
    engine().slots.iter().position(|s| is_meant(s))
}

unsafe extern "C" fn send_to_number(process: c_int, thread: c_int, signal: c_int) -> c_int {
    fail_if(if is_own(process) { send_to(thread, signal) } else { EPERM })
}

pub(super) extern "C" fn set_alarm(seconds: c_uint) -> c_uint {
    arm(u64::from(seconds) * SECOND, 0).0.div_ceil(SECOND) as c_uint
}

extern "C" fn set_short_alarm(span: c_uint, interval: c_uint) -> c_uint {
    (arm(u64::from(span) * 1000, u64::from(interval) * 1000).0 / 1000) as c_uint
}

fn timer_value((span, interval): (u64, u64)) -> libc::itimerval {
    let time = |n: u64| timeval { tv_sec: (n / SECOND) as i64, tv_usec: (n % SECOND / 1000) as i64 };
    libc::itimerval { it_interval: time(interval), it_value: time(span) }
}

pub(super) unsafe extern "C" fn set_timer(
    which: c_int,
    new: *const libc::itimerval,
    old: *mut libc::itimerval,
) -> c_int {
    if which != libc::ITIMER_REAL {
        link::refuse(format_args!(
            "the program sets a timer of processor time, which is not the same in every execution"
        ));
    }
    let span = |t: &timeval| (t.tv_sec.max(0) as u64).saturating_mul(SECOND).saturating_add(t.tv_usec as u64 * 1000);
    // SAFETY: the program's arguments.
    unsafe {
        let was = if new.is_null() { (0, 0) } else { arm(span(&(*new).it_value), span(&(*new).it_interval)) };
        if !old.is_null() {
            *old = timer_value(was);
        }
    }
    0
}

pub(super) unsafe extern "C" fn get_timer(which: c_int, out: *mut libc::itimerval) -> c_int {
    let left = if which == libc::ITIMER_REAL { timers::left() } else { (0, 0) };
    // SAFETY: the program wants to know.
    unsafe { *out = timer_value(left) };
    0
}

pub(super) unsafe extern "C" fn set_stack(new: *const libc::stack_t, old: *mut libc::stack_t) -> c_int {
    let e = engine();
    let slot = &mut e.slots[e.current];
    let (base, size) = slot.alternate;
    let inside = (base..base + size).contains(&(slot.registers[1] as usize));
    // SAFETY: the program's arguments.
    unsafe {
        if !old.is_null() {
            (*old).ss_sp = base as *mut c_void;
            (*old).ss_size = size;
            (*old).ss_flags = match (size, inside) {
                (0, _) => libc::SS_DISABLE,
                (_, true) => libc::SS_ONSTACK,
                _ => 0,
            };
        }
        if !new.is_null() {
            if inside {
                return fail(EPERM);
            }
            let new = &*new;
            if new.ss_flags & libc::SS_DISABLE != 0 {
                slot.alternate = (0, 0);
            } else if new.ss_size < 2048 {
                return fail(ENOMEM);
            } else {
                slot.alternate = (new.ss_sp as usize, new.ss_size);
            }
        }
    }
    0
}

/// Jumps; out of handlers, if the mask is to be put back.
unsafe extern "C" fn jump(environment: *mut c_void, value: c_int) -> ! {
    // SAFETY: the program's buffer: eight registers, then whether a mask was saved.
    unsafe {
        handlers::leave(((environment as *const u64).add(8) as *const c_int).read() != 0);
        let target: unsafe extern "C" fn(*mut c_void, c_int) -> ! = core::mem::transmute(real::next(c"siglongjmp"));
        target(environment, value)
    }
}

unsafe extern "C" fn abort_program() -> ! {
    faults::abort(ordain_wire::Ending::Abort, format_args!(""))
}

unsafe extern "C" fn refuse_descriptor() -> ! {
    link::refuse(format_args!("the program reads signals from a descriptor (signalfd), which is not modelled"))
}

unsafe extern "C" fn refuse_timer() -> ! {
    link::refuse(format_args!(
        "the program makes timers with timer_create, which are not modelled; use timerfd or sleep"
    ))
}
