//! Sockets that are connected inside the program: Unix and loopback ones. Connections to other processes go straight through.
//!
//! A listener and each connection are a group of their own; connections are accepted in the order in which they were made, so which
//! ends belong together is known. All sockets for datagrams share one object, because anyone may send to anyone.

use super::addresses::{self, Destination};
use super::hosts::family;
use super::ports::Address;
use super::{
    DATAGRAMS, Entry, IN, Kind, MOST_ENDS, OUT, ask, await_end, change, create_group, descriptors, entry, entry_mut,
    fail, insert, is_nonblocking, limit, new_group, object_of, outside, pins, ports, refresh, transfer,
};
use crate::context::interpose;
use crate::files;
use crate::link;
use crate::objects;
use crate::process::note_descriptor;
use crate::real::c_result;
use crate::sys::call;
use crate::unmodelled::{self, Named, Unmodelled, note_name};
use alloc::ffi::CString;
use core::ffi::{CStr, c_int, c_void};
use libc::{
    AF_INET, AF_INET6, AF_UNIX, EADDRINUSE, EAGAIN, ECONNREFUSED, EINPROGRESS, SOCK_STREAM, SOL_SOCKET, sockaddr,
    socklen_t, timeval,
};
use ordain_model::{Member, ObjectKind};

interpose! {
    socket => make;
    bind => give_address;
    listen => begin_listening;
    accept => accept_one; accept4 => accept_with;
    connect => connect_to; __connect => connect_to;
    shutdown => shut_down;
    setsockopt => set_option;
}

/// Orders changing the address of a socket, or what it does there; `path` if that makes a name.
fn change_address(fd: c_int, path: Option<&CString>) {
    // SAFETY: a path of our own.
    unsafe {
        files::order_address(fd, Member::WRITE, addresses::pointer(path), true, |add| {
            add(addresses::object(), Member::WRITE);
            if let Some(group) = entry(fd).and_then(|e| e.group) {
                add(object_of(group), Member::WRITE | Member::TELL);
            }
        });
    }
}

/// Orders asking for the address of a socket. Connecting it is a step on who listens.
pub(super) fn look_at_address(fd: c_int) {
    files::order_opening_with(fd, false, |add| {
        if entry(fd).is_some_and(|e| e.kind == Kind::Socket) {
            add(addresses::object(), Member::READ);
            descriptors().groups.iter().filter(|g| g.listens).for_each(|g| add(g.object, Member::READ));
        }
    });
    // Whether it is connected is known by now, whoever came first.
    if let Some(object) = super::object(fd) {
        files::order_opening_with(fd, false, |add| add(object, Member::READ));
    }
}

/// The group of all sockets for datagrams.
fn datagrams() -> usize {
    if let Some(group) = descriptors().datagrams {
        return group;
    }
    let group = new_group(objects::find(DATAGRAMS, ObjectKind::Descriptor, 0));
    descriptors().datagrams = Some(group);
    group
}

unsafe extern "C" fn make(domain: c_int, kind: c_int, protocol: c_int) -> c_int {
    files::take_number();
    // SAFETY: what the program asks for.
    let fd = c_result(unsafe { call!(libc::SYS_socket, domain, kind, protocol) }) as c_int;
    note_descriptor(fd);
    files::opened(fd);
    if fd < 0 || !matches!(domain, AF_UNIX | AF_INET | AF_INET6) {
        return fd;
    }
    let stream = kind & 0xf == SOCK_STREAM;
    let mut entry = Entry { stream, ..Entry::new(Kind::Socket) };
    if kind & 0xf == libc::SOCK_DGRAM {
        let group = datagrams();
        change(object_of(group));
        let ends = &descriptors().groups[group].ends;
        entry.end = ends.iter().position(|fds| fds.is_empty()).unwrap_or(ends.len());
        if entry.end >= MOST_ENDS {
            link::refuse(format_args!("the program has more than {MOST_ENDS} sockets for datagrams at a time"));
        }
        entry.group = Some(group);
        insert(fd, entry);
        refresh(group);
        return fd;
    }
    if domain != AF_UNIX {
        // Connections of earlier executions must not be in the way.
        let yes: c_int = 1;
        // SAFETY: an option of the new socket.
        unsafe { call!(libc::SYS_setsockopt, fd, SOL_SOCKET, libc::SO_REUSEADDR, &raw const yes, 4) };
    }
    insert(fd, entry);
    fd
}

unsafe extern "C" fn give_address(fd: c_int, address: *const sockaddr, length: socklen_t) -> c_int {
    // SAFETY: what the program asks for.
    unsafe {
        let path = addresses::path(Address::read(address, length).bytes());
        change_address(fd, path.as_ref());
        let mut wanted = ports::real(fd, address, length);
        if wanted.port() == Some(0) && is_socket(fd) {
            let result = ports::bind_any(fd, &mut wanted);
            if result == 0 {
                addresses::note(fd, None);
            }
            return c_result(result) as c_int;
        }
        note_name(Named::Existing);
        let bind = || call!(libc::SYS_bind, fd, wanted.as_ptr(), length);
        let mut result = bind();
        if result == -(EADDRINUSE as isize)
            && let Some(path) = path.as_ref().filter(|path| is_left_over(fd, path, wanted.bytes()))
        {
            call!(libc::SYS_unlink, path.as_ptr());
            result = bind();
        }
        if result == 0 {
            addresses::note(fd, path.as_ref());
            files::made_socket(addresses::pointer(path.as_ref()));
        }
        c_result(result) as c_int
    }
}

fn is_socket(fd: c_int) -> bool {
    entry(fd).is_some_and(|e| e.kind == Kind::Socket)
}

/// Whether the name of a Unix socket is there only because an earlier execution has made it: nobody listens there.
unsafe fn is_left_over(fd: c_int, path: &CStr, address: &[u8]) -> bool {
    if !is_socket(fd) || addresses::is_of_program(path) {
        return false;
    }
    // SAFETY: a socket of our own that asks whether someone is there.
    unsafe {
        let mut kind: c_int = SOCK_STREAM;
        let mut size: socklen_t = 4;
        call!(libc::SYS_getsockopt, fd, SOL_SOCKET, libc::SO_TYPE, &raw mut kind, &raw mut size);
        let probe = call!(libc::SYS_socket, AF_UNIX, kind | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC, 0);
        let answer = call!(libc::SYS_connect, probe, address.as_ptr(), address.len());
        call!(crate::sys::SYS_close, probe);
        answer == -(ECONNREFUSED as isize)
    }
}

unsafe extern "C" fn begin_listening(fd: c_int, backlog: c_int) -> c_int {
    change_address(fd, None);
    // SAFETY: what the program asks for.
    let result = unsafe { call!(libc::SYS_listen, fd, backlog) };
    match entry(fd) {
        Some(known) if result == 0 && known.kind == Kind::Socket && known.group.is_none() => {
            // The kernel has chosen an address if there was none.
            addresses::note(fd, None);
            let (address, file) = (addresses::of_socket(fd), addresses::file(fd));
            let group = create_group();
            let g = &mut descriptors().groups[group];
            (g.listens, g.backlog) = (true, backlog.clamp(0, 4096) as usize);
            g.slow = family(&address) != AF_UNIX;
            (g.address, g.file) = (address, file);
            insert(fd, Entry { kind: Kind::Listener, group: Some(group), ..known });
            refresh(group);
        }
        Some(Entry { kind: Kind::Listener, group: Some(group), .. }) if result == 0 => {
            descriptors().groups[group].backlog = backlog.clamp(0, 4096) as usize;
            refresh(group);
        }
        _ => {}
    }
    c_result(result) as c_int
}

unsafe extern "C" fn connect_to(fd: c_int, address: *const sockaddr, length: socklen_t) -> c_int {
    // SAFETY: what the program asks for.
    c_result(unsafe { reach(fd, address, length) }) as c_int
}

/// Orders looking an address up with who changes what it leads to; `outside` if somebody else may be there.
unsafe fn look_up(fd: c_int, at: *const sockaddr, length: socklen_t, outside: bool) -> Destination {
    // SAFETY: the program's address, and a path of our own.
    unsafe {
        let path = addresses::path(Address::read(at, length).bytes());
        files::order_address(fd, Member::WRITE, addresses::pointer(path.as_ref()), false, |add| {
            add(addresses::object(), Member::READ);
            if outside {
                add(outside::object(), Member::WRITE);
            }
            if let Some(group) = entry(fd).and_then(|e| e.group) {
                add(object_of(group), Member::WRITE | Member::TELL);
            }
        });
        Destination::look_up(fd, at, length)
    }
}

/// Connects a socket; gives what the system call gives. Who is there is looked up in a step, and looked up again if the listener is gone
/// when there would be room.
unsafe fn reach(fd: c_int, address: *const sockaddr, length: socklen_t) -> isize {
    let mut outside = false;
    // SAFETY: what the program asks for.
    unsafe {
        loop {
            let to = look_up(fd, address, length, outside);
            let known = entry(fd);
            let Some(known) = known.filter(|e| e.kind == Kind::Socket && e.group.is_none()) else {
                let result = connect_now(fd, &to);
                known.and_then(|e| e.group).into_iter().for_each(refresh);
                return result;
            };
            match to.listener() {
                Some((listener, several)) => {
                    if several {
                        // The kernel chooses one.
                        unmodelled::note_if_shared(Unmodelled::Sockets);
                    }
                    if let Some(result) = connect_within(fd, known, listener, &to) {
                        return result;
                    }
                }
                // The answer is the kernel's, at this moment: it hangs on what threads have done, and is not one to record.
                None if to.is_own() || to.is_nowhere() => return connect_now(fd, &to),
                None if outside => return connect_outside(fd, &to),
                None => outside = true,
            }
        }
    }
}

/// Connects a socket at once.
unsafe fn connect_now(fd: c_int, to: &Destination) -> isize {
    let (address, length) = to.now();
    // SAFETY: what the program asks for.
    let result = unsafe { call!(libc::SYS_connect, fd, address, length) };
    ports::note_own(fd);
    result
}

/// Connects to another process, or to nobody.
unsafe fn connect_outside(fd: c_int, to: &Destination) -> isize {
    // SAFETY: what the program asks for.
    let result = outside::connect(fd, to.bytes(), || unsafe { connect_now(fd, to) });
    if result == 0 || result == -(EINPROGRESS as isize) {
        super::remove(fd);
        outside::adopt(fd, to.bytes());
    }
    result
}

/// Connects to who listens in the program, when there is room; `None` if nobody does any more.
unsafe fn connect_within(fd: c_int, known: Entry, listener: usize, to: &Destination) -> Option<isize> {
    let tries = is_nonblocking(fd);
    let limit = limit(fd, 1);
    let room = Entry { group: Some(listener), end: 0, ..known };
    if let Err(error) = await_end(&room, OUT, tries, limit) {
        return Some(-(error as isize));
    }
    if !addresses::is_listening(&descriptors().groups[listener]) {
        return None;
    }
    let (address, length) = to.later();
    // SAFETY: what the program asks for.
    let result = unsafe { call!(libc::SYS_connect, fd, address.as_ptr(), length) };
    if result == 0 || result == -(EINPROGRESS as isize) {
        ports::note_own(fd);
        let group = create_group();
        descriptors().groups[group].slow = descriptors().groups[listener].slow;
        insert(fd, Entry { group: Some(group), end: 0, ..known });
        let g = &mut descriptors().groups[listener];
        g.queue.push(group);
        if let (true, Some(listening)) = (g.slow, g.ends.first().and_then(|fds| fds.first())) {
            ask(*listening, libc::POLLIN, 50);
            ask(fd, libc::POLLOUT, 50);
        }
        refresh(group);
    }
    refresh(listener);
    Some(result)
}

unsafe extern "C" fn accept_one(fd: c_int, address: *mut sockaddr, length: *mut socklen_t) -> c_int {
    // SAFETY: what the program asks for.
    unsafe { accept_with(fd, address, length, 0) }
}

unsafe extern "C" fn accept_with(fd: c_int, address: *mut sockaddr, length: *mut socklen_t, flags: c_int) -> c_int {
    // SAFETY: what the program asks for.
    pins::held(&[fd], || unsafe { accept_held(fd, address, length, flags) })
}

unsafe fn accept_held(fd: c_int, address: *mut sockaddr, length: *mut socklen_t, flags: c_int) -> c_int {
    // SAFETY: what the program asks for.
    unsafe {
        let accept = |fd: c_int| {
            let room = if length.is_null() { 0 } else { *length };
            let new = call!(libc::SYS_accept4, fd, address, length, flags);
            if new >= 0 && !address.is_null() && !length.is_null() {
                ports::show(new as c_int, address, *length, room);
            }
            new
        };
        let Some((known, listener)) = entry(fd).filter(|e| e.kind == Kind::Listener).and_then(|e| Some((e, e.group?)))
        else {
            return c_result(accept(fd)) as c_int;
        };
        let tries = is_nonblocking(fd);
        let limit = limit(fd, 0);
        files::take_number();
        if let Err(error) = await_end(&known, IN | super::HUP, tries, limit) {
            return fail(error);
        }
        let (fd, now) = pins::reached(fd);
        if now.is_none_or(|now| now.group != known.group) {
            // It was closed before the call began.
            return c_result(accept(fd)) as c_int;
        }
        if !tries && ask(fd, libc::POLLIN, 50) == 0 {
            return fail(EAGAIN);
        }
        let new = accept(fd);
        files::opened(new as c_int);
        if new >= 0 && !descriptors().groups[listener].queue.is_empty() {
            let group = descriptors().groups[listener].queue.remove(0);
            refresh(listener);
            change(object_of(group));
            insert(new as c_int, Entry { kind: Kind::Socket, group: Some(group), end: 1, limits: [0; 2], ..known });
            refresh(group);
        } else {
            refresh(listener);
        }
        c_result(new) as c_int
    }
}

unsafe extern "C" fn shut_down(fd: c_int, how: c_int) -> c_int {
    c_result(transfer::shut(fd, how)) as c_int
}

unsafe extern "C" fn set_option(
    fd: c_int,
    level: c_int,
    option: c_int,
    value: *const c_void,
    length: socklen_t,
) -> c_int {
    // What both ends have, such as room for data, may change what they are ready for.
    files::order_call(libc::SYS_setsockopt, [fd as usize, 0, 0, 0, 0, 0]);
    // SAFETY: what the program asks for.
    unsafe {
        let result = call!(libc::SYS_setsockopt, fd, level, option, value, length);
        let which = match option {
            libc::SO_RCVTIMEO => 0,
            libc::SO_SNDTIMEO => 1,
            _ => 2,
        };
        if result == 0 && level == SOL_SOCKET && which < 2 && length as usize >= size_of::<timeval>() {
            let limit = (value as *const timeval).read_unaligned();
            let nanoseconds = (limit.tv_sec.max(0) as u64)
                .saturating_mul(1_000_000_000)
                .saturating_add((limit.tv_usec.max(0) as u64).saturating_mul(1000));
            let ends = entry(fd).and_then(|e| descriptors().groups[e.group?].ends.get(e.end));
            let copies = ends.cloned().unwrap_or_default();
            for copy in copies.into_iter().chain([fd]) {
                if let Some(known) = entry_mut(copy) {
                    known.limits[which] = nanoseconds;
                }
            }
            files::learn_that_limits_matter();
        }
        c_result(result) as c_int
    }
}
