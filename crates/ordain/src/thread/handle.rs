//! Handles and names of threads.

use crate::rt;
use ordain_model::Operation;
use std::fmt;
use std::sync::Arc;

/// A handle to a thread, as [`std::thread::Thread`].
#[derive(Clone)]
pub struct Thread(Kind);

#[derive(Clone)]
enum Kind {
    Real(std::thread::Thread),
    Modelled { id: ordain_model::ThreadId, name: Option<Arc<str>> },
}

/// Tells threads apart, as [`std::thread::ThreadId`]. In a check it is the same in every execution.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ThreadId(IdKind);

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum IdKind {
    Real(std::thread::ThreadId),
    Modelled(ordain_model::ThreadId),
}

impl Thread {
    pub(super) fn real(thread: std::thread::Thread) -> Self {
        Self(Kind::Real(thread))
    }

    pub(super) fn modelled(id: ordain_model::ThreadId, name: Option<String>) -> Self {
        Self(Kind::Modelled { id, name: name.map(Arc::from) })
    }

    /// What tells the thread apart.
    #[must_use]
    pub fn id(&self) -> ThreadId {
        ThreadId(match &self.0 {
            Kind::Real(thread) => IdKind::Real(thread.id()),
            Kind::Modelled { id, .. } => IdKind::Modelled(*id),
        })
    }

    /// The name that the thread was given.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        match &self.0 {
            Kind::Real(thread) => thread.name(),
            Kind::Modelled { name, .. } => name.as_deref(),
        }
    }

    /// Gives the thread its token, which lets its present or next [`park`](super::park) end.
    #[track_caller]
    pub fn unpark(&self) {
        match &self.0 {
            Kind::Real(thread) => thread.unpark(),
            Kind::Modelled { id, .. } => {
                if rt::active() {
                    rt::step(Operation::Unpark { thread: *id });
                }
            }
        }
    }
}

impl fmt::Debug for Thread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Thread").field("id", &self.id()).field("name", &self.name()).finish_non_exhaustive()
    }
}

impl fmt::Debug for ThreadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            IdKind::Real(id) => id.fmt(f),
            IdKind::Modelled(id) => f.debug_tuple("ThreadId").field(&id.0).finish(),
        }
    }
}
