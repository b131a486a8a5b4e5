//! What a campaign comes to: the verdict, and everything that bears on it.

use super::{Attempt, Campaign};
use crate::Problem;
use crate::explorer::Explorer;
use crate::resources::processor_time;
use crate::verdict::{Evidence, SPINNING, verdict};
use ordain_explore::branch_point::BranchPoint;
use ordain_explore::strategy::{Bound, Kind as StrategyKind};
use ordain_explore::{Coverage, Lowest, Plan, Planned, Summary};
use ordain_model::{End, Level, Options};
use ordain_report::{Branch, Estimate, Note, Sample, Sight, Verdict, Workers, branch};
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
    /// How much of what threads do was visible.
    pub sight: Sight,
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
    pub notes: Vec<Note>,
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
    /// Whether there is a checkpoint from which it can be resumed.
    pub resumable: bool,
}

impl<E: Explorer> Outcome<E> {
    /// All that a conclusion is drawn from. A front end adds notes on its kind of program.
    pub fn evidence(&self, level: Level, options: Options) -> Evidence {
        Evidence {
            level,
            findings: self.findings.iter().map(|finding| E::story(finding).kind).collect(),
            summary: Summary { visible: self.visible, ..self.summary },
            coverage: self.coverage,
            strategy: self.strategy,
            samples: (self.strategy == StrategyKind::Portfolio).then_some((self.samples, self.workers <= 1)),
            sight: self.sight,
            departed: self.departed.clone(),
            estimate: self.estimate,
            options,
            held: self.spin_held.then_some(SPINNING),
            took_turns: self.took_turns,
            timed_out: self.timed_out,
            interrupted: self.interrupted,
            notes: self.notes.clone(),
        }
    }

    /// The strategy, or that there was a bound.
    pub fn strategy_name(&self) -> &'static str {
        if self.bound.is_some() { "bounded" } else { self.strategy.name() }
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
        let sight = match () {
            () if self.is_blind(&summary) => Sight::Nothing,
            () if departed.is_some() || self.worker.explorer.is_unverifiable() => Sight::Part,
            () => Sight::Whole,
        };
        let verdict = verdict(!self.findings.is_empty(), coverage, sight);
        self.notes.extend(self.unconfirmed.notes().map(Note::from));
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
            sight,
            strategy: self.kind,
            bound: self.bound,
            summary,
            samples,
            failing,
            notes: self.notes,
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
            workers: self.divided_among.max(1),
            division,
            wall: self.started.elapsed(),
            exploring: self.exploring,
            resumable: self.resumable,
            cpu: {
                self.worker.explorer.release();
                processor_time().saturating_sub(self.cpu) + self.workers_cpu.total()
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
        Problem::NothingRan { stopped: self.interrupted, timed_out: self.timed_out }
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
