//! Files for other tools: JUnit XML, SARIF, traces. Written whole or not at all; `-` is standard output.

use crate::Outcome;
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
    /// Writes what was asked for.
    pub(crate) fn write(&self, runs: &[Run]) -> Result<(), Problem> {
        self.write_all(runs, &[])
    }

    /// Writes what was asked for, with checks that came to no verdict.
    pub(crate) fn write_all(&self, runs: &[Run], unchecked: &[Unchecked]) -> Result<(), Problem> {
        self.write_results(runs, unchecked)?;
        if let Some(path) = &self.trace {
            match runs.iter().flat_map(|run| &run.findings).next() {
                Some(story) => write(path, &perfetto::render(story))?,
                None => output::tell(&format!("there is no finding, so {} was not written\n", path.display())),
            }
        }
        Ok(())
    }

    /// Writes what was asked for behind a result that was told. If that fails, it is told too, and a finding stays one.
    pub(crate) fn write_behind(
        &self,
        runs: &[Run],
        unchecked: &[Unchecked],
        outcome: Result<Outcome, Problem>,
    ) -> Result<Outcome, Problem> {
        match self.write_all(runs, unchecked) {
            // Whoever read standard output has seen enough.
            Ok(()) | Err(Problem::OutputClosed) => outcome,
            Err(problem) => {
                problem::tell(problem);
                if matches!(outcome, Ok(Outcome::Finding)) { outcome } else { Err(Problem::Told) }
            }
        }
    }

    /// Writes that a check came to no verdict.
    pub(crate) fn write_trouble(&self, program: &str, problem: &Problem) -> Result<(), Problem> {
        let (message, help) = problem::texts(problem);
        self.write_results(&[], &[Unchecked { program: program.to_owned(), message, help }])
    }

    fn write_results(&self, runs: &[Run], unchecked: &[Unchecked]) -> Result<(), Problem> {
        if let Some(path) = &self.junit {
            write(path, &junit::render_with(runs, unchecked))?;
        }
        if let Some(path) = &self.sarif {
            let here = std::env::current_dir().ok();
            write(path, &sarif::render_with(runs, unchecked, here.as_deref()))?;
        }
        Ok(())
    }
}

/// Writes a file, whole or not at all, or to whatever else there is.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), Problem> {
    if path == Path::new("-") {
        return output::write(|out| out.write_all(text.as_bytes()));
    }
    store::write_to(path, text.as_bytes()).map_err(|reason| Problem::Export { path: path.to_owned(), reason })
}
