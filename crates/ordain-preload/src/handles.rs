//! Numbers that the kernel gives out and that differ from run to run: those of child processes, and of ports.
//!
//! The program sees numbers that depend on the thread that asked and on how often it had asked before. Whoever takes such a number is
//! told the real one, and the other way round ("indirect record-replay" in Šimša's thesis, section 3.2.3). What is known is in
//! private memory: a child process goes on with a copy of its own.

use crate::engine::{active, engine};
use crate::link;
use crate::sys::{self, call};
use core::ffi::c_int;
use ordain_model::ThreadId;

/// The number that the program has as a process, in every execution. Higher than any that the kernel gives, so that whoever takes it
/// for a real one reaches nobody.
pub const VIRTUAL_PROCESS: c_int = 5_000_000;
/// The number of its parent, and of its session.
pub const OUTSIDE: c_int = VIRTUAL_PROCESS - 1;
/// Where numbers of children begin, how many makers of children can be told apart, and how many children of each.
const FIRST_CHILD: u64 = 6_000_000;
const MAKERS: u64 = 1_000_000;
const CHILDREN_EACH: u64 = 1_000;
/// Where ports are given out to those who want any, and how many to each thread.
const FIRST_PORT: u64 = 23_000;
const PORTS_EACH: u64 = 16;
/// Where the kernel begins to give out ports, unless it says otherwise.
const USUAL_EPHEMERAL: u16 = 32_768;
/// More at a time are not known.
const MOST: usize = 4096;
/// More locks that others hold are not known.
const MOST_ORPHANS: usize = 256;

/// A child process.
#[derive(Clone, Copy)]
pub struct Child {
    /// What the program sees.
    pub shown: c_int,
    /// What the kernel knows.
    pub real: c_int,
    /// Whether it is a child of this very process, or was one of its parent's.
    pub own: bool,
}

/// A port.
#[derive(Clone, Copy)]
struct Port {
    shown: u16,
    real: u16,
    /// Ports of streams and of datagrams are not the same.
    stream: bool,
}

struct Handles {
    /// The number of this process, and of its parent.
    own: c_int,
    parent: c_int,
    /// How many children and ports a process that is not under control has asked for.
    asked: [u32; 2],
    /// How many children this execution has made.
    made: u32,
    /// Where the locks are that threads held which a child does not have.
    orphan_count: usize,
    orphans: [u64; MOST_ORPHANS],
    /// The lowest port that the kernel gives out.
    ephemeral: u16,
    child_count: usize,
    children: [Child; MOST],
    port_count: usize,
    ports: [Port; MOST],
}

static mut HANDLES: *mut Handles = core::ptr::null_mut();
/// Whether this is a child process of the program, which is not under control.
static mut IN_CHILD: bool = false;

fn handles() -> &'static mut Handles {
    // SAFETY: made before the program begins; only the carrier comes here, and no reference is kept.
    unsafe { &mut *HANDLES }
}

/// Makes what is needed, once.
pub fn prepare() {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    let (size, rights) = (size_of::<Handles>(), libc::PROT_READ | libc::PROT_WRITE);
    // SAFETY: a new mapping; zeroes are tables without anything.
    unsafe {
        let at = call!(sys::SYS_mmap, sys::own_address(size), size, rights, flags, -1i32, 0);
        if at < 0 {
            link::refuse(format_args!("no memory for the numbers of children and ports"));
        }
        HANDLES = at as *mut Handles;
    }
    let h = handles();
    (h.own, h.parent) = (VIRTUAL_PROCESS, OUTSIDE);
    let mut text = [0; 32];
    let length = sys::read_file(c"/proc/sys/net/ipv4/ip_local_port_range", &mut text);
    let first = text[..length].split(|c| !c.is_ascii_digit()).next();
    let first = first.and_then(|t| core::str::from_utf8(t).ok()).and_then(|t| t.parse().ok());
    h.ephemeral = first.filter(|n| u64::from(*n) >= FIRST_PORT + PORTS_EACH).unwrap_or(USUAL_EPHEMERAL);
}

/// Begins an execution: nothing was given out.
pub fn begin() {
    let h = handles();
    // Not written without need: the page would have to be put back.
    if h.child_count != 0 || h.port_count != 0 || h.made != 0 {
        (h.child_count, h.port_count, h.made) = (0, 0, 0);
    }
}

/// Whether this is a child process of the program.
pub fn in_child() -> bool {
    // SAFETY: a flag of this process.
    unsafe { IN_CHILD }
}

/// This is a new child process, with this number.
pub fn become_child(number: c_int) {
    let h = handles();
    (h.parent, h.own, h.asked) = (h.own, number, [0; 2]);
    h.children[..h.child_count].iter_mut().for_each(|c| c.own = false);
    // SAFETY: only this thread is there.
    unsafe { IN_CHILD = true };
}

/// The number of this process.
pub fn own() -> c_int {
    handles().own
}

/// Whether a number stands for this process.
pub fn is_own(number: c_int) -> bool {
    number == 0 || number == own()
}

/// The number of its parent.
pub fn parent() -> c_int {
    handles().parent
}

/// A number for a thread that depends on its birth alone; different for threads with few relatives.
fn place(thread: ThreadId, spread: u64, most: u64) -> u64 {
    match engine().arbiter.names().birth(thread) {
        None => 0,
        Some((parent, n)) => (place(parent, spread, most) * spread + u64::from(n)) % most,
    }
}

/// The number of a thread, that of main being the number of the program.
pub fn of_thread(thread: ThreadId) -> c_int {
    /// Below where children begin.
    const MOST: u64 = FIRST_CHILD - VIRTUAL_PROCESS as u64;
    VIRTUAL_PROCESS + place(thread, 997, MOST) as c_int
}

/// Who asks, and how often it had asked before: for children (0) or for ports (1).
fn asks(what: usize, spread: u64, most: u64) -> (u64, u64) {
    if active() {
        let e = engine();
        let (thread, asked) = (e.me(), &mut e.slots[e.current].asked[what]);
        *asked += 1;
        let before = u64::from(*asked - 1);
        (place(thread, spread, most), before)
    } else {
        let h = handles();
        h.asked[what] += 1;
        ((h.own as u64 * spread) % most, u64::from(h.asked[what] - 1))
    }
}

/// The number of the next child process that the running thread makes.
pub fn next_child() -> c_int {
    /// Threads with up to so many siblings, and so many children each, are told apart.
    const SPREAD: u64 = 1009;
    let (who, before) = asks(0, SPREAD, MAKERS);
    let first = who * CHILDREN_EACH;
    let taken = |n: &c_int| handles().children[..handles().child_count].iter().any(|c| c.shown == *n);
    let numbers = (0..MAKERS * CHILDREN_EACH).map(|i| (first + before + i) % (MAKERS * CHILDREN_EACH));
    numbers.map(|n| (FIRST_CHILD + 1 + n) as c_int).find(|n| !taken(n)).unwrap_or(OUTSIDE)
}

/// Counts a child that this execution has made; gives how many it has made.
pub fn count_child() -> u32 {
    let h = handles();
    h.made += 1;
    h.made
}

/// Whether this execution has made children.
pub fn has_made_children() -> bool {
    handles().made != 0
}

/// The arguments of a system call, with the real number of a child in place of the one that the program sees.
pub fn with_real_numbers(number: i64, mut arguments: [usize; 6]) -> [usize; 6] {
    let place = match number {
        libc::SYS_pidfd_open | libc::SYS_prlimit64 | libc::SYS_process_vm_readv | libc::SYS_process_vm_writev => 0,
        libc::SYS_sched_setaffinity | libc::SYS_sched_getaffinity | libc::SYS_sched_rr_get_interval => 0,
        libc::SYS_sched_setparam | libc::SYS_sched_getparam | libc::SYS_sched_setattr | libc::SYS_sched_getattr => 0,
        libc::SYS_sched_setscheduler | libc::SYS_sched_getscheduler | libc::SYS_rt_sigqueueinfo => 0,
        libc::SYS_getpriority | libc::SYS_setpriority | libc::SYS_ioprio_get | libc::SYS_ioprio_set => 1,
        _ => return arguments,
    };
    let h = handles();
    if let Some(child) = h.children[..h.child_count].iter().rev().find(|c| c.shown as usize == arguments[place]) {
        arguments[place] = child.real as usize;
    }
    arguments
}

/// Takes down which locks a child that is about to be made finds held for ever.
pub fn set_orphans(locks: impl Iterator<Item = u64>) {
    let h = handles();
    h.orphan_count = 0;
    for lock in locks.take(MOST_ORPHANS) {
        h.orphans[h.orphan_count] = lock;
        h.orphan_count += 1;
    }
}

/// Whether a lock was held by a thread that this child does not have.
pub fn is_orphan(lock: u64) -> bool {
    let h = handles();
    h.orphans[..h.orphan_count].contains(&lock)
}

/// A lock was made anew.
pub fn forget_orphan(lock: u64) {
    let h = handles();
    h.orphans[..h.orphan_count].iter_mut().filter(|orphan| **orphan == lock).for_each(|orphan| *orphan = 0);
}

/// The real numbers of the processes that this one knows: those that it or its parent has made, and its parent if that is one of the
/// program's.
pub fn relatives() -> impl Iterator<Item = c_int> {
    let h = handles();
    // SAFETY: asks for a number.
    let parent = in_child().then(|| unsafe { call!(libc::SYS_getppid) } as c_int);
    (0..h.child_count).map(|i| handles().children[i].real).chain(parent)
}

/// Notes a child process.
pub fn add_child(shown: c_int, real: c_int) {
    let h = handles();
    if h.child_count == MOST {
        link::refuse(format_args!("the program has more than {MOST} child processes at a time"));
    }
    h.children[h.child_count] = Child { shown, real, own: true };
    h.child_count += 1;
}

/// Forgets a child process that was waited for.
pub fn forget_child(real: c_int) {
    let h = handles();
    if let Some(at) = h.children[..h.child_count].iter().position(|c| c.real == real && c.own) {
        h.children.copy_within(at + 1..h.child_count, at);
        h.child_count -= 1;
    }
}

/// The children of this process, oldest first.
pub fn children() -> impl Iterator<Item = Child> {
    let h = handles();
    (0..h.child_count).map(|i| handles().children[i]).filter(|c| c.own)
}

/// The real number of a process.
pub fn real_process(shown: c_int) -> c_int {
    let h = handles();
    // SAFETY: asks for numbers.
    unsafe {
        if shown == h.own {
            return call!(sys::SYS_getpid) as c_int;
        }
        if shown == h.parent && in_child() {
            return call!(libc::SYS_getppid) as c_int;
        }
    }
    h.children[..h.child_count].iter().rev().find(|c| c.shown == shown).map_or(shown, |c| c.real)
}

/// What the program sees in place of the real number of a process.
pub fn shown_process(real: c_int) -> c_int {
    let h = handles();
    // SAFETY: asks for numbers.
    unsafe {
        if real == call!(sys::SYS_getpid) as c_int {
            return h.own;
        }
        if in_child() && real == call!(libc::SYS_getppid) as c_int {
            return h.parent;
        }
    }
    h.children[..h.child_count].iter().rev().find(|c| c.real == real).map_or(real, |c| c.shown)
}

/// Whether the kernel gives this port to those who want any.
pub fn is_ephemeral(port: u16) -> bool {
    port >= handles().ephemeral
}

/// The port that the running thread sees next in place of one that the kernel chooses.
pub fn next_port() -> u16 {
    const SPREAD: u64 = 37;
    let h = handles();
    let room = u64::from(h.ephemeral) - FIRST_PORT;
    let (who, before) = asks(1, SPREAD, room / PORTS_EACH);
    let taken = |n: &u16| h.ports[..h.port_count].iter().any(|p| p.shown == *n);
    let numbers = (0..room).map(|i| (FIRST_PORT + (who * PORTS_EACH + before + i) % room) as u16);
    numbers.into_iter().find(|n| !taken(n)).unwrap_or(0)
}

/// Notes what the program sees in place of a port. What was said of the same real port before is over.
pub fn add_port(shown: u16, real: u16, stream: bool) {
    let h = handles();
    if let Some(at) = h.ports[..h.port_count].iter().position(|p| p.real == real && p.stream == stream) {
        h.ports[at].shown = shown;
        return;
    }
    if h.port_count == MOST {
        link::refuse(format_args!("the program uses more than {MOST} ports"));
    }
    h.ports[h.port_count] = Port { shown, real, stream };
    h.port_count += 1;
}

/// Whether a real port has been given out.
pub fn is_known(real: u16, stream: bool) -> bool {
    let h = handles();
    h.ports[..h.port_count].iter().any(|p| p.real == real && p.stream == stream)
}

/// The real port.
pub fn real_port(shown: u16, stream: bool) -> u16 {
    let h = handles();
    let known = h.ports[..h.port_count].iter().rev().find(|p| p.shown == shown && p.stream == stream);
    known.map_or(shown, |p| p.real)
}

/// What the program sees in place of a real port, if that is known.
pub fn shown_port(real: u16, stream: bool) -> Option<u16> {
    let h = handles();
    h.ports[..h.port_count].iter().find(|p| p.real == real && p.stream == stream).map(|p| p.shown)
}
