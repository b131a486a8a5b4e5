//! How far more workers make a search faster: `ordain-scaling measure [ORDAIN PROGRAM DOCS]` and `ordain-scaling simulate [DOCS]` print a
//! table, and with the directory of the documents write it there. `benches/scale` does both.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it prints tables")]

mod clock;
mod measure;
mod plot;
#[path = "../../programs.rs"]
#[allow(dead_code, unreachable_pub, clippy::unwrap_used, clippy::redundant_closure, reason = "shared with the peers")]
mod programs;
mod simulate;
mod table;
mod tool;

use ordain_explore::frontier::{Pace, Rule};
use ordain_report::terminal::large;
use simulate::{Simulated, Workload};
use std::path::Path;
use std::process::ExitCode;
use std::{fs, io};

/// Shorter first slices than for a few remote workers: many wait for their first fragment.
const PACE: Pace = Pace { least: 20_000, most: 10_000_000 };
/// What is explored, and by how many workers each. What keeps thousands busy is larger.
const WORKLOADS: [(Workload, &[usize]); 6] = [
    (Workload { rule: Rule::Optimal, program: "mutex_counter", size: &[4, 3], classes: 369_600 }, &[1, 4, 16, 64, 256]),
    (
        Workload { rule: Rule::Optimal, program: "mutex_counter", size: &[6, 2], classes: 7_484_400 },
        &[1_024, 4_096, 10_000],
    ),
    (Workload { rule: Rule::Source, program: "mutex_counter", size: &[4, 3], classes: 369_600 }, &[4, 64, 256]),
    (Workload { rule: Rule::Source, program: "mutex_counter", size: &[6, 2], classes: 7_484_400 }, &[1_024]),
    (Workload { rule: Rule::Source, program: "readers", size: &[18], classes: 1 << 18 }, &[4, 16, 64, 256, 1_024]),
    (Workload { rule: Rule::Optimal, program: "readers", size: &[16], classes: 1 << 16 }, &[4, 16, 64, 256, 1_024]),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match words[..] {
        ["measure"] => measure::measure(None).and_then(|text| show(None, "measured", &text)),
        ["measure", ordain, program, docs] => {
            let text = measure::measure(Some((Path::new(ordain), Path::new(program))));
            text.and_then(|text| show(Some(Path::new(docs)), "measured", &text))
        }
        ["simulate"] => simulate_all(None),
        ["simulate", docs] => simulate_all(Some(Path::new(docs))),
        ["once", workers, strategy, program, size] => measure::once(workers, strategy, program, size),
        ["try", workers, workload, least] => try_one(workers, workload, least),
        _ => {
            eprintln!(
                "usage: ordain-scaling measure [ORDAIN PROGRAM DOCS] | simulate [DOCS] | once WORKERS STRATEGY PROGRAM SIZE"
            );
            return ExitCode::from(2);
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("ordain-scaling: {error}");
            ExitCode::FAILURE
        }
    }
}

/// One fleet and one of the workloads, by its number, with another shortest slice, to choose it.
fn try_one(workers: &str, workload: &str, least: &str) -> io::Result<()> {
    let number = |text: &str| text.parse::<u64>().map_err(io::Error::other);
    let pace = Pace { least: number(least)?, ..PACE };
    let (workload, _) =
        WORKLOADS.get(number(workload)? as usize).ok_or_else(|| io::Error::other("no such workload"))?;
    println!("{:.3?}", simulate::simulate(number(workers)? as usize, *workload, pace));
    Ok(())
}

fn simulate_all(docs: Option<&Path>) -> io::Result<()> {
    let fleets =
        WORKLOADS.iter().flat_map(|(workload, fleets)| fleets.iter().map(move |workers| (*workers, *workload)));
    let run = |(workers, workload)| {
        let simulated = simulate::simulate(workers, workload, PACE);
        eprintln!("{simulated:.3?}");
        simulated
    };
    let all: Vec<Simulated> = fleets.map(run).collect();
    let row = |s: &Simulated| {
        vec![
            s.workload.told(),
            large(s.workers as u64),
            large(s.executions),
            format!("{:.2} s", s.makespan),
            format!("{:.0}", s.efficiency * s.workers as f64),
            format!("{:.2}", s.efficiency),
            large(s.messages),
            format!("{:.1} KB", s.message_bytes / 1e3),
            format!("{:.0} µs", s.service),
            format!("{:.0} %", 100.0 * s.giving),
            format!("{:.0} %", 100.0 * s.busy),
            large(s.most_nodes as u64),
            format!("{:.2} MB", s.most_bytes as f64 / 1e6),
        ]
    };
    let rows: Vec<Vec<String>> = all.iter().map(row).collect();
    let head = [
        "search",
        "workers",
        "executions",
        "time",
        "speed-up",
        "efficiency",
        "messages",
        "bytes of one",
        "controller, per result",
        "of it for giving out",
        "controller busy",
        "nodes at most",
        "kept as bytes",
    ];
    if let Some(docs) = docs {
        fs::write(docs.join("scaling.svg"), plot::efficiency(&all))?;
    }
    show(docs, "simulated", &table::markdown(&head, 1, &rows))
}

/// Prints a table, and puts it between the markers of its section in the document.
fn show(docs: Option<&Path>, section: &str, text: &str) -> io::Result<()> {
    println!("{text}");
    let Some(docs) = docs else { return Ok(()) };
    let document = docs.join("scaling.md");
    let old = fs::read_to_string(&document)?;
    let missing = || io::Error::other(format!("{} has no section {section}", document.display()));
    let (before, rest) = old.split_once(&format!("<!-- {section}: begin -->\n")).ok_or_else(missing)?;
    let end = format!("<!-- {section}: end -->");
    let (_, after) = rest.split_once(&end).ok_or_else(missing)?;
    fs::write(document, format!("{before}<!-- {section}: begin -->\n{text}{end}{after}"))
}
