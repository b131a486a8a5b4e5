//! `ordain doctor`: what this system offers for checking programs, and how to get what is missing.

use crate::Outcome;
use crate::json;
use crate::options::Format;
use crate::output;
use crate::problem::Problem;
use ordain_native::Mode;
use ordain_native::doctor::{self, Check, Features, Status};
use serde::Serialize;
use std::io::{self, Write};

#[derive(clap::Args)]
#[command(after_help = "Exit status: 0 programs can be checked, 2 they cannot.")]
pub(crate) struct Arguments {
    /// For whom the result is written
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    pub(crate) format: Format,
}

/// What no mode can do without.
const NECESSARY: [&str; 4] = ["processor", "glibc", "fixed addresses", "memfd"];

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Problem> {
    let checks = doctor::examine();
    let mode = fastest(&checks, doctor::features());
    match arguments.format {
        Format::Human => output::write(|out| table(&checks, mode, out))?,
        Format::Json => output::write_json(&object(&checks, mode))?,
    }
    // The table has told what to do.
    if mode.is_some() { Ok(Outcome::Clean) } else { Err(Problem::Reported) }
}

/// The fastest mode that can work here.
fn fastest(checks: &[Check], features: Features) -> Option<Mode> {
    let missing = |name: &&str| checks.iter().any(|c| c.name == *name && c.status == Status::Missing);
    match () {
        () if NECESSARY.iter().any(missing) => None,
        () if features.userfaultfd_wp_async && features.pagemap_scan => Some(Mode::Snapshot),
        () => Some(Mode::Fork),
    }
}

fn status_name(status: Status) -> &'static str {
    match status {
        Status::Ok => "ok",
        Status::Limited => "limited",
        Status::Missing => "missing",
    }
}

/// What the fastest mode means for the user.
fn conclusion(mode: Option<Mode>) -> &'static str {
    match mode {
        Some(Mode::Snapshot) => "programs can be checked, in snapshot mode: the fastest",
        Some(_) => {
            "programs can be checked, but not in snapshot mode: executions are forked, which is about ten times slower"
        }
        None => "programs cannot be checked here: see what is missing above",
    }
}

fn table(checks: &[Check], mode: Option<Mode>, out: &mut dyn Write) -> io::Result<()> {
    let width = |of: fn(&Check) -> usize| checks.iter().map(of).max().unwrap_or(0);
    let (name, found) = (width(|c| c.name.len()), width(|c| c.found.chars().count()));
    for check in checks {
        let status = status_name(check.status);
        writeln!(out, "{status:<7}  {:<name$}  {:<found$}  for {}", check.name, check.found, check.needed_for)?;
        if let Some(fix) = &check.fix {
            writeln!(out, "         {:<name$}  -> {fix}", "")?;
        }
    }
    writeln!(out, "\n{}", conclusion(mode))
}

#[derive(Serialize)]
struct Object<'a> {
    version: u32,
    mode: Option<&'static str>,
    conclusion: &'static str,
    checks: Vec<Row<'a>>,
}

#[derive(Serialize)]
struct Row<'a> {
    name: &'a str,
    status: &'static str,
    found: &'a str,
    needed_for: &'a str,
    fix: Option<&'a str>,
}

fn object<'a>(checks: &'a [Check], mode: Option<Mode>) -> Object<'a> {
    let row = |check: &'a Check| {
        let Check { name, status, found, needed_for, fix } = check;
        Row { name, status: status_name(*status), found, needed_for, fix: fix.as_deref() }
    };
    let checks = checks.iter().map(row).collect();
    Object { version: json::VERSION, mode: mode.map(Mode::name), conclusion: conclusion(mode), checks }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checks(missing: &str) -> Vec<Check> {
        let mut checks = doctor::examine();
        checks.iter_mut().for_each(|c| c.status = if c.name == missing { Status::Missing } else { Status::Ok });
        checks
    }

    #[test]
    fn the_mode_follows_from_what_is_there() {
        let all = Features {
            userfaultfd_wp_async: true,
            pagemap_scan: true,
            seccomp_trap: true,
            fsgsbase: true,
            no_aslr: true,
        };
        assert_eq!(fastest(&checks(""), all), Some(Mode::Snapshot));
        assert_eq!(fastest(&checks(""), Features { pagemap_scan: false, ..all }), Some(Mode::Fork));
        for necessary in NECESSARY {
            let checks = checks(necessary);
            assert!(checks.iter().any(|c| c.name == necessary), "{necessary}");
            assert_eq!(fastest(&checks, all), None, "{necessary}");
        }
    }
}
