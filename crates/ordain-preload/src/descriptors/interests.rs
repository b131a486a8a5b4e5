//! Interests of poll sets (`epoll`) in numbers that were closed.
//!
//! The kernel keeps an interest for a number and the open file behind it. Closing the number ends it only if nothing else keeps the file
//! open: no copy of the descriptor, no child process, no message, no call that waits on it. Until then it is told of as before, which is
//! not followed. So the kernel is asked after each closing what it still has (`/proc/self/fdinfo`).

use super::{Kind, descriptors};
use crate::files;
use crate::sys::call;
use crate::unmodelled::{self, Unmodelled};
use alloc::vec::Vec;
use core::ffi::c_int;

/// The poll sets that have an interest in a number.
pub(super) fn holders(fd: c_int) -> Vec<usize> {
    let epolls = descriptors().epolls.iter().enumerate();
    epolls.filter(|(_, epoll)| epoll.has(fd)).map(|(number, _)| number).collect()
}

/// A number was closed that these poll sets had an interest in: notes if one of them still has.
pub(super) fn note_kept(fd: c_int, holders: &[usize]) {
    let d = descriptors();
    let keeps = |number: usize| {
        let kind = Kind::Epoll(number);
        match d.entries.iter().position(|e| e.is_some_and(|e| e.kind == kind)) {
            Some(set) => is_kept(set as c_int, fd),
            // Nobody has the set any more, but for who waits on it, and messages.
            None => d.pins.iter().any(|pin| pin.entry.kind == kind) || d.flying.iter().any(|f| f.entry.kind == kind),
        }
    };
    if holders.iter().any(|number| keeps(*number)) {
        unmodelled::note(Unmodelled::Interests);
    }
}

/// Whether the kernel has an interest of a poll set in a number, or does not tell.
fn is_kept(set: c_int, fd: c_int) -> bool {
    let path = files::descriptor_info_path(set);
    let mut text: Vec<u8> = Vec::new();
    // SAFETY: a path and memory of our own.
    unsafe {
        let info = call!(libc::SYS_open, path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC) as c_int;
        if info < 0 {
            return true;
        }
        let mut room = [0u8; 1024];
        let ended = loop {
            let count = call!(libc::SYS_read, info, room.as_mut_ptr(), room.len());
            if count <= 0 {
                break count == 0;
            }
            text.extend_from_slice(&room[..count as usize]);
        };
        call!(libc::SYS_close, info);
        if !ended {
            return true;
        }
    }
    let Ok(text) = core::str::from_utf8(&text) else { return true };
    let numbers = text.lines().filter_map(|line| line.strip_prefix("tfd:")?.split_whitespace().next());
    numbers.map(|number| number.parse().ok()).any(|number| number.is_none_or(|number: c_int| number == fd))
}
