//! Making, copying and closing descriptors.

use super::{
    ALL, Entry, HUP, Kind, OUT, WIDTH, addresses, change, create_group, descriptors, entry, fail, insert, interests,
    object_of, pins, polling, refresh, remove, settle, transfer,
};
use crate::context::interpose;
use crate::engine::engine;
use crate::files;
use crate::handles;
use crate::kernel;
use crate::process::note_descriptor;
use crate::real::c_result;
use crate::sys::{self, call};
use core::ffi::{c_int, c_uint};
use libc::EBADF;
use ordain_model::{Member, ObjectId};
use ordain_wire::SHARED_FD;

interpose! {
    pipe => make_pipe; pipe2 => make_pipe_with; __pipe => make_pipe;
    socketpair => make_pair;
    eventfd => make_event;
    close => close_one; __close => close_one;
    close_range => close_many; closefrom => close_from;
    dup => copy; dup2 => copy_to; __dup2 => copy_to; dup3 => copy_to_with;
    fcntl => control; fcntl64 => control; __fcntl => control;
}

/// Notes the two ends of something new.
fn connect(fds: [c_int; 2], kind: Kind, stream: bool) {
    let group = Some(create_group());
    for (end, fd) in fds.into_iter().enumerate() {
        files::opened(fd);
        insert(fd, Entry { group, end, stream, ..Entry::new(kind) });
    }
    group.into_iter().for_each(refresh);
}

unsafe extern "C" fn make_pipe(out: *mut c_int) -> c_int {
    // SAFETY: the program's argument.
    unsafe { make_pipe_with(out, 0) }
}

unsafe extern "C" fn make_pipe_with(out: *mut c_int, flags: c_int) -> c_int {
    files::take_number();
    // SAFETY: what the program asks for.
    unsafe {
        let result = call!(libc::SYS_pipe2, out, flags);
        if result == 0 {
            connect([*out, *out.add(1)], Kind::Pipe, true);
        }
        c_result(result) as c_int
    }
}

unsafe extern "C" fn make_pair(domain: c_int, kind: c_int, protocol: c_int, out: *mut c_int) -> c_int {
    files::take_number();
    // SAFETY: what the program asks for.
    unsafe {
        let result = call!(libc::SYS_socketpair, domain, kind, protocol, out);
        if result == 0 {
            connect([*out, *out.add(1)], Kind::Socket, kind & 0xf == libc::SOCK_STREAM);
        }
        c_result(result) as c_int
    }
}

unsafe extern "C" fn make_event(initial: c_uint, flags: c_int) -> c_int {
    files::take_number();
    // SAFETY: what the program asks for.
    let fd = c_result(unsafe { call!(libc::SYS_eventfd2, initial, flags) }) as c_int;
    if fd >= 0 {
        files::opened(fd);
        let group = create_group();
        insert(fd, Entry { group: Some(group), ..Entry::new(Kind::Event) });
        refresh(group);
    }
    fd
}

/// What must be told when a descriptor is gone.
struct Leaving {
    entry: Entry,
    group: usize,
}

/// What is closed with a descriptor.
fn closed_with(fd: c_int, add: &mut dyn FnMut(ObjectId, u64)) {
    let Some(known) = entry(fd) else { return };
    if let Kind::Epoll(number) = known.kind {
        add(polling::object(number), Member::WRITE | Member::TELL);
    }
    if let Some(group) = known.group {
        add(object_of(group), Member::WRITE | Member::TELL);
    }
}

/// Begins to close a descriptor, whose number may be for a copy of another: a step, if others can notice.
fn leave(fd: c_int, source: Option<c_int>) -> Option<Leaving> {
    if engine().is_alone() {
        closed_with(fd, &mut |object, _| change(object));
    } else {
        files::before_close(fd, |add| {
            closed_with(fd, add);
            if addresses::is_bound(fd) {
                add(addresses::object(), Member::WRITE);
            }
            if let Some(source) = source {
                add(files::number_object(source), Member::READ);
            }
        });
    }
    let group = entry(fd)?.group?;
    // Another thread may have closed it, or made another.
    let entry = entry(fd).filter(|e| e.group == Some(group))?;
    for waiting in descriptors().groups[group].queue.clone() {
        change(object_of(waiting));
    }
    Some(Leaving { entry, group })
}

/// Ends closing it.
fn left(fd: c_int, leaving: Option<Leaving>) {
    let holders = interests::holders(fd);
    remove(fd);
    if !holders.is_empty() {
        interests::note_kept(fd, &holders);
    }
    files::closed(fd);
    let Some(Leaving { entry, group }) = leaving else { return };
    let gone = descriptors().groups[group].ends.get(entry.end).is_none_or(|fds| fds.is_empty());
    if gone {
        if entry.kind == Kind::Socket {
            transfer::closed_with_messages();
        }
        settle(group, entry.end, ALL & !libc::POLLOUT);
        for waiting in descriptors().groups[group].queue.clone() {
            refresh(waiting);
        }
        if descriptors().groups[group].listens {
            // Who waits for room finds that nobody listens any more, and who waits for a connection that the number is closed.
            super::tell(object_of(group), (OUT | HUP) << (WIDTH * entry.end));
            return;
        }
    }
    refresh(group);
}

unsafe extern "C" fn close_one(fd: c_int) -> c_int {
    // SAFETY: what the program asks for.
    c_result(unsafe { raw_close(fd) }) as c_int
}

/// Closes a descriptor; gives what the system call gives.
pub unsafe fn raw_close(fd: c_int) -> isize {
    if !(0..SHARED_FD).contains(&fd) {
        return -(EBADF as isize);
    }
    let leaving = leave(fd, None);
    pins::keep(fd);
    note_descriptor(fd);
    // SAFETY: what the program asks for.
    let result = unsafe { call!(sys::SYS_close, fd) };
    left(fd, leaving);
    result
}

unsafe extern "C" fn close_many(first: c_uint, last: c_uint, flags: c_int) -> c_int {
    if first > last {
        return fail(libc::EINVAL);
    }
    let last = last.min(SHARED_FD as c_uint - 1);
    if first > last {
        return 0;
    }
    // SAFETY: what the program asks for.
    unsafe {
        if flags & libc::CLOSE_RANGE_CLOEXEC as c_int == 0 {
            let known = descriptors().entries.len().max(files::count_numbers());
            for fd in first..=last.min(known as c_uint) {
                if entry(fd as c_int).is_some() || files::may_be_locked(fd as c_int) {
                    close_one(fd as c_int);
                }
            }
        }
        note_descriptor(first as c_int);
        c_result(call!(sys::SYS_close_range, first, last, flags)) as c_int
    }
}

unsafe extern "C" fn close_from(first: c_int) {
    // SAFETY: what the program asks for.
    unsafe { close_many(first.max(0) as c_uint, c_uint::MAX, 0) };
}

/// Notes a copy.
fn copied(from: c_int, to: c_int) {
    note_descriptor(to);
    files::copied(from, to);
    if let Some(entry) = entry(from) {
        insert(to, entry);
    }
}

const F_SETOWN_EX: c_int = 15;
const F_OWNER_PID: c_int = 1;

/// The process itself gets signals about a descriptor.
fn own(fd: c_int) -> isize {
    descriptors().owned |= entry(fd).is_some_and(|e| matches!(e.kind, Kind::Socket | Kind::Listener));
    // SAFETY: sets a number.
    unsafe { call!(sys::SYS_fcntl, fd, libc::F_SETOWN, call!(sys::SYS_getpid)) }
}

/// Who gets signals about a descriptor, by the number that the program sees; `None` if it is another command.
fn owner(fd: c_int, command: c_int, argument: usize) -> Option<isize> {
    // SAFETY: asks and sets a number. No signal comes of it: who wants some is refused.
    unsafe {
        match command {
            libc::F_SETOWN if (argument as c_int).unsigned_abs() == handles::own() as u32 => Some(own(fd)),
            // A kind (of a thread, a process or a group) and a number.
            F_SETOWN_EX if argument != 0 && *(argument as *const [c_int; 2]) != [F_OWNER_PID, 0] => Some(own(fd)),
            libc::F_GETOWN => {
                let real = call!(sys::SYS_fcntl, fd, libc::F_GETOWN);
                Some(if real == call!(sys::SYS_getpid) { handles::own() as isize } else { real })
            }
            _ => None,
        }
    }
}

unsafe extern "C" fn copy(fd: c_int) -> c_int {
    files::take_number_of(fd);
    // SAFETY: what the program asks for.
    let new = c_result(unsafe { call!(libc::SYS_dup, fd) }) as c_int;
    if new >= 0 {
        copied(fd, new);
    }
    new
}

unsafe extern "C" fn copy_to(from: c_int, to: c_int) -> c_int {
    // SAFETY: what the program asks for.
    unsafe {
        if from == to {
            return c_result(call!(libc::SYS_dup2, from, to)) as c_int;
        }
        copy_to_with(from, to, 0)
    }
}

unsafe extern "C" fn copy_to_with(from: c_int, to: c_int, flags: c_int) -> c_int {
    if !(0..SHARED_FD).contains(&to) {
        return fail(EBADF);
    }
    // Who uses the number gets the one or the other.
    if files::is_in_use(to) {
        files::learn_that_numbers_matter();
    }
    let leaving = leave(to, Some(from));
    pins::keep(to);
    // SAFETY: what the program asks for.
    let result = unsafe { call!(libc::SYS_dup3, from, to, flags) };
    if result >= 0 {
        left(to, leaving);
        copied(from, to);
    }
    c_result(result) as c_int
}

unsafe extern "C" fn control(fd: c_int, command: c_int, argument: usize) -> c_int {
    kernel::look_at_control(fd, command);
    files::refuse_command(fd, command, argument);
    if matches!(command, libc::F_DUPFD | libc::F_DUPFD_CLOEXEC) {
        files::take_number_of(fd);
    }
    // SAFETY: what the program asks for.
    if let Some(result) = unsafe { files::lock(fd, command, argument) } {
        return c_result(result) as c_int;
    }
    files::order_command(fd, command);
    if let Some(result) = owner(fd, command, argument) {
        return c_result(result) as c_int;
    }
    // SAFETY: what the program asks for.
    let result = c_result(unsafe { call!(sys::SYS_fcntl, fd, command, argument) }) as c_int;
    if command == libc::F_SETPIPE_SZ
        && let Some(group) = entry(fd).and_then(|e| e.group)
    {
        refresh(group);
    }
    if matches!(command, libc::F_DUPFD | libc::F_DUPFD_CLOEXEC) && result >= 0 {
        copied(fd, result);
    }
    result
}
