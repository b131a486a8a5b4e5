//! What can happen now: which announced operations are enabled, who is held because it spins, and who goes on when nobody else can.

use super::{Arbiter, Pending};
use crate::execution::{Site, Transition};
use crate::names::ThreadId;
use crate::operation::Operation;
use crate::primitives;
use alloc::vec::Vec;

/// How often a loop that was taken to wait may turn out to be long before it is never held again. Each time it gets sixteen times as
/// many free rounds.
pub(super) const LEVELS: u32 = 4;

/// How often in kind time a thread that gets something done goes on before time passes.
const PATIENCE: u32 = 1024;

/// What is learned about a loop: that at this level its free rounds did not suffice.
pub(super) fn lesson(site: Site, level: u32) -> Site {
    Site(site.0 ^ u64::from(level) << 58)
}

/// What is learned of the rounds in which a thread gets something done at a site is told apart from what is learned of idle ones.
pub(super) fn of_turns(site: Site) -> Site {
    Site(site.0 ^ 1 << 57)
}

impl Arbiter {
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

    /// Whether nothing can happen any more: no thread can go on, and none is held that could be let go.
    pub fn is_stuck(&self) -> bool {
        self.alive.iter().all(|t| self.choices(*t) == 0 && !self.may_be_let_go(*t))
    }

    /// Whether a thread is held that could be let go.
    pub fn holds_back(&self) -> bool {
        self.alive.iter().any(|t| self.choices(*t) == 0 && self.may_be_let_go(*t))
    }

    fn may_be_let_go(&self, thread: ThreadId) -> bool {
        let is_timed = self.threads[thread.index()].pending.is_some_and(|p| p.is_timed());
        self.spins(thread) || self.options.kind_time && is_timed
    }

    /// Whether a thread is held that could go on. One that waits for a lock which another has waits, held or not.
    pub(super) fn spins(&self, thread: ThreadId) -> bool {
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

    /// Whether a thread stands for a timer with an interval that has rung early as often as is explored.
    pub fn bounds_timer(&self, thread: ThreadId) -> bool {
        self.threads[thread.index()].idle.rounds_of(Site::TICK) >= self.options.spin_bound
    }

    /// Whether a thread must let others go first because it would reach the step limit otherwise: a loop in which nothing repeats as far as can
    /// be seen, such as one that takes a lock again and again.
    pub(super) fn hogs(&self, thread: ThreadId, op: &Operation) -> bool {
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
    pub(super) fn is_up(&self, thread: ThreadId, op: &Operation, site: Site) -> bool {
        let free = self.options.free_rounds;
        let turns = &self.threads[thread.index()].turns;
        free > 0
            && turns.is_up(op, site, free)
            && !self.is_alone(thread)
            && turns.is_up(op, site, self.bound(free, of_turns(site)))
    }

    /// How many idle rounds at a site are free.
    pub(super) fn spin_bound(&self, site: Site) -> u32 {
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
}
