//! Searches that a process does by itself, turn by turn.

use super::attempt::Attempt;
use super::{Failure, Native};
use crate::process::{Waited, describe};
use ordain_check::{Allowance, Job as Search, Recognition, Turn, Wanted};
use ordain_explore::branch_point;
use ordain_explore::classes::Classes;
use ordain_explore::estimate::Estimate;
use ordain_explore::frontier::Order;
use ordain_explore::strategy::{Bound, Kind as StrategyKind};
use ordain_explore::{Coverage, Summary};
use ordain_model::{Divergence, Operation};
use ordain_wire::{Authority, BoundKind, ClassUse, Estimating, Exhausted, Mode, Observation, Request, Status};
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// What a process has explored in a turn, and whether the last execution is worth a look.
pub(crate) type Explored = (Turn, bool);

impl Native {
    /// Lets the process explore by itself for a turn. The last execution is known afterwards if it is worth telling. `None` if
    /// the process was lost, and with it what it had explored.
    pub(crate) fn explore(
        &mut self,
        search: &Search,
        expected_status: i32,
        allowance: &Allowance,
    ) -> Result<Option<Explored>, Failure> {
        if !self.exploring {
            self.prepare_search()?;
        }
        if !self.has_process()? {
            return Ok(None);
        }
        if self.mode == Mode::Exec {
            // It has just come to that, and there each execution is led from here.
            return Ok(None);
        }
        if !self.exploring && !self.shared.write_known(&self.follower.known_since(0, 0)) {
            return Err(Failure::Refused("it has too many threads and objects".into()));
        }
        self.take_turn_with(Request::Explore, search, expected_status, allowance)
    }

    /// Tells the process, which is about to compare samples, with which classes.
    pub(crate) fn write_classes(&mut self, classes: &Classes) -> Result<(), Failure> {
        if self.has_process()? {
            self.shared.write_classes(classes);
        }
        Ok(())
    }

    /// Searches begin with this from now on, not with nothing: the rest of one that was begun elsewhere.
    pub(crate) fn begin_with(&mut self, rest: Option<Order>) {
        self.rest = rest;
    }

    /// Tells the process, which is about to begin a search, with what.
    fn prepare_search(&mut self) -> Result<(), Failure> {
        let Some(order) = self.rest.take() else {
            self.shared.forget_fragment();
            return Ok(());
        };
        let ready = self.take_over(&order);
        let told = self.shared.write_fragment(&order.task.fragment);
        self.rest = Some(order);
        match ready {
            Ok(()) if !told => Err(Failure::Refused("the rest of the search is too large for its process".into())),
            ready => ready,
        }
    }

    /// Gives the process a turn to explore.
    pub(super) fn take_turn_with(
        &mut self,
        request: Request,
        search: &Search,
        expected_status: i32,
        allowance: &Allowance,
    ) -> Result<Option<Explored>, Failure> {
        let control = self.shared.control();
        if !self.exploring {
            control.search.store(control.search.load(Relaxed).wrapping_add(1), Relaxed);
        }
        control.request.store(request);
        control
            .strategy
            .store(StrategyKind::ALL.iter().position(|k| *k == search.strategy).unwrap_or(0) as u32, Relaxed);
        control.seed.store(search.seed, Relaxed);
        control.depth.store(search.depth as u32, Relaxed);
        let (kind, bound) = match search.bound {
            None => (BoundKind::None, 0),
            Some(Bound::Preemptions(n)) => (BoundKind::Preemptions, n),
            Some(Bound::Delays(n)) => (BoundKind::Delays, n),
        };
        control.bound_kind.store(kind);
        control.bound.store(bound, Relaxed);
        control.expected_status.store(expected_status, Relaxed);
        control.class_use.store(match search.recognition {
            Recognition::No => ClassUse::None,
            Recognition::Noted => ClassUse::Collect,
            Recognition::Compared => ClassUse::Compare,
        });
        control.most.store(allowance.executions, Relaxed);
        control.time.store(allowance.time.as_micros() as u64, Relaxed);
        control.before.store(allowance.before, Relaxed);
        control.estimating.store(match allowance.forecast {
            Wanted::No => Estimating::No,
            Wanted::Rough => Estimating::Rough,
            Wanted::Best => Estimating::Best,
        });
        control.keep.store(allowance.keep.into(), Relaxed);
        control.address.store(0, Relaxed);
        control.message_length.store(0, Relaxed);
        self.exploring = true;
        let Some(process) = self.process.as_mut() else { return Ok(None) };
        process.give_turn(&self.shared, &self.limit);
        let waited =
            process.wait(&self.shared, self.patience, &self.limit).map_err(|e| Failure::Broken(e.to_string()))?;
        let status = self.shared.control().status.load();
        let turn = match (waited, status) {
            (Waited::Turn, Some(Status::Explored)) => self.take_turn(),
            (Waited::Turn, Some(Status::MoreThreads)) => {
                self.grow_pool()?;
                None
            }
            (Waited::Turn, Some(status @ (Status::Refused | Status::OtherMode))) => {
                let reason = self.shared.message();
                if !self.leave_mode(status, &reason) {
                    return Err(Failure::Refused(reason));
                }
                None
            }
            (Waited::Over, _) => {
                self.failure = Some(Failure::Over);
                None
            }
            (waited, _) => {
                self.losses += 1;
                self.last_loss = Some(match waited {
                    Waited::Ended(status) => describe(status),
                    Waited::Stuck => "it no longer responds".into(),
                    Waited::Turn | Waited::Over => self.shared.message(),
                });
                None
            }
        };
        if turn.is_none() {
            self.stop_exploring();
        }
        Ok(turn)
    }

    /// Forgets what the process has explored; it begins anew when it explores again.
    pub(crate) fn restart_search(&mut self) {
        self.exploring = false;
        self.shared.control().request.store(Request::Run);
    }

    /// Ends the process that explores, and what it has explored with it.
    pub(crate) fn stop_exploring(&mut self) {
        self.exploring = false;
        self.process = None;
        self.told = (0, 0);
        self.shared.control().request.store(Request::Run);
    }

    /// Whether a departure is about threads and objects that exist.
    fn is_known(&self, divergence: &Divergence) -> bool {
        let names = self.follower.arbiter.names();
        let known = |op: &Option<Operation>| op.is_none_or(|op| op.is_known(names));
        divergence.expected.thread.index() < names.thread_count()
            && known(&divergence.expected_op)
            && known(&divergence.found)
    }

    fn take_turn(&mut self) -> Option<Explored> {
        let known = self.shared.read_known()?;
        self.follower.adopt(&known).ok()?;
        let control = self.shared.control();
        let turn = Turn {
            explored: if control.keep.load(Relaxed) != 0 { self.shared.read_explored() } else { None },
            summary: Summary {
                executions: control.executions.load(Relaxed),
                blocked: control.blocked.load(Relaxed),
                steps: control.steps.load(Relaxed),
                threads: control.most_threads.load(Relaxed) as usize,
                depth: control.most_steps.load(Relaxed) as usize,
                exhausted: !control.exhausted.is(Exhausted::No),
                visible: control.most_visible.load(Relaxed) as usize,
                spun: control.spin_held.load(Relaxed) != 0,
                restarted: control.restarted.load(Relaxed) != 0,
            },
            classes: if control.class_use.is(ClassUse::Collect) { self.shared.read_classes() } else { Vec::new() },
            unexplored: control.unexplored.load(Relaxed) != 0,
            cpu: Duration::from_nanos(control.cpu.load(Relaxed)),
            coverage: match control.exhausted.load() {
                Some(Exhausted::Everything) => Some(Coverage::Everything),
                Some(Exhausted::Bound) => Some(Coverage::Bound),
                Some(Exhausted::Samples) => Some(Coverage::Samples),
                Some(Exhausted::No) | None => None,
            },
            departure: if control.observation.is(Observation::Departure) {
                Some(self.shared.departure()?)
            } else {
                None
            },
            branch_points: branch_point::decode(&self.shared.read_pairs()).unwrap_or_default(),
            estimate: (control.estimated.load(Relaxed) != 0)
                .then(|| {
                    let [ln, low, high] = [0, 1, 2].map(|i| f64::from_bits(control.estimate[i].load(Relaxed)));
                    Estimate { ln, low, high, done: control.estimate_done.load(Relaxed) }
                })
                // The program could have written there.
                .filter(|e| e.low <= e.ln && e.ln <= e.high && e.low >= 0.0 && e.high.is_finite()),
            ..Turn::default()
        };
        if turn.departure.as_ref().is_some_and(|d| !self.is_known(d)) {
            return None;
        }
        let observed = !control.observation.is(Observation::None);
        if observed {
            self.follower.begin();
            self.read = 0;
            self.feed(&mut Authority::Events).ok()?;
            if !matches!(self.conclude(&mut Authority::Events), Attempt::Done) {
                return None;
            }
        }
        Some((turn, observed))
    }
}
