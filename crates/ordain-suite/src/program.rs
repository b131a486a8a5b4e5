//! A program as a test of a suite.

use crate::conduct::Gate;
use crate::config::TestConfig;
use crate::result::Trouble;
use ordain_explore::strategy::Bound;
use ordain_model::Options;
use ordain_native::{Check, Launch, Observer, Patience, Progress, binary, record};
use ordain_report::{Run, store};
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

/// How long a finding may be made smaller.
const SHRINK_TIME: Duration = Duration::from_secs(5);

/// Checks the program while it is its turn.
pub(crate) fn run(config: &TestConfig, base: &Path, directory: &Path, gate: &mut Gate) -> Result<Box<Run>, Trouble> {
    let check = prepare(config, base, directory)?;
    let mut conducted = Conducted { gate };
    let report = check.run_watched(&mut conducted).map_err(|problem| Trouble {
        message: problem.to_string(),
        help: Some(format!("check it alone for more: ordain check -- {}", ordain_native::command_line(&check.launch))),
    })?;
    let run = record::run(&check, &report);
    if let Some(directory) = &check.directory {
        store::write_run(directory, &run).map_err(|error| Trouble {
            message: format!("its record could not be written: {error}"),
            help: Some("is the disk full, or the directory not yours?".into()),
        })?;
    }
    Ok(Box::new(run))
}

fn prepare(config: &TestConfig, base: &Path, directory: &Path) -> Result<Check, Trouble> {
    let named = config.program.as_deref().unwrap_or_default();
    // A path is seen from the file's directory; a mere name is looked up.
    let program = if named.contains('/') { base.join(named).into_os_string() } else { OsString::from(named) };
    let binary = binary::inspect(&program, std::env::var_os("PATH").as_deref()).map_err(|refused| {
        let help = miette::Diagnostic::help(&refused).map(|help| help.to_string());
        Trouble { message: refused.to_string(), help }
    })?;
    let input = match &config.stdin {
        Some(file) => std::fs::read(base.join(file)).map_err(|error| Trouble {
            message: format!("cannot read {}, its standard input: {error}", file.display()),
            help: None,
        })?,
        None => Vec::new(),
    };
    Ok(Check {
        launch: Launch {
            program: binary.path.clone(),
            arguments: config.args.iter().map(OsString::from).collect(),
            environment: config.env.iter().map(|(k, v)| (k.into(), v.into())).collect(),
            input,
        },
        binary,
        options: Options {
            kind_time: config.kind_time,
            spurious_wakeups: config.spurious_wakeups,
            ..ordain_native::default_options()
        },
        strategy: config.strategy,
        bound: config.preemption_bound.map(Bound::Preemptions),
        seed: config.seed,
        depth: 3,
        max_executions: None,
        max_time: None,
        mode: None,
        keep_going: config.keep_going,
        compare_output: config.compare_output,
        expected_status: config.expect_status.into(),
        patience: Patience::default(),
        directory: Some(directory.join(directory_name(&config.name))),
        shrink_time: SHRINK_TIME,
    })
}

/// The name of a test, as that of a directory.
pub(crate) fn directory_name(name: &str) -> String {
    let safe = |c: char| if c.is_alphanumeric() || "-_.+".contains(c) { c } else { '-' };
    let name: String = name.chars().map(safe).collect();
    if name.trim_matches('.').is_empty() { "test".into() } else { name }
}

struct Conducted<'a> {
    gate: &'a mut Gate,
}

impl Observer for Conducted<'_> {
    fn progress(&mut self, progress: &Progress) {
        if !self.gate.stopped && self.gate.left().is_zero() {
            self.gate.pause(progress.summary.executions, progress.findings, None);
        }
    }

    fn is_stopped(&self) -> bool {
        self.gate.stopped
    }
}
