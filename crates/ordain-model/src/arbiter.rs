//! The arbiter: a pure state machine that says what can happen next and makes it happen.
//!
//! Every thread *announces* its next operation; when all have, the arbiter lists the *enabled* transitions, one is picked
//! and *applied*, and its thread goes on to its next announcement. Announcing only stores the operation, so the order of
//! announcements does not matter; listing changes nothing; applying is deterministic.

mod mark;

pub use mark::Mark;

use crate::execution::{
    Divergence, End, Execution, PendingOp, PlainAccess, PlainKind, Site, Step, Transition, Watching,
};
use crate::finding::{Deadlock, MisuseAt, Waiter};
use crate::footprint::{Access, Footprint};
use crate::idle::{Idle, Left, Version, is_progress};
use crate::names::{Names, ObjectId, ObjectKind, ThreadId};
use crate::operation::{MemoryOrder, Operation, Outcome, Wait};
use crate::primitives;
use crate::state::View;
use crate::turns::{Turns, Unseen};
use alloc::vec::Vec;

/// What to assume of the world.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Waits on condition variables, futexes and park tokens may end without a reason.
    pub spurious_wakeups: bool,
    /// Time passes only when nobody can do anything else: waits expire late.
    pub kind_time: bool,
    /// Idle rounds of a spinning thread that are explored before it is held until something changes.
    pub spin_bound: u32,
    /// Idle rounds of held threads, with nothing else to do, after which the execution is a livelock.
    pub livelock_rounds: u32,
    /// Steps since a thread last began or ended after which the execution is given up.
    pub max_steps: usize,
    /// Rounds in which a thread gets something done at one place after which it lets all others go first; zero: as many as it makes.
    pub free_rounds: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            spurious_wakeups: false,
            kind_time: false,
            spin_bound: 2,
            livelock_rounds: 100_000,
            max_steps: 1_000_000,
            free_rounds: 0,
        }
    }
}

/// What a live thread is about to do.
#[derive(Clone, Copy)]
struct Pending {
    op: Operation,
    site: Site,
    /// Held back until something it watches changes.
    held: bool,
    /// May go on although it is held, because nobody else can.
    released: bool,
    /// Held not because it repeats itself, but because it goes on and on while others could.
    hogs: bool,
    /// The virtual time at which it gives up, if it is one that does.
    deadline: u64,
}

impl Pending {
    /// Whether it ends when its time comes, whatever others do.
    fn is_timed(&self) -> bool {
        self.op.wait() == Some(Wait::Timed) || self.op == Operation::Sleep
    }
}

/// A step of which it is not yet known whether it changed something: the front end tells the value of the cell that it wrote.
struct Unsettled {
    /// The cell, if the step wrote one.
    cell: Option<ObjectId>,
    /// The step's number.
    step: usize,
    /// Where its own accesses are, without those of what it watches.
    accesses: core::ops::Range<usize>,
    /// Which of the step's accesses are writes of its own.
    own_writes: u128,
    /// The versions that the objects had before.
    before: smallvec::SmallVec<[Version; 4]>,
}

/// What the arbiter knows of a thread in the present execution.
#[derive(Default)]
struct Thread {
    pending: Option<Pending>,
    idle: Idle,
    turns: Turns,
    children: u32,
    objects: u32,
    /// Virtual time in nanoseconds.
    time: u64,
    /// How long its next timed operation waits, in nanoseconds.
    patience: u64,
    /// How many threads it knows to have ended, because it joined them, or those it joined had joined them.
    joined: u32,
}

/// The state machine behind all front ends.
pub struct Arbiter {
    names: Names,
    options: Options,
    execution: Execution,
    threads: Vec<Thread>,
    /// Threads that have not ended, in order of number.
    alive: Vec<ThreadId>,
    /// How many threads were spawned.
    spawned: u32,
    /// A thread that has crashed.
    crashed: Option<ThreadId>,
    versions: Vec<Version>,
    /// Who has not yet seen the last changes of an object.
    unseen: Vec<Unseen>,
    /// Latest virtual time at which an object was read and written.
    times: Vec<(u64, u64)>,
    time_used: bool,
    /// Number of the step at which a thread last began or ended.
    progress: usize,
    /// Sites at which a thread reads the same again and again without waiting for a change. Learned, and kept.
    long_loops: Vec<Site>,
    footprint: Footprint,
    unsettled: Option<Unsettled>,
    /// Who made the last step, and how many in a row.
    run: (Option<ThreadId>, usize),
}

/// How often a loop that was taken to wait may turn out to be long before it is never held again. Each time it gets sixteen times as
/// many free rounds.
const LEVELS: u32 = 4;

/// How often in kind time a thread that gets something done goes on before time passes.
const PATIENCE: u32 = 1024;

/// What is learned about a loop: that at this level its free rounds did not suffice.
fn lesson(site: Site, level: u32) -> Site {
    Site(site.0 ^ u64::from(level) << 58)
}

/// What is learned of the rounds in which a thread gets something done at a site is told apart from what is learned of idle ones.
fn of_turns(site: Site) -> Site {
    Site(site.0 ^ 1 << 57)
}

/// The word and the parameter of an object of one part that begins with `initial`.
pub fn first_state(kind: ObjectKind, initial: u64) -> (u64, u64) {
    match kind {
        ObjectKind::Mutex | ObjectKind::RwLock => (0, initial),
        ObjectKind::Barrier => (0, initial.max(1)),
        _ => (initial, 0),
    }
}

impl Arbiter {
    /// An arbiter with no execution under way.
    pub fn new(options: Options) -> Self {
        Self {
            names: Names::default(),
            options,
            execution: Execution::default(),
            threads: Vec::new(),
            alive: Vec::new(),
            spawned: 0,
            crashed: None,
            versions: Vec::new(),
            unseen: Vec::new(),
            times: Vec::new(),
            time_used: false,
            progress: 0,
            long_loops: Vec::new(),
            footprint: Footprint::new(),
            unsettled: None,
            run: (None, 0),
        }
    }

    /// The names of all threads and objects so far.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// The names, to give some.
    pub fn names_mut(&mut self) -> &mut Names {
        &mut self.names
    }

    /// The present execution, or the last one.
    pub fn execution(&self) -> &Execution {
        &self.execution
    }

    /// Sites of loops that are known to be long, not waiting.
    pub fn long_loops(&self) -> &[Site] {
        &self.long_loops
    }

    /// Takes over what another arbiter has learned of a loop.
    pub fn know_long_loop(&mut self, site: Site) {
        if !self.long_loops.contains(&site) {
            self.long_loops.push(site);
        }
    }

    /// Takes note of something that changes which steps depend on each other. It is kept like a long loop; whatever was explored without
    /// knowing it is explored again.
    pub fn learn(&mut self, lesson: Site) {
        if !self.long_loops.contains(&lesson) {
            self.long_loops.push(lesson);
            self.execution.learned = true;
        }
    }

    /// Forgets which loops are long.
    pub fn forget_long_loops(&mut self) {
        self.long_loops.clear();
    }

    /// The options it was made with.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Begins an execution: only main is there.
    pub fn begin(&mut self) {
        self.execution.clear();
        self.execution.state.fixed.spurious = self.options.spurious_wakeups;
        self.execution.state.fixed.kind_time = self.options.kind_time;
        self.alive.clear();
        self.spawned = 0;
        self.crashed = None;
        self.time_used = false;
        self.progress = 0;
        self.unsettled = None;
        self.run = (None, 0);
        self.start_thread(ThreadId::MAIN, u32::MAX);
    }

    fn start_thread(&mut self, thread: ThreadId, spawned_by: u32) {
        let index = thread.index();
        if self.threads.len() <= index {
            self.threads.resize_with(index + 1, Thread::default);
        }
        let entry = &mut self.threads[index];
        entry.pending = None;
        entry.idle.reset();
        entry.turns.reset();
        (entry.children, entry.objects, entry.time, entry.patience, entry.joined) = (0, 0, 0, 0, 0);
        if self.execution.spawned_by.len() <= index {
            self.execution.spawned_by.resize(index + 1, u32::MAX);
        }
        self.execution.spawned_by[index] = spawned_by;
        let life = self.know_life(thread);
        for part in 0..4 {
            self.init_object(life.offset(part), 0, 0);
        }
        let place = self.alive.partition_point(|t| *t < thread);
        self.alive.insert(place, thread);
    }

    /// The life object of a thread, which is known from now on.
    fn know_life(&mut self, thread: ThreadId) -> ObjectId {
        let (index, life) = (thread.index(), self.names.life(thread));
        let lives = &mut self.execution.state.fixed.lives;
        if lives.len() <= index {
            lives.resize(index + 1, life);
        }
        lives[index] = life;
        life
    }

    /// Prepares what signals need of a thread that is there, or about to be.
    fn expect_thread(&mut self, thread: ThreadId, mask: u64) {
        let life = self.know_life(thread);
        self.init_object(life.offset(4), mask, 0);
        self.init_object(life.offset(5), 0, 0);
        let lineage = self.names.lineage(thread);
        self.execution.state.fixed.threads.push((thread, lineage));
    }

    /// The objects of the signals that a thread blocks, and of those that have come for it.
    pub fn signals_of(&self, thread: ThreadId) -> [ObjectId; 2] {
        let fixed = &self.execution.state.fixed;
        [fixed.mask(thread), fixed.come(thread)]
    }

    /// Whether somebody has asked a thread to end, whether it heeds that or not.
    pub fn is_cancelled(&self, thread: ThreadId) -> bool {
        let state = &self.execution.state;
        primitives::is_asked_to_end(state.word(state.fixed.cancellation(thread)))
    }

    fn init_object(&mut self, object: ObjectId, word: u64, param: u64) {
        let (index, state) = (object.index(), &mut self.execution.state);
        if state.words.len() <= index {
            let count = self.names.object_count();
            state.words.resize(count, 0);
            state.fixed.params.resize(count, 0);
            self.versions.resize(count, Version::default());
            self.unseen.resize(count, Unseen::default());
            self.times.resize(count, (0, 0));
        }
        state.words[index] = word;
        state.fixed.params[index] = param;
        self.versions[index] = Version::default();
        self.unseen[index] = Unseen::default();
        self.times[index] = (0, 0);
    }

    /// The name of the next thread that `parent` creates, to be announced with [`Operation::Spawn`].
    pub fn next_child(&mut self, parent: ThreadId) -> ThreadId {
        let number = self.threads[parent.index()].children;
        self.threads[parent.index()].children += 1;
        self.names.child(parent, number)
    }

    /// Makes an object. `initial` is the count of a semaphore, the number of threads of a barrier, the capacity of a channel
    /// (`u64::MAX` if unbounded), the value of a cell, the kind of a mutex (see [`crate::mutex_kind`]), the set of signals that are
    /// ignored, else zero. The signals of a process are made before it makes threads.
    pub fn create(&mut self, creator: ThreadId, kind: ObjectKind, initial: u64) -> ObjectId {
        let number = self.threads[creator.index()].objects;
        self.threads[creator.index()].objects += 1;
        let object = self.names.object(creator, number, kind);
        self.initialise(object, initial);
        object
    }

    /// Gives an object that was named before, such as a static, its initial state in this execution.
    pub fn initialise(&mut self, object: ObjectId, initial: u64) {
        match self.names.kind(object) {
            ObjectKind::Channel => {
                self.init_object(object, 0, initial);
                self.init_object(object.offset(1), 0, 0);
                self.init_object(object.offset(2), 1, 0);
                self.init_object(object.offset(3), 1, 0);
                let parts = &mut self.execution.state.fixed.parts;
                if parts.len() <= object.index() {
                    parts.resize_with(object.index() + 1, Vec::new);
                }
                parts[object.index()].clear();
                self.extend_channel(object, 0);
            }
            ObjectKind::Signals => {
                self.init_object(object, 0, 0);
                self.init_object(object.offset(1), initial, 0);
                if self.execution.state.fixed.signals.is_none() {
                    self.execution.state.fixed.signals = Some(object);
                    self.expect_thread(ThreadId::MAIN, 0);
                }
            }
            ObjectKind::RwLock => {
                self.init_object(object, 0, initial);
                self.init_object(object.offset(1), 0, 0);
            }
            ObjectKind::Descriptor => {
                self.init_object(object, initial, u64::from(object.watchers().0));
                self.init_object(object.watchers(), 0, 0);
            }
            kind => {
                let (word, param) = first_state(kind, initial);
                self.init_object(object, word, param);
            }
        }
    }

    /// Makes a set of objects, each with the bits that are waited for, for [`Operation::Poll`].
    pub fn create_poll(&mut self, creator: ThreadId, members: &[(ObjectId, u64)]) -> ObjectId {
        let set = self.create(creator, ObjectKind::Poll, 0);
        self.set_members(set, members);
        set
    }

    /// Says which objects belong to a set, each with what is waited for or done to it: see [`Operation::Poll`] and [`crate::Member`].
    pub fn set_members(&mut self, set: ObjectId, members: &[(ObjectId, u64)]) {
        let polls = &mut self.execution.state.fixed.polls;
        if polls.len() <= set.index() {
            polls.resize_with(set.index() + 1, Vec::new);
        }
        polls[set.index()].clear();
        polls[set.index()].extend_from_slice(members);
    }

    /// Makes sure that the place of message `number` is there.
    fn extend_channel(&mut self, channel: ObjectId, number: u64) {
        let capacity = self.execution.state.fixed.param(channel);
        let number = if matches!(capacity, 0 | u64::MAX) { number } else { number % capacity };
        while self.execution.state.fixed.parts[channel.index()].len() as u64 <= number {
            let next = self.execution.state.fixed.parts[channel.index()].len() as u32;
            let part = self.names.part(channel, next);
            self.init_object(part, 0, 0);
            self.execution.state.fixed.parts[channel.index()].push(part);
        }
    }

    /// Takes note of what a thread is about to do.
    #[inline]
    pub fn announce(&mut self, thread: ThreadId, op: Operation, site: Site) {
        if op == Operation::Crash {
            self.crashed = Some(thread);
        }
        if let Operation::Spawn { child } = op
            && self.execution.state.fixed.has_signals()
        {
            self.expect_thread(child, u64::MAX);
        }
        if let Some(unsettled) = self.unsettled.take() {
            // A value that was not told may be any.
            let first = unsettled.accesses.start;
            let is_count = matches!(self.execution.steps[unsettled.step].op, Operation::Count { .. });
            let unchanged = |c: ObjectId| self.execution.before[first] == self.execution.state.word(c);
            let same = is_count && unsettled.cell.is_some_and(unchanged);
            self.settle(&unsettled, same);
        }
        let bound = self.spin_bound(site);
        let hogs = self.hogs(thread, &op) || self.is_up(thread, &op, site);
        let entry = &mut self.threads[thread.index()];
        let locks = self.execution.state.holds.iter().filter(|h| h.thread == thread).map(|h| h.object);
        // A timer goes on whatever others do; beyond what is explored freely it rings when they wait for it.
        let ticks = site == Site::TICK && entry.idle.rounds_of(Site::TICK) >= self.options.spin_bound;
        self.execution.spin_held |= ticks;
        let held = !ticks && entry.idle.holds(&op, site, bound, locks);
        let hogs = ticks || hogs && !held;
        if hogs {
            entry.idle.watch_nothing();
        }
        let held = held || hogs;
        let deadline = entry.time.saturating_add(entry.patience);
        entry.pending = Some(Pending { op, site, held, released: false, hogs, deadline });
    }

    /// Whether a thread stands for a timer with an interval that has rung early as often as is explored.
    pub fn bounds_timer(&self, thread: ThreadId) -> bool {
        self.threads[thread.index()].idle.rounds_of(Site::TICK) >= self.options.spin_bound
    }

    /// Whether a thread must let others go first because it would reach the step limit otherwise: a loop in which nothing repeats as far as can
    /// be seen, such as one that takes a lock again and again.
    fn hogs(&self, thread: ThreadId, op: &Operation) -> bool {
        /// With a lower limit, what is a long run of one thread does not show.
        const LEAST: usize = 1024;
        let most = self.options.max_steps;
        most >= LEAST
            && self.run.1 >= most / 16
            && self.run.0 == Some(thread)
            && self.execution.steps.len() - self.progress >= most / 2
            && !matches!(op, Operation::Spawn { .. } | Operation::Exit | Operation::Crash | Operation::End)
            // Not while it holds what all others wait for: they would still not have had their chance.
            && self.alive.iter().any(|t| *t != thread && self.choices(*t) > 0)
    }

    /// Whether a thread has got something done at one place as often as it may before others have had their turn.
    fn is_up(&self, thread: ThreadId, op: &Operation, site: Site) -> bool {
        let free = self.options.free_rounds;
        let turns = &self.threads[thread.index()].turns;
        free > 0
            && turns.is_up(op, site, free)
            && !self.is_alone(thread)
            && turns.is_up(op, site, self.bound(free, of_turns(site)))
    }

    /// How many idle rounds at a site are free.
    fn spin_bound(&self, site: Site) -> u32 {
        self.bound(self.options.spin_bound, site)
    }

    /// How many rounds are free at a site if that many are at first.
    fn bound(&self, first: u32, site: Site) -> u32 {
        if self.long_loops.is_empty() {
            return first;
        }
        let level = (0..=LEVELS).find(|level| !self.long_loops.contains(&lesson(site, *level)));
        level.map_or(u32::MAX, |level| first.saturating_mul(1 << (4 * level)))
    }

    /// Whether a wait for a time may also end without a reason before that time. Front ends then let the thread choose, and wait without a
    /// time if it does end so: what comes of it is neither a notification nor that its time is over. Who only goes round has seen that already.
    pub fn may_wake_early(&self, thread: ThreadId) -> bool {
        self.options.spurious_wakeups && !self.threads[thread.index()].idle.goes_round(self.options.spin_bound)
    }

    /// What a thread has announced.
    #[inline]
    pub fn pending(&self, thread: ThreadId) -> Option<(Operation, Site)> {
        self.threads.get(thread.index()).and_then(|t| t.pending.as_ref()).map(|p| (p.op, p.site))
    }

    /// The footprint that the announced operation of a thread would have now.
    pub fn pending_footprint(&self, thread: ThreadId, choice: u32, out: &mut Footprint) {
        out.clear();
        if let Some(pending) = &self.threads[thread.index()].pending {
            primitives::footprint(&pending.op, thread, choice, &self.execution.state, out);
        }
    }

    /// Threads that have not ended, in order of number.
    pub fn alive(&self) -> &[ThreadId] {
        &self.alive
    }

    /// Whether all other threads have ended before, as far as happens-before goes: then it cannot matter when this one ends the program.
    /// That there is no other thread now says less, because it may have ended without this one knowing.
    pub fn is_alone(&self, thread: ThreadId) -> bool {
        self.threads[thread.index()].joined >= self.spawned
    }

    /// How many outcomes the announced operation of a thread can have now; none means that it is blocked.
    #[inline]
    pub fn choices(&self, thread: ThreadId) -> u32 {
        let Some(entry) = self.threads.get(thread.index()) else { return 0 };
        let Some(pending) = &entry.pending else { return 0 };
        let state = &self.execution.state;
        if pending.released {
            return 1;
        }
        if pending.held
            && !entry.idle.sees_change(&self.versions)
            && !primitives::is_signalled(&pending.op, thread, state)
        {
            // Waits that may end unserved are held only as far as that goes.
            if !pending.op.may_give_up() || !primitives::ends(&pending.op, thread, state) {
                return 0;
            }
        }
        primitives::choices(&pending.op, thread, state)
    }

    /// The first enabled transition in order of threads, but for a crash, which comes at once; lets a held thread go if there is no other.
    pub fn first_enabled(&mut self) -> Option<Transition> {
        if let Some(thread) = self.crashed {
            return Some(Transition::first(thread));
        }
        let found = self.alive.iter().copied().find(|t| self.choices(*t) > 0);
        match found {
            Some(thread) => Some(Transition::first(thread)),
            None => self.release_held().map(Transition::first),
        }
    }

    /// Whether a thread is held that could be let go.
    pub fn holds_back(&self) -> bool {
        self.alive.iter().any(|t| self.choices(*t) == 0 && self.may_be_let_go(*t))
    }

    fn may_be_let_go(&self, thread: ThreadId) -> bool {
        let is_timed = self.threads[thread.index()].pending.is_some_and(|p| p.is_timed());
        self.spins(thread) || self.options.kind_time && is_timed
    }

    /// Whether nothing can happen any more: no thread can go on, and none is held that could be let go.
    pub fn is_stuck(&self) -> bool {
        self.alive.iter().all(|t| self.choices(*t) == 0 && !self.may_be_let_go(*t))
    }

    /// Lists the enabled transitions in order of threads and choices; lets a held thread go if there is no other.
    pub fn enabled(&mut self, out: &mut Vec<Transition>) {
        out.clear();
        for &thread in &self.alive {
            for choice in 0..self.choices(thread) {
                out.push(Transition { thread, choice });
            }
        }
        if out.is_empty()
            && let Some(thread) = self.release_held()
        {
            out.push(Transition::first(thread));
        }
    }

    /// Whether a thread is held that could go on. One that waits for a lock which another has waits, held or not.
    fn spins(&self, thread: ThreadId) -> bool {
        let pending = self.threads[thread.index()].pending;
        pending.is_some_and(|p| p.held && primitives::choices(&p.op, thread, &self.execution.state) > 0)
    }

    /// When nobody else can go on, time passes: one thread that is held, or whose time comes, may go on. Its step depends on
    /// everything, because it is enabled only by the absence of all others. Threads that spin look round once; then, in kind
    /// time, the earliest deadline comes; then those that spin go on by turns.
    fn release_held(&mut self) -> Option<ThreadId> {
        let kind_time = self.options.kind_time;
        let waiting = |t: &ThreadId| self.threads[t.index()].pending.as_ref().map(|p| (*t, p));
        let spinning =
            self.alive.iter().filter_map(waiting).filter(|(t, p)| self.spins(*t) && !(kind_time && p.is_timed()));
        // Not by number, which depends on earlier executions.
        let first = |a: ThreadId, b: ThreadId| self.names.order_of_birth(a, b);
        let spinning = spinning.map(|(t, p)| (self.releases(t, p), t));
        let spinning = spinning.min_by(|a, b| a.0.cmp(&b.0).then_with(|| first(a.1, b.1)));
        let timed = self.alive.iter().filter_map(waiting).filter(|(_, p)| kind_time && p.is_timed());
        let timed = timed.map(|(t, p)| (p.deadline, t)).min_by(|a, b| a.0.cmp(&b.0).then_with(|| first(a.1, b.1)));
        let thread = match (spinning, timed) {
            (Some((0, spinner)), _) => spinner,
            (_, Some((_, timed))) => timed,
            (Some((_, spinner)), None) => spinner,
            (None, None) => return None,
        };
        if timed.is_some_and(|t| t.1 == thread) {
            // What spins looks round again when time has passed.
            for other in &self.alive {
                let entry = &mut self.threads[other.index()];
                if entry.pending.as_ref().is_some_and(|p| p.held && !p.is_timed()) {
                    entry.idle.releases = 0;
                }
            }
        }
        let entry = &mut self.threads[thread.index()];
        let hogs = entry.pending.is_some_and(|p| p.hogs);
        entry.idle.releases += u32::from(!hogs);
        if entry.idle.releases > self.options.livelock_rounds {
            return None;
        }
        if let Some(pending) = &mut entry.pending {
            pending.released = true;
            if pending.hogs {
                self.run.1 = 0;
                entry.turns.release(&pending.op, pending.site, self.options.free_rounds);
            } else {
                let come = !pending.held || kind_time && pending.is_timed();
                entry.idle.release(&pending.op, pending.site, come);
            }
        }
        Some(thread)
    }

    /// How often a held thread went on only because nobody else could. In kind time whoever gets something done does so before time passes,
    /// but not without end.
    fn releases(&self, thread: ThreadId, pending: &Pending) -> u32 {
        let entry = &self.threads[thread.index()];
        match (pending.hogs, self.options.kind_time) {
            (true, true) => entry.turns.releases / PATIENCE,
            (true, false) => entry.idle.releases + entry.turns.releases,
            (false, _) => entry.idle.releases,
        }
    }

    /// Lets a held thread go whatever the others could do: for following a schedule that is known to be possible.
    pub fn release(&mut self, thread: ThreadId) {
        if let Some(pending) = self.threads.get_mut(thread.index()).and_then(|t| t.pending.as_mut())
            && pending.held
        {
            pending.released = true;
            let Pending { op, site, hogs, .. } = *pending;
            if hogs {
                self.threads[thread.index()].turns.release(&op, site, self.options.free_rounds);
            }
        }
    }

    /// Executes the announced operation of a thread. The transition must be enabled.
    pub fn apply(&mut self, transition: Transition) -> Outcome {
        let Transition { thread, choice } = transition;
        let choices = self.choices(thread);
        debug_assert!(choice < choices, "transition not enabled");
        let Some(pending) = self.threads[thread.index()].pending.take() else { return Outcome::FAILED };
        let op = pending.op;
        let mut footprint = core::mem::take(&mut self.footprint);
        primitives::present_footprint(&op, thread, choice, &self.execution.state, &mut footprint);
        if pending.released {
            footprint.insert(0, Access::EVERYTHING);
        }
        let own_end = footprint.len();
        let number = self.execution.steps.len();
        let mut own_writes = u128::MAX;
        if pending.held {
            let watching = watch(number as u32, &self.threads[thread.index()].idle, &mut footprint);
            own_writes = watching.own_writes;
            self.execution.spin_held = true;
            *(if pending.hogs { &mut self.execution.took_turns } else { &mut self.execution.idled }) = true;
            self.execution.watching.push(watching);
        }
        self.run = (Some(thread), if self.run.0 == Some(thread) { self.run.1 + 1 } else { 1 });
        let first_access = self.execution.accesses.len() as u32;
        let first_object = usize::from(footprint.first() == Some(&Access::EVERYTHING));
        let mut versions: smallvec::SmallVec<[Version; 4]> = smallvec::SmallVec::new();
        for (i, access) in footprint.iter().enumerate() {
            let known = *access != Access::EVERYTHING;
            self.execution.accesses.push(*access);
            self.execution.before.push(if known { self.execution.state.word(access.object()) } else { 0 });
            if known && i < own_end {
                versions.push(self.versions[access.object().index()]);
            }
        }
        let (outcome, misuse) = primitives::apply(&op, thread, choice, &mut self.execution.state);
        self.execution.steps.push(Step {
            thread,
            choice,
            choices,
            op,
            outcome,
            site: pending.site,
            held: pending.held,
            changes: true,
            first_access,
            access_count: footprint.len() as u32,
        });
        let misused = misuse.is_some();
        if let Some(misuse) = misuse {
            self.execution.misuses.push(MisuseAt { misuse, step: number as u32 });
        }
        if self.time_used {
            let objects = &footprint[first_object..own_end];
            pass_time(&mut self.threads[thread.index()].time, objects, &mut self.times);
        }
        let cell = match op {
            Operation::Store { cell, .. } | Operation::Update { cell, .. } => Some(cell),
            Operation::CompareExchange { cell, .. } if outcome == Outcome::DONE => Some(cell),
            Operation::Count { count, observes: true } => Some(count),
            _ => None,
        };
        let first = first_access as usize;
        let accesses = first + first_object..first + own_end;
        let unsettled = Unsettled { cell, step: number, accesses, own_writes, before: versions };
        if cell.is_some() {
            self.unsettled = Some(unsettled);
        } else {
            let same = self.leaves_shares(&op);
            self.settle(&unsettled, same);
        }
        self.footprint = footprint;
        if let Operation::Join { thread: target, .. } = op
            && outcome == Outcome::DONE
            && !misused
        {
            self.threads[thread.index()].joined += 1 + self.threads[target.index()].joined;
        }
        self.follow_up(&op, thread, outcome, number);
        outcome
    }

    /// Whether a step that was applied only changed the number of those who share something, and some are left.
    fn leaves_shares(&self, op: &Operation) -> bool {
        let state = &self.execution.state;
        match *op {
            Operation::AddShare { .. } | Operation::CloneSender { .. } => true,
            Operation::DropShare { count, weak } => weak || primitives::has_shares(count, state),
            Operation::DropSender { channel } => primitives::has_senders(channel, state),
            _ => false,
        }
    }

    /// Takes note of what a step means for threads that spin. `same` says that it left the cell that it wrote as it was.
    fn settle(&mut self, unsettled: &Unsettled, same: bool) {
        let Unsettled { step: number, accesses, own_writes, before, .. } = unsettled;
        let Step { thread, op, outcome, site, held, first_access, .. } = self.execution.steps[*number];
        let bound = self.spin_bound(site);
        let entry = &mut self.threads[thread.index()];
        let changes = !entry.idle.leaves_unchanged(&op, outcome, site, bound, same);
        self.execution.steps[*number].changes = changes;
        let mut sees = false;
        for place in accesses.clone() {
            let access = self.execution.accesses[place];
            let object = access.object();
            let version = &mut self.versions[object.index()];
            let unseen = &mut self.unseen[object.index()];
            sees |= unseen.see(thread, access);
            if access.is_write() && (!held || own_writes >> (place - first_access as usize) & 1 == 1) {
                if changes {
                    *version = Version { writes: version.writes + 1, commuting: 0 };
                    unseen.change(thread, false);
                }
            } else if !access.is_write() && self.execution.before[place] != self.execution.state.word(object) {
                version.commuting += 1;
                unseen.change(thread, true);
            }
        }
        if self.options.free_rounds > 0
            && let Some(site) = entry.turns.note(&op, site, is_progress(&op, outcome, same), sees)
        {
            let site = of_turns(site);
            let new = (0..=LEVELS).map(|level| lesson(site, level)).find(|lesson| !self.long_loops.contains(lesson));
            if let Some(lesson) = new {
                self.learn(lesson);
            }
        }
        let entry = &mut self.threads[thread.index()];
        let objects = &self.execution.accesses[accesses.clone()];
        let left = entry.idle.note(&op, outcome, site, objects, before, &self.versions, same);
        if let Some(Left { site, gives_way }) = left {
            // A loop that waits for memory gets no more rounds than that, however often it turns out.
            let levels = if gives_way { 0 } else { LEVELS };
            match (0..=levels).map(|level| lesson(site, level)).find(|lesson| !self.long_loops.contains(lesson)) {
                Some(lesson) => self.learn(lesson),
                // Once something is learned, what follows in this execution does not count.
                None => self.execution.left_unseen |= gives_way && !self.execution.learned,
            }
        }
    }

    /// What an executed step means beyond its objects: threads come and go, channels grow.
    fn follow_up(&mut self, op: &Operation, thread: ThreadId, outcome: Outcome, number: usize) {
        match *op {
            Operation::Spawn { child } => {
                self.start_thread(child, number as u32);
                self.threads[child.index()].time = self.threads[thread.index()].time;
                self.spawned += 1;
                self.progress = number;
            }
            Operation::End | Operation::Crash => self.end_program(),
            Operation::Exit => {
                self.alive.retain(|t| *t != thread);
                self.progress = number;
            }
            Operation::Send { channel, .. } | Operation::Receive { channel, .. } => {
                if let Some(message) = outcome.message() {
                    self.extend_channel(channel, u64::from(message) + 1);
                }
            }
            _ => {}
        }
    }

    /// The process is gone, for no reason that it told: behind the last step, as far as is known. What others were about to do could have
    /// come before that step.
    pub fn lose_program(&mut self) {
        self.end_program();
        self.execution.lost = true;
        self.execution.end = End::Complete;
    }

    /// No thread goes on; what they were about to do stays known.
    fn end_program(&mut self) {
        self.note_pending();
        self.alive.clear();
        self.crashed = None;
    }

    /// Tells the value that an atomic cell holds after the step that wrote it.
    #[inline]
    pub fn set_value(&mut self, cell: ObjectId, value: u64) {
        let same = self.execution.state.word(cell) == value;
        self.execution.state.set(cell, value);
        if let Some(unsettled) = self.unsettled.take_if(|u| u.cell == Some(cell)) {
            self.settle(&unsettled, same);
        }
    }

    /// The value of an atomic cell.
    pub fn value(&self, cell: ObjectId) -> u64 {
        self.execution.state.word(cell)
    }

    /// Takes note of an access to a plain cell; gives its number.
    pub fn plain_access(&mut self, thread: ThreadId, cell: ObjectId, write: bool, site: Site) -> u32 {
        let kind = if write { PlainKind::Write(cell) } else { PlainKind::Read(cell) };
        self.note_plain(thread, kind, site);
        self.execution.plain.len() as u32 - 1
    }

    /// Takes note that an access to a plain cell has lasted until now.
    pub fn end_plain_access(&mut self, thread: ThreadId, cell: ObjectId, write: bool, begin: u32, site: Site) {
        self.note_plain(thread, PlainKind::End { cell, write, begin }, site);
    }

    /// Takes note of a fence.
    pub fn fence(&mut self, thread: ThreadId, order: MemoryOrder) {
        self.note_plain(thread, PlainKind::Fence(order), Site::default());
    }

    fn note_plain(&mut self, thread: ThreadId, kind: PlainKind, site: Site) {
        let after = self.execution.steps.len() as u32;
        self.execution.plain.push(PlainAccess { after, thread, kind, site });
    }

    /// Locks that are held, and by whom.
    pub fn holds(&self) -> impl Iterator<Item = (ObjectId, ThreadId)> {
        self.execution.state.holds.iter().map(|h| (h.object, h.thread))
    }

    /// Virtual time of a thread in nanoseconds: the sum of its sleeps and of those that happened before.
    pub fn time(&self, thread: ThreadId) -> u64 {
        self.threads[thread.index()].time
    }

    /// Says how long the next timed operations of a thread wait. Only kind time asks.
    pub fn set_patience(&mut self, thread: ThreadId, nanoseconds: u64) {
        self.threads[thread.index()].patience = nanoseconds;
    }

    /// Lets virtual time pass for a thread.
    pub fn advance(&mut self, thread: ThreadId, nanoseconds: u64) {
        self.time_used = true;
        let time = &mut self.threads[thread.index()].time;
        *time = time.saturating_add(nanoseconds);
    }

    /// Whether the execution has made too many steps without a thread beginning or ending.
    #[inline]
    pub fn is_over_limit(&self) -> bool {
        self.execution.steps.len() - self.progress >= self.options.max_steps
    }

    /// Ends the execution because no transition is enabled: all threads ended, or it is a deadlock or a livelock.
    pub fn finish(&mut self) {
        let end = if self.alive.is_empty() {
            End::Complete
        } else if self.alive.iter().any(|t| self.spins(*t)) {
            let spinning = self.alive.iter().filter(|t| self.spins(**t));
            End::Livelock { loops: spinning.map(|t| (*t, self.threads[t.index()].idle.sites.to_vec())).collect() }
        } else {
            End::Deadlock(self.waiting())
        };
        self.finish_with(end);
    }

    /// Ends the execution in a way that the model does not decide.
    pub fn finish_with(&mut self, end: End) {
        self.note_pending();
        self.execution.end = end;
    }

    fn note_pending(&mut self) {
        for &thread in &self.alive {
            let entry = &self.threads[thread.index()];
            if let Some(Pending { op, held, .. }) = entry.pending {
                let first_awaited = self.execution.awaited.len() as u32;
                if held {
                    self.execution.awaited.extend(entry.idle.watched());
                }
                let awaited_count = self.execution.awaited.len() as u32 - first_awaited;
                self.execution.pending.push(PendingOp { thread, op, held, first_awaited, awaited_count });
            }
        }
    }

    /// Ends the execution because the thread of `expected` cannot do what the plan says.
    pub fn diverge(&mut self, expected: Transition, expected_op: Option<Operation>) {
        let found = self.pending(expected.thread).map(|p| p.0);
        let step = self.execution.steps.len();
        self.finish_with(End::Diverged(Divergence { step, expected, expected_op, found }));
    }

    /// What each thread is about to do, and who could let it go on: if none can go on, why.
    pub fn waiting(&self) -> Deadlock {
        let holders =
            |object: ObjectId| self.execution.state.holds.iter().filter(move |h| h.object == object).map(|h| h.thread);
        let mut deadlock = Deadlock::default();
        for &thread in &self.alive {
            let Some(pending) = &self.threads[thread.index()].pending else { continue };
            let for_threads = match pending.op {
                Operation::Join { thread, .. } => alloc::vec![thread],
                _ => pending.op.object().map(|o| holders(o).collect()).unwrap_or_default(),
            };
            deadlock.waiters.push(Waiter { thread, op: pending.op, site: pending.site, for_threads });
        }
        deadlock.find_cycle();
        deadlock
    }
}

/// Adds what a held thread watches to the footprint of its step.
#[cold]
fn watch(step: u32, idle: &Idle, footprint: &mut Footprint) -> Watching {
    let writes = footprint.iter().enumerate().filter(|(_, a)| a.is_write());
    let own_writes = writes.fold(0, |mask, (i, _)| mask | 1 << i);
    let mut watching = Watching { step, watched: 0, watched_writes: 0, own_writes };
    for access in idle.watched() {
        let place = footprint.iter().position(|a| a.object() == access.object()).unwrap_or_else(|| {
            footprint.push(access);
            footprint.len() - 1
        });
        if access.is_write() {
            footprint[place] = access;
            watching.watched_writes |= 1 << place;
        }
        watching.watched |= 1 << place;
    }
    watching
}

/// Virtual time follows the happens-before relation, so it is the same in all executions of a class.
fn pass_time(time: &mut u64, objects: &[Access], times: &mut [(u64, u64)]) {
    for access in objects {
        let (read, written) = times[access.object().index()];
        *time = (*time).max(written).max(if access.is_write() { read } else { 0 });
    }
    for access in objects {
        let (read, written) = &mut times[access.object().index()];
        let latest = if access.is_write() { written } else { read };
        *latest = (*latest).max(*time);
    }
}
