//! Shared ownership with modelled reference counts, as [`std::sync::Arc`].
//!
//! Cloning and dropping are steps, so that a check explores which thread drops the last reference and what `upgrade`,
//! `try_unwrap`, `get_mut` and the counts observe. Where nobody observes the count and the value's destructor uses no type
//! of this crate, [`std::sync::Arc`] is just as good in a check and cheaper: it makes no steps. The pointers here do not
//! coerce; `Arc::<dyn Trait>::from(Box<dyn Trait>)` makes one to an unsized value.

use crate::rt::{self, Object};
use ordain_model::{ObjectId, ObjectKind, Operation};
use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::Arc as Real;
use std::sync::Weak as RealWeak;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// A reference count.
struct Count {
    /// The count in the model.
    object: Object,
    /// How many shares there are, in the form of the model's word.
    word: AtomicU64,
}

/// What a weak share adds to a count. Others add one.
const WEAK: u64 = 1 << 32;

/// A share in a reference count. Dropping it is a step.
struct Share {
    /// The count; `None` once the share has been given up in another step.
    count: Option<Real<Count>>,
    /// Whether it keeps nothing alive.
    weak: bool,
}

impl Share {
    fn first() -> Self {
        let count = Count { object: Object::new(ObjectKind::Count, 1), word: AtomicU64::new(1) };
        Self { count: Some(Real::new(count)), weak: false }
    }

    fn size(&self) -> u64 {
        if self.weak { WEAK } else { 1 }
    }

    /// Makes a step on the count.
    #[track_caller]
    fn step(&self, op: impl FnOnce(ObjectId) -> Operation) {
        if let Some(count) = &self.count
            && count.object.active()
        {
            rt::step(op(count.id()));
        }
    }

    /// Makes a step that looks at the count.
    #[track_caller]
    fn look(&self) {
        self.step(|count| Operation::Count { count, observes: true });
    }

    /// Another share in the same count.
    #[track_caller]
    fn another(&self, weak: bool) -> Self {
        self.step(|count| Operation::AddShare { count, weak });
        self.silently(weak)
    }

    /// Another share in the same count, which the caller has made a step for.
    fn silently(&self, weak: bool) -> Self {
        let share = Self { count: self.count.clone(), weak };
        if let Some(count) = &self.count {
            count.word.fetch_add(share.size(), Relaxed);
            count.tell();
        }
        share
    }

    /// Makes the step that gives the share up.
    #[track_caller]
    fn give_up(&self) {
        let weak = self.weak;
        self.step(|count| Operation::DropShare { count, weak });
    }

    /// Gives the share up without a step.
    fn forget(mut self) {
        self.end();
    }

    fn end(&mut self) {
        if let Some(count) = self.count.take() {
            count.word.fetch_sub(self.size(), Relaxed);
            count.tell();
        }
    }
}

impl Count {
    fn id(&self) -> ObjectId {
        self.object.id(ObjectKind::Count, || self.word.load(Relaxed))
    }

    /// Tells the model how many shares there are, for steps that decide it only when they are made.
    fn tell(&self) {
        if rt::active() {
            rt::set_value(self.id(), self.word.load(Relaxed));
        }
    }
}

impl Drop for Share {
    #[track_caller]
    fn drop(&mut self) {
        self.give_up();
        self.end();
    }
}

/// A shared pointer, as [`std::sync::Arc`].
pub struct Arc<T: ?Sized> {
    /// Dropped first: the step comes before the real change of the count.
    share: Share,
    /// The value.
    value: Real<T>,
}

/// A pointer that does not keep the value alive, as [`std::sync::Weak`].
pub struct Weak<T: ?Sized> {
    /// Dropped first: the step comes before the real change of the count.
    share: Share,
    /// The value, if it is still there.
    value: RealWeak<T>,
}

impl<T> Arc<T> {
    /// Puts a value under shared ownership.
    pub fn new(value: T) -> Self {
        Self::wrap(Real::new(value))
    }

    /// Puts a value that contains a pointer to itself under shared ownership.
    pub fn new_cyclic<F: FnOnce(&Weak<T>) -> T>(data_fn: F) -> Self {
        let share = Share::first();
        let value = Real::new_cyclic(|weak| {
            let weak = Weak { share: share.silently(true), value: weak.clone() };
            let value = data_fn(&weak);
            weak.share.forget();
            value
        });
        Self { share, value }
    }

    /// The value, if this is the only reference.
    #[track_caller]
    pub fn try_unwrap(this: Self) -> Result<T, Self> {
        this.share.look();
        match Real::try_unwrap(this.value) {
            Ok(value) => {
                this.share.forget();
                Ok(value)
            }
            Err(value) => Err(Self { share: this.share, value }),
        }
    }

    /// Drops this reference and gives the value if it was the last.
    #[track_caller]
    pub fn into_inner(this: Self) -> Option<T> {
        this.share.give_up();
        this.share.forget();
        Real::into_inner(this.value)
    }

    /// The value if this is the only reference, else a clone of it.
    #[track_caller]
    pub fn unwrap_or_clone(this: Self) -> T
    where
        T: Clone,
    {
        Self::try_unwrap(this).unwrap_or_else(|this| T::clone(&this))
    }
}

impl<T: ?Sized> Arc<T> {
    fn wrap(value: Real<T>) -> Self {
        Self { share: Share::first(), value }
    }

    /// Where the value is.
    pub fn as_ptr(this: &Self) -> *const T {
        Real::as_ptr(&this.value)
    }

    /// Whether both point to the same value. Not a step.
    pub fn ptr_eq(this: &Self, other: &Self) -> bool {
        Real::ptr_eq(&this.value, &other.value)
    }

    /// How many references there are.
    #[track_caller]
    pub fn strong_count(this: &Self) -> usize {
        this.share.look();
        Real::strong_count(&this.value)
    }

    /// How many weak references there are.
    #[track_caller]
    pub fn weak_count(this: &Self) -> usize {
        this.share.look();
        Real::weak_count(&this.value)
    }

    /// A weak reference to the value.
    #[track_caller]
    pub fn downgrade(this: &Self) -> Weak<T> {
        let share = this.share.another(true);
        Weak { share, value: Real::downgrade(&this.value) }
    }

    /// The value for change, if this is the only reference of either kind.
    #[track_caller]
    pub fn get_mut(this: &mut Self) -> Option<&mut T> {
        this.share.look();
        Real::get_mut(&mut this.value)
    }
}

impl<T: Clone> Arc<T> {
    /// The value for change; if there are other references, this one first becomes the only one to a clone.
    #[track_caller]
    pub fn make_mut(this: &mut Self) -> &mut T {
        this.share.look();
        if Real::strong_count(&this.value) != 1 {
            *this = Self::new(T::clone(this));
        } else if Real::weak_count(&this.value) != 0 {
            // Moves the value away from the weak references, which keep the old count.
            Real::make_mut(&mut this.value);
            let new = Share::first();
            std::mem::replace(&mut this.share, new).forget();
        }
        Real::get_mut(&mut this.value).expect("ordain: nobody else refers to a value of one's own")
    }
}

impl<T> Weak<T> {
    /// A pointer to nothing.
    #[must_use]
    pub fn new() -> Self {
        Self { share: Share { count: None, weak: true }, value: RealWeak::new() }
    }
}

impl<T: ?Sized> Weak<T> {
    /// A reference that keeps the value alive, if it still is.
    #[track_caller]
    pub fn upgrade(&self) -> Option<Arc<T>> {
        self.share.look();
        let value = self.value.upgrade()?;
        Some(Arc { share: self.share.silently(false), value })
    }

    /// How many references keep the value alive.
    #[track_caller]
    pub fn strong_count(&self) -> usize {
        self.share.look();
        self.value.strong_count()
    }

    /// How many weak references there are, none if the value is gone.
    #[track_caller]
    pub fn weak_count(&self) -> usize {
        self.share.look();
        self.value.weak_count()
    }

    /// Whether both point to the same value, or both to nothing. Not a step.
    #[must_use]
    pub fn ptr_eq(&self, other: &Self) -> bool {
        self.value.ptr_eq(&other.value)
    }
}

impl<T: ?Sized> Clone for Arc<T> {
    #[track_caller]
    fn clone(&self) -> Self {
        let share = self.share.another(false);
        Self { share, value: self.value.clone() }
    }
}

impl<T: ?Sized> Clone for Weak<T> {
    #[track_caller]
    fn clone(&self) -> Self {
        let share = self.share.another(true);
        Self { share, value: self.value.clone() }
    }
}

impl<T> Default for Weak<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: ?Sized> fmt::Debug for Weak<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(Weak)")
    }
}

impl<T: ?Sized> Deref for Arc<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: ?Sized> AsRef<T> for Arc<T> {
    fn as_ref(&self) -> &T {
        self
    }
}

impl<T: ?Sized> Borrow<T> for Arc<T> {
    fn borrow(&self) -> &T {
        self
    }
}

impl<T: Default> Default for Arc<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> From<T> for Arc<T> {
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T: ?Sized> From<Box<T>> for Arc<T> {
    fn from(value: Box<T>) -> Self {
        Self::wrap(Real::from(value))
    }
}

impl<T> From<Vec<T>> for Arc<[T]> {
    fn from(values: Vec<T>) -> Self {
        Self::wrap(Real::from(values))
    }
}

impl From<&str> for Arc<str> {
    fn from(text: &str) -> Self {
        Self::wrap(Real::from(text))
    }
}

impl From<String> for Arc<str> {
    fn from(text: String) -> Self {
        Self::wrap(Real::from(text))
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Arc<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for Arc<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized> fmt::Pointer for Arc<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Pointer::fmt(&Self::as_ptr(self), f)
    }
}

impl<T: ?Sized + PartialEq> PartialEq for Arc<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: ?Sized + Eq> Eq for Arc<T> {}

impl<T: ?Sized + PartialOrd> PartialOrd for Arc<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        (**self).partial_cmp(&**other)
    }
}

impl<T: ?Sized + Ord> Ord for Arc<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        (**self).cmp(&**other)
    }
}

impl<T: ?Sized + Hash> Hash for Arc<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}
