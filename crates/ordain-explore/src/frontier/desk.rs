//! The controller, where workers on threads of the same process can reach it.
//!
//! What a worker finds to be done in states that it shares with others it would otherwise copy, keep until its time is over, and send.
//! Here it asks the tree at once, which mostly has it already; and what is new can be given to somebody at once.

use super::{Controller, Task};
use crate::wakeup::{Items, Left};
use alloc::sync::Arc;
use alloc::vec::Vec;
use ordain_model::{Access, Execution, Operation, Transition};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError, TryLockResult};

/// How often a lock is tried.
const TRIES: u32 = 50;

/// A controller that threads share.
#[derive(Clone)]
pub struct Desk(Arc<RwLock<Controller>>);

impl Desk {
    /// Puts a controller where others can reach it.
    pub fn new(controller: Controller) -> Self {
        Self(Arc::new(RwLock::new(controller)))
    }

    /// The controller. Whoever has it should be quick: workers may wait.
    pub fn lock(&self) -> RwLockWriteGuard<'_, Controller> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// The controller, for several to look at, if nobody has it for long.
    fn look(&self) -> Option<RwLockReadGuard<'_, Controller>> {
        soon(|| self.0.try_read())
    }

    /// The controller, if nobody has it for long.
    fn try_lock(&self) -> Option<RwLockWriteGuard<'_, Controller>> {
        soon(|| self.0.try_write())
    }

    /// Takes the controller away again; `None` if somebody else still has the desk.
    pub fn close(self) -> Option<Controller> {
        Some(Arc::into_inner(self.0)?.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// By which the worker that has this task tells at once what it finds.
    pub fn line(&self, task: &Task) -> Line {
        let threads = self.lock().threads_before(task.names);
        Line {
            desk: self.clone(),
            lease: task.lease,
            threads,
            objects: task.names,
            known: 0,
            all_known: false,
            root: None,
            ways: Vec::new(),
            left: Left::default(),
        }
    }
}

/// Tries a few times.
fn soon<G>(mut attempt: impl FnMut() -> TryLockResult<G>) -> Option<G> {
    for _ in 0..TRIES {
        match attempt() {
            Ok(guard) => return Some(guard),
            Err(TryLockError::Poisoned(poisoned)) => return Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => core::hint::spin_loop(),
        }
    }
    None
}

/// By which a worker tells at once what it finds, while it explores a task.
pub struct Line {
    desk: Desk,
    lease: u64,
    /// How many threads and objects have the same numbers here and there.
    threads: usize,
    objects: usize,
    /// How many steps of the execution, from its beginning, are about nothing else; and whether all are.
    known: usize,
    all_known: bool,
    /// The ways that are taken to this root.
    ways: Vec<u32>,
    root: Option<u32>,
    /// Scratch memory.
    left: Left,
}

impl Line {
    fn knows(&self, transition: Transition, op: &Operation, footprint: &[Access]) -> bool {
        transition.thread.index() < self.threads
            && op.is_within(self.threads, self.objects)
            && footprint.iter().all(|a| *a == Access::EVERYTHING || a.object().index() < self.objects)
    }

    /// What is told from now on comes from this execution, whose first steps are those of the last.
    pub(crate) fn follow(&mut self, execution: &Execution, kept: usize) {
        self.known = self.known.min(kept);
        let known = |step: usize| {
            let s = &execution.steps[step];
            self.knows(s.transition(), &s.op, execution.footprint(step))
        };
        let len = execution.steps.len();
        self.known = (self.known..len).find(|step| !known(*step)).unwrap_or(len);
        self.all_known = self.known == len;
    }

    /// Tells what is to be done in a state on the way to a root: steps of the execution, and something else as the last. False if that must be
    /// told with the result, because it has to do with what has no name there yet, or somebody has the controller: to sleep until it is
    /// free would take longer.
    pub(crate) fn tell(&mut self, root: u32, depth: u32, items: &impl Items) -> bool {
        let Some(last) = items.len().checked_sub(1) else { return true };
        let (transition, footprint) = items.item(last);
        if !self.all_known || !self.knows(transition, &items.op(last), footprint) {
            return false;
        }
        let Some(controller) = self.desk.look() else { return false };
        let frontier = controller.frontier();
        if !frontier.has_lease(self.lease) {
            // What it explores is not counted either.
            return true;
        }
        if self.root != Some(root) {
            self.root = Some(root);
            frontier.ways(self.lease, root, &mut self.ways);
        }
        let Some(taken) = self.ways.get(depth as usize).copied() else { return true };
        // Mostly it is there, and then nobody need wait for another.
        let covered = frontier.covers(taken, items, &mut self.left);
        drop(controller);
        if covered {
            return true;
        }
        let Some(mut controller) = self.desk.try_lock() else { return false };
        controller.tell(self.lease, taken, items);
        true
    }

    /// What ways begin with that come after the one that is taken from a state on the way to a root, as far as can be seen now. None is ever
    /// taken away.
    pub(crate) fn later(&self, root: u32, depth: u32, out: &mut Vec<Transition>) {
        let Some(controller) = self.desk.look().filter(|_| self.root == Some(root)) else { return };
        let frontier = controller.frontier();
        if let Some(taken) = self.ways.get(depth as usize).filter(|_| frontier.has_lease(self.lease)) {
            out.clear();
            out.extend(frontier.later(*taken));
        }
    }
}
