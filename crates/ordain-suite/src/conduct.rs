//! The conductor: lets tests go on, a slice of time each, in the order that the allocator gives.
//!
//! Each test lives in a thread of its own that does nothing but wait while it is not its turn. What a test does cannot end the
//! suite: a program that cannot be started, a test binary that crashes, hangs or never makes a check is a row with its reason.

use crate::allocate::Allocator;
use crate::config::{Config, TestConfig};
use crate::result::{Row, SuiteResult, Trouble};
use crate::{cargo, library, program};
use ordain_report::{Estimate, Run};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant, SystemTime};

/// A suite that can be run.
pub struct Suite {
    /// What to run.
    pub config: Config,
    /// The file that it comes from: paths in it are seen from its directory, and a change of its policy is followed.
    pub file: PathBuf,
    /// Where run directories of tests are made.
    pub directory: PathBuf,
    /// Tests that are done already, from an earlier run.
    pub before: Vec<Row>,
}

/// How far a suite is.
#[derive(Clone, Debug)]
pub struct Progress {
    /// Time since it began.
    pub elapsed: Duration,
    /// Tests, and how many of them are done.
    pub tests: usize,
    /// Tests that are done.
    pub done: usize,
    /// Findings so far.
    pub findings: usize,
    /// Executions of all tests.
    pub executions: u64,
    /// The test that had the last slice.
    pub last: String,
}

/// Watches a suite.
pub trait SuiteObserver {
    /// A slice has ended.
    fn progress(&mut self, progress: &Progress);
    /// A test is done, or came to no verdict; `rows` are all that are.
    fn done(&mut self, _rows: &[Row]) {}
    /// Whether the suite shall end as it is.
    fn is_stopped(&self) -> bool {
        false
    }
}

/// What a test is told.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Grant {
    /// Go on for that long.
    Slice(Duration),
    /// End as it is.
    Stop,
}

/// What a test tells at the end of a slice.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) test: usize,
    pub(crate) executions: u64,
    pub(crate) findings: usize,
    pub(crate) estimate: Option<Estimate>,
    /// Its end, if it has come to it.
    pub(crate) end: Option<Result<Box<Run>, Trouble>>,
}

/// The side of a test: waits for its turn, and tells how far it is.
pub(crate) struct Gate {
    test: usize,
    to: Sender<Told>,
    from: Receiver<Grant>,
    until: Instant,
    pub(crate) stopped: bool,
}

impl Gate {
    /// Waits for the next turn.
    pub(crate) fn wait(&mut self) {
        match self.from.recv() {
            Ok(Grant::Slice(slice)) => self.until = Instant::now() + slice,
            Ok(Grant::Stop) | Err(_) => self.stopped = true,
        }
    }

    /// What is left of the slice.
    pub(crate) fn left(&self) -> Duration {
        self.until.saturating_duration_since(Instant::now())
    }

    /// Tells how far the test is, and waits for the next turn.
    pub(crate) fn pause(&mut self, executions: u64, findings: usize, estimate: Option<Estimate>) {
        let told = Told { test: self.test, executions, findings, estimate, end: None };
        if self.to.send(told).is_err() {
            self.stopped = true;
        } else {
            self.wait();
        }
    }

    fn end(self, end: Result<Box<Run>, Trouble>) {
        let (executions, findings) = end.as_ref().map_or((0, 0), |run| (run.executions, run.findings.len()));
        let estimate = end.as_ref().ok().and_then(|run| run.estimate);
        let _ = self.to.send(Told { test: self.test, executions, findings, estimate, end: Some(end) });
    }
}

/// What the conductor knows of a test that runs.
struct Test {
    grant: Sender<Grant>,
    row: Row,
    executions: u64,
    findings: usize,
    granted: Option<Instant>,
    most: Option<u64>,
    /// Whether it was told to end.
    told_to_stop: bool,
}

impl Suite {
    /// Runs it.
    pub fn run(&self, observer: &mut dyn SuiteObserver) -> SuiteResult {
        let (to, from) = channel();
        std::thread::scope(|scope| {
            let mut tests = Vec::new();
            for (number, config) in self.config.tests.iter().enumerate() {
                let (grant, grants) = channel();
                let before = self.before.iter().find(|row| row.name == config.name && row.done);
                let row = before.cloned().unwrap_or_else(|| Row { name: config.name.clone(), ..Row::default() });
                if before.is_none() {
                    let gate = Gate { test: number, to: to.clone(), from: grants, until: Instant::now(), stopped: false };
                    scope.spawn(move || self.live(config, gate));
                }
                tests.push(Test {
                    grant,
                    executions: row.run.as_ref().map_or(0, |r| r.executions),
                    findings: row.run.as_ref().map_or(0, |r| r.findings.len()),
                    row,
                    granted: None,
                    most: config.max_executions,
                    told_to_stop: false,
                });
            }
            drop(to);
            Conductor::new(self, tests, from, observer).conduct()
        })
    }

    /// The life of a test in its thread.
    fn live(&self, config: &TestConfig, mut gate: Gate) {
        gate.wait();
        let base = self.file.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let end = match &config.program {
            Some(_) => program::run(config, base, &self.directory, &mut gate),
            None => cargo::find(config, base)
                .and_then(|found| library::run(&found, self.config.suite.patience, &mut gate)),
        };
        gate.end(end);
    }
}

struct Conductor<'a> {
    suite: &'a Suite,
    observer: &'a mut dyn SuiteObserver,
    allocator: Allocator,
    tests: Vec<Test>,
    from: Receiver<Told>,
    started: Instant,
    running: usize,
    changed: Option<SystemTime>,
    budget_spent: bool,
    interrupted: bool,
}

impl<'a> Conductor<'a> {
    fn new(suite: &'a Suite, tests: Vec<Test>, from: Receiver<Told>, observer: &'a mut dyn SuiteObserver) -> Self {
        let weights: Vec<f64> = suite.config.tests.iter().map(|t| t.weight).collect();
        let mut allocator = Allocator::new(suite.config.suite.policy, &weights);
        for (number, test) in tests.iter().enumerate() {
            if test.row.done {
                allocator.give_back(number, test.row.seconds, None, test.findings as u64, true);
            }
        }
        Self {
            suite,
            observer,
            allocator,
            tests,
            from,
            started: Instant::now(),
            running: 0,
            changed: modified(&suite.file),
            budget_spent: false,
            interrupted: false,
        }
    }

    fn conduct(mut self) -> SuiteResult {
        let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
        let workers = self.suite.config.suite.workers.unwrap_or(cores);
        loop {
            self.look_around();
            while !self.is_over() && self.running < workers {
                let Some(test) = self.allocator.take() else { break };
                self.grant(test);
            }
            if self.running == 0 {
                break;
            }
            // Waits for the end of a slice, and looks now and then whether somebody wants it to stop.
            match self.from.recv_timeout(Duration::from_millis(100)) {
                Ok(told) => self.hear(told),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        self.stop_all();
        self.result()
    }

    fn is_over(&self) -> bool {
        self.budget_spent || self.interrupted
    }

    /// Looks for what ends the suite, and for a change of its objective.
    fn look_around(&mut self) {
        let config = &self.suite.config.suite;
        self.interrupted |= self.observer.is_stopped();
        let executions: u64 = self.tests.iter().map(|t| t.executions).sum();
        self.budget_spent |= config.budget.is_some_and(|budget| self.started.elapsed() >= budget)
            || config.executions.is_some_and(|most| executions >= most);
        let changed = modified(&self.suite.file);
        if changed != self.changed {
            self.changed = changed;
            // A file that is being written may be wrong for a moment; the objective stays as it is then.
            if let Ok(new) = Config::read(&self.suite.file) {
                self.allocator.policy = new.suite.policy;
            }
        }
    }

    fn grant(&mut self, number: usize) {
        let test = &mut self.tests[number];
        let mut slice = self.suite.config.suite.slice;
        if let Some(budget) = self.suite.config.suite.budget {
            slice = slice.min(budget.saturating_sub(self.started.elapsed()));
        }
        let enough = test.most.is_some_and(|most| test.executions >= most);
        test.told_to_stop |= enough;
        test.granted = Some(Instant::now());
        let _ = test.grant.send(if enough { Grant::Stop } else { Grant::Slice(slice) });
        self.running += 1;
    }

    fn hear(&mut self, told: Told) {
        let started = self.started;
        let test = &mut self.tests[told.test];
        if let Some(granted) = test.granted.take() {
            test.row.seconds += granted.elapsed().as_secs_f64();
            self.running -= 1;
        }
        test.row.slices += 1;
        (test.executions, test.findings) = (told.executions.max(test.executions), told.findings);
        let ended = told.end.is_some();
        match told.end {
            Some(Ok(run)) => {
                test.executions = run.executions;
                // What was stopped by the suite's budget is not done; what has reached its own limit is.
                test.row.done = !run.interrupted || test.most.is_some_and(|most| run.executions >= most);
                test.row.run = Some(*run);
            }
            Some(Err(trouble)) => {
                test.row.done = true;
                test.row.trouble = Some(trouble);
            }
            None => {}
        }
        if ended && test.row.done {
            test.row.done_at = Some(started.elapsed().as_secs_f64());
        }
        let total = total_ln(test.row.seconds, test.executions, told.estimate);
        self.allocator.give_back(told.test, test.row.seconds, total, told.findings as u64, ended);
        let progress = Progress {
            elapsed: started.elapsed(),
            tests: self.tests.len(),
            done: self.tests.iter().filter(|t| t.row.done).count(),
            findings: self.tests.iter().map(|t| t.findings).sum(),
            executions: self.tests.iter().map(|t| t.executions).sum(),
            last: self.tests[told.test].row.name.clone(),
        };
        self.observer.progress(&progress);
        if ended {
            let rows: Vec<Row> = self.tests.iter().filter(|t| t.row.done).map(|t| t.row.clone()).collect();
            self.observer.done(&rows);
        }
    }

    /// Tells all that still live to end as they are, and waits for what they have to say.
    fn stop_all(&mut self) {
        let mut live = 0;
        for test in &mut self.tests {
            let ended = test.row.done || test.row.run.is_some();
            if !ended {
                let _ = test.grant.send(Grant::Stop);
                live += 1;
            }
        }
        while live > 0 {
            let Ok(told) = self.from.recv() else { break };
            live -= usize::from(told.end.is_some());
            self.hear(told);
        }
    }

    fn result(self) -> SuiteResult {
        SuiteResult {
            version: SuiteResult::VERSION,
            policy: self.allocator.policy,
            wall_seconds: self.started.elapsed().as_secs_f64(),
            budget_spent: self.budget_spent,
            interrupted: self.interrupted,
            tests: self.tests.into_iter().map(|t| t.row).collect(),
        }
    }
}

/// The time that a test takes in all, as natural logarithm: as long for each execution as so far.
fn total_ln(seconds: f64, executions: u64, estimate: Option<Estimate>) -> Option<f64> {
    let each = seconds / executions as f64;
    let estimate = estimate.filter(|_| executions > 0 && each > 0.0)?;
    Some(estimate.log10 * std::f64::consts::LN_10 + each.ln())
}

fn modified(file: &Path) -> Option<SystemTime> {
    std::fs::metadata(file).and_then(|m| m.modified()).ok()
}
