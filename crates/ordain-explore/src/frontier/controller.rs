//! The controller of a divided search: who explores what next, for how long, and what it has come to.
//!
//! A pure state machine: it is told the time, and knows nothing of threads, processes or networks. Whoever drives it gives [`Task`]s to
//! workers and brings back what they have [`Done`]. It can be kept as bytes at any moment and taken up again; workers that were
//! on their way then come too late, and their fragments are explored again.

use super::{Accepted, Explored, Found, Fragment, Frontier, Item, Rule, Twig};
use crate::search::Summary;
use crate::wakeup::Items;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicBool, AtomicUsize};
use ordain_model::{Access, Lexicon, Named, Names, Operation, Renaming, Site, Transition};

/// How long workers explore before they are heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Pace {
    /// At least, in microseconds: for the first, so that others get something to do soon.
    pub least: u64,
    /// At most, in microseconds.
    pub most: u64,
}

impl Pace {
    /// For workers in the same process or machine.
    pub const LOCAL: Self = Self { least: 2_000, most: 500_000 };
    /// For workers to which messages take a while.
    pub const REMOTE: Self = Self { least: 100_000, most: 10_000_000 };
}

/// How much longer the search has lasted than a fragment may take.
const PARTS: u64 = 10;

/// So many leaves may always be given to a worker.
const FEWEST: usize = 16;

/// What a worker is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Task {
    /// By which its result is known.
    pub lease: u64,
    /// What to explore.
    pub fragment: Fragment,
    /// How many names of threads and objects it rests on: see [`Controller::births`].
    pub names: usize,
    /// The long loops that must be known.
    pub loops: Vec<Site>,
    /// For how long, in microseconds.
    pub slice: u64,
}

impl Task {
    /// What a worker answers that knows of long loops which this task does not rest on: it has told of them, and that was lost or is not heard
    /// yet. What it would do is not what was planned, so it only tells again.
    pub fn outdated(&self, loops: &[Site]) -> Option<Done> {
        let explored = Explored { loops: loops.to_vec(), ..Explored::default() };
        let (lease, names, births, summary) = (self.lease, self.names, Vec::new(), Summary::default());
        let outdated = loops.iter().any(|site| !self.loops.contains(site));
        outdated.then(|| Done { lease, explored, names, births, summary })
    }
}

/// A task, and what must be known for it.
pub struct Order {
    /// The task.
    pub task: Task,
    /// The names of threads and objects, all of them, in order.
    pub births: Arc<Vec<Named>>,
}

/// What workers should know while they explore.
#[derive(Default)]
pub struct Signals {
    /// The search is over: come back with what was done.
    pub stop: AtomicBool,
    /// How many have nothing to do: give back what is left soon.
    pub hungry: AtomicUsize,
}

/// What a worker has done.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Done {
    /// Of which task.
    pub lease: u64,
    /// What has become of the fragment.
    pub explored: Explored,
    /// How many names it began with.
    pub names: usize,
    /// What it has named since.
    pub births: Vec<Named>,
    /// What it did.
    pub summary: Summary,
}

/// How a divided search goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Division {
    /// Fragments that wait for a worker.
    pub waiting: usize,
    /// Fragments that workers have.
    pub assigned: usize,
    /// Results that counted.
    pub results: u64,
    /// Results that came twice or too late.
    pub stale: u64,
    /// Fragments that were given to another worker, because the first did not come back.
    pub released: u64,
    /// Nodes of the tree now.
    pub nodes: usize,
    /// Nodes of the tree at most.
    pub most_nodes: usize,
    /// How often the search has begun again.
    pub restarts: u32,
}

/// The controller.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Controller {
    frontier: Frontier,
    lexicon: Lexicon,
    pace: Pace,
    total: Summary,
    /// Executions of the last result.
    last: u64,
    results: u64,
    stale: u64,
    released: u64,
}

impl Controller {
    /// Nothing is explored.
    pub fn new(rule: Rule, pace: Pace) -> Self {
        Self {
            frontier: Frontier::new(rule),
            lexicon: Lexicon::default(),
            pace,
            total: Summary::default(),
            last: 0,
            results: 0,
            stale: 0,
            released: 0,
        }
    }

    /// What is left of a search that one worker has begun by itself: what has become of the whole, what it has named from its beginning on,
    /// and what it did. `None` if that makes no sense.
    pub fn undivided(rule: Rule, explored: Explored, names: &Names, total: Summary) -> Option<Self> {
        let mut controller = Self::new(rule, Pace::LOCAL);
        controller.frontier.expect(&explored);
        let task = controller.assign(1, 1, 0)?;
        let births = names.births(task.names).collect();
        let done = Done { lease: task.lease, explored, names: task.names, births, summary: total };
        (controller.accept(done) == Accepted::Counts).then_some(controller)
    }

    /// Whether one worker has done all of it, and others have no part in it.
    pub fn is_whole(&self) -> bool {
        self.frontier.size().0 == 1
    }

    /// All that is left as one task, and the names that it rests on, for a worker that explores it to its end. `None` if nothing is left, or it is divided.
    pub fn whole(&mut self) -> Option<(Task, Vec<Named>)> {
        let task = if self.is_whole() { self.assign(1, 1, 0)? } else { return None };
        Some((task, self.births(0)))
    }

    /// The names of threads and objects from a number on, in order.
    pub fn births(&self, from: usize) -> Vec<Named> {
        self.lexicon.names().births(from).collect()
    }

    /// Nothing is explored yet, and these long loops are known.
    pub fn know_loops(&mut self, loops: &[Site]) {
        self.frontier.know_loops(loops);
    }

    /// The long loops that are known.
    pub fn loops(&self) -> &[Site] {
        self.frontier.loops()
    }

    /// What was done in all results that count.
    pub fn total(&self) -> Summary {
        Summary { exhausted: self.is_finished(), ..self.total }
    }

    /// Whether everything is explored.
    pub fn is_finished(&self) -> bool {
        self.frontier.is_finished()
    }

    /// How the search is divided.
    pub fn division(&self) -> Division {
        let (nodes, most_nodes) = self.frontier.size();
        Division {
            waiting: self.frontier.waiting(),
            assigned: self.frontier.assigned(),
            results: self.results,
            stale: self.stale,
            released: self.released,
            nodes,
            most_nodes,
            restarts: self.frontier.restarts(),
        }
    }

    /// Something for one of `idle` workers to do, of `workers` in all, after the search has gone on for so many microseconds. `None` if
    /// nothing can be given away now.
    pub fn assign(&mut self, idle: usize, workers: usize, elapsed: u64) -> Option<Task> {
        let assignment = self.frontier.assign(workers, self.appetite())?;
        let Pace { least, most } = self.pace;
        // The longer it has lasted, the rarer a worker need be heard; but those that are idle must get something.
        let slice = (elapsed / PARTS).clamp(least, most) / idle.max(1) as u64;
        Some(Task {
            lease: assignment.lease,
            fragment: assignment.fragment,
            names: self.lexicon.names().object_count(),
            loops: assignment.loops,
            slice: slice.max(least),
        })
    }

    /// How many leaves are worth giving to one worker: each takes an execution at least, and what it does not come to was carried about
    /// for nothing.
    fn appetite(&self) -> usize {
        let made = usize::try_from(self.last).unwrap_or(usize::MAX);
        made.saturating_mul(4).max(FEWEST)
    }

    /// How many threads are among so many names.
    pub(super) fn threads_before(&self, names: usize) -> usize {
        self.lexicon.names().threads_before(names)
    }

    /// What is left, for workers of the same process.
    pub(super) fn frontier(&self) -> &Frontier {
        &self.frontier
    }

    /// Takes in at once what the worker of a lease found to be done in a state: see [`Frontier::add`].
    pub(super) fn tell(&mut self, lease: u64, taken: u32, items: &impl Items) {
        // If nobody has the lease, what the worker explores is not counted either.
        if self.frontier.has_lease(lease) {
            self.frontier.add(taken, items);
        }
    }

    /// Takes in what a worker has done.
    pub fn accept(&mut self, done: Done) -> Accepted {
        let Done { lease, explored, names, births, summary } = done;
        if !self.frontier.has_lease(lease) {
            // Only what holds whoever found it is of use; its names may be those of another time.
            let explored = Explored { loops: explored.loops, mistaken: explored.mistaken, ..Explored::default() };
            return self.take(lease, explored, &summary);
        }
        let Some(renaming) = self.lexicon.learn(names, &births) else {
            self.frontier.release(lease);
            return Accepted::Malformed;
        };
        let explored = if renaming.is_identity() { Some(explored) } else { renamed(explored, &renaming) };
        let Some(explored) = explored.filter(|e| is_known(e, &self.lexicon)) else {
            self.frontier.release(lease);
            return Accepted::Malformed;
        };
        self.take(lease, explored, &summary)
    }

    fn take(&mut self, lease: u64, explored: Explored, summary: &Summary) -> Accepted {
        let accepted = self.frontier.accept(lease, explored);
        match accepted {
            Accepted::Counts => {
                self.results += 1;
                self.last = summary.executions + summary.blocked;
                self.total.add(summary);
            }
            Accepted::Restarted => {
                self.total.add(summary);
                let (executions, blocked, exhausted) = (0, 0, false);
                self.total = Summary { executions, blocked, exhausted, restarted: true, ..self.total };
            }
            Accepted::Stale => self.stale += 1,
            Accepted::Malformed => {}
        }
        accepted
    }

    /// The worker that has this lease is gone, or does not want it.
    pub fn release(&mut self, lease: u64) {
        self.released += u64::from(self.frontier.release(lease));
    }

    /// Nobody works any more: all that is assigned waits again.
    pub fn release_all(&mut self) {
        self.frontier.release_all();
    }

    /// It was kept as bytes, and whoever had it is gone. What workers do that got their tasks from then on must not be mixed up with what
    /// comes now, so it must be kept again before it gives out tasks.
    pub fn take_over(&mut self) {
        self.frontier.take_over();
    }

    /// Whether it can be what it says: for one that was kept as bytes.
    pub fn is_intact(&self) -> bool {
        self.frontier.is_intact()
    }

    /// The tasks that workers have, by lease.
    pub fn leases(&self) -> impl Iterator<Item = u64> + '_ {
        self.frontier.leases()
    }
}

fn renamed(explored: Explored, renaming: &Renaming) -> Option<Explored> {
    let twig = |twig: Twig| {
        Some(Twig {
            transition: renaming.transition(twig.transition)?,
            op: match twig.op {
                Some(op) => Some(renaming.operation(&op)?),
                None => None,
            },
            footprint: renaming.footprint(&twig.footprint)?,
            ..twig
        })
    };
    let item = |item: &Item| {
        Some(Item {
            transition: renaming.transition(item.transition)?,
            op: renaming.operation(&item.op)?,
            footprint: renaming.footprint(&item.footprint)?,
            left: item.left,
        })
    };
    let found = |found: Found| Some(Found { items: found.items.iter().map(item).collect::<Option<_>>()?, ..found });
    let rest = match explored.rest {
        Some(twigs) => Some(twigs.into_iter().map(twig).collect::<Option<Vec<Twig>>>()?),
        None => None,
    };
    let found = explored.found.into_iter().map(found).collect::<Option<Vec<Found>>>()?;
    Some(Explored { rest, found, ..explored })
}

/// Whether everything that a result speaks of has a name.
fn is_known(explored: &Explored, lexicon: &Lexicon) -> bool {
    let names = lexicon.names();
    let known = |transition: Transition, op: Option<&Operation>, footprint: &[Access]| {
        let object = |a: &Access| *a == Access::EVERYTHING || a.object().index() < names.object_count();
        transition.thread.index() < names.thread_count()
            && op.is_none_or(|op| op.is_known(names))
            && footprint.iter().all(object)
    };
    let mut twigs = explored.rest.iter().flatten();
    let mut items = explored.found.iter().flat_map(|f| &f.items);
    twigs.all(|t| known(t.transition, t.op.as_ref(), &t.footprint))
        && items.all(|i| known(i.transition, Some(&i.op), &i.footprint))
}
