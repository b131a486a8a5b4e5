//! What threads may rely on to have happened before, by the memory orderings that the program asks for, as C++20 and Rust define it: a
//! release tells what its thread knows, and an acquire that sees it, or an update that continues it, learns that.

use crate::clock::join;
use crate::execution::Execution;
use crate::footprint::Access;
use crate::names::{ObjectId, ThreadId};
use crate::operation::{MemoryOrder, Operation, Outcome};
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

/// A vector clock.
type Clock = Vec<u32>;

/// What each thread of an execution knows of the others by synchronisation, and what each object can tell.
pub struct Synchronisation {
    width: usize,
    threads: Vec<Clock>,
    /// What one who acquires the object learns.
    objects: BTreeMap<ObjectId, Clock>,
    /// What one who writes the object learns besides: from those who only read it, who learn nothing from each other.
    readers: BTreeMap<ObjectId, Clock>,
    /// What relaxed loads have read and an acquire fence would learn.
    unfenced: Vec<Clock>,
    /// What a release fence has prepared for later relaxed stores.
    fenced: Vec<Clock>,
}

impl Synchronisation {
    /// For an execution with so many threads, before its first step.
    pub fn new(width: usize) -> Self {
        let zero = || vec![vec![0; width]; width];
        let mut all = Self {
            width,
            threads: zero(),
            objects: BTreeMap::new(),
            readers: BTreeMap::new(),
            unfenced: zero(),
            fenced: zero(),
        };
        for (i, clock) in all.threads.iter_mut().enumerate() {
            clock[i] = 1;
        }
        all
    }

    /// What a thread knows of each thread: up to which of its releases what it did happens before what this one does next.
    pub fn clock(&self, thread: ThreadId) -> &[u32] {
        &self.threads[thread.index()]
    }

    fn acquire(&mut self, thread: usize, object: ObjectId) {
        if let Some(clock) = self.objects.get(&object) {
            join(&mut self.threads[thread], clock);
        }
    }

    /// What a primitive other than an atomic does: takes from the objects it touches, and gives to them. Accesses that commute
    /// order nothing among each other.
    fn touch(&mut self, thread: usize, footprint: &[Access]) {
        for access in footprint.iter().filter(|a| **a != Access::EVERYTHING) {
            self.acquire(thread, access.object());
            if access.is_write()
                && let Some(clock) = self.readers.get(&access.object())
            {
                join(&mut self.threads[thread], clock);
            }
        }
        let width = self.width;
        for access in footprint.iter().filter(|a| **a != Access::EVERYTHING) {
            let clocks = if access.is_write() { &mut self.objects } else { &mut self.readers };
            join(clocks.entry(access.object()).or_insert_with(|| vec![0; width]), &self.threads[thread]);
        }
        self.threads[thread][thread] += 1;
    }

    fn load(&mut self, thread: usize, cell: ObjectId, order: MemoryOrder) {
        if order.acquires() {
            self.acquire(thread, cell);
        } else if let Some(clock) = self.objects.get(&cell) {
            join(&mut self.unfenced[thread], clock);
        }
    }

    /// A store replaces what the cell can tell, unless it continues a release sequence (`extends`).
    fn store(&mut self, thread: usize, cell: ObjectId, order: MemoryOrder, extends: bool) {
        let mut clock = if extends { self.objects.remove(&cell).unwrap_or_default() } else { Clock::new() };
        clock.resize(self.width, 0);
        join(&mut clock, if order.releases() { &self.threads[thread] } else { &self.fenced[thread] });
        self.objects.insert(cell, clock);
        self.threads[thread][thread] += 1;
    }

    /// Takes in a fence.
    pub fn fence(&mut self, thread: ThreadId, order: MemoryOrder) {
        let thread = thread.index();
        if order.acquires() {
            let unfenced = core::mem::take(&mut self.unfenced[thread]);
            join(&mut self.threads[thread], &unfenced);
            self.unfenced[thread] = unfenced;
        }
        if order.releases() {
            self.fenced[thread] = self.threads[thread].clone();
            self.threads[thread][thread] += 1;
        }
    }

    /// Takes in the next step of the execution.
    pub fn step(&mut self, execution: &Execution, number: usize) {
        let step = &execution.steps[number];
        let thread = step.thread.index();
        let failed = step.outcome == Outcome::FAILED;
        match step.op {
            Operation::Load { cell, order } => self.load(thread, cell, order),
            Operation::Store { cell, order } => self.store(thread, cell, order, false),
            Operation::Update { cell, order } => {
                self.load(thread, cell, order);
                self.store(thread, cell, order, true);
            }
            Operation::CompareExchange { cell, failure, .. } if failed => self.load(thread, cell, failure),
            Operation::CompareExchange { cell, success, .. } => {
                self.load(thread, cell, success);
                self.store(thread, cell, success, true);
            }
            Operation::Spawn { child } => {
                let parent = self.threads[thread].clone();
                join(&mut self.threads[child.index()], &parent);
                self.threads[thread][thread] += 1;
            }
            // An attempt that failed, or a wait that was not ended by anyone, orders nothing.
            _ if failed => {}
            _ => self.touch(thread, execution.footprint(number)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::execution::{Site, Transition};
    use crate::names::ObjectKind;
    use crate::{Arbiter, Options};

    /// Whether a thread that loads what main has stored knows what main did before; fences are around the store and the load.
    fn is_known(store: MemoryOrder, load: MemoryOrder, fences: bool) -> bool {
        let mut arbiter = Arbiter::new(Options::default());
        arbiter.begin();
        let cell = arbiter.create(ThreadId::MAIN, ObjectKind::Atomic, 0);
        let child = arbiter.next_child(ThreadId::MAIN);
        let mut step = |thread, op| {
            arbiter.announce(thread, op, Site(0));
            arbiter.apply(Transition::first(thread));
        };
        step(ThreadId::MAIN, Operation::Spawn { child });
        step(ThreadId::MAIN, Operation::Store { cell, order: store });
        step(child, Operation::Load { cell, order: load });
        let mut synchronisation = Synchronisation::new(2);
        synchronisation.step(arbiter.execution(), 0);
        let before = synchronisation.clock(ThreadId::MAIN)[0];
        assert!(synchronisation.clock(child)[0] < before, "what main does after making a thread is unknown to it");
        if fences {
            synchronisation.fence(ThreadId::MAIN, MemoryOrder::Release);
        }
        synchronisation.step(arbiter.execution(), 1);
        synchronisation.step(arbiter.execution(), 2);
        if fences {
            synchronisation.fence(child, MemoryOrder::Acquire);
        }
        synchronisation.clock(child)[0] >= before
    }

    #[test]
    fn who_acquires_what_was_released_knows_what_came_before() {
        use MemoryOrder::{Acquire, Relaxed, Release, SeqCst};
        assert!(is_known(Release, Acquire, false));
        assert!(is_known(SeqCst, SeqCst, false));
        assert!(!is_known(Relaxed, Acquire, false));
        assert!(!is_known(Release, Relaxed, false));
        assert!(is_known(Relaxed, Relaxed, true));
    }
}
