//! Opening files: only devices that give random bytes matter.

use super::{Entry, Kind, descriptors, insert};
use crate::context::interpose;
use crate::process::note_descriptor;
use crate::real::c_result;
use crate::sys::{self, call};
use core::ffi::{CStr, c_char, c_int, c_uint};

interpose! {
    open => open_file; open64 => open_file; __open => open_file; __open64 => open_file;
    __open_2 => open_file; __open64_2 => open_file;
    openat => open_at; openat64 => open_at; __openat_2 => open_at; __openat64_2 => open_at;
}

unsafe extern "C" fn open_file(path: *const c_char, flags: c_int, mode: c_uint) -> c_int {
    // SAFETY: what the program asks for.
    unsafe { open_at(libc::AT_FDCWD, path, flags, mode) }
}

unsafe extern "C" fn open_at(directory: c_int, path: *const c_char, flags: c_int, mode: c_uint) -> c_int {
    // SAFETY: what the program asks for.
    unsafe {
        let fd = c_result(call!(libc::SYS_openat, directory, path, flags, mode)) as c_int;
        note_descriptor(fd);
        if fd >= 0 && matches!(CStr::from_ptr(path).to_bytes(), b"/dev/urandom" | b"/dev/random") {
            insert(fd, Entry::new(Kind::Random));
        }
        fd
    }
}

/// Another descriptor that came from the same opening.
pub(super) fn same_opening(fd: c_int) -> Option<c_int> {
    let known = descriptors().entries.iter().enumerate().filter(|(other, e)| e.is_some() && *other as c_int != fd);
    known.map(|(other, _)| other as c_int).find(|other| is_same_opening(fd, *other))
}

/// Whether two descriptors came from one opening. If the kernel cannot tell, they did not.
pub(super) fn is_same_opening(a: c_int, b: c_int) -> bool {
    // SAFETY: asks about descriptors of this process.
    unsafe {
        let process = call!(sys::SYS_getpid);
        a == b || call!(libc::SYS_kcmp, process, process, 0, a, b) == 0
    }
}
