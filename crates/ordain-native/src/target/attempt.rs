//! One attempt to run a plan: the process runs it, the follower confirms what it reports, and whoever asks is answered.

use super::ended::{Aftermath, Ended};
use super::{Failure, Native};
use crate::process::{Waited, describe};
use ordain_explore::{Plan, Portable};
use ordain_model::{ThreadId, Transition};
use ordain_wire::{Authority, Policy, Status};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering::Relaxed;

/// How an attempt to run a plan ended.
pub(super) enum Attempt {
    /// It ran to its end.
    Done,
    /// Try again, in whichever mode is set now.
    Again,
    /// The execution destroyed its process or what it reported: whether that is the program's doing must be seen.
    Lost(String),
}

impl Native {
    /// Runs a plan once, unless the process cannot go on.
    pub(super) fn attempt(&mut self, plan: &mut Plan<'_>) -> Result<Attempt, Failure> {
        self.ensure_process()?;
        self.write_plan(plan)?;
        self.follower.begin();
        self.read = 0;
        loop {
            match self.turn(plan)? {
                Some(attempt) => return Ok(attempt),
                None => self.answer(plan),
            }
        }
    }

    /// Lets the process run until it asks, and then gives nothing, or until it is done.
    pub(super) fn turn(&mut self, plan: &mut Plan<'_>) -> Result<Option<Attempt>, Failure> {
        let Some(process) = self.process.as_mut() else { return Ok(Some(Attempt::Again)) };
        let waited = loop {
            process.give_turn(&self.shared, &self.limit);
            let waited =
                process.wait(&self.shared, self.patience, &self.limit).map_err(|e| Failure::Broken(e.to_string()))?;
            let asks = self.shared.control().status.is(Status::Watch);
            match &mut self.watcher {
                Some(_) if asks && self.limit.is_over() => break Waited::Over,
                Some(watcher) if asks && matches!(waited, Waited::Turn) => watcher.tell(process.id(), &self.shared),
                _ => break waited,
            }
        };
        match waited {
            Waited::Turn => {}
            Waited::Ended(status) => {
                self.process = None;
                return Ok(Some(Attempt::Lost(describe(status))));
            }
            Waited::Stuck => {
                self.process = None;
                return Ok(Some(Attempt::Lost("it no longer responds".into())));
            }
            Waited::Over => {
                self.process = None;
                return Err(Failure::Over);
            }
        }
        let status = self.shared.control().status.load();
        if let Err(why) = self.feed(&mut Authority::Plan(plan)) {
            self.process = None;
            return Ok(Some(Attempt::Lost(why)));
        }
        Ok(Some(match status {
            Some(Status::Ask) => return Ok(None),
            Some(Status::Done) => self.conclude(&mut Authority::Plan(plan)),
            Some(Status::MoreThreads) => {
                self.process = None;
                self.grow_pool()?;
                Attempt::Again
            }
            Some(status @ (Status::Refused | Status::OtherMode)) => {
                let reason = self.shared.message();
                self.process = None;
                if !self.leave_mode(status, &reason) {
                    return Err(Failure::Refused(reason));
                }
                Attempt::Again
            }
            Some(Status::Broken) => {
                self.process = None;
                Attempt::Lost(self.shared.message())
            }
            _ => {
                self.process = None;
                Attempt::Lost("it reported an unknown state".into())
            }
        }))
    }

    /// Decides for the process that asks.
    pub(super) fn answer(&mut self, plan: &mut Plan<'_>) {
        let answer = self.follower.decide(plan);
        let control = self.shared.control();
        control.answer_thread.store(answer.map_or(0, |t| t.thread.0), Relaxed);
        control.answer_choice.store(answer.map_or(u32::MAX, |t| t.choice), Relaxed);
    }

    /// Writes a plan where the process reads it.
    pub(super) fn write_plan(&mut self, plan: &Plan<'_>) -> Result<(), Failure> {
        let control = self.shared.control();
        let portable = if self.careful { None } else { plan.portable() };
        let prefix = if portable.is_some() { plan.prefix() } else { &[] };
        if !self.shared.write_prefix(prefix.iter().map(|p| [p.transition.thread.0, p.transition.choice])) {
            return Err(Failure::Refused("its executions are too long".into()));
        }
        let policy = match portable {
            Some(Portable::Lowest) => Policy::Lowest,
            Some(Portable::Random { seed, stream }) => {
                control.seed.store(seed, Relaxed);
                control.stream.store(stream, Relaxed);
                Policy::Random
            }
            None => Policy::Remote,
        };
        control.policy.store(policy);
        control.follows.store(plan.follows().into(), Relaxed);
        control.log_length.store(0, Relaxed);
        control.message_length.store(0, Relaxed);
        control.address.store(0, Relaxed);
        Ok(())
    }

    /// Follows the events that are new.
    pub(super) fn feed(&mut self, lead: &mut Authority<'_, '_>) -> Result<(), String> {
        self.shared.read_log(self.read, &mut self.buffer);
        self.read += self.buffer.len();
        let (follower, buffer) = (&mut self.follower, &self.buffer);
        // What was reported may be anything; a model that cannot cope with it has said enough.
        match catch_unwind(AssertUnwindSafe(|| follower.feed(buffer, lead))) {
            Ok(Ok(())) => Ok(()),
            Ok(Err(contradiction)) => Err(format!("its report contradicts the model: {}", contradiction.0)),
            Err(_) => Err("its report makes no sense".into()),
        }
    }

    /// The execution is over: takes down how it ended.
    pub(super) fn conclude(&mut self, lead: &mut Authority<'_, '_>) -> Attempt {
        let aftermath = Aftermath::read(&self.shared);
        if aftermath.culprit.index() >= self.follower.arbiter.names().thread_count() {
            self.process = None;
            return Attempt::Lost("it names an unknown thread".into());
        }
        let by = aftermath.ended_by();
        self.aftermath = aftermath;
        match self.follower.conclude(by, lead) {
            Ok(()) => Attempt::Done,
            Err(contradiction) => {
                self.process = None;
                Attempt::Lost(contradiction.0.into())
            }
        }
    }

    /// The execution destroyed its process each time: it ends where it was last heard of.
    pub(super) fn follow_to_the_end(&mut self, plan: &Plan<'_>, how: String) {
        let arbiter = &mut self.follower.arbiter;
        let last = arbiter.execution().steps.last().map_or(ThreadId::MAIN, |s| s.thread);
        self.aftermath = Aftermath::unreported(Ended::Corrupted(how), last);
        if arbiter.execution().steps.len() < plan.prefix().len() {
            // It did not even come as far as before.
            arbiter.diverge(Transition::first(last), None);
        } else {
            arbiter.lose_program();
        }
    }
}
