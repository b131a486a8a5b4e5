//! Plans: what a target is to run.
//!
//! A plan is a prefix of decisions to force and a [`Policy`] that decides afterwards. The target asks [`Plan::next`] at each
//! state in which all threads have announced; the plan notices when the program departs from it.

use alloc::vec::Vec;
use ordain_model::{Arbiter, End, Execution, Names, Operation, Step, Transition};

/// A decision to force, and the operation it is about, where that is known.
#[derive(Clone, Copy, Debug)]
pub struct Planned {
    /// Who moves and with which outcome.
    pub transition: Transition,
    /// What the thread must have announced.
    pub op: Option<Operation>,
}

/// What a policy decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pick {
    /// Take this transition.
    Take(Transition),
    /// Nothing is enabled.
    Nothing,
    /// What can follow is covered elsewhere.
    Cut,
}

/// Decides what happens once the prefix is over.
pub trait Policy {
    /// Called when an execution begins.
    fn begin(&mut self) {}
    /// Picks an enabled transition.
    fn pick(&mut self, arbiter: &mut Arbiter) -> Pick;
    /// How to decide the same elsewhere, with another arbiter in the same state; `None` if that cannot be told.
    fn portable(&self) -> Option<Portable> {
        None
    }
    /// Called before a forced step is taken, with the arbiter in the state before it.
    fn forced(&mut self, _arbiter: &mut Arbiter, _transition: Transition) {}
}

/// A policy that can be told in few words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Portable {
    /// The first enabled transition in order of threads.
    Lowest,
    /// The random walk of a seed and the number of an execution.
    Random {
        /// The seed.
        seed: u64,
        /// The number of the execution.
        stream: u64,
    },
}

/// What a target is to run.
pub struct Plan<'a> {
    prefix: &'a [Planned],
    policy: &'a mut dyn Policy,
    at: usize,
    follows: bool,
    anew: bool,
    known: Option<(usize, Planned)>,
}

impl<'a> Plan<'a> {
    /// Forces `prefix`, then lets `policy` decide.
    pub fn new(prefix: &'a [Planned], policy: &'a mut dyn Policy) -> Self {
        policy.begin();
        Self { prefix, policy, at: 0, follows: false, anew: false, known: None }
    }

    /// Follows a schedule that an exploration has found, which may have known more about the program's loops.
    pub fn follow(prefix: &'a [Planned], policy: &'a mut dyn Policy) -> Self {
        Self { follows: true, ..Self::new(prefix, policy) }
    }

    /// Begins with nothing learned: the execution is the same whatever the target has run before.
    pub fn anew(self) -> Self {
        Self { anew: true, ..self }
    }

    /// Whether the target must forget what it has learned about the program's loops before it runs.
    pub fn is_anew(&self) -> bool {
        self.anew
    }

    /// Knows what a thread had announced at the state after `depth` steps, in an execution with the same beginning. The program
    /// departs from the plan if it has announced something else now.
    pub fn knowing(self, depth: usize, planned: Planned) -> Self {
        Self { known: Some((depth, planned)), ..self }
    }

    /// Begins again, for an execution that did not come to anything.
    pub fn restart(&mut self) {
        self.at = 0;
        self.policy.begin();
    }

    /// How many decisions, from the first, are those of an execution that was made, and need not be made again because nothing else is
    /// asked of the states before them.
    pub fn shared(&self, last: &Execution) -> usize {
        if self.portable() != Some(Portable::Lowest) {
            // The policy may look at each state.
            return 0;
        }
        let most = self.known.map_or(usize::MAX, |(depth, _)| depth);
        let same = |(planned, step): &(&Planned, &Step)| {
            planned.transition == step.transition() && planned.op.is_none_or(|op| step.op.is_as_planned(&op))
        };
        self.prefix.iter().zip(&last.steps).take(most).take_while(same).count()
    }

    /// Goes on behind this many forced decisions, for an arbiter that has made them.
    pub fn skip(&mut self, decisions: usize) {
        self.at = decisions;
    }

    /// The decisions to force.
    pub fn prefix(&self) -> &'a [Planned] {
        self.prefix
    }

    /// How to decide the same behind the prefix elsewhere.
    pub fn portable(&self) -> Option<Portable> {
        self.policy.portable()
    }

    /// Whether it follows a schedule that an exploration has found.
    pub fn follows(&self) -> bool {
        self.follows
    }

    /// Whether what was known is so.
    fn is_as_known(&self, arbiter: &Arbiter) -> Result<(), Planned> {
        match self.known {
            Some((depth, planned)) if depth == self.at => {
                let announced = arbiter.pending(planned.transition.thread).map(|p| p.0);
                let same = announced.is_some_and(|found| planned.op.is_none_or(|op| found.is_as_planned(&op)));
                if same { Ok(()) } else { Err(planned) }
            }
            _ => Ok(()),
        }
    }

    /// The next transition to apply. `None` ends the execution, which the arbiter then knows.
    pub fn next(&mut self, arbiter: &mut Arbiter) -> Option<Transition> {
        if arbiter.is_over_limit() {
            arbiter.finish_with(End::StepLimit);
            return None;
        }
        if let Some(planned) = self.prefix.get(self.at) {
            if let Err(known) = self.is_as_known(arbiter) {
                arbiter.diverge(known.transition, known.op);
                return None;
            }
            let transition = planned.transition;
            let announced = arbiter.pending(transition.thread).map(|p| p.0);
            let expected = announced.is_some_and(|found| planned.op.is_none_or(|op| found.is_as_planned(&op)));
            let mut enabled = expected && transition.choice < arbiter.choices(transition.thread);
            if expected && !enabled {
                // A thread that is held goes on only if nobody else can.
                enabled = arbiter.first_enabled() == Some(transition);
                if !enabled && self.follows {
                    arbiter.release(transition.thread);
                    enabled = transition.choice < arbiter.choices(transition.thread);
                }
            }
            if !enabled {
                arbiter.diverge(transition, planned.op);
                return None;
            }
            self.policy.forced(arbiter, transition);
            self.at += 1;
            return Some(transition);
        }
        match self.policy.pick(arbiter) {
            Pick::Take(transition) => Some(transition),
            Pick::Nothing => {
                arbiter.finish();
                None
            }
            Pick::Cut => {
                arbiter.finish_with(End::Cut);
                None
            }
        }
    }
}

/// A program under control: runs a plan and gives back the execution.
pub trait Target {
    /// Runs the program once.
    fn run(&mut self, plan: &mut Plan<'_>);
    /// The execution that [`Target::run`] made.
    fn execution(&self) -> &Execution;
    /// The names of its threads and objects.
    fn names(&self) -> &Names;
}

/// Takes the first enabled transition in order of threads.
#[derive(Default)]
pub struct Lowest;

impl Policy for Lowest {
    fn pick(&mut self, arbiter: &mut Arbiter) -> Pick {
        arbiter.first_enabled().map_or(Pick::Nothing, Pick::Take)
    }

    fn portable(&self) -> Option<Portable> {
        Some(Portable::Lowest)
    }
}

/// Turns the steps of an execution into a prefix to force.
pub fn prefix_of(execution: &Execution) -> Vec<Planned> {
    execution.steps.iter().map(|s| Planned { transition: s.transition(), op: Some(s.op) }).collect()
}
