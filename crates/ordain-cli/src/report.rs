//! `ordain report`: a run directory as one HTML file, or as files for other tools.

use crate::Outcome;
use crate::exports::{self, Exports};
use crate::output;
use crate::problem::Problem;
use ordain_report::{Run, html, store};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The report in its run directory.
const FILE: &str = "report.html";

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The run directory, such as .ordain/PROGRAM [default: the newest in .ordain]
    directory: Option<PathBuf>,
    /// Where the HTML file is written [default: report.html in the run directory]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Show it in a browser
    #[arg(long)]
    open: bool,
    #[command(flatten)]
    exports: Exports,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Problem> {
    let directory = match &arguments.directory {
        Some(directory) => directory.clone(),
        None => newest(Path::new(".ordain")).ok_or(Problem::NoRuns)?,
    };
    let run = read(&directory)?;
    let path = arguments.output.clone().unwrap_or_else(|| directory.join(FILE));
    exports::write(&path, &html::render(&run))?;
    arguments.exports.write(std::slice::from_ref(&run))?;
    if path != Path::new("-") {
        output::tell(&format!("{}\n", path.display()));
        if arguments.open {
            open(&path)?;
        }
    }
    Ok(Outcome::Clean)
}

fn read(directory: &Path) -> Result<Run, Problem> {
    store::read_run(directory).map_err(|reason| Problem::NoRun { directory: directory.to_owned(), reason })
}

/// The run directory that was written last.
fn newest(parent: &Path) -> Option<PathBuf> {
    let runs = std::fs::read_dir(parent).ok()?.filter_map(|entry| {
        let path = entry.ok()?.path();
        let changed = std::fs::metadata(path.join(store::RUN)).and_then(|m| m.modified()).ok()?;
        Some((changed, path))
    });
    runs.max().map(|run| run.1)
}

/// Has the desktop show a file.
fn open(path: &Path) -> Result<(), Problem> {
    let browser = std::env::var_os("BROWSER").filter(|b| !b.is_empty()).unwrap_or_else(|| "xdg-open".into());
    let mut command = Command::new(&browser);
    command.arg(path).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let reason = match command.status() {
        Ok(status) if status.success() => return Ok(()),
        Ok(status) => format!("{} ended with {status}", browser.to_string_lossy()),
        Err(error) => format!("{}: {error}", browser.to_string_lossy()),
    };
    Err(Problem::NoBrowser { path: path.to_owned(), reason })
}
