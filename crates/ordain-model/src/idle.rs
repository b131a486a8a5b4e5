//! Spinning: threads that go round without anyone changing anything.
//!
//! A thread that yields, sleeps, times out or reads again what it has read is *idle* as long as no other thread changes
//! one of the objects that it has looked at since. The first idle rounds are explored as they are. After that the thread is
//! *held*: it goes on when an object that it watches changes, or when nobody else can go on. So a loop that waits for
//! a flag is explored in finitely many executions, and one that waits for ever is found.
//!
//! Taking a lock counts as looking, too: a thread that takes and gives back the same again and again has changed nothing on balance.
//!
//! A timer with an interval, which rings again and again, is held after as many rounds as well, whatever changes: it rings again when nobody
//! else can go on.
//!
//! What a thread watches is what it has looked at since it was last at the same place, so a loop may be of any shape. A thread that has seen
//! a change since then is not held: it may be about to leave the loop.

use crate::execution::Site;
use crate::footprint::Access;
use crate::names::ObjectId;
use crate::operation::{Operation, Outcome, Wait};
use alloc::vec::Vec;
use smallvec::SmallVec;

/// How often an object was changed: by writes, and since the last of them by accesses that commute with each other.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Version {
    pub(crate) writes: u32,
    pub(crate) commuting: u32,
}

impl Version {
    /// Whether one who accesses the object in this way can tell the versions apart.
    fn differs(self, other: Self, access: Access) -> bool {
        self.writes != other.writes || access.is_write() && self.commuting != other.commuting
    }
}

/// An object that a thread looked at in its idle rounds.
#[derive(Clone, Copy)]
struct Watched {
    access: Access,
    /// The object's version after the thread's last access.
    version: Version,
    /// When the thread last looked: the number of its step.
    at: u32,
}

/// When a thread last looked at an object at one place.
#[derive(Clone, Copy)]
struct Look {
    site: Site,
    object: ObjectId,
    /// What the operation was about, which may consist of several objects; `None` if only its place counts.
    about: Option<ObjectId>,
    at: u32,
}

/// A thread that looks at more objects than this in one round is not held.
pub(crate) const MOST_WATCHED: usize = 96;

/// Yields, sleeps and expired waits at one site.
#[derive(Clone, Copy)]
struct Rounds {
    site: Site,
    count: u32,
    /// When the thread was last there.
    at: u32,
}

/// A round with more places in the program than this is no spinning. They are searched at each step.
const MOST_SITES: usize = 1024;

/// What one thread has done since it last made or saw a change.
#[derive(Default)]
pub(crate) struct Idle {
    watched: Vec<Watched>,
    looks: Vec<Look>,
    /// How many steps were noted.
    now: u32,
    /// When it last saw a change that another thread had made, or lost sight of what it watches.
    changed: u32,
    /// When it was last where it is held. What it has looked at since is what it watches.
    since: u32,
    /// Where it gave way.
    rounds: SmallVec<[Rounds; 2]>,
    /// Reads of something that it had read at the same place, unchanged.
    rereads: u32,
    /// How often it went on only because nobody else could.
    pub(crate) releases: u32,
    /// Where it was held when it went on like that, if nothing has changed since: the loop may be one that ends by itself.
    pub(crate) released_at: Option<Site>,
    /// Whether that loop gives others a chance, and gets nothing done: it may wait for something that cannot be seen.
    gives_way: bool,
    /// Whether it changed something itself since it first yielded.
    progressed: bool,
    /// Sites of the operations of the present round, to name the loop.
    pub(crate) sites: SmallVec<[Site; 4]>,
}

/// A loop that a thread has left although nothing had changed that can be seen.
#[derive(Clone, Copy)]
pub(crate) struct Left {
    /// Where the thread was held.
    pub(crate) site: Site,
    /// Whether it gives others a chance and gets nothing done.
    pub(crate) gives_way: bool,
}

/// How an operation counts.
#[derive(PartialEq, Eq)]
enum Counts {
    /// Gives way to others, or gave up waiting.
    Idle,
    /// Looks at something.
    Looks,
    /// Takes and gives back; neither idle nor progress.
    Neutral,
    /// Changes something that others can see.
    Progress,
}

/// Whether a handler runs in place of the operation.
fn is_signal(outcome: Outcome) -> bool {
    matches!(outcome, Outcome::SIGNALLED | Outcome::BROKEN_OFF)
}

/// Whether the operation takes something that its thread gives back again: it may do so only to look at what is guarded. A wait that may
/// expire does not count, because only its expiring is held.
fn takes(op: &Operation) -> bool {
    match op {
        Operation::Lock { wait, .. } | Operation::ReadLock { wait, .. } | Operation::WriteLock { wait, .. } => {
            *wait != Wait::Timed
        }
        // Not its turn, which comes later: who is held there keeps others out.
        Operation::WriteQueue { .. } | Operation::WriteTicket { .. } => true,
        _ => false,
    }
}

/// What an operation that looks is about; `None` if its objects are as many as it happens to find.
fn about(op: &Operation) -> Option<ObjectId> {
    if matches!(op, Operation::Access { .. } | Operation::Poll { .. }) { None } else { op.object() }
}

/// `same` says that a cell or count may have been written and holds what it held before, or that shares came or went and some are left.
fn counts(op: &Operation, outcome: Outcome, same: bool) -> Counts {
    let failed = outcome == Outcome::FAILED;
    match op {
        _ if is_signal(outcome) => Counts::Progress,
        Operation::Update { .. } | Operation::CompareExchange { .. } | Operation::Count { observes: true, .. }
            if same =>
        {
            Counts::Looks
        }
        Operation::Store { .. }
        | Operation::AddShare { .. }
        | Operation::DropShare { .. }
        | Operation::CloneSender { .. }
        | Operation::DropSender { .. }
            if same =>
        {
            Counts::Neutral
        }
        Operation::Yield | Operation::Sleep => Counts::Idle,
        // It has failed to take the lock at once, and waits for it.
        Operation::WriteQueue { .. } => Counts::Neutral,
        _ if failed && op.wait().is_some_and(|w| w != Wait::Try) => Counts::Idle,
        Operation::Load { .. } | Operation::IsFinished { .. } | Operation::OnceCheck { .. } => Counts::Looks,
        Operation::TestCancel if outcome == Outcome::DONE => Counts::Looks,
        Operation::Access { looks: true, .. } => Counts::Looks,
        Operation::CompareExchange { .. } | Operation::FutexWait { .. } | Operation::Access { .. } if failed => {
            Counts::Looks
        }
        _ if failed && op.wait().is_some() => Counts::Looks,
        Operation::Lock { .. }
        | Operation::Unlock { .. }
        | Operation::ReadLock { .. }
        | Operation::ReadUnlock { .. }
        | Operation::WriteLock { .. }
        | Operation::WriteTurn { .. }
        | Operation::WriteTicket { .. }
        | Operation::WriteByTicket { .. }
        | Operation::WriteUnlock { .. }
        | Operation::QueueWait { .. }
        | Operation::Choose { .. }
        | Operation::Start
        | Operation::Look => Counts::Neutral,
        Operation::Notify { .. } | Operation::Requeue { .. } if outcome == Outcome(0) => Counts::Neutral,
        Operation::Unpark { .. } => Counts::Neutral,
        _ => Counts::Progress,
    }
}

/// Whether a step gets something done that others can see. For `same` see [`Idle::note`].
pub(crate) fn is_progress(op: &Operation, outcome: Outcome, same: bool) -> bool {
    counts(op, outcome, same) == Counts::Progress
}

impl Idle {
    #[inline]
    pub(crate) fn reset(&mut self) {
        if self.watched.is_empty() && self.rounds.is_empty() && self.sites.is_empty() && self.releases == 0 {
            // Nothing was noted since the last time.
            return;
        }
        self.watched.clear();
        self.looks.clear();
        self.rounds.clear();
        self.rereads = 0;
        self.releases = 0;
        self.released_at = None;
        self.gives_way = false;
        self.progressed = false;
        self.sites.clear();
        // Searches are long, so steps are not counted from one execution to the next.
        (self.now, self.changed, self.since) = (0, 0, 0);
    }

    /// Becomes equal to another one, in the memory that it has.
    pub(crate) fn copy_from(&mut self, other: &Self) {
        let Self { watched, looks, now, changed, since, rounds, rereads, releases, released_at, .. } = other;
        let Self { gives_way, progressed, sites, .. } = other;
        self.watched.clone_from(watched);
        self.looks.clone_from(looks);
        self.rounds.clone_from(rounds);
        self.sites.clone_from(sites);
        (self.now, self.changed, self.since) = (*now, *changed, *since);
        (self.rereads, self.releases) = (*rereads, *releases);
        (self.released_at, self.gives_way, self.progressed) = (*released_at, *gives_way, *progressed);
    }

    /// It goes on only because nobody else can, from an operation that it was held at. If it leaves the loop now, that was no loop that
    /// waits for what can be seen. One that reads again and again, or gets something done, is simply long. One that gives others a chance
    /// may be that, too, or wait for memory; but not if it was only its time that has `come`.
    pub(crate) fn release(&mut self, op: &Operation, site: Site, come: bool) {
        let idles = matches!(op, Operation::Yield | Operation::Sleep) || op.may_give_up();
        let gives_way = idles && !self.progressed;
        if !(gives_way && come) {
            (self.released_at, self.gives_way) = (Some(site), gives_way);
        }
    }

    /// Whether an object it watches was changed by another thread.
    pub(crate) fn sees_change(&self, versions: &[Version]) -> bool {
        self.in_lap().any(|w| versions[w.access.object().index()].differs(w.version, w.access))
    }

    /// The objects it watches.
    pub(crate) fn watched(&self) -> impl Iterator<Item = Access> + '_ {
        self.in_lap().map(|w| w.access)
    }

    /// What it has looked at since it was last where it is held.
    fn in_lap(&self) -> impl Iterator<Item = &Watched> + '_ {
        self.watched.iter().filter(|w| w.at >= self.since)
    }

    fn rounds_at(&self, site: Site) -> Option<&Rounds> {
        self.rounds.iter().find(|r| r.site == site)
    }

    /// How often it has been idle at a place.
    pub(crate) fn rounds_of(&self, site: Site) -> u32 {
        self.rounds_at(site).map_or(0, |r| r.count)
    }

    /// Whether it has been idle at one place for `bound` rounds.
    pub(crate) fn goes_round(&self, bound: u32) -> bool {
        self.rounds.iter().any(|r| r.count >= bound)
    }

    /// Whether a step of the thread leaves things as they were as far as other spinning threads go: it failed, or is part of a loop
    /// that the thread goes round for at least the second time after `bound` idle rounds. For `same` see [`Idle::note`].
    pub(crate) fn leaves_unchanged(
        &self,
        op: &Operation,
        outcome: Outcome,
        site: Site,
        bound: u32,
        same: bool,
    ) -> bool {
        let kind = counts(op, outcome, same);
        let spins = self.goes_round(bound) || self.rereads >= bound.saturating_mul(8);
        kind == Counts::Looks
            || same
            || outcome == Outcome::FAILED
                && kind == Counts::Idle
                && !matches!(op, Operation::Woken { .. } | Operation::WriteTurn { .. })
            || kind != Counts::Progress && spins && self.sites.contains(&site)
    }

    /// Whether a thread that announces `op` must be held. `bound` idle rounds, and eight times as many repeated reads, are
    /// free. Waits that may expire are held only as far as expiring goes. Who has taken one of the `locks` in this round gives it back
    /// first, so that others can go on; it is held where it takes it again.
    pub(crate) fn holds(
        &mut self,
        op: &Operation,
        site: Site,
        bound: u32,
        mut locks: impl Iterator<Item = ObjectId>,
    ) -> bool {
        let since = match op {
            _ if matches!(op, Operation::Yield | Operation::Sleep) || op.may_give_up() => {
                self.rounds_at(site).filter(|r| r.count >= bound).map(|r| r.at)
            }
            _ if self.rereads < bound.saturating_mul(8) => None,
            Operation::Load { .. }
            | Operation::IsFinished { .. }
            | Operation::OnceCheck { .. }
            | Operation::Update { .. }
            | Operation::CompareExchange { .. }
            | Operation::FutexWait { .. }
            | Operation::TestCancel
            | Operation::Access { .. }
            | Operation::Count { observes: true, .. } => self.last_look(op, site),
            _ if op.wait() == Some(Wait::Try) || takes(op) => self.last_look(op, site),
            _ => None,
        };
        // Who has seen a change since may do something else now.
        let Some(since) = since.filter(|since| self.changed <= *since) else { return false };
        if locks.any(|lock| self.looks.iter().any(|l| l.about == Some(lock) && l.at >= since)) {
            return false;
        }
        self.since = since;
        true
    }

    /// Watches nothing: it goes on when nobody else can.
    pub(crate) fn watch_nothing(&mut self) {
        self.since = u32::MAX;
    }

    /// When the thread last looked at the same at the same place.
    fn last_look(&self, op: &Operation, site: Site) -> Option<u32> {
        let about = about(op);
        let same = |l: &&Look| l.site == site && l.about == about;
        self.looks.iter().filter(same).map(|l| l.at).max()
    }

    /// Takes note of a step of the thread, given its accesses, the versions that their objects had before and have now. `same` says that it
    /// wrote a cell and left it as it was. Gives the loop that the thread has left although nothing had changed: it was not waiting, only
    /// long, or cannot be seen to wait.
    #[allow(clippy::too_many_arguments)]
    pub(crate) fn note(
        &mut self,
        op: &Operation,
        outcome: Outcome,
        site: Site,
        accesses: &[Access],
        before: &[Version],
        versions: &[Version],
        same: bool,
    ) -> Option<Left> {
        if is_signal(outcome) {
            // The handler may change what the loop waits for.
            self.reset();
            return None;
        }
        let kind = counts(op, outcome, same);
        let left = self.released_at.filter(|_| !self.sites.contains(&site) || matches!(op, Operation::Exit));
        let left = left.map(|site| Left { site, gives_way: self.gives_way });
        if self.sites.len() > MOST_SITES || kind == Counts::Progress && self.rounds.is_empty() {
            self.reset();
            return left;
        }
        if kind == Counts::Progress {
            // It gets something done while it gives others a chance: that is fine, but they must get the chance.
            self.progressed = true;
            self.rereads = 0;
        }
        if left.is_some() {
            self.reset();
            return left;
        }
        self.now += 1;
        let now = self.now;
        if self.watched.len() + accesses.len() > MOST_WATCHED || self.looks.len() > 2 * MOST_WATCHED {
            self.watched.clear();
            self.looks.clear();
            self.changed = now;
        }
        if (kind == Counts::Looks || takes(op)) && !accesses.is_empty() {
            // Paths have directories in common; only who looks at the same again goes round.
            let again = |a: &Access| self.looks.iter().any(|l| l.site == site && l.object == a.object());
            let all = matches!(op, Operation::Access { .. });
            self.rereads += u32::from(if all { accesses.iter().all(again) } else { accesses.iter().any(again) });
            for access in accesses {
                match self.looks.iter_mut().find(|l| l.site == site && l.object == access.object()) {
                    Some(look) => (look.about, look.at) = (about(op), now),
                    None => self.looks.push(Look { site, object: access.object(), about: about(op), at: now }),
                }
            }
        }
        for (access, before) in accesses.iter().zip(before) {
            let mut version = versions[access.object().index()];
            let own = version.commuting.saturating_sub(before.commuting);
            if !access.is_write() {
                // The order among commuting changes says nothing, so only its own count as seen.
                version.commuting = own;
            }
            match self.watched.iter_mut().find(|w| w.access.object() == access.object()) {
                Some(seen) => {
                    if before.differs(seen.version, *access) {
                        // Someone else changed it since: the thread gets one lap to look round, and no new free rounds.
                        self.changed = now;
                        self.releases = 0;
                        self.released_at = None;
                        seen.access = *access;
                    } else if access.is_write() {
                        seen.access = *access;
                    } else {
                        version.commuting = seen.version.commuting + own;
                    }
                    (seen.version, seen.at) = (version, now);
                }
                None => self.watched.push(Watched { access: *access, version, at: now }),
            }
        }
        if !self.sites.contains(&site) {
            self.sites.push(site);
        }
        if kind == Counts::Idle {
            match self.rounds.iter_mut().find(|r| r.site == site) {
                Some(round) => (round.count, round.at) = (round.count + 1, now),
                None => self.rounds.push(Rounds { site, count: 1, at: now }),
            }
        }
        left
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_execution_begins_to_count_anew() {
        let mut idle = Idle::default();
        for _ in 0..3 {
            assert_eq!((idle.now, idle.changed, idle.since), (0, 0, 0));
            for round in 0..3 {
                assert_eq!(idle.holds(&Operation::Yield, Site(1), 2, core::iter::empty()), round >= 2);
                idle.note(&Operation::Yield, Outcome::DONE, Site(1), &[], &[], &[], false);
            }
            idle.reset();
        }
    }
}
