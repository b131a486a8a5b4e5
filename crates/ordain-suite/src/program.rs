//! A program as a test of a suite.

use crate::config::TestConfig;
use crate::gate::Gate;
use crate::result::{End, Trouble};
use crate::suite::locate;
use ordain_check::{Resume, RunOptions, Settings, checkpoint};
use ordain_explore::strategy::Kind as Strategy;
use ordain_native::{Check, Launch, Observer, Problem, Progress, binary, record};
use ordain_report::Note;
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Checks the program while it is its turn, from its checkpoint if it is to be resumed. Schedules of findings and checkpoints are written to the
/// directory.
pub(crate) fn run(config: &TestConfig, base: &Path, directory: &Path, resume: bool, gate: &mut Gate) -> End {
    let mut check = match prepare(config, base, directory) {
        Ok(check) => check,
        Err(trouble) => return End { run: None, trouble: Some(trouble) },
    };
    if resume && directory.join(checkpoint::FILE).exists() {
        check.run.resume = Resume::Must;
    }
    let mut refused = None;
    let mut report = check.run_watched(&mut Conducted { gate });
    if let Err(Problem::Resume { reason, .. }) = &report {
        refused = Some(checkpoint::begun_again(reason));
        check.run.resume = Resume::No;
        report = check.run_watched(&mut Conducted { gate });
    }
    match report {
        Ok(report) => {
            let mut run = record::run(&check, &report);
            run.notes.extend(refused.map(Note::from));
            // Only its turns count.
            run.wall_seconds = gate.active().as_secs_f64();
            End { run: Some(Box::new(run)), trouble: None }
        }
        Err(problem) => {
            let command = ordain_native::command_line(&check.launch);
            let help = format!("check it alone for more: ordain check -- {command}");
            End { run: None, trouble: Some(Trouble::new(problem.to_string(), help)) }
        }
    }
}

/// The program's file, with what it is about to read.
pub(crate) fn files(config: &TestConfig, base: &Path) -> Result<(binary::Binary, Vec<u8>), Trouble> {
    let named = config.program.as_deref().unwrap_or_default();
    // A path is seen from the file's directory; a mere name is looked up.
    let program = if named.contains('/') { locate(base, named).into_os_string() } else { OsString::from(named) };
    let binary = binary::inspect(&program, std::env::var_os("PATH").as_deref()).map_err(|refused| {
        let help = miette::Diagnostic::help(&refused).map(|help| help.to_string());
        Trouble { message: refused.to_string(), help }
    })?;
    let input = match &config.stdin {
        Some(file) => std::fs::read(locate(base, file)).map_err(|error| {
            let message = format!("cannot read {}, its standard input: {error}", file.display());
            Trouble::new(message, "`stdin` names the file that it reads, seen from the directory of the suite's file")
        })?,
        None => Vec::new(),
    };
    Ok((binary, input))
}

fn prepare(config: &TestConfig, base: &Path, directory: &Path) -> Result<Check, Trouble> {
    let (binary, input) = files(config, base)?;
    Ok(Check {
        launch: Launch {
            program: binary.path.clone(),
            arguments: config.args.iter().map(OsString::from).collect(),
            environment: config.env.iter().map(|(k, v)| (k.into(), v.into())).collect(),
            input,
        },
        binary,
        // What is left can only be told of a search that has an end.
        settings: Settings {
            strategy: config.settings.strategy.or(Some(Strategy::Optimal)),
            ..config.settings.clone()
        },
        program: config.program_settings.clone(),
        run: RunOptions { directory: Some(directory.to_owned()), workers: 1, ..RunOptions::default() },
    })
}

struct Conducted<'a> {
    gate: &'a mut Gate,
}

impl Observer for Conducted<'_> {
    fn progress(&mut self, progress: &Progress) {
        let done = progress.summary.executions;
        if self.gate.is_over(done) {
            self.gate.pause(done, progress.findings, progress.estimate);
        }
    }

    fn resumed(&mut self, executions: u64) {
        self.gate.carry(executions);
    }

    fn allowance(&self, done: u64) -> (Duration, u64) {
        self.gate.allowance(done)
    }

    fn is_stopped(&self) -> bool {
        self.gate.is_stopped()
    }

    fn stop_flag(&self) -> Option<Arc<AtomicBool>> {
        Some(self.gate.halt())
    }
}
