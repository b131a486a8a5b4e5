//! `SIGCHLD`: children that end. When that is, is not known: so for each child whose end somebody may notice there is a thread of the model
//! that waits for it, and its step may come anywhere. Who is the first to wait for the child hears of the signal before.

use super::{Signal, To, bit, engine, send_if, signals};
use crate::descriptors;
use crate::engine::step;
use crate::sys::call;
use crate::threads;
use core::ffi::{c_int, c_void};
use libc::SIGCHLD;
use ordain_model::Operation;

/// How long a child may take to end, in milliseconds, before it is taken to wait for the program.
const MOST: c_int = 1000;

/// A child whose end somebody may notice.
pub(super) struct Expected {
    shown: c_int,
    real: c_int,
    /// The signal was sent.
    told: bool,
}

/// The number of the newest such child that the kernel knows by a number.
fn find(real: c_int) -> Option<usize> {
    signals().children.iter().rposition(|c| c.real == real)
}

/// The program has a new child.
pub fn expect_child(shown: c_int, real: c_int) {
    let blocked = engine().slots[engine().current].mask & bit(SIGCHLD) != 0;
    if !super::is_listening() || super::is_ignored(SIGCHLD) && !blocked {
        return;
    }
    signals().children.push(Expected { shown, real, told: false });
    let number = signals().children.len() - 1;
    // SAFETY: a function of our own, which takes a number.
    if unsafe { threads::spawn_hidden(await_end, number as *mut c_void) } != 0 {
        engine::refuse(format_args!("there is no memory for the thread that waits for a child process"));
    }
}

/// A child of this number has ended as told, and will not be waited for again.
pub fn child_ended(real: c_int, code: c_int, status: c_int) {
    if let Some(number) = find(real) {
        tell(number, code, status);
    }
}

/// Sends the signal, unless somebody else has. Whether that is so is known only when its turn has come.
fn tell(number: usize, code: c_int, status: c_int) {
    let process = signals().children[number].shown;
    let signal = Signal { number: SIGCHLD, code, value: status as u32 as usize, process };
    send_if(signal, To::Process, || !core::mem::replace(&mut signals().children[number].told, true));
}

/// What the thread that waits for a child does.
unsafe extern "C" fn await_end(number: *mut c_void) -> *mut c_void {
    let number = number as usize;
    let real = signals().children[number].real;
    loop {
        step(Operation::Sleep);
        // SAFETY: a descriptor of our own, for a moment; and what the kernel knows of the child, which stays to be waited for.
        unsafe {
            let fd = call!(libc::SYS_pidfd_open, real, 0);
            if fd >= 0 {
                let ended = descriptors::ask(fd as c_int, libc::POLLIN, MOST) != 0;
                call!(crate::sys::SYS_close, fd);
                if !ended {
                    // It waits for the program.
                    continue;
                }
            }
            let mut info = [0 as c_int; 32];
            let options = libc::WEXITED | libc::WNOWAIT | libc::WNOHANG;
            call!(libc::SYS_waitid, libc::P_PID, real, info.as_mut_ptr(), options, 0);
            // Number, error and code; then process, user and status.
            tell(number, info[2], info[6]);
            return core::ptr::null_mut();
        }
    }
}
