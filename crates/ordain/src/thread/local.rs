//! Thread-local values, as `std::thread_local!`.
//!
//! In a check each modelled thread has its own values, made at first use and dropped, newest first, when the thread ends.
//! Outside a check, and on real threads, the values are std's.

use crate::rt;
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::error::Error;
use std::fmt;
use std::ptr::NonNull;

/// Declares thread-local values, with the syntax of [`std::thread_local!`].
///
/// ```
/// use std::cell::Cell;
///
/// ordain::thread_local! {
///     static COUNT: Cell<u32> = const { Cell::new(0) };
///     static NAME: String = String::from("nobody");
/// }
///
/// COUNT.set(COUNT.get() + 1);
/// NAME.with(|name| assert_eq!(name, "nobody"));
/// ```
#[macro_export]
macro_rules! thread_local {
    () => {};
    ($(#[$attr:meta])* $vis:vis static $name:ident : $t:ty = const $init:block; $($rest:tt)*) => {
        $crate::__thread_local_item!([$(#[$attr])*] $vis $name, $t, [const $init], $init);
        $crate::thread_local!($($rest)*);
    };
    ($(#[$attr:meta])* $vis:vis static $name:ident : $t:ty = const $init:block) => {
        $crate::__thread_local_item!([$(#[$attr])*] $vis $name, $t, [const $init], $init);
    };
    ($(#[$attr:meta])* $vis:vis static $name:ident : $t:ty = $init:expr; $($rest:tt)*) => {
        $crate::__thread_local_item!([$(#[$attr])*] $vis $name, $t, [$init], $init);
        $crate::thread_local!($($rest)*);
    };
    ($(#[$attr:meta])* $vis:vis static $name:ident : $t:ty = $init:expr) => {
        $crate::__thread_local_item!([$(#[$attr])*] $vis $name, $t, [$init], $init);
    };
}

/// One value of [`thread_local!`](crate::thread_local).
#[doc(hidden)]
#[macro_export]
macro_rules! __thread_local_item {
    ([$($attr:tt)*] $vis:vis $name:ident, $t:ty, [$($real:tt)*], $init:expr) => {
        $($attr)*
        $vis static $name: $crate::thread::LocalKey<$t> = {
            ::std::thread_local! {
                static __ORDAIN_REAL: $t = $($real)*;
            }
            fn __ordain_init() -> $t {
                $init
            }
            $crate::thread::LocalKey::__new(&__ORDAIN_REAL, __ordain_init)
        };
    };
}

/// A thread-local value, as [`std::thread::LocalKey`]. Made by [`thread_local!`](crate::thread_local).
pub struct LocalKey<T: 'static> {
    /// The value outside a check.
    real: &'static std::thread::LocalKey<T>,
    /// Makes the value of a modelled thread.
    init: fn() -> T,
}

/// The value was used after it had been dropped at the end of its thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AccessError;

impl fmt::Display for AccessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("already destroyed")
    }
}

impl Error for AccessError {}

/// The value of a modelled thread.
struct Slot<T> {
    key: usize,
    /// A leaked box: a reference to the value stays good when the slot moves.
    value: NonNull<T>,
}

/// Takes the place of a value that is being dropped.
struct Gone;

impl<T> Drop for Slot<T> {
    fn drop(&mut self) {
        if rt::active() {
            rt::with_locals(|locals| locals.push((self.key, Box::new(Gone))));
        }
        // SAFETY: the box was leaked for this slot, which ends here; keys lend the value only while the slot is there.
        drop(unsafe { Box::from_raw(self.value.as_ptr()) });
    }
}

impl<T: 'static> LocalKey<T> {
    /// For the macro only.
    #[doc(hidden)]
    pub const fn __new(real: &'static std::thread::LocalKey<T>, init: fn() -> T) -> Self {
        Self { real, init }
    }

    /// Lends the running thread's value to `f`.
    ///
    /// # Panics
    /// If the value has been dropped.
    pub fn with<F, R>(&'static self, f: F) -> R
    where
        F: FnOnce(&T) -> R,
    {
        self.try_with(f).expect("cannot access a Thread Local Storage value during or after destruction")
    }

    /// Lends the running thread's value to `f`, unless it has been dropped.
    pub fn try_with<F, R>(&'static self, f: F) -> Result<R, AccessError>
    where
        F: FnOnce(&T) -> R,
    {
        if !rt::active() {
            return self.real.try_with(f).map_err(|_| AccessError);
        }
        let value = match self.find()? {
            Some(value) => value,
            None => self.put((self.init)()),
        };
        // SAFETY: the value lives until its thread ends, which is the running one.
        Ok(f(unsafe { value.as_ref() }))
    }

    /// Makes `first` the value, or lends the value to `f` together with it. Only when `rt::active()`.
    fn put_or(&'static self, first: T, f: impl FnOnce(T, &T)) {
        match self.find().expect("cannot access a Thread Local Storage value during or after destruction") {
            // SAFETY: the value lives until its thread ends, which is the running one.
            Some(value) => f(first, unsafe { value.as_ref() }),
            None => {
                self.put(first);
            }
        }
    }

    fn key(&'static self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// The running modelled thread's value, if it has been made.
    fn find(&'static self) -> Result<Option<NonNull<T>>, AccessError> {
        let key = self.key();
        rt::with_locals(|locals| match locals.iter().find(|(k, _)| *k == key) {
            None => Ok(None),
            Some((_, slot)) => slot.downcast_ref::<Slot<T>>().map(|slot| Some(slot.value)).ok_or(AccessError),
        })
    }

    /// Makes `value` the running modelled thread's.
    fn put(&'static self, value: T) -> NonNull<T> {
        let key = self.key();
        let value = NonNull::from(Box::leak(Box::new(value)));
        let slot: Box<dyn Any> = Box::new(Slot { key, value });
        rt::with_locals(|locals| locals.push((key, slot)));
        value
    }
}

impl<T: 'static> LocalKey<Cell<T>> {
    /// Sets the value. If it has not been made, its initialiser does not run.
    pub fn set(&'static self, value: T) {
        if rt::active() {
            self.put_or(Cell::new(value), |new, cell| cell.set(new.into_inner()));
        } else {
            self.real.set(value);
        }
    }

    /// A copy of the value.
    pub fn get(&'static self) -> T
    where
        T: Copy,
    {
        self.with(Cell::get)
    }

    /// Takes the value and leaves the default.
    pub fn take(&'static self) -> T
    where
        T: Default,
    {
        self.with(Cell::take)
    }

    /// Sets the value and gives the old one.
    pub fn replace(&'static self, value: T) -> T {
        self.with(|cell| cell.replace(value))
    }
}

impl<T: 'static> LocalKey<RefCell<T>> {
    /// Lends the value to `f`.
    pub fn with_borrow<F, R>(&'static self, f: F) -> R
    where
        F: FnOnce(&T) -> R,
    {
        self.with(|cell| f(&cell.borrow()))
    }

    /// Lends the value to `f`, for change.
    pub fn with_borrow_mut<F, R>(&'static self, f: F) -> R
    where
        F: FnOnce(&mut T) -> R,
    {
        self.with(|cell| f(&mut cell.borrow_mut()))
    }

    /// Sets the value. If it has not been made, its initialiser does not run.
    pub fn set(&'static self, value: T) {
        if rt::active() {
            self.put_or(RefCell::new(value), |new, cell| drop(cell.replace(new.into_inner())));
        } else {
            self.real.set(value);
        }
    }

    /// Takes the value and leaves the default.
    pub fn take(&'static self) -> T
    where
        T: Default,
    {
        self.with(RefCell::take)
    }

    /// Sets the value and gives the old one.
    pub fn replace(&'static self, value: T) -> T {
        self.with(|cell| cell.replace(value))
    }
}

impl<T: 'static> fmt::Debug for LocalKey<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalKey").finish_non_exhaustive()
    }
}
