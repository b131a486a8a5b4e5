//! Ports that the kernel chooses, and what the program sees in their place.
//!
//! Only addresses of this machine are looked at. A socket that is bound to any port gets, if others leave it free, the one that the
//! program sees; who connects or sends without an address gets what the kernel chooses, because the same one could not be used again
//! soon.

use super::hosts;
use crate::context::interpose;
use crate::handles;
use crate::real::c_result;
use crate::sys::call;
use core::ffi::{c_int, c_void};
use libc::{EADDRINUSE, SO_TYPE, SOCK_STREAM, SOL_SOCKET, sockaddr, socklen_t};

interpose! {
    getsockname => own_address; __getsockname => own_address; getpeername => other_address;
}

/// The longest address.
pub(super) const LONGEST: usize = 128;

/// The function of ours that stands for one of the C library in child processes.
pub fn stand_in(name: &[u8]) -> Option<usize> {
    Some(match name {
        b"getsockname" | b"__getsockname" => own_address as *const () as usize,
        b"getpeername" => other_address as *const () as usize,
        b"bind" => bind_in_child as *const () as usize,
        b"connect" | b"__connect" => connect_in_child as *const () as usize,
        b"accept" => accept_in_child as *const () as usize,
        b"accept4" => accept_in_child_with as *const () as usize,
        b"sendto" => send_in_child as *const () as usize,
        b"recvfrom" => receive_in_child as *const () as usize,
        _ => return None,
    })
}

/// An address of the program's, copied.
#[derive(Clone)]
pub(super) struct Address {
    bytes: [u8; LONGEST],
    length: usize,
}

impl Address {
    /// What is there; nothing if it is null.
    pub(super) unsafe fn read(at: *const sockaddr, length: socklen_t) -> Self {
        let mut address = Self { bytes: [0; LONGEST], length: (length as usize).min(LONGEST) };
        if at.is_null() {
            address.length = 0;
        }
        // SAFETY: the program's address.
        unsafe { core::ptr::copy_nonoverlapping(at.cast(), address.bytes.as_mut_ptr(), address.length) };
        address
    }

    /// The address of a Unix socket at a path, and its length.
    pub(super) fn of_path(path: &[u8]) -> (Self, socklen_t) {
        let mut address = Self { bytes: [0; LONGEST], length: 2 + path.len() };
        address.bytes[..2].copy_from_slice(&(libc::AF_UNIX as u16).to_le_bytes());
        address.bytes[2..address.length].copy_from_slice(path);
        let length = address.length as socklen_t;
        (address, length)
    }

    /// The port, if it is an address of this machine that has one.
    pub(super) fn port(&self) -> Option<u16> {
        hosts::own_port(&self.bytes[..self.length])
    }

    pub(super) fn set_port(&mut self, port: u16) {
        self.bytes[2..4].copy_from_slice(&port.to_be_bytes());
    }

    pub(super) fn as_ptr(&self) -> *const u8 {
        self.bytes.as_ptr()
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

/// Whether a socket carries bytes; ports of datagrams are others.
pub(super) fn is_stream(fd: c_int) -> bool {
    let (mut kind, mut size): (c_int, socklen_t) = (0, 4);
    // SAFETY: asks for an option.
    unsafe { call!(libc::SYS_getsockopt, fd, SOL_SOCKET, SO_TYPE, &raw mut kind, &raw mut size) };
    kind == SOCK_STREAM
}

/// The address as the kernel knows it.
pub(super) unsafe fn real(fd: c_int, at: *const sockaddr, length: socklen_t) -> Address {
    // SAFETY: the program's address.
    let mut address = unsafe { Address::read(at, length) };
    if let Some(port) = address.port() {
        address.set_port(handles::real_port(port, is_stream(fd)));
    }
    address
}

/// Puts what the program sees in place of an address that the kernel has filled in, in as much room as there was.
pub(super) unsafe fn show(fd: c_int, at: *mut sockaddr, length: socklen_t, room: socklen_t) {
    // SAFETY: what the kernel has filled in.
    unsafe {
        let address = Address::read(at, length.min(room));
        if let Some(port) = address.port().filter(|p| *p != 0 && address.bytes().len() >= 4) {
            let port = shown(port, is_stream(fd)).to_be_bytes();
            core::ptr::copy_nonoverlapping(port.as_ptr(), at.cast::<u8>().add(2), 2);
        }
    }
}

/// What the program sees in place of a port. One that the kernel has given to another process is numbered when it is first seen.
fn shown(real: u16, stream: bool) -> u16 {
    if let Some(shown) = handles::shown_port(real, stream) {
        return shown;
    }
    if !handles::is_ephemeral(real) {
        return real;
    }
    let shown = handles::next_port();
    handles::add_port(shown, real, stream);
    shown
}

/// Binds to the port that the program will see, or to another if that is taken.
pub(super) fn bind_any(fd: c_int, address: &mut Address) -> isize {
    let (stream, shown) = (is_stream(fd), handles::next_port());
    for port in (0..=u16::MAX).map(|i| shown.wrapping_add(i)).filter(|p| *p >= 1024) {
        if port != shown && handles::is_known(port, stream) {
            continue;
        }
        address.set_port(port);
        // SAFETY: an address of our own.
        let result = unsafe { call!(libc::SYS_bind, fd, address.as_ptr(), address.bytes().len()) };
        if result == 0 {
            handles::add_port(shown, port, stream);
        }
        if result != -(EADDRINUSE as isize) {
            return result;
        }
    }
    -(EADDRINUSE as isize)
}

/// Numbers the port that the kernel has given to a socket which had none.
pub(super) fn note_own(fd: c_int) {
    let mut address = Address { bytes: [0; LONGEST], length: LONGEST };
    let mut length = LONGEST as socklen_t;
    // SAFETY: fills in the address.
    if unsafe { call!(libc::SYS_getsockname, fd, address.bytes.as_mut_ptr(), &raw mut length) } == 0 {
        address.length = (length as usize).min(LONGEST);
        if let Some(port) = address.port().filter(|p| *p != 0) {
            shown(port, is_stream(fd));
        }
    }
}

/// Makes a system call that fills in an address, and shows the program another.
unsafe fn fill(number: i64, fd: c_int, at: *mut sockaddr, length: *mut socklen_t) -> c_int {
    super::sockets::look_at_address(fd);
    // SAFETY: the program's arguments.
    unsafe {
        let room = if length.is_null() { 0 } else { *length };
        let result = call!(number, fd, at, length);
        if result == 0 {
            show(fd, at, *length, room);
        }
        c_result(result) as c_int
    }
}

unsafe extern "C" fn own_address(fd: c_int, at: *mut sockaddr, length: *mut socklen_t) -> c_int {
    // SAFETY: the program's arguments.
    unsafe { fill(libc::SYS_getsockname, fd, at, length) }
}

unsafe extern "C" fn other_address(fd: c_int, at: *mut sockaddr, length: *mut socklen_t) -> c_int {
    // SAFETY: the program's arguments.
    unsafe { fill(libc::SYS_getpeername, fd, at, length) }
}

unsafe extern "C" fn bind_in_child(fd: c_int, at: *const sockaddr, length: socklen_t) -> c_int {
    // SAFETY: the program's arguments.
    unsafe {
        let mut address = real(fd, at, length);
        if address.port() == Some(0) {
            return c_result(bind_any(fd, &mut address)) as c_int;
        }
        c_result(call!(libc::SYS_bind, fd, address.as_ptr(), length)) as c_int
    }
}

unsafe extern "C" fn connect_in_child(fd: c_int, at: *const sockaddr, length: socklen_t) -> c_int {
    // SAFETY: the program's arguments.
    c_result(unsafe { call!(libc::SYS_connect, fd, real(fd, at, length).as_ptr(), length) }) as c_int
}

unsafe extern "C" fn accept_in_child(fd: c_int, at: *mut sockaddr, length: *mut socklen_t) -> c_int {
    // SAFETY: the program's arguments.
    unsafe { accept_in_child_with(fd, at, length, 0) }
}

unsafe extern "C" fn accept_in_child_with(fd: c_int, at: *mut sockaddr, length: *mut socklen_t, flags: c_int) -> c_int {
    // SAFETY: the program's arguments.
    unsafe {
        let room = if length.is_null() { 0 } else { *length };
        let new = call!(libc::SYS_accept4, fd, at, length, flags);
        if new >= 0 && !at.is_null() && !length.is_null() {
            show(new as c_int, at, *length, room);
        }
        c_result(new) as c_int
    }
}

unsafe extern "C" fn send_in_child(
    fd: c_int,
    bytes: *const c_void,
    size: usize,
    flags: c_int,
    to: *const sockaddr,
    length: socklen_t,
) -> isize {
    // SAFETY: the program's arguments.
    unsafe {
        let address = real(fd, to, length);
        let to = if to.is_null() { core::ptr::null() } else { address.as_ptr() };
        c_result(call!(libc::SYS_sendto, fd, bytes, size, flags, to, length))
    }
}

unsafe extern "C" fn receive_in_child(
    fd: c_int,
    room: *mut c_void,
    size: usize,
    flags: c_int,
    from: *mut sockaddr,
    length: *mut socklen_t,
) -> isize {
    // SAFETY: the program's arguments.
    unsafe {
        let place = if length.is_null() { 0 } else { *length };
        let result = call!(libc::SYS_recvfrom, fd, room, size, flags, from, length);
        if result >= 0 && !from.is_null() && !length.is_null() {
            show(fd, from, *length, place);
        }
        c_result(result)
    }
}
