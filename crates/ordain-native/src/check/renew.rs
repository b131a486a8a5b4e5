//! Looking for the finding of an old schedule in a changed program.
//!
//! What the program still does as the schedule says is kept. From there the old order of threads is followed loosely: steps that
//! are new are made, steps that are gone are left out. If that does not show anything, random walks from the same place and
//! from earlier ones are tried, and at last the whole search.

use super::{Check, Problem, Report, verdict};
use crate::finding::NativeWords;
use crate::program::Program;
use crate::session::Session;
use crate::target::Native;
use ordain_check::{Campaign, Observer};
use ordain_explore::strategy::Walk;
use ordain_explore::{Lowest, Pick, Planned, Policy, Target as _};
use ordain_model::describe::{self, Place, Words};
use ordain_model::{Arbiter, Names, ObjectId, Schedule, Site, Transition};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

/// Random walks from each place, at most.
const WALKS: u64 = 500;
/// A step that the schedule does not know is new; more of them in a row are another program.
const MOST_NEW: usize = 32;

/// What a search from an old schedule came to.
#[derive(Debug)]
pub struct Renewed {
    /// The result, as that of a check.
    pub report: Report,
    /// Steps of the old schedule that the finding's execution began with.
    pub kept: usize,
    /// Whether the old order of threads led to it.
    pub followed: bool,
}

impl Check {
    /// Looks for a finding in executions that begin with the first `fitting` steps of a schedule, then in all. `told` is what
    /// the steps of the schedule did, as far as that is known.
    pub fn renew(
        &self,
        schedule: &Schedule,
        fitting: usize,
        told: &[String],
        observer: &mut dyn Observer,
    ) -> Result<Renewed, Problem> {
        let program = Program::new(&Arc::new(self.clone()), self.program.mode)?;
        let mut run = Campaign::new(&self.settings, &self.run, program, self.checkpoint(), observer)?;
        let names = self.object_names(schedule, &mut run.explorer().native)?;
        let native = &mut run.explorer().native;
        native.prepare_for(schedule);
        let transitions = schedule.transitions(native.names_mut());
        let old: Vec<Planned> = transitions.into_iter().map(|transition| Planned { transition, op: None }).collect();
        let fitting = fitting.min(old.len());
        let rest = old[fitting..].iter().enumerate().map(|(i, p)| (p.transition, told.get(fitting + i).cloned()));
        let mut loose = Loose { rest: rest.collect(), at: 0, new: 0, names: &names };
        if run.try_plan(&old[..fitting], &mut loose)? {
            return Ok(Renewed { report: verdict::report(run.end_after(1)?), kept: fitting, followed: true });
        }
        let started = Instant::now();
        let (mut from, mut executions) = (fitting, 1);
        loop {
            for stream in 0..WALKS {
                executions += 1;
                let late = self.settings.max_time.is_some_and(|limit| started.elapsed() > limit / 4);
                if late || run.is_over() {
                    break;
                }
                if run.try_plan(&old[..from], &mut Walk::new(self.settings.seed, stream))? {
                    return Ok(Renewed {
                        report: verdict::report(run.end_after(executions)?),
                        kept: from,
                        followed: false,
                    });
                }
            }
            if from == 0 {
                break;
            }
            from /= 2;
        }
        Ok(Renewed { report: verdict::report(run.run()?), kept: 0, followed: false })
    }

    /// How objects are called in the program as it is now, as schedule files call them.
    fn object_names(&self, schedule: &Schedule, program: &mut Native) -> Result<HashMap<ObjectId, String>, Problem> {
        let mut session = Session::start(self, schedule)?;
        while !session.is_over() {
            session.step()?;
        }
        let native = session.native();
        program.learn_names(native);
        let words = NativeWords::new(native);
        let objects = (0..native.names().object_count() as u32).map(ObjectId);
        let named = objects.filter_map(|object| Some((object, words.variable(object)?)));
        Ok(named.collect())
    }
}

/// Follows an old schedule as far as the program allows.
struct Loose<'a> {
    /// The decisions that are left, and what each step did.
    rest: Vec<(Transition, Option<String>)>,
    at: usize,
    /// Steps in a row that the schedule does not know.
    new: usize,
    /// Variables that objects are, by their names.
    names: &'a HashMap<ObjectId, String>,
}

impl Policy for Loose<'_> {
    fn begin(&mut self) {
        (self.at, self.new) = (0, 0);
    }

    fn pick(&mut self, arbiter: &mut Arbiter) -> Pick {
        while let Some((transition, told)) = self.rest.get(self.at) {
            let thread = transition.thread;
            let choices = arbiter.choices(thread);
            let pending = arbiter.pending(thread).map(|p| p.0);
            let (Some(op), true) = (pending, choices > 0) else {
                // It is blocked, or not there: others go on.
                self.at += 1;
                continue;
            };
            let words = OldWords { names: arbiter.names(), variables: self.names };
            let same = told.as_ref().is_none_or(|told| *told == describe::operation(&words, &op));
            if same || self.new >= MOST_NEW {
                (self.at, self.new) = (self.at + 1, 0);
                return Pick::Take(Transition { thread, choice: transition.choice.min(choices - 1) });
            }
            // What the thread was to do may come later, or not at all.
            let comes = self.rest[self.at..].iter().skip(1).find(|(t, _)| t.thread == thread);
            let gone = comes
                .is_some_and(|(_, told)| told.as_ref().is_some_and(|told| *told == describe::operation(&words, &op)));
            if gone {
                self.at += 1;
                continue;
            }
            self.new += 1;
            return Pick::Take(Transition::first(thread));
        }
        Lowest.pick(arbiter)
    }
}

/// Words as schedule files have them.
struct OldWords<'a> {
    names: &'a Names,
    variables: &'a HashMap<ObjectId, String>,
}

impl Words for OldWords<'_> {
    fn names(&self) -> &Names {
        self.names
    }

    fn variable(&self, object: ObjectId) -> Option<String> {
        self.variables.get(&object).cloned()
    }

    fn place(&self, _site: Site) -> Option<Place> {
        None
    }
}
