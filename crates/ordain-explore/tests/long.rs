//! The first execution of a long program is run and analysed in time linear in its length.
//!
//! `cargo test -p ordain-explore --test long -- --nocapture` prints the times of `docs/benchmarks.md`.

mod common;

use common::{I, Interpreter, Program};
use ordain_explore::Strategy;
use ordain_explore::Target;
use ordain_explore::strategy::Optimal;
use ordain_model::Wait::Block;
use std::time::{Duration, Instant};

/// Times to run and to analyse the first execution of two threads that take and give back a lock so many times.
fn first_execution(operations: usize) -> (Duration, Duration) {
    let body = || [I::Lock(0, Block), I::Unlock(0)].repeat(operations);
    let mut target = Interpreter::new(Program::new(vec![vec![], body(), body()]));
    let mut optimal = Optimal::default();
    let start = Instant::now();
    target.run(&mut optimal.plan().expect("a plan"));
    let run = start.elapsed();
    let start = Instant::now();
    optimal.learn(target.execution());
    (run, start.elapsed())
}

/// The shortest of several times: others use the machine too.
fn least(operations: usize) -> (Duration, Duration) {
    let times: Vec<_> = (0..5).map(|_| first_execution(operations)).collect();
    let run = times.iter().map(|t| t.0).min().unwrap_or_default();
    (run, times.iter().map(|t| t.1).min().unwrap_or_default())
}

#[test]
#[allow(clippy::print_stderr)] // Tells the times.
fn long_executions_take_time_linear_in_their_length() {
    let times = [5_000, 10_000, 20_000, 40_000].map(|operations| (operations, least(operations)));
    for (operations, (run, analysis)) in &times {
        eprintln!("{operations} lock operations a thread: run {run:?}, analysed {analysis:?}");
    }
    let (short, long) = (times[0].1, times[3].1);
    // Eight times as long; what is quadratic takes 64 times as long.
    let slack = 4;
    let microsecond = Duration::from_micros(1);
    assert!(long.0 < (short.0 + microsecond) * 8 * slack, "running: {:?} and {:?}", short.0, long.0);
    assert!(long.1 < (short.1 + microsecond) * 8 * slack, "analysing: {:?} and {:?}", short.1, long.1);
}
