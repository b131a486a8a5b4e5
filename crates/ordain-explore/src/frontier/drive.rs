//! Drives a controller with workers on threads of this process: each has its thread, and the caller's thread keeps the controller.

use super::{Accepted, Controller, Done, Task};
use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::ControlFlow;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use core::time::Duration;
use ordain_model::Named;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Instant;

/// A task, and what must be known for it.
pub struct Order {
    /// The task.
    pub task: Task,
    /// The names of threads and objects, all of them, in order.
    pub births: Arc<Vec<Named>>,
}

/// What workers should know while they explore.
#[derive(Default)]
pub struct Signals {
    /// The search is over: come back with what was done.
    pub stop: AtomicBool,
    /// How many have nothing to do: give back what is left soon.
    pub hungry: AtomicUsize,
}

/// Explores fragments.
pub trait Worker {
    /// What comes with a result.
    type Extra: Send;
    /// Explores a fragment. An error loses what was done: the fragment is given to somebody again.
    fn explore(&mut self, order: &Order, signals: &Signals) -> Result<(Done, Self::Extra), String>;
}

/// What the one who drives hears.
pub enum Drive<E> {
    /// A result of this worker, before it is accepted.
    Result(usize, E),
    /// What became of it.
    Accepted(Accepted),
    /// A worker lost what it was doing, and why.
    Lost(usize, String),
    /// Some time has passed.
    Tick,
}

/// Makes a worker, on the thread on which it will work.
pub type Hire<'a, W> = Box<dyn FnOnce() -> W + Send + 'a>;

type Told<E> = (usize, u64, Result<(Done, E), String>);

/// Hears how it goes, and may break off.
pub type Hear<'a, E> = dyn FnMut(&mut Controller, Drive<E>) -> ControlFlow<()> + 'a;

/// Lets workers explore until nothing is left or `hear` breaks off; then what they are doing is brought home. The search has gone on before for `before`.
pub fn drive<W: Worker>(
    controller: &mut Controller,
    workers: Vec<Hire<'_, W>>,
    before: Duration,
    tick: Duration,
    hear: &mut Hear<'_, W::Extra>,
) {
    let count = workers.len();
    let signals = Signals::default();
    std::thread::scope(|scope| {
        let (tell, told) = channel();
        let orders: Vec<Sender<Order>> = workers
            .into_iter()
            .enumerate()
            .map(|(number, hire)| {
                let (order, ordered) = channel();
                let (tell, signals) = (tell.clone(), &signals);
                scope.spawn(move || work(number, hire(), &ordered, &tell, signals));
                order
            })
            .collect();
        drop(tell);
        lead(controller, &orders, &told, &signals, before, tick, hear);
        signals.stop.store(true, Relaxed);
        drop(orders);
        while let Ok((worker, lease, result)) = told.recv() {
            // It is over already.
            let _ = bring_home(controller, worker, lease, result, hear);
        }
    });
    controller.release_all();
    debug_assert!(count > 0, "nobody works");
}

/// What the thread of a worker does.
fn work<W: Worker>(
    number: usize,
    mut worker: W,
    ordered: &Receiver<Order>,
    tell: &Sender<Told<W::Extra>>,
    signals: &Signals,
) {
    while let Ok(order) = ordered.recv() {
        let result = worker.explore(&order, signals);
        if tell.send((number, order.task.lease, result)).is_err() {
            return;
        }
    }
}

fn lead<E>(
    controller: &mut Controller,
    orders: &[Sender<Order>],
    told: &Receiver<Told<E>>,
    signals: &Signals,
    before: Duration,
    tick: Duration,
    hear: &mut Hear<'_, E>,
) {
    let started = Instant::now();
    let mut ticked = started;
    let mut idle: Vec<usize> = (0..orders.len()).rev().collect();
    let mut births = Arc::new(controller.births(0));
    loop {
        while let Some(worker) = idle.last().copied() {
            let elapsed = (before + started.elapsed()).as_micros() as u64;
            let Some(task) = controller.assign(idle.len(), orders.len(), elapsed) else { break };
            if births.len() != task.names {
                births = Arc::new(controller.births(0));
            }
            idle.pop();
            if orders[worker].send(Order { task, births: births.clone() }).is_err() {
                return;
            }
        }
        if idle.len() == orders.len() {
            // Nothing is left.
            return;
        }
        signals.hungry.store(idle.len(), Relaxed);
        let told = match told.recv_timeout(tick.saturating_sub(ticked.elapsed())) {
            Ok(told) => Some(told),
            Err(RecvTimeoutError::Timeout) => None,
            // A worker has panicked; the scope tells.
            Err(RecvTimeoutError::Disconnected) => return,
        };
        if let Some((worker, lease, result)) = told {
            idle.push(worker);
            if bring_home(controller, worker, lease, result, hear).is_break() {
                return;
            }
        }
        if ticked.elapsed() >= tick {
            ticked = Instant::now();
            if hear(controller, Drive::Tick).is_break() {
                return;
            }
        }
    }
}

/// Takes in what a worker has done, or that it was lost.
fn bring_home<E>(
    controller: &mut Controller,
    worker: usize,
    lease: u64,
    result: Result<(Done, E), String>,
    hear: &mut Hear<'_, E>,
) -> ControlFlow<()> {
    match result {
        Ok((done, extra)) => {
            let over = hear(controller, Drive::Result(worker, extra));
            let accepted = controller.accept(done);
            let over_now = hear(controller, Drive::Accepted(accepted));
            if over.is_break() { over } else { over_now }
        }
        Err(why) => {
            controller.release(lease);
            hear(controller, Drive::Lost(worker, why))
        }
    }
}
