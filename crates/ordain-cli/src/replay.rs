//! `ordain replay`: runs what a schedule belongs to, under that schedule: a program, a test, or a demo program.
//!
//! A test is run by cargo with `ORDAIN_REPLAY` set. Cargo ends with the same status whether a test fails, does not build
//! or does not exist, so the tests are listed first: a status of 0 or 1 is always that of the one test.

mod departure;
mod gdb;
mod program;
mod renew;
mod step;
mod timeline;

use crate::options::{self, Format};
use crate::problem::Problem;
use crate::schedule_file;
use crate::{Outcome, demo};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// The variable that tells a check what to replay.
const VARIABLE: &str = "ORDAIN_REPLAY";

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The schedule file
    file: PathBuf,
    /// Run the program that many times, and tell how often the finding shows
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    times: u32,
    /// Show all steps, not only those that have to do with the finding
    #[arg(long)]
    all: bool,
    /// Step through the schedule, forward and back, by commands from standard input
    #[arg(long, conflicts_with_all = ["times", "gdb", "search", "format"])]
    step: bool,
    /// Hold the program at its failing step and debug it with gdb, which knows its threads by name
    #[arg(long, conflicts_with_all = ["times", "search", "format"])]
    gdb: bool,
    /// With --gdb: hold the program before the step of this number
    #[arg(long, value_name = "N", requires = "gdb")]
    at: Option<usize>,
    /// With --gdb: an argument for gdb, such as --gdb-arg=-batch; may be given more than once
    #[arg(long = "gdb-arg", value_name = "ARG", requires = "gdb", allow_hyphen_values = true)]
    gdb_args: Vec<OsString>,
    /// If the program has changed and departs from the schedule: search for the finding from there, for that long [default: 30s].
    /// Write it behind FILE
    #[arg(long, value_name = "TIME", num_args = 0..=1, default_missing_value = "30s", value_parser = search_time)]
    search: Option<Duration>,
    /// A variable for the program's environment, in place of that of the schedule if it has one; may be given several times
    #[arg(long = "env", value_name = "NAME[=VALUE]", value_parser = options::variable_parser())]
    environment: Vec<(OsString, OsString)>,
    /// Show no progress
    #[arg(long, short)]
    quiet: bool,
    /// What the program reads from standard input
    #[arg(long, value_name = "FILE")]
    stdin: Option<PathBuf>,
    /// The program, if it is not where it was
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
    /// For whom the result is written
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    pub(crate) format: Format,
    /// What `cargo test` needs to find the test, such as `-p NAME` or `--features X`
    #[arg(last = true, value_name = "CARGO_TEST_ARGS")]
    cargo: Vec<OsString>,
}

/// How long to search.
fn search_time(text: &str) -> Result<Duration, String> {
    if text.ends_with(".ordain") || text.contains('/') {
        return Err(
            "this is where a time may be; write the schedule file first: `ordain replay FILE --search`".to_owned()
        );
    }
    options::duration(text)
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Problem> {
    let path = &arguments.file;
    let file = schedule_file::read(path)?;
    if file.schedule.get("executable").is_some() {
        return program::replay(arguments, &file);
    }
    let program = file.schedule.get("program").filter(|p| !p.is_empty());
    let program = program.ok_or_else(|| Problem::NoProgram { path: path.clone() })?;
    refuse_program_options(arguments, program)?;
    // Cargo runs tests in the directory of their package.
    let schedule = std::path::absolute(path).map_err(|error| Problem::Unreadable { path: path.clone(), error })?;
    match demo::name_of(program) {
        Some(name) => replay_demo(name, &schedule),
        None => replay_test(program, path, &schedule, &arguments.cargo),
    }
}

fn refuse_program_options(arguments: &Arguments, program: &str) -> Result<(), Problem> {
    let options = [
        ("--times", arguments.times != 1),
        ("--all", arguments.all),
        ("--step", arguments.step),
        ("--gdb", arguments.gdb),
        ("--search", arguments.search.is_some()),
        ("--stdin", arguments.stdin.is_some()),
        ("--env", !arguments.environment.is_empty()),
        ("--program", arguments.program.is_some()),
        ("--format json", arguments.format == Format::Json),
    ];
    match options.iter().find(|option| option.1) {
        Some((option, _)) => {
            let program = crate::output::printable(program);
            Err(Problem::OnlyForPrograms { option, path: arguments.file.clone(), program })
        }
        None => Ok(()),
    }
}

/// Runs a demo program of this binary under the schedule.
fn replay_demo(name: &str, schedule: &Path) -> Result<Outcome, Problem> {
    demo::find(name)?;
    let own = std::env::current_exe().map_err(|error| Problem::CannotRun { command: "ordain".into(), error })?;
    let mut command = Command::new(&own);
    command.args(["demo", name]).env(VARIABLE, schedule);
    let status = command.status().map_err(|error| cannot_run(own.as_os_str(), error))?;
    match status.code() {
        Some(0) => Ok(Outcome::Clean),
        Some(1) => Ok(Outcome::Finding),
        _ => Err(Problem::NoTests { status }),
    }
}

/// Has cargo run a test under the schedule.
fn replay_test(program: &str, path: &Path, schedule: &Path, arguments: &[OsString]) -> Result<Outcome, Problem> {
    // The name comes from a file, and libtest has options that write files.
    if program.starts_with('-') || program.contains(char::is_control) {
        let program = crate::output::printable(program);
        return Err(Problem::BadProgram { path: path.to_owned(), program });
    }
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let test = || {
        let mut command = Command::new(&cargo);
        command.arg("test").args(arguments).args(["--", "--exact", program]);
        command
    };
    let listed = test().arg("--list").env_remove(VARIABLE).stdin(Stdio::null()).stderr(Stdio::inherit()).output();
    let listed = listed.map_err(|error| cannot_run(&cargo, error))?;
    if !listed.status.success() {
        return Err(Problem::NoTests { status: listed.status });
    }
    let line = format!("{program}: test");
    if !String::from_utf8_lossy(&listed.stdout).lines().any(|l| l == line) {
        return Err(Problem::UnknownTest { path: path.to_owned(), program: program.to_owned() });
    }
    let status = test().arg("--nocapture").env(VARIABLE, schedule).status();
    let status = status.map_err(|error| cannot_run(&cargo, error))?;
    Ok(if status.success() { Outcome::Clean } else { Outcome::Finding })
}

fn cannot_run(command: &OsStr, error: std::io::Error) -> Problem {
    Problem::CannotRun { command: Path::new(command).display().to_string(), error }
}
