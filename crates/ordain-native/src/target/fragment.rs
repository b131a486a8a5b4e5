//! Fragments of a divided search, explored by a process.

use super::explore::Explored;
use super::{Failure, Native};
use ordain_check::{Allowance, Job as Search, Turn};
use ordain_explore::frontier::{Done, Order};
use ordain_wire::{Follower, Knowledge, Request};

impl Native {
    /// Lets the process explore a fragment. The last execution is known afterwards if it is worth a look. `None` if the process was
    /// lost, and with it what it had explored.
    pub(crate) fn explore_fragment(
        &mut self,
        search: &Search,
        expected_status: i32,
        order: &Order,
        allowance: &Allowance,
    ) -> Result<Option<Explored>, Failure> {
        let task = &order.task;
        if let Some(done) = task.outdated(self.loops()) {
            return Ok(Some((Turn { done: Some(done), ..Turn::default() }, false)));
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
            return Err(Failure::Refused("the rest of the search is too large for its process".into()));
        }
        let turn = self.take_turn_with(Request::ExploreFragment, search, expected_status, allowance)?;
        let Some((mut turn, observed)) = turn else { return Ok(None) };
        self.told = self.follower.extent();
        if turn.departure.is_some() {
            return Ok(Some((turn, observed)));
        }
        let Some(explored) = self.shared.read_explored() else {
            self.stop_exploring();
            return Ok(None);
        };
        let births = self.follower.arbiter.names().births(task.names).collect();
        turn.done = Some(Done { lease: task.lease, explored, names: task.names, births, summary: turn.summary });
        Ok(Some((turn, observed)))
    }

    /// Takes over the names that the controller has, and what it knows of loops.
    pub(crate) fn take_over(&mut self, order: &Order) -> Result<(), Failure> {
        if !self.follower.arbiter.names_mut().agree(&order.births) {
            // Numbers mean something else in this process: it must begin anew.
            self.stop_exploring();
            self.follower = Follower::new(self.options);
        }
        let long_loops = order.task.loops.iter().map(|s| s.0).collect();
        let known = Knowledge { births: order.births.to_vec(), long_loops };
        self.follower.adopt(&known).map_err(|c| Failure::Broken(c.0.into()))
    }
}
