//! A cell that is written once, as [`std::sync::OnceLock`].
//!
//! In a check, looking and initialising are steps. A cell made outside a check is empty at the beginning of every
//! execution, whatever it holds outside, and what an execution put into it is dropped when the execution ends: references
//! to it must not be kept longer.

use super::once::Begun;
use crate::home::Home;
use crate::rt::{self, Object};
use ordain_model::{ObjectId, ObjectKind, Operation, Outcome};
use std::fmt;

/// A cell that is written once, as [`std::sync::OnceLock`].
pub struct OnceLock<T> {
    /// The once flag in the model.
    object: Object,
    /// Where the value lives.
    home: Home,
    /// The value.
    inner: std::sync::OnceLock<T>,
}

impl<T> OnceLock<T> {
    /// Creates an empty cell.
    #[must_use]
    pub fn new() -> Self {
        Self { object: Object::new(ObjectKind::Once, 0), home: Home::new(), inner: std::sync::OnceLock::new() }
    }

    /// Creates an empty cell in a constant expression, for a static.
    #[must_use]
    pub const fn const_new() -> Self {
        Self { object: Object::unregistered(), home: Home::outside(), inner: std::sync::OnceLock::new() }
    }

    fn id(&self) -> ObjectId {
        self.object.id(ObjectKind::Once, || 0)
    }

    /// The real cell. In a check, its content counts only if the model says that the initialisation is complete.
    pub(super) fn real(&self) -> &std::sync::OnceLock<T> {
        self.home.value(&self.inner, |_| std::sync::OnceLock::new())
    }

    /// Whether the caller runs inside an execution; notes that the cell is used if it does not.
    pub(super) fn active(&self) -> bool {
        self.object.active()
    }

    /// Whether the cell was made outside an execution and is now used inside one.
    pub(super) fn is_foreign(&self) -> bool {
        self.home.is_foreign()
    }

    fn real_mut(&mut self) -> &mut std::sync::OnceLock<T> {
        self.home.value_mut(&mut self.inner, |_| std::sync::OnceLock::new())
    }

    /// The value, if it is there.
    #[track_caller]
    pub fn get(&self) -> Option<&T> {
        if self.object.active() && rt::step(Operation::OnceCheck { once: self.id() }) != Outcome::DONE {
            return None;
        }
        self.real().get()
    }

    /// The value, if it is there, for change. Not a step: the exclusive borrow proves that nobody else uses it.
    pub fn get_mut(&mut self) -> Option<&mut T> {
        self.real_mut().get_mut()
    }

    /// Puts a value in; gives it back if one is there.
    #[track_caller]
    pub fn set(&self, value: T) -> Result<(), T> {
        let mut value = Some(value);
        self.get_or_init(|| value.take().expect("ordain: an initialisation runs once"));
        match value {
            None => Ok(()),
            Some(value) => Err(value),
        }
    }

    /// The value; makes it with `f` if it is not there, and waits while another thread does. If `f` panics, the cell stays
    /// empty.
    #[track_caller]
    pub fn get_or_init<F: FnOnce() -> T>(&self, f: F) -> &T {
        if !self.object.active() {
            return self.real().get_or_init(f);
        }
        self.initialise(true, f).expect("ordain: a forced initialisation runs whatever happened before")
    }

    /// The value, made with `f` if need be; `None` if an earlier `f` panicked and `force` does not allow another.
    /// Only when `active()`.
    #[track_caller]
    pub(super) fn initialise(&self, force: bool, f: impl FnOnce() -> T) -> Option<&T> {
        match rt::step(Operation::OnceBegin { once: self.id(), force }) {
            Outcome::RUN => {
                let begun = Begun { object: &self.object };
                let value = f();
                if self.real().set(value).is_err() {
                    panic!("ordain: a cell that is empty in this execution has a value");
                }
                begun.complete();
            }
            Outcome::POISONED => return None,
            _ => {}
        }
        Some(self.real().get().expect("ordain: a complete initialisation left a value"))
    }

    /// Gives the value back, if it is there.
    pub fn into_inner(mut self) -> Option<T> {
        self.real_mut().take()
    }

    /// Takes the value out, if it is there, and leaves the cell empty.
    pub fn take(&mut self) -> Option<T> {
        let value = self.real_mut().take()?;
        self.object = Object::new(ObjectKind::Once, 0);
        Some(value)
    }
}

impl<T> Default for OnceLock<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> From<T> for OnceLock<T> {
    #[track_caller]
    fn from(value: T) -> Self {
        let cell = Self::new();
        cell.get_or_init(|| value);
        cell
    }
}

impl<T: Clone> Clone for OnceLock<T> {
    #[track_caller]
    fn clone(&self) -> Self {
        match self.get() {
            Some(value) => Self::from(value.clone()),
            None => Self::new(),
        }
    }
}

impl<T: PartialEq> PartialEq for OnceLock<T> {
    #[track_caller]
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl<T: Eq> Eq for OnceLock<T> {}

impl<T: fmt::Debug> fmt::Debug for OnceLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut f = f.debug_tuple("OnceLock");
        match self.get() {
            Some(value) => f.field(value),
            None => f.field(&format_args!("<uninit>")),
        };
        f.finish()
    }
}
