//! Virtual time, and randomness that is the same in every execution.
//!
//! Time passes for a thread by what it sleeps, by waits that expire, and a little by looking at the clock, so that a loop
//! that waits for a time to come ends. All clocks are the same.

use crate::context::interpose;
use crate::engine::{engine, step};
use crate::real::c_result;
use core::ffi::{c_int, c_long, c_uint, c_void};
use libc::{timespec, timeval};
use ordain_model::{Operation, Wait};
use ordain_wire::Event;

/// When executions begin: seconds since 1970.
const BEGINNING: u64 = 1_700_000_000;
const SECOND: u64 = 1_000_000_000;
/// How much time a look at the clock takes.
const LOOK: u64 = 1_000;

/// What belongs to an execution.
#[derive(Default)]
pub struct Clock {
    random: u64,
}

impl Clock {
    /// Begins an execution.
    pub fn begin(&mut self, entropy: u64) {
        self.random = entropy ^ 0x5851_f42d_4c95_7f2d;
    }

    fn next(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Fills memory with random bytes.
    pub fn fill(&mut self, room: &mut [u8]) {
        for chunk in room.chunks_mut(8) {
            let bytes = self.next().to_le_bytes();
            chunk.copy_from_slice(&bytes[..chunk.len()]);
        }
    }
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

fn nanoseconds(time: &timespec) -> u64 {
    (time.tv_sec.max(0) as u64).saturating_mul(SECOND).saturating_add(time.tv_nsec as u64)
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
    if until.tv_nsec < 0 || until.tv_nsec >= SECOND as i64 {
        return libc::EINVAL;
    }
    timed_for(nanoseconds(until).saturating_sub(now()), f)
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
    getrandom => get_random;
    getentropy => get_entropy;
    arc4random => get_arc4random;
    arc4random_uniform => get_arc4random_below;
    arc4random_buf => fill_arc4random;
    sched_yield => give_way;
    pthread_yield => give_way;
    thrd_yield => give_way_c11;
}

fn look() -> timespec {
    advance(LOOK);
    let now = now();
    timespec { tv_sec: (now / SECOND) as i64, tv_nsec: (now % SECOND) as i64 }
}

unsafe extern "C" fn get_clock(_clock: c_int, out: *mut timespec) -> c_int {
    // SAFETY: the program wants to know.
    unsafe {
        *out = look();
    }
    0
}

unsafe extern "C" fn get_resolution(_clock: c_int, out: *mut timespec) -> c_int {
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
    // SAFETY: the program wants to know.
    unsafe { *out = look() };
    base
}

unsafe extern "C" fn get_timespec_resolution(out: *mut timespec, base: c_int) -> c_int {
    // SAFETY: as above.
    unsafe { get_resolution(0, out) };
    base
}

unsafe extern "C" fn get_times(out: *mut libc::tms) -> c_long {
    if !out.is_null() {
        // SAFETY: the program wants to know; processor time is not modelled.
        unsafe { out.write_bytes(0, 1) };
    }
    (look().tv_sec as c_long).wrapping_mul(100)
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

fn sleep_for(span: u64) {
    wait_at_most(span);
    step(Operation::Sleep);
    advance(span);
    crate::signals::pass_time();
    crate::threads::cancellation_point();
}

unsafe extern "C" fn sleep_nanoseconds(span: *const timespec, _left: *mut timespec) -> c_int {
    // SAFETY: the program's arguments.
    unsafe {
        if (*span).tv_nsec < 0 || (*span).tv_nsec >= SECOND as i64 || (*span).tv_sec < 0 {
            return c_result(-libc::EINVAL as isize) as c_int;
        }
        sleep_for(nanoseconds(&*span));
    }
    0
}

unsafe extern "C" fn sleep_on_clock(_clock: c_int, flags: c_int, span: *const timespec, _left: *mut timespec) -> c_int {
    // SAFETY: the program's arguments.
    unsafe {
        if (*span).tv_nsec < 0 || (*span).tv_nsec >= SECOND as i64 {
            return libc::EINVAL;
        }
        let time = nanoseconds(&*span);
        sleep_for(if flags & libc::TIMER_ABSTIME != 0 { time.saturating_sub(now()) } else { time });
    }
    0
}

unsafe extern "C" fn sleep_microseconds(span: c_uint) -> c_int {
    let time = timespec { tv_sec: i64::from(span / 1_000_000), tv_nsec: i64::from(span % 1_000_000) * 1000 };
    // SAFETY: no more than the time to sleep.
    unsafe { sleep_nanoseconds(&time, core::ptr::null_mut()) }
}

unsafe extern "C" fn sleep_seconds(span: c_uint) -> c_uint {
    let time = timespec { tv_sec: i64::from(span), tv_nsec: 0 };
    // SAFETY: no more than the time to sleep.
    unsafe { sleep_nanoseconds(&time, core::ptr::null_mut()) };
    0
}

unsafe extern "C" fn sleep_thread(span: *const timespec, left: *mut timespec) -> c_int {
    // SAFETY: the program's arguments.
    unsafe { sleep_nanoseconds(span, left) }
}

/// Fills memory with bytes that are the same in every execution.
pub unsafe fn fill_random(room: *mut c_void, length: usize) {
    // SAFETY: the program's memory.
    let room = unsafe { core::slice::from_raw_parts_mut(room as *mut u8, length) };
    engine().clock.fill(room);
}

unsafe extern "C" fn get_random(room: *mut c_void, length: usize, _flags: c_uint) -> isize {
    // SAFETY: the program's memory.
    unsafe {
        fill_random(room, length);
    }
    length as isize
}

unsafe extern "C" fn get_entropy(room: *mut c_void, length: usize) -> c_int {
    // SAFETY: the program's memory.
    unsafe { fill_random(room, length) };
    0
}

unsafe extern "C" fn get_arc4random() -> u32 {
    let mut value = 0u32;
    // SAFETY: four bytes of our own.
    unsafe { get_random((&raw mut value) as *mut c_void, 4, 0) };
    value
}

unsafe extern "C" fn get_arc4random_below(bound: u32) -> u32 {
    // SAFETY: asks for a number.
    let value = u64::from(unsafe { get_arc4random() });
    ((value * u64::from(bound)) >> 32) as u32
}

unsafe extern "C" fn fill_arc4random(room: *mut c_void, length: usize) {
    // SAFETY: the program's memory.
    unsafe { get_random(room, length, 0) };
}

extern "C" fn give_way() -> c_int {
    step(Operation::Yield);
    0
}

extern "C" fn give_way_c11() {
    give_way();
}
