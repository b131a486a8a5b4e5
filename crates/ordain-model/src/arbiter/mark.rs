//! Going back to an earlier state of the present execution.
//!
//! Executions of a search begin alike. Who follows one after the other can go back to where the next one departs from the last,
//! instead of beginning again. Steps and waiter lists are only ever appended to, so of those a mark notes how many there were; the rest
//! is copied, into memory that is used again.

use super::{Arbiter, Thread};
use crate::execution::End;
use crate::idle::Version;
use crate::names::ThreadId;
use crate::state::Hold;
use crate::turns::Unseen;
use alloc::vec::Vec;

/// A state of an execution.
#[derive(Default)]
pub struct Mark {
    steps: usize,
    accesses: usize,
    misuses: usize,
    plain: usize,
    watching: usize,
    lists: usize,
    /// How many threads were expected to take signals.
    expected: usize,
    spin_held: bool,
    idled: bool,
    took_turns: bool,
    left_unseen: bool,
    spawned_by: Vec<u32>,
    words: Vec<u64>,
    params: Vec<u64>,
    versions: Vec<Version>,
    unseen: Vec<Unseen>,
    times: Vec<(u64, u64)>,
    time_used: bool,
    progress: usize,
    /// How many parts each channel had.
    parts: Vec<usize>,
    holds: Vec<Hold>,
    threads: Vec<Thread>,
    alive: Vec<ThreadId>,
    spawned: u32,
    crashed: Option<ThreadId>,
    run: (Option<ThreadId>, usize),
}

impl Mark {
    /// The number of steps before it.
    pub fn steps(&self) -> usize {
        self.steps
    }
}

impl Thread {
    /// Becomes equal to another one, in the memory that it has.
    fn copy_from(&mut self, other: &Self) {
        let Self { pending, idle, turns, children, objects, time, patience, joined } = other;
        self.idle.copy_from(idle);
        self.turns.copy_from(turns);
        (self.pending, self.children, self.objects) = (*pending, *children, *objects);
        (self.time, self.patience, self.joined) = (*time, *patience, *joined);
    }
}

impl Arbiter {
    /// Notes the present state. There must be another step before the execution ends.
    pub fn mark(&self, mark: &mut Mark) {
        let execution = &self.execution;
        mark.steps = execution.steps.len();
        mark.accesses = execution.accesses.len();
        mark.misuses = execution.misuses.len();
        mark.plain = execution.plain.len();
        mark.watching = execution.watching.len();
        mark.lists = execution.state.fixed.lists.len();
        mark.expected = execution.state.fixed.threads.len();
        (mark.spin_held, mark.left_unseen) = (execution.spin_held, execution.left_unseen);
        (mark.idled, mark.took_turns) = (execution.idled, execution.took_turns);
        mark.spawned_by.clone_from(&execution.spawned_by);
        mark.words.clone_from(&execution.state.words);
        mark.params.clone_from(&execution.state.fixed.params);
        mark.versions.clone_from(&self.versions);
        mark.unseen.clone_from(&self.unseen);
        mark.times.clone_from(&self.times);
        mark.time_used = self.time_used;
        mark.progress = self.progress;
        mark.parts.clear();
        mark.parts.extend(execution.state.fixed.parts.iter().map(Vec::len));
        mark.holds.clone_from(&execution.state.holds);
        mark.threads.resize_with(self.threads.len(), Thread::default);
        for (to, from) in mark.threads.iter_mut().zip(&self.threads) {
            to.copy_from(from);
        }
        mark.alive.clone_from(&self.alive);
        (mark.spawned, mark.crashed, mark.run) = (self.spawned, self.crashed, self.run);
    }

    /// Goes back to where the execution was cut short, and forgets what has happened since but what was learned.
    pub fn cut_back(&mut self, mark: &Mark) {
        let learned = self.execution.learned;
        self.go_back(mark);
        self.finish_with(End::Cut);
        self.execution.learned = learned;
    }

    /// Goes back to a state of the present execution, or of the last one.
    pub fn go_back(&mut self, mark: &Mark) {
        self.unsettled = None;
        let execution = &mut self.execution;
        execution.steps.truncate(mark.steps);
        execution.accesses.truncate(mark.accesses);
        execution.before.truncate(mark.accesses);
        execution.misuses.truncate(mark.misuses);
        execution.plain.truncate(mark.plain);
        execution.watching.truncate(mark.watching);
        execution.pending.clear();
        execution.awaited.clear();
        execution.end = End::Running;
        (execution.learned, execution.lost) = (false, false);
        (execution.spin_held, execution.left_unseen) = (mark.spin_held, mark.left_unseen);
        (execution.idled, execution.took_turns) = (mark.idled, mark.took_turns);
        execution.spawned_by.clone_from(&mark.spawned_by);
        execution.state.fixed.lists.truncate(mark.lists);
        execution.state.fixed.threads.truncate(mark.expected);
        // What came to be later comes to be again, and is initialised then.
        let objects = mark.words.len();
        execution.state.words[..objects].copy_from_slice(&mark.words);
        execution.state.fixed.params[..objects].copy_from_slice(&mark.params);
        self.versions[..objects].copy_from_slice(&mark.versions);
        self.unseen[..objects].copy_from_slice(&mark.unseen);
        self.times[..objects].copy_from_slice(&mark.times);
        (self.time_used, self.progress) = (mark.time_used, mark.progress);
        for (parts, count) in execution.state.fixed.parts.iter_mut().zip(&mark.parts) {
            parts.truncate(*count);
        }
        execution.state.holds.clone_from(&mark.holds);
        for (to, from) in self.threads.iter_mut().zip(&mark.threads) {
            to.copy_from(from);
        }
        self.alive.clone_from(&mark.alive);
        (self.spawned, self.crashed, self.run) = (mark.spawned, mark.crashed, mark.run);
    }
}
