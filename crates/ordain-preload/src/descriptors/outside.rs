//! Descriptors that lead out of the program: sockets that are connected to other processes, and devices.
//!
//! What other processes do is not under control, but what the program reads from them is recorded, and comes again in every execution
//! in which the same has been sent out before, in the same order. One object orders everything that goes in and out, because others
//! may answer on one connection to what came on another.

use super::{Entry, Kind, change, descriptors, insert};
use crate::inputs;
use crate::objects;
use crate::sys::call;
use alloc::vec::Vec;
use core::ffi::{c_int, c_void};
use libc::iovec;
use ordain_model::ObjectKind;

/// Where the object for everything outside is said to be.
const OUTSIDE: u64 = 5;

/// A way out.
pub(super) struct Outside {
    /// Which one it is.
    key: u64,
    /// How often it was read from.
    reads: u64,
    /// Bytes that were taken from the record, and that the kernel still has.
    owed: usize,
}

/// From now on a descriptor leads out; `name` says where to.
pub(super) fn adopt(fd: c_int, name: &[u8]) {
    let key = inputs::next_key(name);
    let d = descriptors();
    d.outsides.push(Outside { key, reads: 0, owed: 0 });
    insert(fd, Entry::new(Kind::Outside(d.outsides.len() - 1)));
}

/// Orders what goes in and out.
fn order() {
    let object = descriptors().outside.unwrap_or_else(|| {
        let object = objects::find(OUTSIDE, ObjectKind::Descriptor, 0);
        descriptors().outside = Some(object);
        object
    });
    change(object);
}

/// Reads what is recorded, or else by `receive` from the kernel.
pub(super) unsafe fn read(fd: c_int, number: usize, pieces: &[iovec], receive: impl FnOnce() -> isize) -> isize {
    order();
    let size: usize = pieces.iter().map(|p| p.iov_len).sum();
    let sent = descriptors().sent;
    let outside = &mut descriptors().outsides[number];
    outside.reads += 1;
    let key =
        [outside.reads, sent, size as u64].iter().fold(outside.key, |k, word| inputs::with(k, &word.to_le_bytes()));
    if let Some((result, bytes)) = inputs::recorded(key) {
        outside.owed += bytes.len();
        let mut left = bytes;
        for piece in pieces {
            let (now, later) = left.split_at(piece.iov_len.min(left.len()));
            // SAFETY: the program's memory.
            unsafe { core::ptr::copy_nonoverlapping(now.as_ptr(), piece.iov_base.cast(), now.len()) };
            left = later;
        }
        return result;
    }
    skip(fd, outside);
    // SAFETY: the program's memory.
    unsafe {
        let result = receive();
        let mut came: Vec<u8> = Vec::with_capacity(result.max(0) as usize);
        for piece in pieces {
            let length = piece.iov_len.min(result.max(0) as usize - came.len());
            came.extend_from_slice(core::slice::from_raw_parts(piece.iov_base.cast(), length));
        }
        inputs::record(key, result, &came);
        result
    }
}

/// Takes from the kernel what the program has had from the record.
fn skip(fd: c_int, outside: &mut Outside) {
    let mut room = [0u8; 4096];
    while outside.owed > 0 {
        let size = outside.owed.min(room.len());
        // SAFETY: memory of our own.
        let result = unsafe { call!(libc::SYS_read, fd, room.as_mut_ptr(), size) };
        if result <= 0 {
            outside.owed = 0;
            return;
        }
        outside.owed -= result as usize;
    }
}

/// Sends something out: `send` does it.
pub(super) unsafe fn write(number: usize, pieces: &[iovec], send: impl FnOnce() -> isize) -> isize {
    order();
    let d = descriptors();
    let mut sent = inputs::with(d.sent, &d.outsides[number].key.to_le_bytes());
    for piece in pieces {
        // SAFETY: the program's memory.
        sent = inputs::with(sent, unsafe { core::slice::from_raw_parts(piece.iov_base as *const u8, piece.iov_len) });
    }
    d.sent = sent;
    send()
}

/// Puts what was recorded of a file of the kernel's in place of the file: its text differs from run to run. False if it cannot be read
/// as a whole.
pub(super) unsafe fn freeze(fd: c_int, path: &[u8]) -> bool {
    /// Larger files are as they are.
    const MOST: usize = 1 << 20;
    let key = inputs::next_key(path);
    // SAFETY: reads the file into memory of our own; what takes its place has the same number.
    unsafe {
        let text = match inputs::recorded(key) {
            Some((_, text)) => text.to_vec(),
            None => {
                let mut text = Vec::new();
                let mut room = [0u8; 4096];
                loop {
                    match call!(libc::SYS_pread64, fd, room.as_mut_ptr(), room.len(), text.len()) {
                        0 => break,
                        1.. if text.len() > MOST => return false,
                        more if more > 0 => text.extend_from_slice(&room[..more as usize]),
                        _ => return false,
                    }
                }
                inputs::record(key, 0, &text);
                text
            }
        };
        let text = super::identity::of_program(path, text);
        let flags = call!(libc::SYS_fcntl, fd, libc::F_GETFD);
        let copy = call!(libc::SYS_memfd_create, c"file".as_ptr(), libc::MFD_CLOEXEC);
        if copy < 0 {
            return false;
        }
        let mut written = 0;
        while written < text.len() {
            match call!(libc::SYS_pwrite64, copy, text.as_ptr().add(written), text.len() - written, written) {
                more if more > 0 => written += more as usize,
                _ => break,
            }
        }
        let flags = if flags as c_int & libc::FD_CLOEXEC != 0 { libc::O_CLOEXEC } else { 0 };
        call!(libc::SYS_dup3, copy, fd, flags);
        call!(libc::SYS_close, copy);
    }
    true
}

/// Bytes that are random in the same way in every execution, as a stream of the C library.
pub(super) unsafe extern "C" fn read_random(_cookie: *mut c_void, room: *mut u8, size: usize) -> isize {
    // SAFETY: memory of the stream.
    unsafe { crate::random::fill(room.cast(), size) };
    size as isize
}
