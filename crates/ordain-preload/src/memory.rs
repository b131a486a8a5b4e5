//! Mappings that the program makes: known, so that they can be undone.

use crate::context::interpose;
use crate::engine::engine;
use crate::lifetimes;
use crate::link;
use crate::real::c_result;
use crate::snapshot;
use crate::sys::{self, call};
use crate::unmodelled::{self, Unmodelled};
use core::ffi::{c_int, c_void};
use ordain_wire::Mode;

interpose! {
    mmap => map;
    mmap64 => map;
    munmap => unmap;
    mprotect => protect;
    mremap => remap;
    madvise => advise;
    mlockall => lock_all; munlockall => unlock_all;
}

static mut MAPPED: bool = false;

/// Whether the last execution has mapped memory by a call that is known. Forgets it.
pub fn has_mapped() -> bool {
    // SAFETY: only the carrier comes here.
    unsafe { core::mem::take(&mut *(&raw mut MAPPED)) }
}

/// Leaves snapshot mode if some of this memory was there when main began.
pub fn check(address: usize, length: usize, what: &str) {
    if engine().mode == Mode::Snapshot && snapshot::was_there(address, length) {
        link::refuse(format_args!("the program calls {what} on memory that existed when main began"));
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
    let kind = flags & libc::MAP_TYPE;
    if fd >= 0 && matches!(kind, libc::MAP_SHARED | libc::MAP_SHARED_VALIDATE) && protection & libc::PROT_WRITE != 0 {
        unmodelled::note_if_shared(Unmodelled::SharedMapping);
    }
    // SAFETY: only the carrier comes here.
    unsafe { MAPPED = true };
    // SAFETY: what the program asks for.
    c_result(unsafe { call!(sys::SYS_mmap, address, length, protection, flags, fd, offset) })
}

unsafe extern "C" fn unmap(address: usize, length: usize) -> c_int {
    check(address, length, "munmap");
    lifetimes::end_within(address as u64, length as u64);
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
    if flags & libc::MREMAP_FIXED != 0 {
        check(to as usize, new, "mremap");
    }
    // SAFETY: what the program asks for.
    c_result(unsafe { call!(libc::SYS_mremap, address, old, new, flags, to) })
}

unsafe extern "C" fn advise(address: usize, length: usize, advice: c_int) -> c_int {
    check_advice(address, length, advice);
    // SAFETY: what the program asks for.
    c_result(unsafe { call!(libc::SYS_madvise, address, length, advice) }) as c_int
}

/// Answers `mlockall` and `munlockall` without locking anything: the runtime has reserved far more address space than there is memory.
pub fn lock_nothing(unlocks: bool, flags: c_int) -> isize {
    let known = libc::MCL_CURRENT | libc::MCL_FUTURE | libc::MCL_ONFAULT;
    let valid = flags & !known == 0 && flags & (libc::MCL_CURRENT | libc::MCL_FUTURE) != 0;
    if unlocks || valid { 0 } else { -(libc::EINVAL as isize) }
}

extern "C" fn lock_all(flags: c_int) -> c_int {
    c_result(lock_nothing(false, flags)) as c_int
}

extern "C" fn unlock_all() -> c_int {
    0
}

/// Leaves snapshot mode if advice changes memory that was there when main began, or what becomes of it.
pub fn check_advice(address: usize, length: usize, advice: c_int) {
    use libc::{
        MADV_COLD, MADV_NORMAL, MADV_POPULATE_READ, MADV_POPULATE_WRITE, MADV_RANDOM, MADV_SEQUENTIAL, MADV_WILLNEED,
    };
    let plain = [
        MADV_NORMAL,
        MADV_RANDOM,
        MADV_SEQUENTIAL,
        MADV_WILLNEED,
        MADV_COLD,
        MADV_POPULATE_READ,
        MADV_POPULATE_WRITE,
        libc::MADV_DONTDUMP,
        libc::MADV_DODUMP,
    ];
    if !plain.contains(&advice) {
        check(address, length, "madvise");
    }
}
