//! The filter with which the kernel sends system calls back to the runtime, wherever they are made.
//!
//! In snapshot mode everything comes back that may leave something behind. In the other modes processes end, and children that become
//! other programs inherit the filter; so there is none, but on kernels that cannot send calls back without one (see `dispatch`), and
//! there only what is modelled comes back.

mod program;

pub use program::ARCHITECTURE;

use crate::image;
use crate::inherited;
use crate::sys::{self, call};
use libc::sock_fprog;
use program::Limits;

/// Asks the kernel to send calls back, but for our own: in snapshot mode all that matter, otherwise those that are modelled.
pub fn install(whole: bool) {
    // SAFETY: asks where the heap ends.
    let heap_end = || unsafe { call!(libc::SYS_brk, 0) } as u64;
    let limits = whole.then(|| Limits { inherited: inherited::end() as u32, heap_end: heap_end() });
    let Some(mut code) = program::make(image::own().text, limits.as_ref()) else { return };
    let program = sock_fprog { len: code.len() as u16, filter: code.as_mut_ptr() };
    // SAFETY: a filter that only sends calls back to us, or lets them fail.
    unsafe {
        call!(sys::SYS_prctl, libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        call!(sys::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, 0, &raw const program);
    }
}
