//! Exploring fragments of a search that others divide: a program on a worker of a cluster.

use super::foresee::FORESEEN;
use super::run::Run;
use super::{Check, Problem};
use crate::finding::{self, Finding, Noticed};
use crate::observe::Unobserved;
use crate::target::{Allowance, Native, Search, Wanted};
use ordain_explore::estimate::Estimate;
use ordain_explore::frontier::{Done, Order};
use ordain_wire::Unmodelled;
use std::time::{Duration, Instant};

/// How often a fragment is tried whose process is lost.
const ATTEMPTS: usize = 3;

/// A program that waits for fragments.
pub struct Fragments {
    check: Check,
    native: Native,
    search: Search,
    /// What was confirmed. It is told again with every fragment that shows it: whoever was told may not have counted the result.
    known: Vec<(Noticed, Finding)>,
    /// When it was last estimated how much there is.
    foreseen: Option<Instant>,
}

/// What came of a fragment.
pub struct FragmentResult {
    /// For the controller.
    pub done: Done,
    /// What was found, with what is the same for the same finding everywhere.
    pub findings: Vec<(String, Finding)>,
    /// How many executions there are in all, if that was estimated.
    pub estimate: Option<Estimate>,
}

impl Fragments {
    /// Starts the program, and makes sure that it is deterministic.
    pub fn open(check: Check) -> Result<Self, Problem> {
        let mut unobserved = Unobserved;
        let mut run = Run::new(&check, &mut unobserved)?;
        run.settle()?;
        let (search, native) = (run.job(), run.native);
        Ok(Self { check, native, search, known: Vec::new(), foreseen: None })
    }

    /// Explores a fragment. An error says why this program cannot be explored here.
    pub fn explore(&mut self, order: &Order) -> Result<FragmentResult, String> {
        let time = Duration::from_micros(order.task.slice);
        let due = self.foreseen.is_none_or(|at| at.elapsed() + time >= FORESEEN);
        let forecast = if due { Wanted::Rough } else { Wanted::No };
        let allowance = Allowance { before: 0, executions: u64::MAX, time, forecast, keep: false };
        let mut attempts = 0;
        let explored = loop {
            match self.native.explore_fragment(&self.search, order, &allowance) {
                Ok(Some(explored)) => break explored,
                Ok(None) => attempts += 1,
                Err(failure) => return Err(failure.to_string()),
            }
            if attempts == ATTEMPTS {
                let why = self.native.last_loss.clone().unwrap_or_default();
                return Err(format!("it destroys its process, so it must be checked on one machine: {why}"));
            }
        };
        if let Some(what) = Unmodelled::of(self.native.unmodelled()).next() {
            return Err(format!("threads {}, which is not explored: check it on one machine", what.text()));
        }
        if let Some(divergence) = &explored.turn.departure {
            return Err(match self.check.explain_departure(&mut self.native, divergence) {
                Ok(difference) => format!("it synchronises in ways that are not visible: {difference}"),
                Err(problem) => problem.to_string(),
            });
        }
        let Some(done) = explored.done else { return Err("there is no result".into()) };
        let mut findings = Vec::new();
        if explored.turn.telling {
            let Some(noticed) = finding::notice(&self.native, self.search.expected_status) else {
                return Err(format!("what it showed cannot be seen again: {:?}", self.native.aftermath().ended));
            };
            let key = format!("{} {}", noticed.kind.word(), noticed.place);
            let found = match self.known.iter().find(|(known, _)| known.is_like(&noticed)) {
                Some((_, finding)) => finding.clone(),
                None => self.confirm(noticed).map_err(|problem| problem.to_string())?,
            };
            findings.push((key, found));
        }
        if due {
            self.foreseen = Some(Instant::now());
        }
        Ok(FragmentResult { done, findings, estimate: explored.turn.estimate })
    }

    fn confirm(&mut self, noticed: Noticed) -> Result<Finding, Problem> {
        let mut unobserved = Unobserved;
        let mut run = Run::new(&self.check, &mut unobserved)?;
        std::mem::swap(&mut run.native, &mut self.native);
        let kept = run.keep(noticed.clone());
        std::mem::swap(&mut run.native, &mut self.native);
        kept?;
        let unconfirmed = Problem::Unconfirmed { kind: noticed.kind.word(), message: noticed.message.clone() };
        let finding = run.findings.pop().ok_or(unconfirmed)?;
        self.known.push((noticed, finding.clone()));
        Ok(finding)
    }
}
