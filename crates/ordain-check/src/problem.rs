//! Why a campaign came to no verdict.

use crate::verdict::no_verdict;
use ordain_report::terminal::with_article;
use std::path::PathBuf;

/// Why a check came to no verdict.
#[derive(Debug, thiserror::Error)]
pub enum Problem<F: std::error::Error + 'static> {
    /// The program cannot be run under control.
    #[error(transparent)]
    Failure(F),
    /// It does not do the same under the same schedule.
    #[error("the program is not deterministic: after the same {step} steps {difference}")]
    Nondeterminism {
        /// The first step that differs.
        step: usize,
        /// How it differs.
        difference: String,
    },
    /// A checkpoint cannot be resumed.
    #[error("the search cannot be resumed from {path}: {reason}")]
    Resume {
        /// The checkpoint.
        path: PathBuf,
        /// Why not.
        reason: String,
    },
    /// The exploration trace cannot be made.
    #[error("cannot write the exploration trace: {0}")]
    Trace(std::io::Error),
    /// No execution came to its end.
    #[error("{}", no_verdict(*stopped, *timed_out))]
    NothingRan {
        /// Somebody stopped it.
        stopped: bool,
        /// The time was over.
        timed_out: bool,
    },
    /// Executions misbehaved, and there was no time to confirm that.
    #[error("{} was found, but there was no time to confirm it: {message}{}", with_article(kind), others(*more))]
    NoTimeToConfirm {
        /// What was found first.
        kind: &'static str,
        /// What is known of it.
        message: String,
        /// How many executions more misbehaved, in other ways.
        more: usize,
    },
    /// Something was found that a fresh process does not show.
    #[error("{} was found that does not show again under the same schedule: {message}", with_article(kind))]
    Unconfirmed {
        /// What was found.
        kind: &'static str,
        /// What was known.
        message: String,
        /// What the same schedule came to then.
        instead: String,
    },
}

/// How many others there are, if any.
fn others(more: usize) -> String {
    if more == 0 { String::new() } else { format!(" (and {more} more, which differ from it)") }
}

impl<F: std::error::Error + 'static> From<F> for Problem<F> {
    fn from(failure: F) -> Self {
        Self::Failure(failure)
    }
}
