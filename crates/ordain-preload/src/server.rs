//! Fork mode: the process stays at main and makes a child for each execution.
//!
//! The child is a copy of the carrier alone; donors are only memory to it. Children are made by the system call itself, so that
//! no handler of the program runs.

use crate::children::family;
use crate::engine::engine;
use crate::inherited;
use crate::link::{self, control, hand_over};
use crate::maps;
use crate::outliving;
use crate::process;
use crate::supervisor;
use crate::sys::{self, call};
use alloc::vec::Vec;
use core::sync::atomic::Ordering::Relaxed;
use ordain_wire::{Ending, Request, Status};

/// Serves executions for ever.
pub fn run() -> ! {
    // SAFETY: asks for a number.
    let server = unsafe { call!(sys::SYS_getpid) };
    // SAFETY: only the carrier comes here.
    unsafe { SERVER = server };
    let (mut all, mut room) = (Vec::new(), Vec::new());
    maps::read(&mut all, &mut room);
    maps::check_shared(&all);
    hand_over(Status::Ready);
    loop {
        if link::request() != Request::Run {
            supervisor::explore(execute);
            hand_over(Status::Explored);
            continue;
        }
        engine().scheduler.read_plan();
        if !run_child() {
            // It ended without a word, and nobody has told the launcher.
            link::give_turn(Status::Done);
        }
        link::await_turn();
    }
}

static mut SERVER: isize = 0;

/// Runs one execution for which the plan is prepared.
fn execute() {
    run_child();
}

/// Runs one execution in a child; false if it ended without a word.
fn run_child() -> bool {
    let control = control();
    // SAFETY: set before any child is made.
    let server = unsafe { SERVER };
    control.status.store(Status::None);
    // SAFETY: output of the last execution has been read.
    unsafe {
        call!(sys::SYS_ftruncate, 1, 0);
        call!(sys::SYS_ftruncate, 2, 0);
    }
    inherited::rewind();
    // SAFETY: a copy of the process; the child has its own memory, but for what is shared with the launcher and by the engine.
    let child = unsafe { call!(sys::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) };
    if child == 0 {
        // SAFETY: ends with the server.
        unsafe {
            call!(sys::SYS_prctl, libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            if call!(libc::SYS_getppid) != server {
                sys::exit_group(103);
            }
            control.carrier.store(call!(sys::SYS_gettid) as i32, Relaxed);
        }
        process::run_once();
    }
    if child < 0 {
        link::refuse(format_args!("no child process can be made (error {})", -child));
    }
    let mut status: i32 = 0;
    // SAFETY: waits for the child.
    while unsafe { call!(sys::SYS_wait4, child, &raw mut status, libc::__WALL, 0) } == -(libc::EINTR as isize) {}
    family::end_all();
    outliving::remove();
    let reported = control.status.load();
    if matches!(reported, Some(Status::None | Status::Ask)) {
        // It ended without a word: killed, or by a system call of its own.
        let signalled = status & 0x7f;
        control.ending.store(if signalled != 0 { Ending::Signal } else { Ending::Exit });
        control.detail.store(if signalled != 0 { signalled } else { status >> 8 & 0xff }, Relaxed);
        return false;
    }
    if matches!(reported, Some(Status::Refused | Status::Broken | Status::MoreThreads | Status::OtherMode)) {
        // The child has told the launcher, which starts anew.
        sys::exit_group(104);
    }
    true
}
