//! Findings: confirmed misbehaviour.

use crate::describe::Words;
use crate::names::{ObjectId, ThreadId};
use crate::operation::Operation;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// A wrong use of a primitive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Misuse {
    /// A lock was released by a thread that does not hold it.
    UnlockByNonOwner,
    /// A lock was released that nobody holds.
    UnlockUnlocked,
    /// A condition variable was waited on with a mutex that the thread does not hold.
    WaitWithoutLock,
    /// A mutex was made consistent that is not inconsistent.
    NotInconsistent,
    /// A semaphore was posted beyond its maximum.
    SemaphoreOverflow,
    /// A thread was joined a second time.
    JoinTwice,
    /// A detached thread was joined.
    JoinDetached,
    /// A thread was detached a second time, or after it was joined.
    DetachTwice,
    /// An object was destroyed while it was in use.
    DestroyInUse,
    /// An object was used after it was destroyed.
    UseAfterDestroy,
    /// An object was used after its memory was freed.
    UseAfterFree,
    /// A thread ended while it held a lock.
    LockHeldAtExit(ObjectId),
}

impl Misuse {
    /// What happened, as the end of a sentence that begins with the thread.
    pub fn explain(self, op: &Operation, words: &dyn Words) -> String {
        let object = op.object().map_or_else(String::new, |o| words.object(o));
        match self {
            Self::UnlockByNonOwner => format!("released {object}, which it does not hold"),
            Self::UnlockUnlocked => format!("released {object}, which nobody holds"),
            Self::WaitWithoutLock => format!("waited on {object} without holding the mutex"),
            Self::NotInconsistent => format!("made {object} consistent, which it was"),
            Self::SemaphoreOverflow => format!("posted {object} beyond its maximum"),
            Self::JoinTwice => String::from("joined a thread that had been joined"),
            Self::JoinDetached => String::from("joined a detached thread"),
            Self::DetachTwice => String::from("detached a thread that had been joined or detached"),
            Self::DestroyInUse => format!("destroyed {object} while it was in use"),
            Self::UseAfterDestroy => format!("used {object} after it was destroyed"),
            Self::UseAfterFree => format!("used {object} after its memory was freed"),
            Self::LockHeldAtExit(lock) => format!("ended while it held {}", words.object(lock)),
        }
    }
}

/// A misuse and where it happened.
#[derive(Clone, Copy, Debug)]
pub struct MisuseAt {
    /// What was wrong.
    pub misuse: Misuse,
    /// The step that did it.
    pub step: u32,
}

/// A thread that waits, and for what.
#[derive(Clone, Debug)]
pub struct Waiter {
    /// Who waits.
    pub thread: ThreadId,
    /// What it is about to do.
    pub op: Operation,
    /// Where.
    pub site: crate::execution::Site,
    /// Who could let it go on: holders of the lock, the thread it joins.
    pub for_threads: Vec<ThreadId>,
}

/// Why no thread can go on.
#[derive(Clone, Debug, Default)]
pub struct Deadlock {
    /// All threads that wait.
    pub waiters: Vec<Waiter>,
    /// Threads that wait for each other in a cycle, each for the next, the last for the first; empty if there is none.
    pub cycle: Vec<ThreadId>,
}

impl Deadlock {
    /// Finds the cycle of waiting, if there is one.
    pub(crate) fn find_cycle(&mut self) {
        let next = |t: ThreadId| self.waiters.iter().find(|w| w.thread == t).map(|w| w.for_threads.as_slice());
        for start in self.waiters.iter().map(|w| w.thread) {
            // Depth-first from each waiter; the graphs are tiny.
            let mut path: Vec<(ThreadId, usize)> = alloc::vec![(start, 0)];
            let mut seen = alloc::vec![start];
            while let Some((thread, edge)) = path.last_mut() {
                let target = next(*thread).and_then(|out| out.get(*edge)).copied();
                *edge += 1;
                match target {
                    None => {
                        path.pop();
                    }
                    Some(target) if target == start => {
                        self.cycle = path.iter().map(|p| p.0).collect();
                        return;
                    }
                    Some(target) if !seen.contains(&target) => {
                        seen.push(target);
                        path.push((target, 0));
                    }
                    Some(_) => {}
                }
            }
        }
    }
}

/// Two accesses to a plain cell, one a write, that nothing orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataRace {
    /// The cell.
    pub cell: ObjectId,
    /// The earlier access in this execution.
    pub first: crate::execution::PlainAccess,
    /// The later one.
    pub second: crate::execution::PlainAccess,
}
