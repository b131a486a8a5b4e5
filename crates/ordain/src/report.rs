//! Reports: what a check found out, and how sure it is.

use crate::finding::Finding;
use ordain_model::Options;
pub use ordain_report::{Estimate, Verdict};
use std::fmt;
use std::time::Duration;

/// The result of a check. Its `Display` is the verdict with everything that limits it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Report {
    /// The name of the check.
    pub name: String,
    /// What was found out.
    pub verdict: Verdict,
    /// The strategy or bound that was used.
    pub strategy: String,
    /// Executions that ran to their end.
    pub executions: u64,
    /// Executions that were cut short because what would have followed was covered elsewhere.
    pub blocked: u64,
    /// Steps of all executions.
    pub steps: u64,
    /// Most threads in one execution.
    pub threads: usize,
    /// Most steps in one execution.
    pub depth: usize,
    /// Executions that misbehaved.
    pub failing: u64,
    /// How many workers explored at the same time.
    pub workers: usize,
    /// The findings, one of each kind and place.
    pub findings: Vec<Finding>,
    /// How long it took.
    pub elapsed: Duration,
    /// How many executions an exhaustive search makes in all, as far as can be told.
    pub estimate: Option<Estimate>,
    /// What went wrong beside the check.
    pub(crate) trouble: Option<String>,
    /// Why the program cannot be verified, whatever was explored.
    pub(crate) blind_spot: Option<&'static str>,
    /// How they went about it, if the search was divided.
    pub(crate) crew: Option<ordain_report::Workers>,
    pub(crate) spun: bool,
    pub(crate) bound_reached: bool,
    pub(crate) options: Options,
}

impl Report {
    /// Panics with the first finding if there is one.
    #[track_caller]
    pub fn expect_no_finding(&self) {
        if let Some(finding) = self.findings.first() {
            panic!("{finding}\n{self}");
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { executions, blocked, .. } = *self;
        let classes = |n: u64| if n == 1 { "class".to_owned() } else { format!("{n} classes") };
        match self.verdict {
            Verdict::Verified if self.strategy == "dfs" => {
                write!(f, "verified: all {executions} schedules explored")?;
            }
            Verdict::Verified if executions == 1 => write!(f, "verified: the only class of schedules explored")?,
            Verdict::Verified if matches!(self.strategy.as_str(), "optimal" | "source" | "dpor") => {
                write!(f, "verified: all {} of schedules explored", classes(executions))?;
            }
            Verdict::Verified => write!(f, "verified: every class of schedules explored in {executions} executions")?,
            Verdict::NoFinding if self.bound_reached => {
                write!(
                    f,
                    "no finding within the bound, in {executions} executions; schedules beyond it were not explored"
                )?;
            }
            Verdict::NoFinding if self.blind_spot.is_some() => write!(f, "no finding in {executions} executions")?,
            Verdict::NoFinding if self.estimate.is_some() => {
                let things = if self.strategy == "dfs" { "schedules" } else { "classes" };
                let explored = self.estimate.map(|e| e.in_words(things)).unwrap_or_default();
                write!(f, "no finding in {executions} executions; {explored} explored")?;
            }
            Verdict::NoFinding => {
                write!(f, "no finding in {executions} executions; not every class of schedules was explored")?;
            }
            Verdict::Finding => {
                let n = self.findings.len();
                write!(f, "finding: {} of {executions} executions misbehaved", self.failing)?;
                if n > 1 {
                    write!(f, " in {n} ways")?;
                }
            }
        }
        if blocked > 0 {
            write!(f, " (and {blocked} cut short)")?;
        }
        if let Some(blind_spot) = self.blind_spot {
            write!(f, "; not verified: {blind_spot}")?;
        }
        write!(f, " [strategy: {}; level: ordain types; memory model: sequential consistency", self.strategy)?;
        if self.options.kind_time {
            write!(f, "; kind time: waits expire only when nothing else can happen")?;
        }
        if self.spun {
            write!(
                f,
                "; spinning threads were taken to wait for a change after {} idle rounds",
                self.options.spin_bound
            )?;
        }
        if let Some(trouble) = &self.trouble {
            write!(f, "; {trouble}")?;
        }
        write!(f, "]")
    }
}
