//! Executions: the steps of one run and how it ended.

use crate::finding::{Deadlock, Misuse, MisuseAt};
use crate::footprint::{Access, dependent};
use crate::names::{Names, ObjectId, ThreadId};
use crate::operation::{MemoryOrder, Operation, Outcome};
use crate::state::State;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// A place in the program's source, opaque to the model: the front end can resolve it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Site(pub u64);

impl Site {
    /// So many of the highest numbers are no places.
    const LESSONS: u64 = 256;

    /// Stands for the place where a timer with an interval waits until it rings again.
    pub const TICK: Self = Self(u64::MAX - Self::LESSONS);

    /// What stands for something that executions teach and that changes which steps there are; its number is below 256.
    pub fn of_lesson(number: u64) -> Option<Self> {
        (number < Self::LESSONS).then_some(Self(u64::MAX - number))
    }

    /// The number of what executions teach, if it stands for that.
    pub fn lesson(self) -> Option<u64> {
        Some(u64::MAX - self.0).filter(|number| *number < Self::LESSONS)
    }
}

/// What can be picked: a thread and the outcome that its operation shall have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Transition {
    /// Who moves.
    pub thread: ThreadId,
    /// Which of the possible outcomes.
    pub choice: u32,
}

impl Transition {
    /// The first outcome of a thread's operation.
    pub fn first(thread: ThreadId) -> Self {
        Self { thread, choice: 0 }
    }
}

/// One executed operation.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// Who moved.
    pub thread: ThreadId,
    /// The outcome that was picked.
    pub choice: u32,
    /// How many outcomes there were.
    pub choices: u32,
    /// What it did.
    pub op: Operation,
    /// What it got.
    pub outcome: Outcome,
    /// Where.
    pub site: Site,
    /// Whether the thread was announced as a spinning one, to go on only if something that it watches has changed.
    pub held: bool,
    /// Whether it changes something, as far as threads that spin on its objects can tell.
    pub(crate) changes: bool,
    /// First of its accesses in [`Execution::accesses`].
    pub(crate) first_access: u32,
    /// Number of its accesses.
    pub(crate) access_count: u32,
}

impl Step {
    /// The transition that this step took.
    pub fn transition(&self) -> Transition {
        Transition { thread: self.thread, choice: self.choice }
    }
}

/// How large a schedule is; smaller ones are easier to understand. Ordered by what counts most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Size {
    /// Switches away from a thread that could have gone on.
    pub preemptions: usize,
    /// Steps.
    pub steps: usize,
    /// Switches of any kind.
    pub switches: usize,
}

/// What a step of a held thread watches, as masks over the places of its accesses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Watching {
    pub(crate) step: u32,
    /// Accesses to objects that it watches.
    pub(crate) watched: u128,
    /// Those that it watches for any change, also for such as commute.
    pub(crate) watched_writes: u128,
    /// Accesses that are writes of its own.
    pub(crate) own_writes: u128,
}

/// How an execution ended.
#[derive(Clone, Debug, Default)]
pub enum End {
    /// It has not.
    #[default]
    Running,
    /// All threads ended.
    Complete,
    /// Threads are left, and none can go on.
    Deadlock(Deadlock),
    /// Threads repeat the same steps: the last steps of those that do.
    Livelock {
        /// The threads that spin, each with the sites of its loop.
        loops: Vec<(ThreadId, Vec<Site>)>,
    },
    /// Too many steps since a thread last began or ended.
    StepLimit,
    /// Ended by the strategy: what follows is covered elsewhere.
    Cut,
    /// Broken off by whoever runs it, because the time was over. It counts for nothing.
    Interrupted,
    /// The program departed from its plan.
    Diverged(Divergence),
}

impl End {
    /// The word for it.
    pub fn title(&self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Complete => "complete",
            Self::Deadlock(_) => "deadlock",
            Self::Livelock { .. } => "livelock",
            Self::StepLimit => "step limit",
            Self::Cut => "cut short",
            Self::Interrupted => "interrupted",
            Self::Diverged(_) => "nondeterminism",
        }
    }
}

/// Where and how a program departed from the plan.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Divergence {
    /// The number of the first differing step.
    pub step: usize,
    /// What the plan says.
    pub expected: Transition,
    /// The operation that the plan knows for it, if it does.
    pub expected_op: Option<Operation>,
    /// What that thread announced instead, if it is there at all.
    pub found: Option<Operation>,
}

/// An access to plain memory, or a fence: not a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlainAccess {
    /// Number of steps executed before it.
    pub after: u32,
    /// Who.
    pub thread: ThreadId,
    /// What it did.
    pub kind: PlainKind,
    /// Where.
    pub site: Site,
}

/// What a thread did between two steps that matters for data races.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlainKind {
    /// Read a plain cell.
    Read(ObjectId),
    /// Wrote a plain cell.
    Write(ObjectId),
    /// Is done with an access to a plain cell that lasted while others may have moved.
    End {
        /// The cell.
        cell: ObjectId,
        /// Whether it was for writing.
        write: bool,
        /// The number of the access in [`Execution::plain`].
        begin: u32,
    },
    /// Executed a fence.
    Fence(MemoryOrder),
}

/// A thread that had announced an operation when the execution ended.
#[derive(Clone, Copy, Debug)]
pub struct PendingOp {
    /// Who.
    pub thread: ThreadId,
    /// What it would have done.
    pub op: Operation,
    /// Whether it was announced as a spinning one, to go on only if something that it watches has changed.
    pub held: bool,
    /// First of what it watches in [`Execution::awaited`].
    pub(crate) first_awaited: u32,
    /// Number of the objects that it watches.
    pub(crate) awaited_count: u32,
}

/// The steps of one run and how it ended.
#[derive(Clone, Default)]
pub struct Execution {
    /// The steps in order.
    pub steps: Vec<Step>,
    /// Accesses of all steps; see [`Execution::footprint`].
    pub accesses: Vec<Access>,
    /// The word that each accessed object had before the access, parallel to `accesses`.
    pub before: Vec<u64>,
    /// How it ended.
    pub end: End,
    /// Operations that were announced but not executed.
    pub pending: Vec<PendingOp>,
    /// Wrong uses of primitives.
    pub misuses: Vec<MisuseAt>,
    /// Accesses to plain memory, in order.
    pub plain: Vec<PlainAccess>,
    /// The number of the spawning step of each thread, by thread number; `u32::MAX` for main and for threads not there.
    pub spawned_by: Vec<u32>,
    /// State of all objects at the end.
    pub state: State,
    /// What the steps of held threads watch, in order of steps.
    pub(crate) watching: Vec<Watching>,
    /// What held threads watched that had not gone on when it ended.
    pub(crate) awaited: Vec<Access>,
    /// Whether it taught that a loop which was taken to wait does not. Executions before were explored under a wrong assumption.
    pub learned: bool,
    /// Whether the process was lost behind the last step, without having told why.
    pub lost: bool,
    /// Whether a spinning thread was held back: not every number of idle rounds was explored.
    pub spin_held: bool,
    /// Whether such a one was idle.
    pub idled: bool,
    /// Whether such a one got something done again and again, and was held to let others go first: not every number of its rounds was
    /// explored.
    pub took_turns: bool,
    /// Whether a thread left a loop in which it had given way to others until nobody else could go on, although nothing had changed that
    /// can be seen. Where it leaves it earlier was not explored.
    pub left_unseen: bool,
}

impl Execution {
    /// The footprint of a step.
    #[inline]
    pub fn footprint(&self, step: usize) -> &[Access] {
        let s = &self.steps[step];
        &self.accesses[s.first_access as usize..(s.first_access + s.access_count) as usize]
    }

    /// Where the accesses of a step are in [`Execution::accesses`].
    #[inline]
    pub fn access_range(&self, step: usize) -> core::ops::Range<usize> {
        let s = &self.steps[step];
        s.first_access as usize..(s.first_access + s.access_count) as usize
    }

    /// The word that each accessed object had after the access, parallel to [`Execution::accesses`].
    pub fn words_after(&self, out: &mut Vec<u64>) {
        let mut words: Vec<u64> = self.state.words.clone();
        out.clear();
        out.resize(self.accesses.len(), 0);
        for (place, access) in self.accesses.iter().enumerate().rev() {
            if *access != Access::EVERYTHING {
                let word = &mut words[access.object().index()];
                out[place] = *word;
                *word = self.before[place];
            }
        }
    }

    fn watching(&self, step: usize) -> Option<&Watching> {
        let place = self.watching.binary_search_by_key(&(step as u32), |w| w.step).ok()?;
        Some(&self.watching[place])
    }

    /// The objects that the thread of a held step watches, as accesses of the kind that it looks with.
    pub fn watched(&self, step: usize) -> impl Iterator<Item = Access> + '_ {
        let (mask, writes) = self.watching(step).map_or((0, 0), |w| (w.watched, w.watched_writes));
        let places = self.footprint(step).iter().enumerate().filter(move |(i, _)| mask >> i & 1 == 1);
        places.map(move |(i, a)| if writes >> i & 1 == 1 { *a } else { Access::read(a.object()) })
    }

    /// The objects that a thread watches which was held when the execution ended, as accesses of the kind that it looks with.
    pub fn awaited(&self, pending: &PendingOp) -> &[Access] {
        &self.awaited[pending.first_awaited as usize..][..pending.awaited_count as usize]
    }

    /// The robust mutexes that a thread holds when it ends: at this step, or, if it was only about to, after the execution.
    pub fn left_locked(&self, thread: ThreadId, step: Option<usize>) -> impl Iterator<Item = ObjectId> + '_ {
        let of_step = step.map(|step| self.footprint(step)).unwrap_or_default();
        let of_step = of_step.iter().filter(|access| **access != Access::EVERYTHING).map(|access| access.object());
        let of_step = of_step.filter(|object| self.state.is_robust(*object));
        of_step.chain(self.state.robust(thread).filter(move |_| step.is_none()))
    }

    /// Whether a step changes an object by a write, as far as threads that spin on the object can tell.
    pub fn changes_by_write(&self, step: usize, object: ObjectId) -> bool {
        let place = self.footprint(step).iter().position(|a| *a == Access::write(object));
        let own = |i: usize| self.watching(step).is_none_or(|w| w.own_writes >> i & 1 == 1);
        self.steps[step].changes && place.is_some_and(own)
    }

    /// How many steps synchronise threads. Those that use files count only if threads share some that someone changes.
    pub fn visible(&self) -> usize {
        /// More steps are not compared with each other.
        const MOST: usize = 512;
        let others = self.steps.iter().filter(|s| s.op.is_synchronisation()).count();
        let is_access = |step: usize| matches!(self.steps[step].op, Operation::Access { .. });
        let accesses = (0..self.steps.len()).filter(|step| is_access(*step));
        let share = |a: usize, b: usize| {
            self.steps[a].thread != self.steps[b].thread && dependent(self.footprint(a), self.footprint(b))
        };
        let some = accesses.clone().take(MOST);
        if some.clone().any(|a| some.clone().take_while(|b| *b < a).any(|b| share(a, b))) {
            others + accesses.count()
        } else {
            others
        }
    }

    /// How many threads it had.
    pub fn thread_count(&self) -> usize {
        1 + self.spawned_by.iter().filter(|step| **step != u32::MAX).count()
    }

    /// Where it went wrong, to tell misbehaviours of one kind apart: the same whichever threads and objects were met first.
    pub fn place(&self, names: &Names) -> String {
        let by_name = |mut places: Vec<(String, &[Site])>| {
            places.sort_unstable_by(|a, b| a.0.cmp(&b.0));
            format!("{places:?}")
        };
        if let Some(at) = self.misuses.first() {
            let site = self.steps[at.step as usize].site;
            return match at.misuse {
                Misuse::LockHeldAtExit(lock) => match names.external_key(lock) {
                    Some(key) => format!("{key:?} {site:?}"),
                    None => format!("{} {site:?}", names.object_name(lock)),
                },
                misuse => format!("{misuse:?} {site:?}"),
            };
        }
        match &self.end {
            End::Deadlock(deadlock) => {
                let waiters = deadlock.waiters.iter();
                by_name(waiters.map(|w| (names.thread_name(w.thread), core::slice::from_ref(&w.site))).collect())
            }
            End::Livelock { loops } => {
                by_name(loops.iter().map(|(thread, sites)| (names.thread_name(*thread), sites.as_slice())).collect())
            }
            _ => String::new(),
        }
    }

    /// The decisions of this execution.
    pub fn schedule(&self) -> Vec<Transition> {
        self.steps.iter().map(Step::transition).collect()
    }

    /// How many times the running thread was changed although it could have gone on is not known here; this is how many
    /// times the running thread changed at all.
    pub fn context_switches(&self) -> usize {
        self.steps.windows(2).filter(|w| w[0].thread != w[1].thread).count()
    }

    pub(crate) fn clear(&mut self) {
        self.steps.clear();
        self.accesses.clear();
        self.before.clear();
        self.end = End::Running;
        self.pending.clear();
        self.misuses.clear();
        self.plain.clear();
        self.spawned_by.clear();
        self.state.fixed.lists.clear();
        self.state.fixed.signals = None;
        self.state.fixed.threads.clear();
        self.state.holds.clear();
        self.watching.clear();
        self.awaited.clear();
        self.learned = false;
        self.lost = false;
        (self.spin_held, self.left_unseen) = (false, false);
        (self.idled, self.took_turns) = (false, false);
    }
}
