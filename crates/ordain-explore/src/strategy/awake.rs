//! The policy of searches with sleep sets: the first enabled transition that is not asleep.
//!
//! Where everything that is enabled sleeps, what follows is covered elsewhere, and the execution is cut short. But a thread that is held
//! because it spins has not done yet what it will do when the others have stopped, and what it does may race with what they did. So as long
//! as a thread is held the execution goes on, *in vain*: it does not count, and nothing is planned behind the place where it should
//! have been cut.

use crate::plan::{Pick, Policy};
use crate::wakeup::Sleeper;
use alloc::vec::Vec;
use ordain_model::{Arbiter, Execution, Transition};

/// Takes the first enabled transition that is not asleep.
#[derive(Default)]
pub(super) struct Awake {
    /// The sleepers of the state where the sleep set begins.
    initial: Vec<Sleeper>,
    /// How many steps come before that state.
    first: usize,
    sleep: Vec<Sleeper>,
    /// Sleepers that are met on the way, by depth.
    later: Vec<(usize, Sleeper)>,
    /// How many of them were met.
    met: usize,
    /// How many steps the sleep set has been followed through.
    followed: usize,
    enabled: Vec<Transition>,
    /// What was enabled at each step, if that is to be known.
    log: Option<Vec<Vec<Transition>>>,
    in_vain: Option<usize>,
}

impl Awake {
    /// Remembers what was enabled at each step.
    pub(super) fn with_log() -> Self {
        Self { log: Some(Vec::new()), ..Self::default() }
    }

    /// Prepares for an execution: the sleepers of the state after `first` steps, and those that come later, by depth.
    pub(super) fn prepare<'a>(
        &mut self,
        first: usize,
        sleep: &[Sleeper],
        later: impl Iterator<Item = (usize, &'a Sleeper)>,
    ) {
        self.first = first;
        self.initial.clear();
        self.initial.extend_from_slice(sleep);
        self.later.clear();
        self.later.extend(later.map(|(depth, s)| (depth, s.clone())));
    }

    /// How many steps came before the state in which everything slept, if the last execution went on from there.
    pub(super) fn in_vain(&self) -> Option<usize> {
        self.in_vain
    }

    /// What was enabled at a step.
    pub(super) fn enabled_at(&self, step: usize) -> &[Transition] {
        self.log.as_ref().and_then(|log| log.get(step)).map_or(&[], Vec::as_slice)
    }

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

    /// Lists and remembers what is enabled.
    fn list(&mut self, arbiter: &mut Arbiter) {
        arbiter.enabled(&mut self.enabled);
        if let Some(log) = &mut self.log {
            let depth = arbiter.execution().steps.len();
            if log.len() <= depth {
                log.resize_with(depth + 1, Vec::new);
            }
            log[depth].clone_from(&self.enabled);
        }
    }
}

impl Policy for Awake {
    fn begin(&mut self) {
        self.sleep.clone_from(&self.initial);
        self.followed = 0;
        self.met = 0;
        self.in_vain = None;
    }

    fn forced(&mut self, arbiter: &mut Arbiter, _transition: Transition) {
        if self.log.is_some() {
            self.list(arbiter);
        }
    }

    fn pick(&mut self, arbiter: &mut Arbiter) -> Pick {
        self.follow(arbiter.execution());
        self.list(arbiter);
        let Some(&first) = self.enabled.first() else {
            return if self.in_vain.is_some() { Pick::Cut } else { Pick::Nothing };
        };
        if self.in_vain.is_some() {
            return Pick::Take(first);
        }
        match self.enabled.iter().find(|t| !self.sleep.iter().any(|s| s.transition == **t)) {
            Some(awake) => Pick::Take(*awake),
            None if arbiter.holds_back() => {
                self.in_vain = Some(arbiter.execution().steps.len());
                Pick::Take(first)
            }
            None => Pick::Cut,
        }
    }
}
