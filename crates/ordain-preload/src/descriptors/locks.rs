//! Locks on whole files (`flock`). They belong to openings, not to threads; record locks of `fcntl` and `lockf` belong to the process, so
//! that threads never wait for each other there.

use super::files::is_same_opening;
use super::{Entry, Kind, await_bits, change, descriptors, entry, fail, insert, tell};
use crate::context::interpose;
use crate::engine;
use crate::files;
use crate::objects;
use crate::real::c_result;
use crate::sys::call;
use alloc::vec::Vec;
use core::ffi::c_int;
use libc::{EAGAIN, EINTR, LOCK_EX, LOCK_NB, LOCK_SH, LOCK_UN};
use ordain_model::names::mix;
use ordain_model::{ObjectId, ObjectKind};

/// A file with locks.
pub(super) struct Locked {
    /// Device and number.
    identity: (u64, u64),
    object: ObjectId,
    openings: Vec<Opening>,
}

/// Someone who opened it.
struct Opening {
    fds: Vec<c_int>,
    /// [`LOCK_SH`], [`LOCK_EX`], or nothing.
    held: c_int,
}

/// Most openings of one file: each has two bits.
const MOST: usize = 32;

/// What keys of locks begin with.
const FLOCK: u64 = 0x666c_6f63;

interpose! {
    flock => lock;
}

/// A number for what is no file, the same in every execution: from its path.
fn place(fd: c_int) -> u64 {
    let mut path = [0u8; 32];
    path[..14].copy_from_slice(b"/proc/self/fd/");
    let mut digits = [0u8; 10];
    let (mut n, mut count) = (fd.max(0) as u32, 0);
    while count == 0 || n > 0 {
        digits[count] = b'0' + (n % 10) as u8;
        n /= 10;
        count += 1;
    }
    for i in 0..count {
        path[14 + i] = digits[count - 1 - i];
    }
    let mut name = [0u8; 512];
    // SAFETY: reads a link into the array.
    let length = unsafe { call!(libc::SYS_readlink, path.as_ptr(), name.as_mut_ptr(), name.len()) }.max(0) as usize;
    let hash =
        name[..length].iter().fold(0xcbf2_9ce4_8422_2325u64, |h, c| (h ^ u64::from(*c)).wrapping_mul(0x100_0000_01b3));
    hash | 1 << 63
}

/// The file and the opening of a descriptor.
fn find(fd: c_int) -> Option<(usize, usize)> {
    if let Some(Entry { kind: Kind::Locked(file, opening), .. }) = entry(fd) {
        return Some((file, opening));
    }
    // SAFETY: zeroes are valid, and the kernel fills it in.
    let mut status: libc::stat = unsafe { core::mem::zeroed() };
    // SAFETY: as above.
    if unsafe { call!(libc::SYS_fstat, fd, &raw mut status) } < 0 {
        return None;
    }
    let identity = (status.st_dev, status.st_ino);
    let file = descriptors().files.iter().position(|f| f.identity == identity).unwrap_or_else(|| {
        let key = files::file_key(fd).map_or_else(|| place(fd), |file| mix(FLOCK, file));
        let object = objects::find(key, ObjectKind::Descriptor, u64::MAX);
        let openings = (0..MOST).map(|_| Opening { fds: Vec::new(), held: 0 }).collect();
        descriptors().files.push(Locked { identity, object, openings });
        descriptors().files.len() - 1
    });
    let openings = &mut descriptors().files[file].openings;
    let known = openings.iter().position(|o| o.fds.iter().any(|other| is_same_opening(fd, *other)));
    // Its number should not depend on who opens or locks first.
    let first = (files::stable_key(fd) % MOST as u64) as usize;
    let mut free = (0..MOST).map(|i| (i + first) % MOST).filter(|i| openings[*i].fds.is_empty());
    let Some(opening) = known.or_else(|| free.next()) else {
        engine::refuse(format_args!("the program locks more than {MOST} openings of one file"));
    };
    openings[opening].fds.push(fd);
    insert(fd, Entry::new(Kind::Locked(file, opening)));
    Some((file, opening))
}

/// Two bits for each opening: whether it can lock the file for itself, and together with others.
fn refresh(file: usize) {
    let file = &descriptors().files[file];
    let mut word = u64::MAX;
    for (other, opening) in file.openings.iter().enumerate().filter(|(_, o)| o.held != 0) {
        let mine = 3 << (2 * other);
        let taken = if opening.held == LOCK_EX { u64::MAX } else { 0x5555_5555_5555_5555 };
        word &= !taken | mine;
    }
    tell(file.object, word);
}

unsafe extern "C" fn lock(fd: c_int, operation: c_int) -> c_int {
    let Some((file, opening)) = find(fd) else {
        // SAFETY: what the program asks for.
        return c_result(unsafe { call!(libc::SYS_flock, fd, operation | LOCK_NB) }) as c_int;
    };
    let object = descriptors().files[file].object;
    let wanted = operation & !LOCK_NB;
    match wanted {
        LOCK_UN => change(object),
        LOCK_EX | LOCK_SH => {
            let mask = if wanted == LOCK_EX { 1 } else { 2 } << (2 * opening);
            match await_bits(object, mask, operation & LOCK_NB != 0, 0) {
                Err(EINTR) => return fail(EINTR),
                Err(_) => return fail(EAGAIN),
                Ok(()) => {}
            }
        }
        _ => return fail(libc::EINVAL),
    }
    // SAFETY: what the program asks for.
    let result = unsafe { call!(libc::SYS_flock, fd, wanted | LOCK_NB) };
    if result == 0 {
        descriptors().files[file].openings[opening].held = if wanted == LOCK_UN { 0 } else { wanted };
    }
    refresh(file);
    c_result(result) as c_int
}

/// The object of the locks on a file.
pub(super) fn object(file: usize) -> ObjectId {
    descriptors().files[file].object
}

/// It was closed: the last one of an opening takes the lock with it.
pub(super) fn after_close(file: usize, opening: usize, fd: c_int) {
    let place = &mut descriptors().files[file].openings[opening];
    place.fds.retain(|f| *f != fd);
    if place.fds.is_empty() {
        place.held = 0;
    }
    refresh(file);
}

/// It was copied.
pub(super) fn copied(file: usize, opening: usize, fd: c_int) {
    descriptors().files[file].openings[opening].fds.push(fd);
}
