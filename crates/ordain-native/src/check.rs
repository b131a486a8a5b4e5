//! Checking a program: explore its schedules, confirm what is found in a fresh process, and say honestly what was not seen.

use crate::binary::Binary;
use crate::finding::{self, Finding, Kind, Noticed};
use crate::process::{Launch, Patience};
use crate::target::{Failure, ModeChange, Native, Search};
use ordain_explore::strategy::{Bound, Bounded, Kind as StrategyKind};
use ordain_explore::{Coverage, Lowest, Plan, Planned, Strategy, Summary, Target, prefix_of, search};
use ordain_model::describe;
use ordain_model::{Divergence, End, Options, Schedule};
use ordain_wire::Mode;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// The level at which programs are checked.
pub const LEVEL: &str = "sync";

/// A check of a program, and its options.
#[derive(Clone, Debug)]
pub struct Check {
    /// What is known of the program's file.
    pub binary: Binary,
    /// What to run.
    pub launch: Launch,
    /// What to assume of the world.
    pub options: Options,
    /// How schedules are chosen; if not told, optimal search, or a portfolio if there is a budget.
    pub strategy: Option<StrategyKind>,
    /// A bound on preemptions or delays.
    pub bound: Option<Bound>,
    /// Seed of samplers.
    pub seed: u64,
    /// Ordering constraints that probabilistic concurrency testing looks for.
    pub depth: usize,
    /// Most executions.
    pub max_executions: Option<u64>,
    /// Most time.
    pub max_time: Option<Duration>,
    /// The mode, if it is not to be chosen.
    pub mode: Option<Mode>,
    /// Whether to go on after a finding.
    pub keep_going: bool,
    /// Whether output that depends on the schedule is a finding.
    pub compare_output: bool,
    /// The exit status that is no finding.
    pub expected_status: i32,
    /// How long the program may do nothing visible.
    pub patience: Patience,
    /// Where schedules of findings are written; nowhere if not told.
    pub directory: Option<PathBuf>,
}

/// What was found out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Every class was explored, at the level.
    Verified,
    /// Nothing was found in what was explored.
    NoFinding,
    /// Something was found.
    Finding,
}

impl Verdict {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Verified => "verified",
            Self::NoFinding => "no finding",
            Self::Finding => "finding",
        }
    }
}

/// The result of a check.
#[derive(Debug)]
pub struct Report {
    /// The verdict.
    pub verdict: Verdict,
    /// What the verdict means, in a sentence.
    pub meaning: String,
    /// What weakens it, or what the user should know.
    pub notes: Vec<String>,
    /// The strategy.
    pub strategy: &'static str,
    /// The mode at the end.
    pub mode: Mode,
    /// Why that mode.
    pub mode_reason: String,
    /// What the search did.
    pub summary: Summary,
    /// Visible operations in an execution at most, those that make, join and end threads left out.
    pub visible: usize,
    /// Findings.
    pub findings: Vec<Finding>,
    /// Processes that were lost on the way.
    pub losses: u64,
    /// Time by the clock.
    pub wall: Duration,
    /// Processor time of the launcher and the program.
    pub cpu: Duration,
    /// Processor time of exploring alone: without starting the program, and without confirming findings.
    pub exploring: Duration,
}

/// Why a check came to no verdict.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// The program cannot be run under control.
    #[error(transparent)]
    Failure(#[from] Failure),
    /// It does not do the same under the same schedule.
    #[error("the program is not deterministic: after the same {step} steps {difference}")]
    Nondeterminism {
        /// The first step that differs.
        step: usize,
        /// How it differs.
        difference: String,
    },
    /// Something was found that a fresh process does not show.
    #[error("a {kind} was found that does not show again under the same schedule: {message}")]
    Unconfirmed {
        /// What was found.
        kind: &'static str,
        /// What was known.
        message: String,
    },
}

/// What is assumed of the world by default. Rounds of a program's loop take longer than those of a closure's.
pub fn default_options() -> Options {
    Options { livelock_rounds: 10_000, ..Options::default() }
}

/// More findings than this are not kept.
const MOST_FINDINGS: usize = 100;
/// Executions of a sampler if nothing else limits it.
const DEFAULT_SAMPLES: u64 = 10_000;

impl Check {
    fn effective_strategy(&self) -> StrategyKind {
        let budget = self.max_executions.is_some() || self.max_time.is_some();
        self.strategy.unwrap_or(if budget { StrategyKind::Portfolio } else { StrategyKind::Optimal })
    }

    /// Runs it.
    pub fn run(&self) -> Result<Report, Problem> {
        let started = Instant::now();
        let cpu = processor_time();
        let mut run = Run {
            check: self,
            native: Native::new(self.launch.clone(), self.options, self.mode, self.patience)?,
            kind: self.effective_strategy(),
            started,
            bound: self.bound,
            findings: Vec::new(),
            noticed: Vec::new(),
            notes: Vec::new(),
            outputs: Vec::new(),
            visible: 0,
            spin_held: false,
            timed_out: false,
            exploring: Duration::ZERO,
        };
        run.run_twice()?;
        let (summary, coverage, departed) = run.explore()?;
        Ok(run.report(summary, coverage, departed, started, cpu))
    }

    /// Runs the program under a schedule; gives what it shows, if anything, and whether it followed to the end.
    pub fn replay(&self, schedule: &Schedule) -> Result<Replayed, Problem> {
        let mut native = Native::new(self.launch.clone(), self.options, Some(Mode::Exec), self.patience)?;
        let transitions = schedule.transitions(native.names_mut());
        let prefix: Vec<Planned> = transitions.into_iter().map(|transition| Planned { transition, op: None }).collect();
        native.run(&mut Plan::follow(&prefix, &mut Lowest));
        if let Some(failure) = native.failure() {
            return Err(failure.clone().into());
        }
        let departure = match &native.execution().end {
            End::Diverged(divergence) => Some(self.difference(&native, divergence)),
            _ => None,
        };
        let noticed = match finding::notice(&native, self.expected_status) {
            None if self.compare_output && departure.is_none() => self.unlike_usual_output(&mut native)?,
            noticed => noticed,
        };
        let finding = noticed.map(|noticed| finding::describe(&mut native, noticed, self, 0));
        Ok(Replayed {
            finding,
            departure,
            steps: native.execution().steps.len(),
            output: [native.output(0), native.output(1)],
        })
    }

    /// Whether the output of the last execution differs from that of a run without a schedule.
    fn unlike_usual_output(&self, native: &mut Native) -> Result<Option<Noticed>, Problem> {
        let mut usual = native.fresh(Mode::Exec)?;
        usual.run(&mut Plan::new(&[], &mut Lowest));
        if let Some(failure) = usual.failure() {
            return Err(failure.clone().into());
        }
        let (one, other) = ([usual.output(0), usual.output(1)], [native.output(0), native.output(1)]);
        if one == other {
            return Ok(None);
        }
        let message = finding::output_difference(&one, &other);
        Ok(Some(Noticed { kind: Kind::Output, message, place: String::new(), prefix: prefix_of(native.execution()) }))
    }

    fn difference(&self, native: &Native, divergence: &Divergence) -> String {
        let words = finding::NativeWords::new(native);
        describe::difference(&words, divergence)
    }
}

/// What a replay showed.
#[derive(Debug)]
pub struct Replayed {
    /// The misbehaviour.
    pub finding: Option<Finding>,
    /// How the program departed from the schedule, if it did.
    pub departure: Option<String>,
    /// Steps that were made.
    pub steps: usize,
    /// What it wrote to standard output and standard error.
    pub output: [Vec<u8>; 2],
}

/// A check that runs.
struct Run<'a> {
    check: &'a Check,
    native: Native,
    kind: StrategyKind,
    started: Instant,
    /// Given up when only sampling is sound.
    bound: Option<Bound>,
    findings: Vec<Finding>,
    /// What was noticed, so that nothing is told twice.
    noticed: Vec<Noticed>,
    notes: Vec<String>,
    /// Outputs that were seen; the first is that of a run without a schedule, with which replays compare.
    outputs: Vec<[Vec<u8>; 2]>,
    visible: usize,
    spin_held: bool,
    timed_out: bool,
    exploring: Duration,
}

impl Run<'_> {
    /// Runs the program twice under the same schedule: what differs then is not for exploration to find.
    fn run_twice(&mut self) -> Result<(), Problem> {
        self.native.run(&mut Plan::new(&[], &mut Lowest));
        self.check_failure()?;
        let first = prefix_of(self.native.execution());
        if self.check.compare_output {
            self.outputs.push([self.native.output(0), self.native.output(1)]);
        }
        let ended = self.native.aftermath().ended.clone();
        self.native.run(&mut Plan::new(&first, &mut Lowest));
        self.check_failure()?;
        if let End::Diverged(divergence) = self.native.execution().end.clone() {
            return Err(Problem::Nondeterminism {
                step: divergence.step,
                difference: self.check.difference(&self.native, &divergence),
            });
        }
        let more = self.native.execution().steps.len().saturating_sub(first.len());
        if more > 0 {
            let difference = format!("it ended in one run and made {more} more in another");
            return Err(Problem::Nondeterminism { step: first.len(), difference });
        }
        if self.native.aftermath().ended != ended {
            let difference = format!("it ended in two ways: {ended:?} and {:?}", self.native.aftermath().ended);
            return Err(Problem::Nondeterminism { step: first.len(), difference });
        }
        Ok(())
    }

    fn check_failure(&self) -> Result<(), Problem> {
        self.native.failure().map_or(Ok(()), |failure| Err(failure.clone().into()))
    }

    fn make_strategy(&self) -> Box<dyn Strategy> {
        match self.bound {
            Some(bound) => Box::new(Bounded::new(bound)),
            None => self.kind.make(self.check.seed, self.check.depth),
        }
    }

    /// Explores; gives what was done, what that covers, and where the program departed from a plan, if it did.
    fn explore(&mut self) -> Result<(Summary, Option<Coverage>, Option<String>), Problem> {
        let (summary, coverage, departed) = match self.search_inside(Summary::default())? {
            Some(explored) => explored,
            None => {
                let mut strategy = self.make_strategy();
                let (summary, departed) = self.search(&mut *strategy, Summary::default())?;
                (summary, summary.exhausted.then(|| strategy.coverage()), departed)
            }
        };
        let Some(departed) = departed else { return Ok((summary, coverage, None)) };
        if !self.findings.is_empty() && !self.check.keep_going {
            return Ok((summary, None, Some(departed)));
        }
        // The plan was made from what synchronisation calls tell, and that was not all: only sampling is sound now.
        (self.kind, self.bound) = (StrategyKind::Random, None);
        let summary = match self.search_inside(summary)? {
            Some((summary, ..)) => summary,
            None => self.search(&mut *self.make_strategy(), summary)?.0,
        };
        Ok((summary, None, Some(departed)))
    }

    /// Executions that are allowed, given what was done before.
    fn most(&self, before: &Summary) -> u64 {
        let samples = self.kind.samples() || before.executions > 0;
        let unlimited = self.check.max_executions.is_none() && self.check.max_time.is_none();
        match self.check.max_executions {
            None if unlimited && samples => before.executions + DEFAULT_SAMPLES,
            most => most.unwrap_or(u64::MAX),
        }
    }

    /// Lets the process explore by itself. `None` if it cannot, or if the program destroys it: then it must be led step by step.
    #[allow(clippy::type_complexity)]
    fn search_inside(
        &mut self,
        before: Summary,
    ) -> Result<Option<(Summary, Option<Coverage>, Option<String>)>, Problem> {
        /// How long a process explores before it is heard again.
        const TURN: Duration = Duration::from_millis(100);
        if self.native.mode() == Mode::Exec || self.check.compare_output {
            return Ok(None);
        }
        let job = Search {
            strategy: self.kind,
            bound: self.bound,
            seed: self.check.seed,
            depth: self.check.depth,
            expected_status: self.check.expected_status,
        };
        let most = self.most(&before);
        let mut total = before;
        let mut attempts = 0;
        loop {
            let left = self.check.max_time.map_or(TURN, |t| t.saturating_sub(self.started.elapsed()).min(TURN));
            let Some(turn) = self.native.explore(&job, most - total.executions.min(most), left)? else {
                // What was explored is lost with the process; findings are kept.
                total = before;
                attempts += 1;
                if attempts > 3 {
                    return Ok(None);
                }
                continue;
            };
            if turn.restarted {
                total = before;
            }
            add(&mut total, &turn.summary);
            self.exploring += turn.cpu;
            self.visible = self.visible.max(turn.visible);
            self.spin_held |= turn.spin_held;
            if let Some(divergence) = &turn.departure {
                let departed = self.explain_departure(divergence)?;
                self.native.stop_exploring();
                return Ok(Some((total, None, Some(departed))));
            }
            let noticed = if turn.telling { finding::notice(&self.native, self.check.expected_status) } else { None };
            if turn.telling && noticed.is_none() {
                let message = format!("the process saw it end with {:?}", self.native.aftermath().ended);
                return Err(Problem::Unconfirmed { kind: "misbehaviour", message });
            }
            if let Some(noticed) = noticed
                && !self.noticed.iter().any(|n| n.is_like(&noticed))
            {
                self.keep(noticed)?;
                if !self.check.keep_going {
                    return Ok(Some((total, None, None)));
                }
            }
            if turn.coverage.is_some() {
                return Ok(Some((total, turn.coverage, None)));
            }
            if self.check.max_time.is_some_and(|t| self.started.elapsed() >= t) {
                self.timed_out = true;
                return Ok(Some((total, None, None)));
            }
            if total.executions >= most {
                return Ok(Some((total, None, None)));
            }
        }
    }

    fn search(&mut self, strategy: &mut dyn Strategy, before: Summary) -> Result<(Summary, Option<String>), Problem> {
        let most = self.most(&before);
        let mut total = before;
        let mut result = None;
        let used = processor_time();
        loop {
            let (check, started, known) = (self.check, self.started, &self.noticed);
            let (outputs, visible, spin_held, timed_out) =
                (&mut self.outputs, &mut self.visible, &mut self.spin_held, &mut self.timed_out);
            let done = total.executions;
            let mut interesting = None;
            let summary = search(&mut self.native, strategy, &mut |native, summary| {
                let execution = native.execution();
                *visible = (*visible).max(execution.steps.iter().filter(|s| s.op.is_synchronisation()).count());
                *spin_held |= execution.spin_held;
                if matches!(execution.end, End::Cut) {
                    return ControlFlow::Continue(());
                }
                let noticed = finding::notice(native, check.expected_status)
                    .or_else(|| if check.compare_output { compare_output(native, outputs) } else { None });
                if let Some(noticed) = noticed
                    && !known.iter().any(|n| n.is_like(&noticed))
                {
                    interesting = Some(noticed);
                    return ControlFlow::Break(());
                }
                if done + summary.executions >= most {
                    return ControlFlow::Break(());
                }
                if summary.executions % 64 == 0 && check.max_time.is_some_and(|t| started.elapsed() >= t) {
                    *timed_out = true;
                    return ControlFlow::Break(());
                }
                ControlFlow::Continue(())
            });
            add(&mut total, &summary);
            self.check_failure()?;
            if let End::Diverged(divergence) = self.native.execution().end.clone() {
                result = Some(self.explain_departure(&divergence)?);
                break;
            }
            let Some(noticed) = interesting else { break };
            self.keep(noticed)?;
            if !self.check.keep_going || summary.exhausted || total.executions >= most {
                break;
            }
        }
        // Processes that have ended count; of the one that still runs what it has used.
        self.exploring += processor_time().saturating_sub(used);
        Ok((total, result))
    }

    /// Confirms what was noticed, and keeps it.
    fn keep(&mut self, noticed: Noticed) -> Result<(), Problem> {
        self.noticed.push(noticed.clone());
        let finding = self.confirm(noticed)?;
        if self.findings.len() < MOST_FINDINGS {
            self.findings.push(finding);
        }
        Ok(())
    }

    /// A plan could not be followed. If the program does the same again, it synchronises in ways that are not visible; if not, it
    /// is not deterministic.
    fn explain_departure(&mut self, divergence: &Divergence) -> Result<String, Problem> {
        let difference = self.check.difference(&self.native, divergence);
        let mut steps = prefix_of(self.native.execution());
        steps.truncate(divergence.step);
        let mut fresh = self.native.fresh(Mode::Exec)?;
        fresh.run(&mut Plan::follow(&steps, &mut Lowest));
        if let Some(failure) = fresh.failure() {
            return Err(failure.clone().into());
        }
        if let End::Diverged(again) = fresh.execution().end.clone() {
            return Err(Problem::Nondeterminism {
                step: again.step,
                difference: self.check.difference(&fresh, &again),
            });
        }
        Ok(difference)
    }

    /// Shows the finding in a fresh process and describes it.
    fn confirm(&mut self, noticed: Noticed) -> Result<Finding, Problem> {
        let mut fresh = self.native.fresh(Mode::Exec)?;
        fresh.run(&mut Plan::follow(&noticed.prefix, &mut Lowest));
        if let Some(failure) = fresh.failure() {
            return Err(failure.clone().into());
        }
        let again = match noticed.kind {
            Kind::Output => Some(noticed.clone()),
            _ => finding::notice(&fresh, self.check.expected_status),
        };
        match again {
            Some(again) if again.kind == noticed.kind => Ok(finding::describe(
                &mut fresh,
                Noticed { prefix: noticed.prefix, ..again },
                self.check,
                self.findings.len() + 1,
            )),
            _ => Err(Problem::Unconfirmed { kind: noticed.kind.word(), message: noticed.message }),
        }
    }

    fn report(
        mut self,
        summary: Summary,
        coverage: Option<Coverage>,
        departed: Option<String>,
        started: Instant,
        cpu: Duration,
    ) -> Report {
        // A few calls are little for a program in which others would be hidden.
        let few = if self.check.binary.rust { 2 * summary.threads } else { 0 };
        let blind = summary.threads > 1 && self.visible <= few;
        let exhausted = coverage == Some(Coverage::Everything);
        let verdict = match () {
            () if !self.findings.is_empty() => Verdict::Finding,
            () if exhausted && !blind => Verdict::Verified,
            () => Verdict::NoFinding,
        };
        let classes = summary.executions;
        let meaning = match verdict {
            Verdict::Finding => format!("{} of {classes} executions misbehaved", count(self.findings.len())),
            Verdict::Verified => format!(
                "every class of schedules was explored ({classes}). Verified at level {LEVEL}: holds if the program has no data races"
            ),
            Verdict::NoFinding if exhausted => {
                format!("there was almost nothing to explore: {classes} executions cover all that is visible")
            }
            Verdict::NoFinding if coverage == Some(Coverage::Bound) => {
                format!("every class within the bound was explored ({classes})")
            }
            Verdict::NoFinding => format!("nothing was found in {classes} executions; what is left was not explored"),
        };
        if blind {
            let advice = if self.check.binary.rust {
                "Locks, channels and atomics of Rust's std work on memory directly, without calls; check such code with \
                 the library ordain instead"
            } else {
                "It may synchronise by atomics or flags, which level sync does not see"
            };
            self.notes.push(format!(
                "ALMOST NOTHING WAS VISIBLE: {} threads, but only {} synchronisation calls in an execution. {advice}",
                summary.threads, self.visible
            ));
        }
        if let Some(departed) = departed {
            self.notes.push(format!(
                "the program synchronises by memory that level sync does not see (atomics, flags): {departed}. The search went on \
                 by random sampling, which proves nothing"
            ));
        }
        if self.spin_held {
            self.notes.push(format!(
                "threads that wait in a loop were held after {} idle rounds; more rounds were not explored",
                self.check.options.spin_bound
            ));
        }
        if self.timed_out {
            self.notes.push("the time was over".into());
        }
        if self.native.losses > 0 {
            let processes = if self.native.losses == 1 { "1 process was" } else { "several processes were" };
            let how = self.native.last_loss.as_deref().unwrap_or("nobody knows how");
            self.notes.push(format!("{processes} lost and started again ({how})"));
        }
        Report {
            verdict,
            meaning,
            notes: self.notes,
            strategy: if self.bound.is_some() { "bounded" } else { self.kind.name() },
            mode: self.native.mode(),
            mode_reason: mode_reason(self.check.mode, &self.native.changes),
            summary,
            visible: self.visible,
            findings: self.findings,
            losses: self.native.losses,
            exploring: self.exploring,
            wall: started.elapsed(),
            cpu: {
                drop(self.native);
                processor_time().saturating_sub(cpu)
            },
        }
    }
}

fn count(n: usize) -> String {
    if n == 1 { "1".into() } else { n.to_string() }
}

fn mode_reason(asked: Option<Mode>, changes: &[ModeChange]) -> String {
    match (asked, changes.last()) {
        (Some(_), _) => "asked for".into(),
        (None, Some(change)) => format!("{} mode was left: {}", change.from.word(), change.reason),
        (None, None) => "memory can be put back".into(),
    }
}

fn add(total: &mut Summary, part: &Summary) {
    total.executions += part.executions;
    total.blocked += part.blocked;
    total.steps += part.steps;
    total.threads = total.threads.max(part.threads);
    total.depth = total.depth.max(part.depth);
    total.exhausted = part.exhausted;
}

/// Whether the output of the last execution differs from that of all others.
fn compare_output(native: &mut Native, outputs: &mut Vec<[Vec<u8>; 2]>) -> Option<Noticed> {
    let output = [native.output(0), native.output(1)];
    if outputs.contains(&output) {
        return None;
    }
    let message = finding::output_difference(outputs.first()?, &output);
    outputs.push(output);
    Some(Noticed { kind: Kind::Output, message, place: String::new(), prefix: prefix_of(native.execution()) })
}

/// Processor time of this process and its children that have ended.
fn processor_time() -> Duration {
    let of = |who| {
        // SAFETY: fills in a structure of our own.
        let usage = unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            libc::getrusage(who, &mut usage);
            usage
        };
        let time = |t: libc::timeval| Duration::new(t.tv_sec as u64, t.tv_usec as u32 * 1000);
        time(usage.ru_utime) + time(usage.ru_stime)
    };
    of(libc::RUSAGE_SELF) + of(libc::RUSAGE_CHILDREN)
}
