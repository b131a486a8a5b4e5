//! Running handlers.

use super::pending::unblockable;
use super::{Action, MaskedCall, Signal, act_by_default, bit, is_listening, set_mask, signals, tell_left, tell_mask};
use crate::dispatch;
use crate::engine::{engine, step};
use crate::files;
use crate::sys::call;
use alloc::vec::Vec;
use core::ffi::{c_int, c_void};
use libc::{SIG_DFL, SIG_IGN};
use ordain_model::{MemoryOrder, Operation, Outcome};
use ordain_wire::State;

unsafe extern "C" {
    fn ordain_handle(handler: usize, signal: c_int, info: *mut c_void, context: *mut c_void, stack: usize);
}

/// A handler that is about to run.
struct Frame {
    signal: Signal,
    action: Action,
    /// The mask that its return puts back.
    mask: u64,
}

/// Runs the handlers of signals that have come for the running thread, in the step that found them. As in the kernel, the handler of a
/// signal that is taken later runs before, unless it is blocked meanwhile.
pub fn take() {
    let registers = engine().slots[engine().current].registers;
    let mut frames: Vec<Frame> = Vec::new();
    let slot = &mut engine().slots[engine().current];
    // A call that a handler makes is another one.
    let mut masked = core::mem::replace(&mut slot.masked, MaskedCall::NONE);
    let mut ran = None;
    let mut ends = None;
    loop {
        let e = engine();
        let slot = &mut e.slots[e.current];
        let Some(signal) = super::take_next(&mut slot.come, slot.mask) else { break };
        let number = signal.number;
        let action = signals().actions[number as usize];
        match action.handler {
            SIG_IGN => {}
            SIG_DFL => ends = ends.or(Some(number)),
            _ => {
                frames.push(Frame { signal, action, mask: slot.mask });
                enter(signal.number, action);
                if let Some(outside) = masked.note(bit(number)) {
                    // Whichever handler begins first returns to the mask outside of the call.
                    frames[0].mask = outside;
                }
                ran = Some(ran.unwrap_or(true) && action.has(libc::SA_RESTART));
            }
        }
    }
    if is_listening() {
        tell_left();
        tell_mask();
    }
    if let Some(number) = ends {
        act_by_default(number);
    }
    while let Some(frame) = frames.pop() {
        let mask = run(&frame);
        set_mask(mask);
    }
    let e = engine();
    e.slots[e.current].registers = registers;
    e.slots[e.current].masked = masked;
    signals().ran = ran;
}

/// The disposition of a signal.
pub(super) fn get_action(number: c_int) -> Action {
    match super::actions() {
        Some(cell) if super::is_shared() => _ = step(Operation::Load { cell, order: MemoryOrder::SeqCst }),
        Some(_) => {}
        None => files::order_state(State::Actions, false),
    }
    signals().actions[number as usize]
}

/// Gives a signal another disposition; gives the one that it had.
pub(super) fn set_action(number: c_int, action: Action) -> Action {
    let place = number as usize;
    let Some(object) = signals().object else {
        files::order_state(State::Actions, true);
        return core::mem::replace(&mut signals().actions[place], action);
    };
    if super::is_shared() {
        let was = core::mem::replace(&mut signals().actions[place], action);
        let ignored = super::ignored();
        // Not before its turn has come: others may still take signals as before, and change other dispositions.
        signals().actions[place] = was;
        step(Operation::SetActions { signals: object, ignored });
    }
    let was = core::mem::replace(&mut signals().actions[place], action);
    let ignored = super::ignored();
    engine().tell_part(object, 1, ignored);
    if super::is_ignored(number) {
        // What is pending is forgotten.
        signals().pending.retain(|s| s.number != number);
        engine().slots.iter_mut().for_each(|slot| slot.come.retain(|s| s.number != number));
    }
    super::timers::look_again();
    was
}

/// What the kernel does when a handler is about to run.
pub(super) fn enter(number: c_int, action: Action) {
    let e = engine();
    let slot = &mut e.slots[e.current];
    slot.mask |= (action.mask | if action.has(libc::SA_NODEFER) { 0 } else { bit(number) }) & !unblockable();
    if action.has(libc::SA_RESETHAND) {
        signals().actions[number as usize] = Action::DEFAULT;
        if let Some(object) = signals().object {
            let value = super::ignored();
            engine().tell_part(object, 1, value);
        }
    }
}

/// Whether a handler ran that ends a wait which had begun.
pub fn has_broken(restarts: bool) -> bool {
    signals().ran.is_some_and(|all_restart| !(all_restart && restarts))
}

/// Whether a wait that a handler has broken off ends. The signal may also have come just before the call, unless it was blocked then: in
/// that case the wait begins anew.
/// `restarts` says whether the call goes on behind handlers that want that.
pub fn breaks(restarts: bool) -> bool {
    let e = engine();
    has_broken(restarts)
        && (e.slots[e.current].masked.is_broken_off() || step(Operation::Choose { count: 2 }) == Outcome(0))
}

/// Runs a handler on the running thread's stack, or on its alternate one. Gives the mask that its return puts back, which it may change.
fn run(frame: &Frame) -> u64 {
    let e = engine();
    let slot = &mut e.slots[e.current];
    let registers = slot.registers;
    slot.handlers.push(frame.mask);
    let depth = slot.handlers.len();
    let stack = alternate(&frame.action, registers[1]);
    // SAFETY: plain structures, as far as they are known here, and the program's handler.
    let mask = unsafe {
        let mut info: [u64; 16] = [0; 16];
        fill(info.as_mut_ptr().cast(), &frame.signal);
        let mut context: libc::ucontext_t = core::mem::zeroed();
        for (to, from) in [(libc::REG_RIP, 0), (libc::REG_RSP, 1), (libc::REG_RBP, 2), (libc::REG_RBX, 3)] {
            context.uc_mcontext.gregs[to as usize] = registers[from] as i64;
        }
        let mask = (&raw mut context.uc_sigmask).cast::<u64>();
        mask.write(frame.mask);
        let number = frame.signal.number;
        let (info, context) = (info.as_mut_ptr().cast(), (&raw mut context).cast());
        ordain_handle(frame.action.handler, number, info, context, stack);
        mask.read_volatile()
    };
    let e = engine();
    let slot = &mut e.slots[e.current];
    slot.handlers.truncate(depth - 1);
    slot.registers = registers;
    mask
}

/// Runs a handler in place of the kernel, with what the kernel has told.
pub(super) unsafe fn run_as_told(action: Action, number: c_int, info: *mut c_void, context: *mut c_void, stack: usize) {
    // SAFETY: the program's handler, and the kernel's arguments.
    unsafe { ordain_handle(action.handler, number, info, context, stack) };
}

/// The upper end of the alternate stack, if the handler wants it and it is not in use; else zero.
pub(super) fn alternate(action: &Action, stack: u64) -> usize {
    let e = engine();
    let (base, size) = e.slots[e.current].alternate;
    let outside = !(base..base + size).contains(&(stack as usize));
    if action.has(libc::SA_ONSTACK) && size != 0 && outside { (base + size) & !15 } else { 0 }
}

/// Tells what comes with a signal: number, error and code; then process, user and value.
pub(super) unsafe fn fill(out: *mut libc::siginfo_t, signal: &Signal) {
    // SAFETY: memory for it.
    unsafe {
        core::ptr::write_bytes(out, 0, 1);
        let words = out.cast::<c_int>();
        words.write(signal.number);
        words.add(2).write(signal.code);
        if signal.process != 0 {
            words.add(4).write(signal.process);
            words.add(5).write(call!(libc::SYS_getuid) as c_int);
        }
        out.cast::<usize>().add(3).write(signal.value);
    }
}

/// A jump out of handlers that puts the mask back to what it was before the first of them.
pub(super) fn leave(restores: bool) {
    super::faults::leave();
    let e = engine();
    let slot = &mut e.slots[e.current];
    let first = slot.handlers.first().copied();
    slot.handlers.clear();
    // Where the kernel shows what the C library does by itself, the jump puts back the mask that was saved.
    if let Some(mask) = first.filter(|_| restores && !dispatch::is_on()) {
        set_mask(mask);
    }
}
