//! Turns: a thread that gets something done again and again at one place lets the others go first.
//!
//! A loop such as `while sender.send(1).is_ok() {}` changes something in every round, so it is not idle, and yet it only waits for what
//! another thread does. Left alone it goes on for ever, and there are as many classes as it makes rounds before the other one comes. So the
//! first rounds are explored as they are; then the thread is held until nobody else can go on. It gets as many rounds again whenever it
//! sees what others have changed, but not without end: two that count up together could keep a third one from its turn.
//!
//! A thread that leaves the loop behind that although it saw nothing new was not waiting, only long: that is learned.
//!
//! Whether a thread is held is up to what it has done and seen alone, so it is the same in all executions of a class.

use crate::execution::Site;
use crate::footprint::Access;
use crate::names::ThreadId;
use crate::operation::{Operation, Wait};
use smallvec::SmallVec;

/// So many times as often a thread may go round if it sees what others change.
const SEEING: u32 = 16;
/// More places in the program than this are no loop.
const MOST_SITES: usize = 64;

/// A place where a thread gets something done.
#[derive(Clone, Copy)]
struct Place {
    site: Site,
    /// Rounds since the thread last saw a change, and in all.
    unseeing: u32,
    all: u32,
}

/// What one thread has got done since it last had to let others go first.
#[derive(Default)]
pub(crate) struct Turns {
    places: SmallVec<[Place; 4]>,
    /// Where it was since then.
    sites: SmallVec<[Site; 8]>,
    /// Where it was held when it went on, if it has seen nothing new since.
    released_at: Option<Site>,
    /// How often it went on because nobody else could.
    pub(crate) releases: u32,
}

impl Turns {
    #[inline]
    pub(crate) fn reset(&mut self) {
        self.places.clear();
        self.sites.clear();
        self.released_at = None;
        self.releases = 0;
    }

    /// Becomes equal to another one, in the memory that it has.
    pub(crate) fn copy_from(&mut self, other: &Self) {
        let Self { places, sites, released_at, releases } = other;
        self.places.clone_from(places);
        self.sites.clone_from(sites);
        (self.released_at, self.releases) = (*released_at, *releases);
    }

    /// Whether it must let others go first.
    pub(crate) fn is_up(&self, op: &Operation, site: Site, rounds: u32) -> bool {
        let over = |p: &Place| p.unseeing >= rounds || p.all >= rounds.saturating_mul(SEEING);
        self.places.iter().any(|p| p.site == site && over(p)) && may_be_held(op)
    }

    /// It goes on, because nobody else can, from an operation that it was held at.
    pub(crate) fn release(&mut self, op: &Operation, site: Site, rounds: u32) {
        if rounds > 0 && self.is_up(op, site, rounds) {
            self.released_at = Some(site);
            self.places.clear();
        }
        self.releases += 1;
    }

    /// Takes note of a step. `done` says that it got something done, `sees` that it met a change that another thread had made. Gives the
    /// place of a loop that was left although nothing new was seen.
    pub(crate) fn note(&mut self, op: &Operation, site: Site, done: bool, sees: bool) -> Option<Site> {
        if sees {
            self.places.iter_mut().for_each(|p| p.unseeing = 0);
            self.released_at = None;
        }
        let known = self.sites.contains(&site);
        let leaves = !known || matches!(op, Operation::Exit);
        let left = self.released_at.take_if(|_| leaves);
        if left.is_some() || self.sites.len() > MOST_SITES {
            self.reset();
        }
        if !self.sites.contains(&site) {
            self.sites.push(site);
        }
        if done {
            match self.places.iter_mut().find(|p| p.site == site) {
                Some(place) => (place.unseeing, place.all) = (place.unseeing + 1, place.all + 1),
                None => self.places.push(Place { site, unseeing: 1, all: 1 }),
            }
        }
        left
    }
}

/// Whether a thread may be held at an operation: it goes on with its only outcome, and nobody waits for it to come.
fn may_be_held(op: &Operation) -> bool {
    match op {
        Operation::Send { .. } | Operation::Receive { .. } => op.wait() != Some(Wait::Timed),
        Operation::Store { .. } | Operation::Update { .. } | Operation::CompareExchange { .. } => true,
        _ => false,
    }
}

/// Which threads have not yet seen the last changes of an object.
#[derive(Clone, Copy, Default)]
pub(crate) struct Unseen {
    /// Changes by writes.
    written: u64,
    /// Changes that commute with each other.
    commuting: u64,
}

/// The bit of a thread; none for those of high numbers, which count as seeing something new each time.
fn bit(thread: ThreadId) -> u64 {
    1_u64.checked_shl(thread.0).unwrap_or(0)
}

impl Unseen {
    /// The thread accesses the object; says whether it meets something new.
    #[inline]
    pub(crate) fn see(&mut self, thread: ThreadId, access: Access) -> bool {
        let bit = bit(thread);
        let mut sees = bit == 0 || self.written & bit != 0;
        self.written &= !bit;
        if access.is_write() {
            sees |= self.commuting & bit != 0;
            self.commuting &= !bit;
        }
        sees
    }

    /// The thread has changed the object.
    #[inline]
    pub(crate) fn change(&mut self, thread: ThreadId, commutes: bool) {
        if commutes {
            self.commuting |= !bit(thread);
        } else {
            (self.written, self.commuting) = (!bit(thread), 0);
        }
    }
}
