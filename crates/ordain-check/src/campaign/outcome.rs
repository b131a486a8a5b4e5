//! What a campaign comes to: the verdict, and everything that bears on it.

use super::{Attempt, Campaign};
use crate::Problem;
use crate::explorer::Explorer;
use crate::resources::processor_time;
use ordain_explore::branch_point::BranchPoint;
use ordain_explore::strategy::{Bound, Kind as StrategyKind};
use ordain_explore::{Coverage, Lowest, Plan, Planned, Summary};
use ordain_model::{End, Level};
use ordain_report::terminal::plural;
use ordain_report::{Branch, Estimate, Sample, Sight, Verdict, Workers, branch};
use std::time::Duration;

/// What a campaign came to.
pub struct Outcome<E: Explorer> {
    /// What ran the program.
    pub explorer: E,
    /// The verdict.
    pub verdict: Verdict,
    /// What was covered, if nothing is left and nothing speaks against it.
    pub coverage: Option<Coverage>,
    /// Why the search could not rely on what is visible, if it has turned out so.
    pub departed: Option<String>,
    /// Too little was visible for a verdict.
    pub blind: bool,
    /// The strategy at the end, and the bound if it holds.
    pub strategy: StrategyKind,
    /// The bound.
    pub bound: Option<Bound>,
    /// What the search did. If not everything was explored, executions that were made before it began again count.
    pub summary: Summary,
    /// Executions that were samples of a portfolio, about, if there were several workers.
    pub samples: u64,
    /// Executions that misbehaved.
    pub failing: u64,
    /// What the user should know of how it went.
    pub notes: Vec<String>,
    /// What else misbehaved.
    pub unconfirmed: Vec<String>,
    /// The findings.
    pub findings: Vec<E::Finding>,
    /// Samples by which the verdict was cross-checked.
    pub cross_checked: u64,
    /// Visible operations in an execution at most, those that make, join and end threads left out.
    pub visible: usize,
    /// Threads that spin were held.
    pub spin_held: bool,
    /// Threads that got something done again and again had to let others go first.
    pub took_turns: bool,
    /// The time was over.
    pub timed_out: bool,
    /// Somebody stopped it.
    pub interrupted: bool,
    /// How many executions there are in all, as far as can be told.
    pub estimate: Option<Estimate>,
    /// How it went.
    pub progress: Vec<Sample>,
    /// The path that the search was on when it ended.
    pub path: Vec<Branch>,
    /// How many workers explored at the same time, and how the search was divided.
    pub workers: usize,
    /// How the search was divided, if it was.
    pub division: Option<Workers>,
    /// Time by the clock.
    pub wall: Duration,
    /// Processor time, the program's included.
    pub cpu: Duration,
    /// Processor time of exploring alone.
    pub exploring: Duration,
    /// Whether what is left was kept, and can be resumed.
    pub resumable: bool,
}

impl<E: Explorer> Outcome<E> {
    /// The verdict in a sentence, at the level of what was visible.
    pub fn meaning(&self, level: Level) -> String {
        let classes = self.summary.executions;
        let executions = plural(classes as usize, "execution");
        let exhausted = self.is_exhaustive();
        let goes_on = self.departed.is_none();
        match self.verdict {
            Verdict::Finding => format!("{} of {executions} misbehaved", self.findings.len()),
            Verdict::Verified => {
                let assumption = level.assumption();
                format!("every class of schedules was explored ({classes}). Verified at level {level}: {assumption}")
            }
            Verdict::NoFinding if exhausted && !self.blind => format!(
                "every class of schedules that is visible was explored ({classes}), but not all that threads do is visible"
            ),
            Verdict::NoFinding if exhausted => {
                format!("there was almost nothing to explore: all that is visible is covered by {executions}")
            }
            Verdict::NoFinding if self.summary.exhausted && self.coverage.is_none() && goes_on => {
                format!("every class of schedules was explored ({classes}), but that was not cross-checked to its end")
            }
            Verdict::NoFinding if self.coverage == Some(Coverage::Bound) => {
                format!("every class within the bound was explored ({classes})")
            }
            Verdict::NoFinding => match self.estimate {
                Some(estimate) => {
                    let samples = match self.strategy {
                        StrategyKind::Portfolio if goes_on => {
                            let about = if self.workers > 1 { "about " } else { "" };
                            format!(", {about}{} of them samples", self.samples)
                        }
                        _ => String::new(),
                    };
                    let explored = estimate.in_words(things(self.strategy));
                    format!("nothing was found in {executions}{samples}; {explored} explored")
                }
                None => format!("nothing was found in {executions}; what is left was not explored"),
            },
        }
    }

    /// How much of what threads do was visible.
    pub fn sight(&self) -> Sight {
        match () {
            () if self.blind => Sight::Nothing,
            () if self.departed.is_some() || self.explorer.is_unverifiable() => Sight::Part,
            () => Sight::Whole,
        }
    }

    /// The strategy, or that there was a bound.
    pub fn strategy_name(&self) -> &'static str {
        if self.bound.is_some() { "bounded" } else { self.strategy.name() }
    }

    /// Whether everything was explored, and nothing speaks against it.
    pub fn is_exhaustive(&self) -> bool {
        self.coverage == Some(Coverage::Everything)
    }
}

/// What a search of this kind makes one execution for.
fn things(kind: StrategyKind) -> &'static str {
    match kind {
        StrategyKind::Dfs => "schedules",
        StrategyKind::Dpor => "executions",
        _ => "classes",
    }
}

impl<E: Explorer> Campaign<'_, E> {
    /// What it comes to. There is no verdict if no execution came to its end.
    pub(super) fn conclude(
        mut self,
        mut summary: Summary,
        coverage: Option<Coverage>,
        departed: Option<String>,
    ) -> Attempt<Outcome<E>, E> {
        self.note_end();
        let exhausted = coverage == Some(Coverage::Everything);
        let searched = self.searched(&summary);
        let samples = self.samples(&summary);
        if !exhausted {
            // They prove nothing about classes, but nothing was found in them.
            summary.executions += self.discarded;
        }
        if self.findings.is_empty()
            && let Some(problem) = self.unconfirmed.problem()
        {
            return Err(problem);
        }
        if summary.executions == 0 && self.findings.is_empty() {
            return Err(self.nothing_ran());
        }
        let blind = self.is_blind(&summary);
        let verdict = match () {
            () if !self.findings.is_empty() => Verdict::Finding,
            () if exhausted && !blind && !self.worker.explorer.is_unverifiable() => Verdict::Verified,
            () => Verdict::NoFinding,
        };
        self.estimate = match () {
            () if exhausted => Some(Estimate::exact(summary.executions)),
            // What is left was estimated from what is visible, and that is not all.
            () if departed.is_some() => None,
            // More than was expected says that nobody knows how much there is.
            () => self.estimate.filter(|e| e.log10 >= (searched as f64 + 1.0).log10()).map(|e| e.with_done(searched)),
        };
        let path = if exhausted { Vec::new() } else { self.describe_path() };
        let division = self.division();
        let failing = self.failing.max(self.findings.len() as u64);
        self.progress.add(Sample {
            seconds: self.started.elapsed().as_secs_f64(),
            executions: summary.executions,
            findings: self.findings.len(),
            estimate: self.estimate,
        });
        Ok(Outcome {
            verdict,
            coverage,
            departed,
            blind,
            strategy: self.kind,
            bound: self.bound,
            summary,
            samples,
            failing,
            notes: self.notes,
            unconfirmed: self.unconfirmed.notes().collect(),
            findings: self.findings,
            cross_checked: self.cross_checked,
            visible: self.visible,
            spin_held: self.spin_held,
            took_turns: self.took_turns,
            timed_out: self.timed_out,
            interrupted: self.interrupted,
            estimate: self.estimate,
            progress: self.progress.done(),
            path,
            workers: self.crowd.max(1),
            division,
            wall: self.started.elapsed(),
            exploring: self.exploring,
            resumable: self.resumable,
            cpu: {
                self.worker.explorer.release();
                processor_time().saturating_sub(self.cpu)
            },
            explorer: self.worker.explorer,
        })
    }

    /// Whether too little was visible for a verdict.
    pub(super) fn is_blind(&self, summary: &Summary) -> bool {
        let summary = Summary { visible: self.visible, ..*summary };
        self.worker.explorer.is_blind(&summary)
    }

    /// Why there is nothing to tell.
    pub(super) fn nothing_ran(&mut self) -> Problem<E::Failure> {
        self.note_end();
        match () {
            () if self.interrupted => Problem::NothingRan { when: "it was stopped", stopped: true },
            () if self.timed_out => Problem::NothingRan { when: "the time was over", stopped: false },
            () => Problem::NothingRan { when: "the search ended", stopped: false },
        }
    }

    /// The path that the search was on, in words: the program follows it once more for that.
    fn describe_path(&mut self) -> Vec<Branch> {
        let branch_points = std::mem::take(&mut self.branch_points);
        let prefix: Vec<Planned> = branch_points.iter().map(|c| Planned { transition: c.taken, op: None }).collect();
        let names = self.worker.explorer.names().thread_count();
        let known =
            |c: &BranchPoint| [c.taken].iter().chain(&c.explored).chain(&c.left).all(|t| t.thread.index() < names);
        if branch_points.is_empty() || !branch_points.iter().all(known) {
            return Vec::new();
        }
        let ran = self.in_a_moment(|campaign| {
            let explorer = &mut campaign.worker.explorer;
            explorer.run(&mut Plan::follow(&prefix, &mut Lowest));
            explorer.failure().is_none() && !explorer.is_over()
        });
        let explorer = &self.worker.explorer;
        if !ran || matches!(explorer.execution().end, End::Diverged(_)) {
            return Vec::new();
        }
        let told = branch_points.iter().enumerate();
        explorer.with_words(|words| {
            told.map(|(depth, c)| branch(words, explorer.execution(), depth, c.taken, &c.explored, &c.left)).collect()
        })
    }
}
