//! Stand-in.
use ordain_explore::frontier::{Accepted, Explored, Fragment, Frontier, Rule};
use ordain_model::Site;
use serde::{Deserialize, Serialize};

/// What was explored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Tally {
    /// Executions that ran to their end.
    pub executions: u64,
    /// Executions that were cut short.
    pub blocked: u64,
    /// Steps of all executions.
    pub steps: u64,
    /// Most threads in one execution.
    pub threads: u64,
    /// Most steps in one execution.
    pub depth: u64,
}

impl Tally {
    fn add(&mut self, other: &Self) {
        self.executions += other.executions;
        self.blocked += other.blocked;
        self.steps += other.steps;
        self.threads = self.threads.max(other.threads);
        self.depth = self.depth.max(other.depth);
    }
}

/// A task.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Task {
    /// By which its result is known.
    pub lease: u64,
    /// What to explore.
    pub fragment: Fragment,
    /// Long loops.
    pub loops: Vec<Site>,
    /// For how long.
    pub slice_micros: u64,
}

/// A finding.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Finding {
    /// By which it is known.
    pub key: String,
    /// What it is.
    pub record: Vec<u8>,
}

/// A result.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Done {
    /// By which it is known.
    pub lease: u64,
    /// What came of the fragment.
    pub explored: Explored,
    /// What was explored.
    pub tally: Tally,
    /// What was found.
    pub findings: Vec<Finding>,
}

/// The controller.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Controller {
    frontier: Frontier,
    tally: Tally,
    slice_micros: u64,
}

impl Controller {
    /// Nothing is explored.
    pub fn new(rule: Rule, slice_micros: u64) -> Self {
        Self { frontier: Frontier::new(rule), tally: Tally::default(), slice_micros }
    }
    /// A task.
    pub fn assign(&mut self, workers: usize) -> Option<Task> {
        let a = self.frontier.assign(workers)?;
        Some(Task { lease: a.lease, fragment: a.fragment, loops: a.loops, slice_micros: self.slice_micros })
    }
    /// Takes a result in.
    pub fn accept(&mut self, done: &Done) -> Accepted {
        let accepted = self.frontier.accept(done.lease, done.explored.clone());
        match accepted {
            Accepted::Counts => self.tally.add(&done.tally),
            Accepted::Restarted => self.tally = Tally::default(),
            Accepted::Stale | Accepted::Malformed => {}
        }
        accepted
    }
    /// Releases.
    pub fn release(&mut self, lease: u64) -> bool {
        self.frontier.release(lease)
    }
    /// Finished.
    pub fn is_finished(&self) -> bool {
        self.frontier.is_finished()
    }
    /// Waiting.
    pub fn waiting(&self) -> usize {
        self.frontier.waiting()
    }
    /// Restarts.
    pub fn restarts(&self) -> u32 {
        self.frontier.restarts()
    }
    /// Tally.
    pub fn tally(&self) -> Tally {
        self.tally
    }
}
