//! Interprets programs on the arbiter alone.

use super::outside::{self, READY, ROOM, TOLD};
use super::program::{I, Program};
use ordain_explore::{Plan, Target};
use ordain_model::{
    Access, Arbiter, End, Execution, Member, MemoryOrder, Names, ObjectId, ObjectKind, Operation, Options, Outcome,
    SIGNAL_ONCE, Site, ThreadId, Wait,
};
use std::hash::{DefaultHasher, Hash, Hasher};

const ORDER: MemoryOrder = MemoryOrder::SeqCst;
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
    /// The ticket that it waits with for a read-write lock.
    ticket: u32,
    locks: Vec<usize>,
    reads: Vec<usize>,
    writes: Vec<usize>,
    message: u32,
    /// Senders it owns, by channel.
    senders: Vec<u32>,
    /// Shares it has, by count. Each thread begins with one.
    shares: Vec<u64>,
    /// Threads that were there before it, or that it has spawned: what a thread does must not hang on the schedule.
    known: Vec<usize>,
    /// The thread that it is about to spawn.
    child: usize,
    exited: bool,
    /// It has taken all signals that came before its end.
    looked: bool,
    /// The masks to which the handlers that run go back.
    handlers: Vec<u64>,
}

pub(super) struct Objects {
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
    pub(super) signals: Vec<ObjectId>,
    /// A poll set that watches descriptors.
    pub(super) epoll: ObjectId,
    /// What the watchers of a descriptor are if the poll set watches it.
    pub(super) told: ObjectId,
    /// Words of names are the numbers of files.
    pub(super) names: Vec<ObjectId>,
    pub(super) files: Vec<ObjectId>,
    /// Signals that interrupt threads, if the program has any.
    process: Option<ObjectId>,
}

pub struct Interpreter {
    pub program: Program,
    pub arbiter: Arbiter,
    locals: Vec<Local>,
    /// The name of each thread, once it is about to be spawned.
    ids: Vec<Option<ThreadId>>,
    objects: Option<Objects>,
    /// Threads that main has yet to spawn before it does anything else, in reverse.
    unspawned: Vec<usize>,
    /// Which threads need a sender of which channel.
    needed: Vec<(usize, usize)>,
    /// How many of them main has yet to make.
    clones: usize,
    /// How often each reference count was changed.
    changes: [u64; OBJECTS],
    /// A thread that knows of no other has ended the program.
    over: bool,
}

impl Interpreter {
    pub fn new(program: Program) -> Self {
        let options = Options {
            spurious_wakeups: program.options.spurious,
            kind_time: program.options.kind_time,
            livelock_rounds: 4,
            spin_bound: 1,
            free_rounds: u32::from(program.options.turns),
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
        let unspawned = Vec::new();
        Self {
            program,
            arbiter,
            locals,
            ids,
            objects: None,
            unspawned,
            needed,
            clones: 0,
            changes: [0; OBJECTS],
            over: false,
        }
    }

    /// The senders that a thread begins with.
    fn owned(&self, t: usize) -> Vec<u32> {
        (0..self.program.channels.len()).map(|c| u32::from(t == 0 || self.needed.contains(&(t, c)))).collect()
    }

    fn create(&mut self) {
        let p = &self.program;
        let a = &mut self.arbiter;
        let main = ThreadId::MAIN;
        let epoll = a.create(main, ObjectKind::Descriptor, 0);
        let told = a.create_poll(main, &[(epoll, ROOM)]);
        let mut make = |kind, n: usize, initial: &dyn Fn(usize) -> u64| -> Vec<ObjectId> {
            (0..n).map(|i| a.create(main, kind, initial(i))).collect()
        };
        let is_signal = |i: &I| {
            matches!(i, I::Kill(..) | I::KillAny(_) | I::Block(_) | I::Ignore(_) | I::HandleOnce | I::TakeSignal(..))
        };
        let has_signals = p.threads.iter().flatten().any(is_signal);
        self.objects = Some(Objects {
            process: make(ObjectKind::Signals, usize::from(has_signals), &|_| 0).pop(),
            mutexes: make(ObjectKind::Mutex, p.mutexes.len(), &|i| p.mutexes[i]),
            rwlocks: make(ObjectKind::RwLock, OBJECTS, &|_| u64::from(p.tickets)),
            conds: make(ObjectKind::Condvar, OBJECTS, &|_| 0),
            semaphores: make(ObjectKind::Semaphore, OBJECTS, &|_| p.semaphore),
            barriers: make(ObjectKind::Barrier, OBJECTS, &|_| p.barrier),
            onces: make(ObjectKind::Once, OBJECTS, &|_| 0),
            channels: make(ObjectKind::Channel, p.channels.len(), &|i| p.channels[i]),
            cells: make(ObjectKind::Atomic, CELLS, &|_| 0),
            futexes: make(ObjectKind::Futex, CELLS, &|_| 0),
            counts: make(ObjectKind::Count, OBJECTS, &|_| p.threads.len() as u64),
            signals: make(ObjectKind::Descriptor, OBJECTS, &|_| ROOM),
            names: make(ObjectKind::File, OBJECTS, &|_| 0),
            files: make(ObjectKind::File, OBJECTS, &|_| 0),
            epoll,
            told,
        });
    }

    /// Announces that thread `t` spawns another one.
    fn announce_spawn(&mut self, t: usize, thread: usize, site: Site) {
        let id = self.ids[t].expect("it is there");
        let child = self.arbiter.next_child(id);
        self.ids[thread] = Some(child);
        let mut known = self.locals[t].known.clone();
        known.push(t);
        self.locals[thread].known = known;
        self.locals[t].known.push(thread);
        self.locals[t].child = thread;
        self.arbiter.announce(id, Operation::Spawn { child }, site);
    }

    /// Announces what thread `t` does next.
    fn announce(&mut self, t: usize) {
        if let Some(&mask) = self.locals[t].handlers.last() {
            let signals = self.objects.as_ref().and_then(|o| o.process).expect("a signal came");
            let id = self.ids[t].expect("it is there");
            return self.arbiter.announce(id, Operation::BlockSignals { signals, mask }, Site(1_000_000));
        }
        if t == 0 && self.clones > 0 {
            // Main makes a sender for each thread that needs one before it spawns the first.
            self.clones -= 1;
            let channel = self.needed[self.clones].1;
            let channel = self.objects.as_ref().expect("created").channels[channel];
            self.arbiter.announce(ThreadId::MAIN, Operation::CloneSender { channel }, Site(0));
            return;
        }
        if t == 0
            && let Some(thread) = self.unspawned.pop()
        {
            return self.announce_spawn(0, thread, Site(0));
        }
        loop {
            let site = |stage: usize, pc: usize| Site((t * 1000 + pc * 10 + stage + 2) as u64);
            if let Some(&I::Spawn(n)) = self.program.threads[t].get(self.locals[t].pc) {
                if self.program.spawner(n) == Some(t) && self.ids.get(n) == Some(&None) {
                    return self.announce_spawn(t, n, site(0, self.locals[t].pc));
                }
                self.locals[t].pc += 1;
                continue;
            }
            let local = &mut self.locals[t];
            let id = self.ids[t].expect("it is there");
            let o = self.objects.as_ref().expect("created");
            let Some(&instruction) = self.program.threads[t].get(local.pc) else {
                let looks = o.process.is_some() && !local.looked;
                self.arbiter.announce(id, if looks { Operation::Look } else { Operation::Exit }, Site(1));
                return;
            };
            let other = |n: usize| self.ids.get(n).copied().flatten().filter(|_| local.known.contains(&n));
            let op = match (instruction, local.stage) {
                (I::Lock(m, wait), _) => Some(Operation::Lock { lock: o.mutexes[m], wait }),
                (I::RetryLock(m), _) => Some(Operation::Lock { lock: o.mutexes[m], wait: Wait::Timed }),
                (I::Unlock(m), _) => local.locks.contains(&m).then(|| Operation::Unlock { lock: o.mutexes[m] }),
                (I::MakeConsistent(m), _) => {
                    local.locks.contains(&m).then(|| Operation::MakeConsistent { lock: o.mutexes[m] })
                }
                (I::InitMutex(m), _) => Some(anew(o.mutexes[m], ObjectKind::Mutex, self.program.mutexes[m])),
                // Locks with tickets are the library's, which initialises none again.
                (I::InitRwLock(l), _) => (!self.program.tickets).then(|| anew(o.rwlocks[l], ObjectKind::RwLock, 0)),
                (I::InitCond(c), _) => Some(anew(o.conds[c], ObjectKind::Condvar, 0)),
                (I::InitSemaphore(s), _) => Some(anew(o.semaphores[s], ObjectKind::Semaphore, self.program.semaphore)),
                (I::InitBarrier(b), _) => Some(anew(o.barriers[b], ObjectKind::Barrier, self.program.barrier)),
                (I::Destroy(m), _) => Some(Operation::Destroy { object: o.mutexes[m] }),
                (I::Read(l, wait), _) => Some(Operation::ReadLock { lock: o.rwlocks[l], wait }),
                (I::Write(l, Wait::Block), 0) if self.program.tickets => {
                    Some(Operation::WriteTicket { lock: o.rwlocks[l] })
                }
                (I::Write(l, Wait::Block), 1) if self.program.tickets => {
                    Some(Operation::WriteByTicket { lock: o.rwlocks[l], ticket: local.ticket })
                }
                (I::Write(l, wait), 0)
                    if !self.program.tickets && self.program.prefers_writers && wait != Wait::Try =>
                {
                    Some(Operation::WriteQueue { lock: o.rwlocks[l], wait })
                }
                (I::Write(l, wait), 1) => Some(Operation::WriteTurn { lock: o.rwlocks[l], wait }),
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
                (I::DestroyCond(c), _) => Some(Operation::DestroyQueue { queue: o.conds[c] }),
                (I::FreeMutex(m), _) => Some(Operation::Free { object: o.mutexes[m] }),
                (I::Acquire(s, wait), _) => Some(Operation::Acquire { semaphore: o.semaphores[s], wait }),
                (I::Post(s), _) => Some(Operation::Post { semaphore: o.semaphores[s], count: 1, fails: false }),
                (I::Barrier(b), 0) => Some(Operation::Arrive { barrier: o.barriers[b] }),
                (I::Barrier(b), _) => Some(Operation::Woken { queue: o.barriers[b], wait: Wait::Block }),
                (I::Once(n), 0) => Some(Operation::OnceBegin { once: o.onces[n], force: false }),
                (I::Once(n), _) => Some(Operation::OnceEnd { once: o.onces[n], complete: true }),
                (I::OnceFail(n), 0) => Some(Operation::OnceBegin { once: o.onces[n], force: true }),
                (I::OnceFail(n), _) => Some(Operation::OnceEnd { once: o.onces[n], complete: false }),
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
                (I::UpdateSpin(x), _) => Some(Operation::Update { cell: o.cells[x], order: ORDER }),
                (I::LateSpin(x), 0) => Some(Operation::Load { cell: o.cells[x], order: ORDER }),
                (I::LateSpin(_), _) => Some(Operation::Yield),
                (I::ShareSpin(n) | I::AddShare(n) | I::DropShare(n), _) if local.shares[n] == 0 => None,
                (I::ShareSpin(n), 0) => Some(Operation::Count { count: o.counts[n], observes: true }),
                (I::ShareSpin(_), _) => Some(Operation::Yield),
                (I::AddShare(n), _) => Some(Operation::AddShare { count: o.counts[n], weak: false }),
                (I::DropShare(n), _) => Some(Operation::DropShare { count: o.counts[n], weak: false }),
                (I::FutexWait(x, expected, _), 0) => {
                    Some(Operation::FutexWait { cell: o.cells[x], queue: o.futexes[x], expected })
                }
                (I::FutexWait(x, _, wait), _) => Some(Operation::Woken { queue: o.futexes[x], wait }),
                (I::FutexWake(x, count), _) => Some(Operation::Notify { queue: o.futexes[x], count }),
                (I::Requeue(x, y), _) => {
                    Some(Operation::Requeue { queue: o.futexes[x], to: o.futexes[y], count: 1, moved: 2 })
                }
                (I::Raise(s), _) => Some(Operation::Update { cell: o.signals[s], order: ORDER }),
                (I::Await(s, wait), _) => Some(Operation::Await { object: o.signals[s], mask: READY, wait }),
                (I::Poll(wait), _) => {
                    let members = [(o.signals[0], READY), (o.signals[1], READY)];
                    Some(Operation::Poll { set: self.arbiter.create_poll(id, &members), wait })
                }
                (I::PollSet(wait), _) => {
                    let members = [(o.epoll, TOLD | Member::TAKE)];
                    Some(Operation::Poll { set: self.arbiter.create_poll(id, &members), wait })
                }
                (I::Feed(s), _) => Some(Operation::Await { object: o.signals[s], mask: ROOM, wait: Wait::Block }),
                (
                    I::Shut(_)
                    | I::Watch(_)
                    | I::MakeName(_)
                    | I::OpenName(_)
                    | I::LookAtFile(_)
                    | I::ChangeFile(_)
                    | I::RemoveName(_)
                    | I::LinkName(..),
                    _,
                ) => {
                    let set = self.arbiter.create_poll(id, &outside::members(instruction, o));
                    Some(Operation::Access { set, looks: matches!(instruction, I::LookAtFile(_)) })
                }
                (I::Cancel(n), _) => other(n).map(|thread| Operation::Cancel { thread }),
                (I::TestCancel, _) => Some(Operation::TestCancel),
                (I::SetCancel(heeds), _) => Some(Operation::SetCancel { heeds }),
                (I::Kill(n, number), _) => {
                    let to = if n == t { Some(id) } else { other(n) };
                    o.process.zip(to).map(|(signals, to)| Operation::Signal { signals, thread: Some(to), number })
                }
                (I::KillAny(number), _) => o.process.map(|signals| Operation::Signal { signals, thread: None, number }),
                (I::Block(mask), _) => o.process.map(|signals| Operation::BlockSignals { signals, mask }),
                (I::Ignore(ignored), _) => o.process.map(|signals| Operation::SetActions { signals, ignored }),
                (I::HandleOnce, _) => o.process.map(|signals| Operation::SetActions { signals, ignored: SIGNAL_ONCE }),
                (I::TakeSignal(set, wait), _) => o.process.map(|signals| Operation::TakeSignal { signals, set, wait }),
                (I::End | I::Crash, _) if self.arbiter.is_alone(id) => {
                    self.over = true;
                    return;
                }
                (I::End, _) => Some(Operation::End),
                (I::Crash, _) => Some(Operation::Crash),
                (I::Spawn(_), _) => None,
                (I::Detach(n), _) => other(n).map(|thread| Operation::Detach { thread }),
                (I::Choose(count), _) => Some(Operation::Choose { count }),
                (I::Start, _) => Some(Operation::Start),
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
                (I::SkipUnlessFailed(n), _) => {
                    if local.last != Outcome::FAILED.0 {
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
                    let changes =
                        matches!(op, Operation::Store { .. } | Operation::Update { .. } | Operation::Send { .. });
                    let shared = self.program.options.turns && changes;
                    let site = if shared { Site(2_000_000 + t as u64) } else { site(stage, local.pc) };
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
                let child = local.child;
                self.announce(child);
                self.announce(t);
                return;
            }
            _ if matches!(outcome, Outcome::SIGNALLED | Outcome::BROKEN_OFF) => {
                // The model has taken one signal; the handler is a line in the log, and ends waits. It blocks its signal meanwhile.
                let ignored = ObjectId(self.objects.as_ref().and_then(|o| o.process).expect("a signal came").0 + 1);
                local.log.extend([100, self.arbiter.value(ignored)]);
                let [mask, come] = self.arbiter.signals_of(step.thread);
                let (number, execution) = (self.arbiter.execution().steps.len() - 1, self.arbiter.execution());
                let place = execution.footprint(number).iter().position(|a| *a == Access::write(come));
                let before = execution.before[execution.access_range(number).start + place.expect("it is taken")];
                let (taken, blocked) = (before & !self.arbiter.value(come), self.arbiter.value(mask));
                self.arbiter.set_value(mask, blocked | taken);
                if self.arbiter.value(ignored) & SIGNAL_ONCE != 0 {
                    self.arbiter.set_value(ignored, 0);
                }
                let local = &mut self.locals[t];
                local.handlers.push(blocked);
                if outcome == Outcome::BROKEN_OFF {
                    (local.pc, local.stage, local.last) = (local.pc + 1, 0, 101);
                }
                return self.announce(t);
            }
            Operation::BlockSignals { .. } if !local.handlers.is_empty() => {
                local.handlers.pop();
                return self.announce(t);
            }
            Operation::Look => {
                local.looked = true;
                return self.announce(t);
            }
            Operation::CloneSender { .. } if step.site == Site(0) => return self.announce(0),
            Operation::Exit | Operation::End | Operation::Crash => {
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
            (I::Write(..), 0) if matches!(op, Operation::WriteTicket { .. }) => {
                (next, local.ticket) = (false, local.last as u32)
            }
            (I::Write(l, _), _) if !failed => local.writes.push(l),
            (I::Write(..), 0) => next = !matches!(op, Operation::WriteQueue { .. }),
            (I::Release(l), _) => match op {
                Operation::WriteUnlock { .. } => local.writes.retain(|w| *w != l),
                _ => {
                    let at = local.reads.iter().position(|r| *r == l).expect("held");
                    local.reads.remove(at);
                }
            },
            (I::CondWait(..) | I::RetryWait(..), 0) if failed => {}
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
            (I::Once(_) | I::OnceFail(_), 0) => next = outcome != Outcome::RUN,
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
            (I::UpdateSpin(x), _) => {
                local.last = self.arbiter.value(o.cells[x]);
                self.arbiter.set_value(o.cells[x], local.last);
                if local.last == 0 {
                    local.log.push(6);
                    self.announce(t);
                    return;
                }
            }
            (I::LateSpin(x), 0) => {
                local.last = self.arbiter.value(o.cells[x]);
                next = false;
            }
            (I::LateSpin(_), _) => {
                let loaded = local.log.last().copied().unwrap_or(0);
                if loaded == 0 {
                    local.stage = 0;
                    local.log.push(7);
                    self.announce(t);
                    return;
                }
            }
            (I::ShareSpin(n), 0) => {
                local.last = self.arbiter.value(o.counts[n]);
                next = local.last == local.shares[n];
            }
            (I::ShareSpin(_), _) => {
                local.stage = 0;
                local.log.push(8);
                self.announce(t);
                return;
            }
            (I::AddShare(n), _) => local.shares[n] += 1,
            (I::DropShare(n), _) => {
                local.shares[n] -= 1;
                local.last = u64::from(self.arbiter.value(o.counts[n]) == 0);
            }
            (I::BareSpin(x), _) => {
                local.last = self.arbiter.value(o.cells[x]);
                if local.last == 0 {
                    local.log.push(2);
                    self.announce(t);
                    return;
                }
            }
            (I::Count(n, observes), _) => {
                self.changes[n] += 1;
                if observes {
                    local.last = self.changes[n];
                }
            }
            (I::Store(x, value), _) => self.arbiter.set_value(o.cells[x], value),
            (I::Add(x), _) => {
                local.last = self.arbiter.value(o.cells[x]);
                self.arbiter.set_value(o.cells[x], local.last + 1);
            }
            (I::Cas(x, _, new), _) if !failed => self.arbiter.set_value(o.cells[x], new),
            (I::FutexWait(..), 0) => next = failed,
            _ => {
                if let Some(value) = outside::settle(instruction, outcome, o, &mut self.arbiter) {
                    local.last = value;
                }
            }
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
        let execution = self.arbiter.execution();
        let by = |step: u32| self.ids.iter().position(|id| *id == Some(execution.steps[step as usize].thread));
        let mut misuses: Vec<String> =
            execution.misuses.iter().map(|m| format!("{:?} {:?}", by(m.step), m.misuse)).collect();
        misuses.sort_unstable();
        misuses.hash(&mut hash);
        hash.finish()
    }
}

impl Target for Interpreter {
    fn run(&mut self, plan: &mut Plan<'_>) {
        if plan.is_anew() {
            self.arbiter.forget_long_loops();
        }
        self.arbiter.begin();
        let threads = self.program.threads.len();
        self.ids = vec![None; threads];
        self.ids[0] = Some(ThreadId::MAIN);
        let local = |t| Local { senders: self.owned(t), shares: vec![1; OBJECTS], ..Local::default() };
        self.locals = (0..threads).map(local).collect();
        self.unspawned = (1..threads).rev().filter(|t| self.program.spawner(*t).is_none()).collect();
        self.clones = self.needed.len();
        self.changes = [0; OBJECTS];
        self.over = false;
        self.create();
        self.announce(0);
        if self.over {
            return self.arbiter.finish_with(End::Complete);
        }
        while let Some(transition) = plan.next(&mut self.arbiter) {
            let outcome = self.arbiter.apply(transition);
            let t = self.ids.iter().position(|id| *id == Some(transition.thread)).expect("known");
            self.resume(t, outcome);
            if self.over {
                return self.arbiter.finish_with(End::Complete);
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

/// Begins an object anew.
fn anew(object: ObjectId, kind: ObjectKind, initial: u64) -> Operation {
    let (word, param) = ordain_model::first_state(kind, initial);
    Operation::Initialise { object, word, param }
}
