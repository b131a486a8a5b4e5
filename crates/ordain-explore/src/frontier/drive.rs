//! Drives a controller with workers on threads of this process: each has its thread, and the caller's thread leads.

use super::{Accepted, Controller, Desk, Done, Task};
use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::ControlFlow;
use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
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
    /// Whether whoever drives need not hear of this before the result is accepted, or at all.
    fn is_ordinary(&self, _extra: &Self::Extra) -> bool {
        false
    }
}

/// What the one who drives hears.
pub enum Drive<E> {
    /// A result of a worker, before it is accepted, unless it is ordinary. Who breaks off then does not take it: it is left to be explored.
    Result(E),
    /// What became of a result.
    Accepted(Accepted),
    /// A worker lost what it was doing, and why.
    Lost(String),
    /// Some time has passed.
    Tick,
}

/// Makes a worker, on the thread on which it will work.
pub type Hire<'a, W> = Box<dyn FnOnce() -> W + Send + 'a>;

/// Who has nothing to do now, and why.
struct Told<E> {
    worker: usize,
    lease: u64,
    what: Home<E>,
}

/// What a worker comes home with.
enum Home<E> {
    /// A result.
    Result(Result<(Done, E), String>),
    /// A result that it has handed in by itself.
    HandedIn(Accepted),
}

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
    let desk = Desk::new(controller);
    let signals = Signals { desk: Some(desk.clone()), ..Signals::default() };
    let started = Instant::now();
    let shift = Shift { desk, signals, workers: workers.len(), before, started, busy: AtomicU64::new(0) };
    std::thread::scope(|scope| {
        let (tell, told) = channel();
        let orders: Vec<Sender<Order>> = workers
            .into_iter()
            .enumerate()
            .map_while(|(number, hire)| {
                let (order, ordered) = channel();
                let (tell, shift) = (tell.clone(), &shift);
                let work = move || shift.work(number, hire(), &ordered, &tell);
                // Where the system gives no more threads, those that there are do the work.
                std::thread::Builder::new().spawn_scoped(scope, work).ok().map(|_| order)
            })
            .collect();
        drop(tell);
        assert!(!orders.is_empty() || shift.workers == 0, "the system gives no thread to work in");
        shift.lead(&orders, &told, tick, hear);
        shift.signals.stop.store(true, Relaxed);
        drop(orders);
        while let Ok(told) = told.recv() {
            // It is over already.
            let _ = shift.bring_home(told.lease, told.what, hear);
        }
    });
    let Shift { desk, signals, busy, workers, .. } = shift;
    let workers = u32::try_from(workers).unwrap_or(u32::MAX);
    drop(signals);
    let mut controller = desk.close().expect("the workers are gone");
    controller.release_all();
    let busy = Duration::from_nanos(busy.into_inner());
    (controller, Labour { busy, available: started.elapsed() * workers })
}

/// What all threads share.
struct Shift {
    desk: Desk,
    signals: Signals,
    workers: usize,
    /// For how long the search had gone on before it began.
    before: Duration,
    started: Instant,
    /// For how long workers have explored, in nanoseconds.
    busy: AtomicU64,
}

impl Shift {
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
    fn work<W: Worker>(&self, number: usize, mut worker: W, ordered: &Receiver<Order>, tell: &Sender<Told<W::Extra>>) {
        while let Ok(order) = ordered.recv() {
            let mut next = Some(order);
            while let Some(order) = next.take() {
                let (started, lease) = (Instant::now(), order.task.lease);
                let result = catch_unwind(AssertUnwindSafe(|| worker.explore(&order, &self.signals)));
                self.busy.fetch_add(started.elapsed().as_nanos() as u64, Relaxed);
                let (result, panic) = match result {
                    Ok(result) => (result, None),
                    Err(panic) => (Err("it panicked".into()), Some(panic)),
                };
                if panic.is_some() {
                    // Nobody must wait for it; who drives learns of it when the others are home.
                    self.signals.stop.store(true, Relaxed);
                }
                let what = match result {
                    Ok((done, extra)) if worker.is_ordinary(&extra) && self.is_calm(&done) => {
                        let mut controller = self.desk.lock();
                        let accepted = controller.accept(done);
                        if accepted == Accepted::Counts {
                            next = self.order(&mut controller, &mut order.births.clone(), 1);
                        }
                        Home::HandedIn(accepted)
                    }
                    result => Home::Result(result),
                };
                let heard = next.is_some() || tell.send(Told { worker: number, lease, what }).is_ok();
                if let Some(panic) = panic {
                    resume_unwind(panic);
                }
                if !heard {
                    return;
                }
            }
        }
    }

    /// Whether a result can be taken in without whoever leads: it goes on, nobody waits for what is in it, and something was done.
    fn is_calm(&self, done: &Done) -> bool {
        let Signals { stop, hungry, .. } = &self.signals;
        !stop.load(Relaxed) && hungry.load(Relaxed) == 0 && done.summary.executions + done.summary.blocked > 0
    }

    /// Gives out tasks and hears of results.
    fn lead<E>(&self, orders: &[Sender<Order>], told: &Receiver<Told<E>>, tick: Duration, hear: &mut Hear<'_, E>) {
        let mut ticked = self.started;
        let mut idle: Vec<usize> = (0..orders.len()).rev().collect();
        let mut births = Arc::new(self.desk.lock().births(0));
        // Gives a worker something to do; false if there is nothing.
        let mut give = |worker: usize, idle: usize| {
            let order = self.order(&mut self.desk.lock(), &mut births, idle);
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
            let told = match told.recv_timeout(tick.saturating_sub(ticked.elapsed())) {
                Ok(told) => Some(told),
                Err(RecvTimeoutError::Timeout) => None,
                // A worker has panicked; the scope tells.
                Err(RecvTimeoutError::Disconnected) => return,
            };
            if let Some(Told { worker, lease, what }) = told {
                // First it gets something else to do: taking in what it has done may last.
                let panicked = self.signals.stop.load(Relaxed);
                if panicked || !give(worker, idle.len() + 1) {
                    idle.push(worker);
                }
                if self.bring_home(lease, what, hear).is_break() || panicked {
                    return;
                }
            }
            if ticked.elapsed() >= tick {
                ticked = Instant::now();
                if hear(&self.desk, Drive::Tick).is_break() {
                    return;
                }
            }
        }
    }

    /// Takes in what a worker has done, or that it was lost.
    fn bring_home<E>(&self, lease: u64, home: Home<E>, hear: &mut Hear<'_, E>) -> ControlFlow<()> {
        let desk = &self.desk;
        match home {
            Home::Result(Ok((done, extra))) => {
                if hear(desk, Drive::Result(extra)).is_break() {
                    // It could not be taken in, so it is left to be explored.
                    desk.lock().release(lease);
                    return ControlFlow::Break(());
                }
                let accepted = desk.lock().accept(done);
                hear(desk, Drive::Accepted(accepted))
            }
            Home::Result(Err(why)) => {
                desk.lock().release(lease);
                hear(desk, Drive::Lost(why))
            }
            Home::HandedIn(accepted) => hear(desk, Drive::Accepted(accepted)),
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
