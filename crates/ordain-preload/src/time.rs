//! Virtual time.
//!
//! Time passes for a thread by what it sleeps, by waits that expire, and a little by looking at the clock, so that a loop
//! that waits for a time to come ends. All clocks are the same, but for those of processor time: they begin with the execution.

mod spans;

pub use spans::is_valid;

use crate::context::interpose;
use crate::engine::{engine, step, wait};
use crate::real::{c_result, call_real};
use crate::signals;
use crate::sys::{self, call};
use core::ffi::{c_int, c_long, c_uint, c_void};
use libc::{timespec, timeval};
use ordain_model::{Operation, Wait};
use ordain_wire::Event;
use spans::{SECOND, nanoseconds, timespec_of};

/// When executions begin: seconds since 1970.
const BEGINNING: u64 = 1_700_000_000;
/// The only base of C's own clock.
const TIME_UTC: c_int = 1;
/// How much time a look at the clock takes.
const LOOK: u64 = 1_000;

/// Lets reading the processor's time fault, so that a handler gives virtual time; or not any more.
pub fn set_virtual(on: bool) {
    let how = if on { libc::PR_TSC_SIGSEGV } else { libc::PR_TSC_ENABLE };
    // SAFETY: a setting of this thread, which its children get too.
    unsafe { call!(sys::SYS_prctl, libc::PR_SET_TSC, how) };
}

/// The time of the running thread, in nanoseconds since 1970.
pub fn now() -> u64 {
    let e = engine();
    BEGINNING * SECOND + e.arbiter.time(e.me())
}

/// Lets time pass for the running thread.
pub fn advance(nanoseconds: u64) {
    let e = engine();
    let thread = e.me();
    e.log(&Event::Advance { thread, nanoseconds });
    e.arbiter.advance(thread, nanoseconds);
}

/// Says how long the next timed operation waits.
pub fn wait_at_most(nanoseconds: u64) {
    let e = engine();
    let thread = e.me();
    e.log(&Event::Patience { thread, nanoseconds });
    e.arbiter.set_patience(thread, nanoseconds);
}

/// Does something that waits until a point in time; `wait` is what to wait with. Time passes if it returns ETIMEDOUT.
pub unsafe fn timed(until: *const timespec, f: impl FnOnce(Wait) -> c_int) -> c_int {
    // SAFETY: the program's argument.
    let until = unsafe { &*until };
    if !is_valid(until) {
        return libc::EINVAL;
    }
    timed_for(nanoseconds(until).saturating_sub(now()), f)
}

/// Whether waits can be limited by a clock.
pub fn limits_waits(clock: c_int) -> bool {
    matches!(clock, libc::CLOCK_REALTIME | libc::CLOCK_MONOTONIC)
}

/// As [`timed`], for a span of time.
pub fn timed_for(span: u64, f: impl FnOnce(Wait) -> c_int) -> c_int {
    wait_at_most(span);
    let result = f(Wait::Timed);
    if result == libc::ETIMEDOUT {
        advance(span);
    }
    result
}

interpose! {
    clock_gettime => get_clock;
    clock_getres => get_resolution;
    gettimeofday => get_time_of_day;
    timespec_get => get_timespec;
    timespec_getres => get_timespec_resolution;
    times => get_times;
    time => get_time;
    clock => get_processor_time;
    nanosleep => sleep_nanoseconds;
    clock_nanosleep => sleep_on_clock;
    usleep => sleep_microseconds;
    sleep => sleep_seconds;
    thrd_sleep => sleep_thread;
    getrusage => get_usage;
    sysinfo => get_system;
    getloadavg => get_load;
    sysconf => get_setting; get_avphys_pages => get_free_pages;
    clock_getcpuclockid => get_process_clock;
    pthread_getcpuclockid => get_thread_clock;
    sched_yield => give_way;
    pthread_yield => give_way;
    thrd_yield => give_way_c11;
}

fn look() -> timespec {
    advance(LOOK);
    timespec_of(now())
}

/// Whether a clock is one of processor time: of the process, of the thread, or of any other one, whose numbers are below zero.
fn is_of_processor(clock: c_int) -> bool {
    clock < 0 || matches!(clock, libc::CLOCK_PROCESS_CPUTIME_ID | libc::CLOCK_THREAD_CPUTIME_ID)
}

/// Reads a clock; gives what the system call gives.
pub unsafe fn raw_clock(clock: c_int, out: *mut timespec) -> isize {
    if clock > libc::CLOCK_TAI {
        return -libc::EINVAL as isize;
    }
    let mut now = look();
    if is_of_processor(clock) {
        now.tv_sec -= BEGINNING as i64;
    }
    // SAFETY: the program wants to know.
    unsafe { *out = now };
    0
}

unsafe extern "C" fn get_clock(clock: c_int, out: *mut timespec) -> c_int {
    // SAFETY: the program's argument.
    c_result(unsafe { raw_clock(clock, out) }) as c_int
}

unsafe extern "C" fn get_process_clock(_process: c_int, out: *mut c_int) -> c_int {
    // SAFETY: the program wants to know.
    unsafe { *out = libc::CLOCK_PROCESS_CPUTIME_ID };
    0
}

unsafe extern "C" fn get_thread_clock(_thread: libc::pthread_t, out: *mut c_int) -> c_int {
    // SAFETY: the program wants to know.
    unsafe { *out = libc::CLOCK_THREAD_CPUTIME_ID };
    0
}

/// Fills in what a process has used: its time, and nothing else.
pub unsafe fn raw_usage(who: c_int, out: *mut libc::rusage) -> isize {
    if !(libc::RUSAGE_CHILDREN..=libc::RUSAGE_THREAD).contains(&who) {
        return -libc::EINVAL as isize;
    }
    let now = look();
    // SAFETY: the program wants to know.
    unsafe {
        out.write_bytes(0, 1);
        if who != libc::RUSAGE_CHILDREN {
            (*out).ru_utime = timeval { tv_sec: now.tv_sec - BEGINNING as i64, tv_usec: now.tv_nsec / 1000 };
        }
    }
    0
}

unsafe extern "C" fn get_usage(who: c_int, out: *mut libc::rusage) -> c_int {
    // SAFETY: the program's argument.
    c_result(unsafe { raw_usage(who, out) }) as c_int
}

/// Fills in what is known of the system: a machine that does nothing else, and was started when the execution began.
pub unsafe fn raw_system(out: *mut libc::sysinfo) -> isize {
    // SAFETY: the program wants to know.
    unsafe {
        let result = call!(libc::SYS_sysinfo, out);
        if result == 0 {
            let system = &mut *out;
            system.uptime = look().tv_sec - BEGINNING as i64;
            system.loads = [0; 3];
            (system.freeram, system.freeswap, system.freehigh) = (system.totalram, system.totalswap, system.totalhigh);
            (system.sharedram, system.bufferram, system.procs) = (0, 0, 1);
        }
        result
    }
}

unsafe extern "C" fn get_system(out: *mut libc::sysinfo) -> c_int {
    // SAFETY: the program's argument.
    c_result(unsafe { raw_system(out) }) as c_int
}

/// A setting of the system; all memory is free.
unsafe extern "C" fn get_setting(name: c_int) -> c_long {
    let name = if name == libc::_SC_AVPHYS_PAGES { libc::_SC_PHYS_PAGES } else { name };
    // SAFETY: asks for a number.
    unsafe { call_real!(sysconf(name)) }
}

unsafe extern "C" fn get_free_pages() -> c_long {
    // SAFETY: asks for a number.
    unsafe { get_setting(libc::_SC_PHYS_PAGES) }
}

unsafe extern "C" fn get_load(out: *mut f64, count: c_int) -> c_int {
    let count = count.clamp(0, 3);
    // SAFETY: the program wants to know.
    unsafe { out.write_bytes(0, count as usize) };
    count
}

unsafe extern "C" fn get_resolution(clock: c_int, out: *mut timespec) -> c_int {
    if clock > libc::CLOCK_TAI {
        return c_result(-libc::EINVAL as isize) as c_int;
    }
    if !out.is_null() {
        // SAFETY: the program wants to know.
        unsafe { *out = timespec { tv_sec: 0, tv_nsec: 1 } };
    }
    0
}

unsafe extern "C" fn get_time_of_day(out: *mut timeval, _zone: *mut c_void) -> c_int {
    // SAFETY: the program wants to know.
    unsafe {
        let now = look();
        *out = timeval { tv_sec: now.tv_sec, tv_usec: now.tv_nsec / 1000 };
    }
    0
}

unsafe extern "C" fn get_timespec(out: *mut timespec, base: c_int) -> c_int {
    if base != TIME_UTC {
        return 0;
    }
    // SAFETY: the program wants to know.
    unsafe { *out = look() };
    base
}

unsafe extern "C" fn get_timespec_resolution(out: *mut timespec, base: c_int) -> c_int {
    if base != TIME_UTC {
        return 0;
    }
    // SAFETY: as above.
    unsafe { get_resolution(0, out) };
    base
}

unsafe extern "C" fn get_times(out: *mut libc::tms) -> c_long {
    let now = look();
    if !out.is_null() {
        // SAFETY: the program wants to know.
        unsafe {
            out.write_bytes(0, 1);
            (*out).tms_utime = spans::ticks(now.tv_sec - BEGINNING as i64, now.tv_nsec);
        }
    }
    spans::ticks(now.tv_sec, now.tv_nsec)
}

unsafe extern "C" fn get_time(out: *mut libc::time_t) -> libc::time_t {
    // SAFETY: the program wants to know.
    unsafe {
        let now = look().tv_sec;
        if !out.is_null() {
            *out = now;
        }
        now
    }
}

extern "C" fn get_processor_time() -> c_long {
    let now = look();
    (now.tv_sec - BEGINNING as i64) * 1_000_000 + now.tv_nsec / 1000
}

/// Sleeps; if a handler ends that, gives how much is left.
fn sleep_for(span: u64) -> Result<(), u64> {
    let end = now().saturating_add(span);
    let slept = if signals::interrupts_sleep(end) {
        Err(libc::EINTR)
    } else {
        wait_at_most(end.saturating_sub(now()));
        wait(Operation::Sleep, false).map(drop)
    };
    if slept.is_err() {
        // As much time has passed as for whoever sent the signal.
        return Err(end.saturating_sub(now()));
    }
    advance(end.saturating_sub(now()));
    signals::note_passing();
    if engine().arbiter.options().kind_time {
        // The time before it was another one than the time behind it.
        crate::cancellation::look();
    }
    Ok(())
}

/// Sleeps for some time, or until a time; gives what the system call gives.
pub unsafe fn raw_sleep(flags: c_int, span: *const timespec, left: *mut timespec) -> isize {
    // SAFETY: the program's arguments.
    unsafe {
        if !is_valid(&*span) || (*span).tv_sec < 0 {
            return -libc::EINVAL as isize;
        }
        let time = nanoseconds(&*span);
        let absolute = flags & libc::TIMER_ABSTIME != 0;
        if let Err(rest) = sleep_for(if absolute { time.saturating_sub(now()) } else { time }) {
            if !absolute && !left.is_null() {
                *left = timespec_of(rest);
            }
            return -libc::EINTR as isize;
        }
    }
    0
}

unsafe extern "C" fn sleep_nanoseconds(span: *const timespec, left: *mut timespec) -> c_int {
    // SAFETY: the program's arguments.
    c_result(unsafe { raw_sleep(0, span, left) }) as c_int
}

unsafe extern "C" fn sleep_on_clock(clock: c_int, flags: c_int, span: *const timespec, left: *mut timespec) -> c_int {
    if clock > libc::CLOCK_TAI || clock == libc::CLOCK_THREAD_CPUTIME_ID {
        return libc::EINVAL;
    }
    // SAFETY: the program's arguments.
    -unsafe { raw_sleep(flags, span, left) } as c_int
}

unsafe extern "C" fn sleep_microseconds(span: c_uint) -> c_int {
    let time = timespec { tv_sec: i64::from(span / 1_000_000), tv_nsec: i64::from(span % 1_000_000) * 1000 };
    // SAFETY: no more than the time to sleep.
    unsafe { sleep_nanoseconds(&time, core::ptr::null_mut()) }
}

unsafe extern "C" fn sleep_seconds(span: c_uint) -> c_uint {
    let time = timespec { tv_sec: i64::from(span), tv_nsec: 0 };
    let mut left = timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: no more than the time to sleep.
    unsafe { sleep_nanoseconds(&time, &mut left) };
    spans::whole_seconds(&left)
}

unsafe extern "C" fn sleep_thread(span: *const timespec, left: *mut timespec) -> c_int {
    // SAFETY: the program's arguments.
    match -unsafe { raw_sleep(0, span, left) } as c_int {
        0 => 0,
        libc::EINTR => -1,
        _ => -2,
    }
}

extern "C" fn give_way() -> c_int {
    step(Operation::Yield);
    0
}

extern "C" fn give_way_c11() {
    give_way();
}
