//! System calls that the C library makes by itself, in `fopen` or `opendir`: the kernel sends them back, and those on files are followed.
//!
//! The kernel can send back every system call that is not made from a given range of code, as long as a byte says so (syscall user
//! dispatch, Linux 5.11). It does so for this thread alone, not for children, so that no program is disturbed that the
//! program starts. Where the kernel cannot, streams and the like are not followed, and the verdict says so.

use crate::image;
use crate::sys::{self, call};
use crate::unmodelled::{self, Unmodelled};

const PR_SET_SYSCALL_USER_DISPATCH: i32 = 59;
const ON: usize = 1;

/// Read by the kernel at each system call: 1 if it is to be sent back.
static mut SELECTOR: u8 = 0;
/// Whether the kernel was asked to, and does.
static mut INSTALLED: bool = false;

/// Asks the kernel to send system calls back, but for our own.
pub fn install() {
    let (low, high) = image::own().text;
    // SAFETY: the byte lives as long as the process.
    let result =
        unsafe { call!(sys::SYS_prctl, PR_SET_SYSCALL_USER_DISPATCH, ON, low, high - low, &raw const SELECTOR) };
    if result < 0 {
        unmodelled::note(Unmodelled::Unseen);
    }
    // SAFETY: only the carrier comes here.
    unsafe { INSTALLED = result == 0 };
}

/// Whether the kernel sends back what the C library does by itself.
pub fn is_on() -> bool {
    // SAFETY: only the carrier comes here.
    unsafe { INSTALLED }
}

/// Whether the kernel can send system calls back by itself, without a filter.
pub fn is_offered() -> bool {
    const OFF: usize = 0;
    // SAFETY: turns off what is not on.
    unsafe { call!(sys::SYS_prctl, PR_SET_SYSCALL_USER_DISPATCH, OFF, 0, 0, 0) == 0 }
}

/// Says whether system calls are sent back.
pub fn select(back: bool) {
    // SAFETY: only the carrier comes here.
    unsafe { (&raw mut SELECTOR).write_volatile(back.into()) };
}

/// Calls something of the C library that is the runtime's business alone, or that makes children.
pub fn undisturbed<T>(f: impl FnOnce() -> T) -> T {
    // SAFETY: only the carrier comes here.
    let before = unsafe { (&raw const SELECTOR).read_volatile() };
    select(false);
    let result = f();
    select(before != 0);
    result
}
