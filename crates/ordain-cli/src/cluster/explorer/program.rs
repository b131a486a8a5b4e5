//! Explores an unmodified program.

use crate::cluster::{Record, check_of};
use ordain_cluster::{Explorer, Finding, Refusal, Returned, RunSpec};
use ordain_explore::frontier::{Order, Signals};
use ordain_native::Fragments;
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;

/// A program that waits for fragments.
pub(super) struct Program {
    fragments: Fragments,
    /// Where it is on this worker.
    path: String,
}

impl Program {
    pub(super) fn open(spec: &RunSpec, directory: &Path) -> Result<Self, Refusal> {
        let check = check_of(spec, directory)?;
        let path = check.launch.program.to_string_lossy().into_owned();
        let fragments = Fragments::open(check).map_err(|problem| Refusal(problem.to_string()))?;
        Ok(Self { fragments, path })
    }
}

impl Explorer for Program {
    fn explore(&mut self, order: &Order, signals: &Signals) -> Result<Returned, Refusal> {
        if signals.stop.load(Relaxed) {
            return Err(Refusal("the worker leaves".into()));
        }
        let result = self.fragments.explore(order).map_err(Refusal)?;
        let findings = result.findings.into_iter().map(|(key, found)| {
            let schedule = found.file.as_ref().and_then(|file| std::fs::read_to_string(file).ok()).unwrap_or_default();
            let record = Record { story: found.story, schedule, path: Some(self.path.clone()) };
            Finding { key, record: serde_json::to_vec(&record).unwrap_or_default() }
        });
        Ok(Returned {
            findings: findings.collect(),
            estimate: result.estimate,
            doubts: result.doubt.into_iter().collect(),
            cpu: result.cpu,
            ..Returned::new(result.done)
        })
    }
}
