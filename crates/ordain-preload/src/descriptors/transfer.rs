//! Reading and writing.

use super::addresses::{self, Destination};
use super::ports::{self, Address};
use super::{
    Entry, HUP, IN, Kind, OUT, WIDTH, await_end, change, descriptors, elsewhere, entry, insert, is_nonblocking, limit,
    object_of, order_adrift, outside, pins, refresh, refresh_after, settle, stall, timers,
};
use crate::context::interpose;
use crate::files;
use crate::link;
use crate::random;
use crate::real::c_result;
use crate::signals;
use crate::streams;
use crate::sys::{self, call};
use crate::unmodelled::{self, Unmodelled};
use alloc::vec::Vec;
use core::ffi::{c_int, c_void};
use libc::{EAGAIN, EPIPE, MSG_DONTWAIT, MSG_NOSIGNAL, MSG_PEEK, MSG_WAITALL, iovec, msghdr, sockaddr, socklen_t};
use ordain_model::Member;

/// What fits into a pipe that has room at all.
const PIPE_BUF: usize = 4096;

interpose! {
    read => read_one; __read => read_one; __read_chk => read_checked; readv => read_many;
    write => write_one; __write => write_one; writev => write_many;
    eventfd_read => read_event; eventfd_write => write_event;
    recv => receive; __recv_chk => receive_checked; recvfrom => receive_from; __recvfrom_chk => receive_from_checked;
    recvmsg => receive_message;
    send => send_one; __send => send_one; sendto => send_to; sendmsg => send_message;
}

/// What no system call gives: the descriptor was closed meanwhile, or leads to something else.
const MOVED: isize = isize::MIN;

/// Whether a descriptor is what it was when the call began.
fn is_still(now: Option<Entry>, known: &Entry) -> bool {
    now.is_some_and(|now| (now.kind, now.group, now.end) == (known.kind, known.group, known.end))
}

/// Makes a call on a descriptor, again as long as that was changed by other threads before the call could be made.
fn settled(fd: c_int, mut call: impl FnMut() -> isize) -> isize {
    loop {
        let result = pins::held(&[fd], &mut call);
        if result != MOVED {
            return result;
        }
        files::learn_that_numbers_matter();
    }
}

/// A message of one piece.
fn message(piece: &mut iovec) -> msghdr {
    // SAFETY: zeroes are a message without anything.
    let mut message: msghdr = unsafe { core::mem::zeroed() };
    message.msg_iov = piece;
    message.msg_iovlen = 1;
    message
}

/// Makes a system call that does not wait, whatever the descriptor is set to.
unsafe fn without_waiting(fd: c_int, f: impl FnOnce() -> isize) -> isize {
    // SAFETY: changes flags of the program's descriptor and puts them back before anyone else runs.
    unsafe {
        let flags = call!(sys::SYS_fcntl, fd, libc::F_GETFL);
        if flags < 0 || flags & libc::O_NONBLOCK as isize != 0 {
            return f();
        }
        call!(sys::SYS_fcntl, fd, libc::F_SETFL, flags | libc::O_NONBLOCK as isize);
        let result = f();
        call!(sys::SYS_fcntl, fd, libc::F_SETFL, flags);
        result
    }
}

/// Receives from a descriptor on which threads wait for each other.
unsafe fn take(fd: c_int, known: &Entry, message: &mut msghdr, flags: c_int) -> isize {
    if known.kind == Kind::Timer {
        // SAFETY: the program's memory.
        return unsafe { timers::read(fd, known, message) };
    }
    let Some(group) = known.group else {
        // SAFETY: not connected: an error, without waiting.
        return unsafe { take_now(fd, known, message, flags) };
    };
    let tries = flags & MSG_DONTWAIT != 0 || is_nonblocking(fd);
    let limit = limit(fd, 0);
    loop {
        let waited = await_end(known, IN | HUP, tries, limit);
        let (fd, now) = pins::reached(fd);
        if !is_still(now, known) {
            return MOVED;
        }
        if let Err(error) = waited {
            return -(error as isize);
        }
        // SAFETY: the program's memory.
        let result = unsafe { take_now(fd, known, message, flags) };
        if result == -(EAGAIN as isize) && !tries {
            stall(known, IN | HUP);
            continue;
        }
        refresh_after(group, (IN | HUP) << (WIDTH * known.end));
        return result;
    }
}

unsafe fn take_now(fd: c_int, known: &Entry, message: &mut msghdr, flags: c_int) -> isize {
    // SAFETY: the program's memory.
    unsafe {
        if known.kind == Kind::Socket {
            call!(libc::SYS_recvmsg, fd, message as *mut msghdr, flags | MSG_DONTWAIT)
        } else {
            call!(libc::SYS_readv, fd, message.msg_iov, message.msg_iovlen)
        }
    }
}

/// Sends to a descriptor on which threads wait for each other.
unsafe fn give(fd: c_int, known: &Entry, message: &msghdr, flags: c_int) -> isize {
    // SAFETY: the program's pieces.
    let pieces = unsafe { core::slice::from_raw_parts(message.msg_iov, message.msg_iovlen) };
    let Some(group) = known.group else {
        // SAFETY: not connected: an error, without waiting.
        return broken(unsafe { give_now(fd, known, message, flags) }, flags);
    };
    let tries = flags & MSG_DONTWAIT != 0 || is_nonblocking(fd);
    let limit = limit(fd, 1);
    let mut left: Vec<iovec> = pieces.to_vec();
    let mut rest = *message;
    let mut done = 0;
    loop {
        let waited = await_end(known, OUT | HUP, tries, limit);
        let (fd, now) = pins::reached(fd);
        if !is_still(now, known) {
            return if done > 0 { done } else { MOVED };
        }
        if let Err(error) = waited {
            return if done > 0 { done } else { -(error as isize) };
        }
        rest.msg_iov = left.as_mut_ptr();
        rest.msg_iovlen = left.len();
        // SAFETY: the program's memory.
        let result = unsafe { give_now(fd, known, &rest, flags) };
        if result == -(EAGAIN as isize) && !tries {
            stall(known, OUT | HUP);
            continue;
        }
        if result > 0 {
            settle(group, known.end, libc::POLLIN);
        }
        refresh_after(group, (OUT | HUP) << (WIDTH * known.end));
        if result < 0 {
            return if done > 0 { done } else { broken(result, flags) };
        }
        done += result;
        advance(&mut left, result as usize);
        if left.is_empty() || tries || !known.stream {
            return done;
        }
        // What comes with the message has gone with its first part.
        (rest.msg_control, rest.msg_controllen) = (core::ptr::null_mut(), 0);
    }
}

/// Leaves out what was sent.
fn advance(pieces: &mut Vec<iovec>, mut count: usize) {
    while let Some(first) = pieces.first_mut() {
        if first.iov_len > count {
            // SAFETY: within the piece.
            first.iov_base = unsafe { (first.iov_base as *mut u8).add(count) } as *mut c_void;
            first.iov_len -= count;
            return;
        }
        count -= first.iov_len;
        pieces.remove(0);
    }
}

unsafe fn give_now(fd: c_int, known: &Entry, message: &msghdr, flags: c_int) -> isize {
    // SAFETY: the program's memory.
    unsafe {
        if known.kind == Kind::Socket {
            return call!(libc::SYS_sendmsg, fd, message as *const msghdr, flags | MSG_DONTWAIT | MSG_NOSIGNAL);
        }
        let pieces = core::slice::from_raw_parts(message.msg_iov, message.msg_iovlen);
        let size: usize = pieces.iter().map(|p| p.iov_len).sum();
        let write = || call!(libc::SYS_writev, fd, message.msg_iov, message.msg_iovlen);
        if known.kind == Kind::Pipe && size <= PIPE_BUF { write() } else { without_waiting(fd, write) }
    }
}

/// What a system call for writing has returned, after the signal that comes with a broken pipe or a file that grows too large.
fn broken(result: isize, flags: c_int) -> isize {
    if result == -(EPIPE as isize) && flags & MSG_NOSIGNAL == 0 {
        signals::break_pipe();
    }
    if result == -(libc::EFBIG as isize) {
        signals::exceed_size();
    }
    result
}

/// Whether an end is for reading or for writing at all; else the kernel says what is wrong.
fn is_for(known: &Entry, writes: bool) -> bool {
    known.kind != Kind::Queue && (known.kind != Kind::Pipe || (known.end == 1) == writes)
}

/// How much pieces have room for, unless there are more of them than the kernel takes.
unsafe fn total(pieces: *const iovec, count: usize) -> Option<usize> {
    const MOST: usize = 1024;
    // SAFETY: the program's pieces.
    (count <= MOST).then(|| unsafe { core::slice::from_raw_parts(pieces, count) }.iter().map(|p| p.iov_len).sum())
}

unsafe fn read_pieces(fd: c_int, pieces: *mut iovec, count: usize) -> isize {
    // SAFETY: the program's memory.
    unsafe {
        if matches!(total(pieces, count), None | Some(0)) {
            // Nobody waits for nothing; the kernel says what is wrong.
            return call!(libc::SYS_readv, fd, pieces, count);
        }
        match entry(fd) {
            Some(Entry { kind: Kind::Random, .. }) => {
                let pieces = core::slice::from_raw_parts(pieces, count);
                pieces.iter().for_each(|p| random::fill(p.iov_base, p.iov_len));
                pieces.iter().map(|p| p.iov_len as isize).sum()
            }
            Some(Entry { kind: Kind::Outside(number), .. }) => {
                let pieces = core::slice::from_raw_parts(pieces, count);
                outside::read(fd, number, pieces, false, || call!(libc::SYS_readv, fd, pieces.as_ptr(), pieces.len()))
            }
            Some(known) if known.group.is_some() && is_for(&known, false) => {
                let mut message: msghdr = core::mem::zeroed();
                (message.msg_iov, message.msg_iovlen) = (pieces, count);
                take(fd, &known, &mut message, 0)
            }
            _ => {
                files::order_file(fd, Some(Member::WRITE), Some(Member::READ), false);
                if let Err(error) = elsewhere::await_one(fd, libc::POLLIN) {
                    return -(error as isize);
                }
                call!(libc::SYS_readv, fd, pieces, count)
            }
        }
    }
}

unsafe fn write_pieces(fd: c_int, pieces: *const iovec, count: usize) -> isize {
    // SAFETY: the program's memory.
    unsafe {
        if matches!(total(pieces, count), None | Some(0)) {
            if let Some(known) = entry(fd).filter(|e| e.kind == Kind::Socket && e.group.is_some()) {
                // Nothing waits for room; but whether the other end is there makes a difference.
                let _ = await_end(&known, OUT | HUP, true, 0);
            }
            return broken(call!(libc::SYS_writev, fd, pieces, count), 0);
        }
        match entry(fd) {
            Some(Entry { kind: Kind::Outside(number), .. }) => {
                let pieces = core::slice::from_raw_parts(pieces, count);
                let write = || call!(libc::SYS_writev, fd, pieces.as_ptr(), pieces.len());
                broken(outside::write(fd, number, pieces, write), 0)
            }
            Some(Entry { kind: Kind::Output(which), .. }) => {
                streams::order_output(which);
                broken(call!(libc::SYS_writev, fd, pieces, count), 0)
            }
            Some(known) if known.group.is_some() && is_for(&known, true) => {
                let mut message: msghdr = core::mem::zeroed();
                (message.msg_iov, message.msg_iovlen) = (pieces as *mut iovec, count);
                give(fd, &known, &message, 0)
            }
            _ => {
                files::order_file(fd, Some(Member::WRITE), Some(Member::WRITE), false);
                if let Err(error) = elsewhere::await_one(fd, libc::POLLOUT) {
                    return -(error as isize);
                }
                broken(call!(libc::SYS_writev, fd, pieces, count), 0)
            }
        }
    }
}

/// Reads; gives what the system call gives.
pub unsafe fn raw_read(fd: c_int, room: *mut c_void, length: usize) -> isize {
    // SAFETY: the program's memory.
    unsafe {
        let mut piece = iovec { iov_base: room, iov_len: length };
        settled(fd, || {
            if entry(fd).is_none() {
                files::order_file(fd, Some(Member::WRITE), Some(Member::READ), false);
            }
            match entry(fd) {
                None => match if length == 0 { Ok(()) } else { elsewhere::await_one(fd, libc::POLLIN) } {
                    Ok(()) => call!(sys::SYS_read, fd, room, length),
                    Err(error) => -(error as isize),
                },
                Some(_) => read_pieces(fd, &mut piece, 1),
            }
        })
    }
}

unsafe extern "C" fn read_one(fd: c_int, room: *mut c_void, length: usize) -> isize {
    // SAFETY: the program's memory.
    c_result(unsafe { raw_read(fd, room, length) })
}

unsafe extern "C" fn read_checked(fd: c_int, room: *mut c_void, length: usize, _size: usize) -> isize {
    // SAFETY: the program's memory.
    unsafe { read_one(fd, room, length) }
}

unsafe extern "C" fn read_many(fd: c_int, pieces: *mut iovec, count: c_int) -> isize {
    // SAFETY: the program's memory.
    c_result(unsafe { raw_read_many(fd, pieces, count as usize) })
}

/// Reads into several pieces; gives what the system call gives.
pub unsafe fn raw_read_many(fd: c_int, pieces: *mut iovec, count: usize) -> isize {
    // SAFETY: the program's memory.
    settled(fd, || unsafe { read_pieces(fd, pieces, count) })
}

/// Writes; gives what the system call gives.
pub unsafe fn raw_write(fd: c_int, bytes: *const c_void, length: usize) -> isize {
    // SAFETY: the program's memory.
    unsafe {
        let piece = iovec { iov_base: bytes as *mut c_void, iov_len: length };
        settled(fd, || {
            if entry(fd).is_none() {
                files::order_file(fd, Some(Member::WRITE), Some(Member::WRITE), false);
            }
            match entry(fd) {
                None => broken(write_elsewhere(fd, bytes, length), 0),
                Some(_) => write_pieces(fd, &piece, 1),
            }
        })
    }
}

/// Writes to what other processes may have: no more at a time than there is room for, so that other threads can go on meanwhile.
unsafe fn write_elsewhere(fd: c_int, bytes: *const c_void, length: usize) -> isize {
    let in_pieces = elsewhere::may_wait(fd) && super::file_kind(fd) == libc::S_IFIFO;
    let mut done = 0;
    loop {
        let piece = if in_pieces { (length - done).min(PIPE_BUF) } else { length };
        let waited = if length == 0 { Ok(()) } else { elsewhere::await_one(fd, libc::POLLOUT) };
        let result = match waited {
            Err(error) => -(error as isize),
            // SAFETY: the program's memory.
            Ok(()) => unsafe { call!(libc::SYS_write, fd, (bytes as *const u8).add(done), piece) },
        };
        if result < 0 {
            return if done > 0 { done as isize } else { result };
        }
        done += result as usize;
        if done >= length || result as usize != piece {
            return done as isize;
        }
    }
}

unsafe extern "C" fn write_one(fd: c_int, bytes: *const c_void, length: usize) -> isize {
    // SAFETY: the program's memory.
    c_result(unsafe { raw_write(fd, bytes, length) })
}

unsafe extern "C" fn write_many(fd: c_int, pieces: *const iovec, count: c_int) -> isize {
    // SAFETY: the program's memory.
    c_result(unsafe { raw_write_many(fd, pieces, count as usize) })
}

/// Writes several pieces; gives what the system call gives.
pub unsafe fn raw_write_many(fd: c_int, pieces: *const iovec, count: usize) -> isize {
    // SAFETY: the program's memory.
    settled(fd, || unsafe { write_pieces(fd, pieces, count) })
}

unsafe extern "C" fn read_event(fd: c_int, value: *mut u64) -> c_int {
    // SAFETY: the program's memory.
    unsafe { if read_one(fd, value as *mut c_void, 8) == 8 { 0 } else { -1 } }
}

unsafe extern "C" fn write_event(fd: c_int, value: u64) -> c_int {
    // SAFETY: a word of our own.
    unsafe { if write_one(fd, (&raw const value) as *const c_void, 8) == 8 { 0 } else { -1 } }
}

/// Receives, and shows the program whom from.
unsafe fn receive_all(fd: c_int, message: &mut msghdr, flags: c_int) -> isize {
    let room = message.msg_namelen;
    // SAFETY: the program's memory.
    unsafe {
        let result = settled(fd, || receive_pieces(fd, message, flags));
        if result >= 0 && !message.msg_name.is_null() {
            ports::show(fd, message.msg_name.cast(), message.msg_namelen, room);
        }
        result
    }
}

unsafe fn receive_pieces(fd: c_int, message: &mut msghdr, flags: c_int) -> isize {
    if let Some(Entry { kind: Kind::Outside(number), .. }) = entry(fd)
        && flags & !(MSG_NOSIGNAL | MSG_WAITALL | MSG_DONTWAIT | MSG_PEEK) == 0
    {
        // SAFETY: the program's memory. Only bytes come from outside.
        return unsafe {
            (message.msg_controllen, message.msg_namelen, message.msg_flags) = (0, 0, 0);
            let pieces = core::slice::from_raw_parts(message.msg_iov, message.msg_iovlen);
            let peeks = flags & MSG_PEEK != 0;
            outside::read(fd, number, pieces, peeks, || call!(libc::SYS_recvmsg, fd, message as *mut msghdr, flags))
        };
    }
    let Some(known) = entry(fd).filter(|e| e.kind == Kind::Socket) else {
        order_adrift(&[fd]);
        if flags & MSG_DONTWAIT == 0
            && entry(fd).is_none()
            && let Err(error) = elsewhere::await_one(fd, libc::POLLIN)
        {
            return -(error as isize);
        }
        // SAFETY: what the program asks for.
        return unsafe { call!(libc::SYS_recvmsg, fd, message as *mut msghdr, flags) };
    };
    // SAFETY: the program's memory.
    unsafe {
        let mut result = take(fd, &known, message, flags & !MSG_WAITALL);
        if flags & MSG_WAITALL != 0 && flags & MSG_PEEK == 0 && known.stream && result > 0 && message.msg_iovlen == 1 {
            let whole = (*message.msg_iov).iov_len;
            while (result as usize) < whole {
                let base = ((*message.msg_iov).iov_base as *mut u8).add(result as usize) as *mut c_void;
                let mut piece = iovec { iov_base: base, iov_len: whole - result as usize };
                let more = take(fd, &known, &mut self::message(&mut piece), flags & !MSG_WAITALL);
                if more <= 0 {
                    break;
                }
                result += more;
            }
        }
        result
    }
}

unsafe extern "C" fn receive(fd: c_int, room: *mut c_void, length: usize, flags: c_int) -> isize {
    // SAFETY: the program's memory.
    unsafe { receive_from(fd, room, length, flags, core::ptr::null_mut(), core::ptr::null_mut()) }
}

unsafe extern "C" fn receive_checked(fd: c_int, room: *mut c_void, length: usize, _size: usize, flags: c_int) -> isize {
    // SAFETY: the program's memory.
    unsafe { receive(fd, room, length, flags) }
}

unsafe extern "C" fn receive_from(
    fd: c_int,
    room: *mut c_void,
    length: usize,
    flags: c_int,
    from: *mut sockaddr,
    from_length: *mut socklen_t,
) -> isize {
    let mut piece = iovec { iov_base: room, iov_len: length };
    let mut message = message(&mut piece);
    // SAFETY: the program's memory.
    unsafe {
        if !from.is_null() && !from_length.is_null() {
            (message.msg_name, message.msg_namelen) = (from as *mut c_void, *from_length);
        }
        let result = receive_all(fd, &mut message, flags);
        if result >= 0 && !from.is_null() && !from_length.is_null() {
            *from_length = message.msg_namelen;
        }
        c_result(result)
    }
}

unsafe extern "C" fn receive_from_checked(
    fd: c_int,
    room: *mut c_void,
    length: usize,
    _size: usize,
    flags: c_int,
    from: *mut sockaddr,
    from_length: *mut socklen_t,
) -> isize {
    // SAFETY: the program's memory.
    unsafe { receive_from(fd, room, length, flags, from, from_length) }
}

unsafe extern "C" fn receive_message(fd: c_int, message: *mut msghdr, flags: c_int) -> isize {
    // SAFETY: the program's memory.
    unsafe {
        if (*message).msg_controllen != 0 {
            // Descriptors may come with it.
            files::take_number();
        }
        let result = receive_all(fd, &mut *message, flags);
        if result >= 0 && (*message).msg_controllen != 0 {
            adopt_received(&*message);
        }
        c_result(result)
    }
}

/// A descriptor that is in a message on its way.
pub(super) struct Flying {
    identity: Option<addresses::Identity>,
    /// Whether it is for reading, for writing or for both.
    mode: isize,
    pub(super) entry: Entry,
}

/// What the kernel tells a descriptor from others by.
fn marks(fd: c_int) -> (Option<addresses::Identity>, isize) {
    // SAFETY: asks for flags.
    let flags = unsafe { call!(sys::SYS_fcntl, fd, libc::F_GETFL) };
    (addresses::identity(fd), flags & libc::O_ACCMODE as isize)
}

/// The descriptors that are in a message.
unsafe fn descriptors_in(message: &msghdr) -> Vec<c_int> {
    let mut found = Vec::new();
    if message.msg_controllen == 0 {
        return found;
    }
    // SAFETY: what the program or the kernel has filled in.
    unsafe {
        let mut header = libc::CMSG_FIRSTHDR(message);
        while !header.is_null() {
            if (*header).cmsg_level == libc::SOL_SOCKET && (*header).cmsg_type == libc::SCM_RIGHTS {
                let size = (*header).cmsg_len.saturating_sub(libc::CMSG_LEN(0) as usize);
                let fds = libc::CMSG_DATA(header) as *const c_int;
                found.extend((0..size / size_of::<c_int>()).map(|i| fds.add(i).read_unaligned()));
            }
            header = libc::CMSG_NXTHDR(message, header);
        }
    }
    found
}

/// Descriptors were sent: who receives them gets what they are now, whether they are closed meanwhile or not.
fn sent(fds: &[c_int]) {
    for fd in fds {
        if let Some(entry) = entry(*fd) {
            let (identity, mode) = marks(*fd);
            descriptors().flying.push(Flying { identity, mode, entry });
        }
    }
}

/// What a descriptor is that came with a message; it is not on its way any more.
fn landed(fd: c_int) -> Option<Entry> {
    let found = super::files::same_opening(fd).and_then(entry);
    let (marks, flying) = (marks(fd), &mut descriptors().flying);
    let what = |entry: &Entry| (entry.kind, entry.group, entry.end);
    let is_this =
        |f: &Flying| (f.identity, f.mode) == marks && found.as_ref().is_none_or(|e| what(e) == what(&f.entry));
    let Some(first) = flying.iter().position(is_this) else { return found };
    if flying.iter().any(|f| is_this(f) && what(&f.entry) != what(&flying[first].entry)) {
        link::refuse(format_args!(
            "the program receives a descriptor (SCM_RIGHTS) whose sender has closed it, and several that look the same are on their way: \
             which one it is cannot be told"
        ));
    }
    Some(flying.remove(first).entry)
}

/// Descriptors that came with a message are what they were where they came from.
unsafe fn adopt_received(message: &msghdr) {
    // SAFETY: what the kernel has filled in.
    for fd in unsafe { descriptors_in(message) } {
        files::opened(fd);
        let Some(known) = landed(fd) else { continue };
        if let Some(group) = known.group {
            change(object_of(group));
        }
        insert(fd, known);
        known.group.into_iter().for_each(refresh);
    }
}

/// A socket was closed. Descriptors that were in messages to it are closed too, and whose other ends notice is not followed.
pub(super) fn closed_with_messages() {
    if !descriptors().flying.is_empty() {
        unmodelled::note_if_shared(Unmodelled::Sockets);
    }
}

/// Where a message goes that is sent to a name, which is looked up in a step; `None` if it has no name.
unsafe fn look_up(fd: c_int, name: *const sockaddr, length: socklen_t) -> Option<Destination> {
    // SAFETY: the program's address, and a path of our own.
    unsafe {
        let path = addresses::path(Address::read(name, length).bytes())?;
        entry(fd).filter(|e| e.kind == Kind::Socket)?;
        files::order_address(fd, Member::READ, path.as_ptr(), false, |_| {});
        Some(Destination::look_up(fd, name, length))
    }
}

/// Sends a message; gives what the system call gives.
unsafe fn send_all(fd: c_int, message: &msghdr, flags: c_int) -> isize {
    if flags & libc::MSG_OOB != 0 && descriptors().owned {
        link::refuse(format_args!(
            "the program sends data out of band to a socket with an owner, who would get a signal (SIGURG), which is not modelled"
        ));
    }
    // SAFETY: the program's memory.
    unsafe {
        let (name, length) = (message.msg_name as *const sockaddr, message.msg_namelen);
        let named = look_up(fd, name, length);
        if named.as_ref().is_some_and(Destination::is_nowhere) {
            // The kernel says what is wrong.
            return broken(
                call!(libc::SYS_sendmsg, fd, message as *const msghdr, flags | MSG_DONTWAIT | MSG_NOSIGNAL),
                flags,
            );
        }
        let (to, length) = named.as_ref().map_or_else(|| (ports::real(fd, name, length), length), Destination::later);
        let mut message = *message;
        if !message.msg_name.is_null() {
            (message.msg_name, message.msg_namelen) = (to.as_ptr() as *mut c_void, length);
        }
        let passed = descriptors_in(&message);
        let send = || call!(libc::SYS_sendmsg, fd, &raw const message, flags | MSG_NOSIGNAL);
        let result = settled(fd, || match entry(fd) {
            Some(known) if known.kind == Kind::Socket => give(fd, &known, &message, flags),
            Some(Entry { kind: Kind::Outside(number), .. }) => {
                let pieces = core::slice::from_raw_parts(message.msg_iov, message.msg_iovlen);
                broken(outside::write(fd, number, pieces, send), flags)
            }
            other => {
                let waits = other.is_none() && flags & MSG_DONTWAIT == 0;
                match if waits { elsewhere::await_one(fd, libc::POLLOUT) } else { Ok(()) } {
                    Ok(()) => broken(send(), flags),
                    Err(error) => -(error as isize),
                }
            }
        });
        if to.port().is_some() {
            ports::note_own(fd);
        }
        if result >= 0 {
            sent(&passed);
        }
        result
    }
}

unsafe extern "C" fn send_one(fd: c_int, bytes: *const c_void, length: usize, flags: c_int) -> isize {
    // SAFETY: the program's memory.
    unsafe { send_to(fd, bytes, length, flags, core::ptr::null(), 0) }
}

unsafe extern "C" fn send_to(
    fd: c_int,
    bytes: *const c_void,
    length: usize,
    flags: c_int,
    to: *const sockaddr,
    to_length: socklen_t,
) -> isize {
    let mut piece = iovec { iov_base: bytes as *mut c_void, iov_len: length };
    let mut message = message(&mut piece);
    if !to.is_null() {
        (message.msg_name, message.msg_namelen) = (to as *mut c_void, to_length);
    }
    // SAFETY: the program's memory.
    c_result(unsafe { send_all(fd, &message, flags) })
}

unsafe extern "C" fn send_message(fd: c_int, message: *const msghdr, flags: c_int) -> isize {
    // SAFETY: the program's memory.
    c_result(unsafe { send_all(fd, &*message, flags) })
}

/// Ends one direction or both, as a step.
pub(super) fn shut(fd: c_int, how: c_int) -> isize {
    files::look_at_numbers();
    let known = entry(fd);
    let group = known.and_then(|e| e.group);
    if let Some(group) = group {
        change(object_of(group));
    }
    // SAFETY: what the program asks for.
    let result = unsafe { call!(libc::SYS_shutdown, fd, how) };
    if let (Some(group), Some(known)) = (group, known) {
        settle(group, known.end, libc::POLLIN | libc::POLLRDHUP);
        refresh(group);
    }
    result
}
