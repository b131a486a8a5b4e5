//! Where a face keeps its value.
//!
//! A value made inside an execution lives in its face. A face made outside (a static, or something that the checked
//! closure captured) must start afresh in every execution, and checks on several OS threads may use it at the same time:
//! each execution therefore works on a copy of its own, which is made at first use and dropped when the execution ends.

use crate::rt;
use std::cell::{Cell, RefCell};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

/// The face was made inside an execution.
const INSIDE: u64 = u64::MAX;
/// The face was made outside and has not been used in an execution yet.
const UNNAMED: u64 = 0;
/// How many copies the end of an execution drops before it gives up on destructors that make new ones.
const MOST_DROPS: usize = 100_000;

/// The next number for a face made outside.
static NEXT: AtomicU64 = AtomicU64::new(UNNAMED + 1);

/// Tells where the value of a face lives. One field in every face whose value starts afresh in each execution.
#[derive(Debug)]
pub(crate) struct Home(AtomicU64);

/// The copy of a value that belongs to the running execution.
struct Copied {
    /// The face that it belongs to.
    home: u64,
    /// The value, a leaked box.
    value: NonNull<()>,
    /// Drops the box.
    drop: unsafe fn(NonNull<()>),
}

std::thread_local! {
    /// Whether an execution runs on this OS thread: from the first use of a copy or the first spawn until the last
    /// destructor of its tear-down.
    static RUNNING: Cell<bool> = const { Cell::new(false) };
    /// The copies of the running execution, oldest first.
    static COPIES: RefCell<Vec<Copied>> = const { RefCell::new(Vec::new()) };
}

/// Whether the caller runs inside an execution, its tear-down included.
pub(crate) fn in_execution() -> bool {
    rt::active() || RUNNING.get()
}

/// Whether the execution on this OS thread is being torn down: nobody else will ever run, so nothing may wait.
pub(crate) fn ending() -> bool {
    !rt::active() && RUNNING.get()
}

/// Remembers that an execution runs on this OS thread. Only when `rt::active()`.
pub(crate) fn enter() {
    if !RUNNING.replace(true) {
        rt::at_execution_end(Box::new(leave));
    }
}

/// Drops the copies of the execution that ended, newest first.
fn leave() {
    /// Says that the execution is over, even if a destructor panics.
    struct Left;
    impl Drop for Left {
        fn drop(&mut self) {
            COPIES.with_borrow_mut(Vec::clear);
            RUNNING.set(false);
        }
    }
    let _left = Left;
    for _ in 0..MOST_DROPS {
        let Some(copied) = COPIES.with_borrow_mut(Vec::pop) else { break };
        // SAFETY: `value` came from the box that `drop` takes back, and the entry is gone, so it happens once.
        unsafe { (copied.drop)(copied.value) };
    }
}

/// Leaves a destructor that would wait for ever during a tear-down.
#[cold]
pub(crate) fn blocked() -> ! {
    rt::abandon()
}

impl Home {
    /// For `new()` of faces.
    pub(crate) fn new() -> Self {
        Self(AtomicU64::new(if in_execution() { INSIDE } else { UNNAMED }))
    }

    /// For `const_new()` of faces meant for statics.
    pub(crate) const fn outside() -> Self {
        Self(AtomicU64::new(UNNAMED))
    }

    /// Whether the face was made outside an execution and is now used inside one.
    pub(crate) fn is_foreign(&self) -> bool {
        self.0.load(Ordering::Relaxed) != INSIDE && in_execution()
    }

    /// The value to work on: the face's `own`, or the running execution's, which `copy` makes at first use.
    pub(crate) fn value<'a, V>(&'a self, own: &'a V, copy: impl FnOnce(&V) -> V) -> &'a V {
        if !self.is_foreign() {
            return own;
        }
        // SAFETY: the copy lives until the execution ends, and only `value_mut` gives out exclusive references to it. A
        // caller that lets the reference out of the face's methods says in its documentation that it ends with the
        // execution.
        unsafe { self.copied(own, copy).as_ref() }
    }

    /// As [`Home::value`], for a caller with exclusive access to the face.
    pub(crate) fn value_mut<'a, V>(&'a mut self, own: &'a mut V, copy: impl FnOnce(&V) -> V) -> &'a mut V {
        if !self.is_foreign() {
            return own;
        }
        // SAFETY: as for `value`; the face is borrowed exclusively, so no other reference to its copy is in use.
        unsafe { self.copied(own, copy).as_mut() }
    }

    /// The running execution's copy, made if need be.
    fn copied<V>(&self, own: &V, copy: impl FnOnce(&V) -> V) -> NonNull<V> {
        let home = self.number();
        let found = COPIES.with_borrow(|copies| copies.iter().find(|c| c.home == home).map(|c| c.value));
        if let Some(value) = found {
            return value.cast();
        }
        if rt::active() {
            enter();
        }
        let value = NonNull::from(Box::leak(Box::new(copy(own)))).cast();
        COPIES.with_borrow_mut(|copies| copies.push(Copied { home, value, drop: drop_box::<V> }));
        value.cast()
    }

    /// The face's number, given at first use and never again to another face.
    fn number(&self) -> u64 {
        let number = self.0.load(Ordering::Relaxed);
        if number != UNNAMED {
            return number;
        }
        let new = NEXT.fetch_add(1, Ordering::Relaxed);
        match self.0.compare_exchange(UNNAMED, new, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => new,
            Err(other) => other,
        }
    }
}

/// Drops a leaked box.
///
/// # Safety
/// `value` must come from a leaked `Box<V>` that nobody uses any more.
unsafe fn drop_box<V>(value: NonNull<()>) {
    // SAFETY: the caller's promise.
    drop(unsafe { Box::from_raw(value.cast::<V>().as_ptr()) });
}
