//! Following executions as a whole: passing over what they share with the last one leads to the same as following every step.

use ordain_explore::strategy::Optimal;
use ordain_explore::{Plan, Target, search};
use ordain_model::{
    Arbiter, Execution, Names, ObjectId, ObjectKind, Operation, Options, Site, ThreadId, Transition, Wait,
};
use ordain_wire::{Authority, Event, Follower, Log};
use std::ops::ControlFlow;

const THREADS: usize = 3;

/// Threads that lock and unlock, and look whether a semaphore can be had; main waits for them.
struct Program {
    arbiter: Arbiter,
    log: Vec<u8>,
    at: usize,
    /// What each thread has done.
    done: Vec<usize>,
    objects: [ObjectId; 2],
    every_step: Follower,
    whole: Follower,
    executions: u64,
}

impl Program {
    fn new() -> Self {
        let options = Options::default();
        Self {
            arbiter: Arbiter::new(options),
            log: vec![0; 1 << 16],
            at: 0,
            done: Vec::new(),
            objects: [ObjectId(0); 2],
            every_step: Follower::new(options),
            whole: Follower::new(options),
            executions: 0,
        }
    }

    fn log(&mut self, event: &Event) {
        self.at = Log::write(&mut self.log, self.at, event).expect("room");
    }

    fn create(&mut self, kind: ObjectKind) -> ObjectId {
        let (thread, initial) = (ThreadId::MAIN, 0);
        let object = self.arbiter.create(thread, kind, initial);
        self.log(&Event::Create { thread, kind, initial, object });
        object
    }

    fn announce(&mut self, thread: ThreadId) {
        let number = self.done[thread.index()];
        self.done[thread.index()] += 1;
        let [lock, semaphore] = self.objects;
        let op = match (thread, number) {
            (ThreadId::MAIN, n) if n < THREADS => Operation::Spawn { child: self.arbiter.next_child(thread) },
            (ThreadId::MAIN, n) if n < 2 * THREADS => {
                Operation::Join { thread: ThreadId((n - THREADS + 1) as u32), wait: Wait::Block }
            }
            (ThreadId::MAIN, _) | (_, 4) => Operation::Exit,
            (_, 0) => Operation::Lock { lock, wait: Wait::Block },
            (_, 1) => Operation::Post { semaphore, count: 1, fails: false },
            (_, 2) => Operation::Unlock { lock },
            _ => Operation::Acquire { semaphore, wait: Wait::Try },
        };
        let site = 0x40_0000 + number as u64;
        self.log(&Event::Announce { thread, op, site });
        self.arbiter.announce(thread, op, Site(site));
    }

    fn execute(&mut self, plan: &mut Plan<'_>) {
        self.at = 0;
        self.done = vec![0; THREADS + 1];
        self.arbiter.begin();
        self.objects = [ObjectKind::Mutex, ObjectKind::Semaphore].map(|kind| self.create(kind));
        self.announce(ThreadId::MAIN);
        while let Some(Transition { thread, choice }) = plan.next(&mut self.arbiter) {
            self.log(&Event::Step { thread, choice });
            self.arbiter.apply(Transition { thread, choice });
            match self.arbiter.execution().steps.last().map(|s| s.op) {
                Some(Operation::Exit) => continue,
                Some(Operation::Spawn { child }) => self.announce(child),
                _ => {}
            }
            self.announce(thread);
        }
    }
}

/// All that a search learns from.
fn all_of(execution: &Execution) -> String {
    let Execution { steps, accesses, before, end, pending, misuses, spawned_by, .. } = execution;
    format!("{steps:?} {accesses:?} {before:?} {end:?} {pending:?} {misuses:?} {spawned_by:?}")
}

impl Target for Program {
    fn run(&mut self, plan: &mut Plan<'_>) {
        self.execute(plan);
        let log = self.log[..self.at].to_vec();
        self.executions += 1;
        if self.executions.is_multiple_of(8) {
            // What differs is not passed over: here a thread takes a step that main took.
            let mut wrong = log.clone();
            let step = Event::Step { thread: ThreadId::MAIN, choice: 0 };
            let mut bytes = [0; 8];
            let length = Log::write(&mut bytes, 0, &step).expect("room");
            let place = wrong.windows(length).position(|w| *w == bytes[..length]).expect("a step of main");
            let other = Event::Step { thread: ThreadId(1), choice: 0 };
            Log::write(&mut wrong, place, &other).expect("room");
            plan.restart();
            assert!(self.whole.follow_whole(&wrong, plan).is_err());
        }
        plan.restart();
        self.whole.follow_whole(&log, plan).expect("the truth");
        self.whole.conclude(None, &mut Authority::Plan(plan)).expect("the truth");
        plan.restart();
        self.every_step.begin();
        self.every_step.feed(&log, &mut Authority::Plan(plan)).expect("the truth");
        self.every_step.conclude(None, &mut Authority::Plan(plan)).expect("the truth");
        let truth = all_of(self.arbiter.execution());
        assert_eq!(all_of(self.every_step.arbiter.execution()), truth);
        assert_eq!(all_of(self.whole.arbiter.execution()), truth);
    }

    fn execution(&self) -> &Execution {
        self.whole.arbiter.execution()
    }

    fn names(&self) -> &Names {
        self.whole.arbiter.names()
    }
}

#[test]
fn what_executions_share_is_passed_over_and_nothing_else() {
    let mut program = Program::new();
    let mut strategy = Optimal::default();
    let summary = search(&mut program, &mut strategy, &mut |_, _| ControlFlow::Continue(()));
    assert!(summary.exhausted);
    assert!(summary.executions > 50, "{} executions", summary.executions);
    assert_eq!(strategy.redundant(), 0);
}
