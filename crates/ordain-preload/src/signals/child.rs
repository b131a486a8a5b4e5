//! What children tell the program: `SIGCHLD` when they end, and signals that they send to it. When that is, is not known: so for each child
//! of which somebody may hear there is a thread of the model that waits for it, and its step may come anywhere. Who is the first to
//! wait for the child hears of its signals before.

use super::{COUNT, Recipient, Signal, bit, engine, send_if, signals};
use crate::descriptors;
use crate::engine::step;
use crate::handles;
use crate::link::{self, control};
use crate::sys::call;
use crate::threads::{self, State};
use crate::unmodelled::{self, Unmodelled};
use core::ffi::{c_int, c_void};
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use libc::{SIGABRT, SIGBUS, SIGCHLD, SIGFPE, SIGILL, SIGPIPE, SIGSEGV, SIGSYS, SIGTRAP};
use ordain_model::Operation;
use ordain_wire::MOST_SENT;

/// How long a child may take to end, in milliseconds, before it is taken to wait for the program.
const MOST: c_int = 1000;

/// A child whose end somebody may notice.
pub(super) struct Expected {
    shown: c_int,
    real: c_int,
    /// Whether its end is told by a signal, and whether that was sent.
    heard: bool,
    told: bool,
}

/// Begins an execution: nothing was heard of children.
pub(super) fn begin() {
    signals().children.clear();
    signals().passed = 0;
    // Not written without need: what is shared stays clean.
    if control().relays.load(Relaxed) != 0 {
        control().relays.store(0, Relaxed);
    }
    if control().sent_count.load(Relaxed) != 0 {
        control().sent.iter().for_each(|sent| sent.number.store(0, Relaxed));
        control().sent_count.store(0, Relaxed);
    }
}

/// Sends a signal to the program, from a child; gives what the system call gives.
pub fn send_from_child(number: c_int, code: c_int, value: usize) -> isize {
    if !(0..COUNT as c_int).contains(&number) {
        return -libc::EINVAL as isize;
    }
    if number == 0 {
        return 0;
    }
    let place = control().sent_count.fetch_add(1, Relaxed) as usize;
    let Some(sent) = control().sent.get(place) else { return -libc::EAGAIN as isize };
    sent.code.store(code, Relaxed);
    sent.value.store(value as u64, Relaxed);
    sent.process.store(handles::own(), Relaxed);
    sent.number.store(number, Release);
    0
}

/// Lets the program have the signals that a child has sent, or somebody whom that has made, from this one on; gives the next. Each is sent
/// unless somebody else has, which is known only when its turn has come.
fn pass_on(number: usize, first: usize) -> usize {
    let shown = signals().children[number].shown;
    let count = (control().sent_count.load(Relaxed) as usize).min(MOST_SENT);
    for place in first..count {
        let sent = &control().sent[place];
        let number = sent.number.load(Acquire);
        if number == 0 {
            // It is being written.
            return place;
        }
        let process = sent.process.load(Relaxed);
        if process == shown || signals().children.iter().all(|child| child.shown != process) {
            let (code, value) = (sent.code.load(Relaxed), sent.value.load(Relaxed) as usize);
            let is_first = || {
                let passed = signals().passed;
                signals().passed |= 1 << place;
                passed & 1 << place == 0
            };
            send_if(Signal { number, code, value, process, shared: true }, Recipient::Process, is_first);
        }
    }
    count
}

/// The number of the newest such child that the kernel knows by a number.
fn find(real: c_int) -> Option<usize> {
    signals().children.iter().rposition(|c| c.real == real)
}

/// Whether the program has a handler for a signal, or blocks one to take it later. Without that a signal only ends it, which the kernel does.
fn is_expecting() -> bool {
    let faults = [SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT, SIGPIPE];
    // The C library has two for itself.
    let mut others = (1..COUNT as c_int).filter(|n| *n != SIGCHLD && !faults.contains(n) && !(32..34).contains(n));
    let blocked = engine().slots.iter().filter(|s| s.state == State::Running).fold(0, |set, s| set | s.mask);
    others.any(|n| signals().actions[n as usize].is_handled() || blocked & bit(n) != 0)
}

/// Whether the program hears that a child ends.
fn is_heard() -> bool {
    let blocked = engine().slots[engine().current].mask & bit(SIGCHLD) != 0;
    !super::is_ignored(SIGCHLD) || blocked
}

/// Whether there is a thread of the model for a new child.
fn is_awaited(heard: bool) -> bool {
    super::is_listening() && (heard || signals().children_send && is_expecting())
}

/// The program is about to make a child, which may send signals at once.
pub(super) fn before_child() {
    if is_awaited(is_heard()) {
        control().relays.store(1, Relaxed);
    }
}

/// Takes note that a child sends a signal to the program.
pub fn note_sent(number: c_int) {
    if number != 0 {
        unmodelled::note(Unmodelled::ChildSignals);
    }
}

/// Whether signals that children send to the program are passed on. If not, the kernel sends them.
pub fn are_passed_on() -> bool {
    control().relays.load(Relaxed) != 0
}

/// The program has a new child.
pub fn expect_child(shown: c_int, real: c_int) {
    let heard = is_heard();
    if !is_awaited(heard) {
        return;
    }
    signals().children.push(Expected { shown, real, heard, told: false });
    let number = signals().children.len() - 1;
    // SAFETY: a function of our own, which takes a number.
    if unsafe { threads::spawn_hidden(await_end, number as *mut c_void) } != 0 {
        link::refuse(format_args!("there is no memory for the thread that waits for a child process"));
    }
}

/// A child of this number has ended as told, and will not be waited for again.
pub fn child_ended(real: c_int, code: c_int, status: c_int) {
    if let Some(number) = find(real) {
        pass_on(number, 0);
        tell(number, code, status);
    }
}

/// Sends the signal, unless somebody else has. Whether that is so is known only when its turn has come.
fn tell(number: usize, code: c_int, status: c_int) {
    if !signals().children[number].heard {
        return;
    }
    let process = signals().children[number].shown;
    let signal = Signal { number: SIGCHLD, code, value: status as u32 as usize, process, shared: true };
    send_if(signal, Recipient::Process, || !core::mem::replace(&mut signals().children[number].told, true));
}

/// What the thread that waits for a child does.
unsafe extern "C" fn await_end(number: *mut c_void) -> *mut c_void {
    let number = number as usize;
    let real = signals().children[number].real;
    let mut next = 0;
    loop {
        step(Operation::Sleep);
        // SAFETY: a descriptor of our own, for a moment; and what the kernel knows of the child, which stays to be waited for.
        unsafe {
            let fd = call!(libc::SYS_pidfd_open, real, 0);
            if fd >= 0 {
                let ended = descriptors::ask(fd as c_int, libc::POLLIN, MOST) != 0;
                call!(crate::sys::SYS_close, fd);
                next = pass_on(number, next);
                if !ended {
                    // It waits for the program.
                    continue;
                }
            }
            pass_on(number, next);
            let mut info = [0 as c_int; 32];
            let options = libc::WEXITED | libc::WNOWAIT | libc::WNOHANG;
            call!(libc::SYS_waitid, libc::P_PID, real, info.as_mut_ptr(), options, 0);
            // Number, error and code; then process, user and status.
            tell(number, info[2], info[6]);
            return core::ptr::null_mut();
        }
    }
}
