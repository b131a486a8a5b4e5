//! A sketch of the program: what each thread does next, as far as executions have shown.
//!
//! A thread goes from *location* to location: the places in the program at which it got something done, in order, and where it is
//! now. Waiting again, or trying in vain, leads back to where it was. Each location knows the operations that were announced
//! there. Where there was more than one, what the thread had seen last tells which one to expect: the words that it read and who
//! wrote them, or only the words, or else how often each was met. Programs whose threads always do the same are known after
//! one execution; others become known as the search goes on.

use super::course::Course;
use super::effect::{Change, Effect};
use super::kin::{self, Family, LAWS, Laws, reaction};
use super::touched::Touched;
use crate::hash::{Map, mix, mix_text};
use alloc::vec::Vec;
use ordain_model::{Access, End, Execution, Footprint, Imagined, ObjectId, Operation, Outcome, Site, ThreadId, Wait};
use smallvec::SmallVec;

/// The number of a location.
pub(super) type Place = u32;
/// More locations are not remembered.
const MOST_LOCATIONS: usize = 60_000;
/// More contexts are not remembered.
const MOST_CONTEXTS: usize = 400_000;

/// What a thread saw in its last step, in several ways: the words, who wrote them last, and what has been done to the objects before,
/// in whatever order. The first that was met before says what to expect. The last, bare values, is for laws and what is written.
pub(super) type Seen = [u64; 8];

/// What has been done to an object.
#[derive(Clone, Copy, Default)]
pub(super) struct Past {
    /// A sum over all changes, so that their order does not matter.
    changes: u64,
    /// Who changed it last, and in which of its steps.
    last: u64,
    who: u64,
}

/// One operation that was announced at a location.
#[derive(Clone)]
pub(super) struct Alternative {
    pub(super) op: Operation,
    site: Site,
    count: u32,
    /// Where the thread was afterwards.
    next: SmallVec<[Place; 2]>,
    effects: SmallVec<[(ObjectId, Effect); 1]>,
    touched: Touched,
    /// All that can follow, this step included.
    future: Touched,
}

/// What a thread has done, and what it may do then.
#[derive(Default)]
pub(super) struct Location {
    pub(super) alternatives: SmallVec<[Alternative; 1]>,
    /// Those that it has kin with.
    family: Family,
    /// How far a thread has come that is here.
    course: Course,
    /// Whether what the thread saw before decides what it does here, or behind steps that show it nothing.
    depends: bool,
    /// All that can follow.
    future: Touched,
}

/// The sketch.
#[derive(Default)]
pub(super) struct Sketch {
    pub(super) locations: Vec<Location>,
    /// Where each thread begins.
    roots: Vec<Option<Place>>,
    /// Locations by key.
    places: Map<Place>,
    /// The locations behind each site and outcome: the best guesses where a location is new.
    behind: Map<SmallVec<[Place; 2]>>,
    laws: Laws,
    /// What steps of the source write, wherever that was.
    writes: Map<Effect>,
    /// How often an alternative was met in a context.
    contexts: Map<u32>,
    pub(super) imagined: Imagined,
    /// Objects whose words are queues.
    pub(super) queues: Vec<bool>,
    /// Objects that threads not only wait for: somebody tries, or looks.
    peeked: Vec<bool>,
    /// Whether some thread does not always do the same.
    ambiguous: bool,
    /// Whether some location expects what was only done at others.
    borrows: bool,
    /// Whether threads go by more of what they read than that somebody had changed it. If not, values are not told apart: fewer states differ.
    exact: bool,
    pub(super) longest: usize,
    dirty: bool,
    /// Steps that were learned, and those of them that were not foreseen, recent ones counting more.
    pub(super) steps: f64,
    pub(super) surprises: f64,
    // Kept for the next time.
    at: Vec<Place>,
    courses: Vec<Course>,
    seen: Vec<Seen>,
    pasts: Vec<Past>,
    after: Vec<u64>,
    moves: Vec<u32>,
}

/// Whether a step shows its thread nothing: what it saw before is what it goes by.
pub(super) fn is_blind(op: &Operation) -> bool {
    matches!(
        op,
        Operation::Store { .. }
            | Operation::Unlock { .. }
            | Operation::ReadUnlock { .. }
            | Operation::WriteUnlock { .. }
            | Operation::Notify { .. }
            | Operation::Post { .. }
            | Operation::Unpark { .. }
            | Operation::Spawn { .. }
            | Operation::Start
            | Operation::Yield
            | Operation::Sleep
    )
}

/// Whether a step writes one value that the program decides.
fn writes_once(op: &Operation) -> bool {
    matches!(op, Operation::Store { .. } | Operation::Update { .. } | Operation::CompareExchange { .. })
}

/// Whether two announcements are the same step of a program.
fn same(a: &Operation, b: &Operation) -> bool {
    match (a, b) {
        (Operation::SendTaken { channel, wait, .. }, Operation::SendTaken { channel: other, wait: other_wait, .. }) => {
            channel == other && wait == other_wait
        }
        _ => a == b,
    }
}

/// The level at which it does not matter where the thread is: rounds of a loop are alike.
const ANYWHERE: usize = 5;
/// The level at which only matters whether somebody had changed what the thread saw.
const CHANGED: usize = 6;
/// Levels at which a location has experience of its own.
const LEVELS: usize = 7;

/// The law that goes by that.
const CHANGED_LAW: usize = 1;

/// What laws go by.
fn lawful(seen: &Seen) -> [u64; LAWS] {
    [seen[LEVELS], seen[CHANGED]]
}

/// The key of an alternative in a context.
fn context(place: Place, which: usize, alternative: &Alternative, level: usize, seen: u64) -> u64 {
    if level == ANYWHERE {
        let verb = mix_text(alternative.site.0, alternative.op.verb());
        return mix(mix(verb, seen), level as u64);
    }
    mix(mix(u64::from(place) << 32 | which as u64, seen), level as u64)
}

impl Sketch {
    /// Where a thread begins.
    pub(super) fn root(&self, thread: ThreadId) -> Option<Place> {
        self.roots.get(thread.index()).copied().flatten()
    }

    /// Whether it matters what threads have seen.
    pub(super) fn is_ambiguous(&self) -> bool {
        self.ambiguous || self.borrows
    }

    /// All that can follow a location, if this has been announced there.
    pub(super) fn future(&self, place: Place, which: u32) -> &Touched {
        let location = &self.locations[place as usize];
        location.alternatives.get(which as usize).map_or(&location.future, |a| &a.future)
    }

    /// Whether threads only ever wait for the object, so that who has it can give it back at any time.
    pub(super) fn is_only_waited_for(&self, object: ObjectId) -> bool {
        !self.peeked.get(object.index()).copied().unwrap_or(true)
    }

    fn new_location(&mut self) -> Option<Place> {
        if self.locations.len() >= MOST_LOCATIONS {
            return None;
        }
        self.locations.push(Location { family: kin::NONE, ..Location::default() });
        self.dirty = true;
        Some(self.locations.len() as Place - 1)
    }

    /// What a thread sees in a step whose footprint is this, before it is applied.
    pub(super) fn look(&self, footprint: &[Access], pasts: &[Past]) -> Seen {
        let (mut words, mut last, mut who, mut changes, mut changed, mut values) = (0, 0, 0, 0, 0, 0);
        for access in footprint.iter().filter(|a| **a != Access::EVERYTHING) {
            let index = access.object().index();
            let word = self.imagined.word(access.object());
            let word = if self.queues.get(index).copied().unwrap_or(false) { word & 0xffff_ffff } else { word };
            words = mix(mix(words, u64::from(access.object().0)), word);
            let past = pasts.get(index).copied().unwrap_or_default();
            // A single word as it is: what is written is often reckoned from it.
            values = if values == 0 { word } else { mix(values, word) };
            last = mix(last, past.last);
            who = mix(who, past.who);
            changes = mix(changes, past.changes);
            changed = changed << 1 | u64::from(past.changes != 0);
        }
        [
            mix(mix(words, changes), last),
            mix(words, changes),
            mix(words, last),
            mix(words, who),
            words,
            words,
            changed,
            values,
        ]
    }

    /// Marks what a step changes.
    pub(super) fn sign(op: &Operation, footprint: &[Access], thread: ThreadId, moves: u32, pasts: &mut Vec<Past>) {
        if matches!(op, Operation::Lock { .. } | Operation::QueueWait { .. } | Operation::Woken { .. }) {
            return;
        }
        for access in footprint.iter().filter(|a| **a != Access::EVERYTHING && a.is_write()) {
            let index = access.object().index();
            if pasts.len() <= index {
                pasts.resize(index + 1, Past::default());
            }
            let past = &mut pasts[index];
            past.who = u64::from(thread.0) + 1;
            past.last = mix(past.who, u64::from(moves));
            past.changes = past.changes.wrapping_add(mix(u64::from(thread.0) + 1, 0xacc));
        }
    }

    /// Learns from an execution.
    pub(super) fn learn(&mut self, execution: &Execution) {
        self.imagined.meet(execution);
        self.imagined.begin();
        self.longest = self.longest.max(execution.steps.len());
        let objects = self.imagined.words().len();
        self.queues.resize(objects, false);
        self.peeked.resize(objects, false);
        execution.words_after(&mut self.after);
        let threads = execution.spawned_by.len();
        self.at.clear();
        self.at.resize(threads, Place::MAX);
        self.seen.clear();
        self.seen.resize(threads, Seen::default());
        self.courses.clear();
        self.courses.extend((0..threads).map(|t| Course::new(ThreadId(t as u32))));
        self.moves.clear();
        self.moves.resize(threads, 0);
        let mut pasts = core::mem::take(&mut self.pasts);
        pasts.clear();
        self.start(ThreadId::MAIN);
        for number in 0..execution.steps.len() {
            if !self.learn_step(execution, number, &mut pasts) {
                break;
            }
        }
        self.pasts = pasts;
        for pending in &execution.pending {
            let place = self.at.get(pending.thread.index()).copied().unwrap_or(Place::MAX);
            if place != Place::MAX {
                self.announce(place, pending.thread, &pending.op, Site::default());
            }
        }
        if execution.lost
            && let Some(last) = execution.steps.last()
        {
            let place = self.at[last.thread.index()];
            if place != Place::MAX {
                self.announce(place, last.thread, &Operation::End, Site::default());
            }
        }
        if matches!(execution.end, End::Livelock { .. } | End::StepLimit) {
            self.ambiguous = true;
        }
    }

    fn start(&mut self, thread: ThreadId) {
        let index = thread.index();
        if self.roots.len() <= index {
            self.roots.resize(index + 1, None);
        }
        if self.roots[index].is_none() {
            self.roots[index] = self.new_location();
        }
        self.at[index] = self.roots[index].unwrap_or(Place::MAX);
    }

    /// Notes that a thread announced an operation at a location; gives the number of the alternative.
    fn announce(&mut self, place: Place, thread: ThreadId, op: &Operation, site: Site) -> usize {
        let seen = self.seen[thread.index()];
        let location = &mut self.locations[place as usize];
        let mut found = location.alternatives.iter().position(|a| same(&a.op, op));
        let foreseen = found.is_some();
        if found.is_none_or(|found| location.alternatives[found].count == 0) {
            // What is only borrowed comes behind what was met here.
            location.alternatives.retain(|a| a.count > 0);
            found = None;
        }
        self.steps = self.steps * 0.9995 + 1.0;
        self.surprises *= 0.9995;
        let number = found.unwrap_or_else(|| {
            self.surprises += f64::from(u8::from(!foreseen));
            self.dirty = true;
            let mut touched = Touched::default();
            if let Some(object) = op.object() {
                touched.add(Access::write(object));
            }
            if op.ends_program() {
                touched.add(Access::EVERYTHING);
            }
            location.alternatives.push(Alternative {
                op: *op,
                site,
                count: 0,
                next: SmallVec::new(),
                effects: SmallVec::new(),
                touched,
                future: Touched::default(),
            });
            location.alternatives.len() - 1
        });
        self.ambiguous |= location.alternatives.len() > 1;
        let alternative = &mut location.alternatives[number];
        alternative.count = alternative.count.saturating_add(1);
        if alternative.site.0 == 0 {
            // Of what threads were about to do when the program ended, only the operation was known.
            alternative.site = site;
        }
        if site.0 != 0 {
            self.dirty |= self.laws.note(location.family, place, lawful(&seen), reaction(op, site));
        }
        for (level, seen) in seen.into_iter().take(LEVELS).enumerate() {
            let key = context(place, number, alternative, level, seen);
            if let Some(times) = self.contexts.get_mut(&key) {
                *times = times.saturating_add(1);
            } else if self.contexts.len() < MOST_CONTEXTS {
                self.contexts.insert(key, 1);
            }
        }
        number
    }

    /// Learns one step; false if there is no more room.
    fn learn_step(&mut self, execution: &Execution, number: usize, pasts: &mut Vec<Past>) -> bool {
        let step = &execution.steps[number];
        let (thread, op) = (step.thread, &step.op);
        let place = self.at[thread.index()];
        if place == Place::MAX {
            return false;
        }
        let which = self.announce(place, thread, op, step.site);
        let mut footprint = Footprint::new();
        self.imagined.footprint(op, thread, step.choice, &mut footprint);
        self.mark(op, &footprint);
        let seen = self.look(&footprint, pasts);
        if self.imagined.apply(op, thread, step.choice).is_none() {
            return false;
        }
        self.moves[thread.index()] += 1;
        Self::sign(op, &footprint, thread, self.moves[thread.index()], pasts);
        let known = self.seen[thread.index()][LEVELS];
        let alternative = &mut self.locations[place as usize].alternatives[which];
        let before = alternative.touched;
        for access in &footprint {
            alternative.touched.add(*access);
        }
        self.dirty |= before != alternative.touched;
        // A failed exchange changes nothing, and says nothing of what one that succeeds would.
        let failed = step.outcome == Outcome::FAILED && matches!(op, Operation::CompareExchange { .. });
        if op.is_valued_outside() && !failed {
            for i in execution.access_range(number).filter(|i| execution.accesses[*i] != Access::EVERYTHING) {
                let (object, value) = (execution.accesses[i].object(), self.after[i]);
                let change = Change { before: execution.before[i], seen: known, after: value };
                if writes_once(op) && step.site.0 != 0 {
                    self.writes.entry(mix(reaction(op, step.site), u64::from(thread.0))).or_default().learn(change);
                }
                let effect = alternative.effects.iter_mut().find(|e| e.0 == object);
                if self.imagined.word(object) == value && effect.is_none() {
                    continue;
                }
                self.imagined.set_word(object, value);
                match effect {
                    Some((_, effect)) => effect.learn(change),
                    None => alternative.effects.push((object, Effect::first(change, op))),
                }
            }
        }
        match *op {
            Operation::Spawn { child } => self.start(child),
            Operation::Exit => {
                self.at[thread.index()] = Place::MAX;
                return true;
            }
            _ => {}
        }
        let key = self.courses[thread.index()].go_on(op, step.site, step.outcome);
        let next = match self.places.get(&key) {
            Some(known) => *known,
            None => {
                let Some(next) = self.new_location() else { return false };
                self.places.insert(key, next);
                self.locations[next as usize].course = self.courses[thread.index()];
                self.locations[next as usize].family = self.laws.join(next, thread, op, step.site, step.outcome);
                self.behind.entry(behind(thread, op, step.site, step.outcome)).or_default().push(next);
                next
            }
        };
        let alternative = &mut self.locations[place as usize].alternatives[which];
        if !alternative.next.contains(&next) {
            alternative.next.push(next);
            self.dirty = true;
        }
        self.at[thread.index()] = next;
        if !is_blind(op) {
            self.seen[thread.index()] = seen;
        }
        true
    }

    /// Notes what kind of objects an operation uses.
    fn mark(&mut self, op: &Operation, footprint: &[Access]) {
        if let Operation::QueueWait { queue, .. }
        | Operation::FutexWait { queue, .. }
        | Operation::Notify { queue, .. }
        | Operation::DestroyQueue { queue }
        | Operation::Woken { queue, .. } = *op
        {
            self.queues[queue.index()] = true;
        }
        if let Operation::Requeue { queue, to, .. } = *op {
            self.queues[queue.index()] = true;
            self.queues[to.index()] = true;
        }
        if let Operation::Arrive { barrier } = *op {
            self.queues[barrier.index()] = true;
        }
        let waits = matches!(
            op,
            Operation::Lock { wait: Wait::Block, .. }
                | Operation::ReadLock { wait: Wait::Block, .. }
                | Operation::WriteLock { wait: Wait::Block, .. }
                | Operation::Join { wait: Wait::Block, .. }
                | Operation::Unlock { .. }
                | Operation::ReadUnlock { .. }
                | Operation::WriteUnlock { .. }
                | Operation::QueueWait { .. }
                | Operation::Exit
        );
        if !waits {
            for access in footprint.iter().filter(|a| **a != Access::EVERYTHING) {
                self.peeked[access.object().index()] = true;
            }
        }
    }

    /// Where a thread is after an outcome, and how the words change that the program decides.
    pub(super) fn follow(
        &mut self,
        thread: ThreadId,
        course: &mut Course,
        place: Place,
        which: u32,
        outcome: Outcome,
        seen: &Seen,
    ) -> Option<Place> {
        let alternative = &self.locations[place as usize].alternatives[which as usize];
        let failed = outcome == Outcome::FAILED && matches!(alternative.op, Operation::CompareExchange { .. });
        // A failed exchange changes nothing.
        if !failed {
            let seen = self.exact.then_some(seen[LEVELS]);
            let law = self.writes.get(&mix(reaction(&alternative.op, alternative.site), u64::from(thread.0)));
            let law = law.filter(|law| self.exact && (law.is_law() || alternative.effects.is_empty()));
            if let Some(law) = law
                && let Some(object) = alternative.op.object()
                && writes_once(&alternative.op)
            {
                self.imagined.set_word(object, law.on(self.imagined.word(object), seen));
            } else {
                for (object, effect) in &alternative.effects {
                    self.imagined.set_word(*object, effect.on(self.imagined.word(*object), seen));
                }
            }
        }
        if alternative.op == Operation::Exit {
            return None;
        }
        let key = course.go_on(&alternative.op, alternative.site, outcome);
        if let Some(known) = self.places.get(&key) {
            return Some(*known);
        }
        // It goes on as it did from the nearest.
        let known = self.behind.get(&behind(thread, &alternative.op, alternative.site, outcome))?;
        let far = |place: &&Place| self.locations[**place as usize].course.length.abs_diff(course.length);
        let guess = *known.iter().min_by_key(far)?;
        *course = self.locations[guess as usize].course;
        Some(guess)
    }

    /// What a thread may do at a location, with probabilities.
    pub(super) fn expect(&self, place: Place, seen: Seen, out: &mut SmallVec<[(u32, f64); 2]>) {
        out.clear();
        let alternatives = &self.locations[place as usize].alternatives;
        if let [_] = alternatives[..] {
            out.push((0, 1.0));
            return;
        }
        let family = self.locations[place as usize].family;
        for level in 0..=LEVELS {
            // Experience in the same circumstances goes before a law, and a law before experience in other ones.
            if level >= CHANGED
                && let Some(which) = self.by_law(place, family, level - CHANGED, &seen)
            {
                out.push((which, 1.0));
                return;
            }
            let weigh = |which: usize| match seen[..LEVELS].get(level) {
                Some(_) if alternatives[which].count == 0 => 0,
                Some(seen) => {
                    self.contexts.get(&context(place, which, &alternatives[which], level, *seen)).copied().unwrap_or(0)
                }
                None => alternatives[which].count,
            };
            let weights: SmallVec<[u32; 4]> = (0..alternatives.len()).map(weigh).collect();
            let total: u32 = weights.iter().sum();
            if total > 0 {
                let weights = weights.iter().enumerate().filter(|w| *w.1 > 0);
                out.extend(weights.map(|(i, w)| (i as u32, f64::from(*w) / f64::from(total))));
                return;
            }
        }
    }

    /// What a thread does at a location by a law.
    fn by_law(&self, place: Place, family: Family, law: usize, seen: &Seen) -> Option<u32> {
        let says = self.laws.say(family, law, lawful(seen)[law])?;
        let alternatives = &self.locations[place as usize].alternatives;
        let mut found = (0..).zip(alternatives).filter(|(_, a)| reaction(&a.op, a.site) == says).map(|(i, _)| i);
        found.next().filter(|_| found.next().is_none())
    }

    /// Lets locations of a lawful family expect what was only done at others, if it is the same operation wherever it was done.
    fn borrow(&mut self) {
        if core::mem::take(&mut self.borrows) {
            // Some of the laws may be broken by now.
            for location in &mut self.locations {
                location.alternatives.retain(|a| a.count > 0);
                location.future = Touched::default();
                location.alternatives.iter_mut().for_each(|a| a.future = Touched::default());
            }
        }
        for kin in self.laws.families.iter().filter(|kin| Laws::is_lawful(kin)) {
            let mut known: Vec<(u64, Option<Alternative>)> = Vec::new();
            for place in &kin.places {
                for alternative in self.locations[*place as usize].alternatives.iter().filter(|a| a.site.0 != 0) {
                    let reaction = reaction(&alternative.op, alternative.site);
                    match known.iter_mut().find(|k| k.0 == reaction) {
                        Some((_, one)) => {
                            if one.as_ref().is_some_and(|one| !same(&one.op, &alternative.op)) {
                                *one = None;
                            }
                        }
                        None => known.push((reaction, Some(Alternative { count: 0, ..alternative.clone() }))),
                    }
                }
            }
            known.retain(|(reaction, _)| kin.confirmed.contains(reaction));
            for place in &kin.places {
                let alternatives = &mut self.locations[*place as usize].alternatives;
                for (done, lent) in &known {
                    if let Some(lent) = lent
                        && alternatives.iter().all(|a| reaction(&a.op, a.site) != *done)
                    {
                        alternatives.push(lent.clone());
                        self.borrows = true;
                    }
                }
            }
        }
    }

    /// Whether what a thread has seen matters behind an alternative, because that shows it nothing.
    fn carries(&self, alternative: &Alternative) -> bool {
        is_blind(&alternative.op) && alternative.next.iter().any(|next| self.locations[*next as usize].depends)
    }

    /// Whether what a thread has seen still matters when it has announced this.
    pub(super) fn is_seen_later(&self, place: Place, which: u32) -> bool {
        self.locations[place as usize].alternatives.get(which as usize).is_some_and(|a| self.carries(a))
    }

    /// The alternative at a location with this operation.
    pub(super) fn find(&self, place: Place, op: &Operation) -> Option<u32> {
        let found = self.locations[place as usize].alternatives.iter().position(|a| same(&a.op, op));
        found.map(|i| i as u32)
    }

    /// Brings what can follow each location up to date.
    pub(super) fn look_ahead(&mut self) {
        if !core::mem::take(&mut self.dirty) {
            return;
        }
        self.borrow();
        self.exact = self.locations.iter().any(|l| {
            let exchanges = |a: &Alternative| matches!(a.op, Operation::CompareExchange { .. });
            // What has no place in the source is not known to any law.
            let lawless = || self.laws.is_broken(l.family, CHANGED_LAW) || l.alternatives.iter().any(|a| a.site.0 == 0);
            l.alternatives.iter().any(exchanges) || l.alternatives.len() > 1 && lawless()
        });
        // Later locations come first, so few rounds are enough.
        let mut again = true;
        while core::mem::take(&mut again) {
            for place in (0..self.locations.len()).rev() {
                let mut future = self.locations[place].future;
                let alternatives = &self.locations[place].alternatives;
                let depends = alternatives.len() > 1 || alternatives.iter().any(|a| self.carries(a));
                again |= depends != core::mem::replace(&mut self.locations[place].depends, depends);
                for which in 0..self.locations[place].alternatives.len() {
                    let alternative = &self.locations[place].alternatives[which];
                    let mut its = alternative.future;
                    its.unite(&alternative.touched);
                    for next in &alternative.next {
                        let mut next = self.locations[*next as usize].future;
                        if let Operation::Join { thread, wait: Wait::Block } = alternative.op
                            && thread.0 < 64
                        {
                            next.joined |= 1 << thread.0;
                        }
                        its.unite(&next);
                    }
                    if let Operation::Spawn { child } = alternative.op
                        && let Some(root) = self.root(child)
                    {
                        its.unite(&self.locations[root as usize].future);
                    }
                    future.unite(&its);
                    self.locations[place].alternatives[which].future = its;
                }
                let known = &mut self.locations[place].future;
                again |= *known != future;
                *known = future;
            }
        }
    }
}

fn behind(thread: ThreadId, op: &Operation, site: Site, outcome: Outcome) -> u64 {
    // A loop that goes on to other objects is not where it was.
    let outcome = Outcome(mix(outcome.0, op.object().map_or(0, |o| u64::from(o.0))));
    mix(mix(site.0, outcome.0), u64::from(thread.0))
}
