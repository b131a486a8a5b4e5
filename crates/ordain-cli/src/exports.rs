//! Files for other tools: JUnit XML, SARIF, traces. Written whole or not at all; `-` is standard output.

use crate::outcome::{Outcome, despite};
use crate::output;
use crate::problem::{self, Problem};
use ordain_report::{Run, Unchecked, junit, perfetto, sarif, store};
use std::io::Write as _;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
#[command(next_help_heading = "Reports for other tools")]
pub(crate) struct Exports {
    /// Write the result as JUnit XML, for pages of test results
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Write findings as SARIF, for code scanning pages and editors
    #[arg(long, value_name = "FILE")]
    sarif: Option<PathBuf>,
    /// Write the first finding's schedule as a trace, for the Perfetto UI or chrome://tracing
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
}

impl Exports {
    /// Whether one of them goes to standard output.
    pub(crate) fn use_output(&self) -> bool {
        let is_output = |path: &&PathBuf| {
            ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"].iter().any(|name| *path == Path::new(name))
        };
        [&self.junit, &self.sarif, &self.trace].into_iter().flatten().any(|path| is_output(&path))
    }

    /// Writes what was asked for.
    pub(crate) fn write(&self, runs: &[Run]) -> Result<(), Problem> {
        self.write_all(runs, &[])
    }

    /// Writes what was asked for, with checks that came to no verdict.
    pub(crate) fn write_all(&self, runs: &[Run], unchecked: &[Unchecked]) -> Result<(), Problem> {
        let results = self.write_results(runs, unchecked);
        let Some(path) = &self.trace else { return results };
        match runs.iter().flat_map(|run| &run.findings).next() {
            Some(story) => both(results, write(path, &perfetto::render(story))),
            None => {
                output::tell(&format!("there is no finding, so {} was not written\n", path.display()));
                results
            }
        }
    }

    /// Writes what was asked for behind a result that was told. If that fails, it is told too, and a finding stays one.
    pub(crate) fn write_behind(
        &self,
        runs: &[Run],
        unchecked: &[Unchecked],
        outcome: Result<Outcome, Problem>,
    ) -> Result<Outcome, Problem> {
        despite(self.write_all(runs, unchecked), outcome)
    }

    /// Writes that a check came to no verdict.
    pub(crate) fn write_trouble(&self, program: &str, problem: &Problem) {
        let (message, help) = problem::texts(problem);
        let unchecked = Unchecked { program: program.to_owned(), message: message.clone(), help };
        // If the problem is that they cannot be written, that is told anyway.
        if let Err(other) = self.write_results(&[], &[unchecked])
            && problem::texts(&other).0 != message
        {
            problem::tell(other);
        }
    }

    fn write_results(&self, runs: &[Run], unchecked: &[Unchecked]) -> Result<(), Problem> {
        // One that cannot be written is no reason to leave out the others.
        let junit = self.junit.as_deref().map(|path| write(path, &junit::render_with(runs, unchecked)));
        let sarif = self.sarif.as_deref().map(|path| {
            let here = std::env::current_dir().ok();
            write(path, &sarif::render_with(runs, unchecked, here.as_deref()))
        });
        both(junit.unwrap_or(Ok(())), sarif.unwrap_or(Ok(())))
    }
}

/// The problem of two: if there are more than one, the first is told here.
fn both(first: Result<(), Problem>, second: Result<(), Problem>) -> Result<(), Problem> {
    match (first, second) {
        (Err(first), Err(second)) => {
            problem::tell(first);
            Err(second)
        }
        (first, second) => first.and(second),
    }
}

/// Writes a file, whole or not at all, or to whatever else there is.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), Problem> {
    if path == Path::new("-") {
        return output::write(|out| out.write_all(text.as_bytes()));
    }
    store::write_to(path, text.as_bytes()).map_err(|reason| Problem::Export { path: path.to_owned(), reason })
}
