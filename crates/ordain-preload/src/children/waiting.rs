//! Waiting for child processes.

use super::{family, groups};
use crate::context::interpose;
use crate::engine::{self, active, engine};
use crate::handles::{self, Child, real_process, shown_process};
use crate::link::control;
use crate::real::c_result;
use crate::sys::{self, Text, call};
use crate::unmodelled::{self, Unmodelled};
use crate::{descriptors, signals, spin};
use core::ffi::{CStr, c_int};
use core::fmt::Write as _;
use core::sync::atomic::Ordering::Relaxed;
use libc::{EINTR, WNOHANG, WNOWAIT, rusage, siginfo_t};
use ordain_wire::Ending;

/// How long the oldest child may do nothing, in milliseconds, before others are looked at; and if nobody wants to wait.
const OLDEST: c_int = 1000;
const AT_ONCE: c_int = 50;
/// No process is meant.
const NOBODY: c_int = c_int::MIN;

interpose! {
    wait => wait_for_any; waitpid => wait_for_process; __waitpid => wait_for_process;
    wait3 => wait_with_usage; wait4 => wait_for_with_usage; waitid => wait_for_state;
}

/// The function of ours that stands for one of the C library in child processes.
pub fn stand_in(name: &[u8]) -> Option<usize> {
    Some(match name {
        b"wait" => wait_for_any as *const () as usize,
        b"waitpid" | b"__waitpid" => wait_for_process as *const () as usize,
        b"wait3" => wait_with_usage as *const () as usize,
        b"wait4" => wait_for_with_usage as *const () as usize,
        b"waitid" => wait_for_state as *const () as usize,
        _ => return None,
    })
}

/// Takes note of processes that still run when the program ends: its children, and theirs.
pub fn note_running() {
    if handles::children().any(|child| !ends_within(child.real, 0))
        || handles::has_made_children() && family::any_runs()
    {
        unmodelled::note(Unmodelled::ChildRuns);
    }
}

/// Waits until a process has ended, at most so many milliseconds. False if it has not, or if the kernel cannot tell.
fn ends_within(real: c_int, milliseconds: c_int) -> bool {
    // SAFETY: a descriptor of our own, for a moment.
    unsafe {
        let fd = call!(libc::SYS_pidfd_open, real, 0);
        if fd < 0 {
            return false;
        }
        let ended = descriptors::ask(fd as c_int, libc::POLLIN, milliseconds) != 0;
        call!(sys::SYS_close, fd);
        ended
    }
}

/// Which real process a wait is for. When children end is not the same in every execution: so a wait for any child is one for the
/// oldest, and one that does not wait gives the child a moment.
fn choose(which: c_int, options: c_int) -> c_int {
    note_ends(which, options);
    let waits = options & (WNOHANG | libc::WUNTRACED | libc::WCONTINUED) == 0;
    if active() && waits {
        return await_end(which).unwrap_or(if which > 0 { real_process(which) } else { NOBODY });
    }
    let limit = if options & WNOHANG != 0 { AT_ONCE } else { OLDEST };
    match which {
        -1 | 0 => handles::children().find(|c| ends_within(c.real, limit)).map_or(which, |c| c.real),
        1.. => {
            let real = real_process(which);
            if options & WNOHANG != 0 {
                ends_within(real, limit);
            }
            real
        }
        _ => which.checked_neg().map_or(NOBODY, |group| -real_process(group)),
    }
}

/// Whether a child is one that `wait` means by a number.
fn is_meant(child: &Child, which: c_int) -> bool {
    match which {
        1.. => child.shown == which,
        -1 | 0 => true,
        _ => which.checked_neg().is_some_and(|group| groups::has_group(child.real, real_process(group))),
    }
}

/// Takes note if it matters when children end. Which of several is first cannot be chosen here: they have run on since they were made, and
/// one may end only because another one has.
fn note_ends(which: c_int, options: c_int) {
    let meant = handles::children().filter(|c| is_meant(c, which)).count();
    if active() && meant > usize::from(options & WNOHANG == 0) {
        unmodelled::note(Unmodelled::ChildEnds);
    }
}

/// Waits until a child has ended that is meant; gives its real number, or nothing if there is none. If it does not end, it may wait for
/// other threads: then these go on.
fn await_end(which: c_int) -> Option<c_int> {
    let meant = |c: &Child| is_meant(c, which);
    let mut patience = OLDEST;
    loop {
        let mut children = handles::children().filter(meant).peekable();
        children.peek()?;
        if let Some(child) = children.find(|c| ends_soon(c.real, patience)) {
            return Some(child.real);
        }
        patience = AT_ONCE;
        if spin::others_can_go() {
            unmodelled::note(Unmodelled::ChildRuns);
            spin::let_others_go();
        }
    }
}

/// Waits until a process has ended, or does nothing for so many milliseconds.
fn ends_soon(real: c_int, patience: c_int) -> bool {
    /// How often to look, in milliseconds.
    const SLICE: c_int = 10;
    let (mut used, mut idle) = (0, 0);
    while idle < patience {
        if ends_within(real, SLICE) {
            return true;
        }
        if control().stuck_child.load(Relaxed) == real {
            let lock = control().address.load(Relaxed);
            engine::crash(Ending::ChildDeadlock, 0, lock, format_args!(""));
        }
        let now = time_used(real);
        if now == used {
            idle += SLICE;
        } else {
            (used, idle) = (now, 0);
            // It gets on.
            engine().beat();
        }
    }
    false
}

/// Processor time of a process and of its children that were waited for, in ticks.
fn time_used(real: c_int) -> u64 {
    let mut path = Text::<32>::new();
    let mut room = [0; 512];
    // It fits: a number has at most ten digits.
    let _ = write!(path, "/proc/{real}/stat\0");
    let Ok(path) = CStr::from_bytes_until_nul(path.bytes()) else { return 0 };
    let length = sys::read_file(path, &mut room);
    // Behind the name, which may hold anything, come state, parent, and ten others that do not matter here.
    let fields = room[..length].rsplit(|c| *c == b')').next().unwrap_or_default();
    let numbers = fields.split(|c| *c == b' ').filter(|field| !field.is_empty()).skip(11).take(4);
    numbers.filter_map(|n| core::str::from_utf8(n).ok()?.parse::<u64>().ok()).sum()
}

/// Waits for a process as `wait4` does; gives what the system call gives. Processor time is not modelled.
pub unsafe fn raw_wait4(which: c_int, status: *mut c_int, options: c_int, usage: *mut rusage) -> isize {
    let real = choose(which, options);
    if real == NOBODY {
        return -libc::ECHILD as isize;
    }
    let mut state: c_int = 0;
    // SAFETY: what the program asks for.
    unsafe {
        let mut result = call!(sys::SYS_wait4, real, &raw mut state, options, 0);
        while result == -(EINTR as isize) && active() {
            // Signals for the program never come from the kernel.
            result = call!(sys::SYS_wait4, real, &raw mut state, options, 0);
        }
        if result <= 0 {
            return result;
        }
        if !status.is_null() {
            *status = state;
        }
        if !usage.is_null() {
            usage.write_bytes(0, 1);
        }
        let shown = shown_process(result as c_int);
        if libc::WIFEXITED(state) || libc::WIFSIGNALED(state) {
            handles::forget_child(result as c_int);
            if active() {
                let exited = libc::WIFEXITED(state);
                let code = if exited { libc::CLD_EXITED } else { libc::CLD_KILLED };
                let status = if exited { libc::WEXITSTATUS(state) } else { libc::WTERMSIG(state) };
                signals::child_ended(result as c_int, code, status);
            }
        }
        shown as isize
    }
}

/// Waits for a process as `waitid` does; gives what the system call gives.
pub unsafe fn raw_waitid(kind: c_int, which: c_int, info: *mut siginfo_t, options: c_int, usage: *mut rusage) -> isize {
    const ANY: c_int = libc::P_ALL as c_int;
    const ONE: c_int = libc::P_PID as c_int;
    const GROUP: c_int = libc::P_PGID as c_int;
    if options & (libc::WEXITED | libc::WSTOPPED | libc::WCONTINUED) == 0 {
        return -libc::EINVAL as isize;
    }
    let ends = options & (libc::WSTOPPED | libc::WCONTINUED) == 0;
    let (kind, real) = match kind {
        ANY if ends => match choose(-1, options) {
            NOBODY => return -libc::ECHILD as isize,
            -1 => (ANY, 0),
            real => (ONE, real),
        },
        ONE => (ONE, choose(which, if ends { options } else { 0 })),
        GROUP => (GROUP, if which > 0 { real_process(which) } else { which }),
        _ => (kind, which),
    };
    // SAFETY: what the program asks for.
    unsafe {
        let mut own: siginfo_t = core::mem::zeroed();
        let mut result = call!(libc::SYS_waitid, kind, real, &raw mut own, options, 0);
        while result == -(EINTR as isize) && active() {
            result = call!(libc::SYS_waitid, kind, real, &raw mut own, options, 0);
        }
        if result < 0 {
            return result;
        }
        // Number, error and code; then process, user, status, and times of the processor.
        let words = (&raw mut own).cast::<c_int>();
        let (child, code) = (words.add(4).read(), words.add(2).read());
        if child > 0 {
            words.add(4).write(shown_process(child));
            (&raw mut own).cast::<u64>().add(4).write_bytes(0, 2);
            if options & WNOWAIT == 0 && matches!(code, libc::CLD_EXITED | libc::CLD_KILLED | libc::CLD_DUMPED) {
                handles::forget_child(child);
                if active() {
                    signals::child_ended(child, code, words.add(6).read());
                }
            }
        }
        if !info.is_null() {
            *info = own;
        }
        if !usage.is_null() {
            usage.write_bytes(0, 1);
        }
        result
    }
}

unsafe extern "C" fn wait_for_any(status: *mut c_int) -> c_int {
    // SAFETY: the program's arguments.
    c_result(unsafe { raw_wait4(-1, status, 0, core::ptr::null_mut()) }) as c_int
}

unsafe extern "C" fn wait_for_process(which: c_int, status: *mut c_int, options: c_int) -> c_int {
    // SAFETY: the program's arguments.
    c_result(unsafe { raw_wait4(which, status, options, core::ptr::null_mut()) }) as c_int
}

unsafe extern "C" fn wait_with_usage(status: *mut c_int, options: c_int, usage: *mut rusage) -> c_int {
    // SAFETY: the program's arguments.
    c_result(unsafe { raw_wait4(-1, status, options, usage) }) as c_int
}

unsafe extern "C" fn wait_for_with_usage(
    which: c_int,
    status: *mut c_int,
    options: c_int,
    usage: *mut rusage,
) -> c_int {
    // SAFETY: the program's arguments.
    c_result(unsafe { raw_wait4(which, status, options, usage) }) as c_int
}

unsafe extern "C" fn wait_for_state(kind: c_int, which: c_int, info: *mut siginfo_t, options: c_int) -> c_int {
    // SAFETY: the program's arguments.
    c_result(unsafe { raw_waitid(kind, which, info, options, core::ptr::null_mut()) }) as c_int
}
