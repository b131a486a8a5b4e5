//! The processes that an execution has made and that still run, whoever their parents are by now.
//!
//! A process whose parent ends comes to the one that stands for init: the program itself in exec mode, its parent in fork mode. So
//! everything that still runs is below one of these two.

use crate::engine::engine;
use crate::sys::{self, Text, call};
use core::ffi::{CStr, c_int};
use core::fmt::Write as _;
use ordain_wire::Mode;

/// More are not looked at.
const MOST: usize = 256;

/// The processes of an execution, but for the program itself.
struct Family {
    members: [c_int; MOST],
    count: usize,
}

impl Family {
    /// All that there are, also those that have ended and were not waited for.
    fn find() -> Self {
        let mut family = Self { members: [0; MOST], count: 0 };
        // SAFETY: asks for numbers.
        let (own, parent) = unsafe { (call!(sys::SYS_getpid) as c_int, call!(libc::SYS_getppid) as c_int) };
        family.add_children(own, own);
        if engine().mode == Mode::Fork {
            family.add_children(parent, own);
        }
        let mut at = 0;
        while at < family.count {
            family.add_children(family.members[at], own);
            at += 1;
        }
        family
    }

    fn add_children(&mut self, of: c_int, but: c_int) {
        let mut path = Text::<64>::new();
        let mut room = [0; 4096];
        // It fits: a number has at most ten digits.
        let _ = write!(path, "/proc/{of}/task/{of}/children\0");
        let Ok(path) = CStr::from_bytes_until_nul(path.bytes()) else { return };
        let length = sys::read_file(path, &mut room);
        for number in numbers(&room[..length]).filter(|number| *number as c_int != but) {
            if self.count < MOST {
                self.members[self.count] = number as c_int;
                self.count += 1;
            }
        }
    }

    fn members(&self) -> &[c_int] {
        &self.members[..self.count]
    }
}

fn numbers(text: &[u8]) -> impl Iterator<Item = u64> {
    let words = text.split(|c| *c == b' ').filter(|word| !word.is_empty());
    words.filter_map(|word| core::str::from_utf8(word).ok()?.parse().ok())
}

/// Calls `f` with what the kernel says of a process behind its name: its state, its parent, …
fn with_fields<R>(process: c_int, f: impl FnOnce(&[u8]) -> R) -> Option<R> {
    let mut path = Text::<32>::new();
    let mut room = [0; 512];
    let _ = write!(path, "/proc/{process}/stat\0");
    let length = sys::read_file(CStr::from_bytes_until_nul(path.bytes()).ok()?, &mut room);
    // The name may hold anything.
    let behind = room[..length].iter().rposition(|c| *c == b')')? + 1;
    Some(f(&room[behind..length]))
}

fn runs(process: c_int) -> bool {
    with_fields(process, |fields| !matches!(fields.get(1), None | Some(b'Z' | b'X'))).unwrap_or(false)
}

/// Whether any process that the execution has made still runs.
pub fn any_runs() -> bool {
    Family::find().members().iter().any(|process| runs(*process))
}

/// Processor time that all of them have used, in ticks.
pub fn time_used() -> u64 {
    Family::find().members().iter().map(|process| time_of(*process)).sum()
}

/// Processor time of a process and of its children that were waited for, in ticks.
fn time_of(process: c_int) -> u64 {
    // State, parent, and nine others that do not matter here.
    let sum = |fields: &[u8]| {
        let words = fields.split(|c| *c == b' ').filter(|word| !word.is_empty()).skip(11).take(4);
        words.filter_map(|word| core::str::from_utf8(word).ok()?.parse::<u64>().ok()).sum()
    };
    with_fields(process, sum).unwrap_or(0)
}

/// Ends what an execution has left running below this process, to which whatever lost its parent comes.
pub fn end_all() {
    /// Who makes processes faster than they are ended is not waited for.
    const MOST_ROUNDS: usize = 1000;
    for _ in 0..MOST_ROUNDS {
        let mut room = [0; 4096];
        // SAFETY: asks about children, and ends those that are there.
        unsafe {
            let any = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
            if call!(libc::SYS_waitid, libc::P_ALL, 0, 0, any, 0) < 0 {
                return;
            }
            let length = sys::read_file(c"/proc/thread-self/children", &mut room);
            if length == 0 {
                return;
            }
            for child in numbers(&room[..length]).filter(|child| *child > 1) {
                call!(libc::SYS_kill, child, libc::SIGKILL);
            }
            call!(sys::SYS_wait4, -1i32, 0, libc::__WALL, 0);
        }
    }
}
