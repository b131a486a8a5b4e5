//! Tells an execution as a story: what happened, who was involved, and which steps matter.

use crate::kind::Kind;
use crate::matters::{self, Focus, Order, is_count};
use crate::narrate::{Named, Narrator, text_at};
use crate::source::Sources;
use crate::story::{Hold, Object, Place, Race, RaceAccess, Step, Story, Switch, Thread, Waiter, Waiting};
use ordain_model::describe::{self, Words};
use ordain_model::execution::{PlainAccess, PlainKind};
use ordain_model::{DataRace, Deadlock, End, Execution, Level, ObjectId, Operation, Outcome, Site, Size, ThreadId};
use std::cell::RefCell;
use std::collections::HashMap;

/// Steps that a story keeps: the first and the last ones.
const FIRST_KEPT: usize = 2_000;
const LAST_KEPT: usize = 8_000;
/// Threads that a broadcast woke are named up to so many.
const MOST_WOKEN: usize = 3;

/// What a front end knows of an execution that misbehaved.
pub struct Facts<'a> {
    /// What went wrong.
    pub kind: Kind,
    /// What happened, for kinds that the execution itself does not tell: first line a sentence, then details.
    pub message: &'a str,
    /// The execution.
    pub execution: &'a Execution,
    /// Its steps that were preemptions.
    pub preemptions: &'a [usize],
    /// The data race, if it is one.
    pub race: Option<&'a DataRace>,
    /// The thread that ended it by what it did, if one did.
    pub culprit: Option<ThreadId>,
    /// What was checked.
    pub program: &'a str,
    /// Which operations were visible.
    pub level: Level,
}

/// Tells the story of an execution.
pub fn tell(words: &dyn Words, sources: &mut Sources, facts: &Facts<'_>) -> Story {
    let mut narrator = Narrator::default();
    narrator.learn(words, sources, facts.execution);
    let named = narrator.words(words);
    let mut storyteller = Storyteller {
        words: &named,
        sources: RefCell::new(sources),
        execution: facts.execution,
        threads: Vec::new(),
        objects: Vec::new(),
    };
    storyteller.find_threads();
    storyteller.story(facts)
}

struct Storyteller<'a> {
    words: &'a Named<'a>,
    sources: RefCell<&'a mut Sources>,
    execution: &'a Execution,
    /// Threads of the story, in order of birth.
    threads: Vec<ThreadId>,
    /// Objects of the story.
    objects: Vec<ObjectId>,
}

impl Storyteller<'_> {
    fn find_threads(&mut self) {
        let mut born: Vec<(u32, ThreadId)> = Vec::new();
        for (index, step) in self.execution.spawned_by.iter().enumerate() {
            let thread = ThreadId(index as u32);
            if thread != ThreadId::MAIN && *step != u32::MAX {
                born.push((*step, thread));
            }
        }
        born.sort_unstable();
        self.threads.push(ThreadId::MAIN);
        self.threads.extend(born.into_iter().map(|b| b.1));
        let others =
            self.execution.steps.iter().map(|s| s.thread).chain(self.execution.pending.iter().map(|p| p.thread));
        for thread in others {
            if !self.threads.contains(&thread) {
                self.threads.push(thread);
            }
        }
    }

    fn thread(&self, thread: ThreadId) -> Option<usize> {
        self.threads.iter().position(|t| *t == thread)
    }

    fn object(&mut self, object: ObjectId) -> usize {
        match self.objects.iter().position(|o| *o == object) {
            Some(index) => index,
            None => {
                self.objects.push(object);
                self.objects.len() - 1
            }
        }
    }

    fn text(&self, op: &Operation, site: Site) -> String {
        text_at(self.words, &mut self.sources.borrow_mut(), op, site)
    }

    fn place(&self, site: Site) -> Option<Place> {
        let place = self.words.place(site)?;
        let text = self.sources.borrow_mut().line(&place.file, place.line).map(str::to_owned);
        Some(Place { file: place.file, line: place.line, column: place.column, text })
    }

    fn story(mut self, facts: &Facts<'_>) -> Story {
        let execution = self.execution;
        let waiting = match &execution.end {
            End::Deadlock(deadlock) => Some(self.waiting(deadlock)),
            _ => None,
        };
        let race = facts.race.map(|race| self.race(race));
        let holds = self.holds();
        let (headline, details) = self.message(facts, waiting.as_ref(), &holds);
        let threads = self.threads.iter().map(|t| self.tell_thread(*t, facts.culprit)).collect();
        let focus = Focus {
            objects: self.focus(facts, waiting.as_ref(), &holds),
            culprit: facts.culprit.and_then(|c| self.thread(c)),
            complete: waiting.as_ref().is_some_and(|w| !w.cycle.is_empty()),
        };
        let mut steps = self.steps(facts.preemptions);
        let writes = |number: usize| execution.footprint(number).iter().any(|access| access.is_write());
        matters::mark(&mut steps, writes, &focus);
        let length = steps.len();
        if length > FIRST_KEPT + LAST_KEPT {
            steps.drain(FIRST_KEPT..length - LAST_KEPT);
        }
        let objects = self.objects.iter().map(|o| Object {
            name: self.words.variable(*o).unwrap_or_else(|| self.words.names().object_name(*o)),
            kind: self.words.names().kind(*o).name().to_owned(),
        });
        Story {
            kind: facts.kind,
            headline,
            details,
            program: facts.program.to_owned(),
            level: facts.level,
            threads,
            objects: objects.collect(),
            steps,
            length,
            holds,
            waiting,
            race,
            outputs: Default::default(),
            usual_outputs: None,
            sources: Vec::new(),
            size: Size { preemptions: facts.preemptions.len(), steps: length, switches: execution.context_switches() },
            shrunk: None,
            schedule: None,
        }
    }

    fn tell_thread(&self, thread: ThreadId, culprit: Option<ThreadId>) -> Thread {
        let pending = self.execution.pending.iter().find(|p| p.thread == thread);
        let doing = pending.filter(|p| !p.op.ends_program()).map(|p| match p.op {
            Operation::Woken { queue, .. } => format!("be woken from {}", self.words.object(queue)),
            op => describe::operation(self.words, &op),
        });
        Thread {
            name: self.words.names().thread_name(thread),
            given: self.words.given(thread),
            culprit: culprit == Some(thread),
            doing,
            frames: Vec::new(),
        }
    }

    fn waiting(&mut self, deadlock: &Deadlock) -> Waiting {
        let waiters = deadlock.waiters.iter().map(|w| Waiter {
            thread: self.thread(w.thread).unwrap_or(0),
            doing: self.text(&w.op, w.site),
            object: w.op.object().map(|o| self.object(o)),
            for_threads: w.for_threads.iter().filter_map(|t| self.thread(*t)).collect(),
            place: self.place(w.site),
        });
        let waiters = waiters.collect();
        let cycle: Vec<usize> = deadlock.cycle.iter().filter_map(|t| self.thread(*t)).collect();
        Waiting { waiters, cycle: if cycle.len() > 1 { cycle } else { Vec::new() } }
    }

    fn race(&mut self, race: &DataRace) -> Race {
        let access = |a: &PlainAccess| RaceAccess {
            thread: self.thread(a.thread).unwrap_or(0),
            write: matches!(a.kind, PlainKind::Write(_) | PlainKind::End { write: true, .. }),
            place: self.place(a.site),
            after: a.after as usize,
        };
        let accesses = [access(&race.first), access(&race.second)];
        Race { object: self.object(race.cell), accesses }
    }

    /// The sentence and what goes with it.
    fn message(&self, facts: &Facts<'_>, waiting: Option<&Waiting>, holds: &[Hold]) -> (String, Vec<String>) {
        let lines = |text: &str| {
            let mut lines = text.lines().map(str::to_owned);
            (lines.next().unwrap_or_default(), lines.collect::<Vec<_>>())
        };
        match (facts.kind, &self.execution.end, waiting) {
            (Kind::Deadlock, End::Deadlock(deadlock), Some(waiting)) => self.deadlock(deadlock, waiting, holds),
            (Kind::Livelock, End::Livelock { loops }, _) => lines(&describe::livelock(self.words, loops)),
            (Kind::Misuse | Kind::LockHeldAtExit, ..) => match self.execution.misuses.first() {
                Some(at) => {
                    let step = &self.execution.steps[at.step as usize];
                    let what = at.misuse.explain(&step.op, self.words);
                    (format!("{} {what}{}", self.words.thread(step.thread), self.words.at(step.site)), Vec::new())
                }
                None => lines(facts.message),
            },
            (Kind::DataRace, ..) => match facts.race {
                Some(race) => self.data_race(race),
                None => lines(facts.message),
            },
            _ => lines(facts.message),
        }
    }

    fn deadlock(&self, deadlock: &Deadlock, waiting: &Waiting, holds: &[Hold]) -> (String, Vec<String>) {
        let name = |t: &usize| self.words.thread(self.threads[*t]);
        let headline = match waiting.cycle.as_slice() {
            [] => "no thread can go on".to_owned(),
            [a, b] => format!("{} and {} wait for each other", name(a), name(b)),
            cycle => {
                let names: Vec<String> = cycle.iter().map(name).collect();
                format!("{} wait for each other in a cycle", list(&names))
            }
        };
        let mut details: Vec<String> = describe::deadlock(self.words, deadlock).lines().map(str::to_owned).collect();
        // What each of them holds belongs to the sentence about it.
        for (line, waiter) in details.iter_mut().zip(&waiting.waiters) {
            let held: Vec<String> = holds
                .iter()
                .filter(|h| h.thread == waiter.thread && h.to.is_none() && Some(h.object) != waiter.object)
                .map(|h| {
                    self.words
                        .variable(self.objects[h.object])
                        .unwrap_or_else(|| self.words.object(self.objects[h.object]))
                })
                .collect();
            if let ([_, ..], Some(rest)) = (held.as_slice(), line.strip_prefix(&format!("{} ", name(&waiter.thread)))) {
                *line = format!("{} holds {} and {rest}", name(&waiter.thread), list(&held));
            }
        }
        // One who waits for what nobody does needs no introduction.
        match details.as_slice() {
            [only] => (only.clone(), Vec::new()),
            _ => (headline, details),
        }
    }

    fn data_race(&self, race: &DataRace) -> (String, Vec<String>) {
        let access = |a: &PlainAccess| {
            let verb = if matches!(a.kind, PlainKind::Write(_) | PlainKind::End { write: true, .. }) {
                "writes"
            } else {
                "reads"
            };
            format!("{} {verb}{}", self.words.thread(a.thread), self.words.at(a.site))
        };
        let headline = format!("nothing orders these accesses to {}:", self.words.object(race.cell));
        (headline, vec![access(&race.first), access(&race.second)])
    }

    fn holds(&mut self) -> Vec<Hold> {
        let mut holds: Vec<Hold> = Vec::new();
        let execution = self.execution;
        for (number, step) in execution.steps.iter().enumerate() {
            let Some(thread) = self.thread(step.thread) else { continue };
            let (taken, shared, released) = match step.op {
                Operation::Lock { lock, .. }
                | Operation::WriteLock { lock, .. }
                | Operation::WriteQueue { lock, .. }
                | Operation::WriteTurn { lock, .. }
                | Operation::WriteByTicket { lock, .. } => (Some(lock), false, None),
                Operation::ReadLock { lock, .. } => (Some(lock), true, None),
                Operation::Unlock { lock } | Operation::WriteUnlock { lock } | Operation::ReadUnlock { lock } => {
                    (None, false, Some(lock))
                }
                Operation::QueueWait { lock, .. } => (None, false, Some(lock)),
                _ => continue,
            };
            if let Some(lock) = taken.filter(|_| matches!(step.outcome, Outcome::DONE | Outcome::OWNER_DIED)) {
                let object = self.object(lock);
                holds.push(Hold { object, thread, from: number, to: None, shared });
            }
            if let Some(lock) = released {
                let object = self.object(lock);
                let open = |h: &&mut Hold| h.object == object && h.to.is_none();
                let own = holds.iter_mut().rev().filter(open).find(|h| h.thread == thread);
                if let Some(hold) = own {
                    hold.to = Some(number);
                } else if let Some(hold) = holds.iter_mut().rev().find(open) {
                    // Released by another thread.
                    hold.to = Some(number);
                }
            }
        }
        holds
    }

    /// Objects that have to do with what went wrong.
    fn focus(&mut self, facts: &Facts<'_>, waiting: Option<&Waiting>, holds: &[Hold]) -> Vec<usize> {
        let mut focus: Vec<usize> = Vec::new();
        if let Some(waiting) = waiting {
            focus.extend(waiting.waiters.iter().filter_map(|w| w.object));
            let waits = |thread| waiting.waiters.iter().any(|w| w.thread == thread);
            focus.extend(holds.iter().filter(|h| h.to.is_none() && waits(h.thread)).map(|h| h.object));
        }
        if let Some(at) = self.execution.misuses.first() {
            let object = self.execution.steps[at.step as usize].op.object();
            focus.extend(object.map(|o| self.object(o)));
        }
        if !focus.is_empty() {
            return focus;
        }
        // Otherwise what the culprit and others have in common; without a culprit, whatever is shared.
        let mut users: HashMap<ObjectId, Vec<ThreadId>> = HashMap::new();
        for step in &self.execution.steps {
            if let Some(object) = step.op.object().filter(|_| !is_count(&step.op)) {
                let users = users.entry(object).or_default();
                if !users.contains(&step.thread) {
                    users.push(step.thread);
                }
            }
        }
        let shared = |users: &[ThreadId]| users.len() > 1 && facts.culprit.is_none_or(|c| users.contains(&c));
        let objects: Vec<ObjectId> = users.iter().filter(|u| shared(u.1)).map(|u| *u.0).collect();
        objects.into_iter().map(|o| self.object(o)).collect()
    }

    /// Whom a notification woke, if it woke few.
    fn woken(&self, number: usize) -> Option<String> {
        let step = &self.execution.steps[number];
        if !matches!(step.op, Operation::Notify { .. }) {
            return None;
        }
        let names = self.words.names();
        let written = self.execution.footprint(number).iter().filter(|a| a.is_write());
        let woken: Vec<ThreadId> =
            written.filter_map(|a| names.thread_of(a.object())).filter(|t| *t != step.thread).collect();
        let all = woken.len() as u64 == step.outcome.0 && (1..=MOST_WOKEN).contains(&woken.len());
        all.then(|| format!("woke {}", list(&woken.iter().map(|t| names.thread_name(*t)).collect::<Vec<_>>())))
    }

    fn steps(&mut self, preemptions: &[usize]) -> Vec<Step> {
        let execution = self.execution;
        let mut order = Order::default();
        let mut steps: Vec<Step> = Vec::with_capacity(execution.steps.len());
        let count = execution.steps.len();
        let mut texts: HashMap<(Operation, Site), (String, Option<Place>)> = HashMap::new();
        for (number, step) in execution.steps.iter().enumerate() {
            let kept = number < FIRST_KEPT || number + LAST_KEPT >= count;
            let after = order.push(execution, number);
            let switch = match number.checked_sub(1).map(|before| execution.steps[before].thread) {
                Some(before) if before != step.thread => {
                    if preemptions.binary_search(&number).is_ok() {
                        Switch::Preemption
                    } else {
                        Switch::Free
                    }
                }
                _ => Switch::None,
            };
            let thread = self.thread(step.thread).unwrap_or(0);
            if !kept {
                steps.push(Step { number, thread, switch, after, ..Step::default() });
                continue;
            }
            let objects = step.op.object().into_iter().chain(match step.op {
                Operation::QueueWait { lock, .. } => Some(lock),
                Operation::FutexWait { queue, .. } => Some(queue),
                Operation::Requeue { to, .. } => Some(to),
                _ => None,
            });
            let objects: Vec<usize> = objects.collect::<Vec<_>>().into_iter().map(|o| self.object(o)).collect();
            let (text, place) = texts
                .entry((step.op, step.site))
                .or_insert_with(|| (self.text(&step.op, step.site), self.place(step.site)))
                .clone();
            let outcome = self.woken(number).or_else(|| describe::outcome(step));
            let text = outcome.as_ref().map_or(text.clone(), |outcome| format!("{text} -> {outcome}"));
            let other = match step.op {
                Operation::Spawn { child: other }
                | Operation::Join { thread: other, .. }
                | Operation::Detach { thread: other }
                | Operation::Unpark { thread: other }
                | Operation::IsFinished { thread: other } => self.thread(other),
                _ => None,
            };
            let verb = step.op.verb().to_owned();
            steps.push(Step {
                number,
                thread,
                verb,
                text,
                outcome,
                objects,
                other,
                place,
                switch,
                after,
                matters: false,
            });
        }
        steps
    }
}

/// `a`, `a and b`, `a, b and c`.
fn list(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [others @ .., last] => format!("{} and {last}", others.join(", ")),
    }
}
