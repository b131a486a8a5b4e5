//! Spinning: threads that go round without anyone changing anything.
//!
//! A thread that yields, sleeps, times out or reads again what it has read is *idle* as long as no other thread changes
//! one of the objects that it has looked at since. The first idle rounds are explored as they are. After that the thread is
//! *held*: it goes on when an object that it watches changes, or when nobody else can go on. So a loop that waits for
//! a flag is explored in finitely many executions, and one that waits for ever is found.

use crate::execution::Site;
use crate::footprint::Access;
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
    /// Where the thread looked.
    site: Site,
    /// In which lap of its loop.
    lap: u32,
}

/// More objects than this in one round are no spinning.
const MOST_WATCHED: usize = 32;
/// Nor are more places in the program than this. They are searched at each step.
const MOST_SITES: usize = 1024;

/// What one thread has done since it last made or saw a change.
#[derive(Default)]
pub(crate) struct Idle {
    watched: Vec<Watched>,
    /// The present lap. What was not looked at in the last whole lap is not part of the loop.
    lap: u32,
    /// Yields, sleeps and expired waits at each site.
    rounds: SmallVec<[(Site, u32); 2]>,
    /// Reads of something that it had read at the same place, unchanged.
    rereads: u32,
    /// How often it went on only because nobody else could.
    pub(crate) releases: u32,
    /// Where it was held when it went on like that, if nothing has changed since and the loop may be one that ends by itself.
    pub(crate) released_at: Option<Site>,
    /// Whether it changed something itself since it first yielded.
    progressed: bool,
    /// Sites of the operations of the present round, to name the loop.
    pub(crate) sites: SmallVec<[Site; 4]>,
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

fn counts(op: &Operation, outcome: Outcome) -> Counts {
    let failed = outcome == Outcome::FAILED;
    match op {
        _ if is_signal(outcome) => Counts::Progress,
        Operation::Yield | Operation::Sleep => Counts::Idle,
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
        | Operation::WriteQueue { .. }
        | Operation::WriteTurn { .. }
        | Operation::WriteUnlock { .. }
        | Operation::QueueWait { .. }
        | Operation::Choose { .. }
        | Operation::Start
        | Operation::Look => Counts::Neutral,
        Operation::TakeInterrupt | Operation::TestCancel if outcome == Outcome::DONE => Counts::Neutral,
        Operation::Notify { .. } | Operation::Requeue { .. } if outcome == Outcome(0) => Counts::Neutral,
        Operation::Unpark { .. } => Counts::Neutral,
        _ => Counts::Progress,
    }
}

impl Idle {
    #[inline]
    pub(crate) fn reset(&mut self) {
        if self.watched.is_empty() && self.rounds.is_empty() && self.sites.is_empty() && self.releases == 0 {
            // Nothing was noted since the last time.
            return;
        }
        self.watched.clear();
        self.rounds.clear();
        self.rereads = 0;
        self.releases = 0;
        self.released_at = None;
        self.progressed = false;
        self.sites.clear();
    }

    /// Becomes equal to another one, in the memory that it has.
    pub(crate) fn copy_from(&mut self, other: &Self) {
        let Self { watched, lap, rounds, rereads, releases, released_at, progressed, sites } = other;
        self.watched.clone_from(watched);
        self.rounds.clone_from(rounds);
        self.sites.clone_from(sites);
        (self.lap, self.rereads, self.releases) = (*lap, *rereads, *releases);
        (self.released_at, self.progressed) = (*released_at, *progressed);
    }

    /// It goes on only because nobody else can, from an operation that it was held at. A loop that gives others a chance and waits for
    /// nothing of its own making is taken to wait; one that reads again and again, or gets something done, may simply be long.
    pub(crate) fn release(&mut self, op: &Operation, site: Site) {
        let idles = matches!(op, Operation::Yield | Operation::Sleep) || op.may_give_up();
        if !idles || self.progressed {
            self.released_at = Some(site);
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

    /// What it has looked at in the present lap.
    fn in_lap(&self) -> impl Iterator<Item = &Watched> + '_ {
        self.watched.iter().filter(|w| w.lap == self.lap)
    }

    fn end_lap(&mut self) {
        let lap = self.lap;
        self.watched.retain(|w| w.lap == lap);
        self.lap += 1;
    }

    fn rounds_at(&self, site: Site) -> u32 {
        self.rounds.iter().find(|r| r.0 == site).map_or(0, |r| r.1)
    }

    /// Whether a step of the thread leaves things as they were as far as other spinning threads go: it failed, or is part of a loop
    /// that the thread goes round for at least the second time after `bound` idle rounds.
    pub(crate) fn leaves_unchanged(&self, op: &Operation, outcome: Outcome, site: Site, bound: u32) -> bool {
        let kind = counts(op, outcome);
        let spins = self.rounds.iter().any(|r| r.1 >= bound) || self.rereads >= bound.saturating_mul(8);
        kind == Counts::Looks
            || outcome == Outcome::FAILED
                && kind == Counts::Idle
                && !matches!(op, Operation::Woken { .. } | Operation::WriteTurn { .. })
            || kind != Counts::Progress && spins && self.sites.contains(&site)
    }

    /// Whether a thread that announces `op` must be held. `bound` idle rounds, and eight times as many repeated reads, are
    /// free. Waits that may expire are held only as far as expiring goes.
    pub(crate) fn holds(&self, op: &Operation, site: Site, bound: u32) -> bool {
        match op {
            Operation::Yield | Operation::Sleep => self.rounds_at(site) >= bound,
            _ if op.may_give_up() => self.rounds_at(site) >= bound,
            Operation::Load { .. }
            | Operation::IsFinished { .. }
            | Operation::OnceCheck { .. }
            | Operation::CompareExchange { .. }
            | Operation::TestCancel
            | Operation::Lock { wait: Wait::Try, .. } => {
                self.rereads >= bound.saturating_mul(8)
                    && op.object().is_none_or(|o| self.watched.iter().any(|w| w.access.object() == o && w.site == site))
            }
            Operation::Access { .. } => {
                self.rereads >= bound.saturating_mul(8) && self.watched.iter().any(|w| w.site == site)
            }
            _ => false,
        }
    }

    /// Takes note of a step of the thread, given its accesses, the versions that their objects had before and have now. Gives the
    /// site of a loop that the thread has left although nothing had changed: it was not waiting, only long.
    pub(crate) fn note(
        &mut self,
        op: &Operation,
        outcome: Outcome,
        site: Site,
        accesses: &[Access],
        before: &[Version],
        versions: &[Version],
    ) -> Option<Site> {
        if is_signal(outcome) {
            // The handler may change what the loop waits for.
            self.reset();
            return None;
        }
        let kind = counts(op, outcome);
        let left = self.released_at.filter(|_| !self.sites.contains(&site) || matches!(op, Operation::Exit));
        let is_too_long = self.watched.len() > MOST_WATCHED || self.sites.len() > MOST_SITES;
        if is_too_long || kind == Counts::Progress && self.rounds.is_empty() {
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
        // Paths have directories in common; only who looks at the same again goes round.
        let seen = |a: &Access| self.in_lap().any(|w| w.access.object() == a.object() && w.site == site);
        let all = matches!(op, Operation::Access { .. });
        let again = if all { accesses.iter().all(seen) } else { accesses.iter().any(seen) };
        let lap_ends = kind == Counts::Looks && again && !accesses.is_empty();
        if lap_ends {
            self.end_lap();
        }
        let lap = self.lap;
        for (access, before) in accesses.iter().zip(before) {
            let mut version = versions[access.object().index()];
            let own = version.commuting.saturating_sub(before.commuting);
            if !access.is_write() {
                // The order among commuting changes says nothing, so only its own count as seen.
                version.commuting = own;
            }
            match self.watched.iter_mut().find(|w| w.access.object() == access.object()) {
                Some(seen) if before.differs(seen.version, *access) => {
                    // Someone else changed it since: it gets one lap to look round, and no new free rounds.
                    self.watched.clear();
                    self.releases = 0;
                    self.released_at = None;
                    self.watched.push(Watched { access: *access, version, site, lap });
                }
                Some(seen) => {
                    if access.is_write() {
                        seen.access = *access;
                    } else {
                        version.commuting = seen.version.commuting + own;
                    }
                    (seen.version, seen.site, seen.lap) = (version, site, lap);
                }
                None => self.watched.push(Watched { access: *access, version, site, lap }),
            }
        }
        self.rereads += u32::from(lap_ends);
        if !self.sites.contains(&site) {
            self.sites.push(site);
        }
        if kind == Counts::Idle {
            match self.rounds.iter_mut().find(|r| r.0 == site) {
                Some(round) => round.1 += 1,
                None => self.rounds.push((site, 1)),
            }
            self.end_lap();
        }
        left
    }
}
