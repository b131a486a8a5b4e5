//! Data races on plain memory, by happens-before.
//!
//! Accesses to plain cells are no steps. If two of them conflict and no synchronisation orders them, they are a race in
//! whatever order they ran, so looking at one execution of each class finds them all. What orders them is
//! [`Synchronisation`]. The pass over an execution is made only if more than one thread accessed a plain cell.

use crate::execution::{Execution, PlainAccess, PlainKind};
use crate::finding::DataRace;
use crate::happens_before::Synchronisation;
use crate::names::{ObjectId, ThreadId};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

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
                sync.fence(access.thread, order);
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
        let clock = sync.clock(access.thread);
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
