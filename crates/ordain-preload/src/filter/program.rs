//! The program of the filter, made from the table of all system calls.
//!
//! Numbers come first in it: of calls that are allowed by their number alone the kernel remembers that, and does not run the filter for
//! them. The others are free to the runtime's own code, then arguments tell whether they matter.

use alloc::vec::Vec;
use libc::{
    SYS_brk, SYS_close, SYS_fcntl, SYS_futex, SYS_ioctl, SYS_mmap, SYS_prlimit64, SYS_rt_sigaction, SYS_sched_yield,
    sock_filter,
};
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

/// The kernel makes the call.
const ALLOW: u32 = libc::SECCOMP_RET_ALLOW;
/// It sends the call back.
const TRAP: u32 = libc::SECCOMP_RET_TRAP;
/// The call fails, as if the kernel did not know it.
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

    fn rules(&mut self, limits: &Limits) {
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
            f.unless(IF_AT_LEAST, limits.inherited, 1);
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
        let end = limits.heap_end;
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

/// What was there when main began, and is not to be touched.
pub struct Limits {
    /// The least descriptor that was not open.
    pub inherited: u32,
    /// Where the heap ended.
    pub heap_end: u64,
}

/// The program that sends calls back, but for those from the runtime's own code between two addresses: with `limits` all that matter, else
/// those that are modelled. `None` if the code lies where 32-bit comparisons cannot tell it from other code, which is as good as impossible.
pub fn make(own_code: (u64, u64), limits: Option<&Limits>) -> Option<Vec<sock_filter>> {
    if own_code.0 >> 32 != own_code.1 >> 32 {
        return None;
    }
    let mut filter = Filter { code: Vec::with_capacity(1024), looks: Vec::with_capacity(256) };
    filter.push(LOAD, ARCHITECTURE_AT);
    filter.unless(IF_EQUAL, ARCHITECTURE, 1);
    filter.push(GO, 1);
    filter.push(RETURN, if limits.is_some() { TRAP } else { ALLOW });
    filter.push(LOAD, NUMBER);
    filter.decide(&ranges(limits.is_some()));
    let closer = filter.code.len();
    for at in &filter.looks {
        filter.code[*at].k = (closer - at - 1) as u32;
    }
    filter.allow_from(own_code);
    if let Some(limits) = limits {
        filter.rules(limits);
    }
    filter.push(RETURN, TRAP);
    Some(filter.code)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: (u64, u64) = (0x7fff_1000_0000, 0x7fff_1004_0000);
    const PROGRAMS: u64 = 0x5555_0000_0000;
    const LIMITS: Limits = Limits { inherited: 3, heap_end: 0x1_2345_6000 };

    fn snapshot() -> Vec<sock_filter> {
        make(OWN, Some(&LIMITS)).expect("its code is in one piece")
    }

    /// What the kernel does with a call, by the rules of classic BPF.
    fn decide(filter: &[sock_filter], number: i64, from: u64, arguments: [u64; 6]) -> u32 {
        let mut data = vec![number as u32, ARCHITECTURE, from as u32, (from >> 32) as u32];
        data.extend(arguments.iter().flat_map(|a| [*a as u32, (*a >> 32) as u32]));
        decide_about(filter, &data)
    }

    fn decide_about(filter: &[sock_filter], data: &[u32]) -> u32 {
        let (mut at, mut loaded) = (0, 0);
        loop {
            let sock_filter { code, jt, jf, k } = filter[at];
            let jump = |holds: bool| 1 + usize::from(if holds { jt } else { jf });
            at += match u32::from(code) {
                LOAD => {
                    loaded = data[k as usize / 4];
                    1
                }
                GO => 1 + k as usize,
                IF_EQUAL => jump(loaded == k),
                IF_AT_LEAST => jump(loaded >= k),
                IF_ABOVE => jump(loaded > k),
                IF_ANY => jump(loaded & k != 0),
                RETURN => return k,
                other => panic!("unknown instruction {other:#x}"),
            };
        }
    }

    /// Each call of the table is treated as its class says.
    #[test]
    fn numbers_decide_as_the_table_says() {
        let (whole, modelled) = (snapshot(), make(OWN, None).expect("its code is in one piece"));
        let with_rules = [SYS_mmap, SYS_close, SYS_fcntl, SYS_ioctl, SYS_prlimit64, SYS_rt_sigaction, SYS_brk];
        for (class, calls) in SYSTEM_CALLS {
            for (number, name) in *calls {
                let number = i64::from(*number);
                let is_step = [SYS_futex, SYS_sched_yield].contains(&number);
                let absent = matches!(class, Class::Absent);
                let expected = if absent {
                    ABSENT
                } else if is_step {
                    TRAP
                } else {
                    ALLOW
                };
                assert_eq!(decide(&modelled, number, PROGRAMS, [0; 6]), expected, "{name}");
                if !with_rules.contains(&number) {
                    let expected = if !absent && !class.is_free() { TRAP } else { expected };
                    assert_eq!(decide(&whole, number, PROGRAMS, [0; 6]), expected, "{name}");
                }
                // The runtime's own calls are made, but for those that no kernel may know.
                let expected = if absent { ABSENT } else { ALLOW };
                assert_eq!(decide(&whole, number, OWN.0, [0; 6]), expected, "{name}");
            }
        }
    }

    #[test]
    fn calls_that_are_not_known_come_back_in_snapshot_mode() {
        for number in [470, KNOWN as i64 - 1, KNOWN as i64, 100_000] {
            if SYSTEM_CALLS.iter().any(|(_, calls)| calls.iter().any(|(known, _)| i64::from(*known) == number)) {
                continue;
            }
            assert_eq!(decide(&snapshot(), number, PROGRAMS, [0; 6]), TRAP, "{number}");
            assert_eq!(decide(&make(OWN, None).expect("one piece"), number, PROGRAMS, [0; 6]), ALLOW, "{number}");
        }
    }

    #[test]
    fn own_code_is_told_by_its_address() {
        let from = |address| decide(&snapshot(), SYS_futex, address, [0; 6]);
        assert_eq!([OWN.0, OWN.0 + 1, OWN.1].map(from), [ALLOW; 3]);
        assert_eq!([OWN.0 - 1, OWN.1 + 1, OWN.0 - (1 << 32), OWN.0 + (1 << 32), 0].map(from), [TRAP; 5]);
        assert!(make((0xffff_ffff, 0x1_0000_0001), Some(&LIMITS)).is_none());
    }

    #[test]
    fn other_architectures_come_back_in_snapshot_mode() {
        let mut data = vec![0; 16];
        data[1] = 0x4000_0003;
        assert_eq!(decide_about(&snapshot(), &data), TRAP);
        assert_eq!(decide_about(&make(OWN, None).expect("one piece"), &data), ALLOW);
    }

    #[test]
    fn arguments_tell_what_matters() {
        let call = |number, arguments| decide(&snapshot(), number, PROGRAMS, arguments);
        let mmap = |flags: i32| call(SYS_mmap, [0, 4096, 3, flags as u64, 0, 0]);
        assert_eq!(mmap(libc::MAP_PRIVATE | libc::MAP_ANONYMOUS), ALLOW);
        assert_eq!(mmap(libc::MAP_PRIVATE | libc::MAP_FIXED), TRAP);
        // Descriptors that were open when main began.
        assert_eq!([0, 2].map(|fd| call(SYS_close, [fd, 0, 0, 0, 0, 0])), [TRAP; 2]);
        assert_eq!([3, 4, 1000].map(|fd| call(SYS_close, [fd, 0, 0, 0, 0, 0])), [ALLOW; 3]);
        let fcntl = |command: i32| call(SYS_fcntl, [5, command as u64, 0, 0, 0, 0]);
        assert_eq!([libc::F_GETFD, libc::F_GETFL].map(fcntl), [ALLOW; 2]);
        assert_eq!([libc::F_SETFD, libc::F_SETFL, libc::F_DUPFD].map(fcntl), [TRAP; 3]);
        for request in REQUESTS {
            assert_eq!(call(SYS_ioctl, [5, request.into(), 0, 0, 0, 0]), TRAP);
        }
        assert_eq!(call(SYS_ioctl, [5, libc::TCGETS, 0, 0, 0, 0]), ALLOW);
    }

    #[test]
    fn asking_is_free_and_changing_is_not() {
        let call = |number, arguments| decide(&snapshot(), number, PROGRAMS, arguments);
        // A pointer is null only if both of its halves are.
        for (number, at) in [(SYS_prlimit64, 2), (SYS_rt_sigaction, 1)] {
            for (pointer, expected) in [(0, ALLOW), (8, TRAP), (1 << 32, TRAP), (1 << 32 | 8, TRAP)] {
                let mut arguments = [7; 6];
                arguments[at] = pointer;
                assert_eq!(call(number, arguments), expected, "{number} {pointer:#x}");
            }
        }
    }

    #[test]
    fn the_heap_does_not_shrink_below_where_it_was() {
        let brk = |end: u64| decide(&snapshot(), SYS_brk, PROGRAMS, [end, 0, 0, 0, 0, 0]);
        let end = LIMITS.heap_end;
        assert_eq!([0, end, end + 1, end + (1 << 32), 0x2_0000_0000].map(brk), [ALLOW; 5]);
        assert_eq!([end - 1, 1, 0xffff_ffff, 0x1_0000_0000].map(brk), [TRAP; 4]);
    }
}
