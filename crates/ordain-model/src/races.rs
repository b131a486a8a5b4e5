//! Data races on plain memory, by happens-before.
//!
//! Accesses to plain cells are no steps. If two of them conflict and no synchronisation orders them, they are a race in
//! whatever order they ran, so looking at one execution of each class finds them all. What orders them is less than the
//! order of steps: a relaxed load that sees a relaxed store orders nothing. The pass over an execution is made only if
//! more than one thread accessed a plain cell.

use crate::clock::join;
use crate::execution::{Execution, PlainAccess, PlainKind};
use crate::finding::DataRace;
use crate::footprint::Access;
use crate::names::{ObjectId, ThreadId};
use crate::operation::{MemoryOrder, Operation, Outcome};
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

/// A vector clock.
type Clock = Vec<u32>;

/// What synchronisation has told each thread and what each object can tell.
struct Synchronisation {
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
    fn new(width: usize) -> Self {
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

    fn fence(&mut self, thread: usize, order: MemoryOrder) {
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

    fn step(&mut self, execution: &Execution, number: usize) {
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

/// The accesses to a cell that later ones must come after.
#[derive(Default)]
struct CellHistory {
    /// The last write and the writer's own clock at it.
    write: Option<(PlainAccess, u32)>,
    /// The last read of each thread since, and the reader's own clock at it.
    reads: Vec<(PlainAccess, u32)>,
}

/// The access that another thread made in the middle of the first one, which lasted until behind the others, if they conflict.
fn overlap(accesses: &[PlainAccess], thread: ThreadId, cell: ObjectId, write: bool) -> Option<DataRace> {
    let (first, others) = accesses.split_first()?;
    let conflicts = |other: &&PlainAccess| {
        other.thread != thread
            && match other.kind {
                PlainKind::Read(c) => c == cell && write,
                PlainKind::Write(c) => c == cell,
                PlainKind::End { .. } | PlainKind::Fence(_) => false,
            }
    };
    let second = others.iter().find(conflicts)?;
    Some(DataRace { cell, first: *first, second: *second })
}

/// Finds the data races of an execution, at most one for each cell.
pub fn find(execution: &Execution, out: &mut Vec<DataRace>) {
    out.clear();
    let mut threads = execution.plain.iter().map(|p| p.thread);
    let first = threads.next();
    if threads.all(|t| Some(t) == first) {
        return;
    }
    let mut sync = Synchronisation::new(execution.spawned_by.len());
    let mut cells: BTreeMap<ObjectId, CellHistory> = BTreeMap::new();
    let mut done = 0;
    for (number, access) in execution.plain.iter().enumerate() {
        while done < access.after as usize {
            sync.step(execution, done);
            done += 1;
        }
        let (cell, write) = match access.kind {
            PlainKind::Fence(order) => {
                sync.fence(access.thread.index(), order);
                continue;
            }
            PlainKind::Read(cell) => (cell, false),
            PlainKind::Write(cell) => (cell, true),
            PlainKind::End { cell, write, .. } => (cell, write),
        };
        if out.iter().any(|race| race.cell == cell) {
            continue;
        }
        if let PlainKind::End { begin, .. } = access.kind
            && let Some(race) = overlap(&execution.plain[begin as usize..number], access.thread, cell, write)
        {
            out.push(race);
            continue;
        }
        let history = cells.entry(cell).or_default();
        let clock = &sync.threads[access.thread.index()];
        let unordered = |earlier: &(PlainAccess, u32)| {
            earlier.0.thread != access.thread && clock[earlier.0.thread.index()] < earlier.1
        };
        let readers = if write { history.reads.as_slice() } else { &[] };
        if let Some(&(first, _)) = history.write.iter().chain(readers).find(|e| unordered(e)) {
            out.push(DataRace { cell, first, second: *access });
        }
        let own = clock[access.thread.index()];
        if write {
            history.write = Some((*access, own));
            history.reads.clear();
        } else {
            let thread: ThreadId = access.thread;
            history.reads.retain(|r| r.0.thread != thread);
            history.reads.push((*access, own));
        }
    }
}
