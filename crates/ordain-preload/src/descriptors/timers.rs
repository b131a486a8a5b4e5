//! Timers with a descriptor, in virtual time: the kernel's timer is never set. A timer has expired if its time has passed for whoever
//! looks; before that it may have, as with all waits for a time, and whoever does not want to wait for it finds it either way. How often one
//! with an interval has expired agrees with the time that has passed, or is one more. With kind time nothing expires early.
//!
//! The word of a timer says whether it has expired, and which setting it has: who waits begins anew when that changes.

use super::{
    Entry, Group, IN, Kind, change, create_group, descriptors, entry, fail, insert, is_nonblocking, object_of, pins,
    refresh,
};
use crate::context::interpose;
use crate::engine;
use crate::files;
use crate::objects;
use crate::real::c_result;
use crate::sys::call;
use crate::time;
use core::ffi::c_int;
use libc::{EAGAIN, EBADF, EINVAL, itimerspec, msghdr, timespec};
use ordain_model::{Member, Operation, Outcome, Wait};

const SECOND: u64 = 1_000_000_000;

interpose! {
    timerfd_create => make;
    timerfd_settime => set;
    timerfd_gettime => get;
}

unsafe extern "C" fn make(clock: c_int, flags: c_int) -> c_int {
    files::take_number();
    // SAFETY: what the program asks for.
    let fd = c_result(unsafe { call!(libc::SYS_timerfd_create, clock, flags) }) as c_int;
    if fd >= 0 {
        files::opened(fd);
        let group = create_group();
        descriptors().groups[group].times = true;
        insert(fd, Entry { group: Some(group), ..Entry::new(Kind::Timer) });
        refresh(group);
    }
    fd
}

fn group_of(fd: c_int) -> Option<usize> {
    entry(fd).filter(|e| e.kind == Kind::Timer).and_then(|e| e.group)
}

fn span(time: &timespec) -> u64 {
    (time.tv_sec.max(0) as u64).saturating_mul(SECOND).saturating_add(time.tv_nsec.max(0) as u64)
}

fn value(timer: Option<(u64, u64)>) -> itimerspec {
    let show = |n: u64| timespec { tv_sec: (n / SECOND) as i64, tv_nsec: (n % SECOND) as i64 };
    let now = time::now();
    let (left, interval) = timer.map_or((0, 0), |(when, interval)| (when.saturating_sub(now).max(1), interval));
    itimerspec { it_interval: show(interval), it_value: show(left) }
}

unsafe extern "C" fn set(fd: c_int, flags: c_int, new: *const itimerspec, old: *mut itimerspec) -> c_int {
    files::look_at_numbers();
    let Some(group) = group_of(fd) else { return fail(if entry(fd).is_some() { EINVAL } else { EBADF }) };
    // SAFETY: the program's argument.
    let new_times = unsafe { [&(*new).it_value, &(*new).it_interval] };
    if !new_times.iter().all(|time| time.tv_sec >= 0 && time::is_valid(time)) {
        return fail(EINVAL);
    }
    if !old.is_null() {
        meet(group);
    }
    change(object_of(group));
    // SAFETY: the program's arguments.
    unsafe {
        if !old.is_null() {
            *old = value(descriptors().groups[group].timer);
        }
        let (first, interval) = (span(&(*new).it_value), span(&(*new).it_interval));
        let when = if flags & libc::TFD_TIMER_ABSTIME != 0 { first } else { time::now().saturating_add(first) };
        let timer = &mut descriptors().groups[group];
        timer.timer = (first != 0).then_some((when, interval));
        (timer.expired, timer.setting) = (0, timer.setting + 1);
    }
    refresh(group);
    0
}

unsafe extern "C" fn get(fd: c_int, out: *mut itimerspec) -> c_int {
    files::look_at_numbers();
    let Some(group) = group_of(fd) else { return fail(if entry(fd).is_some() { EINVAL } else { EBADF }) };
    files::order_opening_with(fd, false, |add| add(object_of(group), Member::READ));
    // SAFETY: the program wants to know.
    unsafe { *out = value(descriptors().groups[group].timer) };
    0
}

/// When a timer expires next.
pub(super) fn deadline(group: usize) -> Option<u64> {
    descriptors().groups.get(group)?.timer.map(|t| t.0)
}

/// Bits of the word for the settings.
const SETTINGS: u32 = 32;

fn bit_of(setting: u32) -> u64 {
    1 << (8 + setting % SETTINGS)
}

/// The word of a timer.
pub(super) fn value_of(timer: &Group) -> u64 {
    bit_of(timer.setting) | if timer.expired != 0 { IN } else { 0 }
}

/// What changes the word of a timer while somebody waits for it.
pub(super) fn changes(group: usize) -> u64 {
    let all = ((1 << SETTINGS) - 1) << 8;
    descriptors().groups.get(group).map_or(0, |timer| all & !bit_of(timer.setting))
}

/// Lets a timer expire, as often as its time has passed and at least once: a step of its own.
pub(super) fn expire(group: usize) {
    change(object_of(group));
    let now = time::now();
    let timer = &mut descriptors().groups[group];
    let Some((when, interval)) = timer.timer else { return };
    if when > now {
        time::advance(when - now);
    }
    let more = now.saturating_sub(when).checked_div(interval).unwrap_or(0);
    timer.expired += 1 + more;
    timer.timer = (interval != 0).then(|| (when.saturating_add(interval.saturating_mul(1 + more)), interval));
    refresh(group);
}

/// Whether time may pass although nobody waits.
fn may_pass() -> bool {
    !engine::engine().arbiter.options().kind_time
}

/// Orders what a call finds out about a timer with those who set it: whether it can have expired, and how long it is waited for.
pub(super) fn meet(group: usize) {
    if !engine::engine().is_alone() {
        let set = objects::set_of(&[(object_of(group), Member::READ)]);
        engine::step(Operation::Access { set, looks: true });
    }
}

/// Somebody looks at a timer without waiting: it has expired if its time has come, and else it may have. False if it is as it was.
pub(super) fn look(group: usize) -> bool {
    let Some(when) = deadline(group) else { return false };
    let is_due = when <= time::now();
    let expires =
        is_due || may_pass() && !has_fired(group) && engine::step(Operation::Choose { count: 2 }) == Outcome(1);
    if expires {
        expire(group);
    }
    expires
}

fn has_fired(group: usize) -> bool {
    descriptors().groups[group].expired != 0
}

/// Takes how often a timer has expired; `again` if one with an interval has expired once more by now.
fn take(group: usize, again: bool) -> u64 {
    let timer = &mut descriptors().groups[group];
    let mut count = core::mem::take(&mut timer.expired);
    if let Some((when, interval)) = timer.timer.filter(|_| again) {
        count += 1;
        timer.timer = Some((when.saturating_add(interval), interval));
        time::advance(when.saturating_sub(time::now()));
    }
    count
}

/// Waits until the timer has expired, and says how often it has.
pub(super) unsafe fn read(fd: c_int, known: &Entry, message: &mut msghdr) -> isize {
    let Some(group) = known.group else { return -(EBADF as isize) };
    // SAFETY: the program's memory.
    let piece = unsafe { &*message.msg_iov };
    if message.msg_iovlen != 1 || piece.iov_len < 8 {
        return -(EINVAL as isize);
    }
    let tries = is_nonblocking(fd);
    meet(group);
    let repeats = descriptors().groups[group].timer.is_some_and(|(_, interval)| interval != 0);
    if tries {
        look(group);
    }
    let again = repeats && may_pass() && engine::step(Operation::Choose { count: 2 }) == Outcome(1);
    loop {
        let when = deadline(group);
        if when.is_some_and(|w| w <= time::now()) {
            expire(group);
            continue;
        }
        let wait = match when {
            _ if tries => Wait::Try,
            Some(when) => {
                time::wait_at_most(when.saturating_sub(time::now()));
                Wait::Timed
            }
            None => Wait::Interruptible,
        };
        let mask = IN | if tries { 0 } else { changes(group) };
        let outcome = match engine::wait(Operation::Await { object: object_of(group), mask, wait }, true) {
            Ok(outcome) => outcome,
            Err(error) => return -(error as isize),
        };
        match outcome {
            Outcome::FAILED if wait == Wait::Try => return -(EAGAIN as isize),
            Outcome::FAILED => expire(group),
            // It was set anew.
            _ if !has_fired(group) => {}
            _ => {
                let count = take(group, again);
                // SAFETY: the program's memory.
                unsafe { (piece.iov_base as *mut u64).write_unaligned(count) };
                refresh(group);
                return 8;
            }
        }
    }
}

/// Whether a timer has expired and was not read.
pub(super) fn has_expired(fd: c_int) -> bool {
    pins::reached(fd)
        .1
        .filter(|e| e.kind == Kind::Timer)
        .and_then(|e| e.group)
        .is_some_and(|group| descriptors().groups[group].expired != 0)
}
