//! Where in the user's own sources the steps of an execution were called.
//!
//! A step knows the address that its call returns to. For `std::mutex` that is a line in a header of the C++ library, the same for every
//! lock of the program. The execution is led once more, step by step, and the stack of the thread whose turn it is tells who called.

use crate::backtrace::{Frame, Location, Symbols, program_frames};
use crate::finding::registers;
use crate::target::stepping::StepState;
use crate::target::{Ended, Native};
use ordain_explore::{Planned, Target as _};
use ordain_model::{End, Execution, Operation, Site, ThreadId};
use ordain_wire::Mode;
use std::collections::HashMap;

/// Longer executions are told as they are: nobody reads all of their steps.
const MOST_STEPS: usize = 1_000;

/// The last execution, with each operation that was called in a library's code placed where the user's own code called that.
pub(crate) fn in_own_sources(native: &Native, symbols: &mut Symbols) -> Execution {
    let mut execution = native.execution().clone();
    let mut callers = Callers { symbols, known: HashMap::new() };
    callers.place_waiting(native, &mut execution);
    let foreign: Vec<usize> =
        (0..execution.steps.len()).filter(|i| callers.is_foreign(execution.steps[*i].site)).collect();
    if !foreign.is_empty() && execution.steps.len() <= MOST_STEPS {
        callers.place_steps(native, &mut execution, &foreign);
        callers.place_beginnings(&mut execution);
    }
    execution
}

struct Callers<'a> {
    symbols: &'a mut Symbols,
    /// Whether a site is known to be in no source of the user.
    known: HashMap<Site, bool>,
}

impl Callers<'_> {
    /// Whether a site is in code of a library, as far as its source tells.
    fn is_foreign(&mut self, site: Site) -> bool {
        let symbols = &mut *self.symbols;
        site.0 > 1 && *self.known.entry(site).or_insert_with(|| !symbols.locate(site.0 - 1).iter().any(is_own))
    }

    /// The site in the user's sources that a stack was called from.
    fn own_site(frames: Vec<Frame>) -> Option<Site> {
        let own = program_frames(frames).into_iter().find(|frame| frame.locations.iter().any(is_own))?;
        Some(Site(own.address))
    }

    /// Places what threads wait for at the end: their stacks are still there.
    fn place_waiting(&mut self, native: &Native, execution: &mut Execution) {
        let aftermath = native.aftermath();
        let Some(id) = native.process_id().filter(|_| !matches!(aftermath.ended, Ended::Exit(_))) else { return };
        let End::Deadlock(deadlock) = &mut execution.end else { return };
        for waiter in &mut deadlock.waiters {
            let record = aftermath.threads.iter().find(|record| ThreadId(record.thread) == waiter.thread);
            let Some(record) = record.filter(|_| self.is_foreign(waiter.site)) else { continue };
            let frames = self.symbols.unwind(id, &registers(&record.registers, false));
            waiter.site = Self::own_site(frames).unwrap_or(waiter.site);
        }
    }

    /// Threads that a library begins and ends for the user, as `std::thread` does: they start where that was asked for, and end nowhere.
    fn place_beginnings(&mut self, execution: &mut Execution) {
        for number in 0..execution.steps.len() {
            let step = execution.steps[number];
            if !self.is_foreign(step.site) {
                continue;
            }
            let site = match step.op {
                Operation::Start => {
                    let spawned = execution.spawned_by.get(step.thread.index()).copied().unwrap_or(u32::MAX);
                    execution.steps.get(spawned as usize).map(|spawn| spawn.site)
                }
                Operation::Exit => Some(Site::default()),
                _ => None,
            };
            execution.steps[number].site = site.filter(|site| !self.is_foreign(*site)).unwrap_or(step.site);
        }
    }

    /// Leads the execution again in a process of its own, as far as that goes, and places these steps.
    fn place_steps(&mut self, native: &Native, execution: &mut Execution, foreign: &[usize]) {
        let Ok(mut other) = native.fresh(Mode::Exec) else { return };
        other.know_loops(native.lessons());
        let plan: Vec<Planned> =
            execution.steps.iter().map(|step| Planned { transition: step.transition(), op: Some(step.op) }).collect();
        let Some(last) = foreign.last() else { return };
        let mut stand = other.start_steps();
        for number in 0..=*last {
            if !matches!(stand, Ok(StepState::Asking)) || other.execution().steps.len() != number {
                return;
            }
            let step = &mut execution.steps[number];
            if foreign.binary_search(&number).is_ok()
                && let Some(id) = other.process_id()
                && let Some(record) = other.records().iter().find(|record| ThreadId(record.thread) == step.thread)
            {
                let frames = self.symbols.unwind(id, &registers(&record.registers, false));
                step.site = Self::own_site(frames).unwrap_or(step.site);
            }
            if number == *last {
                return;
            }
            stand = other.make_step(&plan[number..]);
        }
    }
}

/// Whether a place is a line of one of the user's own sources. Those of libc may be named by relative paths.
pub(crate) fn is_own(place: &Location) -> bool {
    let of_system = ["libc.so", "libpthread.so", "libm.so", "ld-linux", "libstdc++.so", "libgcc_s.so", "libgomp.so"];
    place.line.is_some()
        && !of_system.iter().any(|library| place.module.starts_with(library))
        && place.file.as_ref().is_some_and(|file| ordain_report::is_own(&file.to_string_lossy()))
}
