//! Happens-before: which steps of an execution are ordered, whichever execution of its class is looked at.
//!
//! Two relations have that name. [`HappensBefore`] orders *steps*: those of one thread, those that are dependent by their footprints, and
//! what follows from both. Its linearisations are the executions of the class (Mazurkiewicz trace), so reversing one of its
//! [races](HappensBefore::races) leads to another class. [`Synchronisation`] is what the program may rely on by the memory orderings that
//! it asks for. It is contained in the first one: a relaxed load comes after the store that it sees, but learns nothing from it.
//!
//! Both are kept as vector clocks (Mattern, "Virtual time and global states of distributed systems"): step `i` happens before step `j` if
//! the clock of `j` is beyond `i` for the thread of `i`.

mod synchronisation;

pub use synchronisation::Synchronisation;

use crate::clock::Clocks;
use crate::execution::Execution;
use crate::footprint::{Access, Footprint};
use crate::names::ObjectId;
use alloc::vec::Vec;

const NONE: u32 = u32::MAX;

/// Links of one access to the accesses of the same object before it.
#[derive(Clone, Copy)]
struct Link {
    /// The step that made this access.
    step: u32,
    /// The access before it.
    previous: u32,
    /// The write before it.
    previous_write: u32,
    /// The access after it.
    next: u32,
}

/// Happens-before of the steps of one execution, its races, and the accesses to each object.
///
/// Consecutive executions of a depth-first search share a prefix, so [`Self::update`] only looks at the steps behind it. Going through the
/// possible predecessors of a step from the latest to the earliest leaves exactly its races.
#[derive(Default)]
pub struct HappensBefore {
    clocks: Clocks,
    /// The step of the same thread before each step, or that spawned the thread.
    parents: Vec<u32>,
    /// Threads of the steps.
    threads: Vec<u32>,
    /// The steps of each thread, in order.
    own: Vec<Vec<u32>>,
    links: Vec<Link>,
    /// The first link of each step.
    first_links: Vec<u32>,
    /// The last access, and the last write, of each object.
    heads: Vec<(u32, u32)>,
    accesses: Vec<Access>,
    /// The races of each step, in one list.
    races: Vec<u32>,
    race_ends: Vec<u32>,
    /// Steps that depend on everything.
    everything: Vec<u32>,
    candidates: Vec<u32>,
}

impl HappensBefore {
    /// Takes in `execution`, of which the first `kept` steps are those of the last one.
    pub fn update(&mut self, execution: &Execution, kept: usize) {
        let width = execution.spawned_by.len();
        let kept = if width > self.clocks.width() {
            self.own.resize_with(width, Vec::new);
            self.truncate(0);
            self.clocks.reset(width);
            0
        } else {
            kept.min(self.threads.len())
        };
        self.truncate(kept);
        let objects = execution.state.object_count();
        if self.heads.len() < objects {
            self.heads.resize(objects, (NONE, NONE));
        }
        self.reserve(execution.steps.len() - kept, execution.accesses.len());
        for step in kept..execution.steps.len() {
            self.push(execution, step);
        }
    }

    /// Makes room for more steps, and for this many accesses in all. Searches are often so short that lists that grow by and by would
    /// take a good part of their time.
    fn reserve(&mut self, steps: usize, accesses: usize) {
        let more = accesses.saturating_sub(self.links.len());
        self.links.reserve(more);
        self.accesses.reserve(more);
        self.threads.reserve(steps);
        self.first_links.reserve(steps);
        self.parents.reserve(steps);
        self.race_ends.reserve(steps);
    }

    fn truncate(&mut self, kept: usize) {
        while self.threads.len() > kept {
            let step = self.threads.len() - 1;
            self.own[self.threads[step] as usize].pop();
            while self.links.last().is_some_and(|l| l.step as usize == step) {
                let access = self.links.len() - 1;
                let link = self.links[access];
                if link.previous != NONE {
                    self.links[link.previous as usize].next = NONE;
                }
                if let Some(head) = self.heads.get_mut(self.accesses[access].object().index()) {
                    *head = (link.previous, link.previous_write);
                }
                self.links.pop();
                self.accesses.pop();
            }
            if self.everything.last() == Some(&(step as u32)) {
                self.everything.pop();
            }
            self.threads.pop();
            self.first_links.pop();
            self.parents.pop();
            self.race_ends.pop();
        }
        self.clocks.truncate(kept);
        self.races.truncate(self.race_ends.last().copied().unwrap_or(0) as usize);
    }

    fn push(&mut self, execution: &Execution, step: usize) {
        let s = &execution.steps[step];
        let thread = s.thread.index();
        let parent = self.own[thread].last().copied().unwrap_or(execution.spawned_by[thread]);
        self.clocks.push((parent != NONE).then_some(parent as usize));
        self.clocks.set(step, thread, step as u32 + 1);
        let footprint = execution.footprint(step);

        let mut candidates = core::mem::take(&mut self.candidates);
        candidates.clear();
        candidates.extend(self.everything.last());
        if footprint.first() == Some(&Access::EVERYTHING) {
            candidates.extend(self.own.iter().filter_map(|own| own.last()));
        }
        for access in footprint.iter().filter(|a| **a != Access::EVERYTHING) {
            let (last, last_write) = self.heads[access.object().index()];
            if access.is_write() {
                let mut at = last;
                while at != NONE {
                    candidates.push(self.links[at as usize].step);
                    if at == last_write {
                        break;
                    }
                    at = self.links[at as usize].previous;
                }
            } else if last_write != NONE {
                candidates.push(self.links[last_write as usize].step);
            }
        }
        if candidates.len() > 1 {
            candidates.sort_unstable_by(|a, b| b.cmp(a));
            candidates.dedup();
        }
        for &event in &candidates {
            let other = self.threads[event as usize] as usize;
            if other != thread && self.clocks.at(step, other) <= event {
                self.races.push(event);
                self.clocks.join_last(event as usize);
            }
        }
        self.candidates = candidates;
        self.race_ends.push(self.races.len() as u32);

        self.first_links.push(self.links.len() as u32);
        for access in footprint {
            if *access == Access::EVERYTHING {
                self.everything.push(step as u32);
                continue;
            }
            let head = &mut self.heads[access.object().index()];
            let number = self.links.len() as u32;
            if head.0 != NONE {
                self.links[head.0 as usize].next = number;
            }
            self.links.push(Link { step: step as u32, previous: head.0, previous_write: head.1, next: NONE });
            self.accesses.push(*access);
            *head = (number, if access.is_write() { number } else { head.1 });
        }
        self.threads.push(thread as u32);
        self.parents.push(parent);
        self.own[thread].push(step as u32);
    }

    /// What a step touched.
    pub fn footprint(&self, step: usize) -> Footprint {
        let everything = self.everything.binary_search(&(step as u32)).is_ok();
        let first = self.first_links[step] as usize;
        let until = self.first_links.get(step + 1).map_or(self.links.len(), |next| *next as usize);
        let accesses = self.accesses[first..until].iter().copied();
        everything.then_some(Access::EVERYTHING).into_iter().chain(accesses).collect()
    }

    /// Number of steps.
    #[inline]
    pub fn len(&self) -> usize {
        self.threads.len()
    }

    /// Whether there is no step.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.threads.is_empty()
    }

    /// The thread of a step.
    #[inline]
    pub fn thread(&self, step: usize) -> usize {
        self.threads[step] as usize
    }

    /// Whether step `i` is `j` or happens before it.
    #[inline]
    pub fn happens_before(&self, i: usize, j: usize) -> bool {
        self.clocks.at(j, self.threads[i] as usize) > i as u32
    }

    /// Lists the steps between `first` and `end` that do not happen after `first`, in order. Those of each thread come before those that
    /// do, so nothing else is looked at.
    pub fn unaffected(&self, first: usize, end: usize, out: &mut Vec<u32>) {
        out.clear();
        let mut sources = 0;
        for own in &self.own {
            if own.last().is_none_or(|last| *last as usize <= first) {
                continue;
            }
            let from = own.partition_point(|e| *e as usize <= first);
            let stay = own[from..].partition_point(|e| (*e as usize) < end && !self.happens_before(first, *e as usize));
            out.extend_from_slice(&own[from..from + stay]);
            sources += usize::from(stay > 0);
        }
        if sources > 1 {
            out.sort_unstable();
        }
    }

    /// What the clock of a step says of a thread: the number behind the last of its steps that is `step` or happens before it, or zero.
    #[inline]
    pub fn clock(&self, step: usize, thread: usize) -> u32 {
        self.clocks.at(step, thread)
    }

    /// Number of threads that clocks know.
    #[inline]
    pub fn width(&self) -> usize {
        self.clocks.width()
    }

    /// The step of the same thread before `step`, or that spawned the thread.
    #[inline]
    pub fn parent(&self, step: usize) -> Option<usize> {
        let parent = self.parents[step];
        (parent != NONE).then_some(parent as usize)
    }

    /// The last step of a thread, or the one that spawned it.
    pub fn last_of(&self, thread: usize, execution: &Execution) -> Option<usize> {
        let last = self.own[thread].last().copied().unwrap_or(execution.spawned_by[thread]);
        (last != NONE).then_some(last as usize)
    }

    /// The steps of other threads that happen immediately before `step`, with nothing in between, latest first.
    #[inline]
    pub fn races(&self, step: usize) -> &[u32] {
        let start = if step == 0 { 0 } else { self.race_ends[step - 1] };
        &self.races[start as usize..self.race_ends[step] as usize]
    }

    /// The accesses to an object, latest first.
    #[inline]
    pub fn accesses(&self, object: ObjectId) -> impl Iterator<Item = ObjectAccess> + '_ {
        self.accesses_from(self.heads.get(object.index()).map_or(NONE, |h| h.0))
    }

    /// The number of a step's access to an object.
    #[inline]
    fn link(&self, step: usize, object: ObjectId) -> Option<usize> {
        let first = self.first_links[step] as usize;
        let mut own = (first..self.links.len()).take_while(|&l| self.links[l].step as usize == step);
        own.find(|&l| self.accesses[l].object() == object)
    }

    /// The access of a step to an object, and the next step that touches it.
    #[inline]
    pub fn access(&self, step: usize, object: ObjectId) -> Option<(ObjectAccess, Option<usize>)> {
        let link = self.link(step, object)?;
        let next = self.links[link].next;
        let next = (next != NONE).then(|| self.links[next as usize].step as usize);
        Some((ObjectAccess { step, write: self.accesses[link].is_write() }, next))
    }

    /// The accesses to an object before those of `step`, latest first.
    #[inline]
    pub fn accesses_before(&self, object: ObjectId, step: usize) -> impl Iterator<Item = ObjectAccess> + '_ {
        // A step that touches the object itself has a link to what was before; no need to walk there from the end.
        let start = match self.link(step, object) {
            Some(link) => self.links[link].previous,
            None => self.heads.get(object.index()).map_or(NONE, |h| h.0),
        };
        self.accesses_from(start).skip_while(move |a| a.step >= step)
    }

    #[inline]
    fn accesses_from(&self, start: u32) -> impl Iterator<Item = ObjectAccess> + '_ {
        let mut at = start;
        core::iter::from_fn(move || {
            if at == NONE {
                return None;
            }
            let link = self.links[at as usize];
            let access = ObjectAccess { step: link.step as usize, write: self.accesses[at as usize].is_write() };
            at = link.previous;
            Some(access)
        })
    }
}

/// One access to an object.
#[derive(Clone, Copy, Debug)]
pub struct ObjectAccess {
    /// The step that made it.
    pub step: usize,
    /// Whether it writes.
    pub write: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::execution::{Site, Transition};
    use crate::footprint::dependent;
    use crate::names::{ObjectKind, ThreadId};
    use crate::operation::{MemoryOrder, Operation};
    use crate::{Arbiter, Options};
    use alloc::vec;

    const THREADS: usize = 4;
    const STEPS: usize = 4;

    /// Numbers that look random (splitmix64).
    struct Random(u64);

    impl Random {
        fn next(&mut self) -> u64 {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            mixed ^ mixed >> 27
        }
    }

    /// Runs threads that load and store two cells, by the bits of a number: the schedule begins with a prefix and goes on at random.
    fn run(arbiter: &mut Arbiter, program: u64, prefix: &[Transition], random: &mut Random) {
        arbiter.begin();
        let order = MemoryOrder::SeqCst;
        let cells = [0; 2].map(|_| arbiter.create(ThreadId::MAIN, ObjectKind::Atomic, 0));
        let mut done = [0; THREADS + 1];
        let child = arbiter.next_child(ThreadId::MAIN);
        let mut spawned = 1;
        arbiter.announce(ThreadId::MAIN, Operation::Spawn { child }, Site(0));
        let mut enabled = Vec::new();
        for step in 0.. {
            arbiter.enabled(&mut enabled);
            if enabled.is_empty() {
                break;
            }
            let transition = match prefix.get(step) {
                Some(planned) => *planned,
                None => enabled[(random.next() >> 8) as usize % enabled.len()],
            };
            arbiter.apply(transition);
            let op = arbiter.execution().steps.last().map(|s| s.op);
            let mut movers = vec![transition.thread];
            if let Some(Operation::Spawn { child }) = op {
                movers.push(child);
            }
            if op == Some(Operation::Exit) {
                continue;
            }
            for thread in movers {
                let t = thread.index();
                let op = if t == 0 && spawned < THREADS {
                    spawned += 1;
                    Operation::Spawn { child: arbiter.next_child(ThreadId::MAIN) }
                } else if t == 0 || done[t] == STEPS {
                    Operation::Exit
                } else {
                    let bits = program >> (2 * (t * STEPS + done[t]) % 61);
                    done[t] += 1;
                    let cell = cells[(bits & 1) as usize];
                    if bits & 2 == 0 { Operation::Load { cell, order } } else { Operation::Store { cell, order } }
                };
                arbiter.announce(thread, op, Site(0));
            }
        }
        arbiter.finish();
    }

    /// Happens-before by definition: the transitive closure of program order, spawning and dependence.
    #[allow(clippy::needless_range_loop)]
    fn closure(execution: &Execution) -> Vec<Vec<bool>> {
        let len = execution.steps.len();
        let mut before = vec![vec![false; len]; len];
        for j in 0..len {
            for i in 0..j {
                let (a, b) = (&execution.steps[i], &execution.steps[j]);
                let spawns = matches!(a.op, Operation::Spawn { child } if child == b.thread);
                let direct = a.thread == b.thread || spawns;
                before[i][j] = direct || dependent(execution.footprint(i), execution.footprint(j));
            }
        }
        for k in 0..len {
            for i in 0..len {
                for j in 0..len {
                    before[i][j] |= before[i][k] && before[k][j];
                }
            }
        }
        before
    }

    #[test]
    #[allow(clippy::needless_range_loop)] // Numbers of steps say it better.
    fn clocks_and_races_agree_with_their_definitions() {
        for number in 0..40 {
            let mut random = Random(number);
            let program = random.next();
            let mut arbiter = Arbiter::new(Options::default());
            let mut order = HappensBefore::default();
            let mut last: Vec<Transition> = Vec::new();
            for _ in 0..20 {
                // Executions have beginnings in common, as those of a search have.
                let kept = if last.is_empty() { 0 } else { random.next() as usize % last.len() };
                run(&mut arbiter, program, &last[..kept], &mut random);
                let execution = arbiter.execution();
                order.update(execution, kept);
                last = execution.schedule();
                let before = closure(execution);
                for j in 0..execution.steps.len() {
                    for i in 0..j {
                        assert_eq!(order.happens_before(i, j), before[i][j], "{i} before {j}");
                        let between = (i + 1..j).any(|k| before[i][k] && before[k][j]);
                        let other = execution.steps[i].thread != execution.steps[j].thread;
                        let spawns = matches!(execution.steps[i].op, Operation::Spawn { .. });
                        let race = other && !spawns && before[i][j] && !between;
                        assert_eq!(order.races(j).contains(&(i as u32)), race, "race of {i} and {j}");
                    }
                }
            }
        }
    }
}
