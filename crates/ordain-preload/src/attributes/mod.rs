//! Attributes that the kernel only keeps: names of threads, their processors and priorities, and options of `prctl`.
//!
//! All threads run on one kernel thread, so the kernel cannot keep them apart. They are kept here, for each thread, and are the same at
//! the beginning of every execution.

mod faces;
mod options;
mod scheduling;

use crate::engine::engine;
use crate::handles;
use crate::sys::{self, call};
use crate::threads::State as Life;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ffi::c_int;

pub use options::is_harmless;

/// Processors: one bit each.
type Processors = [u64; 16];

/// What a thread hands down to those that it makes.
#[derive(Clone, Copy)]
struct Attributes {
    name: [u8; 16],
    processors: Processors,
    /// From -20, the highest priority, to 19.
    nice: c_int,
    /// SCHED_OTHER and so on; and whether threads that it makes begin without it.
    policy: c_int,
    resets: bool,
    /// Of real-time policies.
    priority: c_int,
    /// Of input and output: class and level.
    io: c_int,
    /// How late timers may be, in nanoseconds.
    slack: usize,
    /// Whether it keeps capabilities when it changes its user, and whether it can never get more.
    keeps_capabilities: usize,
    no_new_privileges: usize,
    /// What it gets when its parent ends; ours is none of its business.
    death_signal: usize,
    /// Whether it may read the processor's time. It always may: the answer is virtual.
    time: usize,
}

struct State {
    /// As main begins.
    first: Attributes,
    /// Of slots whose threads have others than that.
    others: Vec<(usize, Attributes)>,
    options: options::Options,
    /// Processors that the system allows, and how many bytes the kernel tells of them.
    allowed: Processors,
    length: usize,
    /// It may raise priorities.
    privileged: bool,
}

/// In the runtime's heap: children of the process in fork mode use the same memory one after the other.
static mut STATE: *mut State = core::ptr::null_mut();

fn state() -> &'static mut State {
    // SAFETY: made before the program begins; only the carrier comes here, and no reference is kept across a step.
    unsafe { &mut *STATE }
}

/// Takes down what main begins with.
pub fn prepare() {
    let mut first = Attributes {
        name: [0; 16],
        processors: [0; 16],
        nice: 0,
        policy: 0,
        resets: false,
        priority: 0,
        io: 0,
        slack: 0,
        keeps_capabilities: 0,
        no_new_privileges: 0,
        death_signal: 0,
        time: libc::PR_TSC_ENABLE as usize,
    };
    let mut allowed: Processors = [0; 16];
    let size = size_of::<Processors>();
    // SAFETY: asks about this thread. Which processors are allowed shows when all are asked for.
    let (length, privileged) = unsafe {
        call!(sys::SYS_prctl, libc::PR_GET_NAME, first.name.as_mut_ptr(), 0, 0, 0);
        let length = call!(libc::SYS_sched_getaffinity, 0, size, first.processors.as_mut_ptr()).max(8) as usize;
        let all: Processors = [u64::MAX; 16];
        call!(libc::SYS_sched_setaffinity, 0, size, all.as_ptr());
        call!(libc::SYS_sched_getaffinity, 0, size, allowed.as_mut_ptr());
        call!(libc::SYS_sched_setaffinity, 0, length, first.processors.as_ptr());
        first.nice = 20 - call!(libc::SYS_getpriority, libc::PRIO_PROCESS, 0) as c_int;
        let policy = call!(libc::SYS_sched_getscheduler, 0) as c_int;
        (first.policy, first.resets) = (policy & !libc::SCHED_RESET_ON_FORK, policy & libc::SCHED_RESET_ON_FORK != 0);
        call!(libc::SYS_sched_getparam, 0, &raw mut first.priority);
        first.io = call!(libc::SYS_ioprio_get, 1, 0) as c_int;
        first.slack = call!(sys::SYS_prctl, libc::PR_GET_TIMERSLACK, 0, 0, 0, 0) as usize;
        first.keeps_capabilities = call!(sys::SYS_prctl, libc::PR_GET_KEEPCAPS, 0, 0, 0, 0) as usize;
        first.no_new_privileges = call!(sys::SYS_prctl, libc::PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) as usize;
        (length, scheduling::may_raise())
    };
    let options = options::Options::of_process();
    let new = State { first, others: Vec::new(), options, allowed, length, privileged };
    // SAFETY: only the carrier comes here.
    unsafe { STATE = Box::into_raw(Box::new(new)) };
}

/// Begins an execution.
pub fn begin() {
    let s = state();
    s.others.clear();
    s.options.begin();
}

/// A thread begins in a slot, made by that in another.
pub fn inherit(parent: usize, child: usize) {
    if state().others.is_empty() {
        return;
    }
    let mut attributes = Attributes { death_signal: 0, ..of(parent) };
    if attributes.resets {
        let first = state().first;
        attributes = Attributes { policy: 0, priority: 0, nice: attributes.nice.max(0), resets: false, ..attributes };
        attributes.io = first.io;
    }
    change(child, |a| *a = attributes);
}

/// The attributes of the thread in a slot.
fn of(slot: usize) -> Attributes {
    let s = state();
    s.others.iter().find(|(n, _)| *n == slot).map_or(s.first, |(_, a)| *a)
}

/// Changes attributes of the thread in a slot.
fn change(slot: usize, f: impl FnOnce(&mut Attributes)) {
    let s = state();
    let at = s.others.iter().position(|(n, _)| *n == slot).unwrap_or_else(|| {
        s.others.push((slot, s.first));
        s.others.len() - 1
    });
    f(&mut s.others[at].1);
}

/// The slot of the thread that a number stands for; zero is the running one.
fn slot_of(number: c_int) -> Option<usize> {
    let e = engine();
    if number == 0 {
        return Some(e.current);
    }
    e.slots.iter().position(|s| s.state == Life::Running && handles::of_thread(s.thread) == number)
}

/// All slots with threads.
fn slots() -> impl Iterator<Item = usize> {
    let e = engine();
    (0..e.slots.len()).filter(|n| engine().slots[*n].state == Life::Running)
}

/// Answers a system call that is about attributes of the program's own threads; `None` if it is about something else.
pub fn answer(number: i64, arguments: [usize; 6]) -> Option<isize> {
    if number == libc::SYS_prctl { options::answer(arguments) } else { scheduling::answer(number, arguments) }
}
