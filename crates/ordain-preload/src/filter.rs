//! The filter with which the kernel sends system calls back to the runtime, wherever they are made: made from the table of all calls.
//!
//! Numbers come first in it: of calls that are allowed by their number alone the kernel remembers that, and does not run the filter for
//! them. The others are free to the runtime's own code, then arguments tell whether they matter. In snapshot mode everything comes
//! back that may leave something behind. In the other modes processes end, and children that become other programs inherit the
//! filter; so there is none, but on kernels that cannot send calls back without one (see `dispatch`), and there only what is modelled
//! comes back.

use crate::image;
use crate::inherited;
use crate::sys::{self, call};
use alloc::vec::Vec;
use libc::{
    SYS_brk, SYS_close, SYS_fcntl, SYS_futex, SYS_ioctl, SYS_mmap, SYS_prlimit64, SYS_rt_sigaction, SYS_sched_yield,
};
use libc::{sock_filter, sock_fprog};
use ordain_wire::{Class, SYSTEM_CALLS};

/// Numbers from here on are not known.
const KNOWN: usize = 512;
/// How the kernel names x86-64.
pub const ARCHITECTURE: u32 = 0xc000_003e;
/// Requests of `ioctl` that change a descriptor or the process, not a device.
const REQUESTS: [u32; 6] = [
    libc::FIONBIO as u32,
    libc::FIOASYNC as u32,
    libc::FIOCLEX as u32,
    libc::FIONCLEX as u32,
    libc::TIOCSCTTY as u32,
    libc::TIOCNOTTY as u32,
];

const LOAD: u32 = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
const RETURN: u32 = libc::BPF_RET | libc::BPF_K;
const GO: u32 = libc::BPF_JMP | libc::BPF_JA;
const IF_EQUAL: u32 = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
const IF_AT_LEAST: u32 = libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K;
const IF_ABOVE: u32 = libc::BPF_JMP | libc::BPF_JGT | libc::BPF_K;
const IF_ANY: u32 = libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K;

const ALLOW: u32 = libc::SECCOMP_RET_ALLOW;
const TRAP: u32 = libc::SECCOMP_RET_TRAP;
const ABSENT: u32 = libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32;

/// Where the kernel tells the number, the architecture and the instruction pointer.
const NUMBER: u32 = 0;
const ARCHITECTURE_AT: u32 = 4;
const POINTER: u32 = 8;

/// Where the lower half of an argument is; the higher half follows.
const fn argument(n: u32) -> u32 {
    16 + 8 * n
}

/// What a number alone decides.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Decision {
    Allow,
    Absent,
    Look,
}

struct Filter {
    code: Vec<sock_filter>,
    /// Jumps to where the filter looks closer.
    looks: Vec<usize>,
}

impl Filter {
    fn push(&mut self, code: u32, k: u32) {
        self.code.push(sock_filter { code: code as u16, jt: 0, jf: 0, k });
    }

    /// Skips `no` instructions if the condition does not hold.
    fn unless(&mut self, code: u32, k: u32, no: u8) {
        self.code.push(sock_filter { code: code as u16, jt: 0, jf: no, k });
    }

    /// Decides by number, in ranges that begin with the given ones.
    fn decide(&mut self, ranges: &[(u32, Decision)]) {
        if let [(_, decision)] = ranges {
            match decision {
                Decision::Allow => self.push(RETURN, ALLOW),
                Decision::Absent => self.push(RETURN, ABSENT),
                Decision::Look => {
                    self.looks.push(self.code.len());
                    self.push(GO, 0);
                }
            }
            return;
        }
        let (low, high) = ranges.split_at(ranges.len() / 2);
        let at = self.code.len();
        self.push(IF_AT_LEAST, high[0].0);
        self.decide(low);
        // A few hundred ranges at most: half of them fit into a jump.
        self.code[at].jt = (self.code.len() - at - 1) as u8;
        self.decide(high);
    }

    /// Allows calls from a range of addresses.
    fn allow_from(&mut self, (low, high): (u64, u64)) {
        self.push(LOAD, POINTER + 4);
        self.unless(IF_EQUAL, (low >> 32) as u32, 4);
        self.push(LOAD, POINTER);
        self.unless(IF_AT_LEAST, low as u32, 2);
        // Skips the answer if it is above.
        self.code.push(sock_filter { code: IF_ABOVE as u16, jt: 1, jf: 0, k: high as u32 });
        self.push(RETURN, ALLOW);
    }

    /// What arguments decide about one call. All paths through `rule` return.
    fn rule(&mut self, number: i64, rule: impl FnOnce(&mut Self)) {
        let at = self.code.len();
        self.unless(IF_EQUAL, number as u32, 0);
        rule(self);
        self.code[at].jf = (self.code.len() - at - 1) as u8;
    }

    fn one_of(&mut self, argument_number: u32, values: &[u32], inside: u32, outside: u32) {
        self.push(LOAD, argument(argument_number));
        for value in values {
            self.unless(IF_EQUAL, *value, 1);
            self.push(RETURN, inside);
        }
        self.push(RETURN, outside);
    }

    /// Allows it if an argument is zero.
    fn zero(&mut self, argument_number: u32) {
        self.push(LOAD, argument(argument_number));
        self.unless(IF_EQUAL, 0, 3);
        self.push(LOAD, argument(argument_number) + 4);
        self.unless(IF_EQUAL, 0, 1);
        self.push(RETURN, ALLOW);
    }

    fn rules(&mut self) {
        self.push(LOAD, NUMBER);
        // Over memory that is there already.
        self.rule(SYS_mmap, |f| {
            f.push(LOAD, argument(3));
            f.unless(IF_ANY, libc::MAP_FIXED as u32, 1);
            f.push(RETURN, TRAP);
            f.push(RETURN, ALLOW);
        });
        // Descriptors that were open when main began.
        self.rule(SYS_close, |f| {
            f.push(LOAD, argument(0));
            f.unless(IF_AT_LEAST, inherited::end() as u32, 1);
            f.push(RETURN, ALLOW);
            f.push(RETURN, TRAP);
        });
        self.rule(SYS_fcntl, |f| f.one_of(1, &[libc::F_GETFD as u32, libc::F_GETFL as u32], ALLOW, TRAP));
        self.rule(SYS_ioctl, |f| f.one_of(1, &REQUESTS, TRAP, ALLOW));
        self.rule(SYS_prlimit64, |f| {
            f.zero(2);
            f.push(RETURN, TRAP);
        });
        self.rule(SYS_rt_sigaction, |f| {
            f.zero(1);
            f.push(RETURN, TRAP);
        });
        // Below where the heap ended when main began.
        // SAFETY: asks where the heap ends.
        let end = unsafe { call!(SYS_brk, 0) } as u64;
        self.rule(SYS_brk, |f| {
            f.zero(0);
            f.push(LOAD, argument(0) + 4);
            f.unless(IF_ABOVE, (end >> 32) as u32, 1);
            f.push(RETURN, ALLOW);
            f.unless(IF_EQUAL, (end >> 32) as u32, 3);
            f.push(LOAD, argument(0));
            f.unless(IF_AT_LEAST, end as u32, 1);
            f.push(RETURN, ALLOW);
            f.push(RETURN, TRAP);
        });
    }
}

/// What numbers decide, as ranges.
fn ranges(whole: bool) -> Vec<(u32, Decision)> {
    let unknown = if whole { Decision::Look } else { Decision::Allow };
    let mut decisions = [unknown; KNOWN];
    for (class, calls) in SYSTEM_CALLS {
        for (number, _) in *calls {
            decisions[usize::from(*number)] = match class {
                Class::Absent => Decision::Absent,
                _ if [SYS_futex, SYS_sched_yield].contains(&i64::from(*number)) => Decision::Look,
                _ if class.is_free() || !whole => Decision::Allow,
                _ => Decision::Look,
            };
        }
    }
    let mut ranges: Vec<(u32, Decision)> = Vec::new();
    for (number, decision) in decisions.into_iter().chain([unknown]).enumerate() {
        if ranges.last().is_none_or(|(_, last)| *last != decision) {
            ranges.push((number as u32, decision));
        }
    }
    ranges
}

/// Asks the kernel to send calls back, but for our own: in snapshot mode all that matter, otherwise those that are modelled.
pub fn install(whole: bool) {
    let text = image::own().text;
    if text.0 >> 32 != text.1 >> 32 {
        // Cannot be told apart with 32-bit comparisons; such a mapping is as good as impossible.
        return;
    }
    let mut filter = Filter { code: Vec::with_capacity(1024), looks: Vec::with_capacity(256) };
    filter.push(LOAD, ARCHITECTURE_AT);
    filter.unless(IF_EQUAL, ARCHITECTURE, 1);
    filter.push(GO, 1);
    filter.push(RETURN, if whole { TRAP } else { ALLOW });
    filter.push(LOAD, NUMBER);
    filter.decide(&ranges(whole));
    let closer = filter.code.len();
    for at in &filter.looks {
        filter.code[*at].k = (closer - at - 1) as u32;
    }
    filter.allow_from(text);
    if whole {
        filter.rules();
    }
    filter.push(RETURN, TRAP);
    let program = sock_fprog { len: filter.code.len() as u16, filter: filter.code.as_mut_ptr() };
    // SAFETY: a filter that only sends calls back to us, or lets them fail.
    unsafe {
        call!(sys::SYS_prctl, libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        call!(sys::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, 0, &raw const program);
    }
}
