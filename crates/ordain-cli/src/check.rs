//! `ordain check`: explores the schedules of a program.
//!
//! The result goes to standard output, progress to standard error. With `--format json`, standard output is for the one object, and all text
//! for people goes to standard error.

mod place;
mod summary;

use crate::cluster::Connection;
#[cfg(feature = "cluster")]
use crate::cluster::{self, Subject, Watch};
use crate::exports::Exports;
use crate::input::{read_input, read_piped};
use crate::json;
use crate::options::{self, Format};
use crate::outcome::{Outcome, STATUSES, despite};
use crate::output;
use crate::problem::Problem;
use crate::progress::Live;
use crate::{expectation, look};
use ordain_check::{Amount, Resume, RunOptions, Settings};
use ordain_explore::strategy::Kind as Strategy;
use ordain_native::{Check, Launch, ProgramSettings, Verdict, binary, record};
use ordain_report::{Require, Run, Timeouts, store};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub(crate) use place::INPUT;
use place::Substitute;
#[cfg(feature = "cluster")]
pub(crate) use summary::notes;
pub(crate) use summary::{next, plural, rate, story, story_without_timeline};

/// More workers would only wait for each other.
const MOST_WORKERS: usize = 1024;

#[derive(clap::Args)]
#[command(override_usage = "ordain check [OPTIONS] [--] PROGRAM [ARGUMENT]...")]
#[command(after_help = format!(
    "Executions get no variables of the environment but PATH, HOME, LANG, LC_ALL, TMPDIR, TERM and LD_LIBRARY_PATH.\n\n{STATUSES}"
))]
#[cfg_attr(not(feature = "cluster"), allow(dead_code, reason = "some options are of clusters only"))]
pub(crate) struct Arguments {
    /// The program and its arguments
    #[arg(trailing_var_arg = true, required_unless_present = "attach", value_name = "PROGRAM")]
    command: Vec<OsString>,

    #[command(flatten)]
    settings: Settings,
    #[command(flatten)]
    program: ProgramSettings,
    /// Both in one, as for a suite: a time such as 5m, or a number such as "1000 executions"
    #[arg(long, value_name = "AMOUNT", conflicts_with_all = ["max_time", "max_executions"])]
    budget: Option<Amount>,
    /// Tell how long it would take to explore everything, after a few seconds, and check nothing
    #[arg(long, conflicts_with_all = ["require", "resume", "exploration_trace", "junit", "sarif", "trace", "detach", "cluster", "preemption_bound",
          "delay_bound"])]
    estimate: bool,

    /// What the program reads from standard input [default: what is piped into this command, else nothing]
    #[arg(long, value_name = "FILE")]
    stdin: Option<PathBuf>,
    /// A variable for the program's environment: one of yours that is passed on, or a value; may be given several times
    #[arg(long = "env", value_name = "NAME[=VALUE]", value_parser = options::variable_parser())]
    environment: Vec<(OsString, OsString)>,

    /// --timeouts last, by its old name
    #[arg(long, hide = true)]
    kind_time: bool,

    /// How many processes explore at the same time; 0 for one on each core
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = options::at_most::<MOST_WORKERS>)]
    workers: usize,
    /// How long each explores at least before what is left is divided anew
    #[arg(long, value_name = "TIME", default_value = "20ms", value_parser = options::duration)]
    slice: Duration,
    /// Resume the search from its checkpoint in the run directory
    #[arg(long)]
    resume: bool,

    /// Write how the search went to a file, for `ordain estimate`; makes the search slower
    #[arg(long, value_name = "FILE")]
    exploration_trace: Option<PathBuf>,

    /// Where schedules of findings and the record of the run are written [default: .ordain/PROGRAM]
    #[arg(long, value_name = "DIR")]
    run_dir: Option<PathBuf>,
    /// For whom the result is written
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    pub(crate) format: Format,
    /// Show no progress
    #[arg(long, short)]
    quiet: bool,
    #[command(flatten)]
    exports: Exports,

    /// Let the workers of a cluster explore: the NATS server, such as nats://host:4222
    #[arg(long, value_name = "URL", help_heading = "Cluster")]
    cluster: Option<String>,
    /// The program is a Rust test binary: explore the check of this test
    #[arg(long, value_name = "NAME", requires = "cluster", conflicts_with = "attach", help_heading = "Cluster")]
    test: Option<String>,
    /// Submit the check and leave
    #[arg(long, requires = "cluster", help_heading = "Cluster")]
    detach: bool,
    /// Come back to a run
    #[arg(long, value_name = "RUN", requires = "cluster", conflicts_with_all = ["command", "detach"], help_heading = "Cluster")]
    attach: Option<String>,
    #[command(flatten)]
    connection: Connection,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Problem> {
    let result = match &arguments.cluster {
        Some(url) => run_on_cluster(arguments, url),
        None => prepare(arguments).and_then(|check| run_check(arguments, check)),
    };
    if let Err(problem) = &result {
        let program: Vec<String> = json::lossy(&arguments.command);
        arguments.exports.write_trouble(&program.join(" "), problem);
    }
    result
}

/// Lets the workers of a cluster do it.
#[cfg(not(feature = "cluster"))]
fn run_on_cluster(_arguments: &Arguments, _url: &str) -> Result<Outcome, Problem> {
    Err(Problem::NoCluster)
}

/// Lets the workers of a cluster do it.
#[cfg(feature = "cluster")]
fn run_on_cluster(arguments: &Arguments, url: &str) -> Result<Outcome, Problem> {
    if arguments.exploration_trace.is_some() {
        return Err(Problem::NotOnCluster { option: "--exploration-trace" });
    }
    let watch = Watch {
        url,
        connection: &arguments.connection,
        quiet: arguments.quiet,
        require: arguments.settings.require,
        format: arguments.format,
        exports: &arguments.exports,
        directory: arguments.run_dir.clone(),
    };
    match &arguments.attach {
        Some(run) => cluster::check(&watch, &Subject::Attach(ordain_cluster::RunId::parse(run)?)),
        None => {
            let check = prepare(arguments)?;
            cluster::check(
                &watch,
                &Subject::Submit { check: &check, test: arguments.test.as_deref(), detach: arguments.detach },
            )
        }
    }
}

fn run_check(arguments: &Arguments, mut check: Check) -> Result<Outcome, Problem> {
    if arguments.estimate {
        return expectation::tell(check, arguments.quiet, arguments.format);
    }
    let substitute = check.run.directory.as_deref().and_then(Substitute::of);
    if let Some(substitute) = &substitute {
        check.run.directory = substitute.directory.as_ref().map(|directory| directory.path().to_owned());
    }
    let mut live = Live::start(arguments.quiet);
    let report = check.run_watched(&mut live);
    live.end();
    let mut report = report.map_err(|problem| match (problem, &check.run.exploration_trace) {
        (ordain_native::Problem::Trace(error), Some(path)) => Problem::UnwritableTrace { path: path.clone(), error },
        (problem, _) => Problem::Native { problem },
    })?;
    if let Some(substitute) = substitute {
        let (directory, note) = substitute.settle(!report.findings.is_empty() || report.resumable);
        check.run.directory = directory;
        report.notes.push(note.into());
    }
    let check = &check;
    let mut run = record::run(check, &report);
    run.unmet = Require::unmet(arguments.settings.require, &run);
    let kept = keep(check, &run, arguments.stdin.is_none());
    if !report.resumable {
        check.forget_search();
    }
    let machines = arguments.format == Format::Json || arguments.exports.use_output();
    let directory = kept.as_ref().ok().and_then(Option::as_deref);
    let mut text = summary::human(check, &report, run.unmet.as_deref(), directory, look::of_result(machines));
    if let Err(error) = &kept {
        let error = output::printable(error);
        text.push_str(&format!("  note      the record of the run could not be written ({error})\n"));
    }
    let mut written = output::show_beside(machines, &text);
    if arguments.format == Format::Json {
        written = output::write_json(&json::Check::new(check, &report, run.unmet.clone()));
    }
    let outcome = outcome_of(&run);
    arguments.exports.write_behind(&[run], &[], despite(written, Ok(outcome)))
}

/// How the command ends after a run.
pub(crate) fn outcome_of(run: &Run) -> Outcome {
    match (run.verdict, &run.unmet) {
        (Verdict::Finding, _) => Outcome::Finding,
        (_, Some(_)) => Outcome::Unmet,
        (_, None) => Outcome::Clean,
    }
}

/// Writes the record of the run, and what was piped into it if that is needed again; gives the run directory, unless there is none.
fn keep(check: &Check, run: &Run, piped: bool) -> Result<Option<PathBuf>, String> {
    let Some(directory) = check.run.directory.as_deref() else { return Ok(None) };
    if piped && !check.launch.input.is_empty() && !run.findings.is_empty() {
        store::write(directory, INPUT, &check.launch.input)?;
    }
    let file = store::write_run(directory, run)?;
    Ok(Some(file.parent().unwrap_or(directory).to_owned()))
}

fn prepare(arguments: &Arguments) -> Result<Check, Problem> {
    let (program, rest) = arguments.command.split_first().map_or((OsString::new(), &[][..]), |(p, r)| (p.clone(), r));
    let binary = binary::inspect(&program, std::env::var_os("PATH").as_deref())?;
    let mut settings = arguments.settings.clone();
    match arguments.budget {
        Some(Amount::Time(time)) => settings.max_time = Some(time),
        Some(Amount::Executions(executions)) => settings.max_executions = Some(executions),
        None => {}
    }
    if arguments.kind_time {
        settings.timeouts = Timeouts::Last;
    }
    if arguments.exploration_trace.is_some() {
        let bound = settings.bound().map(|_| "a bounded search");
        let samples = settings.strategy.filter(|s| s.samples()).map(Strategy::name);
        if let Some(strategy) = bound.or(samples) {
            return Err(Problem::NoTrace { strategy: strategy.to_owned() });
        }
    }
    let max_time = settings.max_time;
    let launch = Launch {
        program: binary.path.clone(),
        arguments: rest.to_vec(),
        environment: arguments.environment.clone(),
        input: match &arguments.stdin {
            Some(path) => read_input(path, max_time)?,
            // A Rust test that a cluster explores reads nothing.
            None if arguments.test.is_some() => Vec::new(),
            None => read_piped(max_time)?,
        },
    };
    let usual = || place::run_directory(&default_directory(&binary.path), &launch);
    let directory = arguments.run_dir.clone().unwrap_or_else(usual);
    Ok(Check {
        launch,
        binary,
        settings,
        program: arguments.program.clone(),
        run: RunOptions {
            directory: Some(directory),
            exploration_trace: arguments.exploration_trace.clone(),
            workers: match arguments.workers {
                0 => std::thread::available_parallelism().map_or(1, usize::from),
                workers => workers,
            },
            slice: arguments.slice,
            resume: if arguments.resume { Resume::Must } else { Resume::No },
            checkpoint_result: false,
        },
    })
}

/// The run directory of a program, unless another one is given.
pub(crate) fn default_directory(program: &Path) -> PathBuf {
    let name = program.file_name().unwrap_or_default().to_string_lossy();
    let safe = |c: char| if c.is_alphanumeric() || "-_.+".contains(c) { c } else { '-' };
    let name: String = name.chars().map(safe).collect();
    Path::new(".ordain").join(if name.trim_matches('.').is_empty() { "program" } else { &name })
}
