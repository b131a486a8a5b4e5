//! Whom the address of a socket leads to.
//!
//! One object stands for all addresses: binding, listening and closing what is bound write it, and who connects reads it. The address of a
//! Unix socket may be a name of a file, and then it is ordered as other names are. The kernel finds the socket by the file, so we do too:
//! links and other spellings lead to the same one.

use super::hosts::{family, reaches};
use super::ports::{self, Address};
use super::{ADDRESSES, Group, Kind, descriptors, entry};
use crate::files;
use crate::objects;
use crate::sys::{self, call};
use alloc::ffi::CString;
use alloc::vec::Vec;
use core::ffi::{CStr, c_char, c_int};
use libc::{AF_INET, AF_INET6, AF_UNIX, sockaddr, socklen_t};
use ordain_model::{ObjectId, ObjectKind};

/// A device and a number on it.
pub(super) type Identity = (u64, u64);

/// A socket that the program has given an address.
pub(super) struct Bound {
    socket: Identity,
    address: Vec<u8>,
    /// The file, if the address is a name.
    file: Option<Identity>,
}

/// The object that orders who has which address, and who listens there.
pub(super) fn object() -> ObjectId {
    if let Some(object) = descriptors().addresses {
        return object;
    }
    let object = objects::find(ADDRESSES, ObjectKind::Descriptor, 0);
    descriptors().addresses = Some(object);
    object
}

/// What the kernel tells a descriptor from others by. Both ends of a pipe are one; events, timers and poll sets are all one.
pub(super) fn identity(fd: c_int) -> Option<Identity> {
    // SAFETY: zeroes are valid, and the kernel fills it in.
    unsafe {
        let mut status: libc::stat = core::mem::zeroed();
        (call!(libc::SYS_fstat, fd, &raw mut status) == 0).then_some((status.st_dev, status.st_ino))
    }
}

/// The path that the address of a Unix socket is, if it is one.
pub(super) fn path(address: &[u8]) -> Option<CString> {
    match address.get(2..) {
        Some(path @ [first, ..]) if *first != 0 && family(address) == AF_UNIX => {
            CString::new(path.split(|c| *c == 0).next().unwrap_or(&[])).ok()
        }
        _ => None,
    }
}

/// A path for a system call.
pub(super) fn pointer(path: Option<&CString>) -> *const c_char {
    path.map_or(core::ptr::null(), |path| path.as_ptr())
}

/// The address that a socket has.
pub(super) fn of_socket(fd: c_int) -> Vec<u8> {
    let mut address = alloc::vec![0u8; ports::LONGEST];
    let mut length = ports::LONGEST as socklen_t;
    // SAFETY: fills in the address.
    let result = unsafe { call!(libc::SYS_getsockname, fd, address.as_mut_ptr(), &raw mut length) };
    address.truncate(if result == 0 { length as usize } else { 0 });
    address
}

/// A socket has got an address; `path` if that is a name, which was made.
pub(super) fn note(fd: c_int, path: Option<&CString>) {
    let Some(socket) = identity(fd) else { return };
    if is_bound(fd) {
        return;
    }
    let file = path.and_then(|path| hold(path)).and_then(|held| {
        let file = identity(held);
        close(held);
        file
    });
    descriptors().bound.push(Bound { socket, address: of_socket(fd), file });
    files::look_again();
}

/// Whether a descriptor is of a socket that the program has given an address.
pub(super) fn is_bound(fd: c_int) -> bool {
    bound(fd).is_some()
}

/// What is known of a socket with an address.
fn bound(fd: c_int) -> Option<&'static Bound> {
    let d = descriptors();
    if d.bound.is_empty() || !entry(fd).is_some_and(|e| matches!(e.kind, Kind::Socket | Kind::Listener)) {
        return None;
    }
    let socket = identity(fd)?;
    d.bound.iter().find(|b| b.socket == socket)
}

/// The file of a socket whose address is a name.
pub(super) fn file(fd: c_int) -> Option<Identity> {
    bound(fd)?.file
}

/// Whether the name at a path was made by a socket of this execution.
pub(super) fn is_of_program(path: &CStr) -> bool {
    let Some(held) = hold(path) else { return false };
    let file = identity(held);
    close(held);
    descriptors().bound.iter().any(|b| b.file.is_some() && b.file == file)
}

/// A descriptor of our own for what is at a path, whatever it is.
fn hold(path: &CStr) -> Option<c_int> {
    // SAFETY: a descriptor of our own, which nobody reads from.
    let held = sys::move_high(unsafe {
        call!(libc::SYS_openat, libc::AT_FDCWD, path.as_ptr(), libc::O_PATH | libc::O_CLOEXEC)
    });
    (held >= 0).then_some(held)
}

fn close(own: c_int) {
    // SAFETY: a descriptor of our own.
    unsafe { call!(sys::SYS_close, own) };
}

/// Where the program connects or sends to, as it is now.
pub(super) struct Destination {
    address: Address,
    length: socklen_t,
    is_name: bool,
    /// The file behind a name, held so that it can still be reached when the name is gone.
    held: Option<c_int>,
    file: Option<Identity>,
}

impl Drop for Destination {
    fn drop(&mut self) {
        self.held.into_iter().for_each(close);
    }
}

impl Destination {
    /// What an address of the program's leads to.
    pub(super) unsafe fn look_up(fd: c_int, at: *const sockaddr, length: socklen_t) -> Self {
        // SAFETY: the program's address.
        let address = unsafe { ports::real(fd, at, length) };
        let path = path(address.bytes());
        let held = path.as_ref().and_then(|path| hold(path));
        Self { address, length, is_name: path.is_some(), held, file: held.and_then(identity) }
    }

    /// The address as the kernel knows it.
    pub(super) fn bytes(&self) -> &[u8] {
        self.address.bytes()
    }

    /// The address and its length for a system call that is made at once.
    pub(super) fn now(&self) -> (*const u8, socklen_t) {
        (self.address.as_ptr(), self.length)
    }

    /// For a system call that is made later: what was found stays what it was, whatever becomes of the name.
    pub(super) fn later(&self) -> (Address, socklen_t) {
        match self.held {
            Some(held) => Address::of_path(&files::descriptor_path(held)),
            None => (self.address.clone(), self.length),
        }
    }

    /// Whether there is nothing at the name.
    pub(super) fn is_nowhere(&self) -> bool {
        self.is_name && self.file.is_none()
    }

    /// The group of who listens there, in the program; and whether there are several.
    pub(super) fn listener(&self) -> Option<(usize, bool)> {
        let groups = descriptors().groups.iter().enumerate();
        let mut found = groups.filter(|(_, g)| is_listening(g) && self.leads_to(&g.address, g.file));
        let first = found.next()?.0;
        Some((first, found.next().is_some()))
    }

    /// Whether a socket of the program has, or had, this address.
    pub(super) fn is_own(&self) -> bool {
        descriptors().bound.iter().any(|b| self.leads_to(&b.address, b.file))
    }

    fn leads_to(&self, at: &[u8], file: Option<Identity>) -> bool {
        let to = self.bytes();
        match family(to) {
            AF_UNIX if self.is_name => file.is_some() && self.file == file,
            AF_UNIX => to == at,
            AF_INET | AF_INET6 => reaches(to, at, is_local),
            _ => false,
        }
    }
}

/// Whether a group is of somebody who listens.
pub(super) fn is_listening(group: &Group) -> bool {
    group.listens && group.ends.iter().any(|fds| !fds.is_empty())
}

/// Whether an address is one of this machine: a socket can be bound there.
fn is_local(address: &[u8]) -> bool {
    let mut any = address.to_vec();
    any[2..4].fill(0);
    // SAFETY: a socket of our own.
    unsafe {
        let probe = call!(libc::SYS_socket, family(address), libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0);
        let result = call!(libc::SYS_bind, probe, any.as_ptr(), any.len());
        call!(sys::SYS_close, probe);
        result == 0
    }
}
