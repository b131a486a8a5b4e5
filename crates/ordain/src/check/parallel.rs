//! Checks with several workers: each explores parts of the search on a thread of its own, with executions and names of its own.

use super::Check;
use crate::program::Body;
use crate::report::Report;
use crate::{conduct, replay, rt};
use ordain_check::Unobserved;
use std::sync::Arc;

/// A check with several workers: made by [`Check::workers`].
#[derive(Clone, Debug)]
#[must_use = "a check does nothing until it is run"]
pub struct ParallelCheck {
    check: Check,
    workers: usize,
}

impl Check {
    /// Explores with so many workers at the same time, each on a thread of its own; zero is one for each core. No class is explored twice,
    /// and none is left out, however many they are. `optimal`, `source` and `portfolio` are divided, so which finding comes first
    /// may depend on timing; samplers find what one worker finds, unless time ends the check; other strategies and bounds use one worker.
    ///
    /// The workers run the program at the same time, so it must be `Send` and `Sync`. A program that uses locks or channels made outside of it
    /// (statics, or captured by the closure) is explored by one worker, because all would share their values.
    ///
    /// ```
    /// let report = ordain::Check::new().workers(2).run(|| {
    ///     // the program
    /// });
    /// # assert_eq!(report.executions, 1);
    /// ```
    pub fn workers(self, workers: usize) -> ParallelCheck {
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        ParallelCheck { check: self, workers: if workers == 0 { cores() } else { workers } }
    }
}

impl ParallelCheck {
    /// Runs the check.
    ///
    /// # Panics
    /// If it is called inside a check, or with options that contradict each other.
    #[track_caller]
    pub fn run(self, program: impl Fn() + Send + Sync + 'static) -> Report {
        let Self { check, workers } = self;
        let strategy = check.settings.strategy();
        let divisible = check.settings.bound().is_none() && (strategy.samples() || strategy.rule().is_some());
        let name = check.effective_name();
        let led = replay::requested(&name).is_some() || conduct::is_conducted();
        if workers <= 1 || !divisible || led || rt::active() || check.exploration_trace.is_some() {
            return check.run(program);
        }
        check.assert_consistent();
        rt::install_hook();
        check.explore(&name, Body::Shared(Arc::new(program)), workers, None, &mut Unobserved).0
    }
}
