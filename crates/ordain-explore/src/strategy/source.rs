//! Source-DPOR: every class, none twice; some runs are cut short.
//!
//! Abdulla, Aronis, Jonsson and Sagonas, "Optimal dynamic partial order reduction". A reversal adds its first transition
//! unless one of its initials (transitions that could come first) is there.

use super::reducing::{Method, Reducing};
use crate::estimate::Path;
use crate::frontier::{Divisible, Explored, Fragment};
use crate::plan::{Pick, Plan, Policy};
use crate::reversal::{Sequence, Which};
use crate::search::{Coverage, Strategy};
use crate::trace::Trace;
use crate::wakeup::{Head, Items, Sleeper, Trees};
use alloc::vec::Vec;
use ordain_model::{Arbiter, Execution, Transition, dependent};

/// Whether an item of the sequence depends on none before it.
pub(super) fn is_initial(sequence: &Sequence<'_>, item: usize, trace: &Trace) -> bool {
    match sequence.events.get(item) {
        Some(&event) => {
            sequence.events[..item].iter().all(|&other| !trace.happens_before(other as usize, event as usize))
        }
        None => (0..item).all(|i| {
            let (other, footprint) = sequence.item(i);
            other.thread != sequence.last.thread && !dependent(footprint, sequence.last_footprint)
        }),
    }
}

/// Takes the first enabled transition that is not asleep.
#[derive(Default)]
pub(super) struct Awake {
    /// The sleepers of the state where the sleep set begins.
    initial: Vec<Sleeper>,
    sleep: Vec<Sleeper>,
    /// Sleepers that are met on the way, by depth.
    later: Vec<(usize, Sleeper)>,
    /// How many of them were met.
    met: usize,
    /// How many steps the sleep set has been followed through.
    followed: usize,
    first: usize,
    enabled: Vec<Transition>,
}

impl Awake {
    /// Wakes sleepers that depend on the steps since.
    fn follow(&mut self, execution: &Execution) {
        while self.followed < execution.steps.len() {
            let (step, footprint) = (&execution.steps[self.followed], execution.footprint(self.followed));
            if self.followed >= self.first {
                self.sleep.retain(|s| s.survives(step.transition(), footprint));
            }
            self.followed += 1;
            while let Some((_, sleeper)) = self.later.get(self.met).filter(|(depth, _)| *depth == self.followed) {
                self.sleep.push(sleeper.clone());
                self.met += 1;
            }
        }
    }
}

impl Policy for Awake {
    fn begin(&mut self) {
        self.sleep.clone_from(&self.initial);
        self.followed = 0;
        self.met = 0;
    }

    fn pick(&mut self, arbiter: &mut Arbiter) -> Pick {
        self.follow(arbiter.execution());
        arbiter.enabled(&mut self.enabled);
        if self.enabled.is_empty() {
            return Pick::Nothing;
        }
        let awake = self.enabled.iter().find(|t| !self.sleep.iter().any(|s| s.transition == **t));
        awake.map_or(Pick::Cut, |t| Pick::Take(*t))
    }
}

/// Backtrack sets.
#[derive(Default)]
struct Backtrack;

/// Whether one of the transitions could come first.
fn has_initial(known: impl Fn(Transition) -> bool, sequence: &Sequence<'_>, trace: &Trace) -> bool {
    (0..sequence.len()).any(|i| known(sequence.item(i).0) && is_initial(sequence, i, trace))
}

impl Method for Backtrack {
    const WHICH: Which = Which::UpToSecond;
    type Policy = Awake;

    fn plan(trees: &mut Trees, tree: &mut Head, taken: Transition, sequence: &Sequence<'_>, trace: &Trace) {
        if !Self::is_planned(trees, *tree, taken, sequence, trace) {
            trees.append_first(tree, sequence);
        }
    }

    fn is_planned(trees: &mut Trees, tree: Head, taken: Transition, sequence: &Sequence<'_>, trace: &Trace) -> bool {
        has_initial(|t| t == taken || trees.heads(tree).any(|head| head == t), sequence, trace)
    }

    fn is_asleep(sleep: &[Sleeper], sequence: &Sequence<'_>, trace: &Trace) -> bool {
        has_initial(|t| sleep.iter().any(|s| s.transition == t), sequence, trace)
    }

    fn told(sequence: &Sequence<'_>, trace: &Trace) -> impl Iterator<Item = usize> {
        (0..sequence.len()).filter(|&i| is_initial(sequence, i, trace))
    }

    fn prepare(policy: &mut Awake, kept: usize, sleep: &[Sleeper], later: &mut dyn Iterator<Item = (usize, &Sleeper)>) {
        policy.first = kept;
        policy.initial.clear();
        policy.initial.extend_from_slice(sleep);
        policy.later.clear();
        policy.later.extend(later.map(|(depth, s)| (depth, s.clone())));
    }
}

/// Source-DPOR with sleep sets.
#[derive(Default)]
pub struct Source(Reducing<Backtrack>);

impl Strategy for Source {
    fn plan(&mut self) -> Option<Plan<'_>> {
        self.0.plan()
    }

    fn learn(&mut self, execution: &Execution) {
        self.0.learn(execution);
    }

    fn path(&self) -> Option<Path<'_>> {
        self.0.path()
    }

    fn scheduled(&self, depth: usize, out: &mut Vec<Transition>) {
        self.0.scheduled(depth, out);
    }

    fn restart(&mut self) {
        *self = Self::default();
    }

    fn coverage(&self) -> Coverage {
        Coverage::Everything
    }
}

impl Divisible for Source {
    fn load(&mut self, fragment: &Fragment) {
        self.0.load(fragment);
    }

    fn unload(&mut self, last: &Execution) -> Explored {
        self.0.unload(last)
    }
}
