//! Evaluates the estimators and writes tables and plots: `ordain-estimation NATIVES DOCS`, with the directory of the native programs and that
//! of the documents. `benches/estimate` prepares both.
#![allow(clippy::print_stderr, reason = "it says how far it is")]

use ordain_estimation::report::{self, Of};
use ordain_estimation::{Measured, Spending, curve, mark, measure, plot, workloads};
use std::path::Path;
use std::process::ExitCode;
use std::{fs, io};

/// The two whose estimates are shown on the way.
const CURVES: [&str; 2] = ["mutex_counter(4, 3)", "lastzero(13)"];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [natives, docs] = &arguments[..] else {
        eprintln!("usage: ordain-estimation NATIVES DOCS");
        return ExitCode::from(2);
    };
    match evaluate(Path::new(natives), Path::new(docs)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("ordain-estimation: {error}");
            ExitCode::FAILURE
        }
    }
}

fn evaluate(natives: &Path, docs: &Path) -> io::Result<()> {
    let look = |workload: &workloads::Workload| {
        let measured = measure(workload);
        let accuracy = |seen: &[ordain_estimation::Foreseen]| {
            let one = |f: &ordain_estimation::Foreseen| {
                let accuracy = f.estimate.map(|e| ordain_estimation::accuracy(e.ln, measured.executions as f64));
                let held = f.estimate.is_none_or(|e| report::holds(&e, measured.executions as f64));
                accuracy.map_or("-".into(), |a| format!("{a:.1}{}", if held { "" } else { "!" }))
            };
            seen.iter().map(one).collect::<Vec<_>>().join(" ")
        };
        let (fixed, beside) = (accuracy(&measured.fixed), accuracy(&measured.beside));
        eprintln!("{}: {} executions, {fixed} | {beside}", workload.name, measured.executions);
        measured
    };
    let measured: Vec<Measured> = workloads::all(Some(natives)).iter().map(look).collect();
    let rows = report::rows(&measured, Of::Executions);
    let document = docs.join("estimation.md");
    write_section(&document, "scope", &report::scope(&measured))?;
    write_section(&document, "verdict", &report::verdict(&rows))?;
    write_section(&document, "executions", &report::accuracies(&rows))?;
    write_section(&document, "time", &report::accuracies(&report::rows(&measured, Of::Steps)))?;
    write_section(&document, "intervals", &report::intervals(&measured))?;
    write_section(&document, "workloads", &report::workloads(&measured, &rows))?;
    write_section(&document, "cost", &report::cost(&measured))?;
    fs::write(docs.join("estimation-by-share.svg"), plot::by_share(&rows))?;
    fs::write(docs.join("estimation-by-workload.svg"), plot::by_workload(&measured, &rows))?;
    fs::write(docs.join("estimation-progress.svg"), plot::curves(&progress(&measured)))?;
    write_section(&document, "first", &first())
}

/// How the estimates of two workloads went on.
fn progress(measured: &[Measured]) -> Vec<(String, u64, Vec<ordain_estimation::Foreseen>)> {
    let shown = measured.iter().filter(|m| CURVES.contains(&m.workload.name.as_str()));
    let follow = |m: &Measured| {
        let mut marks: Vec<u64> = (0..=16).map(|i| (m.branches as f64).powf(f64::from(i) / 16.0) as u64).collect();
        marks.pop();
        marks.push(mark(m.branches, 0.75));
        marks.dedup();
        (m.workload.name.clone(), m.executions, curve(&m.workload, &marks, Spending::Beside))
    };
    shown.map(follow).collect()
}

/// The programs that the peer is measured on, foreseen after their first execution.
fn first() -> String {
    let mut text = String::from("| program | executions | foreseen after the first |\n| --- | ---: | ---: |\n");
    for workload in workloads::peer() {
        let all = measure(&workload).executions;
        let estimate = curve(&workload, &[1], Spending::Fixed)[0].estimate;
        let told = estimate.map_or("–".into(), |e| {
            format!(
                "{:.1} ({:.1} to {:.1}), {:.0} %",
                e.ln.exp(),
                e.low.exp(),
                e.high.exp(),
                ordain_estimation::accuracy(e.ln, all as f64)
            )
        });
        text += &format!("| `{}` | {all} | {told} |\n", workload.name);
    }
    text
}

/// Puts a text between the markers of a section of a document.
fn write_section(document: &Path, section: &str, text: &str) -> io::Result<()> {
    let old = fs::read_to_string(document)?;
    let missing = || io::Error::other(format!("{} has no section {section}", document.display()));
    let (before, rest) = old.split_once(&format!("<!-- {section}: begin -->\n")).ok_or_else(missing)?;
    let end = format!("<!-- {section}: end -->");
    let (_, after) = rest.split_once(&end).ok_or_else(missing)?;
    fs::write(document, format!("{before}<!-- {section}: begin -->\n{text}{end}{after}"))
}
