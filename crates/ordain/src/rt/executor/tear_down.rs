//! Tear-down: ending the threads that an execution has left, also those whose destructors wait, spin or catch what ends them.

use super::{ACTIVE, ENDING, MISCOUNTED, is_running, not_running, resume, with};
use ordain_model::ThreadId;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// How much a thread may still do once it is being ended. A destructor may drop many values, but none that it waits for comes.
const STRENGTH: u64 = 1 << 20;
/// What giving others a chance costs, and what being ended again.
pub(in crate::rt) const IDLE: u64 = STRENGTH >> 10;
const CAUGHT: u64 = STRENGTH >> 7;

/// Ends a thread in a tear-down: thrown where it was suspended.
pub(super) struct TearDown;

/// Ends what is left of the threads, newest first, because a thread may have lent its stack to its children.
pub(super) fn end_all() {
    ACTIVE.set(false);
    let count = with(|rt| {
        rt.tearing_down = true;
        // Threads that ended have given their stacks back and dropped their values.
        if rt.left > 0 { rt.slots.len() } else { 0 }
    });
    let mut waiting = Vec::new();
    for thread in (0..count).rev().map(|i| ThreadId(i as u32)) {
        end_thread(thread);
        if with(|rt| rt.coroutine(thread).is_some()) {
            waiting.push(thread);
        }
    }
    // Destructors that wait for what others held, as long as that lets one of them go on.
    let mut before = usize::MAX;
    while waiting.len() < before {
        before = waiting.len();
        waiting.retain(|thread| {
            end_thread(*thread);
            with(|rt| rt.coroutine(*thread).is_some())
        });
    }
    for thread in waiting {
        // It waits for ever, and is told so.
        with(|rt| rt.slot(thread).waits = false);
        end_thread(thread);
    }
    let hooks = with(|rt| std::mem::take(&mut rt.end_hooks));
    for hook in hooks {
        let _ = catch_unwind(AssertUnwindSafe(hook));
    }
}

/// Unwinds a thread, until it is done or waits for another one.
fn end_thread(thread: ThreadId) {
    while let Some(mut coroutine) = with(|rt| rt.coroutine(thread)) {
        ENDING.set(true);
        resume(thread);
        ENDING.set(false);
        let (left, waits) = with(|rt| {
            let slot = &rt.slots[thread.index()];
            (slot.abandoned && slot.coroutine.is_some(), slot.waits && slot.coroutine.is_some())
        });
        if waits {
            return;
        }
        if left {
            // SAFETY: what is on the stack is leaked, not dropped: its destructor would wait for ever. Nobody uses
            // the stack: threads that could borrow from it are newer and gone.
            unsafe { coroutine.as_mut().force_reset() };
            with(|rt| rt.retire(thread));
        }
    }
    let locals = with(|rt| {
        rt.current = thread;
        let slot = rt.slot(thread);
        slot.spent = 0;
        std::mem::take(&mut slot.locals)
    });
    let _ = catch_unwind(AssertUnwindSafe(|| drop(locals)));
}

/// Ends a thread of an execution that is over, if its program has caught what should have ended it.
#[cold]
pub(in crate::rt) fn end_again() {
    tire(1);
    if ENDING.get() && !std::thread::panicking() {
        tire(CAUGHT);
        resume_unwind(Box::new(TearDown));
    }
}

/// In a tear-down, counts what the running thread does. One that does not end, such as a destructor that spins or a loop that catches
/// whatever ends it, waits until others have ended, and is left for ever if that does not help.
#[cold]
pub(in crate::rt) fn tire(cost: u64) {
    let tired = is_running()
        && with(|rt| {
            let current = rt.current;
            let tearing_down = rt.tearing_down;
            let Some(slot) = rt.slots.get_mut(current.index()).filter(|_| tearing_down) else { return false };
            slot.spent += cost;
            slot.spent >= STRENGTH
        });
    if !tired {
        return;
    }
    if !ENDING.get() {
        // What the program has left behind is dropped on no stack of its own, so it can only be unwound.
        if !std::thread::panicking() {
            resume_unwind(Box::new(TearDown));
        }
    } else if wait_for_others() {
        with(|rt| {
            let current = rt.current;
            rt.slot(current).spent = 0;
        });
    } else {
        abandon();
    }
}

/// In a tear-down, waits until another thread has given something back; false if none will.
pub(in crate::rt) fn wait_for_others() -> bool {
    let yielder = with(|rt| {
        let current = rt.current;
        let slot = rt.slot(current);
        let may = ENDING.get() && !slot.borrows && !slot.abandoned;
        slot.waits = may;
        may.then_some(slot.yielder).flatten()
    });
    let Some(yielder) = yielder else { return false };
    // SAFETY: the yielder lives on the stack of the running coroutine.
    unsafe { yielder.as_ref() }.suspend(());
    with(|rt| {
        let current = rt.current;
        std::mem::take(&mut rt.slot(current).waits)
    })
}

/// Leaves the running thread for ever.
pub(in crate::rt) fn abandon() -> ! {
    if std::thread::panicking() {
        MISCOUNTED.set(true);
    }
    let Some(yielder) = with(|rt| {
        let current = rt.current;
        rt.slot(current).abandoned = true;
        rt.slot(current).yielder
    }) else {
        not_running()
    };
    loop {
        // SAFETY: the yielder lives on the stack of the running coroutine.
        unsafe { yielder.as_ref() }.suspend(());
    }
}
