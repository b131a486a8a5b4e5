//! Descriptors that are open when main begins: the standard ones, and what constructors have opened.
//!
//! Position and flags belong to the opening, which executions share in snapshot and fork mode. So both are put back before each.

use crate::engine::engine;
use crate::link;
use crate::sys::{self, call};
use alloc::vec::Vec;
use core::ffi::c_int;
use ordain_wire::{FIRST_OWN_FD, Mode, SHARED_FD};

/// An open descriptor.
struct Inherited {
    fd: c_int,
    /// A copy out of the program's reach.
    copy: c_int,
    /// Its position, if it has one.
    position: Option<isize>,
    /// Flags of its opening, such as O_APPEND.
    status: isize,
    /// Flags of the descriptor itself: whether it is closed by exec.
    closing: isize,
}

static mut INHERITED: Vec<Inherited> = Vec::new();
static mut CHANGED: bool = false;

fn inherited() -> &'static [Inherited] {
    // SAFETY: filled in before the program begins; only the carrier comes here.
    unsafe { &*(&raw const INHERITED) }
}

/// Takes down what is open.
pub fn prepare() {
    let mut asked: Vec<libc::pollfd> = (0..SHARED_FD).map(|fd| libc::pollfd { fd, events: 0, revents: 0 }).collect();
    // SAFETY: asks about descriptors, which are the program's, and copies them.
    unsafe {
        // The cheapest way to ask which are open.
        call!(libc::SYS_poll, asked.as_mut_ptr(), asked.len(), 0);
        let open = asked.iter().filter(|a| a.revents & libc::POLLNVAL == 0);
        INHERITED = open
            .map(|a| Inherited {
                fd: a.fd,
                copy: call!(sys::SYS_fcntl, a.fd, libc::F_DUPFD_CLOEXEC, FIRST_OWN_FD) as c_int,
                position: Some(call!(sys::SYS_lseek, a.fd, 0, libc::SEEK_CUR)).filter(|p| *p >= 0),
                status: call!(sys::SYS_fcntl, a.fd, libc::F_GETFL),
                closing: call!(sys::SYS_fcntl, a.fd, libc::F_GETFD),
            })
            .collect();
    }
}

/// Looks whether executions would find something of each other in what is open.
pub fn check() {
    if engine().mode == Mode::Exec {
        return;
    }
    for one in inherited().iter().filter(|i| i.fd > 2) {
        // SAFETY: asks about a descriptor; a structure that the kernel fills in.
        let kind = unsafe {
            let mut status: libc::stat = core::mem::zeroed();
            call!(libc::SYS_fstat, one.fd, &raw mut status);
            status.st_mode & libc::S_IFMT
        };
        if !matches!(kind, libc::S_IFREG | libc::S_IFDIR | libc::S_IFCHR) {
            link::leave_mode(format_args!(
                "a pipe, socket or the like is open when main begins, and executions would share it"
            ));
        }
    }
}

/// The copy of a standard descriptor.
pub fn standard(fd: usize) -> c_int {
    inherited().iter().find(|i| i.fd == fd as c_int).map_or(-1, |i| i.copy)
}

/// Descriptors from here on are all new.
pub fn end() -> c_int {
    inherited().last().map_or(0, |i| i.fd + 1)
}

/// The program has changed a descriptor that was open, or its flags.
pub fn note(fd: c_int) {
    if fd < end() {
        // SAFETY: only the carrier comes here.
        unsafe { CHANGED = true };
    }
}

/// Puts position and flags back, for the next execution.
pub fn rewind() {
    for one in inherited() {
        // SAFETY: a descriptor of our own, whose opening is the program's.
        unsafe {
            if let Some(position) = one.position {
                call!(sys::SYS_lseek, one.copy, position, libc::SEEK_SET);
            }
            call!(sys::SYS_fcntl, one.copy, libc::F_SETFL, one.status);
        }
    }
}

/// Puts everything back that was there, in snapshot mode. Standard input and output are cared for elsewhere, unless they were changed.
pub fn restore() {
    // SAFETY: only the carrier comes here; descriptors of our own and of the program.
    unsafe {
        if core::mem::take(&mut *(&raw mut CHANGED)) {
            rewind();
            for one in inherited() {
                let flags = if one.closing & libc::FD_CLOEXEC as isize != 0 { libc::O_CLOEXEC } else { 0 };
                call!(libc::SYS_dup3, one.copy, one.fd, flags);
            }
        }
        for one in inherited().iter().filter(|i| i.fd > 2) {
            if let Some(position) = one.position {
                call!(sys::SYS_lseek, one.copy, position, libc::SEEK_SET);
            }
        }
    }
}

/// Closes everything that was not there.
pub fn close_others() {
    let mut first = 0;
    // SAFETY: descriptors that the program has made.
    unsafe {
        for one in inherited() {
            if one.fd > first {
                call!(sys::SYS_close_range, first, one.fd - 1, 0);
            }
            first = one.fd + 1;
        }
        call!(sys::SYS_close_range, first, SHARED_FD - 1, 0);
    }
}

/// The lowest descriptor that is free.
pub fn lowest_free() -> c_int {
    (0..).zip(inherited()).find(|(n, i)| *n != i.fd).map_or(end(), |(n, _)| n)
}
