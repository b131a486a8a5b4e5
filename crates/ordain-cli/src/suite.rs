//! `ordain suite`: spends a budget over the tests of `ordain.toml`.
//!
//! The result goes to standard output, progress to standard error, and with `--format json` all text for people.

mod summary;

use crate::exports::Exports;
use crate::options::{self, Format};
use crate::outcome::{Outcome, STATUSES, despite};
use crate::output;
use crate::problem::Problem;
use crate::progress::Live;
use crate::replay_line;
use ordain_check::Amount;
use ordain_model::Level;
use ordain_report::{Require, Run, Sight, Unchecked, Verdict};
use ordain_suite::{Policy, Row, Suite, SuiteResult, TestKind, record};
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

/// The file of a suite, if none is named.
const FILE: &str = "ordain.toml";
/// Where results go, if not told.
const DIRECTORY: &str = ".ordain/suite";
/// What `--init` writes.
const STARTER: &str = include_str!("suite/starter.toml");

#[derive(clap::Args)]
#[command(override_usage = "ordain suite [OPTIONS] [FILE.toml] [NAME]...")]
#[command(
    after_help = format!(
        "{STATUSES}\n\nWhile a suite runs, edit `policy` and `weight` in its file to change what is aimed at."
    )
)]
pub(crate) struct Arguments {
    /// The file of the suite, which ends in .toml [default: ordain.toml], then parts of names: only such tests run
    #[arg(value_name = "FILE.toml | NAME")]
    positional: Vec<String>,

    /// What all tests may use together: a time such as 5m, or a number such as "1000 executions"
    #[arg(long, value_name = "AMOUNT")]
    budget: Option<Amount>,
    /// What is aimed at [default: that of the file, else shortest-first]
    #[arg(long, value_name = "POLICY", value_parser = options::policy())]
    policy: Option<Policy>,
    /// How long a test goes on before another one may, as a time or in executions [default: that of the file, else 200ms]
    #[arg(long, value_name = "AMOUNT")]
    slice: Option<Amount>,
    /// How many tests run at a time; 0 for one on each core [default: that of the file, else 0]
    #[arg(long, value_name = "N", value_parser = options::at_most::<1024>)]
    workers: Option<usize>,

    /// What each test must reach not to count as failed: `verified`, or `share=90%` of its classes [default: that of the file]
    #[arg(long, value_name = "WHAT")]
    require: Option<Require>,

    /// Resume the suite in the run directory that was stopped: what is done stays, searches are resumed from their checkpoints
    #[arg(long, value_name = "DIR", num_args = 0..=1, conflicts_with = "positional")]
    resume: Option<Option<PathBuf>>,
    /// Write a file to begin with, and run nothing
    #[arg(long, conflicts_with_all = ["resume", "budget", "policy", "slice", "workers", "run_dir"])]
    init: bool,

    /// Where results are written [default: .ordain/suite]
    #[arg(long, short = 'o', value_name = "DIR")]
    run_dir: Option<PathBuf>,
    /// For whom the result is written
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    pub(crate) format: Format,
    /// Show no progress
    #[arg(long, short)]
    quiet: bool,
    #[command(flatten)]
    exports: Exports,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Problem> {
    if arguments.init {
        return init(arguments);
    }
    let suite = prepare(arguments)?;
    let mut live = Live::start(arguments.quiet);
    let result = suite.run(&mut live);
    live.end();
    let machines = arguments.format == Format::Json || arguments.exports.use_output();
    let mut written = output::show_beside(machines, &summary::human(&suite, &result));
    if arguments.format == Format::Json {
        written = output::write_json(&record::Suite::new(&suite, &result));
    }
    let (runs, unchecked) = exported(&result);
    let outcome = match () {
        () if result.has_finding() => Ok(Outcome::Finding),
        () if result.has_trouble() => Err(Problem::Reported),
        () if result.is_unmet() => Ok(Outcome::Unmet),
        () => Ok(Outcome::Clean),
    };
    arguments.exports.write_behind(&runs, &unchecked, despite(written, outcome))
}

fn prepare(arguments: &Arguments) -> Result<Suite, Problem> {
    let mut suite = match &arguments.resume {
        Some(directory) => {
            let usual = || arguments.run_dir.clone().unwrap_or_else(|| DIRECTORY.into());
            let directory = &directory.clone().unwrap_or_else(usual);
            let no_suite = |reason| Problem::NoSuite { directory: directory.clone(), reason };
            let record = record::Suite::read(directory).map_err(no_suite)?;
            let mut suite = Suite::read(replay_line::near(&record.file), directory).map_err(Box::new)?;
            suite.resume(&record);
            if suite.config.tests.is_empty() {
                let reason = format!("none of its tests is in {} any more", record.file.display());
                return Err(no_suite(reason));
            }
            suite
        }
        None => {
            let (file, names) = file_and_names(&arguments.positional);
            let directory = arguments.run_dir.as_deref().unwrap_or(Path::new(DIRECTORY));
            let mut suite = Suite::read(file, directory).map_err(Box::new)?;
            let known: Vec<String> = suite.config.tests.iter().map(|test| test.name.clone()).collect();
            if !suite.keep(names) {
                return Err(Problem::NoSuchTest {
                    file: file.to_owned(),
                    names: names.join(", "),
                    known: known.join(", "),
                });
            }
            suite
        }
    };
    let config = &mut suite.config.suite;
    match arguments.budget {
        Some(Amount::Time(time)) => (config.budget, config.executions) = (Some(time), None),
        Some(Amount::Executions(executions)) => (config.budget, config.executions) = (None, Some(executions)),
        None => {}
    }
    config.policy = arguments.policy.unwrap_or(config.policy);
    config.slice = arguments.slice.unwrap_or(config.slice);
    config.workers = match arguments.workers {
        Some(0) => None,
        Some(workers) => Some(workers),
        None => config.workers,
    };
    for test in &mut suite.config.tests {
        test.settings.require = arguments.require.or(test.settings.require);
    }
    Ok(suite)
}

/// The file, if one is named, and parts of names of tests.
fn file_and_names(positional: &[String]) -> (&Path, &[String]) {
    match positional.split_first() {
        Some((file, names)) if file.ends_with(".toml") => (Path::new(file), names),
        _ => (Path::new(FILE), positional),
    }
}

/// Writes a file to begin with; never over another one.
fn init(arguments: &Arguments) -> Result<Outcome, Problem> {
    let path = file_and_names(&arguments.positional).0;
    let written = OpenOptions::new().write(true).create_new(true).open(path).and_then(|mut file| {
        file.write_all(STARTER.as_bytes())?;
        file.sync_all()
    });
    match written {
        Ok(()) => {
            output::tell(&format!(
                "{} is written: name your programs and tests in it, then run `ordain suite`\n",
                path.display()
            ));
            Ok(Outcome::Clean)
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(Problem::SuiteExists { path: path.to_owned() }),
        Err(error) => Err(Problem::Export { path: path.to_owned(), reason: error.to_string() }),
    }
}

/// Rows as other tools get them: under the names of the tests.
fn exported(result: &SuiteResult) -> (Vec<Run>, Vec<Unchecked>) {
    let (mut runs, mut unchecked) = (Vec::new(), Vec::new());
    for row in &result.rows {
        if let Some(trouble) = row.trouble.as_ref().filter(|_| row.verdict().is_none()) {
            let (message, help) = (trouble.message.clone(), trouble.help.clone());
            unchecked.push(Unchecked { program: row.name.clone(), message, help });
        } else {
            runs.push(exported_run(row, result));
        }
    }
    (runs, unchecked)
}

fn exported_run(row: &Row, result: &SuiteResult) -> Run {
    match row.run.as_deref() {
        Some(run) => Run { program: row.name.clone(), unmet: row.unmet(), ..run.clone() },
        None => Run {
            version: Run::VERSION,
            program: row.name.clone(),
            ordain: env!("CARGO_PKG_VERSION").to_owned(),
            began: result.began,
            verdict: Verdict::NoFinding,
            meaning: format!("{}: {}", row.state(), summary::why_unfinished(result)),
            notes: Vec::new(),
            level: match row.kind {
                TestKind::Program => Level::Sync,
                TestKind::Rust => Level::Types,
            },
            mode: None,
            strategy: String::new(),
            executions: row.executions,
            blocked: 0,
            steps: 0,
            threads: 0,
            depth: 0,
            exhausted: false,
            interrupted: true,
            sight: Sight::Whole,
            unmet: row.unmet(),
            estimate: row.estimate,
            wall_seconds: row.seconds,
            cpu_seconds: 0.0,
            workers: None,
            progress: Vec::new(),
            path: Vec::new(),
            findings: Vec::new(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_starter_is_a_suite() {
        assert!(ordain_suite::Config::parse(Path::new(FILE), STARTER).is_ok());
        // What it shows in comments is right as well.
        let without: String = STARTER.lines().map(|l| format!("{}\n", l.strip_prefix("#: ").unwrap_or(l))).collect();
        let config = ordain_suite::Config::parse(Path::new(FILE), &without);
        assert!(config.as_ref().is_ok_and(|config| config.tests.len() == 3), "{config:?}");
    }

    #[test]
    fn the_first_name_is_the_file_if_it_looks_like_one() {
        let of = |all: &[&str]| {
            let all: Vec<String> = all.iter().map(|s| (*s).to_owned()).collect();
            let (file, names) = file_and_names(&all);
            (file.display().to_string(), names.to_vec())
        };
        assert_eq!(of(&[]), ("ordain.toml".into(), vec![]));
        assert_eq!(of(&["queue"]), ("ordain.toml".into(), vec!["queue".to_owned()]));
        assert_eq!(of(&["a/b.toml", "queue"]), ("a/b.toml".into(), vec!["queue".to_owned()]));
    }
}
