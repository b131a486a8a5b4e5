//! Descriptors that lead out of the program: sockets that are connected to other processes, and devices.
//!
//! What other processes do is not under control, but what the program reads from them is recorded, and comes again in every execution
//! in which the same has been sent out before, in the same order. One object orders everything that goes in and out, because others
//! may answer on one connection to what came on another.

use super::{Entry, Kind, ask, change, descriptors, entry, insert, is_nonblocking};
use crate::hash::with_bytes;
use crate::inputs;
use crate::objects;
use crate::sys::call;
use alloc::vec::Vec;
use core::ffi::{c_int, c_void};
use libc::{iovec, pollfd};
use ordain_model::{ObjectId, ObjectKind};

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
    /// What a poll set has told that tells changes only, until the program reads or writes.
    told: i16,
}

/// How long to wait, in milliseconds, for a connection that is known to be there, and for bytes that are known to come.
const ARRIVAL: c_int = 5000;

/// Connects to somebody outside by `connect`, in a step that writes [`object`]; gives what the system call gives, whether it was fast or slow
/// this time.
pub(super) fn connect(fd: c_int, name: &[u8], connect: impl FnOnce() -> isize) -> isize {
    let key = with_bytes(inputs::next_key(name), &descriptors().sent.to_le_bytes());
    let result = connect();
    match inputs::recorded(key) {
        Some((recorded, _)) => {
            if recorded == 0 && result == -(libc::EINPROGRESS as isize) {
                ask(fd, libc::POLLOUT, ARRIVAL);
            }
            recorded
        }
        None => {
            inputs::record(key, result, &[]);
            result
        }
    }
}

/// What some descriptors outside are ready for: as recorded, or as the kernel says within some milliseconds. A step.
pub(super) fn ready(wanted: &[(c_int, i16)], milliseconds: c_int) -> Vec<i16> {
    order();
    let mut key = with_bytes(inputs::next_key(b"poll"), &descriptors().sent.to_le_bytes());
    for (fd, events) in wanted {
        let way = number(*fd).map_or(0, |number| descriptors().outsides[number].key);
        key = with_bytes(with_bytes(key, &way.to_le_bytes()), &events.to_le_bytes());
    }
    if let Some((_, bytes)) = inputs::recorded(key) {
        return bytes.chunks_exact(2).map(|pair| i16::from_le_bytes([pair[0], pair[1]])).collect();
    }
    for (fd, _) in wanted {
        number(*fd).into_iter().for_each(|number| skip(*fd, &mut descriptors().outsides[number]));
    }
    let mut polls: Vec<pollfd> =
        wanted.iter().map(|(fd, events)| pollfd { fd: *fd, events: *events, revents: 0 }).collect();
    // SAFETY: a list of our own.
    unsafe { call!(libc::SYS_poll, polls.as_mut_ptr(), polls.len(), milliseconds) };
    let came: Vec<i16> = polls.iter().map(|poll| poll.revents).collect();
    let bytes: Vec<u8> = came.iter().flat_map(|events| events.to_le_bytes()).collect();
    inputs::record(key, 0, &bytes);
    came
}

/// What of this is new since a poll set has told it and the program has read or written.
pub(super) fn news(fd: c_int, came: i16) -> i16 {
    let Some(number) = number(fd) else { return came };
    let outside = &mut descriptors().outsides[number];
    let news = came & !outside.told;
    outside.told |= came;
    news
}

/// Which way out a descriptor is.
fn number(fd: c_int) -> Option<usize> {
    match entry(fd)?.kind {
        Kind::Outside(number) => Some(number),
        _ => None,
    }
}

/// From now on a descriptor leads out; `name` says where to.
pub(super) fn adopt(fd: c_int, name: &[u8]) {
    let key = inputs::next_key(name);
    let d = descriptors();
    d.outsides.push(Outside { key, reads: 0, owed: 0, told: 0 });
    insert(fd, Entry::new(Kind::Outside(d.outsides.len() - 1)));
}

/// The object of everything that goes in and out.
pub(super) fn object() -> ObjectId {
    descriptors().outside.unwrap_or_else(|| {
        let object = objects::find(OUTSIDE, ObjectKind::Descriptor, 0);
        descriptors().outside = Some(object);
        object
    })
}

/// Orders what goes in and out.
fn order() {
    change(object());
}

/// Reads what is recorded, or else by `receive` from the kernel; `peeks` if what is read stays there.
pub(super) unsafe fn read(
    fd: c_int,
    number: usize,
    pieces: &[iovec],
    peeks: bool,
    receive: impl FnOnce() -> isize,
) -> isize {
    order();
    let size: usize = pieces.iter().map(|p| p.iov_len).sum();
    let sent = descriptors().sent;
    let outside = &mut descriptors().outsides[number];
    outside.reads += 1;
    outside.told &= !libc::POLLIN;
    let key = [outside.reads, sent, size as u64].iter().fold(outside.key, |k, word| with_bytes(k, &word.to_le_bytes()));
    if let Some((result, bytes)) = inputs::recorded(key) {
        outside.owed += if peeks { 0 } else { bytes.len() };
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
        if result == -(libc::EAGAIN as isize) && ask(fd, libc::POLLIN, ARRIVAL) != 0 {
            continue;
        }
        if result <= 0 {
            outside.owed = 0;
            return;
        }
        outside.owed -= result as usize;
    }
}

/// Sends something out: `send` does it.
pub(super) unsafe fn write(fd: c_int, number: usize, pieces: &[iovec], send: impl FnOnce() -> isize) -> isize {
    order();
    if is_nonblocking(fd) {
        // The connection may be slower this time.
        ask(fd, libc::POLLOUT, ARRIVAL);
    }
    let d = descriptors();
    d.outsides[number].told &= !libc::POLLOUT;
    let mut sent = with_bytes(d.sent, &d.outsides[number].key.to_le_bytes());
    for piece in pieces {
        // SAFETY: the program's memory.
        sent = with_bytes(sent, unsafe { core::slice::from_raw_parts(piece.iov_base as *const u8, piece.iov_len) });
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
