//! Locks on parts of files that belong to an opening (`F_OFD_SETLK`). Those of `lockf` and `F_SETLK` belong to the process, so that
//! its threads never wait for each other there.

use super::{files, messages, numbers};
use crate::engine::engine;
use crate::sys::{self, call};
use core::ffi::c_int;
use libc::{EAGAIN, F_OFD_GETLK, F_OFD_SETLK, F_OFD_SETLKW, flock};
use ordain_model::ObjectId;
use ordain_model::names::mix;

const LOCKS: u64 = 0x6c6f_636b;

fn key(file: ObjectId) -> u64 {
    mix(LOCKS, engine().arbiter.names().stable_key(file))
}

/// The object of the locks on a file, if there have been any.
pub(super) fn of(file: ObjectId) -> Option<ObjectId> {
    files().objects.get(&key(file)).copied()
}

/// A command of `fcntl` on such locks, as a step; `None` if it is another.
pub(super) unsafe fn control(fd: c_int, command: c_int, lock: *mut flock) -> Option<isize> {
    let waits = match command {
        F_OFD_SETLKW => true,
        F_OFD_SETLK | F_OFD_GETLK => false,
        _ => return None,
    };
    let file = numbers::find(fd)?;
    // The last copy that is closed takes the lock with it.
    numbers::tell_copies(fd, file);
    let object = messages::waited(key(file.object));
    let command = if waits { F_OFD_SETLK } else { command };
    // SAFETY: what the program asks for.
    let call = || unsafe { call!(sys::SYS_fcntl, fd, command, lock) };
    Some(messages::retry(object, waits, 0, -(EAGAIN as isize), call))
}
