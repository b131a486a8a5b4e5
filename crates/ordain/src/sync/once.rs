//! An initialisation that happens once, as [`std::sync::Once`].
//!
//! In a check, beginning and ending it are steps: a thread that comes while another runs the closure waits for it. A
//! `Once` made outside a check starts afresh in every execution.

use crate::home::{self, Home};
use crate::rt::{self, Object};
use ordain_model::{ObjectId, ObjectKind, Operation, Outcome};
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};

/// Runs a closure once, as [`std::sync::Once`].
pub struct Once {
    /// The flag in the model.
    object: Object,
    /// Where the real flag lives.
    home: Home,
    /// The real flag.
    real: Real,
}

/// What happened to the initialisation before.
#[derive(Debug)]
pub struct OnceState {
    poisoned: bool,
}

impl OnceState {
    /// Whether an earlier initialisation panicked.
    #[must_use]
    pub fn is_poisoned(&self) -> bool {
        self.poisoned
    }
}

/// The real flag.
struct Real {
    once: std::sync::Once,
    /// Whether a modelled thread runs the closure: then nobody may wait for `once`.
    running: AtomicBool,
}

impl Real {
    const fn new() -> Self {
        Self { once: std::sync::Once::new(), running: AtomicBool::new(false) }
    }
}

impl Once {
    /// Creates a flag.
    #[must_use]
    pub fn new() -> Self {
        Self { object: Object::new(ObjectKind::Once, 0), home: Home::new(), real: Real::new() }
    }

    /// Creates a flag in a constant expression, for a static.
    #[must_use]
    pub const fn const_new() -> Self {
        Self { object: Object::unregistered(), home: Home::outside(), real: Real::new() }
    }

    fn id(&self) -> ObjectId {
        self.object.id(ObjectKind::Once, || 0)
    }

    fn real(&self) -> &Real {
        self.home.value(&self.real, |_| Real::new())
    }

    /// Runs `f` if no call has completed; waits while another thread does.
    ///
    /// # Panics
    /// If an earlier closure panicked.
    #[track_caller]
    pub fn call_once<F: FnOnce()>(&self, f: F) {
        if !self.object.active() {
            return self.unblocked().call_once(f);
        }
        match rt::step(Operation::OnceBegin { once: self.id(), force: false }) {
            Outcome::RUN => self.run(|_| f()),
            Outcome::POISONED => panic!("Once instance has previously been poisoned"),
            _ => {}
        }
    }

    /// As [`Once::call_once`], but runs `f` even if an earlier closure panicked.
    #[track_caller]
    pub fn call_once_force<F: FnOnce(&OnceState)>(&self, f: F) {
        if !self.object.active() {
            return self.unblocked().call_once_force(|state| f(&OnceState { poisoned: state.is_poisoned() }));
        }
        if rt::step(Operation::OnceBegin { once: self.id(), force: true }) == Outcome::RUN {
            self.run(f);
        }
    }

    /// Whether a closure has completed.
    #[track_caller]
    pub fn is_completed(&self) -> bool {
        if self.object.active() {
            rt::step(Operation::OnceCheck { once: self.id() }) == Outcome::DONE
        } else {
            self.real().once.is_completed()
        }
    }

    /// The real flag, for use when no modelled thread can run.
    fn unblocked(&self) -> &std::sync::Once {
        let real = self.real();
        if home::ending() && real.running.load(Ordering::Relaxed) {
            home::blocked();
        }
        &real.once
    }

    /// Runs the closure between the begin and the end step.
    #[track_caller]
    fn run(&self, f: impl FnOnce(&OnceState)) {
        let begun = Begun { object: &self.object };
        let real = self.real();
        let running = Running::new(&real.running);
        real.once.call_once_force(|state| f(&OnceState { poisoned: state.is_poisoned() }));
        drop(running);
        begun.complete();
    }
}

/// Says that a modelled thread runs a closure, until dropped.
struct Running<'a>(&'a AtomicBool);

impl<'a> Running<'a> {
    fn new(flag: &'a AtomicBool) -> Self {
        flag.store(true, Ordering::Relaxed);
        Self(flag)
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

/// An initialisation that this thread runs; it failed if this is dropped.
pub(super) struct Begun<'a> {
    pub(super) object: &'a Object,
}

impl Begun<'_> {
    /// Makes the step that ends the initialisation well.
    #[track_caller]
    pub(super) fn complete(self) {
        self.end(true);
        std::mem::forget(self);
    }

    #[track_caller]
    fn end(&self, complete: bool) {
        if self.object.active() {
            rt::step(Operation::OnceEnd { once: self.object.id(ObjectKind::Once, || 0), complete });
        }
    }
}

impl Drop for Begun<'_> {
    #[track_caller]
    fn drop(&mut self) {
        self.end(false);
    }
}

impl Default for Once {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Once {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Once").finish_non_exhaustive()
    }
}
