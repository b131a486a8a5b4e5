//! The identity of a face's object in the model.

use super::executor::{ACTIVE, with};
use super::strangers;
use ordain_model::{ObjectId, ObjectKind};
use std::sync::atomic::{AtomicU64, Ordering};

/// The next number for an object made outside.
static NEXT_KEY: AtomicU64 = AtomicU64::new(1);

/// One field in every face.
#[derive(Debug)]
pub(crate) struct Object {
    /// The execution that it was made in; zero if outside.
    execution: u64,
    /// Its number in that execution.
    id: ObjectId,
    /// For objects made outside: a number that no other has, given at first use in a check; zero before.
    key: AtomicU64,
}

impl Object {
    /// For `new()` of faces: names the object now if an execution runs. For `initial` see [`Object::id`].
    pub(crate) fn new(kind: ObjectKind, initial: u64) -> Self {
        if !ACTIVE.get() {
            return Self::unregistered();
        }
        let (execution, id) = with(|rt| (rt.number, rt.arbiter.create(rt.current, kind, initial)));
        Self { execution, id, key: AtomicU64::new(0) }
    }

    /// For `const_new()` of faces meant for statics.
    pub(crate) const fn unregistered() -> Self {
        Self { execution: 0, id: ObjectId(0), key: AtomicU64::new(0) }
    }

    /// The object's number in the running execution. An object made outside is named at its first use in each execution, with
    /// the initial word that `initial` gives. Only when `active()`.
    #[inline]
    pub(crate) fn id(&self, kind: ObjectKind, initial: impl FnOnce() -> u64) -> ObjectId {
        if self.execution == with(|rt| rt.number) {
            return self.id;
        }
        let key = self.key();
        // The closure may look at the face, but makes no step.
        let (id, fresh) = with(|rt| rt.external(key, kind));
        if fresh {
            let initial = initial();
            with(|rt| rt.arbiter.initialise(id, initial));
        }
        id
    }

    /// Whether the caller runs inside an execution, as [`super::active`]; notes that the object is used if it does not.
    #[inline]
    pub(crate) fn active(&self) -> bool {
        self.note_use();
        super::active()
    }

    /// Notes a use by a thread that is none of the check's.
    #[inline]
    pub(crate) fn note_use(&self) {
        if self.execution != 0 && !ACTIVE.get() {
            strangers::note(self.execution);
        }
    }

    fn key(&self) -> u64 {
        match self.key.load(Ordering::Relaxed) {
            0 => {
                let new = NEXT_KEY.fetch_add(1, Ordering::Relaxed);
                match self.key.compare_exchange(0, new, Ordering::Relaxed, Ordering::Relaxed) {
                    Ok(_) => new,
                    Err(other) => other,
                }
            }
            key => key,
        }
    }
}
