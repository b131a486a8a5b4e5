//! Reversing races: from one execution, the sequences that begin other classes.
//!
//! For an event `e` and a later operation `r` that is dependent on it, the other order is reached from the state before
//! `e` by all events that do not happen after `e`, then `r`. The textbook considers only races of events that follow
//! each other immediately, and assumes that no operation disables another and that each has one outcome. Neither holds here:
//!
//! - *Blocking.* `e` may have disabled `r` (both take a lock): then other events lie between them, so for operations that
//!   compete for an object every earlier competitor is a partner, not only the last. Threads that are still blocked at the
//!   end are partners too. `r` must be enabled at its new place, which is evaluated on the words that its objects have there.
//! - *Commuting holders.* A writer waits for several readers that do not depend on each other. All ways to leave such events
//!   out are tried, because each leads to another class.
//! - *Outcomes.* At its new place `r` may have other outcomes, with other footprints; each gives a sequence. An event that
//!   had alternatives is reversed with each of them: same thread, same place, other outcome.
//!
//! Every sequence that comes out is executable. A search that inserts only sequences that are not covered stays optimal
//! however many it is given, so completeness is all that has to be argued; the oracle tests check both.

use crate::search::Stop;
use crate::wakeup::Items;
use alloc::vec::Vec;
use ordain_model::state::{Fixed, View};
use ordain_model::{
    Access, Execution, Footprint, HappensBefore, ObjectId, Operation, Outcome, PendingOp, ThreadId, Transition, Wait,
    affects, dependent, primitives,
};

/// A sequence that begins another class: events of the execution, in their order, and an operation at its new place.
#[derive(Clone, Copy)]
pub(crate) struct Sequence<'a> {
    pub(crate) execution: &'a Execution,
    /// Numbers of events.
    pub(crate) events: &'a [u32],
    /// Events that give up shares, in order: what they touch here they may not have touched in the execution.
    pub(crate) given_up: &'a [GivenUp],
    /// What comes last.
    pub(crate) last: Transition,
    pub(crate) last_op: Operation,
    pub(crate) last_footprint: &'a [Access],
    pub(crate) last_left: Option<u64>,
}

/// A share that is given up at a place of a sequence.
pub(crate) struct GivenUp {
    place: usize,
    footprint: Footprint,
    /// How many are left then.
    left: Option<u64>,
}

impl Sequence<'_> {
    fn given_up(&self, i: usize) -> Option<&GivenUp> {
        if self.given_up.is_empty() {
            return None;
        }
        let place = self.given_up.binary_search_by_key(&i, |g| g.place).ok()?;
        Some(&self.given_up[place])
    }
}

impl Items for Sequence<'_> {
    fn len(&self) -> usize {
        self.events.len() + 1
    }

    #[inline]
    fn item(&self, i: usize) -> (Transition, &[Access]) {
        match self.events.get(i) {
            Some(&event) => {
                let here = self.given_up(i).map(|g| g.footprint.as_slice());
                let footprint = here.unwrap_or_else(|| self.execution.footprint(event as usize));
                (self.execution.steps[event as usize].transition(), footprint)
            }
            None => (self.last, self.last_footprint),
        }
    }

    fn op(&self, i: usize) -> Operation {
        self.events.get(i).map_or(self.last_op, |&event| self.execution.steps[event as usize].op)
    }

    fn left(&self, i: usize) -> Option<u64> {
        if i < self.events.len() { self.given_up(i)?.left } else { self.last_left }
    }
}

/// The operation that is moved.
#[derive(Clone, Copy)]
struct Mover {
    thread: ThreadId,
    op: Operation,
    /// The event it is, if it was executed.
    event: Option<usize>,
    /// The event of its thread before it, or that spawned the thread.
    parent: Option<usize>,
    /// Whether it waits for a change, because its thread spins.
    held: bool,
    /// What was announced last, if it was not executed.
    pending: Option<PendingOp>,
}

impl Mover {
    /// What it watches, if it waits for a change.
    fn watched(&self, execution: &Execution) -> Footprint {
        match (self.event, &self.pending) {
            (Some(event), _) => execution.watched(event).collect(),
            (None, Some(pending)) => Footprint::from_slice(execution.awaited(pending)),
            (None, None) => Footprint::new(),
        }
    }
}

/// Which reversals a strategy needs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Which {
    /// With all events of the execution that do not happen after the first: optimal search.
    Complete,
    /// With only those before the second, if that has the same footprint everywhere: backtrack sets.
    UpToSecond,
}

/// Scratch memory for finding reversals.
#[derive(Default)]
pub(crate) struct Reversals {
    events: Vec<u32>,
    /// Which events behind the first one of the race are in the sequence; by number.
    member: Vec<bool>,
    footprint: Footprint,
    /// Events of the sequence that give up shares.
    given_up: Vec<GivenUp>,
    /// Whether threads give up shares.
    shares: bool,
    partners: Vec<u32>,
    /// Which events are partners; by number.
    is_partner: Vec<bool>,
    /// For each thread, the least that a new event's clock says of it.
    least: Vec<u32>,
    /// How many events count; see [`Reversals::each`].
    horizon: usize,
    /// Says when to break off, and whether that has happened.
    stop: Stop,
    broken_off: bool,
}

impl Reversals {
    /// Calls `found` with the place and the sequence of each reversal. Events before `new` have been seen in an earlier
    /// execution; their races are looked at again if new events belong into the sequence. From `horizon` on the execution went on in vain:
    /// what each thread does first behind it can be moved forward, but nothing else there counts.
    pub(crate) fn each(
        &mut self,
        execution: &Execution,
        order: &HappensBefore,
        new: usize,
        horizon: usize,
        which: Which,
        found: &mut dyn FnMut(usize, &Sequence<'_>),
    ) {
        let len = order.len();
        self.broken_off = false;
        self.horizon = horizon.min(len);
        self.shares = execution.steps.iter().any(|s| gives_up(&s.op));
        self.member.resize(len, false);
        self.least.clear();
        self.least.resize(order.width(), u32::MAX);
        for event in new..len {
            for (thread, least) in self.least.iter_mut().enumerate() {
                *least = (*least).min(order.clock(event, thread));
            }
        }
        // No race that begins before this is due again.
        let oldest = self.least.iter().copied().min().unwrap_or(0) as usize;
        let start = oldest.min(new);
        for event in start..len {
            self.broken_off |= self.stop.is_over();
            if self.broken_off {
                return;
            }
            if order.parent(event).is_some_and(|parent| parent >= horizon) {
                continue;
            }
            let step = &execution.steps[event];
            let mover = Mover {
                thread: step.thread,
                op: step.op,
                event: Some(event),
                parent: order.parent(event),
                held: step.held,
                pending: None,
            };
            let complete = which == Which::Complete || !is_fixed(&step.op, execution);
            if step.choices > 1 && event < horizon && self.is_due(order, event, event, new, complete) {
                self.reverse(execution, order, event, &mover, which, found);
            }
            self.find_partners(execution, order, &mover);
            for i in 0..self.partners.len() {
                let partner = self.partners[i] as usize;
                if partner < horizon && self.is_due(order, partner, event, new, complete) {
                    self.reverse(execution, order, partner, &mover, which, found);
                }
            }
        }
        // What was about to happen when a thread ended the program, or the process was lost, can come before that.
        let ends = |last: &usize| execution.lost || execution.steps[*last].op.ends_program();
        let ended = len.checked_sub(1).filter(ends).map(|last| last as u32);
        for pending in &execution.pending {
            self.broken_off |= self.stop.is_over();
            if self.broken_off {
                return;
            }
            if pending.held && ended.is_none() {
                // It was let go before, again and again, and those steps are moved.
                continue;
            }
            let parent = order.last_of(pending.thread.index(), execution);
            if parent.is_some_and(|parent| parent >= horizon) {
                continue;
            }
            let mover = Mover {
                thread: pending.thread,
                op: pending.op,
                event: None,
                parent,
                held: pending.held,
                pending: Some(*pending),
            };
            self.find_partners(execution, order, &mover);
            if let Some(end) = ended.filter(|end| parent != Some(*end as usize)) {
                self.partners.push(end);
            }
            for i in 0..self.partners.len() {
                let partner = self.partners[i] as usize;
                if partner < horizon {
                    self.reverse(execution, order, partner, &mover, which, found);
                }
            }
        }
    }

    /// Breaks off when this says so.
    pub(crate) fn stop_when(&mut self, stop: Stop) {
        self.stop = stop;
    }

    /// Whether it was broken off.
    pub(crate) fn is_broken_off(&self) -> bool {
        self.broken_off
    }

    /// Forgets everything but when to break off.
    pub(crate) fn renewed(&mut self) -> Self {
        Self { stop: core::mem::take(&mut self.stop), ..Self::default() }
    }

    /// Whether the sequence of a race may differ from what it was when both events were new.
    fn is_due(&self, order: &HappensBefore, first: usize, second: usize, new: usize, complete: bool) -> bool {
        second >= new || complete && self.least[order.thread(first)] <= first as u32
    }

    /// The events with which the mover can change places.
    fn find_partners(&mut self, execution: &Execution, order: &HappensBefore, mover: &Mover) {
        self.partners.clear();
        let everything = |event: usize| execution.footprint(event).first() == Some(&Access::EVERYTHING);
        if let Some(event) = mover.event
            && (!everything(event) || mover.op.ends_program())
        {
            // Nothing changes places with a step that was taken only because no other was enabled.
            self.partners.extend(order.races(event).iter().filter(|e| !everything(**e as usize)));
        }
        if !primitives::competes(&mover.op, mover.held, &execution.state) {
            if let Operation::Join { wait: Wait::Block, .. } = mover.op {
                // Not before the thread has ended.
                self.partners.retain(|e| execution.steps[*e as usize].op != Operation::Exit);
            }
            return;
        }
        self.partners.retain(|e| !releases(execution, *e as usize, mover));
        let mut footprint = core::mem::take(&mut self.footprint);
        match mover.event {
            Some(event) => {
                footprint = Footprint::from_slice(execution.footprint(event));
                if matches!(execution.steps[event].outcome, Outcome::SIGNALLED | Outcome::BROKEN_OFF) {
                    // A handler ran in its place. Before the signal it could have been served.
                    primitives::add_objects(&mover.op, mover.thread, &execution.state, &mut footprint);
                }
            }
            None => {
                primitives::footprint(&mover.op, mover.thread, 0, &execution.state, &mut footprint);
                if mover.op == Operation::Exit {
                    footprint.extend(execution.left_locked(mover.thread, None).map(Access::write));
                }
                if mover.held {
                    watch(&mover.watched(execution), &mut footprint);
                }
            }
        }
        self.is_partner.resize(order.len(), false);
        for partner in &self.partners {
            self.is_partner[*partner as usize] = true;
        }
        for access in footprint.iter().filter(|a| **a != Access::EVERYTHING) {
            self.find_competitors(execution, order, mover, access.object());
        }
        for partner in &self.partners {
            self.is_partner[*partner as usize] = false;
        }
        self.footprint = footprint;
    }

    /// Adds all events that may have kept the mover from being served earlier.
    fn find_competitors(&mut self, execution: &Execution, order: &HappensBefore, mover: &Mover, object: ObjectId) {
        let (mut before, mut all) = (None, None);
        match mover.event {
            Some(event) => before = Some(order.accesses_before(object, event)),
            None => all = Some(order.accesses(object)),
        }
        for access in before.into_iter().flatten().chain(all.into_iter().flatten()) {
            let known = mover.parent.is_some_and(|p| order.happens_before(access.step, p));
            if known && access.write {
                // All accesses before it are known too.
                break;
            }
            let (step, number) = (&execution.steps[access.step], access.step as u32);
            // What commutes with the mover where that was executed is no partner, and the mover is not affected by it.
            let commutes = mover.event.is_some_and(|event| !order.happens_before(access.step, event));
            if !known
                && !commutes
                && step.thread != mover.thread
                && !releases(execution, access.step, mover)
                && !self.is_partner[access.step]
            {
                self.is_partner[access.step] = true;
                self.partners.push(number);
            }
        }
    }

    /// Moves `mover` before the event `first`.
    fn reverse(
        &mut self,
        execution: &Execution,
        order: &HappensBefore,
        first: usize,
        mover: &Mover,
        which: Which,
        found: &mut dyn FnMut(usize, &Sequence<'_>),
    ) {
        // An operation that may have another footprint at its new place may depend there on events that it did not depend on.
        let is_fixed = is_fixed(&mover.op, execution);
        let end = if which == Which::Complete || !is_fixed { order.len() } else { mover.event.unwrap_or(order.len()) };
        let end = end.min(self.horizon);
        order.unaffected(first, end, &mut self.events);
        self.set_members(true);
        self.place(execution, order, first, mover, &mut Vec::new(), found);
        self.set_members(false);
    }

    /// Notes of the events of the sequence that they are in it, or no more.
    fn set_members(&mut self, member: bool) {
        for event in &self.events {
            self.member[*event as usize] = member;
        }
    }

    /// Whose share is the last depends on which of the others are in the sequence.
    fn give_up(&mut self, execution: &Execution, order: &HappensBefore, first: usize) {
        self.given_up.clear();
        if !self.shares {
            return;
        }
        for (place, &event) in self.events.iter().enumerate() {
            let step = &execution.steps[event as usize];
            if !step.held && gives_up(&step.op) {
                let events = &self.events[..place];
                let view = Earlier { execution, order, first, events, member: &self.member };
                let mut footprint = Footprint::new();
                primitives::footprint(&step.op, step.thread, step.choice, &view, &mut footprint);
                let left = primitives::shares_left(&step.op, &view);
                self.given_up.push(GivenUp { place, footprint, left });
            }
        }
    }

    /// Puts the mover behind the present members, in every outcome it can have there; then does the same with fewer members
    /// where some of them are holders that need not come before a blocked mover.
    fn place(
        &mut self,
        execution: &Execution,
        order: &HappensBefore,
        first: usize,
        mover: &Mover,
        left_out: &mut Vec<u32>,
        found: &mut dyn FnMut(usize, &Sequence<'_>),
    ) {
        self.give_up(execution, order, first);
        let view = Earlier { execution, order, first, events: &self.events, member: &self.member };
        let given_up = &self.given_up;
        let own = mover.event == Some(first);
        if is_fixed(&mover.op, execution)
            && !own
            && let Some(event) = mover.event
            && !mover.held
        {
            let last = execution.steps[event].transition();
            let last_footprint = execution.footprint(event);
            if dependent(last_footprint, execution.footprint(first)) {
                let (events, last_op) = (&self.events, mover.op);
                let sequence = Sequence { execution, events, given_up, last, last_op, last_footprint, last_left: None };
                found(first, &sequence);
            }
            return;
        }
        let held = mover.held;
        // What others were about to do when the process was lost comes before the last step whether it depends on it or not.
        let is_lost = execution.lost && mover.event.is_none();
        let ends = mover.op.may_give_up() && primitives::ends(&mover.op, mover.thread, &view);
        let choices = if held && !ends && !view.sees_change(mover) {
            0
        } else {
            primitives::choices(&mover.op, mover.thread, &view)
        };
        let mut footprint = core::mem::take(&mut self.footprint);
        for choice in 0..choices {
            let last = Transition { thread: mover.thread, choice };
            if own && execution.steps[first].choice == choice {
                continue;
            }
            primitives::footprint(&mover.op, mover.thread, choice, &view, &mut footprint);
            if mover.op == Operation::Exit {
                footprint.extend(execution.left_locked(mover.thread, mover.event).map(Access::write));
            }
            if held {
                watch(&mover.watched(execution), &mut footprint);
            }
            if own || is_lost || affects(&footprint, execution.footprint(first)) {
                let (events, last_op, last_footprint) = (&self.events, mover.op, footprint.as_slice());
                let last_left = primitives::shares_left(&mover.op, &view);
                let sequence = Sequence { execution, events, given_up, last, last_op, last_footprint, last_left };
                found(first, &sequence);
            }
        }
        self.footprint = footprint;
        if let Operation::WriteLock { lock, .. } = mover.op
            && primitives::competes(&mover.op, mover.held, &execution.state)
        {
            self.leave_out(execution, order, first, mover, lock, left_out, found);
        }
    }

    /// Tries the mover with each reader, and all that happens after it, left out.
    #[allow(clippy::too_many_arguments)]
    fn leave_out(
        &mut self,
        execution: &Execution,
        order: &HappensBefore,
        first: usize,
        mover: &Mover,
        lock: ObjectId,
        left_out: &mut Vec<u32>,
        found: &mut dyn FnMut(usize, &Sequence<'_>),
    ) {
        let knows = |event: usize| mover.parent.is_some_and(|p| order.happens_before(event, p));
        let reads = |event: usize| order.access(event, lock).is_some() && !knows(event);
        let readers: Vec<u32> = self.events.iter().rev().copied().filter(|e| reads(*e as usize)).collect();
        for reader in readers {
            // Sets of readers are tried once: the latest one first, then only earlier ones.
            if left_out.last().is_some_and(|l| reader >= *l) {
                continue;
            }
            let events = self.events.clone();
            self.set_members(false);
            self.events.retain(|e| !order.happens_before(reader as usize, *e as usize));
            self.set_members(true);
            left_out.push(reader);
            self.place(execution, order, first, mover, left_out, found);
            left_out.pop();
            self.events = events;
            self.set_members(true);
        }
    }
}

/// Adds what a held thread watches to the footprint of its step.
fn watch(watched: &[Access], footprint: &mut Footprint) {
    for access in watched {
        match footprint.iter_mut().find(|a| a.object() == access.object()) {
            Some(own) if access.is_write() => *own = *access,
            Some(_) => {}
            None => footprint.push(*access),
        }
    }
}

/// Whether an event gives back what the mover waits for: before it, a lock is held, so nobody who waits for the lock can go first. One that
/// misuses the lock does not. And who gave up because it is to end can do so while the lock is held, as can who spins on
/// a wait that expires: it gives up again as soon as something has changed.
fn releases(execution: &Execution, event: usize, mover: &Mover) -> bool {
    let gave_up = |event: usize| execution.steps[event].outcome == Outcome::CANCELLED;
    if mover.event.is_some_and(gave_up) || mover.held && mover.op.may_give_up() {
        return false;
    }
    let releases = match execution.steps[event].op {
        Operation::Unlock { .. } | Operation::WriteUnlock { .. } | Operation::OnceEnd { .. } => true,
        // A writer that begins to wait does so while readers hold the lock.
        Operation::ReadUnlock { .. } => !matches!(mover.op, Operation::WriteQueue { .. }),
        // It gives back the mutex, but begins to use the condition variable.
        Operation::QueueWait { .. } => !matches!(mover.op, Operation::DestroyQueue { .. }),
        _ => false,
    };
    releases && !execution.misuses.iter().any(|m| m.step as usize == event)
}

/// Whether an operation has another footprint if others of its kind are left out, although it does not depend on them.
fn gives_up(op: &Operation) -> bool {
    matches!(op, Operation::DropShare { weak: false, .. })
}

/// Whether an operation has one outcome and the same footprint wherever it is executed. Where there are signals, none has.
fn is_fixed(op: &Operation, execution: &Execution) -> bool {
    let is_fixed = matches!(
        op,
        Operation::Load { .. }
            | Operation::Store { .. }
            | Operation::Update { .. }
            | Operation::Unlock { .. }
            | Operation::ReadUnlock { .. }
            | Operation::WriteUnlock { .. }
            | Operation::WriteTicket { .. }
            | Operation::Post { .. }
            | Operation::OnceEnd { .. }
            | Operation::OnceCheck { .. }
            | Operation::IsFinished { .. }
            | Operation::Start
            | Operation::Exit
            | Operation::Spawn { .. }
            | Operation::Detach { .. }
            | Operation::Unpark { .. }
            | Operation::CloneSender { .. }
            | Operation::DropSender { .. }
            | Operation::DropReceiver { .. }
            | Operation::ReceiveReady { .. }
            | Operation::Count { .. }
            | Operation::AddShare { .. }
            | Operation::Sleep
            | Operation::Yield
            | Operation::MakeConsistent { .. }
            | Operation::Initialise { .. }
            | Operation::Destroy { .. }
            | Operation::Free { .. }
            | Operation::Cancel { .. }
            | Operation::SetCancel { .. }
            | Operation::End
            | Operation::Crash
    );
    is_fixed && !execution.state.fixed().has_signals()
}

/// The state after the events before `first` and the member events.
struct Earlier<'a> {
    execution: &'a Execution,
    order: &'a HappensBefore,
    first: usize,
    events: &'a [u32],
    member: &'a [bool],
}

impl Earlier<'_> {
    /// The word that an object had before the access of `step`.
    fn before(&self, object: ObjectId, step: usize) -> u64 {
        let range = self.execution.access_range(step);
        let place = range.clone().find(|&a| {
            self.execution.accesses[a] != Access::EVERYTHING && self.execution.accesses[a].object() == object
        });
        place.map_or(0, |a| self.execution.before[a])
    }

    /// Whether an object that a held thread watches was changed, among these events, since the thread last looked.
    fn sees_change(&self, mover: &Mover) -> bool {
        let event = mover.event.unwrap_or(self.order.len());
        mover.watched(self.execution).iter().any(|watched| {
            let object = watched.object();
            let mut after = self.execution.state.word(object);
            for access in self.order.accesses(object) {
                let before = self.before(object, access.step);
                let step = &self.execution.steps[access.step];
                if access.step < event {
                    let own = step.thread == mover.thread;
                    if own && (access.write || !watched.is_write()) {
                        return false;
                    }
                    let changes = if access.write {
                        self.execution.changes_by_write(access.step, object)
                    } else {
                        watched.is_write() && before != after
                    };
                    if changes && !own && (access.step < self.first || self.member[access.step]) {
                        return true;
                    }
                }
                after = before;
            }
            false
        })
    }
}

impl View for Earlier<'_> {
    fn word(&self, object: ObjectId) -> u64 {
        let footprint = self.execution.footprint(self.first);
        if let Some(place) = footprint.iter().position(|a| *a == Access::write(object)) {
            // The first event of the race writes it, so nobody that stays touches it afterwards.
            return self.execution.before[self.execution.access_range(self.first).start + place];
        }
        let last = self.execution.state.word(object);
        let touches = self.order.access(self.first, object).is_some();
        let earliest = if touches {
            Some(self.first)
        } else {
            self.order.accesses(object).map(|a| a.step).take_while(|step| *step > self.first).last()
        };
        let Some(earliest) = earliest else { return last };
        // Replays the changes that belong to the sequence. Behind a write that does not, nothing in it touches the object.
        let mut word = self.before(object, earliest);
        for &event in self.events {
            if let Some((access, next)) = self.order.access(event as usize, object) {
                let after = next.map_or(last, |next| self.before(object, next));
                let change = after.wrapping_sub(self.before(object, access.step));
                word = if access.write { after } else { word.wrapping_add(change) };
            }
        }
        word
    }

    fn fixed(&self) -> &Fixed {
        self.execution.state.fixed()
    }
}
