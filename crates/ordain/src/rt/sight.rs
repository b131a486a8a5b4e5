//! What a check does not see of its program.
//!
//! Only what threads do to objects of Ordain is explored. If no two threads use such an object together, either they share nothing or they
//! share it through types of std or of another library. Exploring shows nothing of the latter, and nothing tells the two apart.

use ordain_model::{Access, Execution, Operation};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// What is known of a program, from all its executions. Workers share it.
#[derive(Debug, Default)]
pub(crate) struct Sight {
    /// A thread that is none of the check's used an object of the check.
    pub(super) strangers: AtomicBool,
    /// There was more than one thread.
    spawned: AtomicBool,
    /// Two threads used an object together.
    together: AtomicBool,
    /// An object was used that was made outside and whose value all OS threads share.
    pub(super) values: AtomicBool,
}

impl Sight {
    /// Looks at an execution.
    pub(super) fn look(&self, execution: &Execution) {
        if self.together.load(Relaxed) || execution.spawned_by.len() < 2 {
            return;
        }
        self.spawned.store(true, Relaxed);
        if uses_together(execution) {
            self.together.store(true, Relaxed);
        }
    }

    /// Whether there were threads, and nothing that they did together was seen.
    pub(crate) fn is_blind(&self) -> bool {
        self.spawned.load(Relaxed) && !self.together.load(Relaxed)
    }

    /// Why a program cannot be verified although all its schedules were explored.
    pub(crate) fn blind_spot(&self) -> Option<&'static str> {
        if self.strangers.load(Relaxed) {
            return Some(
                "a thread that is none of the check's (std::thread, or a pool started elsewhere) used an object of the check, and \
                 what it did was not explored; start it with ordain::thread",
            );
        }
        self.is_blind().then_some(
            "no two threads touched the same object that Ordain sees (std's locks and atomics are not seen; use ordain::sync)",
        )
    }
}

/// Whether two threads use an object together, other than by waiting for each other's end.
fn uses_together(execution: &Execution) -> bool {
    let mut users: Vec<u32> = Vec::new();
    let mut meets = |object: usize, thread: u32| {
        if users.len() <= object {
            users.resize(object + 1, u32::MAX);
        }
        let before = std::mem::replace(&mut users[object], thread);
        before != u32::MAX && before != thread
    };
    let of_threads = |op: &Operation| {
        matches!(
            op,
            Operation::Spawn { .. }
                | Operation::Exit
                | Operation::Join { .. }
                | Operation::IsFinished { .. }
                | Operation::Detach { .. }
        )
    };
    let steps = execution.steps.iter().enumerate().filter(|(_, s)| !of_threads(&s.op));
    for (number, step) in steps {
        let objects = execution.footprint(number).iter().filter(|a| **a != Access::EVERYTHING);
        for access in objects {
            if meets(access.object().index(), step.thread.0) {
                return true;
            }
        }
    }
    let cell = |kind| match kind {
        ordain_model::execution::PlainKind::Read(cell) | ordain_model::execution::PlainKind::Write(cell) => Some(cell),
        _ => None,
    };
    execution.plain.iter().any(|p| cell(p.kind).is_some_and(|c| meets(c.index(), p.thread.0)))
}
