//! A small language of concurrent programs, interpreted on the arbiter alone: the target of the property tests.
#![allow(dead_code, unreachable_pub)] // Each test file uses a part of it.

use ordain_explore::{Class, Plan, Strategy, Summary, Target, class_of, search};
use ordain_model::{
    Arbiter, End, Execution, MemoryOrder, Names, ObjectId, ObjectKind, Operation, Options, Outcome, Site, ThreadId,
    Wait, mutex_kind,
};
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::ControlFlow;

pub mod compare;
pub mod random;

pub const ORDER: MemoryOrder = MemoryOrder::SeqCst;

/// One instruction. Numbers name objects of the kind that the instruction is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum I {
    Lock(usize, Wait),
    Unlock(usize),
    Read(usize, Wait),
    Write(usize, Wait),
    /// Releases the read-write lock in whatever way it is held.
    Release(usize),
    /// Waits on condition variable `.0` with mutex `.1`, if it is held.
    CondWait(usize, usize, Wait),
    Notify(usize, u32),
    Acquire(usize, Wait),
    Post(usize),
    Barrier(usize),
    Once(usize),
    OnceCheck(usize),
    Send(usize, Wait),
    Receive(usize, Wait),
    CloneSender(usize),
    DropSender(usize),
    DropReceiver(usize),
    Park(Wait),
    Unpark(usize),
    Load(usize),
    Store(usize, u64),
    Add(usize),
    Cas(usize, u64, u64),
    Count(usize, bool),
    FutexWait(usize, u64, Wait),
    FutexWake(usize, u32),
    /// Wakes one waiter of cell `.0` and moves the others to the queue of cell `.1`.
    Requeue(usize, usize),
    Choose(u32),
    Yield,
    Sleep,
    IsFinished(usize),
    Join(usize, Wait),
    /// Skips that many instructions if the last outcome was a failure.
    SkipIfFailed(usize),
    /// Skips that many instructions if the last value was odd.
    SkipIfOdd(usize),
    /// Loads until the cell is not zero, yielding in between.
    SpinUntilSet(usize),
    /// Loads until the cell is not zero.
    BareSpin(usize),
    /// Tries to lock with a time-out until it succeeds.
    RetryLock(usize),
    /// Tries to receive until it succeeds, sleeping in between.
    RetryReceive(usize),
    /// Waits on condition variable `.0` with mutex `.1` and a time-out until it is notified.
    RetryWait(usize, usize),
    /// Loads a number of times, whatever comes.
    LongLoop(usize, usize),
    /// Adds to cell 1 and yields until cell `.0` is not zero.
    BusyUntilSet(usize),
    /// Adds to a cell and yields a number of times.
    BusyLoop(usize, usize),
    /// Makes signal `.0` pending.
    Raise(usize),
    /// Waits for signal `.0` and takes it.
    Await(usize, Wait),
    /// Waits until a signal is pending.
    Poll(Wait),
    Interrupt(usize),
    TakeInterrupt,
    /// Ends the program.
    End,
    /// Ends the program at once, without a step.
    Crash,
}

/// A program: what main does after it has spawned the others, and what those do.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Program {
    pub threads: Vec<Vec<I>>,
    /// Capacities of the channels.
    pub channels: Vec<u64>,
    pub barrier: u64,
    pub semaphore: u64,
    pub mutexes: Vec<u64>,
    pub options: Opts,
}

/// The options that programs vary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Opts {
    pub spurious: bool,
    pub kind_time: bool,
}

impl Program {
    pub fn new(threads: Vec<Vec<I>>) -> Self {
        Self {
            threads,
            channels: vec![u64::MAX, 1],
            barrier: 2,
            semaphore: 1,
            mutexes: vec![mutex_kind::NORMAL; 2],
            options: Opts::default(),
        }
    }
}

pub const CELLS: usize = 2;
const OBJECTS: usize = 2;

/// Where a thread is in its program.
#[derive(Clone, Default)]
struct Local {
    pc: usize,
    /// Rest of the operations of the present instruction.
    stage: usize,
    log: Vec<u64>,
    last: u64,
    locks: Vec<usize>,
    reads: Vec<usize>,
    writes: Vec<usize>,
    message: u32,
    /// Senders it owns, by channel.
    senders: Vec<u32>,
    exited: bool,
}

struct Objects {
    mutexes: Vec<ObjectId>,
    rwlocks: Vec<ObjectId>,
    conds: Vec<ObjectId>,
    semaphores: Vec<ObjectId>,
    barriers: Vec<ObjectId>,
    onces: Vec<ObjectId>,
    channels: Vec<ObjectId>,
    cells: Vec<ObjectId>,
    futexes: Vec<ObjectId>,
    counts: Vec<ObjectId>,
    signals: Vec<ObjectId>,
}

pub struct Interpreter {
    pub program: Program,
    pub arbiter: Arbiter,
    locals: Vec<Local>,
    ids: Vec<ThreadId>,
    objects: Option<Objects>,
    spawned: usize,
    /// Which threads need a sender of which channel.
    needed: Vec<(usize, usize)>,
    /// How many of them main has yet to make.
    clones: usize,
    crashed: bool,
}

impl Interpreter {
    pub fn new(program: Program) -> Self {
        let options = Options {
            spurious_wakeups: program.options.spurious,
            kind_time: program.options.kind_time,
            livelock_rounds: 4,
            spin_bound: 1,
            ..Options::default()
        };
        let mut needed = Vec::new();
        for (t, body) in program.threads.iter().enumerate().skip(1) {
            for c in 0..program.channels.len() {
                let uses = |i: &I| matches!(i, I::Send(n, _) | I::CloneSender(n) | I::DropSender(n) if *n == c);
                if body.iter().any(uses) {
                    needed.push((t, c));
                }
            }
        }
        let arbiter = Arbiter::new(options);
        let (locals, ids) = (Vec::new(), Vec::new());
        Self { program, arbiter, locals, ids, objects: None, spawned: 0, needed, clones: 0, crashed: false }
    }

    /// The senders that a thread begins with.
    fn owned(&self, t: usize) -> Vec<u32> {
        (0..self.program.channels.len()).map(|c| u32::from(t == 0 || self.needed.contains(&(t, c)))).collect()
    }

    fn create(&mut self) {
        let p = &self.program;
        let a = &mut self.arbiter;
        let main = ThreadId::MAIN;
        let mut make = |kind, n: usize, initial: &dyn Fn(usize) -> u64| -> Vec<ObjectId> {
            (0..n).map(|i| a.create(main, kind, initial(i))).collect()
        };
        self.objects = Some(Objects {
            mutexes: make(ObjectKind::Mutex, p.mutexes.len(), &|i| p.mutexes[i]),
            rwlocks: make(ObjectKind::RwLock, OBJECTS, &|_| 0),
            conds: make(ObjectKind::Condvar, OBJECTS, &|_| 0),
            semaphores: make(ObjectKind::Semaphore, OBJECTS, &|_| p.semaphore),
            barriers: make(ObjectKind::Barrier, OBJECTS, &|_| p.barrier),
            onces: make(ObjectKind::Once, OBJECTS, &|_| 0),
            channels: make(ObjectKind::Channel, p.channels.len(), &|i| p.channels[i]),
            cells: make(ObjectKind::Atomic, CELLS, &|_| 0),
            futexes: make(ObjectKind::Futex, CELLS, &|_| 0),
            counts: make(ObjectKind::Count, OBJECTS, &|_| 0),
            signals: make(ObjectKind::Signals, OBJECTS, &|_| 0),
        });
    }

    /// Announces what thread `t` does next.
    fn announce(&mut self, t: usize) {
        if t == 0 && self.clones > 0 {
            // Main makes a sender for each thread that needs one before it spawns the first.
            self.clones -= 1;
            let channel = self.needed[self.clones].1;
            let channel = self.objects.as_ref().expect("created").channels[channel];
            self.arbiter.announce(ThreadId::MAIN, Operation::CloneSender { channel }, Site(0));
            return;
        }
        if t == 0 && self.spawned + 1 < self.program.threads.len() {
            let child = self.arbiter.next_child(ThreadId::MAIN);
            self.spawned += 1;
            self.ids.push(child);
            let senders = self.owned(self.spawned);
            self.locals.push(Local { senders, ..Local::default() });
            self.arbiter.announce(ThreadId::MAIN, Operation::Spawn { child }, Site(0));
            return;
        }
        loop {
            let local = &mut self.locals[t];
            let id = self.ids[t];
            let Some(&instruction) = self.program.threads[t].get(local.pc) else {
                self.arbiter.announce(id, Operation::Exit, Site(1));
                return;
            };
            let o = self.objects.as_ref().expect("created");
            // Only threads that were surely spawned before: what a thread does must not hang on the schedule.
            let other = |n: usize| (n != t && (t == 0 && n < self.ids.len() || n < t)).then(|| self.ids[n]);
            let op = match (instruction, local.stage) {
                (I::Lock(m, wait), _) => Some(Operation::Lock { lock: o.mutexes[m], wait }),
                (I::RetryLock(m), _) => Some(Operation::Lock { lock: o.mutexes[m], wait: Wait::Timed }),
                (I::Unlock(m), _) => local.locks.contains(&m).then(|| Operation::Unlock { lock: o.mutexes[m] }),
                (I::Read(l, wait), _) => Some(Operation::ReadLock { lock: o.rwlocks[l], wait }),
                (I::Write(l, wait), _) => Some(Operation::WriteLock { lock: o.rwlocks[l], wait }),
                (I::Release(l), _) if local.writes.contains(&l) => Some(Operation::WriteUnlock { lock: o.rwlocks[l] }),
                (I::Release(l), _) if local.reads.contains(&l) => Some(Operation::ReadUnlock { lock: o.rwlocks[l] }),
                (I::Release(_), _) => None,
                (I::CondWait(c, m, _) | I::RetryWait(c, m), 0) => {
                    local.locks.contains(&m).then(|| Operation::QueueWait { queue: o.conds[c], lock: o.mutexes[m] })
                }
                (I::CondWait(c, _, wait), 1) => Some(Operation::Woken { queue: o.conds[c], wait }),
                (I::RetryWait(c, _), 1) => Some(Operation::Woken { queue: o.conds[c], wait: Wait::Timed }),
                (I::CondWait(_, m, _) | I::RetryWait(_, m), _) => {
                    Some(Operation::Lock { lock: o.mutexes[m], wait: Wait::Block })
                }
                (I::Notify(c, count), _) => Some(Operation::Notify { queue: o.conds[c], count }),
                (I::Acquire(s, wait), _) => Some(Operation::Acquire { semaphore: o.semaphores[s], wait }),
                (I::Post(s), _) => Some(Operation::Post { semaphore: o.semaphores[s], count: 1 }),
                (I::Barrier(b), 0) => Some(Operation::Arrive { barrier: o.barriers[b] }),
                (I::Barrier(b), _) => Some(Operation::Woken { queue: o.barriers[b], wait: Wait::Block }),
                (I::Once(n), 0) => Some(Operation::OnceBegin { once: o.onces[n], force: false }),
                (I::Once(n), _) => Some(Operation::OnceEnd { once: o.onces[n], complete: true }),
                (I::OnceCheck(n), _) => Some(Operation::OnceCheck { once: o.onces[n] }),
                (I::Send(c, _) | I::CloneSender(c) | I::DropSender(c), 0) if local.senders[c] == 0 => None,
                (I::Send(c, wait), 0) => Some(Operation::Send { channel: o.channels[c], wait }),
                (I::Send(c, wait), _) => {
                    Some(Operation::SendTaken { channel: o.channels[c], message: local.message, wait })
                }
                (I::Receive(c, wait), 0) if self.program.channels[c] == 0 && wait != Wait::Try => {
                    Some(Operation::ReceiveReady { channel: o.channels[c] })
                }
                (I::RetryReceive(c), 0) => {
                    if self.program.channels[c] == 0 {
                        None
                    } else {
                        Some(Operation::Receive { channel: o.channels[c], wait: Wait::Try })
                    }
                }
                (I::RetryReceive(_), _) => Some(Operation::Sleep),
                (I::Receive(c, wait), _) => Some(Operation::Receive { channel: o.channels[c], wait }),
                (I::CloneSender(c), _) => Some(Operation::CloneSender { channel: o.channels[c] }),
                (I::DropSender(c), _) => Some(Operation::DropSender { channel: o.channels[c] }),
                (I::DropReceiver(c), _) => Some(Operation::DropReceiver { channel: o.channels[c] }),
                (I::Park(wait), _) => Some(Operation::Park { wait }),
                (I::Unpark(n), _) => other(n).map(|thread| Operation::Unpark { thread }),
                (I::Load(x) | I::SpinUntilSet(x) | I::BareSpin(x), 0) => {
                    Some(Operation::Load { cell: o.cells[x], order: ORDER })
                }
                (I::BusyUntilSet(x), 1) => Some(Operation::Load { cell: o.cells[x], order: ORDER }),
                (I::BusyUntilSet(_), 0) => Some(Operation::Update { cell: o.cells[1], order: ORDER }),
                (I::BusyLoop(x, _), stage) if stage % 2 == 0 => {
                    Some(Operation::Update { cell: o.cells[x], order: ORDER })
                }
                (I::BusyUntilSet(_) | I::BusyLoop(..), _) => Some(Operation::Yield),
                (I::LongLoop(x, _), _) => Some(Operation::Load { cell: o.cells[x], order: ORDER }),
                (I::SpinUntilSet(_), _) => Some(Operation::Yield),
                (I::Load(_) | I::BareSpin(_), _) => None,
                (I::Store(x, _), _) => Some(Operation::Store { cell: o.cells[x], order: ORDER }),
                (I::Add(x), _) => Some(Operation::Update { cell: o.cells[x], order: ORDER }),
                (I::Cas(x, expected, _), _) => {
                    Some(Operation::CompareExchange { cell: o.cells[x], expected, success: ORDER, failure: ORDER })
                }
                (I::Count(n, observes), _) => Some(Operation::Count { count: o.counts[n], observes }),
                (I::FutexWait(x, expected, _), 0) => {
                    Some(Operation::FutexWait { cell: o.cells[x], queue: o.futexes[x], expected })
                }
                (I::FutexWait(x, _, wait), _) => Some(Operation::Woken { queue: o.futexes[x], wait }),
                (I::FutexWake(x, count), _) => Some(Operation::Notify { queue: o.futexes[x], count }),
                (I::Requeue(x, y), _) => {
                    Some(Operation::Requeue { queue: o.futexes[x], to: o.futexes[y], count: 1, moved: 2 })
                }
                (I::Raise(s), _) => Some(Operation::Update { cell: o.signals[s], order: ORDER }),
                (I::Await(s, wait), _) => Some(Operation::Await { object: o.signals[s], mask: 1, wait }),
                (I::Poll(wait), _) => {
                    let members = [(o.signals[0], 1), (o.signals[1], 1)];
                    Some(Operation::Poll { set: self.arbiter.create_poll(id, &members), wait })
                }
                (I::Interrupt(n), _) => other(n).map(|thread| Operation::Interrupt { thread }),
                (I::TakeInterrupt, _) => Some(Operation::TakeInterrupt),
                (I::End, _) => Some(Operation::End),
                (I::Crash, _) => {
                    if self.arbiter.execution().steps.is_empty() {
                        // Nothing has happened yet: not a program worth the name.
                        None
                    } else {
                        self.crashed = true;
                        return;
                    }
                }
                (I::Choose(count), _) => Some(Operation::Choose { count }),
                (I::Yield, _) => Some(Operation::Yield),
                (I::Sleep, _) => Some(Operation::Sleep),
                (I::IsFinished(n), _) => other(n).map(|thread| Operation::IsFinished { thread }),
                (I::Join(n, wait), _) => {
                    if n == 0 {
                        None
                    } else {
                        other(n).map(|thread| Operation::Join { thread, wait })
                    }
                }
                (I::SkipIfFailed(n), _) => {
                    if local.last == Outcome::FAILED.0 {
                        local.pc += n;
                    }
                    None
                }
                (I::SkipIfOdd(n), _) => {
                    if local.last % 2 == 1 && local.last < 1 << 32 {
                        local.pc += n;
                    }
                    None
                }
            };
            match op {
                Some(op) => {
                    // A loop is one site.
                    let stage = match instruction {
                        I::LongLoop(..) => 0,
                        I::BusyLoop(..) => local.stage % 2,
                        _ => local.stage,
                    };
                    let site = Site((t * 1000 + local.pc * 10 + stage + 2) as u64);
                    self.arbiter.announce(id, op, site);
                    return;
                }
                None => {
                    local.pc += 1;
                    local.stage = 0;
                }
            }
        }
    }

    /// Lets thread `t` take in the outcome of its operation.
    fn resume(&mut self, t: usize, outcome: Outcome) {
        let step = self.arbiter.execution().steps.last().expect("a step");
        let (op, local) = (step.op, &mut self.locals[t]);
        match op {
            Operation::Spawn { .. } => {
                let child = self.ids.len() - 1;
                self.announce(child);
                return;
            }
            Operation::CloneSender { .. } if t == 0 && self.ids.len() == 1 => return self.announce(0),
            Operation::Exit | Operation::End => {
                local.exited = true;
                return;
            }
            _ => {}
        }
        let instruction = self.program.threads[t][local.pc];
        let failed = outcome == Outcome::FAILED;
        local.last = outcome.0;
        let o = self.objects.as_ref().expect("created");
        let mut next = true;
        match (instruction, local.stage) {
            (I::Lock(m, _), _) if outcome == Outcome::DONE || outcome == Outcome::OWNER_DIED => local.locks.push(m),
            (I::Unlock(m), _) => {
                let at = local.locks.iter().position(|l| *l == m).expect("held");
                local.locks.remove(at);
            }
            (I::Read(l, _), _) if !failed => local.reads.push(l),
            (I::Write(l, _), _) if !failed => local.writes.push(l),
            (I::Release(l), _) => match op {
                Operation::WriteUnlock { .. } => local.writes.retain(|w| *w != l),
                _ => {
                    let at = local.reads.iter().position(|r| *r == l).expect("held");
                    local.reads.remove(at);
                }
            },
            (I::CondWait(..) | I::RetryWait(..), 0) if outcome == Outcome::INTERRUPTED => {}
            (I::CondWait(_, m, _) | I::RetryWait(_, m), 0) => {
                local.locks.retain(|l| *l != m);
                next = false;
            }
            (I::RetryLock(m), _) => {
                if outcome == Outcome::DONE {
                    local.locks.push(m);
                } else if failed {
                    local.log.push(3);
                    self.announce(t);
                    return;
                }
            }
            (I::RetryReceive(_), 0) => next = !failed,
            (I::RetryReceive(_), _) => {
                local.stage = 0;
                local.log.push(4);
                self.announce(t);
                return;
            }
            (I::RetryWait(..), 1) => {
                local.message = u32::from(failed);
                next = false;
            }
            (I::RetryWait(_, m), _) => {
                local.locks.push(m);
                if local.message == 1 {
                    local.stage = 0;
                    local.log.push(5);
                    self.announce(t);
                    return;
                }
            }
            (I::CondWait(..), 1) => next = false,
            (I::CondWait(_, m, _), _) => local.locks.push(m),
            (I::Barrier(_), 0) => next = outcome == Outcome::SERIAL,
            (I::Once(_), 0) => next = outcome != Outcome::RUN,
            (I::Send(c, wait), 0) => {
                if let Some(message) = outcome.message() {
                    local.message = message;
                    next = self.program.channels[c] != 0 || wait == Wait::Try;
                }
            }
            (I::Receive(c, wait), 0) if self.program.channels[c] == 0 && wait != Wait::Try => next = false,
            (I::CloneSender(c), _) => local.senders[c] += 1,
            (I::DropSender(c), _) => local.senders[c] -= 1,
            (I::Load(x), _) => local.last = self.arbiter.value(o.cells[x]),
            (I::SpinUntilSet(x), 0) => {
                local.last = self.arbiter.value(o.cells[x]);
                if local.last == 0 {
                    next = false;
                }
            }
            (I::SpinUntilSet(_), _) => {
                local.stage = 0;
                local.log.push(1);
                self.announce(t);
                return;
            }
            (I::BusyUntilSet(_), 0) => {
                self.arbiter.set_value(o.cells[1], self.arbiter.value(o.cells[1]) + 1);
                next = false;
            }
            (I::BusyUntilSet(x), 1) => next = self.arbiter.value(o.cells[x]) != 0,
            (I::BusyUntilSet(_), _) => {
                local.stage = 0;
                self.announce(t);
                return;
            }
            (I::BusyLoop(x, times), stage) => {
                if stage % 2 == 0 {
                    local.last = self.arbiter.value(o.cells[x]);
                    self.arbiter.set_value(o.cells[x], local.last + 1);
                }
                next = stage + 1 == 2 * times;
            }
            (I::LongLoop(x, times), done) => {
                local.last = self.arbiter.value(o.cells[x]);
                next = done + 1 == times;
            }
            (I::BareSpin(x), _) => {
                local.last = self.arbiter.value(o.cells[x]);
                if local.last == 0 {
                    local.log.push(2);
                    self.announce(t);
                    return;
                }
            }
            (I::Raise(s), _) => self.arbiter.set_value(o.signals[s], 1),
            (I::Await(s, _), _) if outcome == Outcome::DONE => self.arbiter.set_value(o.signals[s], 0),
            (I::Store(x, value), _) => self.arbiter.set_value(o.cells[x], value),
            (I::Add(x), _) => {
                local.last = self.arbiter.value(o.cells[x]);
                self.arbiter.set_value(o.cells[x], local.last + 1);
            }
            (I::Cas(x, _, new), _) if !failed => self.arbiter.set_value(o.cells[x], new),
            (I::FutexWait(..), 0) => next = failed,
            _ => {}
        }
        local.log.push(local.last);
        if next {
            local.pc += 1;
            local.stage = 0;
        } else {
            local.stage += 1;
        }
        self.announce(t);
    }

    /// Everything that the program could see or leave behind.
    pub fn final_state(&self) -> u64 {
        let mut hash = DefaultHasher::new();
        for local in &self.locals {
            (&local.log, local.pc, local.stage, local.exited).hash(&mut hash);
        }
        if let Some(o) = &self.objects {
            for cell in &o.cells {
                self.arbiter.value(*cell).hash(&mut hash);
            }
        }
        hash.finish()
    }
}

impl Target for Interpreter {
    fn run(&mut self, plan: &mut Plan<'_>) {
        if plan.is_anew() {
            self.arbiter.forget_long_loops();
        }
        self.arbiter.begin();
        self.ids = vec![ThreadId::MAIN];
        self.locals = vec![Local { senders: self.owned(0), ..Local::default() }];
        self.spawned = 0;
        self.clones = self.needed.len();
        self.crashed = false;
        self.create();
        self.announce(0);
        while let Some(transition) = plan.next(&mut self.arbiter) {
            let outcome = self.arbiter.apply(transition);
            let t = self.ids.iter().position(|id| *id == transition.thread).expect("known");
            let spawns = matches!(self.arbiter.execution().steps.last().map(|s| s.op), Some(Operation::Spawn { .. }));
            self.resume(t, outcome);
            if spawns && !self.crashed {
                self.announce(0);
            }
            if self.crashed {
                return self.arbiter.end_abruptly();
            }
        }
    }

    fn execution(&self) -> &Execution {
        self.arbiter.execution()
    }

    fn names(&self) -> &Names {
        self.arbiter.names()
    }
}

/// What an exploration has found.
#[derive(Default)]
pub struct Explored {
    /// How often each class was run to its end, and the final state it had.
    pub classes: BTreeMap<Class, (u64, u64)>,
    pub final_states: BTreeSet<u64>,
    pub deadlocks: BTreeSet<Class>,
    pub livelocks: BTreeSet<Class>,
    pub summary: Summary,
    /// A class that ended in two different states: independent steps that are not.
    pub inconsistent: bool,
    /// The limit was hit.
    pub limited: bool,
}

/// Explores a program, at most `limit` executions.
pub fn explore(program: &Program, strategy: &mut dyn Strategy, limit: u64) -> Explored {
    let mut explored = Explored::default();
    let mut target = Interpreter::new(program.clone());
    // The observer sees the target only as a target; the state is read through a shared cell of the run before.
    let mut summary = Summary::default();
    loop {
        let Some(mut plan) = strategy.plan() else {
            summary.exhausted = true;
            break;
        };
        target.run(&mut plan);
        let execution = target.execution();
        if let End::Diverged(divergence) = &execution.end {
            panic!("diverged: {divergence:?}\n{program:?}");
        }
        assert!(!matches!(execution.end, End::StepLimit), "step limit: {program:?}");
        if execution.learned {
            strategy.restart();
            explored = Explored::default();
            summary = Summary::default();
            continue;
        }
        if matches!(execution.end, End::Cut) || strategy.in_vain() {
            summary.blocked += 1;
        } else {
            summary.executions += 1;
            let class = class_of(execution);
            let state = target.final_state();
            explored.final_states.insert(state);
            match &execution.end {
                End::Deadlock(_) => {
                    explored.deadlocks.insert(class);
                }
                End::Livelock { .. } => {
                    explored.livelocks.insert(class);
                }
                _ => {}
            }
            let entry = explored.classes.entry(class).or_insert((0, state));
            entry.0 += 1;
            explored.inconsistent |= entry.1 != state;
        }
        summary.steps += execution.steps.len() as u64;
        strategy.learn(execution);
        if summary.executions + summary.blocked >= limit {
            explored.limited = true;
            break;
        }
    }
    explored.summary = summary;
    explored
}

/// Runs a strategy through the library's own loop and counts.
pub fn count(program: &Program, strategy: &mut dyn Strategy) -> Summary {
    let mut target = Interpreter::new(program.clone());
    search(&mut target, strategy, &mut |target, _| {
        assert!(!matches!(target.execution().end, End::Diverged(_)), "diverged");
        ControlFlow::Continue(())
    })
}
