//! `ordain check --estimate`: how long it would take to explore everything, after a few seconds of it.

use crate::json;
use crate::options::Format;
use crate::outcome::Outcome;
use crate::output;
use crate::problem::Problem;
use crate::progress::{Live, plural_large};
use ordain_explore::strategy::Kind as Strategy;
use ordain_native::{Check, Report};
use ordain_report::terminal::plural;
use ordain_report::{Estimate, number};
use serde::Serialize;
use std::time::Duration;

/// How long is looked, unless the user says something else.
const LOOK: Duration = Duration::from_secs(3);

/// What `--format json` prints. Logarithms are to base 10: there may be more than numbers can hold.
#[derive(Serialize)]
struct Forecast {
    version: u32,
    program: String,
    arguments: Vec<String>,
    strategy: &'static str,
    workers: usize,
    /// Executions that were made for it, and whether these are all.
    executions: u64,
    finished: bool,
    executions_per_second: f64,
    estimate_log10: Option<Estimate>,
    seconds_log10: Option<Seconds>,
    findings: usize,
}

#[derive(Clone, Copy, Serialize)]
struct Seconds {
    log10: f64,
    low: f64,
    high: f64,
}

/// Looks and tells.
pub(crate) fn tell(mut check: Check, quiet: bool, format: Format) -> Result<Outcome, Problem> {
    // Everything can only be explored by a strategy that has an end.
    check.settings.strategy = check.settings.strategy.or(Some(Strategy::Optimal));
    check.settings.max_time = Some(check.settings.max_time.unwrap_or(LOOK));
    check.run.directory = None;
    check.settings.shrink_time = Duration::ZERO;
    check.settings.keep_going = true;
    let mut live = Live::start(quiet);
    let report = check.run_watched(&mut live);
    live.end();
    let report = report.map_err(|problem| Problem::Native { problem })?;
    match format {
        Format::Human => output::show(&output::printable_lines(&sentence(&check, &report)))?,
        Format::Json => output::write_json(&Forecast {
            version: json::VERSION,
            program: check.launch.program.to_string_lossy().into_owned(),
            arguments: json::lossy(&check.launch.arguments),
            strategy: report.strategy,
            workers: check.run.workers,
            executions: report.summary.executions,
            finished: report.summary.exhausted,
            executions_per_second: rate(&report),
            estimate_log10: report.estimate,
            seconds_log10: seconds(&report),
            findings: report.findings.len(),
        })?,
    }
    Ok(Outcome::Clean)
}

/// Executions in a second by the clock.
fn rate(report: &Report) -> f64 {
    report.summary.executions as f64 / report.wall.as_secs_f64().max(1e-6)
}

/// How long all of it takes at that rate.
fn seconds(report: &Report) -> Option<Seconds> {
    let rate = rate(report).max(1e-9).log10();
    report.estimate.map(|e| Seconds { log10: e.log10 - rate, low: e.low - rate, high: e.high - rate })
}

fn sentence(check: &Check, report: &Report) -> String {
    let executions = plural_large(report.summary.executions, "execution");
    let workers = plural(check.run.workers.max(1), "worker");
    let speed = format!("{} per second with {workers}", number(rate(report).max(1.0).log10()));
    let wall = report.wall.as_secs_f64();
    let mut text = match (report.summary.exhausted, report.estimate.zip(seconds(report))) {
        (true, _) => format!("exploring everything takes {wall:.1} s: {executions}, which were all made\n"),
        (false, Some((estimate, time))) => {
            let interval =
                |low: String, high: String| if low == high { String::new() } else { format!(" ({low} to {high})") };
            format!(
                "exploring everything would take about {}{}: an estimated {} executions{}, at {speed}\n",
                time_of(time.log10),
                interval(time_of(time.low), time_of(time.high)),
                number(estimate.log10),
                interval(number(estimate.low), number(estimate.high)),
            )
        }
        (false, None) => format!(
            "how long exploring everything would take cannot be told after {executions} in {wall:.1} s, at {speed}; --max-time 30s looks \
             for longer\n"
        ),
    };
    if !report.findings.is_empty() {
        text.push_str("something was found on the way: the same command without --estimate tells it\n");
    }
    text
}

/// A time in few digits: `42 s`, `3.5 h`, `2.1 × 10^9 years`.
fn time_of(log10: f64) -> String {
    const UNITS: [(&str, f64); 4] = [("years", 365.25 * 86_400.0), ("days", 86_400.0), ("h", 3600.0), ("min", 60.0)];
    for (unit, seconds) in UNITS {
        let many = log10 - seconds.log10();
        if many >= 4.0 {
            return format!("{} {unit}", number(many));
        }
        let many = 10f64.powf(many);
        if many >= 2.0 {
            return if many < 10.0 { format!("{many:.1} {unit}") } else { format!("{many:.0} {unit}") };
        }
    }
    let seconds = 10f64.powf(log10);
    if seconds < 1.0 { "less than 1 s".to_owned() } else { format!("{seconds:.0} s") }
}

#[cfg(test)]
mod tests {
    use super::time_of;

    #[test]
    fn times_have_few_digits() {
        let told = |seconds: f64| time_of(seconds.log10());
        assert_eq!(
            [told(0.2), told(42.0), told(119.0), told(150.0), told(10_000.0), told(90_000.0), told(1e6), told(1e9)],
            ["less than 1 s", "42 s", "119 s", "2.5 min", "2.8 h", "25 h", "12 days", "32 years"]
        );
        assert_eq!(time_of(400.0), "10^393 years");
    }
}
