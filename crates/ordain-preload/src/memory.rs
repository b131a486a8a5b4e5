//! Mappings that the program makes: known, so that they can be undone.

use crate::context::interpose;
use crate::engine::{self, engine};
use crate::real::c_result;
use crate::snapshot;
use crate::sys::{self, call};
use core::ffi::{c_int, c_void};
use ordain_wire::Mode;

interpose! {
    mmap => map;
    mmap64 => map;
    munmap => unmap;
    mprotect => protect;
    mremap => remap;
    madvise => advise;
}

fn check(address: usize, length: usize, what: &str) {
    if engine().mode == Mode::Snapshot && snapshot::was_there(address, length) {
        engine::refuse(format_args!("the program calls {what} on memory that existed when main began"));
    }
}

unsafe extern "C" fn map(
    address: usize,
    length: usize,
    protection: c_int,
    flags: c_int,
    fd: c_int,
    offset: i64,
) -> isize {
    if flags & libc::MAP_FIXED != 0 {
        check(address, length, "mmap");
    }
    // SAFETY: what the program asks for.
    c_result(unsafe { call!(sys::SYS_mmap, address, length, protection, flags, fd, offset) })
}

unsafe extern "C" fn unmap(address: usize, length: usize) -> c_int {
    check(address, length, "munmap");
    // SAFETY: what the program asks for.
    c_result(unsafe { call!(sys::SYS_munmap, address, length) }) as c_int
}

unsafe extern "C" fn protect(address: usize, length: usize, protection: c_int) -> c_int {
    check(address, length, "mprotect");
    // SAFETY: what the program asks for.
    c_result(unsafe { call!(sys::SYS_mprotect, address, length, protection) }) as c_int
}

unsafe extern "C" fn remap(address: usize, old: usize, new: usize, flags: c_int, to: *mut c_void) -> isize {
    check(address, old, "mremap");
    // SAFETY: what the program asks for.
    c_result(unsafe { call!(libc::SYS_mremap, address, old, new, flags, to) })
}

unsafe extern "C" fn advise(address: usize, length: usize, advice: c_int) -> c_int {
    if matches!(advice, libc::MADV_DONTNEED | libc::MADV_FREE | libc::MADV_REMOVE) {
        check(address, length, "madvise");
    }
    // SAFETY: what the program asks for.
    c_result(unsafe { call!(libc::SYS_madvise, address, length, advice) }) as c_int
}
