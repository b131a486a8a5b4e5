//! Drives a controller with workers on threads of this process: each has its thread, and the caller's thread keeps the controller.

use super::{Accepted, Controller, Desk, Done, Task};
use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::ControlFlow;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use core::time::Duration;
use ordain_model::Named;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
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
    /// Where the controller is, if it is in the same process.
    pub desk: Option<Desk>,
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
    /// A result of a worker, before it is accepted.
    Result(E),
    /// What became of it.
    Accepted(Accepted),
    /// A worker lost what it was doing, and why.
    Lost(String),
    /// Some time has passed.
    Tick,
}

/// Makes a worker, on the thread on which it will work.
pub type Hire<'a, W> = Box<dyn FnOnce() -> W + Send + 'a>;

/// Whose result of which task, after which time.
type Told<E> = (usize, u64, Duration, Result<(Done, E), String>);

/// Hears how it goes, and may break off.
pub type Hear<'a, E> = dyn FnMut(&Desk, Drive<E>) -> ControlFlow<()> + 'a;

/// How much of their time workers had something to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Labour {
    /// Time in which they had, of all of them.
    pub busy: Duration,
    /// Time in which they could have had.
    pub available: Duration,
}

impl Labour {
    /// The share, from zero to one.
    pub fn share(&self) -> f64 {
        if self.available.is_zero() { 0.0 } else { (self.busy.as_secs_f64() / self.available.as_secs_f64()).min(1.0) }
    }
}

/// Lets workers explore until nothing is left or `hear` breaks off; then what they are doing is brought home. The search has gone on before for `before`.
/// Gives the controller back, and how busy they were.
pub fn drive<W: Worker>(
    controller: Controller,
    workers: Vec<Hire<'_, W>>,
    before: Duration,
    tick: Duration,
    hear: &mut Hear<'_, W::Extra>,
) -> (Controller, Labour) {
    let count = workers.len() as u32;
    let desk = Desk::new(controller);
    let signals = Signals { desk: Some(desk.clone()), ..Signals::default() };
    let started = Instant::now();
    let mut busy = Duration::ZERO;
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
        busy = lead(&desk, &orders, &told, &signals, before, tick, hear);
        signals.stop.store(true, Relaxed);
        drop(orders);
        while let Ok((_, lease, took, result)) = told.recv() {
            busy += took;
            // It is over already.
            let _ = bring_home(&desk, lease, result, hear);
        }
    });
    drop(signals);
    let mut controller = desk.close().expect("the workers are gone");
    controller.release_all();
    (controller, Labour { busy, available: started.elapsed() * count })
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
        let (started, lease) = (Instant::now(), order.task.lease);
        let result = catch_unwind(AssertUnwindSafe(|| worker.explore(&order, signals)));
        let (result, panic) = match result {
            Ok(result) => (result, None),
            Err(panic) => (Err("it panicked".into()), Some(panic)),
        };
        if panic.is_some() {
            // Nobody must wait for it; who drives learns of it when the others are home.
            signals.stop.store(true, Relaxed);
        }
        let heard = tell.send((number, lease, started.elapsed(), result)).is_ok();
        if let Some(panic) = panic {
            resume_unwind(panic);
        }
        if !heard {
            return;
        }
    }
}

/// Gives out tasks and hears of results; tells how long workers were busy with those.
fn lead<E>(
    desk: &Desk,
    orders: &[Sender<Order>],
    told: &Receiver<Told<E>>,
    signals: &Signals,
    before: Duration,
    tick: Duration,
    hear: &mut Hear<'_, E>,
) -> Duration {
    let mut busy = Duration::ZERO;
    let started = Instant::now();
    let mut ticked = started;
    let mut idle: Vec<usize> = (0..orders.len()).rev().collect();
    let mut births = Arc::new(desk.lock().births(0));
    // Gives a worker something to do; false if there is nothing.
    let mut give = |worker: usize, idle: usize| {
        let elapsed = (before + started.elapsed()).as_micros() as u64;
        let mut controller = desk.lock();
        let Some(task) = controller.assign(idle, orders.len(), elapsed) else { return false };
        if births.len() != task.names {
            births = Arc::new(controller.births(0));
        }
        drop(controller);
        // Who is given something waits for it: of those that panic is heard before.
        orders[worker].send(Order { task, births: births.clone() }).is_ok()
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
            return busy;
        }
        signals.hungry.store(idle.len(), Relaxed);
        let told = match told.recv_timeout(tick.saturating_sub(ticked.elapsed())) {
            Ok(told) => Some(told),
            Err(RecvTimeoutError::Timeout) => None,
            // A worker has panicked; the scope tells.
            Err(RecvTimeoutError::Disconnected) => return busy,
        };
        if let Some((worker, lease, took, result)) = told {
            busy += took;
            // First it gets something else to do: taking in what it has done may last.
            let panicked = signals.stop.load(Relaxed);
            if panicked || !give(worker, idle.len() + 1) {
                idle.push(worker);
            }
            if bring_home(desk, lease, result, hear).is_break() || panicked {
                return busy;
            }
        }
        if ticked.elapsed() >= tick {
            ticked = Instant::now();
            if hear(desk, Drive::Tick).is_break() {
                return busy;
            }
        }
    }
}

/// Takes in what a worker has done, or that it was lost.
fn bring_home<E>(
    desk: &Desk,
    lease: u64,
    result: Result<(Done, E), String>,
    hear: &mut Hear<'_, E>,
) -> ControlFlow<()> {
    match result {
        Ok((done, extra)) => {
            let over = hear(desk, Drive::Result(extra));
            let accepted = desk.lock().accept(done);
            let over_now = hear(desk, Drive::Accepted(accepted));
            if over.is_break() { over } else { over_now }
        }
        Err(why) => {
            desk.lock().release(lease);
            hear(desk, Drive::Lost(why))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frontier::{Pace, Rule};

    struct Panics;

    impl Worker for Panics {
        type Extra = ();

        fn explore(&mut self, _: &Order, _: &Signals) -> Result<(Done, ()), String> {
            panic!("a fault of ours");
        }
    }

    #[test]
    #[should_panic(expected = "a scoped thread panicked")]
    fn nobody_waits_for_a_worker_that_panics() {
        let controller = Controller::new(Rule::Optimal, Pace::LOCAL);
        let crew = (0..3).map(|_| -> Hire<'_, Panics> { Box::new(|| Panics) }).collect();
        drive(controller, crew, Duration::ZERO, Duration::from_millis(10), &mut |_, _| ControlFlow::Continue(()));
    }
}
