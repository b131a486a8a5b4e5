//! Measures how fast a program is explored: `rates PROGRAM ARGUMENTS…`. Prints a row of a table.
//!
//! Time is processor time of exploring, in the launcher and in the program, starting the program left out in the modes that start it
//! once. Explorations that are shorter than half a second are repeated for as long. Launcher and program take turns and never run at
//! the same time, so both stay on one processor; the second figure is without that, where each turn may have to wake another processor.
#![allow(clippy::print_stdout)]

use ordain_explore::search;
use ordain_explore::strategy::{Kind, Optimal};
use ordain_native::{Allowance, Failure, Launch, Mode, Native, Patience, Recognised, Search, Wanted, default_options};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// Executions in a second of processor time, and how many there are in one exploration if that ends.
fn inside(launch: &Launch, mode: Mode, strategy: Kind) -> Result<(f64, Option<u64>), Failure> {
    let mut native = Native::new(launch.clone(), default_options(), Some(mode), Patience::default())?;
    let job = Search { strategy, bound: None, seed: 1, depth: 3, expected_status: 0, recognise: Recognised::No };
    let time = Duration::from_millis(100);
    let mut allowance = Allowance { before: 0, executions: u64::MAX, time, forecast: Wanted::No, keep: false };
    let (mut executions, mut cpu) = (0, Duration::ZERO);
    let (mut classes, mut all) = (None, 0);
    while cpu < Duration::from_millis(500) {
        let own = own_time();
        let turn = native.explore(&job, &allowance)?;
        let Some(turn) = turn else { return Err(Failure::Broken("the process was lost".into())) };
        (executions, all) = (executions + turn.summary.executions, all + turn.summary.executions);
        // Estimating is part of a search that takes a while.
        allowance.before = all;
        allowance.forecast = if cpu.as_millis() % 1000 >= 300 { Wanted::Rough } else { Wanted::No };
        cpu += turn.cpu + own_time().saturating_sub(own);
        if turn.coverage.is_some() {
            classes = Some(all);
            all = 0;
            native.restart_search();
        }
    }
    Ok((executions as f64 / cpu.as_secs_f64(), classes))
}

/// The same, starting the program anew for each execution, which is part of the time.
fn anew(launch: &Launch) -> Result<f64, Failure> {
    let mut native = Native::new(launch.clone(), default_options(), Some(Mode::Exec), Patience::default())?;
    let before = own_time() + children_time();
    let begin = Instant::now();
    let summary = search(&mut native, &mut Optimal::default(), &mut |_, _| {
        if begin.elapsed() > Duration::from_millis(700) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    let failure = native.failure().cloned();
    drop(native);
    let cpu = own_time() + children_time() - before;
    failure.map_or(Ok(summary.executions as f64 / cpu.as_secs_f64()), Err)
}

fn time_of(who: i32) -> Duration {
    // SAFETY: fills in a structure of our own.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(who, &mut usage);
        usage
    };
    let time = |t: libc::timeval| Duration::new(t.tv_sec as u64, t.tv_usec as u32 * 1000);
    time(usage.ru_utime) + time(usage.ru_stime)
}

fn own_time() -> Duration {
    time_of(libc::RUSAGE_SELF)
}

fn children_time() -> Duration {
    time_of(libc::RUSAGE_CHILDREN)
}

fn measure(launch: &Launch) -> Result<String, Failure> {
    let (anywhere, _) = inside(launch, Mode::Snapshot, Kind::Optimal)?;
    stay();
    let (snapshot, classes) = inside(launch, Mode::Snapshot, Kind::Optimal)?;
    let (fork, _) = inside(launch, Mode::Fork, Kind::Optimal)?;
    let (random, _) = inside(launch, Mode::Snapshot, Kind::Random)?;
    let exec = anew(launch)?;
    let classes = classes.map_or("-".into(), |c| c.to_string());
    Ok(format!(
        "| {classes} | {snapshot:.0} | {anywhere:.0} | {fork:.0} ({:.0}×) | {exec:.0} ({:.0}×) | {random:.0} |",
        snapshot / fork,
        snapshot / exec
    ))
}

/// Stays on the processor that it runs on, and what it starts with it.
fn stay() {
    // SAFETY: a set of processors of our own; if it cannot be set, only the figures vary more.
    unsafe {
        let mut here: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(libc::sched_getcpu().max(0) as usize, &mut here);
        libc::sched_setaffinity(0, size_of_val(&here), &here);
    }
}

fn main() {
    let mut arguments = std::env::args_os().skip(1);
    let Some(program) = arguments.next() else { return println!("usage: rates PROGRAM ARGUMENTS…") };
    let launch =
        Launch { program: program.into(), arguments: arguments.collect(), environment: Vec::new(), input: Vec::new() };
    match measure(&launch) {
        Ok(row) => println!("{row}"),
        Err(failure) => println!("{failure}"),
    }
}
