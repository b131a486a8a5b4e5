//! `ordain replay`: runs the test that a schedule belongs to, under that schedule.
//!
//! The test is run by cargo with `ORDAIN_REPLAY` set. Cargo ends with the same status whether a test fails, does not build
//! or does not exist, so the tests are listed first: a status of 0 or 1 is always that of the one test.

use crate::problem::Problem;
use crate::schedule_file;
use crate::{Outcome, demo};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The variable that tells a check what to replay.
const VARIABLE: &str = "ORDAIN_REPLAY";

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The schedule file
    file: PathBuf,
    /// What `cargo test` needs to find the test, such as `-p NAME` or `--features X`
    #[arg(last = true, value_name = "CARGO_TEST_ARGS")]
    cargo: Vec<OsString>,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Problem> {
    let path = &arguments.file;
    let file = schedule_file::read(path)?;
    let program = file.schedule.get("program").filter(|p| !p.is_empty());
    let program = program.ok_or_else(|| Problem::NoProgram { path: path.clone() })?;
    // Cargo runs tests in the directory of their package.
    let schedule = std::path::absolute(path).map_err(|error| Problem::Unreadable { path: path.clone(), error })?;
    match demo::name_of(program) {
        Some(name) => replay_demo(name, &schedule),
        None => replay_test(program, path, &schedule, &arguments.cargo),
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
