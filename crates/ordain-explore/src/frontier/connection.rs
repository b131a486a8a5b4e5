//! Telling the controller at once, by workers that can reach it.
//!
//! What a worker finds to be done in states that it shares with others it would otherwise copy, keep until its time is over, and send.
//! Here it asks the tree at once, which mostly has it already; and what is new can be given to somebody at once. How the controller is
//! shared is up to whoever brings the workers.

use super::{Controller, Task};
use crate::wakeup::{Items, Left};
use alloc::boxed::Box;
use alloc::vec::Vec;
use ordain_model::{Access, Execution, Operation, Transition};

/// A controller that several workers reach.
pub trait SharedController {
    /// Looks at it; false if somebody has it for long.
    fn read(&self, look: &mut dyn FnMut(&Controller)) -> bool;
    /// Changes it; false if somebody has it for long.
    fn write(&self, change: &mut dyn FnMut(&mut Controller)) -> bool;
}

/// By which a worker tells at once what it finds, while it explores a task.
pub struct Connection {
    controller: Box<dyn SharedController>,
    lease: u64,
    /// How many threads and objects have the same numbers here and there.
    threads: usize,
    objects: usize,
    /// How many steps of the execution, from its beginning, are about nothing else; and whether all are.
    known: usize,
    all_known: bool,
    /// The ways that are taken to this root.
    ways: Vec<u32>,
    root: Option<u32>,
    /// Scratch memory.
    left: Left,
}

impl Connection {
    /// The connection of the worker that has this task, with the controller as it is now.
    pub fn new(controller: Box<dyn SharedController>, now: &Controller, task: &Task) -> Self {
        Self {
            controller,
            lease: task.lease,
            threads: now.threads_before(task.names),
            objects: task.names,
            known: 0,
            all_known: false,
            root: None,
            ways: Vec::new(),
            left: Left::default(),
        }
    }

    fn knows(&self, transition: Transition, op: &Operation, footprint: &[Access]) -> bool {
        transition.thread.index() < self.threads
            && op.is_within(self.threads, self.objects)
            && footprint.iter().all(|a| *a == Access::EVERYTHING || a.object().index() < self.objects)
    }

    /// What is told from now on comes from this execution, whose first steps are those of the last.
    pub(crate) fn follow(&mut self, execution: &Execution, kept: usize) {
        self.known = self.known.min(kept);
        let known = |step: usize| {
            let s = &execution.steps[step];
            self.knows(s.transition(), &s.op, execution.footprint(step))
        };
        let len = execution.steps.len();
        self.known = (self.known..len).find(|step| !known(*step)).unwrap_or(len);
        self.all_known = self.known == len;
    }

    /// Tells what is to be done in a state on the way to a root: steps of the execution, and something else as the last. False if that must be
    /// told with the result, because it has to do with what has no name there yet, or somebody has the controller: to sleep until it is
    /// free would take longer.
    pub(crate) fn tell(&mut self, root: u32, depth: u32, items: &impl Items) -> bool {
        let Some(last) = items.len().checked_sub(1) else { return true };
        let (transition, footprint) = items.item(last);
        if !self.all_known || !self.knows(transition, &items.op(last), footprint) {
            return false;
        }
        let Self { controller, lease, root: known_root, ways, left, .. } = self;
        let mut taken = None;
        let looked = controller.read(&mut |controller| {
            let frontier = controller.frontier();
            if !frontier.has_lease(*lease) {
                // What it explores is not counted either.
                return;
            }
            if *known_root != Some(root) {
                *known_root = Some(root);
                frontier.ways(*lease, root, ways);
            }
            // Mostly it is there, and then nobody need wait for another.
            taken = ways.get(depth as usize).copied().filter(|taken| !frontier.covers(*taken, items, left));
        });
        match taken {
            Some(taken) => controller.write(&mut |controller| controller.tell(*lease, taken, items)),
            None => looked,
        }
    }

    /// What ways begin with that come after the one that is taken from a state on the way to a root, as far as can be seen now. None is ever
    /// taken away.
    pub(crate) fn later(&self, root: u32, depth: u32, out: &mut Vec<Transition>) {
        let Some(taken) = self.ways.get(depth as usize).filter(|_| self.root == Some(root)) else { return };
        self.controller.read(&mut |controller| {
            let frontier = controller.frontier();
            if frontier.has_lease(self.lease) {
                out.clear();
                out.extend(frontier.later(*taken));
            }
        });
    }
}
