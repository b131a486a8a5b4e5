//! What a suite came to: a row for each test.

use crate::allocate::Policy;
use crate::config::TestConfig;
use crate::suite::locate;
use ordain_report::{Estimate, Require, Run, Verdict, quote};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// What a suite came to.
#[derive(Clone, Debug)]
pub struct SuiteResult {
    /// What was aimed at, at the end.
    pub policy: Policy,
    /// When it began, in seconds since 1970.
    pub began: u64,
    /// Time by the clock, in seconds.
    pub wall_seconds: f64,
    /// Whether the budget ended it before all tests were done.
    pub budget_spent: bool,
    /// Whether the user stopped it.
    pub interrupted: bool,
    /// The tests, in the order of the file.
    pub rows: Vec<Row>,
    /// Why the record could not be written, if so.
    pub unwritten: Option<String>,
}

impl SuiteResult {
    /// Whether something was found.
    pub fn has_finding(&self) -> bool {
        self.rows.iter().any(|row| row.verdict() == Some(Verdict::Finding))
    }

    /// Whether a test could not be checked.
    pub fn has_trouble(&self) -> bool {
        self.rows.iter().any(|row| row.trouble.is_some())
    }

    /// Whether a test has not reached what it must.
    pub fn is_unmet(&self) -> bool {
        self.rows.iter().any(|row| row.unmet().is_some())
    }

    /// Whether tests are left that could go on.
    pub fn is_unfinished(&self) -> bool {
        self.rows.iter().any(|row| !row.done)
    }
}

/// What kind of test it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TestKind {
    /// A program.
    #[default]
    Program,
    /// A Rust test that uses the library.
    Rust,
}

impl TestKind {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Program => "program",
            Self::Rust => "rust",
        }
    }
}

/// What a test of a suite came to.
#[derive(Clone, Debug, Default)]
pub struct Row {
    /// What it is called.
    pub name: String,
    /// What kind of test it is.
    pub kind: TestKind,
    /// Whether it needs nothing more: everything is explored, something was found, it has reached its own limit, or it cannot
    /// be checked.
    pub done: bool,
    /// Whether it is from an earlier run of the suite.
    pub kept: bool,
    /// Time that it had, in seconds.
    pub seconds: f64,
    /// Slices that it had.
    pub slices: u64,
    /// When it was done, in seconds since the suite began.
    pub done_at: Option<f64>,
    /// Executions so far.
    pub executions: u64,
    /// Those of them that were made in earlier runs of the suite.
    pub carried: u64,
    /// How many executions there are in all, as far as can be told.
    pub estimate: Option<Estimate>,
    /// What its check did, as soon as it has ended.
    pub run: Option<Box<Run>>,
    /// Why it could not be checked, or not to its end.
    pub trouble: Option<Trouble>,
    /// What it must reach, beside finding nothing.
    pub require: Option<Require>,
    /// The directory of its record and of the schedules of its findings.
    pub directory: PathBuf,
    /// What it was made of, to tell whether it is still the same test.
    pub fingerprint: Option<u128>,
}

impl Row {
    /// A test that has not begun.
    pub(crate) fn new(config: &TestConfig, directory: &Path) -> Self {
        let kind = if config.program.is_some() { TestKind::Program } else { TestKind::Rust };
        let directory = directory.join(directory_name(&config.name));
        Self { name: config.name.clone(), kind, require: config.settings.require, directory, ..Self::default() }
    }

    /// The verdict; none if there is none. A test that crashed after some check is not verified.
    pub fn verdict(&self) -> Option<Verdict> {
        let verdict = self.run.as_ref()?.verdict;
        (verdict == Verdict::Finding || self.trouble.is_none()).then_some(verdict)
    }

    /// Why it counts as failed although nothing was found and nothing is wrong with it.
    pub fn unmet(&self) -> Option<String> {
        match (&self.run, self.require) {
            _ if self.trouble.is_some() => None,
            (Some(run), require) => run.unmet.clone().or_else(|| Require::unmet(require, run)),
            (None, Some(require)) => Some(format!("`{require}` was required, but the test is {}", self.state())),
            (None, None) => None,
        }
    }

    /// The share of its schedules that is explored, if that can be told.
    pub fn share(&self) -> Option<f64> {
        if self.run.as_ref().is_some_and(|run| run.exhausted) {
            return Some(1.0);
        }
        let estimate = self.estimate?;
        Some(10f64.powf((self.executions.max(1) as f64).log10() - estimate.log10).min(1.0))
    }

    /// What it came to, in a word or two.
    pub fn state(&self) -> &'static str {
        match self.verdict() {
            _ if self.trouble.is_some() && self.verdict().is_none() => "no verdict",
            Some(Verdict::NoFinding) if !self.done => "unfinished",
            Some(verdict) => verdict.name(),
            None if self.slices == 0 => "not started",
            None => "unfinished",
        }
    }
}

/// The command that replays a finding, from the directory of the suite's file; `ordain` is how this command is called.
pub fn replay_command(config: &TestConfig, base: &Path, ordain: &str, schedule: &str) -> String {
    let schedule = quote(schedule);
    match (&config.binary, &config.package) {
        (Some(binary), _) => {
            let test = quote(config.test.as_deref().unwrap_or_default());
            let binary = quote(&locate(base, binary).to_string_lossy());
            format!("ORDAIN_REPLAY={schedule} {binary} {test} --exact --include-ignored --nocapture")
        }
        (None, Some(package)) => {
            let options: String = config.cargo_args.iter().map(|option| format!(" {}", quote(option))).collect();
            let replay = format!("{ordain} replay {schedule} -- -p {}{options}", quote(package));
            match base.as_os_str().is_empty() || base == Path::new(".") {
                true => replay,
                false => format!("(cd {} && {replay})", quote(&base.to_string_lossy())),
            }
        }
        (None, None) => format!("{ordain} replay {schedule}"),
    }
}

/// What a test came to in its thread.
#[derive(Debug, Default)]
pub(crate) struct End {
    pub(crate) run: Option<Box<Run>>,
    pub(crate) trouble: Option<Trouble>,
}

/// Why a test came to no verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trouble {
    /// What happened, and why.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
}

impl Trouble {
    pub(crate) fn new(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { message: message.into(), help: Some(help.into()) }
    }

    /// The suite was stopped: nothing is wrong with the test.
    pub(crate) fn stopped() -> Self {
        Self { message: STOPPED.to_owned(), help: None }
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.message == STOPPED && self.help.is_none()
    }
}

const STOPPED: &str = "the suite was stopped";

/// The name of a test, as that of a directory.
pub(crate) fn directory_name(name: &str) -> String {
    let safe = |c: char| if c.is_alphanumeric() || "-_.+".contains(c) { c } else { '-' };
    let name: String = name.chars().map(safe).collect();
    if name.trim_matches('.').is_empty() { "test".into() } else { name }
}
