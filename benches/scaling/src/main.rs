//! How far more workers make a search faster: `ordain-scaling measure|simulate [DOCS]` prints a table, and with the directory of the
//! documents writes it there. `benches/scale` does both.
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

use ordain_explore::frontier::Pace;
use simulate::Simulated;
use std::path::Path;
use std::process::ExitCode;
use std::{fs, io};
use table::thousands;

/// Shorter first slices than for a few remote workers: many wait for their first fragment.
const PACE: Pace = Pace { least: 20_000, most: 10_000_000 };
/// Workers, and the sizes of the programs for them.
const FLEETS: [(usize, &[usize]); 8] = [
    (1, &[16]),
    (4, &[16]),
    (16, &[16]),
    (64, &[16, 18]),
    (256, &[16, 18]),
    (1_024, &[16]),
    (4_096, &[16]),
    (10_000, &[16]),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match words[..] {
        ["measure"] => show(None, "measured", &measure::measure()),
        ["measure", docs] => show(Some(Path::new(docs)), "measured", &measure::measure()),
        ["simulate"] => simulate_all(None),
        ["simulate", docs] => simulate_all(Some(Path::new(docs))),
        ["try", workers, size, least] => try_one(workers, size, least),
        _ => {
            eprintln!("usage: ordain-scaling measure|simulate [DOCS]");
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

/// One fleet with another shortest slice, to choose it.
fn try_one(workers: &str, size: &str, least: &str) -> io::Result<()> {
    let number = |text: &str| text.parse::<u64>().map_err(io::Error::other);
    let pace = Pace { least: number(least)?, ..PACE };
    println!("{:.3?}", simulate::simulate(number(workers)? as usize, number(size)? as usize, pace));
    Ok(())
}

fn simulate_all(docs: Option<&Path>) -> io::Result<()> {
    let fleets = FLEETS.iter().flat_map(|(workers, sizes)| sizes.iter().map(move |size| (*workers, *size)));
    let run = |(workers, size)| {
        let simulated = simulate::simulate(workers, size, PACE);
        eprintln!("{simulated:.3?}");
        simulated
    };
    let all: Vec<Simulated> = fleets.map(run).collect();
    let row = |s: &Simulated| {
        vec![
            thousands(s.workers as u64),
            thousands(s.executions),
            format!("{:.2} s", s.makespan),
            format!("{:.0}", s.efficiency * s.workers as f64),
            format!("{:.2}", s.efficiency),
            thousands(s.messages),
            format!("{:.1} KB", s.message_bytes / 1e3),
            format!("{:.0} µs", s.service),
            format!("{:.0} %", 100.0 * s.giving),
            format!("{:.0} %", 100.0 * s.busy),
            thousands(s.most_nodes as u64),
            format!("{:.2} MB", s.most_bytes as f64 / 1e6),
        ]
    };
    let rows: Vec<Vec<String>> = all.iter().map(row).collect();
    let head = [
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
    show(docs, "simulated", &table::markdown(&head, 0, &rows))
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
