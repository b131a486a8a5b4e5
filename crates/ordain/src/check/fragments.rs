//! Checks that explore fragments for a worker of a cluster, one after the other, until they are told to end.

use super::parallel::forecast_from_the_beginning;
use super::{Check, FORESEEN, Noticed, Run, Strategy, Watch};
use crate::conduct::{Conductor, Explored, Part};
use crate::finding::FindingKind;
use crate::report::Report;
use crate::rt::Executor;
use ordain_explore::estimate::{Effort, Foresight};
use ordain_explore::frontier::{Divisible, Done, Rule, explore_fragment};
use ordain_explore::strategy::{Optimal, Source};
use ordain_explore::{Summary, Target as _};
use ordain_report::conduct::Found;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// A finding that was confirmed. It is told again with every fragment that shows it: whoever was told may not have counted the result.
struct Known {
    kind: FindingKind,
    place: String,
    found: Found,
}

/// What is kept from one fragment to the next.
struct Memory {
    known: Vec<Known>,
    foresight: Foresight,
    /// When it was last estimated how much there is, and the executions and steps since then.
    foreseen: Option<Instant>,
    unforeseen: (u64, u64),
}

impl Memory {
    fn is_new(&self, noticed: &Noticed) -> bool {
        self.place(noticed).is_none()
    }

    fn place(&self, noticed: &Noticed) -> Option<usize> {
        self.known.iter().position(|known| known.kind == noticed.kind && known.place == noticed.place)
    }
}

impl Check {
    /// Explores fragments for somebody else. The report says nothing: what there is to say was told.
    pub(super) fn explore_fragments(
        mut self,
        name: String,
        strategy: Strategy,
        program: Rc<dyn Fn()>,
        mut conductor: Conductor,
    ) -> Report {
        // Whoever submitted the check gets the schedules; here is a directory that belongs to the run.
        self.directory = Some(".ordain".into());
        let executor = Executor::new(self.options, self.stack_size, program.clone());
        let mut run = Run { check: &self, name, strategy, executor, started: Instant::now() };
        let broken = run.try_twice().map(|noticed| noticed.message);
        let mut memory =
            Memory { known: Vec::new(), foresight: Foresight::default(), foreseen: None, unforeseen: (0, 0) };
        while let Some(part) = conductor.fragment() {
            let result = match (&broken, part) {
                (Some(reason), _) => Err(format!("it is not deterministic: {reason}")),
                (None, Err(reason)) => Err(format!("the fragment makes no sense: {reason}")),
                (None, Ok(part)) => run.explore_fragment(&program, part, &mut memory),
            };
            conductor.explored(result);
        }
        run.empty_report()
    }
}

impl Run<'_> {
    fn explore_fragment(
        &mut self,
        program: &Rc<dyn Fn()>,
        (rule, task, births): Part,
        memory: &mut Memory,
    ) -> Result<Explored, String> {
        if !self.executor.take_over(&births) {
            self.executor = Executor::new(self.check.options, self.check.stack_size, program.clone());
            if !self.executor.take_over(&births) {
                return Err("its threads and objects have other names here than elsewhere".into());
            }
            memory.foresight = Foresight::default();
        }
        if let Some(done) = task.outdated(self.executor.long_loops()) {
            return Ok(Explored { done, estimate: None, findings: Vec::new() });
        }
        let loops = self.executor.long_loops().len();
        for site in &task.loops {
            self.executor.know_long_loop(*site);
        }
        if self.executor.long_loops().len() != loops {
            // The search has begun again.
            memory.foresight.restart();
        }
        let mut strategy: Box<dyn Divisible> = match rule {
            Rule::Optimal => Box::new(Optimal::default()),
            Rule::Source => Box::new(Source::default()),
        };
        let (begun, slice) = (Instant::now(), Duration::from_micros(task.slice));
        let found = RefCell::new(None);
        let (mut noticed, mut shown) = (None::<Noticed>, BTreeSet::new());
        let mut watch = Watch { target: &mut self.executor, races: Vec::new(), found: &found };
        let (mut spun, mut visible) = (false, 0);
        let (mut explored, summary) = explore_fragment(&mut watch, &mut *strategy, &task.fragment, &mut |target, _| {
            let execution = target.execution();
            spun |= execution.spin_held;
            visible = visible.max(execution.steps.iter().filter(|s| s.op.is_synchronisation()).count());
            if let Some(new) = found.take() {
                match memory.place(&new) {
                    Some(place) => drop(shown.insert(place)),
                    None => {
                        noticed = Some(new);
                        return ControlFlow::Break(());
                    }
                }
            }
            if begun.elapsed() >= slice { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        memory.unforeseen.0 += summary.executions;
        memory.unforeseen.1 += summary.steps;
        let mut estimate = None;
        if noticed.is_none() && !summary.restarted && memory.foreseen.is_none_or(|at| at.elapsed() >= FORESEEN) {
            memory.foreseen = Some(Instant::now());
            let (executions, steps) = std::mem::take(&mut memory.unforeseen);
            let effort = Effort::beside(executions, steps);
            estimate = forecast_from_the_beginning(&mut memory.foresight, &mut watch, effort);
            noticed = found.take().filter(|noticed| memory.is_new(noticed));
        }
        explored.loops = self.executor.long_loops().to_vec();
        let births = self.executor.names().births(task.names).collect();
        let done = Done {
            lease: task.lease,
            explored,
            names: task.names,
            births,
            summary: Summary { spun, visible, ..summary },
        };
        if let Some(noticed) = noticed {
            let (kind, place) = (noticed.kind, noticed.place.clone());
            let finding = self.confirm(noticed, memory.known.len() + 1);
            if matches!(finding.story.kind, FindingKind::Nondeterminism) {
                return Err(finding.message);
            }
            let key = format!("{} {}", kind.word(), place);
            let written = finding.file.as_ref().and_then(|file| std::fs::read_to_string(file).ok());
            let found = Found { key, schedule: written.unwrap_or(finding.replay), story: finding.story };
            shown.insert(memory.known.len());
            memory.known.push(Known { kind, place, found });
        }
        let findings = shown.iter().map(|place| memory.known[*place].found.clone()).collect();
        Ok(Explored { done, estimate, findings })
    }
}
