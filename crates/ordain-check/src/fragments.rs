//! Exploring fragments of a search that others divide: what a worker of a cluster does.

use crate::campaign::{Campaign, CheckpointFile, confirm::explain_departure};
use crate::explorer::{Explorer, Observation};
use crate::limit::Limit;
use crate::observe::Unobserved;
use crate::resources::processor_time;
use crate::turn::{Allowance, Job, Part, Wanted};
use crate::{Problem, RunOptions, Settings};
use ordain_explore::estimate::Estimate;
use ordain_explore::frontier::{Done, Order};
use std::time::{Duration, Instant};

/// How often a fragment is tried whose process is lost.
const ATTEMPTS: usize = 3;
/// Time between estimates of how much there is.
const FORESEEN: Duration = Duration::from_secs(1);

/// A program that waits for fragments.
pub struct Fragments<E: Explorer> {
    settings: Settings,
    /// What explores; it is elsewhere while something is confirmed.
    worker: Option<crate::Worker<E>>,
    job: Job,
    /// What was confirmed. It is told again with every fragment that shows it: whoever was told may not have counted the result.
    known: Vec<(Observation, E::Finding)>,
    /// When it was last estimated how much there is.
    foreseen: Option<Instant>,
}

/// What came of a fragment.
pub struct FragmentResult<F> {
    /// For the controller.
    pub done: Done,
    /// What was found, with what is the same for the same finding everywhere.
    pub findings: Vec<(String, F)>,
    /// How many executions there are in all, if that was estimated.
    pub estimate: Option<Estimate>,
    /// Why nothing can be verified, if that has turned out so.
    pub doubt: Option<String>,
    /// Processor time that it took.
    pub cpu: Duration,
}

/// Whoever divides a search has its checkpoint.
fn nowhere() -> CheckpointFile {
    CheckpointFile { file: String::new(), identity: Vec::new() }
}

impl<E: Explorer> Fragments<E> {
    /// Makes sure that the program is deterministic.
    pub fn open(settings: Settings, explorer: E) -> Result<Self, Problem<E::Failure>> {
        let mut unobserved = Unobserved;
        let options = RunOptions::default();
        let mut campaign = Campaign::new(&settings, &options, explorer, nowhere(), &mut unobserved)?;
        campaign.settle()?;
        let (job, worker) = campaign.into_parts();
        Ok(Self { settings, worker: Some(worker), job, known: Vec::new(), foreseen: None })
    }

    /// What runs the program.
    pub fn explorer(&self) -> Option<&E> {
        self.worker.as_ref().map(|worker| &worker.explorer)
    }

    /// Explores a fragment. An error says why this program cannot be explored here.
    pub fn explore(&mut self, order: &Order) -> Result<FragmentResult<E::Finding>, String> {
        let begin = processor_time();
        let time = Duration::from_micros(order.task.slice);
        let due = self.foreseen.is_none_or(|at| at.elapsed() + time >= FORESEEN);
        let forecast = if due { Wanted::Rough } else { Wanted::No };
        let allowance = Allowance { before: 0, executions: u64::MAX, time, forecast, keep: false };
        let Some(worker) = &mut self.worker else { return Err("what explored was lost".into()) };
        let mut attempts = 0;
        let mut turn = loop {
            match worker.explore(&self.job, Part::Fragment(order), &allowance, None, &Limit::default()) {
                Ok(Some(turn)) => break turn,
                Ok(None) => attempts += 1,
                Err(failure) => return Err(failure.to_string()),
            }
            if attempts == ATTEMPTS {
                let why = worker.explorer.losses().1.unwrap_or_default();
                return Err(format!("it destroys its process, so it must be checked on one machine: {why}"));
            }
        };
        if let Some(why) = worker.explorer.must_stay() {
            return Err(why);
        }
        if let Some(divergence) = &turn.departure {
            return Err(match explain_departure(&mut worker.explorer, divergence, &Limit::default()) {
                Ok(difference) => format!("it synchronises in ways that are not visible: {difference}"),
                Err(problem) => problem.to_string(),
            });
        }
        let doubt = worker.explorer.doubt();
        let Some(done) = turn.done.take() else { return Err("there is no result".into()) };
        let mut findings = Vec::new();
        if let Some(observation) = turn.observation.take() {
            let key = format!("{} {}", observation.kind.name(), observation.place);
            let found = match self.known.iter().find(|(known, _)| known.is_like(&observation)) {
                Some((_, finding)) => finding.clone(),
                None => self.confirm(observation).map_err(|problem| problem.to_string())?,
            };
            findings.push((key, found));
        }
        if due {
            self.foreseen = Some(Instant::now());
        }
        let cpu = turn.cpu + processor_time().saturating_sub(begin);
        Ok(FragmentResult { done, findings, estimate: turn.estimate, doubt, cpu })
    }

    fn confirm(&mut self, observation: Observation) -> Result<E::Finding, Problem<E::Failure>> {
        let mut unobserved = Unobserved;
        let unconfirmed = || Problem::Unconfirmed {
            kind: observation.kind.name(),
            message: observation.message.clone(),
            instead: "ended well".into(),
        };
        let worker = self.worker.take().ok_or_else(unconfirmed)?;
        let options = RunOptions::default();
        let mut campaign = Campaign::with_worker(&self.settings, &options, worker, nowhere(), &mut unobserved);
        let numbered = self.known.len();
        let confirmed = campaign.confirm_alone(observation.clone(), numbered);
        self.worker = Some(campaign.into_parts().1);
        let finding = confirmed?.ok_or_else(unconfirmed)?;
        self.known.push((observation, finding.clone()));
        Ok(finding)
    }
}
