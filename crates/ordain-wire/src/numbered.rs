//! Enumerations in shared memory: each value is a number there, and a number that is no value was written by somebody else.

use core::fmt;
use core::marker::PhantomData;
use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::Relaxed;

/// An enumeration whose values have numbers: their places in [`Numbered::ALL`].
pub trait Numbered: Copy + PartialEq + 'static {
    /// All values. The first is what memory that nobody has written holds.
    const ALL: &'static [Self];

    /// The number of a value.
    fn number(self) -> u32;

    /// The value of a number, if it has one.
    fn from_number(number: u32) -> Option<Self> {
        Self::ALL.get(number as usize).copied()
    }
}

/// A word of shared memory that holds a value of an enumeration.
#[repr(transparent)]
pub struct AtomicEnum<T> {
    number: AtomicU32,
    values: PhantomData<T>,
}

impl<T: Numbered> AtomicEnum<T> {
    /// The value; `None` if something else has been written there.
    pub fn load(&self) -> Option<T> {
        T::from_number(self.number.load(Relaxed))
    }

    /// Whether it is this value.
    pub fn is(&self, value: T) -> bool {
        self.number.load(Relaxed) == value.number()
    }

    /// Writes a value.
    pub fn store(&self, value: T) {
        self.number.store(value.number(), Relaxed);
    }
}

impl<T: Numbered> Default for AtomicEnum<T> {
    fn default() -> Self {
        Self { number: AtomicU32::new(0), values: PhantomData }
    }
}

impl<T: Numbered + fmt::Debug> fmt::Debug for AtomicEnum<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.load().fmt(f)
    }
}

/// Defines an enumeration of values with numbers.
macro_rules! numbered {
    ($(#[$about:meta])* $name:ident { $($(#[$means:meta])* $value:ident,)+ }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u32)]
        pub enum $name {
            $($(#[$means])* $value,)+
        }

        impl $crate::Numbered for $name {
            const ALL: &'static [Self] = &[$(Self::$value),+];

            fn number(self) -> u32 {
                self as u32
            }
        }
    };
}

pub(crate) use numbered;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Mode, Request, Status};

    #[test]
    fn numbers_are_places() {
        fn check<T: Numbered + fmt::Debug>() {
            for (number, value) in T::ALL.iter().enumerate() {
                assert_eq!(value.number() as usize, number);
                assert_eq!(T::from_number(number as u32), Some(*value));
            }
            assert_eq!(T::from_number(T::ALL.len() as u32), None);
            assert_eq!(T::from_number(u32::MAX), None);
        }
        check::<Mode>();
        check::<Request>();
        check::<Status>();
    }

    #[test]
    fn what_is_no_value_is_not_taken_for_one() {
        let word = AtomicEnum::<Request>::default();
        assert_eq!(word.load(), Some(Request::Run));
        word.store(Request::ExploreFragment);
        assert!(word.is(Request::ExploreFragment) && !word.is(Request::Explore));
        word.number.store(77, Relaxed);
        assert_eq!(word.load(), None);
        assert!(Request::ALL.iter().all(|request| !word.is(*request)));
    }
}
