//! A value that is made at first use, as [`std::sync::LazyLock`].
//!
//! For a static use [`LazyLock::const_new`]: its value is made anew in every execution of a check and dropped when the
//! execution ends, so references to it must not be kept longer. It is also the way to give statics of other kinds a fresh
//! start: `static QUEUE: LazyLock<Mutex<Vec<u32>>> = LazyLock::const_new(|| Mutex::new(Vec::new()));`

use super::OnceLock;
use crate::home;
use std::fmt;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// A value that is made at first use, as [`std::sync::LazyLock`].
pub struct LazyLock<T, F = fn() -> T> {
    /// The value.
    cell: OnceLock<T>,
    /// Makes the value, once.
    once: Mutex<Option<F>>,
    /// Makes the value as often as need be.
    again: Option<fn() -> T>,
    /// Whether making it panicked outside a check. Inside, the model knows.
    poisoned: AtomicBool,
}

impl<T> LazyLock<T> {
    /// Creates a lazy value in a constant expression, for a static.
    #[must_use]
    pub const fn const_new(f: fn() -> T) -> Self {
        Self { cell: OnceLock::const_new(), once: Mutex::new(None), again: Some(f), poisoned: AtomicBool::new(false) }
    }
}

impl<T, F: FnOnce() -> T> LazyLock<T, F> {
    /// Creates a lazy value.
    ///
    /// `f` runs once, so a value made with `new` outside a check cannot be used inside one.
    #[must_use]
    pub fn new(f: F) -> Self {
        Self { cell: OnceLock::new(), once: Mutex::new(Some(f)), again: None, poisoned: AtomicBool::new(false) }
    }

    /// The value; makes it if it is not there, and waits while another thread does.
    ///
    /// # Panics
    /// If making it panics, or did so before.
    #[track_caller]
    pub fn force(this: &Self) -> &T {
        assert!(
            this.again.is_some() || !this.cell.is_foreign(),
            "ordain: this LazyLock was made by `new` outside the check and cannot start afresh in each execution; \
             make it inside the closure, or with `LazyLock::const_new`"
        );
        if this.cell.active() {
            return this.cell.initialise(false, || this.make()).unwrap_or_else(|| poisoned());
        }
        this.cell.real().get_or_init(|| {
            if this.poisoned.load(Ordering::Relaxed) && !home::in_execution() {
                poisoned();
            }
            let unfinished = Unfinished(&this.poisoned);
            let value = this.make();
            std::mem::forget(unfinished);
            value
        })
    }

    fn make(&self) -> T {
        if let Some(again) = self.again {
            return again();
        }
        let once = self.once.lock().unwrap_or_else(PoisonError::into_inner).take();
        once.unwrap_or_else(|| poisoned())()
    }
}

#[cold]
#[track_caller]
fn poisoned() -> ! {
    panic!("LazyLock instance has previously been poisoned")
}

/// Remembers that making a value outside a check panicked.
struct Unfinished<'a>(&'a AtomicBool);

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        if !home::in_execution() {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

impl<T, F: FnOnce() -> T> Deref for LazyLock<T, F> {
    type Target = T;

    #[track_caller]
    fn deref(&self) -> &T {
        Self::force(self)
    }
}

impl<T: Default> Default for LazyLock<T> {
    fn default() -> Self {
        Self { again: Some(T::default), ..Self::new(T::default) }
    }
}

impl<T: fmt::Debug, F> fmt::Debug for LazyLock<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut f = f.debug_tuple("LazyLock");
        match self.cell.get() {
            Some(value) => f.field(value),
            None => f.field(&format_args!("<uninit>")),
        };
        f.finish()
    }
}
