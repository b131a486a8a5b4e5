//! What a suite came to: a row for each test.

use crate::allocate::Policy;
use ordain_report::{Run, Verdict};
use serde::{Deserialize, Serialize};

/// What a suite came to.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SuiteResult {
    /// The version of this record.
    pub version: u32,
    /// What was aimed at, at the end.
    pub policy: Policy,
    /// Time by the clock, in seconds.
    pub wall_seconds: f64,
    /// Whether the budget ended it before all tests were done.
    pub budget_spent: bool,
    /// Whether the user stopped it.
    pub interrupted: bool,
    /// The tests, in the order of the file.
    pub tests: Vec<Row>,
}

impl SuiteResult {
    /// The version of records that this Ordain writes and reads.
    pub const VERSION: u32 = 1;

    /// Whether something was found.
    pub fn has_finding(&self) -> bool {
        self.tests.iter().any(|row| row.run.as_ref().is_some_and(|run| run.verdict == Verdict::Finding))
    }

    /// Whether a test came to no verdict.
    pub fn has_trouble(&self) -> bool {
        self.tests.iter().any(|row| row.trouble.is_some())
    }
}

/// What a test of a suite came to.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Row {
    /// What it is called.
    pub name: String,
    /// Whether it needs nothing more: everything is explored, something was found, or it has its own limit.
    pub done: bool,
    /// Time that it had, in seconds.
    pub seconds: f64,
    /// Slices that it had.
    pub slices: u64,
    /// When it was done, in seconds since the suite began.
    pub done_at: Option<f64>,
    /// What its check did.
    pub run: Option<Run>,
    /// Why it came to no verdict.
    pub trouble: Option<Trouble>,
}

/// Why a test came to no verdict.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Trouble {
    /// What happened, and why.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
}

impl Row {
    /// The share of its schedules that is explored, if that can be told.
    pub fn share(&self) -> Option<f64> {
        let run = self.run.as_ref()?;
        if run.exhausted {
            return Some(1.0);
        }
        let estimate = run.estimate?;
        Some(10f64.powf((run.executions.max(1) as f64).log10() - estimate.log10).min(1.0))
    }
}
