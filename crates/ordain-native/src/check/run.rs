//! A check that runs: the search, inside the program's process where that works, and what it comes to.

use super::whole::Keeping;
use super::{Check, LEVEL, Problem, Report};
use crate::finding::{self, Finding, Noticed};
use crate::observe::{Observer, Progress};
use crate::target::{Allowance, ModeChange, Native, Search, Wanted};
use ordain_explore::crossing::{Crossing, crossings};
use ordain_explore::estimate::{Effort, Forecast, Foresight, TraceFile};
use ordain_explore::frontier::{Division, Labour};
use ordain_explore::strategy::{Bound, Bounded, Kind as StrategyKind};
use ordain_explore::{Coverage, Lowest, Plan, Planned, Strategy, Summary, Target, prefix_of, search};
use ordain_model::End;
use ordain_report::{Branch, Estimate, Sample, Samples, Verdict, branch};
use ordain_wire::Mode;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// Executions of a sampler if nothing else limits it.
const DEFAULT_SAMPLES: u64 = 10_000;
/// How long the search goes on before it is heard again.
const TURN: Duration = Duration::from_millis(100);
/// Time between estimates of how much there is, and before the first.
pub(super) const FORESEEN: Duration = Duration::from_secs(1);
const FIRST_FORESEEN: Duration = Duration::from_millis(300);
/// How often its own time an estimate is not made again.
const SHARE: u32 = 25;

/// A check that runs.
pub(super) struct Run<'a> {
    pub(super) check: &'a Check,
    pub(super) observer: &'a mut dyn Observer,
    pub(super) native: Native,
    kind: StrategyKind,
    pub(super) started: Instant,
    /// Given up when only sampling is sound.
    bound: Option<Bound>,
    pub(super) findings: Vec<Finding>,
    /// What was noticed, so that nothing is told twice.
    pub(super) noticed: Vec<Noticed>,
    notes: Vec<String>,
    /// Outputs that were seen; the first is that of a run without a schedule, with which replays compare.
    pub(super) outputs: Vec<[Vec<u8>; 2]>,
    pub(super) visible: usize,
    pub(super) spin_held: bool,
    pub(super) timed_out: bool,
    pub(super) exploring: Duration,
    cpu: Duration,
    progress: Samples,
    pub(super) interrupted: bool,
    foresight: Foresight,
    trace: Option<TraceFile>,
    /// Where the search was last.
    pub(super) crossings: Vec<Crossing>,
    /// How much there is, and when that was last estimated.
    pub(super) estimate: Option<Estimate>,
    pub(super) foreseen: (Summary, Instant),
    forecast_cost: Duration,
    /// How the search is divided.
    pub(super) division: Option<Division>,
    pub(super) labour: Labour,
    pub(super) resumable: bool,
}

/// What a search did, what that covers, and where the program departed from a plan, if it did.
pub(super) type Explored = (Summary, Option<Coverage>, Option<String>);

impl<'a> Run<'a> {
    pub(super) fn new(check: &'a Check, observer: &'a mut dyn Observer) -> Result<Self, Problem> {
        let trace = check.exploration_trace.as_deref().map(TraceFile::create).transpose().map_err(Problem::Trace)?;
        Ok(Self {
            check,
            observer,
            started: Instant::now(),
            cpu: processor_time(),
            native: Native::new(check.launch.clone(), check.options, check.mode, check.patience)?,
            kind: check.effective_strategy(),
            bound: check.bound,
            findings: Vec::new(),
            noticed: Vec::new(),
            notes: Vec::new(),
            outputs: Vec::new(),
            visible: 0,
            spin_held: false,
            timed_out: false,
            exploring: Duration::ZERO,
            progress: Samples::default(),
            interrupted: false,
            foresight: Foresight::default(),
            trace,
            crossings: Vec::new(),
            estimate: None,
            foreseen: (Summary::default(), Instant::now()),
            forecast_cost: Duration::ZERO,
            division: None,
            labour: Labour::default(),
            resumable: false,
        })
    }

    /// Does all of it.
    pub(super) fn finish(mut self) -> Result<Report, Problem> {
        self.run_twice()?;
        let (summary, coverage, departed) = self.explore()?;
        if let Some(Err(error)) = self.trace.take().map(TraceFile::finish) {
            self.notes.push(format!("the exploration trace is not complete: {error}"));
        }
        Ok(self.report(summary, coverage, departed))
    }

    /// Tells how far it is; `true` if it shall stop.
    pub(super) fn tell_progress(&mut self, total: &Summary) -> bool {
        let progress = Progress {
            elapsed: self.started.elapsed(),
            summary: *total,
            findings: self.findings.len(),
            estimate: self.estimate,
            most: self.check.max_executions,
            limit: self.check.max_time,
            workers: self.check.workers,
            division: self.division,
        };
        self.progress.add(Sample {
            seconds: progress.elapsed.as_secs_f64(),
            executions: total.executions,
            findings: progress.findings,
            estimate: self.estimate,
        });
        self.observer.progress(&progress);
        self.interrupted |= self.observer.is_stopped();
        self.interrupted
    }
    /// Runs the program twice under the same schedule: what differs then is not for exploration to find.
    pub(super) fn run_twice(&mut self) -> Result<(), Problem> {
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
        let strategy = match self.bound {
            Some(bound) => return Box::new(Bounded::new(bound)),
            None => self.kind.make(self.check.seed, self.check.depth),
        };
        match &self.trace {
            Some(trace) if self.is_exhaustive() => trace.trace(strategy),
            _ => strategy,
        }
    }

    /// Explores; gives what was done, what that covers, and where the program departed from a plan, if it did.
    fn explore(&mut self) -> Result<Explored, Problem> {
        let kept = if self.check.resume { Some(self.resume()?) } else { None };
        let divided = self.check.workers > 1 || kept.as_ref().is_some_and(|kept| !kept.controller.is_whole());
        let explored = match () {
            () if self.is_keepable() && divided => self.search_divided(kept)?,
            () if self.is_shared() => self.sample()?,
            () => self.search_whole(kept)?,
        };
        let (summary, coverage, departed) = match explored {
            Some(explored) => explored,
            None => {
                let mut strategy = self.make_strategy();
                let (summary, departed) = self.search(&mut *strategy, Summary::default())?;
                (summary, summary.exhausted.then(|| strategy.coverage()), departed)
            }
        };
        let Some(departed) = departed else { return Ok((summary, coverage, None)) };
        if self.interrupted || (!self.findings.is_empty() && !self.check.keep_going) {
            return Ok((summary, None, Some(departed)));
        }
        // The plan was made from what synchronisation calls tell, and that was not all: only sampling is sound now.
        (self.kind, self.bound) = (StrategyKind::Random, None);
        self.native.begin_with(None);
        let summary = match self.search_inside(summary, None)? {
            Some((summary, ..)) => summary,
            None => self.search(&mut *self.make_strategy(), summary)?.0,
        };
        Ok((summary, None, Some(departed)))
    }

    /// Executions that are allowed, given what was done before.
    pub(super) fn most(&self, before: &Summary) -> u64 {
        let samples = self.kind.samples() || before.executions > 0;
        let unlimited = self.check.max_executions.is_none() && self.check.max_time.is_none();
        match self.check.max_executions {
            None if unlimited && samples => before.executions + DEFAULT_SAMPLES,
            most => most.unwrap_or(u64::MAX),
        }
    }

    /// Lets the process explore by itself. `None` if it cannot, or if the program destroys it: then it must be led step by step.
    pub(super) fn search_inside(
        &mut self,
        before: Summary,
        mut keeping: Option<&mut Keeping>,
    ) -> Result<Option<Explored>, Problem> {
        if self.native.mode() == Mode::Exec || self.check.compare_output || self.trace.is_some() {
            return Ok(None);
        }
        let job = self.job();
        let most = self.most(&before);
        let kept = |keeping: &Option<&mut Keeping>| keeping.as_ref().map_or(before, |keeping| keeping.total);
        let mut total = kept(&keeping);
        let mut attempts = 0;
        loop {
            let left = self.check.max_time.map_or(TURN, |t| t.saturating_sub(self.started.elapsed()).min(TURN));
            let (time, executions) = self.observer.allowance(total.executions);
            let executions = executions.min(most - total.executions.min(most));
            let forecast = self.wants_forecast(time);
            let keep = keeping.as_ref().is_some_and(|keeping| keeping.rhythm.is_due());
            let allowance = Allowance { before: total.executions, executions, time: left.min(time), forecast, keep };
            let begin = Instant::now();
            let Some(mut turn) = self.native.explore(&job, &allowance)? else {
                // What was explored since it was kept is lost with the process; findings are kept.
                total = kept(&keeping);
                attempts += 1;
                if attempts > 3 {
                    return Ok(None);
                }
                continue;
            };
            if turn.restarted {
                total = before;
                self.estimate = None;
            }
            total.add(&turn.summary);
            if forecast != Wanted::No {
                self.take_estimate(turn.estimate, begin.elapsed().saturating_sub(allowance.time));
            }
            self.crossings.clone_from(&turn.crossings);
            self.exploring += turn.cpu;
            self.visible = self.visible.max(turn.summary.visible);
            self.spin_held |= turn.summary.spun;
            // What is worth telling must be confirmed before it is taken to be explored.
            if let (Some(keeping), Some(explored), false) = (&mut keeping, turn.explored.take(), turn.telling) {
                self.keep_whole(keeping, explored, &total);
            }
            let stopped = self.tell_progress(&total);
            if let Some(divergence) = &turn.departure {
                let departed = self.check.explain_departure(&self.native, divergence)?;
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
            self.timed_out |= self.check.max_time.is_some_and(|t| self.started.elapsed() >= t);
            if self.timed_out || total.executions >= most || stopped {
                if self.findings.is_empty() && !stopped && self.is_exhaustive() {
                    self.look_at_what_is_left(&job, &total)?;
                }
                return Ok(Some((total, None, None)));
            }
        }
    }

    /// What a process is to explore.
    pub(super) fn job(&self) -> Search {
        Search {
            strategy: self.kind,
            bound: self.bound,
            seed: self.check.seed,
            depth: self.check.depth,
            expected_status: self.check.expected_status,
        }
    }

    /// How schedules are chosen now.
    pub(super) fn kind(&self) -> StrategyKind {
        self.kind
    }

    /// Notes something, once.
    pub(super) fn note_once(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Whether the search has an end that can be foreseen.
    pub(super) fn is_exhaustive(&self) -> bool {
        !self.kind.samples() && self.bound.is_none()
    }

    /// Whether it is time for an estimate, given how long the present turn may take.
    pub(super) fn wants_forecast(&self, time: Duration) -> Wanted {
        let since = self.foreseen.1.elapsed();
        let due = since >= FORESEEN || self.estimate.is_none() && since >= FIRST_FORESEEN || time <= TURN;
        let affordable = since >= SHARE * self.forecast_cost;
        if due && affordable && self.is_exhaustive() { Wanted::Rough } else { Wanted::No }
    }

    /// Takes an estimate that was made now, and what it cost.
    fn take_estimate(&mut self, estimate: Option<ordain_explore::estimate::Estimate>, cost: Duration) {
        (self.foreseen.1, self.forecast_cost) = (Instant::now(), cost);
        if let Some(e) = estimate {
            self.estimate = Some(Estimate::from_ln(e.ln, e.low, e.high, e.done));
        }
    }

    /// Estimates as well as can be how much there is, at the end of a search that could not explore all of it. That runs the program a few
    /// times in random orders; if they show something, it is a finding.
    fn look_at_what_is_left(&mut self, job: &Search, total: &Summary) -> Result<(), Problem> {
        let allowance =
            Allowance { before: total.executions, executions: 0, time: TURN, forecast: Wanted::Best, keep: false };
        let Some(turn) = self.native.explore(job, &allowance)? else { return Ok(()) };
        self.take_estimate(turn.estimate, Duration::ZERO);
        self.crossings = turn.crossings;
        if turn.telling
            && let Some(noticed) = finding::notice(&self.native, self.check.expected_status)
        {
            self.keep(noticed)?;
        }
        Ok(())
    }

    /// The same for a search that is led from here; gives what was noticed.
    fn forecast(&mut self, strategy: &mut dyn Strategy, total: &mut Summary, effort: Effort) -> Option<Noticed> {
        let (check, known) = (self.check, &self.noticed);
        let mut interesting = None;
        let (done, begin) = (total.executions, Instant::now());
        let forecast = self.foresight.forecast(&mut self.native, strategy, done, effort, &mut |native| {
            interesting =
                finding::notice(native, check.expected_status).filter(|n| !known.iter().any(|k| k.is_like(n)));
            let over = interesting.is_some() || native.failure().is_some();
            if over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        match forecast {
            Forecast::Estimate(estimate) => self.take_estimate(estimate, begin.elapsed()),
            Forecast::Restarted => {
                *total = Summary { executions: 0, blocked: 0, ..*total };
                self.estimate = None;
            }
            Forecast::Broken => {}
        }
        self.foreseen = (*total, Instant::now());
        interesting
    }

    fn search(&mut self, strategy: &mut dyn Strategy, before: Summary) -> Result<(Summary, Option<String>), Problem> {
        let most = self.most(&before);
        let mut total = before;
        let mut result = None;
        let used = processor_time();
        let exhaustive = self.is_exhaustive() && !self.check.compare_output;
        loop {
            let (check, started, known) = (self.check, self.started, &self.noticed);
            let round = Instant::now();
            let (time, executions) = self.observer.allowance(total.executions);
            let mut turn_over = false;
            let (outputs, visible, spin_held, timed_out) =
                (&mut self.outputs, &mut self.visible, &mut self.spin_held, &mut self.timed_out);
            let done = total.executions;
            let mut interesting = None;
            let foresight = &mut self.foresight;
            let summary = search(&mut self.native, strategy, &mut |native, summary| {
                let execution = native.execution();
                if exhaustive {
                    foresight.hear(execution);
                }
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
                turn_over = round.elapsed() >= TURN.min(time) || summary.executions >= executions;
                if turn_over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
            if summary.restarted {
                total = Summary { executions: before.executions, blocked: before.blocked, ..total };
                self.foreseen.0 = total;
                self.foresight.restart();
                self.estimate = None;
            }
            total.add(&summary);
            let over = self.timed_out || total.executions >= most;
            let due = over || self.wants_forecast(time) != Wanted::No;
            let diverged = matches!(self.native.execution().end, End::Diverged(_)) || self.native.failure().is_some();
            if due && exhaustive && !diverged && interesting.is_none() && !summary.exhausted {
                let (executions, steps) =
                    (total.executions - self.foreseen.0.executions.min(total.executions), total.steps);
                let effort = match over {
                    true => Effort::at_the_end(executions, steps),
                    false => Effort::beside(executions, steps - self.foreseen.0.steps.min(steps)),
                };
                interesting = self.forecast(strategy, &mut total, effort);
            }
            if interesting.is_some() || over {
                self.crossings = crossings(strategy);
            }
            let stopped = self.tell_progress(&total);
            self.check_failure()?;
            if let End::Diverged(divergence) = self.native.execution().end.clone() {
                result = Some(self.check.explain_departure(&self.native, &divergence)?);
                break;
            }
            match interesting {
                Some(noticed) => self.keep(noticed)?,
                None if turn_over && !stopped => continue,
                None => break,
            }
            if stopped || !self.check.keep_going || summary.exhausted || total.executions >= most {
                break;
            }
        }
        // Processes that have ended count; of the one that still runs what it has used.
        self.exploring += processor_time().saturating_sub(used);
        Ok((total, result))
    }

    /// The path that the search was on, in words: the program follows it once more for that.
    fn describe_path(&mut self) -> Vec<Branch> {
        let crossings = std::mem::take(&mut self.crossings);
        let prefix: Vec<Planned> = crossings.iter().map(|c| Planned { transition: c.taken, op: None }).collect();
        let names = self.native.names().thread_count();
        let known = |c: &Crossing| [c.taken].iter().chain(&c.explored).chain(&c.left).all(|t| t.thread.index() < names);
        if crossings.is_empty() || !crossings.iter().all(known) {
            return Vec::new();
        }
        self.native.run(&mut Plan::follow(&prefix, &mut Lowest));
        if self.native.failure().is_some() || matches!(self.native.execution().end, End::Diverged(_)) {
            return Vec::new();
        }
        let words = finding::NativeWords::new(&self.native);
        let execution = self.native.execution();
        let told = crossings.iter().enumerate();
        told.map(|(depth, c)| branch(&words, execution, depth, c.taken, &c.explored, &c.left)).collect()
    }

    pub(super) fn report(mut self, summary: Summary, coverage: Option<Coverage>, departed: Option<String>) -> Report {
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
        let executions = ordain_report::terminal::plural(classes as usize, "execution");
        let meaning = match verdict {
            Verdict::Finding => format!("{} of {executions} misbehaved", self.findings.len()),
            Verdict::Verified => format!(
                "every class of schedules was explored ({classes}). Verified at level {LEVEL}: holds if the program has no data races"
            ),
            Verdict::NoFinding if exhausted => {
                format!("there was almost nothing to explore: {executions} cover all that is visible")
            }
            Verdict::NoFinding if coverage == Some(Coverage::Bound) => {
                format!("every class within the bound was explored ({classes})")
            }
            Verdict::NoFinding => match self.estimate {
                Some(estimate) => {
                    let things = if self.kind == StrategyKind::Dfs { "schedules" } else { "classes" };
                    format!("nothing was found in {executions}; {} explored", estimate.in_words(things))
                }
                None => format!("nothing was found in {executions}; what is left was not explored"),
            },
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
        if self.interrupted {
            self.notes.push("it was stopped before its end".into());
        }
        if self.native.losses > 0 {
            let processes = if self.native.losses == 1 { "1 process was" } else { "several processes were" };
            let how = self.native.last_loss.as_deref().unwrap_or("nobody knows how");
            self.notes.push(format!("{processes} lost and started again ({how})"));
        }
        let path = if exhausted { Vec::new() } else { self.describe_path() };
        let workers = self.workers();
        Report {
            path,
            workers,
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
            progress: self.progress.done(),
            estimate: if exhausted { Some(Estimate::exact(classes)) } else { self.estimate },
            interrupted: self.interrupted,
            resumable: self.resumable,
            wall: self.started.elapsed(),
            cpu: {
                drop(self.native);
                processor_time().saturating_sub(self.cpu)
            },
        }
    }
}

fn mode_reason(asked: Option<Mode>, changes: &[ModeChange]) -> String {
    match (asked, changes.last()) {
        (Some(_), _) => "asked for".into(),
        (None, Some(change)) => format!("{} mode was left: {}", change.from.word(), change.reason),
        (None, None) => "memory can be put back".into(),
    }
}

/// Whether the output of the last execution differs from that of all others.
fn compare_output(native: &mut Native, outputs: &mut Vec<[Vec<u8>; 2]>) -> Option<Noticed> {
    let output = [native.output(0), native.output(1)];
    if outputs.contains(&output) {
        return None;
    }
    outputs.push(output);
    finding::unlike(outputs.first()?, native)
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
