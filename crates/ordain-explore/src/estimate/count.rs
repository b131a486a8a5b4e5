//! Counting what is left: the classes of schedules that extend the states on the search's path and that no sleeper covers.
//!
//! A state with a sleep set stands for the classes that begin there and not with a sleeper. Going through enabled transitions in
//! some order, each put to sleep behind the next, visits each class once: so the number of classes is a sum over the leaves of
//! that tree, and states that are alike (same locations, words and sleepers) need to be looked at once, with the sum of their weights.
//! Two shortcuts keep the tree small: a transition that nothing else in the future depends on is taken alone, and a state with
//! a sleeper that nothing can wake is worth nothing.
//!
//! All states of one depth form a *generation*. If it grows too large, states are dropped at random and the weights of
//! the others raised so that the expected sum stays the same (the idea of stratified sampling of search trees: Knuth,
//! Chen). If that never happens, the number is exact for the sketch.

use super::course::Course;
use super::numbers::{add_logs, exp, ln};
use super::promise::{Lineage, NOBODY, Promise, kind};
use super::sketch::{Past, Place, Seen, Sketch, is_blind};
use super::{Effort, Path};
use crate::hash::{Map, mix};
use crate::plan::Planned;
use crate::rng::Rng;
use crate::wakeup::Sleeper;
use alloc::vec::Vec;
use ordain_model::{Access, Footprint, Moment, Operation, Outcome, ThreadId, Transition, affects};
use smallvec::SmallVec;

/// States between two questions whether it is over.
const ASKED: u64 = 64;

/// A live thread in an imagined state.
#[derive(Clone, Copy)]
struct Thread {
    id: ThreadId,
    place: Place,
    /// What it has announced; `u32::MAX` if that is not known.
    which: u32,
    last: Outcome,
    moves: u32,
    course: Course,
    /// What it saw last.
    seen: Seen,
}

impl Thread {
    fn new(id: ThreadId, place: Place) -> Self {
        let (course, seen) = (Course::new(id), Seen::default());
        Self { id, place, which: u32::MAX, last: Outcome::DONE, moves: 0, course, seen }
    }
}

/// States that are alike.
#[derive(Clone)]
struct Group {
    /// Logarithm of how many classes of prefixes lead here.
    weight: f64,
    moment: Moment,
    threads: SmallVec<[Thread; 6]>,
    sleep: SmallVec<[Sleeper; 2]>,
    pasts: Vec<Past>,
    /// The group that it came from.
    parent: u32,
    kind: u8,
}

impl Group {
    fn is_asleep(&self, transition: Transition) -> bool {
        self.sleep.iter().any(|s| s.transition == transition)
    }
}

/// Something that can be done.
struct Step {
    /// The place of the thread among the threads of the group.
    number: usize,
    choice: u32,
    op: Operation,
    footprint: Footprint,
}

type Enabled = SmallVec<[Step; 6]>;

/// What a count came to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Count {
    /// The logarithm of the number; minus infinity if nothing is left.
    pub(super) log: f64,
    /// Whether nothing was left to chance.
    pub(super) exact: bool,
    /// Whether it came to an end before too much was looked at.
    pub(super) finished: bool,
}

/// Counts on a sketch.
pub(super) struct Counter<'a> {
    sketch: &'a mut Sketch,
    /// Whether independent steps commute; if not, schedules are counted, not classes.
    reduces: bool,
    /// Most groups of a generation.
    most: usize,
    rng: Rng,
    promise: &'a Promise,
    pub(super) lineage: Lineage,
    total: f64,
    exact: bool,
    /// States looked at, and how many may be.
    pub(super) work: u64,
    limit: u64,
    effort: Effort<'a>,
    /// States after which it is asked again whether it is over.
    ask: u64,
    is_over: bool,
    /// The groups of each depth, counted from the first source.
    generations: Vec<Map<Group>>,
    expected: SmallVec<[(u32, f64); 2]>,
}

impl<'a> Counter<'a> {
    pub(super) fn new(
        sketch: &'a mut Sketch,
        reduces: bool,
        most: usize,
        rng: Rng,
        promise: &'a Promise,
        limit: u64,
        effort: Effort<'a>,
    ) -> Self {
        sketch.look_ahead();
        Self {
            sketch,
            reduces,
            most,
            rng,
            promise,
            lineage: Lineage::default(),
            total: f64::NEG_INFINITY,
            exact: true,
            work: 0,
            limit,
            effort,
            ask: 0,
            is_over: false,
            generations: Vec::new(),
            expected: SmallVec::new(),
        }
    }

    /// Counts what is left beside the path.
    pub(super) fn count(&mut self, path: &Path<'_>) -> Count {
        self.walk(path);
        let limit = self.sketch.longest * 3 / 2 + 16;
        let mut depth = 0;
        while depth < self.generations.len() {
            let generation = core::mem::take(&mut self.generations[depth]);
            if depth > limit {
                // Threads that go round for ever, in the sketch only.
                self.exact = false;
                break;
            }
            // In a fixed order, so that the same seed gives the same count.
            let mut groups: Vec<(u64, Group)> = generation.into_iter().collect();
            groups.sort_unstable_by_key(|g| g.0);
            self.thin_out(&mut groups);
            for (_, group) in &groups {
                self.branch(group, depth);
                if self.is_spent() {
                    break;
                }
            }
            if self.is_spent() {
                break;
            }
            depth += 1;
        }
        Count { log: self.total, exact: self.exact, finished: !self.is_spent() }
    }

    /// Whether nothing more may be looked at.
    fn is_spent(&mut self) -> bool {
        if self.work >= self.ask {
            self.ask = self.work + ASKED;
            self.is_over |= self.effort.is_over();
        }
        self.is_over || self.work > self.limit
    }

    /// Drops groups at random if there are too many.
    fn thin_out(&mut self, groups: &mut Vec<(u64, Group)>) {
        if groups.len() <= self.most {
            return;
        }
        self.exact = false;
        // Groups above a threshold are kept as they are; the others are kept with a chance in proportion to their weight, and then weigh as
        // much as the threshold. The threshold is such that the expected number is what is wanted.
        let promise = self.promise;
        let score = |group: &Group| group.weight + promise.of(group.kind);
        let mut scores: Vec<f64> = groups.iter().map(|g| score(&g.1)).collect();
        scores.sort_unstable_by(|a, b| b.total_cmp(a));
        let mut below = scores.iter().fold(f64::NEG_INFINITY, |sum, s| add_logs(sum, *s));
        let mut threshold = below - ln(self.most as f64);
        for (kept, score) in scores.iter().enumerate().take(self.most - 1) {
            if *score < threshold {
                break;
            }
            below = sub_logs(below, *score);
            threshold = below - ln((self.most - kept - 1) as f64);
        }
        // One random number decides for all, so that few or many are kept only by little (systematic sampling).
        let mut position = self.unit();
        groups.retain_mut(|(_, group)| {
            let score = score(group);
            if score >= threshold {
                return true;
            }
            position += exp(score - threshold);
            if position >= 1.0 {
                position -= 1.0;
                group.weight += threshold - score;
                true
            } else {
                false
            }
        });
    }

    /// A random number below one.
    fn unit(&mut self) -> f64 {
        (self.rng.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Makes the groups that stand for what is left beside the path.
    fn walk(&mut self, path: &Path<'_>) {
        let mut group = Group {
            weight: 0.0,
            moment: Moment::default(),
            threads: SmallVec::new(),
            sleep: SmallVec::new(),
            pasts: Vec::new(),
            parent: NOBODY,
            kind: 0,
        };
        self.sketch.imagined.begin();
        let Some(place) = self.sketch.root(ThreadId::MAIN) else { return };
        group.threads.push(Thread::new(ThreadId::MAIN, place));
        self.announce_known(&mut group, path.prefix, 0);
        for (depth, sleep) in path.sleep.iter().enumerate() {
            if self.is_spent() {
                return;
            }
            self.sketch.imagined.save(&mut group.moment);
            let mut source = group.clone();
            source.sleep = sleep.iter().cloned().collect();
            if depth == path.kept {
                self.settle(source, depth);
                break;
            }
            let Some(planned) = path.prefix.get(depth) else { break };
            let Transition { thread, choice } = planned.transition;
            let Some(number) = group.threads.iter().position(|t| t.id == thread) else { break };
            let entry = group.threads[number];
            if entry.which == u32::MAX {
                break;
            }
            let op = self.operation(&entry);
            if self.sketch.imagined.choices(&op, thread) <= choice {
                break;
            }
            let mut footprint = Footprint::new();
            self.sketch.imagined.footprint(&op, thread, choice, &mut footprint);
            source.sleep.push(Sleeper { transition: planned.transition, footprint: footprint.clone() });
            self.settle(source, depth);
            self.sketch.imagined.load(&group.moment);
            if self.step(&mut group, number, choice, &footprint).is_none() {
                break;
            }
            self.announce_known(&mut group, path.prefix, depth + 1);
        }
    }

    /// Fills in what threads have announced that are to move within the prefix, or will do what is most likely.
    fn announce_known(&mut self, group: &mut Group, prefix: &[Planned], from: usize) {
        for thread in group.threads.iter_mut().filter(|t| t.which == u32::MAX) {
            let known = prefix[from.min(prefix.len())..].iter().find(|p| p.transition.thread == thread.id);
            let known = known.and_then(|p| p.op).and_then(|op| self.sketch.find(thread.place, &op));
            thread.which = known.unwrap_or_else(|| likely(self.sketch, thread.place, thread.seen));
        }
    }

    /// What a thread is about to do.
    fn operation(&self, thread: &Thread) -> Operation {
        let op = self.sketch.locations[thread.place as usize].alternatives[thread.which as usize].op;
        match op {
            Operation::SendTaken { channel, message, wait } => {
                Operation::SendTaken { channel, message: thread.last.message().unwrap_or(message), wait }
            }
            op => op,
        }
    }

    /// Takes a step in the state that the sketch imagines: `group` follows, but for what the thread announces next. Gives what the thread saw;
    /// `None` if the step leads beyond what is known.
    fn step(&mut self, group: &mut Group, number: usize, choice: u32, footprint: &[Access]) -> Option<Seen> {
        let entry = group.threads[number];
        let op = self.operation(&entry);
        let seen = if self.sketch.is_ambiguous() {
            let seen = if is_blind(&op) { entry.seen } else { self.sketch.look(footprint, &group.pasts) };
            Sketch::sign(&op, footprint, entry.id, entry.moves + 1, &mut group.pasts);
            seen
        } else {
            Seen::default()
        };
        let outcome = self.sketch.imagined.apply(&op, entry.id, choice)?;
        let mut course = entry.course;
        let next = self.sketch.follow(entry.id, &mut course, entry.place, entry.which, outcome, &entry.seen);
        match next {
            Some(place) => {
                let moves = entry.moves + 1;
                group.threads[number] =
                    Thread { id: entry.id, place, which: u32::MAX, last: outcome, moves, course, seen };
            }
            None => {
                group.threads.remove(number);
            }
        }
        match op {
            Operation::Spawn { child } => {
                if let Some(place) = self.sketch.root(child) {
                    let at = group.threads.partition_point(|t| t.id < child);
                    group.threads.insert(at, Thread::new(child, place));
                }
            }
            Operation::End | Operation::Crash => group.threads.clear(),
            _ => {}
        }
        Some(seen)
    }

    /// Whether a sleeper can never be woken: nobody who goes on, or will be woken, does something that depends on it.
    fn is_doomed(&self, group: &Group, enabled: &Enabled) -> bool {
        if group.sleep.is_empty() {
            return false;
        }
        // A thread that has another outcome to try goes on, and is then no sleeper any more.
        let mut awake: SmallVec<[bool; 8]> = (0..group.threads.len())
            .map(|number| {
                let id = group.threads[number].id;
                !group.sleep.iter().any(|s| s.transition.thread == id)
                    || enabled.iter().any(|step| {
                        step.number == number && !group.is_asleep(Transition { thread: id, choice: step.choice })
                    })
            })
            .collect();
        let is_awake = |id: ThreadId| group.threads.iter().position(|t| t.id == id).is_some_and(|n| awake[n]);
        let mut woken: SmallVec<[bool; 8]> = group.sleep.iter().map(|s| is_awake(s.transition.thread)).collect();
        loop {
            let mut more = false;
            for (sleeper, woken) in group.sleep.iter().zip(&mut woken).filter(|(_, woken)| !**woken) {
                let id = sleeper.transition.thread;
                let wakes = group.threads.iter().zip(&awake).any(|(t, awake)| {
                    *awake && t.id != id && self.sketch.future(t.place, t.which).meets(id, &sleeper.footprint)
                });
                if wakes {
                    *woken = true;
                    more = true;
                    if let Some(number) = group.threads.iter().position(|t| t.id == id) {
                        awake[number] = true;
                    }
                }
            }
            if !more {
                return woken.iter().any(|woken| !woken);
            }
        }
    }

    /// Whether something that a thread other than `thread` may do depends on the footprint.
    fn others_touch(&self, thread: ThreadId, footprint: &[Access], group: &Group) -> bool {
        group.threads.iter().any(|t| t.id != thread && self.sketch.future(t.place, t.which).meets(thread, footprint))
    }

    /// Whether a step can be taken before all others without losing a class.
    fn is_alone(&self, thread: ThreadId, op: &Operation, footprint: &[Access], group: &Group) -> bool {
        // Where there are signals, all that threads do depends on them.
        let free = match *op {
            Operation::Spawn { .. } | Operation::Start | Operation::Sleep | Operation::Yield => footprint.is_empty(),
            // Whoever waits for it cannot go on before.
            Operation::Unlock { lock } | Operation::ReadUnlock { lock } | Operation::WriteUnlock { lock } => {
                footprint.len() == 1 && self.sketch.is_only_waited_for(lock)
            }
            Operation::Exit => footprint.len() == 1 && self.sketch.is_only_waited_for(footprint[0].object()),
            _ => false,
        };
        let may_end =
            || group.threads.iter().any(|t| t.id != thread && self.sketch.future(t.place, t.which).ends_before(thread));
        if free && !may_end() {
            return true;
        }
        !self.others_touch(thread, footprint, group)
    }

    /// Lists what can be done in the imagined state.
    fn enabled(&self, group: &Group) -> Enabled {
        let mut enabled = Enabled::new();
        for (number, thread) in group.threads.iter().enumerate().filter(|(_, t)| t.which != u32::MAX) {
            let op = self.operation(thread);
            for choice in 0..self.sketch.imagined.choices(&op, thread.id) {
                let mut footprint = Footprint::new();
                self.sketch.imagined.footprint(&op, thread.id, choice, &mut footprint);
                enabled.push(Step { number, choice, op, footprint });
            }
        }
        enabled
    }

    /// Lets a group go on as long as there is only one way, and puts it where ways part. The state must be the one that is imagined.
    fn settle(&mut self, mut group: Group, mut depth: usize) {
        let limit = self.sketch.longest * 3 / 2 + 16;
        loop {
            self.work += 1;
            if self.is_spent() {
                return;
            }
            let mut enabled = self.enabled(&group);
            if depth > limit {
                self.exact = false;
                return;
            }
            if enabled.is_empty() {
                self.arrive(&group);
                return;
            }
            if self.reduces && self.is_doomed(&group, &enabled) {
                return;
            }
            let alone = enabled.iter().position(|step| {
                enabled.len() == 1
                    || self.reduces && {
                        let id = group.threads[step.number].id;
                        self.is_alone(id, &step.op, &step.footprint, &group)
                    }
            });
            let alone = alone.filter(|alone| {
                let number = enabled[*alone].number;
                enabled.iter().filter(|e| e.number == number).count() == 1
            });
            let Some(alone) = alone else {
                group.kind = kind(group.sleep.len(), self.far_sleepers(&group, &enabled));
                break;
            };
            let number = enabled[alone].number;
            let id = group.threads[number].id;
            let step = enabled.swap_remove(alone);
            let transition = Transition { thread: id, choice: step.choice };
            if group.is_asleep(transition) {
                return;
            }
            let Some(seen) = self.step(&mut group, number, step.choice, &step.footprint) else {
                self.arrive(&group);
                return;
            };
            let reduces = self.reduces;
            group.sleep.retain(|s| reduces && s.survives(transition, &step.footprint));
            depth += 1;
            if !self.announce(&mut group, number, id, seen, depth) {
                return;
            }
        }
        self.put(group, depth);
    }

    /// Counts a leaf.
    fn arrive(&mut self, group: &Group) {
        self.total = add_logs(self.total, group.weight);
        self.lineage.credit(group.parent, group.weight);
    }

    /// How many sleepers only a step other than the next of some thread can wake.
    fn far_sleepers(&self, group: &Group, enabled: &Enabled) -> usize {
        let near = |s: &&Sleeper| {
            enabled.iter().any(|step| {
                group.threads[step.number].id != s.transition.thread && affects(&step.footprint, &s.footprint)
            })
        };
        group.sleep.iter().filter(|s| !near(s)).count()
    }

    /// Adds a group to its generation.
    fn put(&mut self, mut group: Group, depth: usize) {
        self.sketch.imagined.save(&mut group.moment);
        let key = self.key(&group);
        let position = self.unit();
        if self.generations.len() <= depth {
            self.generations.resize_with(depth + 1, Map::default);
        }
        match self.generations[depth].entry(key) {
            hashbrown::hash_map::Entry::Occupied(mut known) => {
                let known = known.get_mut();
                let sum = add_logs(known.weight, group.weight);
                if position < exp(group.weight - sum) {
                    known.parent = group.parent;
                }
                known.weight = sum;
            }
            hashbrown::hash_map::Entry::Vacant(place) => {
                place.insert(group);
            }
        }
    }

    /// Takes each way that parts from a group.
    fn branch(&mut self, group: &Group, depth: usize) {
        let node = self.lineage.add(group.parent, depth, group.kind, group.weight);
        self.sketch.imagined.load(&group.moment);
        let mut enabled = self.enabled(group);
        if self.reduces {
            let alone = enabled
                .iter()
                .position(|step| self.is_alone(group.threads[step.number].id, &step.op, &step.footprint, group));
            if let Some(alone) = alone {
                let number = enabled[alone].number;
                enabled.retain(|step| step.number == number);
            }
        }
        let mut sleep = group.sleep.clone();
        let mut first = true;
        for step in &enabled {
            let id = group.threads[step.number].id;
            let transition = Transition { thread: id, choice: step.choice };
            if group.is_asleep(transition) {
                continue;
            }
            if !core::mem::take(&mut first) {
                self.sketch.imagined.load(&group.moment);
            }
            let mut child = Group {
                weight: group.weight,
                moment: Moment::default(),
                threads: group.threads.clone(),
                sleep: SmallVec::new(),
                pasts: group.pasts.clone(),
                parent: node,
                kind: 0,
            };
            match self.step(&mut child, step.number, step.choice, &step.footprint) {
                Some(seen) => {
                    if self.reduces {
                        child.sleep.extend(sleep.iter().filter(|s| s.survives(transition, &step.footprint)).cloned());
                    }
                    if self.announce(&mut child, step.number, id, seen, depth + 1) {
                        self.settle(child, depth + 1);
                    }
                }
                None => self.arrive(&child),
            }
            sleep.push(Sleeper { transition, footprint: step.footprint.clone() });
        }
    }

    /// Lets the thread that moved announce what it does next, and threads that began. False if that is not certain: then the
    /// group has been put into its generation, once for each possibility.
    fn announce(&mut self, group: &mut Group, number: usize, id: ThreadId, seen: Seen, depth: usize) -> bool {
        for thread in group.threads.iter_mut().filter(|t| t.id != id && t.which == u32::MAX && t.moves == 0) {
            thread.which = likely(self.sketch, thread.place, Seen::default());
        }
        let Some(moved) = group.threads.get(number).filter(|t| t.id == id).copied() else { return true };
        let mut expected = core::mem::take(&mut self.expected);
        self.sketch.expect(moved.place, seen, &mut expected);
        let certain = expected.len() <= 1;
        if certain {
            group.threads[number].which = expected.first().map_or(u32::MAX, |e| e.0);
        } else {
            for (which, chance) in &expected {
                let mut group = group.clone();
                group.threads[number].which = *which;
                group.weight += ln(*chance);
                self.put(group, depth);
            }
        }
        self.expected = expected;
        certain
    }

    /// A hash of what makes groups alike. The state must be the one that is imagined.
    fn key(&self, group: &Group) -> u64 {
        let mut hash = 0;
        for thread in &group.threads {
            hash = mix(hash, u64::from(thread.id.0) << 32 | u64::from(thread.which));
            hash = mix(hash, u64::from(thread.place));
            if self.sketch.is_ambiguous() && self.sketch.is_seen_later(thread.place, thread.which) {
                hash = mix(hash, thread.seen[0]);
            }
        }
        let imagined = &self.sketch.imagined;
        for (i, word) in imagined.words().iter().enumerate() {
            if self.sketch.queues.get(i).copied().unwrap_or(false) {
                for waiter in imagined.waiters(ordain_model::ObjectId(i as u32)) {
                    hash = mix(hash, u64::from(waiter.0) + 7);
                }
                hash = mix(hash, 0x51);
            } else {
                hash = mix(hash, *word);
            }
        }
        // The order of sleepers does not matter.
        let sleepers = group.sleep.iter().map(|s| {
            let one = mix(u64::from(s.transition.thread.0) << 32 | u64::from(s.transition.choice), 0x5eed);
            s.footprint.iter().fold(one, |h, a| mix(h, u64::from(a.object().0) << 1 | u64::from(a.is_write())))
        });
        mix(hash, sleepers.fold(0, u64::wrapping_add))
    }
}

/// What a thread most likely does at a location; `u32::MAX` if nothing is known.
fn likely(sketch: &Sketch, place: Place, seen: Seen) -> u32 {
    let mut expected = SmallVec::new();
    sketch.expect(place, seen, &mut expected);
    expected.iter().max_by(|a, b| a.1.total_cmp(&b.1)).map_or(u32::MAX, |e| e.0)
}

/// The logarithm of a difference.
fn sub_logs(a: f64, b: f64) -> f64 {
    if b >= a { f64::NEG_INFINITY } else { a + ln(1.0 - exp(b - a)) }
}
