//! Fragments of a divided search, explored by a process.

use super::explore::{Allowance, Search, Turn};
use super::{Failure, Native};
use ordain_explore::frontier::{Done, Order};
use ordain_wire::{Follower, Job, Known};

/// What a process has done with a fragment.
pub struct FragmentTurn {
    /// The result for the controller; `None` if the program departed from its plan.
    pub done: Option<Done>,
    /// The turn in which it did so.
    pub turn: Turn,
}

impl Native {
    /// Lets the process explore a fragment. The last execution is known afterwards if it is worth telling. `None` if the process was
    /// lost, and with it what it had explored.
    pub fn explore_fragment(
        &mut self,
        search: &Search,
        order: &Order,
        allowance: &Allowance,
    ) -> Result<Option<FragmentTurn>, Failure> {
        let task = &order.task;
        if let Some(done) = task.outdated(self.loops()) {
            return Ok(Some(FragmentTurn { done: Some(done), turn: Turn::default() }));
        }
        self.take_over(order)?;
        if !self.has_process()? {
            return Ok(None);
        }
        let extent = self.follower.extent();
        if self.told != extent && !self.shared.write_known(&self.follower.known_since(0, 0)) {
            return Err(Failure::Refused("it has too many threads and objects".into()));
        }
        if self.told == extent {
            self.shared.forget_known();
        }
        if !self.shared.write_fragment(&task.fragment) {
            return Err(Failure::Refused("what is left to explore is too much to be told".into()));
        }
        let Some(turn) = self.take_turn_with(Job::FRAGMENT, search, allowance)? else { return Ok(None) };
        self.told = self.follower.extent();
        if turn.departure.is_some() {
            return Ok(Some(FragmentTurn { done: None, turn }));
        }
        let Some(explored) = self.shared.read_explored() else {
            self.stop_exploring();
            return Ok(None);
        };
        let births = self.follower.arbiter.names().births(task.names).collect();
        let done = Done { lease: task.lease, explored, names: task.names, births, summary: turn.summary };
        Ok(Some(FragmentTurn { done: Some(done), turn }))
    }

    /// Takes over the names that the controller has, and what it knows of loops.
    pub(super) fn take_over(&mut self, order: &Order) -> Result<(), Failure> {
        if !self.follower.arbiter.names_mut().agree(&order.births) {
            // Numbers mean something else in this process: it must begin anew.
            self.stop_exploring();
            self.follower = Follower::new(self.options);
        }
        let long_loops = order.task.loops.iter().map(|s| s.0).collect();
        let known = Known { births: order.births.to_vec(), long_loops };
        self.follower.adopt(&known).map_err(|c| Failure::Broken(c.0.into()))
    }
}
