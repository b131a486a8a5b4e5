//! Many simulated workers: the controller, the fragments and the exploration are real, only time is not.

use crate::{clock, programs};
use ordain_explore::Target;
use ordain_explore::frontier::{Controller, Divisible, Done, Pace, Rule, Task, explore_fragment};
use ordain_explore::strategy::{Optimal, Source};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::ControlFlow;

/// What an execution takes, in microseconds: as of a native program or of a small service.
pub(crate) const EXECUTION: f64 = 1_000.0;
/// What a message takes on its way.
pub(crate) const LATENCY: f64 = 500.0;
/// When in its slice a worker looks whether others have nothing to do, and comes back if so. The last is the end of the slice.
const LOOKS: [f64; 3] = [0.25, 0.5, 1.0];

/// A search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Workload {
    pub(crate) rule: Rule,
    pub(crate) program: &'static str,
    pub(crate) size: &'static [usize],
    /// How many classes there are.
    pub(crate) classes: u64,
}

impl Workload {
    /// As in the tables.
    pub(crate) fn told(&self) -> String {
        let size: Vec<String> = self.size.iter().map(usize::to_string).collect();
        format!("{}, `{}({})`", self.strategy_name(), self.program, size.join(", "))
    }

    /// As in the plot: programs of all sizes together.
    pub(crate) fn family(&self) -> String {
        format!("{}, {}", self.program, self.strategy_name())
    }

    fn strategy_name(&self) -> &'static str {
        if self.rule == Rule::Source { "source" } else { "optimal" }
    }

    fn strategy(&self) -> Box<dyn Divisible> {
        match self.rule {
            Rule::Source => Box::<Source>::default(),
            Rule::Optimal => Box::<Optimal>::default(),
        }
    }
}

/// What came of it.
#[derive(Clone, Debug)]
pub(crate) struct Simulated {
    pub(crate) workload: Workload,
    pub(crate) workers: usize,
    pub(crate) executions: u64,
    /// Virtual, in seconds.
    pub(crate) makespan: f64,
    pub(crate) efficiency: f64,
    pub(crate) messages: u64,
    /// The mean of the tasks' and results' bytes.
    pub(crate) message_bytes: f64,
    pub(crate) most_nodes: usize,
    /// The controller kept as bytes, at most.
    pub(crate) most_bytes: usize,
    /// The share of the time that the controller is busy.
    pub(crate) busy: f64,
    /// What the controller needs for a result and the next task, in microseconds.
    pub(crate) service: f64,
    /// How much of the controller's time goes into giving out tasks.
    pub(crate) giving: f64,
}

/// A result in virtual time: when, whose, as bytes.
struct Worker {
    task: Task,
    begun: f64,
    look: usize,
    result: Vec<u8>,
}

/// An event, by its time in nanoseconds and its number: whether it is at the controller, and of which worker.
type Event = Reverse<(u64, u64, bool, usize)>;

struct Agenda {
    heap: BinaryHeap<Event>,
    number: u64,
}

impl Agenda {
    fn add(&mut self, at: f64, controller: bool, worker: usize) {
        self.number += 1;
        self.heap.push(Reverse(((at * 1e3) as u64, self.number, controller, worker)));
    }
}

/// Explores a fragment until the worker's next look; gives when that is, and whether nothing was left before.
fn explore<T: Target>(target: &mut T, strategy: &mut dyn Divisible, worker: &mut Worker) -> f64 {
    let task = &worker.task;
    let most = ((task.slice as f64 * LOOKS[worker.look] / EXECUTION).ceil() as u64).max(1);
    let mut made = 0;
    let (explored, summary) = explore_fragment(target, strategy, &task.fragment, &mut |_, summary| {
        made = summary.executions + summary.blocked;
        if made >= most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    if summary.exhausted {
        worker.look = LOOKS.len() - 1;
    }
    let births = target.names().births(task.names).collect();
    let done = Done { lease: task.lease, explored, names: task.names, births, summary };
    worker.result = postcard::to_allocvec(&done).expect("a result can be sent");
    worker.begun + made as f64 * EXECUTION
}

/// Lets so many workers explore.
pub(crate) fn simulate(count: usize, workload: Workload, pace: Pace) -> Simulated {
    let mut target = ordain::target(move || programs::run(workload.program, workload.size));
    let mut strategy = workload.strategy();
    let mut controller = Controller::new(workload.rule, pace);
    let mut agenda = Agenda { heap: BinaryHeap::new(), number: 0 };
    let mut workers: Vec<Option<Worker>> = (0..count).map(|_| None).collect();
    let mut idle: Vec<usize> = (0..count).rev().collect();
    let (mut free, mut spent, mut bytes, mut messages) = (0.0_f64, 0.0_f64, 0_u64, 0_u64);
    let (mut most_bytes, mut weighed, mut giving) = (0, 0, 0.0);
    // Everything asks the controller at the beginning.
    agenda.add(0.0, true, usize::MAX);
    while let Some(Reverse((at, _, is_controller, number))) = agenda.heap.pop() {
        let mut now = at as f64 / 1e3;
        if !is_controller {
            let Some(worker) = &mut workers[number] else { continue };
            if worker.look + 1 < LOOKS.len() && idle.is_empty() {
                worker.look += 1;
                let until = explore(&mut target, &mut *strategy, worker);
                agenda.add(until, false, number);
            } else {
                agenda.add(now + LATENCY, true, number);
            }
            continue;
        }
        // One after the other.
        now = now.max(free);
        let mut charge = |work: &mut dyn FnMut()| {
            let begun = clock::thread();
            work();
            let took = (clock::thread() - begun).as_secs_f64() * 1e6;
            now += took;
            spent += took;
            took
        };
        if let Some(worker) = workers.get_mut(number).and_then(Option::take) {
            messages += 1;
            bytes += worker.result.len() as u64;
            charge(&mut || {
                let done: Done = postcard::from_bytes(&worker.result).expect("a result");
                controller.accept(done);
            });
            idle.push(number);
        }
        let mut started = Vec::new();
        while let Some(next) = idle.last().copied() {
            let mut task = None;
            let mut sent = 0;
            giving += charge(&mut || {
                task = controller.assign(idle.len(), count, (free.max(at as f64 / 1e3)) as u64);
                sent = task.as_ref().map_or(0, |t| postcard::to_allocvec(t).expect("a task can be sent").len());
            });
            let Some(task) = task else { break };
            messages += 1;
            bytes += sent as u64;
            idle.pop();
            started.push((next, task));
        }
        free = now;
        for (next, task) in started {
            let mut worker = Worker { task, begun: now + LATENCY, look: 0, result: Vec::new() };
            let until = explore(&mut target, &mut *strategy, &mut worker);
            workers[next] = Some(worker);
            agenda.add(until, false, next);
        }
        let nodes = controller.division().most_nodes;
        if nodes > weighed + weighed / 4 {
            weighed = nodes;
            most_bytes = most_bytes.max(postcard::to_allocvec(&controller).map_or(0, |b| b.len()));
        }
    }
    assert!(controller.is_finished(), "nobody works, so nothing is left");
    let total = controller.total();
    assert_eq!(total.executions, workload.classes, "every class is explored once");
    let makespan = free;
    let work = (total.executions + total.blocked) as f64 * EXECUTION;
    Simulated {
        workload,
        workers: count,
        executions: total.executions,
        makespan: makespan / 1e6,
        efficiency: work / (count as f64 * makespan),
        messages,
        message_bytes: bytes as f64 / messages as f64,
        most_nodes: controller.division().most_nodes,
        most_bytes,
        busy: spent / makespan,
        service: 2.0 * spent / messages as f64,
        giving: giving / spent,
    }
}
