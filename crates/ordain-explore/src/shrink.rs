//! Makes the schedule of a finding smaller: fewest preemptions first, then fewest steps.
//!
//! A schedule is cut into *blocks*, the runs of steps of one thread. Candidates leave blocks out, end them sooner or join them, and are run
//! loosely: where a thread cannot move as the candidate says, the next block takes over, and when no block is left, threads run
//! until they can go no further. Only executions that show the finding and are smaller are kept. Then a search by preemption bound
//! looks for the finding from zero preemptions on: what it finds has the fewest, and so has what we have if it finds none. A second
//! one looks at all that have as few, for the one with the fewest steps.

use crate::plan::{Pick, Plan, Planned, Policy, Target, prefix_of};
use crate::search::search;
use crate::strategy::{Bound, Bounded};
use alloc::vec::Vec;
use core::ops::ControlFlow;
use ordain_model::{Arbiter, Execution, Size, ThreadId, Transition};

/// A smaller schedule of a finding.
#[derive(Clone, Debug)]
pub struct Shrunk {
    /// The schedule.
    pub prefix: Vec<Planned>,
    /// How large it was.
    pub from: Size,
    /// How large it is.
    pub size: Size,
    /// Executions that were needed.
    pub executions: u64,
    /// Whether no schedule with fewer preemptions shows the finding.
    pub fewest: bool,
    /// Whether it was stopped before nothing was left to try.
    pub stopped: bool,
}

/// Counts preemptions while another policy decides.
#[derive(Default)]
pub struct Preemptions<P> {
    /// The policy that decides.
    pub policy: P,
    /// Steps that took the place of a thread that could have gone on.
    pub steps: Vec<usize>,
    enabled: Vec<Transition>,
}

impl<P: Policy> Preemptions<P> {
    /// Watches `policy`.
    pub fn of(policy: P) -> Self {
        Self { policy, steps: Vec::new(), enabled: Vec::new() }
    }

    fn note(&mut self, arbiter: &mut Arbiter, next: ThreadId) {
        let last = arbiter.execution().steps.last().map(|s| s.thread);
        let Some(last) = last.filter(|last| *last != next) else { return };
        let mut enabled = core::mem::take(&mut self.enabled);
        arbiter.enabled(&mut enabled);
        if enabled.iter().any(|t| t.thread == last) {
            self.steps.push(arbiter.execution().steps.len());
        }
        self.enabled = enabled;
    }
}

impl<P: Policy> Policy for Preemptions<P> {
    fn begin(&mut self) {
        self.steps.clear();
        self.policy.begin();
    }

    fn pick(&mut self, arbiter: &mut Arbiter) -> Pick {
        let pick = self.policy.pick(arbiter);
        if let Pick::Take(transition) = pick {
            self.note(arbiter, transition.thread);
        }
        pick
    }

    fn portable(&self) -> Option<crate::plan::Portable> {
        self.policy.portable()
    }

    fn forced(&mut self, arbiter: &mut Arbiter, transition: Transition) {
        self.note(arbiter, transition.thread);
        self.policy.forced(arbiter, transition);
    }
}

/// Steps that one thread makes without another between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Block {
    thread: ThreadId,
    steps: usize,
}

/// What to aim at: blocks in order, and the outcome of each thread's steps.
#[derive(Clone, Debug, Default)]
struct Outline {
    blocks: Vec<Block>,
    /// By thread: the outcomes picked, in order of its steps.
    choices: Vec<Vec<u32>>,
}

impl Outline {
    fn of(execution: &Execution) -> Self {
        let mut outline = Self::default();
        for step in &execution.steps {
            match outline.blocks.last_mut() {
                Some(block) if block.thread == step.thread => block.steps += 1,
                _ => outline.blocks.push(Block { thread: step.thread, steps: 1 }),
            }
            let thread = step.thread.index();
            if outline.choices.len() <= thread {
                outline.choices.resize_with(thread + 1, Vec::new);
            }
            outline.choices[thread].push(step.choice);
        }
        outline
    }

    fn without(&self, blocks: core::ops::Range<usize>) -> Self {
        let mut shorter = self.clone();
        shorter.blocks.drain(blocks);
        shorter
    }

    /// The same with block `from` moved to just before block `to`, which may come earlier or later.
    fn with_moved(&self, from: usize, to: usize) -> Self {
        let mut other = self.clone();
        let block = other.blocks.remove(from);
        other.blocks.insert(if to > from { to - 1 } else { to }, block);
        other
    }
}

/// Follows an outline as far as it can be followed.
struct Loose {
    outline: Outline,
    at: usize,
    done: usize,
    moved: Vec<usize>,
    enabled: Vec<Transition>,
}

impl Loose {
    fn new(outline: Outline) -> Self {
        Self { outline, at: 0, done: 0, moved: Vec::new(), enabled: Vec::new() }
    }

    fn next_thread(&mut self, last: Option<ThreadId>) -> Option<ThreadId> {
        let can = |enabled: &[Transition], thread| enabled.iter().any(|t: &Transition| t.thread == thread);
        while let Some(block) = self.outline.blocks.get(self.at) {
            if self.done < block.steps && can(&self.enabled, block.thread) {
                self.done += 1;
                return Some(block.thread);
            }
            self.at += 1;
            self.done = 0;
        }
        last.filter(|last| can(&self.enabled, *last)).or_else(|| self.enabled.first().map(|t| t.thread))
    }
}

impl Policy for Loose {
    fn begin(&mut self) {
        (self.at, self.done) = (0, 0);
        self.moved.clear();
    }

    fn pick(&mut self, arbiter: &mut Arbiter) -> Pick {
        arbiter.enabled(&mut self.enabled);
        let last = arbiter.execution().steps.last().map(|s| s.thread);
        let Some(thread) = self.next_thread(last) else { return Pick::Nothing };
        if self.moved.len() <= thread.index() {
            self.moved.resize(thread.index() + 1, 0);
        }
        let nth = self.moved[thread.index()];
        self.moved[thread.index()] += 1;
        let choice = self.outline.choices.get(thread.index()).and_then(|c| c.get(nth)).copied().unwrap_or(0);
        let wanted = Transition { thread, choice };
        let possible = self.enabled.iter().filter(|t| t.thread == thread);
        Pick::Take(possible.clone().find(|t| **t == wanted).or(possible.clone().next()).copied().unwrap_or(wanted))
    }
}

/// The smallest so far.
struct Best {
    outline: Outline,
    prefix: Vec<Planned>,
    size: Size,
    /// Blocks at whose beginning the thread before could have gone on.
    preempted: Vec<usize>,
}

impl Best {
    fn of(execution: &Execution, preemptions: &[usize]) -> Self {
        let outline = Outline::of(execution);
        let mut preempted = Vec::new();
        let mut first = 0;
        for (i, block) in outline.blocks.iter().enumerate() {
            if preemptions.binary_search(&first).is_ok() {
                preempted.push(i);
            }
            first += block.steps;
        }
        let size = Size {
            preemptions: preemptions.len(),
            steps: execution.steps.len(),
            switches: outline.blocks.len().saturating_sub(1),
        };
        Self { outline, prefix: prefix_of(execution), size, preempted }
    }
}

struct Shrinker<'a, T: Target> {
    target: &'a mut T,
    shows: &'a mut dyn FnMut(&mut T) -> bool,
    go_on: &'a mut dyn FnMut() -> bool,
    executions: u64,
    best: Best,
}

/// Executions of the search for fewer preemptions.
const MOST_SEARCHED: u64 = 20_000;
/// Executions of the search for fewer steps: what it finds is seldom worth more.
const MOST_SHORTENED: u64 = 2_000;

/// Makes a schedule smaller. `shows` tells whether the target's last execution shows the finding, `go_on` whether there is still
/// time; it is asked before every execution. `None` if the schedule does not show the finding at all.
pub fn shrink<T: Target>(
    target: &mut T,
    found: &[Planned],
    shows: &mut dyn FnMut(&mut T) -> bool,
    go_on: &mut dyn FnMut() -> bool,
) -> Option<Shrunk> {
    let mut policy = Preemptions::of(crate::plan::Lowest);
    target.run(&mut Plan::follow(found, &mut policy));
    if !shows(target) {
        return None;
    }
    let best = Best::of(target.execution(), &policy.steps);
    let from = best.size;
    let mut shrinker = Shrinker { target, shows, go_on, executions: 1, best };
    let mut stopped = !shrinker.reduce();
    let mut fewest = shrinker.best.size.preemptions == 0;
    if !stopped && !fewest {
        let before = shrinker.best.size.preemptions;
        (fewest, stopped) = shrinker.search();
        if shrinker.best.size.preemptions < before && !stopped {
            stopped = !shrinker.reduce();
        }
    }
    if fewest && !stopped {
        stopped = !shrinker.shorten();
    }
    let Shrinker { executions, best, .. } = shrinker;
    Some(Shrunk { prefix: best.prefix, from, size: best.size, executions, fewest, stopped })
}

impl<T: Target> Shrinker<'_, T> {
    /// Runs a candidate and keeps it if it is better. `None` when there is no time.
    fn attempt(&mut self, outline: Outline) -> Option<bool> {
        if !(self.go_on)() {
            return None;
        }
        let mut policy = Preemptions::of(Loose::new(outline));
        self.target.run(&mut Plan::new(&[], &mut policy));
        self.executions += 1;
        let steps = self.target.execution().steps.len();
        let smaller = (policy.steps.len(), steps) <= (self.best.size.preemptions, self.best.size.steps);
        if !smaller || !(self.shows)(self.target) {
            return Some(false);
        }
        let found = Best::of(self.target.execution(), &policy.steps);
        let better = found.size < self.best.size;
        if better {
            self.best = found;
        }
        Some(better)
    }

    /// Tries candidates until none is better; `false` when there was no time for that.
    fn reduce(&mut self) -> bool {
        loop {
            let before = self.best.size;
            for pass in [Self::leave_out, Self::end_sooner, Self::join, Self::choose_first] {
                if pass(self).is_none() {
                    return false;
                }
            }
            if self.best.size == before {
                return true;
            }
        }
    }

    /// Leaves blocks out, many at a time first: what they did comes later, or not at all.
    fn leave_out(&mut self) -> Option<()> {
        let mut chunk = self.best.outline.blocks.len() / 2;
        while chunk > 0 {
            let mut end = self.best.outline.blocks.len();
            while end >= chunk {
                let candidate = self.best.outline.without(end - chunk..end);
                if self.attempt(candidate)? {
                    // What is left now may be shorter than what was just looked at.
                    end = end.min(self.best.outline.blocks.len() + 1);
                }
                end -= 1.max(chunk / 2).min(end);
            }
            chunk /= 2;
        }
        Some(())
    }

    /// Lets blocks end sooner, after very few steps first: what a thread did before it was interrupted is often not needed.
    fn end_sooner(&mut self) -> Option<()> {
        let mut i = 0;
        while i < self.best.outline.blocks.len() {
            let mut steps = 1;
            while self.best.outline.blocks.get(i).is_some_and(|block| steps < block.steps) {
                let mut candidate = self.best.outline.clone();
                candidate.blocks[i].steps = steps;
                if self.attempt(candidate)? {
                    break;
                }
                steps = steps + 1 + steps / 4;
            }
            i += 1;
        }
        Some(())
    }

    /// Joins a block that was cut off by a switch with the next one of its thread: by having that earlier, or this later.
    fn join(&mut self) -> Option<()> {
        for only_preemptions in [true, false] {
            let mut i = self.best.outline.blocks.len();
            while i > 1 {
                i = (i - 1).min(self.best.outline.blocks.len().saturating_sub(1));
                if i == 0 || (only_preemptions && !self.best.preempted.contains(&i)) {
                    continue;
                }
                let blocks = &self.best.outline.blocks;
                let Some(next) = (i..blocks.len()).find(|j| blocks[*j].thread == blocks[i - 1].thread) else {
                    continue;
                };
                let earlier = self.best.outline.with_moved(next, i);
                let later = self.best.outline.with_moved(i - 1, next);
                if !self.attempt(earlier)? {
                    self.attempt(later)?;
                }
            }
        }
        Some(())
    }

    /// Takes the first outcome of operations that have several: what is served, woken in order, does not expire.
    fn choose_first(&mut self) -> Option<()> {
        for thread in 0..self.best.outline.choices.len() {
            // What was found to be smaller may have fewer threads.
            for nth in 0..self.best.outline.choices.get(thread).map_or(0, Vec::len) {
                if self.best.outline.choices.get(thread).and_then(|c| c.get(nth)).is_some_and(|c| *c != 0) {
                    let mut candidate = self.best.outline.clone();
                    candidate.choices[thread][nth] = 0;
                    self.attempt(candidate)?;
                }
            }
        }
        Some(())
    }

    /// Looks for the finding with fewer preemptions; tells whether none has fewer than the best now, and whether time was over.
    fn search(&mut self) -> (bool, bool) {
        let before = self.best.size.preemptions;
        let mut found = None;
        let (exhausted, stopped) = self.look(before - 1, MOST_SEARCHED, &mut |execution| {
            found = Some(prefix_of(execution));
            ControlFlow::Break(())
        });
        let Some(prefix) = found else { return (exhausted, stopped) };
        self.adopt(&prefix);
        // The search had found nothing with less when it came to this.
        (self.best.size.preemptions < before, stopped)
    }

    /// Looks for fewer steps with as few preemptions; `false` when there was no time for that.
    fn shorten(&mut self) -> bool {
        let (mut found, mut steps) = (None, self.best.size.steps);
        self.look(self.best.size.preemptions, MOST_SHORTENED, &mut |execution| {
            if execution.steps.len() < steps {
                steps = execution.steps.len();
                found = Some(prefix_of(execution));
            }
            ControlFlow::Continue(())
        });
        if let Some(prefix) = found {
            self.adopt(&prefix);
        }
        (self.go_on)()
    }

    /// Searches executions with at most so many preemptions for those that show the finding. Tells whether it came to an end, and
    /// whether it was stopped.
    fn look(
        &mut self,
        preemptions: usize,
        most: u64,
        shown: &mut dyn FnMut(&Execution) -> ControlFlow<()>,
    ) -> (bool, bool) {
        let mut strategy = Bounded::new(Bound::Preemptions(u32::try_from(preemptions).unwrap_or(u32::MAX)));
        let (shows, go_on) = (&mut *self.shows, &mut *self.go_on);
        let (mut runs, mut stopped) = (0, false);
        let summary = search(self.target, &mut strategy, &mut |target, _| {
            runs += 1;
            if shows(target) {
                shown(target.execution())?;
            }
            stopped = runs >= most || !go_on();
            if stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        self.executions += summary.executions;
        (summary.exhausted, stopped)
    }

    /// Runs a schedule that was found, and keeps it if it is better.
    fn adopt(&mut self, prefix: &[Planned]) {
        let mut policy = Preemptions::of(crate::plan::Lowest);
        self.target.run(&mut Plan::follow(prefix, &mut policy));
        self.executions += 1;
        if (self.shows)(self.target) {
            let found = Best::of(self.target.execution(), &policy.steps);
            if found.size < self.best.size {
                self.best = found;
            }
        }
    }
}
