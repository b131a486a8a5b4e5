//! A pool of workers that explore the fragments of a search: each has its thread, and the caller's thread leads.

use crate::shared_frontier::SharedFrontier;
use ordain_explore::frontier::{Accepted, Controller, Done, Order, Signals};
use ordain_model::Named;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// A worker of the pool.
pub(crate) trait PoolWorker {
    /// What comes with a result.
    type Report: Send;
    /// Explores a fragment of the frontier. An error loses what was done: the fragment is given to somebody again.
    fn explore(
        &mut self,
        order: &Order,
        signals: &Signals,
        frontier: &SharedFrontier,
    ) -> Result<(Done, Self::Report), String>;
    /// Whether the leader need not know of this before the result is accepted, or at all.
    fn is_ordinary(&self, _report: &Self::Report) -> bool {
        false
    }
}

/// What the leader is told.
pub(crate) enum Update<R> {
    /// A result of a worker, before it is accepted, unless it is ordinary. A leader that breaks off then does not take it: it is left to be
    /// explored.
    Result(R),
    /// What became of a result.
    Accepted(Accepted),
    /// A worker lost what it was doing, and why.
    Lost(String),
    /// Some time has passed.
    Tick,
}

/// Makes a worker, on the thread on which it will work.
pub(crate) type WorkerFactory<'a, W> = Box<dyn FnOnce() -> W + Send + 'a>;

/// What a worker sends that has nothing to do now.
struct Message<R> {
    worker: usize,
    lease: u64,
    delivery: Delivery<R>,
}

/// What became of a worker's task.
enum Delivery<R> {
    /// A result.
    Result(Result<(Done, R), String>),
    /// A result that the worker has handed in by itself.
    HandedIn(Accepted),
}

/// The leader, which may break off.
pub(crate) type Leader<'a, R> = dyn FnMut(&SharedFrontier, Update<R>) -> ControlFlow<()> + 'a;

/// How much of their time workers had something to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Utilisation {
    /// Time in which they had, of all of them.
    busy: Duration,
    /// Time in which they could have had.
    available: Duration,
}

impl Utilisation {
    /// The share, from zero to one.
    pub(crate) fn share(&self) -> f64 {
        if self.available.is_zero() { 0.0 } else { (self.busy.as_secs_f64() / self.available.as_secs_f64()).min(1.0) }
    }
}

/// Lets workers explore until nothing is left or the leader breaks off; then it gets what they are doing. The search has lasted for `before`
/// already. Gives the controller back, and how busy they were.
pub(crate) fn explore<W: PoolWorker>(
    controller: Controller,
    workers: Vec<WorkerFactory<'_, W>>,
    before: Duration,
    tick: Duration,
    leader: &mut Leader<'_, W::Report>,
) -> (Controller, Utilisation) {
    let frontier = SharedFrontier::new(controller);
    let signals = Signals::default();
    let started = Instant::now();
    let pool = Pool { frontier, signals, workers: workers.len(), before, started, busy: AtomicU64::new(0) };
    std::thread::scope(|scope| {
        let (sender, messages) = channel();
        let orders: Vec<Sender<Order>> = workers
            .into_iter()
            .enumerate()
            .map_while(|(number, factory)| {
                let (order, ordered) = channel();
                let (sender, pool) = (sender.clone(), &pool);
                let work = move || pool.work(number, factory(), &ordered, &sender);
                // Where the system gives no more threads, those that there are do the work.
                std::thread::Builder::new().spawn_scoped(scope, work).ok().map(|_| order)
            })
            .collect();
        drop(sender);
        assert!(!orders.is_empty() || pool.workers == 0, "the system gives no thread to work in");
        pool.lead(&orders, &messages, tick, leader);
        pool.signals.stop.store(true, Relaxed);
        drop(orders);
        while let Ok(message) = messages.recv() {
            // It is over already.
            let _ = pool.take(message.lease, message.delivery, leader);
        }
    });
    let Pool { frontier, busy, workers, .. } = pool;
    let workers = u32::try_from(workers).unwrap_or(u32::MAX);
    let mut controller = frontier.into_inner().expect("the workers are gone");
    controller.release_all();
    let busy = Duration::from_nanos(busy.into_inner());
    (controller, Utilisation { busy, available: started.elapsed() * workers })
}

/// What all threads share.
struct Pool {
    frontier: SharedFrontier,
    signals: Signals,
    workers: usize,
    /// For how long the search had gone on before it began.
    before: Duration,
    started: Instant,
    /// For how long workers have explored, in nanoseconds.
    busy: AtomicU64,
}

impl Pool {
    /// Something for one of `idle` workers to do; `None` if there is nothing. `births` are names that were enough for another order.
    fn order(&self, controller: &mut Controller, births: &mut Arc<Vec<Named>>, idle: usize) -> Option<Order> {
        let elapsed = (self.before + self.started.elapsed()).as_micros() as u64;
        let task = controller.assign(idle, self.workers, elapsed)?;
        if births.len() != task.names {
            *births = Arc::new(controller.births(0));
        }
        Some(Order { task, births: births.clone() })
    }

    /// What the thread of a worker does.
    fn work<W: PoolWorker>(
        &self,
        number: usize,
        mut worker: W,
        ordered: &Receiver<Order>,
        sender: &Sender<Message<W::Report>>,
    ) {
        while let Ok(order) = ordered.recv() {
            let mut next = Some(order);
            while let Some(order) = next.take() {
                let (started, lease) = (Instant::now(), order.task.lease);
                let result = catch_unwind(AssertUnwindSafe(|| worker.explore(&order, &self.signals, &self.frontier)));
                self.busy.fetch_add(started.elapsed().as_nanos() as u64, Relaxed);
                let (result, panic) = match result {
                    Ok(result) => (result, None),
                    Err(panic) => (Err("it panicked".into()), Some(panic)),
                };
                if panic.is_some() {
                    // Nobody must wait for it; the leader learns of it when the others have ended.
                    self.signals.stop.store(true, Relaxed);
                }
                let delivery = match result {
                    Ok((done, report)) if worker.is_ordinary(&report) && self.is_calm(&done) => {
                        let mut controller = self.frontier.lock();
                        let accepted = controller.accept(done);
                        if accepted == Accepted::Counts {
                            next = self.order(&mut controller, &mut order.births.clone(), 1);
                        }
                        Delivery::HandedIn(accepted)
                    }
                    result => Delivery::Result(result),
                };
                let message = Message { worker: number, lease, delivery };
                let received = next.is_some() || sender.send(message).is_ok();
                if let Some(panic) = panic {
                    resume_unwind(panic);
                }
                if !received {
                    return;
                }
            }
        }
    }

    /// Whether a result can be taken in without the leader: it goes on, nobody waits for what is in it, and something was done.
    fn is_calm(&self, done: &Done) -> bool {
        let Signals { stop, hungry } = &self.signals;
        !stop.load(Relaxed) && hungry.load(Relaxed) == 0 && done.summary.executions + done.summary.blocked > 0
    }

    /// Gives out tasks and takes in results.
    fn lead<R>(
        &self,
        orders: &[Sender<Order>],
        messages: &Receiver<Message<R>>,
        tick: Duration,
        leader: &mut Leader<'_, R>,
    ) {
        let mut ticked = self.started;
        let mut idle: Vec<usize> = (0..orders.len()).rev().collect();
        let mut births = Arc::new(self.frontier.lock().births(0));
        // Gives a worker something to do; false if there is nothing.
        let mut give = |worker: usize, idle: usize| {
            let order = self.order(&mut self.frontier.lock(), &mut births, idle);
            // Who is given something waits for it: of those that panic is heard before.
            order.is_some_and(|order| orders[worker].send(order).is_ok())
        };
        loop {
            while let Some(worker) = idle.last().copied() {
                if !give(worker, idle.len()) {
                    break;
                }
                idle.pop();
            }
            if idle.len() == orders.len() {
                // Nothing is left.
                return;
            }
            self.signals.hungry.store(idle.len(), Relaxed);
            let message = match messages.recv_timeout(tick.saturating_sub(ticked.elapsed())) {
                Ok(message) => Some(message),
                Err(RecvTimeoutError::Timeout) => None,
                // A worker has panicked; the scope tells.
                Err(RecvTimeoutError::Disconnected) => return,
            };
            if let Some(Message { worker, lease, delivery }) = message {
                // First it gets something else to do: taking in what it has done may last.
                let panicked = self.signals.stop.load(Relaxed);
                if panicked || !give(worker, idle.len() + 1) {
                    idle.push(worker);
                }
                if self.take(lease, delivery, leader).is_break() || panicked {
                    return;
                }
            }
            if ticked.elapsed() >= tick {
                ticked = Instant::now();
                if leader(&self.frontier, Update::Tick).is_break() {
                    return;
                }
            }
        }
    }

    /// Takes in what a worker has done, or that it was lost.
    fn take<R>(&self, lease: u64, delivery: Delivery<R>, leader: &mut Leader<'_, R>) -> ControlFlow<()> {
        let frontier = &self.frontier;
        match delivery {
            Delivery::Result(Ok((done, report))) => {
                if leader(frontier, Update::Result(report)).is_break() {
                    // It could not be taken in, so it is left to be explored.
                    frontier.lock().release(lease);
                    return ControlFlow::Break(());
                }
                let accepted = frontier.lock().accept(done);
                leader(frontier, Update::Accepted(accepted))
            }
            Delivery::Result(Err(why)) => {
                frontier.lock().release(lease);
                leader(frontier, Update::Lost(why))
            }
            Delivery::HandedIn(accepted) => leader(frontier, Update::Accepted(accepted)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ordain_explore::frontier::{Pace, Rule};

    struct Panics;

    impl PoolWorker for Panics {
        type Report = ();

        fn explore(&mut self, _: &Order, _: &Signals, _: &SharedFrontier) -> Result<(Done, ()), String> {
            panic!("a fault of ours");
        }
    }

    #[test]
    #[should_panic(expected = "a scoped thread panicked")]
    fn nobody_waits_for_a_worker_that_panics() {
        let controller = Controller::new(Rule::Optimal, Pace::LOCAL);
        let workers = (0..3).map(|_| -> WorkerFactory<'_, Panics> { Box::new(|| Panics) }).collect();
        explore(controller, workers, Duration::ZERO, Duration::from_millis(10), &mut |_, _| ControlFlow::Continue(()));
    }
}
