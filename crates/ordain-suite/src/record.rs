//! The record of a suite, `suite.json` in its directory: what `--format json` prints, and what a suite is resumed from. The
//! schema is in `docs/suite.schema.json`. What each test did is in the `run.json` of its own directory.

use crate::allocate::Policy;
use crate::result::{Row, SuiteResult, TestKind, Trouble, replay_command};
use crate::suite;
use ordain_report::{Estimate, Kind, Note, store};
use serde::{Deserialize, Serialize};
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// The record in its directory.
pub const FILE: &str = "suite.json";
/// Larger records are refused.
const MOST_BYTES: u64 = 1 << 28;

/// The record of a suite.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Suite {
    /// The version of this record.
    pub version: u32,
    /// The version of Ordain.
    pub ordain: String,
    /// The file that the suite comes from.
    pub file: PathBuf,
    /// What was aimed at, at the end.
    pub policy: Policy,
    /// The time for all tests together, in seconds.
    pub budget_seconds: Option<f64>,
    /// The executions for all tests together.
    pub budget_executions: Option<u64>,
    /// When it began, in seconds since 1970.
    pub began: u64,
    /// Time by the clock, in seconds.
    pub wall_seconds: f64,
    /// Executions of all tests.
    pub executions: u64,
    /// Findings of all tests.
    pub findings: usize,
    /// Whether all tests are done.
    pub finished: bool,
    /// Whether the budget ended it before all tests were done.
    pub budget_spent: bool,
    /// Whether the user stopped it.
    pub interrupted: bool,
    /// The tests, in the order of the file.
    pub tests: Vec<Test>,
}

/// The row of a test.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Test {
    /// What it is called.
    pub name: String,
    /// What kind of test it is.
    pub kind: TestKind,
    /// `verified`, `no finding`, `finding`, `no verdict`, `unfinished` or `not started`.
    pub state: String,
    /// Whether it needs nothing more.
    pub done: bool,
    /// The verdict in a sentence.
    pub meaning: Option<String>,
    /// What weakens the verdict, or what the user should know.
    pub notes: Vec<Note>,
    /// Executions.
    pub executions: u64,
    /// How many executions there are in all, as far as can be told.
    pub estimate: Option<Estimate>,
    /// The share of its schedules that is explored, from 0 to 1.
    pub share: Option<f64>,
    /// What was found.
    pub findings: Vec<Finding>,
    /// Time that it had, in seconds.
    pub seconds: f64,
    /// Slices that it had.
    pub slices: u64,
    /// When it was done, in seconds since the suite began.
    pub done_at: Option<f64>,
    /// Why it came to no verdict.
    pub trouble: Option<Trouble>,
    /// Its directory, seen from that of the suite.
    pub directory: PathBuf,
    /// What it was made of.
    pub fingerprint: Option<String>,
}

/// A finding of a test.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Finding {
    /// What went wrong.
    pub kind: Kind,
    /// What happened, in one sentence.
    pub headline: String,
    /// The schedule file.
    pub schedule: Option<String>,
    /// The command that replays it.
    pub replay: Option<String>,
}

impl Suite {
    /// The version of records that this Ordain writes and reads.
    pub const VERSION: u32 = 2;

    /// The record of a suite that came to this.
    pub fn new(suite: &suite::Suite, result: &SuiteResult) -> Self {
        let config = &suite.config.suite;
        let file = std::path::absolute(&suite.file).unwrap_or_else(|_| suite.file.clone());
        let findings = |row: &Row| row.run.as_ref().map_or(0, |run| run.findings.len());
        Self {
            version: Self::VERSION,
            ordain: env!("CARGO_PKG_VERSION").to_owned(),
            file,
            policy: result.policy,
            budget_seconds: config.budget.map(|budget| budget.as_secs_f64()),
            budget_executions: config.executions,
            began: result.began,
            wall_seconds: result.wall_seconds,
            executions: result.rows.iter().fold(0, |sum, row| sum.saturating_add(row.executions)),
            findings: result.rows.iter().map(findings).sum(),
            finished: !result.is_unfinished(),
            budget_spent: result.budget_spent,
            interrupted: result.interrupted,
            tests: result.rows.iter().map(|row| Test::new(suite, row)).collect(),
        }
    }

    /// Reads the record from its directory.
    pub fn read(directory: &Path) -> Result<Self, String> {
        let path = directory.join(FILE);
        let tell = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let mut text = Vec::new();
        let file = store::open(&path).map_err(|e| tell(&e))?;
        file.take(MOST_BYTES + 1).read_to_end(&mut text).map_err(|e| tell(&e))?;
        if text.len() as u64 > MOST_BYTES {
            return Err(tell(&"it is too large for the record of a suite"));
        }
        let record: Self = serde_json::from_slice(&text).map_err(|e| tell(&e))?;
        match record.version {
            Self::VERSION => Ok(record),
            other => Err(tell(&format!(
                "made by another version of Ordain (record {other}, this one reads {})",
                Self::VERSION
            ))),
        }
    }
}

impl Test {
    fn new(suite: &suite::Suite, row: &Row) -> Self {
        let run = row.run.as_deref();
        let config = suite.config.tests.iter().find(|test| test.name == row.name);
        let finding = |story: &ordain_report::Story| Finding {
            kind: story.kind,
            headline: story.headline.clone(),
            schedule: story.schedule.clone(),
            replay: config
                .zip(story.schedule.as_ref())
                .map(|(config, file)| replay_command(config, suite.base(), "ordain", file)),
        };
        Self {
            name: row.name.clone(),
            kind: row.kind,
            state: row.state().to_owned(),
            done: row.done,
            meaning: run.map(|run| run.meaning.clone()),
            notes: run.map_or_else(Vec::new, |run| run.notes.clone()),
            executions: row.executions,
            estimate: row.estimate,
            share: row.share(),
            findings: run.map_or_else(Vec::new, |run| run.findings.iter().map(finding).collect()),
            seconds: row.seconds,
            slices: row.slices,
            done_at: row.done_at,
            trouble: row.trouble.clone(),
            directory: row.directory.strip_prefix(&suite.directory).unwrap_or(&row.directory).to_owned(),
            fingerprint: row.fingerprint.map(|number| format!("{number:032x}")),
        }
    }

    /// The row, with what its own directory says; `None` if that is gone.
    pub(crate) fn restore(&self, directory: &Path) -> Option<Row> {
        let directory = directory.join(self.directory.file_name()?);
        let run = store::read_run(&directory).ok()?;
        Some(Row {
            name: self.name.clone(),
            kind: self.kind,
            done: self.done,
            kept: true,
            seconds: self.seconds,
            slices: self.slices,
            done_at: self.done_at,
            executions: self.executions,
            carried: self.executions,
            estimate: self.estimate,
            run: Some(Box::new(run)),
            trouble: self.trouble.clone(),
            require: None,
            directory,
            fingerprint: self.fingerprint.as_deref().and_then(|text| u128::from_str_radix(text, 16).ok()),
        })
    }
}

/// Writes the record into its directory.
pub(crate) fn write(suite: &suite::Suite, result: &SuiteResult) -> Result<PathBuf, String> {
    let text = serde_json::to_vec_pretty(&Suite::new(suite, result)).map_err(|e| e.to_string())?;
    store::write(&suite.directory, FILE, &text)
}
