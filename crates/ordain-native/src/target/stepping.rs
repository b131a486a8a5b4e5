//! Executions that are led step by step: the process waits before each, and can be looked at meanwhile.

use super::attempt::Attempt;
use super::{Failure, Native};
use ordain_explore::{Lowest, Plan, Planned};
use ordain_model::Arbiter;
use ordain_wire::ThreadRecord;

/// Where an execution is that is led step by step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StepState {
    /// All threads wait for a decision.
    Asking,
    /// It is over.
    Over,
}

impl Native {
    /// Starts the program anew, up to where the first decision is to be made.
    pub(crate) fn start_steps(&mut self) -> Result<StepState, Failure> {
        loop {
            self.process = None;
            self.careful = true;
            self.ensure_process()?;
            let mut policy = Lowest;
            let plan = &mut Plan::new(&[], &mut policy);
            self.write_plan(plan)?;
            self.follower.begin();
            self.read = 0;
            match self.turn(plan)? {
                None => return Ok(StepState::Asking),
                Some(Attempt::Again) => {}
                Some(attempt) => return Ok(self.end_steps(attempt, plan)),
            }
        }
    }

    /// Takes one decision: the first of `rest`, or if there is none whoever can go on first.
    pub(crate) fn make_step(&mut self, rest: &[Planned]) -> Result<StepState, Failure> {
        let mut policy = Lowest;
        let plan = &mut Plan::follow(rest, &mut policy);
        self.answer(plan);
        Ok(match self.turn(plan)? {
            None => StepState::Asking,
            Some(attempt) => self.end_steps(attempt, plan),
        })
    }

    fn end_steps(&mut self, attempt: Attempt, plan: &Plan<'_>) -> StepState {
        match attempt {
            Attempt::Done => {}
            Attempt::Again => self.follow_to_the_end(plan, "it must be started anew".into()),
            Attempt::Lost(how) => self.follow_to_the_end(plan, how),
        }
        StepState::Over
    }

    /// The state of all threads and objects.
    pub(crate) fn arbiter(&self) -> &Arbiter {
        &self.follower.arbiter
    }

    /// Where threads are while a decision is to be made.
    pub(crate) fn records(&self) -> Vec<ThreadRecord> {
        self.shared.threads()
    }

    /// Calls threads and objects as another run of the program does.
    pub(crate) fn learn_names(&mut self, other: &Self) {
        // It comes from a follower like this one, so it is taken over whole.
        let _ = self.follower.adopt(&other.follower.known_since(0, 0));
    }

    /// Lets debuggers attach to the program from its next start on.
    pub(crate) fn let_debuggers_in(&mut self) {
        self.debugged = true;
    }

    /// What the program has written so far to standard output (0) or standard error (1).
    pub(crate) fn written(&mut self, which: usize) -> Vec<u8> {
        self.process.as_mut().and_then(|p| p.output(which, u64::MAX).ok()).unwrap_or_default()
    }
}
