//! Measures policies on real explorations: records those of fifty Rust programs, spends simulated time on the recordings, and
//! prints the tables of docs/suite.md.
//!
//! `cargo run --release -p ordain-suite --example allocation`

#![allow(clippy::print_stdout, clippy::print_stderr)] // It is a command.

use ordain::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use ordain::sync::{Arc, Mutex, RwLock, mpsc};
use ordain::thread;
use ordain_suite::Policy;
use ordain_suite::experiment::{self, Estimator, Spent, Trace, completion_shares, coverage_errors, mean, simulate};
use std::process::ExitCode;

/// The programs, each with its parameters. Their sizes go from one execution to thousands.
const PROGRAMS: [(&str, &[[usize; 2]]); 7] = [
    (
        "counter",
        &[[2, 1], [2, 2], [2, 3], [2, 4], [2, 5], [2, 6], [3, 1], [3, 2], [3, 3], [4, 1], [4, 2], [5, 1], [6, 1]],
    ),
    ("philosophers", &[[2, 1], [2, 2], [2, 3], [2, 4], [2, 5], [2, 6], [3, 1], [3, 2], [4, 1]]),
    ("readers", &[[1, 1], [2, 1], [3, 1], [4, 1], [5, 1], [1, 2], [2, 2], [3, 2], [1, 3]]),
    ("last_zero", &[[1, 0], [2, 0], [3, 0]]),
    ("senders", &[[2, 1], [2, 2], [2, 3], [2, 4], [2, 5], [3, 1], [3, 2], [4, 1], [5, 1]]),
    ("stores", &[[2, 1], [2, 2], [3, 1]]),
    ("try_locks", &[[2, 1], [2, 2], [2, 3], [3, 1]]),
];

fn main() -> ExitCode {
    if std::env::var_os(ordain_check::protocol::SOCKET).is_some() {
        return explore(&std::env::args().nth(1).unwrap_or_default());
    }
    let Ok(own) = std::env::current_exe() else { return ExitCode::from(2) };
    let mut traces = Vec::new();
    for name in PROGRAMS.iter().flat_map(|(name, all)| all.iter().map(move |[a, b]| format!("{name}({a},{b})"))) {
        match experiment::record(&own, &name) {
            Ok(trace) => {
                eprintln!("{name}: {} executions", trace.estimates.len());
                traces.push(trace);
            }
            Err(trouble) => {
                eprintln!("{name}: {}", trouble.message);
                return ExitCode::from(2);
            }
        }
    }
    tell(&traces);
    ExitCode::SUCCESS
}

/// Explores one of the programs, as a test of a suite would.
fn explore(name: &str) -> ExitCode {
    let parsed = name.strip_suffix(')').and_then(|name| name.split_once('(')).and_then(|(name, numbers)| {
        let (a, b) = numbers.split_once(',')?;
        Some((name, a.parse().ok()?, b.parse().ok()?))
    });
    let Some((program, a, b)) = parsed else { return ExitCode::from(2) };
    let check = ordain::Check::new().name(name);
    match program {
        "counter" => check.run(move || counter(a, b)),
        "philosophers" => check.run(move || philosophers(a, b)),
        "readers" => check.run(move || readers(a, b)),
        "last_zero" => check.run(move || last_zero(a)),
        "senders" => check.run(move || senders(a, b)),
        "stores" => check.run(move || stores(a, b)),
        "try_locks" => check.run(move || try_locks(a, b)),
        _ => return ExitCode::from(2),
    };
    ExitCode::SUCCESS
}

/// Runs a body in so many threads, and waits for them.
fn in_threads(count: usize, body: impl Fn(usize) + Clone + Send + 'static) {
    let threads: Vec<_> = (0..count)
        .map(|i| {
            let body = body.clone();
            thread::spawn(move || body(i))
        })
        .collect();
    threads.into_iter().for_each(|thread| drop(thread.join()));
}

fn counter(threads: usize, rounds: usize) {
    let count = Arc::new(Mutex::new(0));
    in_threads(threads, move |_| (0..rounds).for_each(|_| drop(count.lock().map(|mut count| *count += 1))));
}

fn philosophers(threads: usize, rounds: usize) {
    let forks: Arc<Vec<Mutex<()>>> = Arc::new((0..threads).map(|_| Mutex::new(())).collect());
    in_threads(threads, move |i| {
        let (a, b) = (i.min((i + 1) % threads), i.max((i + 1) % threads));
        for _ in 0..rounds {
            let _first = forks[a].lock();
            let _second = forks[b].lock();
        }
    });
}

fn readers(readers: usize, writers: usize) {
    let value = Arc::new(RwLock::new(0));
    in_threads(readers + writers, move |i| {
        if i < readers {
            drop(value.read());
        } else {
            drop(value.write().map(|mut value| *value += 1));
        }
    });
}

/// The program of the literature on optimal search.
fn last_zero(threads: usize) {
    let array: Arc<Vec<AtomicUsize>> = Arc::new((0..=threads).map(|_| AtomicUsize::new(0)).collect());
    in_threads(threads + 1, move |i| match i {
        0 => drop((0..=threads).rev().find(|j| array[*j].load(SeqCst) == 0)),
        i => array[i].store(array[i - 1].load(SeqCst) + 1, SeqCst),
    });
}

fn senders(threads: usize, messages: usize) {
    let (to, from) = mpsc::channel();
    in_threads(threads, move |i| {
        (0..messages).for_each(|_| {
            let _ = to.send(i);
        })
    });
    let _ = from.iter().count();
}

fn stores(threads: usize, rounds: usize) {
    let value = Arc::new(AtomicUsize::new(0));
    in_threads(threads, move |i| {
        for _ in 0..rounds {
            value.store(i, SeqCst);
            value.load(SeqCst);
        }
    });
}

fn try_locks(threads: usize, rounds: usize) {
    let value = Arc::new(Mutex::new(0));
    in_threads(threads, move |_| (0..rounds).for_each(|_| drop(value.try_lock().map(|mut value| *value += 1))));
}

fn tell(traces: &[Trace]) {
    let executions: usize = traces.iter().map(|t| t.estimates.len()).sum();
    let total: f64 = traces.iter().map(Trace::total).sum();
    let largest = traces.iter().map(Trace::total).fold(0.0, f64::max);
    println!(
        "{} tests, {executions} executions, {total:.0} steps; the largest test has {:.0} % of them",
        traces.len(),
        100.0 * largest / total
    );
    let run = |policy, budget, estimate: Estimator<'_>| simulate(traces, policy, 1, budget, estimate);
    let turns = run(Policy::RoundRobin, f64::INFINITY, &mut experiment::unknown);
    let shortest = |estimate: Estimator<'_>| run(Policy::ShortestFirst, f64::INFINITY, estimate);
    println!(
        "\n| time to complete the first … tests, as a share of round-robin's | 10 % | 25 % | 50 % | 75 % | 90 % | all | mean |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    let row = |name: &str, spent: &Spent| {
        let shares = completion_shares(spent, &turns);
        let at = |share: f64| shares[((shares.len() as f64 * share).ceil() as usize).clamp(1, shares.len()) - 1];
        let cells = [0.1, 0.25, 0.5, 0.75, 0.9, 1.0].map(|share| format!("{:.2}", at(share)));
        println!("| {name} | {} | {:.2} |", cells.join(" | "), mean(&shares));
    };
    row("shortest-first, no estimates", &shortest(&mut experiment::unknown));
    row("shortest-first, Ordain's estimates", &shortest(&mut experiment::recorded));
    row("shortest-first, the truth known (oracle)", &shortest(&mut experiment::oracle));
    row("optimum", &experiment::optimum(traces));

    let budget = total / 10.0;
    println!("\n| coverage error with a tenth of the time (1 is even) | mean | worst |");
    println!("|---|---|---|");
    let row = |name: &str, spent: &Spent| {
        let errors = coverage_errors(traces, spent);
        println!("| {name} | {:.2} | {:.2} |", mean(&errors), errors.iter().copied().fold(1.0, f64::max));
    };
    row("round-robin", &run(Policy::RoundRobin, budget, &mut experiment::unknown));
    row("even-coverage, no estimates", &run(Policy::EvenCoverage, budget, &mut experiment::unknown));
    row("even-coverage, Ordain's estimates", &run(Policy::EvenCoverage, budget, &mut experiment::recorded));
    row("even-coverage, the truth known (oracle)", &run(Policy::EvenCoverage, budget, &mut experiment::oracle));
}
