//! `select`: three sets of descriptors, as a poll of them all.

use super::fail;
use super::polling::{is_limit, mask, poll_with, span};
use crate::context::interpose;
use crate::real::c_result;
use crate::signals;
use crate::time;
use alloc::vec::Vec;
use core::ffi::c_int;
use libc::{EINVAL, fd_set, pollfd, sigset_t, timespec, timeval};

const SECOND: u64 = 1_000_000_000;

interpose! {
    select => select_some; __select => select_some; pselect => select_masked;
}

/// Waits for the descriptors of three sets, by polling them with `wait`; gives the answer, or an error.
unsafe fn select_with(count: c_int, sets: [*mut fd_set; 3], wait: impl FnOnce(&mut [pollfd]) -> isize) -> isize {
    const WANTED: [i16; 3] = [libc::POLLIN, libc::POLLOUT, libc::POLLPRI];
    const TOLD: [i16; 3] = [libc::POLLIN | libc::POLLHUP | libc::POLLERR, libc::POLLOUT | libc::POLLERR, libc::POLLPRI];
    let mut fds: Vec<pollfd> = Vec::new();
    let place = |fd: c_int| (fd as usize / 64, 1u64 << (fd % 64));
    // SAFETY: the program's sets have a bit for each descriptor.
    unsafe {
        for fd in 0..count.max(0) {
            let (index, bit) = place(fd);
            let is_in = |set: *mut fd_set| !set.is_null() && (set as *const u64).add(index).read() & bit != 0;
            let events = sets.iter().zip(WANTED).filter(|(set, _)| is_in(**set)).fold(0, |events, (_, e)| events | e);
            if events != 0 {
                fds.push(pollfd { fd, events, revents: 0 });
            }
        }
        let answer = wait(&mut fds);
        if answer < 0 {
            return answer;
        }
        if fds.iter().any(|p| p.revents & libc::POLLNVAL != 0) {
            return -(libc::EBADF as isize);
        }
        let mut found = 0;
        for (set, (wanted, told)) in
            sets.into_iter().zip(WANTED.into_iter().zip(TOLD)).filter(|(set, _)| !set.is_null())
        {
            for index in 0..(count.max(0) as usize).div_ceil(64) {
                (set as *mut u64).add(index).write(0);
            }
            for poll in fds.iter().filter(|p| p.events & wanted != 0 && p.revents & told != 0) {
                let (index, bit) = place(poll.fd);
                *(set as *mut u64).add(index) |= bit;
                found += 1;
            }
        }
        found
    }
}

unsafe extern "C" fn select_some(
    count: c_int,
    readable: *mut fd_set,
    writable: *mut fd_set,
    exceptional: *mut fd_set,
    limit: *mut timeval,
) -> c_int {
    // SAFETY: the program's arguments.
    unsafe {
        if count < 0 || limit.as_ref().is_some_and(|t| t.tv_sec < 0 || t.tv_usec < 0) {
            return fail(EINVAL);
        }
        let timeout = limit.as_ref().map(|t| {
            (t.tv_sec.max(0) as u64)
                .saturating_mul(SECOND)
                .saturating_add((t.tv_usec.max(0) as u64).saturating_mul(1000))
        });
        let begin = time::now();
        let answer = select_with(count, [readable, writable, exceptional], |fds| poll_with(fds, timeout));
        if let (Some(limit), Some(timeout)) = (limit.as_mut(), timeout) {
            // The kernel says how much is left.
            let left = timeout.saturating_sub(time::now().saturating_sub(begin));
            *limit = timeval { tv_sec: (left / SECOND) as i64, tv_usec: (left % SECOND / 1000) as i64 };
        }
        c_result(answer) as c_int
    }
}

unsafe extern "C" fn select_masked(
    count: c_int,
    readable: *mut fd_set,
    writable: *mut fd_set,
    exceptional: *mut fd_set,
    limit: *const timespec,
    set: *const sigset_t,
) -> c_int {
    // SAFETY: the program's arguments.
    unsafe {
        if count < 0 || !is_limit(limit) {
            return fail(EINVAL);
        }
        let sets = [readable, writable, exceptional];
        let wait = |fds: &mut [pollfd]| signals::with_mask(mask(set), span(limit), true, |limit| poll_with(fds, limit));
        c_result(select_with(count, sets, wait)) as c_int
    }
}
