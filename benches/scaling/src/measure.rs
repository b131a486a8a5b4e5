//! Two real workers on this machine.

use crate::{clock, programs, table};
use ordain::{Check, Strategy, Verdict};
use ordain_explore::Target;
use ordain_explore::frontier::{Controller, Divisible, Done, Pace, Rule, explore_fragment};
use ordain_explore::strategy::{Optimal, Source};
use ordain_report::terminal::large;
use std::io;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The native program, its arguments and its classes.
pub(crate) const NATIVE: (&str, &[&str], u64) = ("mutex_counter", &["3", "4"], 34_650);
/// How often each is measured, and what takes long.
const TIMES: usize = 11;
const TIMES_LONG: usize = 3;
const LONG: Duration = Duration::from_secs(1);

/// Wall time and processor time.
type Cost = (Duration, Duration);

fn timed(explore: impl FnOnce() -> u64, expected: u64) -> Cost {
    let (wall, cpu) = (Instant::now(), clock::process());
    let executions = explore();
    let cost = (wall.elapsed(), clock::process() - cpu);
    assert_eq!(executions, expected, "every class is explored once");
    cost
}

fn check(workers: usize, strategy: Strategy, program: (&'static str, usize)) -> u64 {
    let check = Check::new().strategy(strategy).schedule_directory(None);
    let body = move || programs::run(program.0, &[program.1]);
    let report = if workers == 1 { check.run(body) } else { check.workers(workers).run(body) };
    assert_eq!(report.verdict, Verdict::Verified, "{report}");
    report.executions
}

/// One worker that gets its fragments from a controller, on the same thread.
fn controlled(strategy: Strategy, program: (&'static str, usize)) -> u64 {
    let mut target = ordain::target(move || programs::run(program.0, &[program.1]));
    let (rule, mut strategy): (_, Box<dyn Divisible>) = match strategy {
        Strategy::Source => (Rule::Source, Box::<Source>::default()),
        _ => (Rule::Optimal, Box::<Optimal>::default()),
    };
    let mut controller = Controller::new(rule, Pace::LOCAL);
    let started = Instant::now();
    // Cut as if there were two.
    while let Some(task) = controller.assign(1, 2, started.elapsed().as_micros() as u64) {
        let (begun, slice) = (Instant::now(), Duration::from_micros(task.slice));
        let (explored, summary) = explore_fragment(&mut target, &mut *strategy, &task.fragment, &mut |_, _| {
            if begun.elapsed() >= slice { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        let births = target.names().births(task.names).collect();
        controller.accept(Done { lease: task.lease, explored, names: task.names, births, summary });
    }
    controller.total().executions
}

fn median(costs: &[Cost], of: fn(&Cost) -> Duration) -> f64 {
    let mut all: Vec<f64> = costs.iter().map(|c| of(c).as_secs_f64()).collect();
    all.sort_by(f64::total_cmp);
    all.get(all.len() / 2).copied().unwrap_or_default()
}

/// A program that is not changed, under the `ordain` command: each worker is a process. What starting them takes is part of it.
fn native(ordain: &Path, program: &Path, workers: usize, strategy: Strategy, expected: u64) -> io::Result<Cost> {
    let strategy = if strategy == Strategy::Source { "source" } else { "optimal" };
    let directory = tempfile::tempdir()?;
    let mut command = Command::new(ordain);
    command.args(["check", "--quiet", "--format", "json", "--strategy", strategy, "--workers", &workers.to_string()]);
    command.arg("--run-dir").arg(directory.path()).arg("--").arg(program).args(NATIVE.1).stderr(Stdio::null());
    let result: serde_json::Value = serde_json::from_slice(&command.output()?.stdout).map_err(io::Error::other)?;
    assert_eq!(result["executions"], expected, "every class is explored once");
    let seconds = |name: &str| Duration::from_secs_f64(result[name].as_f64().unwrap_or_default());
    Ok((seconds("wall_seconds"), seconds("cpu_seconds")))
}

/// A row of the table, from what was measured undivided, divided for one, and with two workers.
fn row(name: String, strategy: &str, classes: u64, costs: &[Vec<Cost>; 3]) -> Vec<String> {
    let wall = costs.each_ref().map(|c| median(c, |c| c.0));
    let cpu = costs.each_ref().map(|c| median(c, |c| c.1));
    let ratio = |of: f64, to: f64| if of > 0.0 && to > 0.0 { format!("{:.2}", of / to) } else { String::new() };
    vec![
        name,
        strategy.into(),
        large(classes),
        format!("{:.0} ms", 1e3 * wall[0]),
        ratio(wall[0], wall[1]),
        ratio(wall[0], wall[2]),
        ratio(cpu[1], cpu[0]),
        ratio(cpu[2], cpu[0]),
    ]
}

/// The table of what two workers gain; with the `ordain` command and a program for native ones too.
pub(crate) fn measure(programs: Option<(&Path, &Path)>) -> io::Result<String> {
    let mut rows = Vec::new();
    let optimal = [("readers", 13, 8_192), ("lastzero", 12, 15_360), ("indexer", 15, 4_096)];
    let source = [("readers", 13, 8_192), ("lastzero", 12, 15_360), ("indexer", 15, 4_096)];
    let jobs = optimal.map(|job| (Strategy::Optimal, "optimal", job)).into_iter();
    for (strategy, told, (name, size, classes)) in jobs.chain(source.map(|job| (Strategy::Source, "source", job))) {
        let program = (name, size);
        let mut costs: [Vec<Cost>; 3] = Default::default();
        for time in 0..TIMES {
            if time >= TIMES_LONG && costs[0].iter().all(|(wall, _)| *wall > LONG) {
                break;
            }
            costs[0].push(timed(|| check(1, strategy, program), classes));
            costs[1].push(timed(|| controlled(strategy, program), classes));
            costs[2].push(timed(|| check(2, strategy, program), classes));
        }
        rows.push(row(format!("`{name}({size})`"), told, classes, &costs));
    }
    for (strategy, told) in [(Strategy::Optimal, "optimal"), (Strategy::Source, "source")] {
        let Some((ordain, program)) = programs else { break };
        let mut costs: [Vec<Cost>; 3] = Default::default();
        for _ in 0..TIMES {
            for (workers, place) in [(1, 0), (2, 2)] {
                costs[place].push(native(ordain, program, workers, strategy, NATIVE.2)?);
            }
        }
        rows.push(row(format!("native `{} {}`", NATIVE.0, NATIVE.1.join(" ")), told, NATIVE.2, &costs));
    }
    Ok(table::markdown(
        &[
            "program",
            "strategy",
            "executions",
            "undivided",
            "speed-up, 1 divided",
            "speed-up, 2 workers",
            "processor time, 1 divided",
            "processor time, 2 workers",
        ],
        2,
        &rows,
    ))
}

/// One search over and over, for profiling.
pub(crate) fn once(workers: &str, strategy: &str, program: &str, size: &str) -> io::Result<()> {
    let number = |text: &str| text.parse::<usize>().map_err(io::Error::other);
    let strategy = if strategy == "source" { Strategy::Source } else { Strategy::Optimal };
    let (workers, program) = (number(workers)?, (&*program.to_string().leak(), number(size)?));
    let mut costs = Vec::new();
    for _ in 0..TIMES {
        let (wall, cpu) = (Instant::now(), clock::process());
        check(workers, strategy, program);
        costs.push((wall.elapsed(), clock::process() - cpu));
    }
    println!("{:.1} ms wall, {:.1} ms cpu", 1e3 * median(&costs, |c| c.0), 1e3 * median(&costs, |c| c.1));
    Ok(())
}
