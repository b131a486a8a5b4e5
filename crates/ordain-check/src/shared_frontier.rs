//! What is left of a search, where the threads of all workers reach it.

use ordain_explore::frontier::{Connection, Controller, SharedController, Task};
use std::sync::{Arc, PoisonError, RwLock, RwLockWriteGuard, TryLockError, TryLockResult};

/// How often a lock is tried.
const TRIES: u32 = 50;

/// A controller that threads share.
#[derive(Clone)]
pub(crate) struct SharedFrontier(Arc<RwLock<Controller>>);

impl SharedFrontier {
    /// Puts a controller where others can reach it.
    pub(crate) fn new(controller: Controller) -> Self {
        Self(Arc::new(RwLock::new(controller)))
    }

    /// The controller. Whoever has it should be quick: workers may wait.
    pub(crate) fn lock(&self) -> RwLockWriteGuard<'_, Controller> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the controller away again; `None` if somebody else can still reach it.
    pub(crate) fn into_inner(self) -> Option<Controller> {
        Some(Arc::into_inner(self.0)?.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// By which the worker that has this task tells at once what it finds.
    pub(crate) fn connect(&self, task: &Task) -> Connection {
        Connection::new(Box::new(self.clone()), &self.lock(), task)
    }
}

impl SharedController for SharedFrontier {
    fn read(&self, look: &mut dyn FnMut(&Controller)) -> bool {
        soon(|| self.0.try_read()).map(|controller| look(&controller)).is_some()
    }

    fn write(&self, change: &mut dyn FnMut(&mut Controller)) -> bool {
        soon(|| self.0.try_write()).map(|mut controller| change(&mut controller)).is_some()
    }
}

/// Tries a few times.
fn soon<G>(mut attempt: impl FnMut() -> TryLockResult<G>) -> Option<G> {
    for _ in 0..TRIES {
        match attempt() {
            Ok(guard) => return Some(guard),
            Err(TryLockError::Poisoned(poisoned)) => return Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => std::hint::spin_loop(),
        }
    }
    None
}
