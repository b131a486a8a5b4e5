//! The arbiter: a pure state machine that says what can happen next and makes it happen.
//!
//! Every thread *announces* its next operation; when all have, the arbiter lists the *enabled* transitions, one is picked
//! and *applied*, and its thread goes on to its next announcement. Announcing only stores the operation, so the order of
//! announcements does not matter; listing changes nothing; applying is deterministic.

mod apply;
mod enabled;
mod mark;
mod objects;

pub use mark::Mark;
pub use objects::first_state;

use crate::execution::{Divergence, End, Execution, PendingOp, Site, Transition};
use crate::finding::{Deadlock, Waiter};
use crate::footprint::Footprint;
use crate::idle::{Idle, Version};
use crate::names::{Names, ObjectId, ThreadId};
use crate::operation::{Operation, Wait};
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

    /// The name of the next thread that `parent` creates, to be announced with [`Operation::Spawn`].
    pub fn next_child(&mut self, parent: ThreadId) -> ThreadId {
        let number = self.threads[parent.index()].children;
        self.threads[parent.index()].children += 1;
        self.names.child(parent, number)
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
