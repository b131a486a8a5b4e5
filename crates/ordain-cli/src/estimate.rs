//! `ordain estimate`: what estimators make of an exploration trace.

use crate::Outcome;
use crate::options::Format;
use crate::output;
use crate::problem::Problem;
use ordain_explore::estimate::trace::Event;
use ordain_explore::estimate::{Backtracks, Measure, Technique};
use ordain_report::number;
use serde::Serialize;
use std::fs::File;
use std::io::{BufRead, BufReader, Cursor, Write as _};
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The trace, as `ordain check --exploration-trace` writes it
    #[arg(value_name = "TRACE")]
    trace: PathBuf,
    /// Shares of the trace, in percent, after which to estimate
    #[arg(long, value_name = "PERCENT", value_delimiter = ',', default_value = "1,5,10,25,100",
          value_parser = percent)]
    at: Vec<f64>,
    /// Estimate time instead of executions
    #[arg(long)]
    time: bool,
    /// For whom the result is written
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    pub(crate) format: Format,
}

fn percent(text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| "it must be a number".to_owned())?;
    if number > 0.0 && number <= 100.0 { Ok(number) } else { Err("it must be more than 0 and at most 100".into()) }
}

/// What `--format json` prints.
#[derive(Serialize)]
struct Comparison {
    version: u32,
    executions: u64,
    seconds: f64,
    complete: bool,
    measure: &'static str,
    rows: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    strategy: &'static str,
    estimator: &'static str,
    fit: &'static str,
    estimates: Vec<Point>,
}

#[derive(Serialize)]
struct Point {
    percent: f64,
    /// Logarithm to base 10; none if the fit has no answer.
    log10: Option<f64>,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Problem> {
    let path = &arguments.trace;
    let (mut events, mut executions) = (Vec::new(), 0u64);
    read(path, &mut |event| {
        executions += u64::from(matches!(event, Event::End { .. }));
        events.push(event);
        Ok(())
    })?;
    if executions == 0 {
        return Err(Problem::EmptyTrace { path: path.clone() });
    }
    let measure = if arguments.time { Measure::Time } else { Measure::Executions };
    let mut at = arguments.at.clone();
    at.sort_by(f64::total_cmp);
    let marks: Vec<u64> = at.iter().map(|p| ((executions as f64 * p / 100.0).ceil() as u64).max(1)).collect();
    let techniques: Vec<Technique> = Technique::all().collect();
    let mut rows: Vec<Row> = techniques
        .iter()
        .map(|technique| {
            let [strategy, estimator, fit] = technique.names();
            Row { strategy, estimator, fit, estimates: Vec::new() }
        })
        .collect();
    let mut tree = Backtracks::with_oracle(events.iter());
    for (number, event) in events.iter().enumerate() {
        let line = number + 1;
        tree.take(event).map_err(|error| Problem::BadTrace { path: path.clone(), line, reason: error.to_string() })?;
        if matches!(event, Event::End { .. }) {
            for (_, percent) in marks.iter().zip(&at).filter(|(mark, _)| **mark == tree.executions()) {
                for (technique, row) in techniques.iter().zip(&mut rows) {
                    let ln = tree.estimate(*technique, measure);
                    let log10 = ln.map(|ln| ln / std::f64::consts::LN_10);
                    row.estimates.push(Point { percent: *percent, log10 });
                }
            }
        }
    }
    let comparison = Comparison {
        version: crate::json::VERSION,
        executions,
        seconds: tree.elapsed(),
        complete: tree.is_complete(),
        measure: if arguments.time { "seconds" } else { "executions" },
        rows,
    };
    match arguments.format {
        Format::Json => output::write_json(&comparison)?,
        Format::Human => output::write(|out| out.write_all(table(&comparison, &at).as_bytes()))?,
    }
    Ok(Outcome::Clean)
}

fn read(path: &Path, take: &mut dyn FnMut(Event) -> Result<(), Problem>) -> Result<(), Problem> {
    let unreadable = |error| Problem::UnreadableTrace { path: path.to_owned(), error };
    // What is no file is not waited for, nor read, without end.
    let kind = std::fs::metadata(path).map_err(unreadable)?.file_type();
    let is_file = kind.is_file();
    if !is_file && !kind.is_fifo() {
        return Err(unreadable(std::io::Error::other("it is neither a file nor a pipe")));
    }
    let reader: Box<dyn BufRead> = match is_file {
        true => Box::new(BufReader::new(File::open(path).map_err(unreadable)?)),
        false => Box::new(Cursor::new(crate::input::read_input(path, None)?)),
    };
    for (number, line) in reader.lines().enumerate() {
        let line = line.map_err(unreadable)?;
        let event = line.parse().map_err(|error: ordain_explore::estimate::trace::TraceError| Problem::BadTrace {
            path: path.to_owned(),
            line: number + 1,
            reason: error.to_string(),
        })?;
        take(event)?;
    }
    Ok(())
}

fn table(comparison: &Comparison, at: &[f64]) -> String {
    use std::fmt::Write as _;
    let mut text = String::new();
    let whole = if comparison.complete { "a whole search" } else { "a search that was not finished" };
    let _ = writeln!(
        text,
        "The trace of {whole}: {} executions in {:.3} s. Estimates of all {} after a share of them:\n",
        comparison.executions, comparison.seconds, comparison.measure
    );
    let _ = write!(text, "{:<8} {:<4} {:<12}", "strategy", "", "fit");
    for percent in at {
        let _ = write!(text, " {:>12}", format!("{percent} %"));
    }
    text.push('\n');
    for row in &comparison.rows {
        let _ = write!(text, "{:<8} {:<4} {:<12}", row.strategy, row.estimator, row.fit);
        for point in &row.estimates {
            let shown = match point.log10 {
                Some(log10) if log10 < 3.0 && comparison.measure == "seconds" => format!("{:.3}", 10f64.powf(log10)),
                Some(log10) => number(log10),
                None => "-".into(),
            };
            let _ = write!(text, " {shown:>12}");
        }
        text.push('\n');
    }
    text
}
