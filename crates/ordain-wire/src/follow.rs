//! Following an execution from its events: an arbiter of one's own comes to the same steps, or finds that they are not true.
//!
//! What is reported comes from memory that the program can write to. So nothing is taken over that the model does not confirm:
//! names must be those that come out here, transitions must be enabled, and what a plan decides must be what happened.

use crate::event::{Event, Knowledge, Log};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use ordain_explore::Plan;
use ordain_model::names::Birth;
use ordain_model::{Arbiter, End, Mark, ObjectId, ObjectKind, Operation, Options, Site, ThreadId, Transition};

/// Who decides what happens.
pub enum Authority<'a, 'b> {
    /// A plan: what happened must be what it decides.
    Plan(&'a mut Plan<'b>),
    /// The events: whatever the model allows is believed.
    Events,
}

/// What a report says that cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contradiction(pub &'static str);

/// Follows executions.
pub struct Follower {
    /// The arbiter.
    pub arbiter: Arbiter,
    /// Objects known by where they are.
    found: BTreeMap<(u64, u32, u8), ObjectId>,
    members: Vec<(ObjectId, u64)>,
    /// What was decided before the event came.
    expected: Option<Transition>,
    over: bool,
    /// What was reported of the last execution, if that was followed as a whole.
    last: Vec<u8>,
    /// States of it that can be gone back to; the first ones count.
    places: Vec<Place>,
    known_places: usize,
    /// The number of the step before which to note a place.
    noting: Option<usize>,
}

/// A state of the last execution.
#[derive(Default)]
struct Place {
    /// How much had been reported.
    reported: usize,
    mark: Mark,
}

/// Following so many steps again takes less time than noting a place.
const NEAR: usize = 4;

/// Whether what a thread has announced may become something else because memory changes: a futex operation that compares.
fn may_become(pending: Operation, op: Operation) -> bool {
    match (pending, op) {
        (Operation::Requeue { queue, to, .. }, Operation::Requeue { queue: q, to: t, .. }) => queue == q && to == t,
        _ => false,
    }
}

impl Follower {
    /// Knows nothing yet.
    pub fn new(options: Options) -> Self {
        Self {
            arbiter: Arbiter::new(options),
            found: BTreeMap::new(),
            members: Vec::new(),
            expected: None,
            over: false,
            last: Vec::new(),
            places: Vec::new(),
            known_places: 0,
            noting: None,
        }
    }

    /// Begins an execution.
    pub fn begin(&mut self) {
        self.arbiter.begin();
        self.forget();
        self.members.clear();
        self.expected = None;
        self.over = false;
    }

    /// No state of the last execution can be gone back to.
    fn forget(&mut self) {
        self.last.clear();
        self.known_places = 0;
        self.noting = None;
    }

    /// Follows an execution of which all has been reported, led by a plan. If it begins like the last one, in the plan as in what is
    /// reported, that was confirmed already, and the beginning is passed over.
    pub fn follow_whole(&mut self, bytes: &[u8], plan: &mut Plan<'_>) -> Result<(), Contradiction> {
        let last = self.arbiter.execution();
        let steps = if last.learned { 0 } else { plan.shared(last) };
        let mut alike = 0;
        let shared = self.places[..self.known_places].iter().take_while(|place| {
            let part = alike..place.reported;
            alike = place.reported;
            place.mark.steps() <= steps && bytes.get(part.clone()) == self.last.get(part)
        });
        let places = shared.count();
        let (mut reported, mut noted) = (0, 0);
        match places.checked_sub(1).map(|i| &self.places[i]) {
            Some(place) => {
                self.arbiter.go_back(&place.mark);
                (reported, noted) = (place.reported, place.mark.steps());
                plan.skip(noted);
                self.members.clear();
                self.expected = None;
                self.over = false;
            }
            None => self.begin(),
        }
        self.known_places = places;
        self.noting = (steps >= noted + NEAR).then_some(steps);
        self.last.clear();
        self.last.extend_from_slice(bytes);
        self.feed(&bytes[reported..], &mut Authority::Plan(plan))
    }

    /// Notes a place, to go back to in later executions.
    fn note_place(&mut self, reported: usize) {
        self.noting = None;
        if self.known_places == self.places.len() {
            self.places.push(Place::default());
        }
        let place = &mut self.places[self.known_places];
        place.reported = reported;
        self.arbiter.mark(&mut place.mark);
        self.known_places += 1;
    }

    /// Whether the execution is over as far as the plan goes.
    pub fn is_over(&self) -> bool {
        self.over
    }

    /// Decides for someone who asks; `None` ends the execution.
    pub fn decide(&mut self, plan: &mut Plan<'_>) -> Option<Transition> {
        self.expected = if self.over { None } else { plan.next(&mut self.arbiter) };
        self.over |= self.expected.is_none();
        self.expected
    }

    /// Follows the events in `bytes`.
    pub fn feed(&mut self, mut bytes: &[u8], lead: &mut Authority<'_, '_>) -> Result<(), Contradiction> {
        while !bytes.is_empty() && !self.over {
            let Some((event, rest)) = Log::read(bytes) else {
                return Err(Contradiction("what was reported cannot be read"));
            };
            if self.noting == Some(self.arbiter.execution().steps.len())
                && matches!(event, Event::Step { .. })
                && self.members.is_empty()
            {
                self.note_place(self.last.len() - bytes.len());
            }
            bytes = rest;
            self.follow(&event, lead)?;
        }
        Ok(())
    }

    fn is_alive(&self, thread: ThreadId) -> bool {
        self.arbiter.alive().binary_search(&thread).is_ok()
    }

    fn follow(&mut self, event: &Event, lead: &mut Authority<'_, '_>) -> Result<(), Contradiction> {
        let wrong = |what| Err(Contradiction(what));
        match *event {
            Event::Announce { thread, op, site } => {
                let pending = self.arbiter.pending(thread).map(|(pending, _)| pending);
                if !self.is_alive(thread) || pending.is_some_and(|pending| !may_become(pending, op)) {
                    return wrong("a thread announces twice");
                }
                if let Operation::Spawn { child } = op
                    && self.arbiter.next_child(thread) != child
                {
                    return wrong("a thread has another name");
                }
                if !op.is_known(self.arbiter.names()) {
                    return wrong("an operation is about nothing");
                }
                self.arbiter.announce(thread, op, Site(site));
            }
            Event::Step { thread, choice } => return self.step(Transition { thread, choice }, lead),
            Event::Create { thread, kind, initial, object } => {
                if !self.is_alive(thread) || self.arbiter.create(thread, kind, initial) != object {
                    return wrong("an object has another name");
                }
            }
            Event::Found { address, generation, kind, initial, object } => {
                let names = self.arbiter.names_mut();
                let entry = self.found.entry((address, generation, kind as u8));
                if *entry.or_insert_with(|| names.external(kind, address, generation)) != object {
                    return wrong("an object has another name");
                }
                self.arbiter.initialise(object, initial);
            }
            Event::PollMember { object, mask } => {
                if object.index() >= self.arbiter.names().object_count() {
                    return wrong("an object is unknown");
                }
                self.members.push((object, mask));
            }
            Event::CreatePoll { thread, set } => {
                let members = core::mem::take(&mut self.members);
                if !self.is_alive(thread) || self.arbiter.create_poll(thread, &members) != set {
                    return wrong("a poll set has another name");
                }
            }
            Event::Members { set } => {
                let members = core::mem::take(&mut self.members);
                let names = self.arbiter.names();
                if set.index() >= names.object_count()
                    || !matches!(names.kind(set), ObjectKind::Poll | ObjectKind::FileLock)
                {
                    return wrong("a set of objects is unknown");
                }
                self.arbiter.set_members(set, &members);
            }
            Event::Lesson { lesson } => self.arbiter.learn(Site(lesson)),
            Event::Value { object, value } => {
                if object.index() >= self.arbiter.execution().state.object_count() {
                    return wrong("an object is unknown");
                }
                self.arbiter.set_value(object, value);
            }
            Event::Patience { thread, nanoseconds } => {
                if !self.is_alive(thread) {
                    return wrong("a thread is unknown");
                }
                self.arbiter.set_patience(thread, nanoseconds);
            }
            Event::Advance { thread, nanoseconds } => {
                if !self.is_alive(thread) {
                    return wrong("a thread is unknown");
                }
                self.arbiter.advance(thread, nanoseconds);
            }
        }
        Ok(())
    }

    fn step(&mut self, taken: Transition, lead: &mut Authority<'_, '_>) -> Result<(), Contradiction> {
        let decided = match (self.expected.take(), lead) {
            (Some(decided), _) => Some(decided),
            (None, Authority::Plan(plan)) => plan.next(&mut self.arbiter),
            (None, Authority::Events) => {
                if taken.choice >= self.arbiter.choices(taken.thread) && self.arbiter.first_enabled() != Some(taken) {
                    self.arbiter.release(taken.thread);
                }
                Some(taken).filter(|t| t.choice < self.arbiter.choices(t.thread))
            }
        };
        match decided {
            Some(decided) if decided == taken => {
                self.arbiter.apply(taken);
                Ok(())
            }
            Some(_) => Err(Contradiction("another thread went on")),
            None => {
                self.over = true;
                Ok(())
            }
        }
    }

    /// The execution has ended, by the model if `by` is not told, else by this thread, in the middle of something or, with
    /// `orderly`, at its end.
    pub fn conclude(
        &mut self,
        by: Option<(ThreadId, bool)>,
        lead: &mut Authority<'_, '_>,
    ) -> Result<(), Contradiction> {
        if self.over {
            return Ok(());
        }
        match by {
            None => match lead {
                Authority::Plan(plan) => {
                    if plan.next(&mut self.arbiter).is_some() {
                        return Err(Contradiction("it ended where the model goes on"));
                    }
                }
                Authority::Events => {
                    if self.arbiter.is_over_limit() {
                        self.arbiter.finish_with(End::StepLimit);
                    } else if self.arbiter.first_enabled().is_some() {
                        // Ended by a plan that is not known here.
                        self.arbiter.finish_with(End::Cut);
                    } else {
                        self.arbiter.finish();
                    }
                }
            },
            Some((_, true)) => self.arbiter.finish_with(End::Complete),
            // A thread that crashes does so in a step, unless it is alone.
            Some((thread, false)) if self.arbiter.alive().is_empty() || self.arbiter.is_alone(thread) => {
                self.arbiter.finish_with(End::Complete);
            }
            Some((_, false)) => self.arbiter.lose_program(),
        }
        Ok(())
    }

    /// What has become known since: names from a number on, long loops from a place on.
    pub fn known_since(&self, names: usize, loops: usize) -> Knowledge {
        Knowledge {
            births: self.arbiter.names().births(names).collect(),
            long_loops: self.arbiter.long_loops().get(loops..).unwrap_or_default().iter().map(|s| s.0).collect(),
        }
    }

    /// How much is known: names, long loops.
    pub fn extent(&self) -> (usize, usize) {
        (self.arbiter.names().object_count(), self.arbiter.long_loops().len())
    }

    /// Takes over what is known elsewhere.
    pub fn adopt(&mut self, known: &Knowledge) -> Result<(), Contradiction> {
        self.forget();
        for (number, birth, kind) in &known.births {
            let names = self.arbiter.names_mut();
            names.adopt(*number, *birth, *kind);
            if let Birth::External { key, generation, .. } = *birth {
                let object = ObjectId(*number as u32);
                if names.external_key(object) != Some((key, generation)) || names.kind(object) != *kind {
                    return Err(Contradiction("a found object is unknown"));
                }
                self.found.insert((key, generation, *kind as u8), object);
            }
        }
        for site in &known.long_loops {
            self.arbiter.know_long_loop(Site(*site));
        }
        Ok(())
    }

    /// The address of an object, if it is known by that.
    pub fn address_of(&self, object: ObjectId) -> Option<u64> {
        self.arbiter.names().external_key(object).map(|(key, _)| key)
    }
}
