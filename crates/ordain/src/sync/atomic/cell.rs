//! What all atomic types share: a real atomic and its memory cell in the model.
//!
//! In a check all modelled threads share one OS thread and switch only at steps, so after its step an operation may read
//! and write the real atomic in two instructions.

use super::{Ordering, failure_order, load_order, model, store_order};
use crate::home::Home;
use crate::rt::{self, Object};
use ordain_model::{ObjectId, ObjectKind, Operation, Outcome};
use std::sync::atomic::AtomicBool;

/// A real atomic type.
pub(super) trait Real {
    /// What it holds.
    type Value: Copy;
    fn new(value: Self::Value) -> Self;
    fn read(&self) -> Self::Value;
    fn write(&self, value: Self::Value);
    /// The value as the model sees it: its bits, zero-extended.
    fn bits(value: Self::Value) -> u64;
}

/// An atomic and its memory cell in the model.
pub(super) struct Cell<A> {
    /// The memory cell.
    object: Object,
    /// Where the value lives.
    home: Home,
    /// Whether the value may have changed through a `&mut`, without the model.
    stale: AtomicBool,
    /// The atomic.
    own: A,
}

impl<A> Cell<A> {
    /// For `const_new()` of the faces.
    pub(super) const fn outside(own: A) -> Self {
        Self { object: Object::unregistered(), home: Home::outside(), stale: AtomicBool::new(false), own }
    }
}

impl<A: Real> Cell<A> {
    /// For `new()` of the faces.
    pub(super) fn new(value: A::Value) -> Self {
        Self {
            object: Object::new(ObjectKind::Atomic, A::bits(value)),
            home: Home::new(),
            stale: AtomicBool::new(false),
            own: A::new(value),
        }
    }

    /// The real atomic.
    pub(super) fn real(&self) -> &A {
        self.object.note_use();
        self.home.value(&self.own, |own| A::new(own.read()))
    }

    /// The real atomic, for a caller with exclusive access.
    pub(super) fn real_mut(&mut self) -> &mut A {
        self.stale.store(true, Ordering::Relaxed);
        self.home.value_mut(&mut self.own, |own| A::new(own.read()))
    }

    /// The cell's name, once the model knows its value.
    fn id(&self) -> ObjectId {
        let id = self.object.id(ObjectKind::Atomic, || A::bits(self.real().read()));
        if self.stale.load(Ordering::Relaxed) {
            self.stale.store(false, Ordering::Relaxed);
            rt::set_value(id, A::bits(self.real().read()));
        }
        id
    }

    /// Writes the real atomic and tells the model.
    fn set(&self, cell: ObjectId, value: A::Value) {
        self.real().write(value);
        rt::set_value(cell, A::bits(value));
    }

    /// Loads. This and the following only when `rt::active()`.
    #[track_caller]
    pub(super) fn load(&self, order: Ordering) -> A::Value {
        rt::step(Operation::Load { cell: self.id(), order: load_order(order) });
        self.real().read()
    }

    /// Stores.
    #[track_caller]
    pub(super) fn store(&self, value: A::Value, order: Ordering) {
        let cell = self.id();
        rt::step(Operation::Store { cell, order: store_order(order) });
        self.set(cell, value);
    }

    /// Replaces the value by what `f` makes of it; gives the old one.
    #[track_caller]
    pub(super) fn update(&self, order: Ordering, f: impl FnOnce(A::Value) -> A::Value) -> A::Value {
        let cell = self.id();
        rt::step(Operation::Update { cell, order: model(order) });
        let old = self.real().read();
        self.set(cell, f(old));
        old
    }

    /// Replaces the value if it is `current`.
    #[track_caller]
    pub(super) fn compare_exchange(
        &self,
        current: A::Value,
        new: A::Value,
        success: Ordering,
        failure: Ordering,
    ) -> Result<A::Value, A::Value> {
        let cell = self.id();
        let (success, failure) = (model(success), failure_order(failure));
        let expected = A::bits(current);
        let outcome = rt::step(Operation::CompareExchange { cell, expected, success, failure });
        let old = self.real().read();
        if outcome != Outcome::DONE {
            return Err(old);
        }
        assert!(A::bits(old) == expected, "ordain: the model and the atomic disagree on its value");
        self.set(cell, new);
        Ok(old)
    }
}

/// The operations that every atomic type has.
macro_rules! common_operations {
    ($value:ty) => {
        /// Loads the value.
        ///
        /// # Panics
        /// If `order` is a release ordering.
        #[track_caller]
        pub fn load(&self, order: Ordering) -> $value {
            if rt::active() { self.cell.load(order) } else { self.cell.real().load(order) }
        }

        /// Stores a value.
        ///
        /// # Panics
        /// If `order` is an acquire ordering.
        #[track_caller]
        pub fn store(&self, value: $value, order: Ordering) {
            if rt::active() { self.cell.store(value, order) } else { self.cell.real().store(value, order) }
        }

        /// Stores a value and gives the old one.
        #[track_caller]
        pub fn swap(&self, value: $value, order: Ordering) -> $value {
            if rt::active() { self.cell.update(order, |_| value) } else { self.cell.real().swap(value, order) }
        }

        /// Stores `new` if the value is `current`. Gives the old value, as `Ok` if it was replaced.
        ///
        /// # Panics
        /// If `failure` is a release ordering.
        #[track_caller]
        pub fn compare_exchange(
            &self,
            current: $value,
            new: $value,
            success: Ordering,
            failure: Ordering,
        ) -> Result<$value, $value> {
            if rt::active() {
                self.cell.compare_exchange(current, new, success, failure)
            } else {
                self.cell.real().compare_exchange(current, new, success, failure)
            }
        }

        /// As `compare_exchange`, but may fail without a reason outside a check. In a check it never does.
        ///
        /// # Panics
        /// If `failure` is a release ordering.
        #[track_caller]
        pub fn compare_exchange_weak(
            &self,
            current: $value,
            new: $value,
            success: Ordering,
            failure: Ordering,
        ) -> Result<$value, $value> {
            if rt::active() {
                self.cell.compare_exchange(current, new, success, failure)
            } else {
                self.cell.real().compare_exchange_weak(current, new, success, failure)
            }
        }

        /// Replaces the value by what `f` makes of it, trying again until nobody interferes; gives the old value, as
        /// `Err` if `f` gave nothing.
        ///
        /// # Panics
        /// If `fetch_order` is a release ordering.
        #[track_caller]
        pub fn fetch_update<F>(&self, set_order: Ordering, fetch_order: Ordering, mut f: F) -> Result<$value, $value>
        where
            F: FnMut($value) -> Option<$value>,
        {
            let mut old = self.load(fetch_order);
            while let Some(new) = f(old) {
                match self.compare_exchange_weak(old, new, set_order, fetch_order) {
                    Ok(old) => return Ok(old),
                    Err(current) => old = current,
                }
            }
            Err(old)
        }

        /// The value for change. Not a step: the exclusive borrow proves that nobody else uses it.
        pub fn get_mut(&mut self) -> &mut $value {
            self.cell.real_mut().get_mut()
        }

        /// Gives the value back.
        pub fn into_inner(self) -> $value {
            self.cell.real().load(Ordering::Relaxed)
        }
    };
}

pub(super) use common_operations;
