//! Faults: signals that the program's own instructions cause. They go to the program's handler if it has one, with all that the kernel tells,
//! and may be mended there or left by a jump; else they are crashes.

use super::calls::SI_TKILL;
use super::{Action, COUNT, Recipient, Signal, bit, handlers, is_listening, signals};
use crate::engine::{self, engine};
use crate::link;
use crate::trap;
use core::ffi::c_int;
use libc::{SIGABRT, siginfo_t, ucontext_t};
use ordain_wire::Ending;

/// The slot whose handler of a fault is on the stack that the kernel has for them: there is one for all threads.
static mut ON_KERNEL_STACK: Option<usize> = None;

/// Begins an execution: the kernel's way to handlers is that of the dispositions found at first.
pub(super) fn begin() {
    // SAFETY: only the carrier comes here.
    unsafe { ON_KERNEL_STACK = None };
    for number in trap::FAULTS {
        place(number);
    }
}

/// A disposition has changed: a handler without an alternate stack runs on the stack of its thread, where it may be left and come back to.
pub(super) fn place(number: c_int) {
    if trap::FAULTS.contains(&number) && (number as usize) < COUNT {
        let action = signals().actions[number as usize];
        trap::take_fault_on(number, action.is_handled() && !action.has(libc::SA_ONSTACK));
    }
}

/// Gives a fault to the program's handler; false if that does not want it.
pub unsafe fn take_fault(number: c_int, info: *mut siginfo_t, context: *mut ucontext_t) -> bool {
    let me = engine().current;
    let action = signals().actions[number as usize];
    if !action.is_handled() || engine().slots[me].mask & bit(number) != 0 {
        return false;
    }
    // SAFETY: the kernel's arguments; only the carrier comes here.
    unsafe {
        let stack = (*context).uc_mcontext.gregs[libc::REG_RSP as usize] as u64;
        let on_kernel_stack = action.has(libc::SA_ONSTACK);
        if on_kernel_stack {
            if ON_KERNEL_STACK.is_some_and(|other| other != me) {
                link::refuse(format_args!(
                    "two threads are in handlers of faults on alternate stacks at a time, which is not modelled"
                ));
            }
            ON_KERNEL_STACK = Some(me);
        }
        let was = engine().slots[me].mask;
        (&raw mut (*context).uc_sigmask).cast::<u64>().write(was);
        let registers = engine().slots[me].registers;
        engine().slots[me].handlers.push(was);
        let depth = engine().slots[me].handlers.len();
        handlers::enter(number, action);
        let alternate = handlers::alternate(&action, stack);
        handlers::run_as_told(action, number, info.cast(), context.cast(), alternate);
        let slot = &mut engine().slots[me];
        slot.handlers.truncate(depth - 1);
        (slot.registers, slot.mask) = (registers, was);
        // The kernel's own mask is the runtime's, not the program's.
        (&raw mut (*context).uc_sigmask).cast::<u64>().write(0);
        if on_kernel_stack {
            ON_KERNEL_STACK = None;
        }
    }
    if is_listening() {
        super::look();
    }
    true
}

/// The running thread jumps out of its handlers.
pub(super) fn leave() {
    // SAFETY: only the carrier comes here.
    unsafe {
        if ON_KERNEL_STACK == Some(engine().current) {
            ON_KERNEL_STACK = None;
        }
    }
}

/// The program aborts itself: its handler runs first, if it has one, and may jump away.
pub fn abort(ending: Ending, message: core::fmt::Arguments<'_>) -> ! {
    let me = engine().current;
    let slot = &mut engine().slots[me];
    slot.mask &= !bit(SIGABRT);
    let action = signals().actions[SIGABRT as usize];
    if action.is_handled() {
        super::send(Signal::new(SIGABRT, SI_TKILL, 0), Recipient::Thread(me));
    }
    signals().actions[SIGABRT as usize] = Action::DEFAULT;
    engine::crash(ending, SIGABRT, 0, message)
}
