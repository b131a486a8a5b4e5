//! Reports: what a check found out, and how sure it is.

use crate::finding::Finding;
use ordain_explore::Summary;
use ordain_model::Options;
use std::fmt;
use std::time::Duration;

/// What a check found out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Every class of schedules was explored, and none misbehaves.
    Verified,
    /// The budget or the bound ended the search before that, and nothing was found.
    NoFinding,
    /// Something was found.
    Finding,
}

/// The result of a check.
#[derive(Clone, Debug)]
pub struct Report {
    pub(crate) name: String,
    pub(crate) verdict: Verdict,
    pub(crate) strategy: String,
    pub(crate) summary: Summary,
    pub(crate) failing: u64,
    pub(crate) findings: Vec<Finding>,
    pub(crate) elapsed: Duration,
    pub(crate) spun: bool,
    pub(crate) bound_reached: bool,
    pub(crate) options: Options,
}

impl Report {
    /// The name of the check.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The verdict. Its full text, with everything that limits it, is the report's `Display`.
    pub fn verdict(&self) -> Verdict {
        self.verdict
    }

    /// Executions that ran to their end.
    pub fn executions(&self) -> u64 {
        self.summary.executions
    }

    /// Executions that were cut short because what would have followed was covered elsewhere.
    pub fn blocked(&self) -> u64 {
        self.summary.blocked
    }

    /// Steps of all executions.
    pub fn steps(&self) -> u64 {
        self.summary.steps
    }

    /// Most threads in one execution.
    pub fn threads(&self) -> usize {
        self.summary.threads
    }

    /// Most steps in one execution.
    pub fn depth(&self) -> usize {
        self.summary.depth
    }

    /// Executions that misbehaved.
    pub fn failing(&self) -> u64 {
        self.failing
    }

    /// The findings, one of each kind and place.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// How long it took.
    pub fn elapsed(&self) -> Duration {
        self.elapsed
    }

    /// The strategy or bound that was used.
    pub fn strategy(&self) -> &str {
        &self.strategy
    }

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
        let Summary { executions, blocked, .. } = self.summary;
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
        write!(f, "]")
    }
}
