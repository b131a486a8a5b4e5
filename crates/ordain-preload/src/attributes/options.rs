//! Options of `prctl` that nothing depends on but who asks for them.

use super::{change, of, state};
use crate::engine::engine;
use crate::sys::{self, call};
use core::ffi::c_int;

/// Options of the process: as main begins, and now.
pub(super) struct Options {
    first: Values,
    now: Values,
}

#[derive(Clone, Copy)]
struct Values {
    dumpable: usize,
    /// Adopts orphans among its descendants.
    adopts: usize,
}

impl Options {
    /// Those of this process. From now on it adopts orphans, so that none is left behind; the program is told what it had before.
    pub(super) fn of_process() -> Self {
        let mut adopts: c_int = 0;
        // SAFETY: asks about this process, and changes nothing that others inherit.
        let dumpable = unsafe {
            call!(sys::SYS_prctl, libc::PR_GET_CHILD_SUBREAPER, &raw mut adopts, 0, 0, 0);
            call!(sys::SYS_prctl, libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
            call!(sys::SYS_prctl, libc::PR_GET_DUMPABLE, 0, 0, 0, 0) as usize
        };
        let first = Values { dumpable, adopts: adopts as usize };
        Self { first, now: first }
    }

    /// Begins an execution.
    pub(super) fn begin(&mut self) {
        self.now = self.first;
    }
}

const INVALID: isize = -(libc::EINVAL as isize);

/// Writes a value where the program wants it.
fn tell(at: usize, value: usize) -> isize {
    if at == 0 {
        return -(libc::EFAULT as isize);
    }
    // SAFETY: the program's variable; one that is not there crashes, where the kernel would fail.
    unsafe { *(at as *mut c_int) = value as c_int };
    0
}

/// Answers `prctl`; `None` for options that are not kept here.
pub(super) fn answer([option, a, b, c, d, _]: [usize; 6]) -> Option<isize> {
    let me = engine().current;
    let now = &mut state().options.now;
    Some(match option as c_int {
        libc::PR_SET_NAME if a != 0 => {
            change(me, |attributes| attributes.name = read_name(a as *const u8));
            0
        }
        libc::PR_GET_NAME if a != 0 => {
            // SAFETY: the program has room for it.
            unsafe { *(a as *mut [u8; 16]) = of(me).name };
            0
        }
        libc::PR_SET_DUMPABLE | libc::PR_SET_KEEPCAPS if a > 1 => INVALID,
        libc::PR_SET_DUMPABLE => {
            now.dumpable = a;
            0
        }
        libc::PR_GET_DUMPABLE => now.dumpable as isize,
        libc::PR_SET_KEEPCAPS => {
            change(me, |attributes| attributes.keeps_capabilities = a);
            0
        }
        libc::PR_GET_KEEPCAPS => of(me).keeps_capabilities as isize,
        libc::PR_SET_CHILD_SUBREAPER => {
            now.adopts = usize::from(a != 0);
            0
        }
        libc::PR_GET_CHILD_SUBREAPER => tell(a, now.adopts),
        libc::PR_SET_PDEATHSIG if a > 64 => INVALID,
        libc::PR_SET_PDEATHSIG => {
            change(me, |attributes| attributes.death_signal = a);
            0
        }
        libc::PR_GET_PDEATHSIG => tell(a, of(me).death_signal),
        libc::PR_SET_NO_NEW_PRIVS if a != 1 || [b, c, d] != [0; 3] => INVALID,
        libc::PR_SET_NO_NEW_PRIVS => {
            change(me, |attributes| attributes.no_new_privileges = 1);
            0
        }
        libc::PR_GET_NO_NEW_PRIVS if [a, b, c, d] != [0; 4] => INVALID,
        libc::PR_GET_NO_NEW_PRIVS => of(me).no_new_privileges as isize,
        libc::PR_SET_TSC if !(1..=2).contains(&a) => INVALID,
        libc::PR_SET_TSC => {
            change(me, |attributes| attributes.time = a);
            0
        }
        libc::PR_GET_TSC => tell(a, of(me).time),
        libc::PR_SET_TIMERSLACK => {
            let usual = state().first.slack;
            change(me, |attributes| attributes.slack = if a == 0 { usual } else { a });
            0
        }
        libc::PR_GET_TIMERSLACK => of(me).slack as isize,
        _ => return None,
    })
}

/// Up to fifteen characters of a name, and a zero.
pub(super) fn read_name(from: *const u8) -> [u8; 16] {
    let mut name = [0; 16];
    for (i, place) in name[..15].iter_mut().enumerate() {
        // SAFETY: the program's string, which ends with a zero.
        *place = unsafe { from.add(i).read() };
        if *place == 0 {
            break;
        }
    }
    name
}

/// Whether an option that is not kept here leaves nothing behind.
pub fn is_harmless(option: c_int) -> bool {
    use libc::{
        PR_CAPBSET_READ, PR_GET_ENDIAN, PR_GET_FPEMU, PR_GET_FPEXC, PR_GET_SECCOMP, PR_GET_SECUREBITS,
        PR_GET_THP_DISABLE, PR_GET_TID_ADDRESS, PR_GET_TIMING, PR_GET_UNALIGN, PR_MCE_KILL_GET,
        PR_TASK_PERF_EVENTS_DISABLE, PR_TASK_PERF_EVENTS_ENABLE,
    };
    /// Speculation, tagged addresses, flushing, memory that is writable and executable, and auxiliary values.
    const OTHERS: [c_int; 7] = [52, 56, 58, 66, 0x4155_5856, 64, 51];
    matches!(
        option,
        PR_CAPBSET_READ
            | PR_GET_ENDIAN
            | PR_GET_FPEMU
            | PR_GET_FPEXC
            | PR_GET_SECCOMP
            | PR_GET_SECUREBITS
            | PR_GET_THP_DISABLE
            | PR_GET_TID_ADDRESS
            | PR_GET_TIMING
            | PR_GET_UNALIGN
            | PR_MCE_KILL_GET
            | PR_TASK_PERF_EVENTS_DISABLE
            | PR_TASK_PERF_EVENTS_ENABLE
    ) || OTHERS.contains(&option)
}
