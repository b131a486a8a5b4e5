//! Whoever watches a check: is told how it goes, and can stop it.

use ordain_explore::Summary;
use ordain_explore::frontier::Division;
use ordain_report::{Estimate, Kind};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// How far a check is.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Time since it began.
    pub elapsed: Duration,
    /// What the search has done.
    pub summary: Summary,
    /// Findings so far.
    pub findings: usize,
    /// How many executions there are in all, as far as can be told.
    pub estimate: Option<Estimate>,
    /// Executions after which it ends, if there is a limit.
    pub most: Option<u64>,
    /// Time after which it ends, if there is a limit.
    pub limit: Option<Duration>,
    /// Processes that explore at the same time.
    pub workers: usize,
    /// How the search is divided, if it is.
    pub division: Option<Division>,
}

/// Watches a check. It hears something about ten times a second.
pub trait Observer {
    /// The search has gone on.
    fn progress(&mut self, progress: &Progress);
    /// The search of an earlier check is resumed, which has made so many executions.
    fn resumed(&mut self, _executions: u64) {}
    /// How long the search may go on, and how many executions it may make beyond those that are done, before it tells.
    fn allowance(&self, _done: u64) -> (Duration, u64) {
        (Duration::MAX, u64::MAX)
    }
    /// How long the search has waited for its turns: that is not time of the search.
    fn waited(&self) -> Duration {
        Duration::ZERO
    }
    /// A finding is being made smaller.
    fn shrinking(&mut self, _kind: Kind, _elapsed: Duration) {}
    /// Whether the check shall end as it is.
    fn is_stopped(&self) -> bool {
        false
    }
    /// What is set when the check shall end, for those who cannot ask: while a program explores, nobody does.
    fn stop_flag(&self) -> Option<Arc<AtomicBool>> {
        None
    }
}

/// Nobody.
pub struct Unobserved;

impl Observer for Unobserved {
    fn progress(&mut self, _progress: &Progress) {}
}
