//! Imagined executions: the same primitives, applied to a state that no program is in.
//!
//! Whoever wants to know what *could* follow some state, without running the program, needs to apply operations to copies of
//! the state, by the thousand. [`Imagined`] holds one state at a time; [`Moment`]s are what is stored of the others. Objects that
//! a program makes on the way are there from the beginning, with the words that they had when somebody first touched them.

use crate::execution::Execution;
use crate::footprint::{Access, Footprint};
use crate::names::{ObjectId, ThreadId};
use crate::operation::{Operation, Outcome};
use crate::primitives;
use crate::state::{Hold, State, View};
use alloc::vec::Vec;

/// A state, as far as it changes.
#[derive(Clone, Default)]
pub struct Moment {
    words: Vec<u64>,
    lists: Vec<ThreadId>,
    holds: Vec<Hold>,
}

/// A state that operations can be applied to.
#[derive(Default)]
pub struct Imagined {
    state: State,
    /// The words at the beginning.
    initial: Vec<u64>,
    seen: Vec<bool>,
}

impl Imagined {
    /// Gets to know the objects of an execution.
    pub fn meet(&mut self, execution: &Execution) {
        let theirs = &execution.state;
        let known = self.initial.len();
        if theirs.words.len() > known {
            self.initial.resize(theirs.words.len(), 0);
            self.seen.resize(theirs.words.len(), false);
        }
        let fixed = &mut self.state.fixed;
        (fixed.spurious, fixed.kind_time) = (theirs.fixed.spurious, theirs.fixed.kind_time);
        if fixed.params.len() < theirs.fixed.params.len() {
            fixed.params.resize(theirs.fixed.params.len(), 0);
        }
        for (thread, life) in theirs.fixed.lives.iter().enumerate() {
            if fixed.lives.len() <= thread {
                fixed.lives.push(*life);
            } else if execution.spawned_by.get(thread).is_some_and(|s| *s != u32::MAX) {
                fixed.lives[thread] = *life;
            }
        }
        if fixed.threads.len() < theirs.fixed.threads.len() {
            fixed.threads.clone_from(&theirs.fixed.threads);
        }
        fixed.signals = theirs.fixed.signals;
        take_longer(&mut fixed.parts, &theirs.fixed.parts);
        take_longer(&mut fixed.polls, &theirs.fixed.polls);
        for (access, before) in execution.accesses.iter().zip(&execution.before) {
            let index = access.object().index();
            if *access != Access::EVERYTHING && !self.seen[index] {
                self.seen[index] = true;
                self.initial[index] = *before;
                fixed.params[index] = theirs.fixed.params[index];
            }
        }
        for index in 0..theirs.words.len() {
            if !self.seen[index] && theirs.fixed.params[index] != 0 {
                fixed.params[index] = theirs.fixed.params[index];
            }
        }
    }

    /// Goes to the beginning.
    pub fn begin(&mut self) {
        self.state.words.clone_from(&self.initial);
        self.state.fixed.lists.clear();
        self.state.holds.clear();
    }

    /// Goes to a moment.
    pub fn load(&mut self, moment: &Moment) {
        self.state.words.clone_from(&moment.words);
        self.state.fixed.lists.clone_from(&moment.lists);
        self.state.holds.clone_from(&moment.holds);
    }

    /// Stores the present moment.
    pub fn save(&self, moment: &mut Moment) {
        moment.words.clone_from(&self.state.words);
        moment.lists.clone_from(&self.state.fixed.lists);
        moment.holds.clone_from(&self.state.holds);
    }

    /// How many outcomes an operation has now; none means that it is blocked.
    pub fn choices(&self, op: &Operation, thread: ThreadId) -> u32 {
        primitives::choices(op, thread, &self.state)
    }

    /// The footprint that an operation has now.
    pub fn footprint(&self, op: &Operation, thread: ThreadId, choice: u32, out: &mut Footprint) {
        primitives::present_footprint(op, thread, choice, &self.state, out);
    }

    /// Applies an operation; `None` if what follows is beyond anything that was seen.
    pub fn apply(&mut self, op: &Operation, thread: ThreadId, choice: u32) -> Option<Outcome> {
        let (outcome, _) = primitives::apply(op, thread, choice, &mut self.state);
        if let Operation::Send { channel, .. } | Operation::Receive { channel, .. } = *op
            && let Some(message) = outcome.message()
        {
            let (capacity, next) = (self.state.fixed.param(channel), u64::from(message) + 1);
            let next = if matches!(capacity, 0 | u64::MAX) { next } else { next % capacity };
            if self.state.fixed.parts[channel.index()].len() as u64 <= next {
                return None;
            }
        }
        Some(outcome)
    }

    /// The word of an object.
    pub fn word(&self, object: ObjectId) -> u64 {
        self.state.word(object)
    }

    /// Changes the word of an object whose state the program decides.
    pub fn set_word(&mut self, object: ObjectId, word: u64) {
        self.state.set(object, word);
    }

    /// All words.
    pub fn words(&self) -> &[u64] {
        &self.state.words
    }

    /// The threads that wait in a queue.
    pub fn waiters(&self, queue: ObjectId) -> &[ThreadId] {
        self.state.fixed.waiters(self.state.word(queue))
    }
}

/// Of each pair of lists, the longer one.
fn take_longer<T: Clone>(ours: &mut Vec<Vec<T>>, theirs: &[Vec<T>]) {
    if ours.len() < theirs.len() {
        ours.resize_with(theirs.len(), Vec::new);
    }
    for (ours, theirs) in ours.iter_mut().zip(theirs).filter(|(o, t)| o.len() < t.len()) {
        ours.clone_from(theirs);
    }
}
