//! The conductor: lets tests go on, a slice each, in the order that the allocator gives.
//!
//! Each test lives in a thread of its own that does nothing but wait while it is not its turn. What a test does cannot end the
//! suite: a program that cannot be started, a test binary that crashes, hangs or never makes a check is a row with its reason.

use crate::allocate::{Allocator, Policy};
use crate::cargo::Found;
use crate::config::{Config, TestConfig};
use crate::gate::{Gate, Grant, SliceReport};
use crate::library::Library;
use crate::program;
use crate::record;
use crate::result::{End, Row, SuiteResult, TestKind, Trouble};
use crate::suite::{Progress, Suite, SuiteObserver};
use ordain_check::{Amount, checkpoint};
use ordain_report::{Estimate, Require, Verdict, store};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Tests that have not come to an end so long behind the budget are stopped.
const GRACE: Duration = Duration::from_secs(2);

/// How often the conductor looks around while tests run.
const LOOK: Duration = Duration::from_millis(50);

/// What is needed to run a test.
pub(crate) enum Prepared {
    /// It is done already.
    Done,
    /// A program: all is in its configuration.
    Program,
    /// A Rust test that was found.
    Rust(Found),
    /// It cannot be run.
    Trouble(Trouble),
}

/// Runs a suite whose tests are prepared.
pub(crate) fn run(
    suite: &Suite,
    tests: Vec<(Row, Prepared)>,
    interrupted: bool,
    observer: &mut dyn SuiteObserver,
) -> SuiteResult {
    let (to, from) = channel();
    let halt = Arc::new(AtomicBool::new(false));
    std::thread::scope(|scope| {
        let mut all = Vec::new();
        for (number, (config, (row, prepared))) in suite.config.tests.iter().zip(tests).enumerate() {
            let (grant, grants) = channel();
            let ended = matches!(prepared, Prepared::Done);
            if !ended {
                // Programs look at their own limit themselves; Rust tests are stopped at it.
                let most = config.settings.max_executions.filter(|_| row.kind == TestKind::Rust);
                let gate = Gate::new(number, to.clone(), grants, most, halt.clone());
                let (directory, fingerprint) = (row.directory.clone(), row.fingerprint);
                scope.spawn(move || live(suite, config, (&directory, fingerprint), &prepared, gate));
            }
            let findings = row.run.as_ref().map_or(0, |r| r.findings.len());
            let (most, keep_going) = (config.settings.max_executions, config.settings.keep_going);
            let forgotten = ended;
            all.push(Test { grant, row, findings, most, keep_going, granted: None, ended, forgotten });
        }
        drop(to);
        Conductor::new(suite, all, from, halt, interrupted, observer).conduct()
    })
}

/// The life of a test in its thread.
fn live(
    suite: &Suite,
    config: &TestConfig,
    (directory, fingerprint): (&Path, Option<u128>),
    prepared: &Prepared,
    mut gate: Gate,
) {
    gate.wait();
    if gate.is_stopped() {
        return gate.end(End::default());
    }
    // A defect of ours in one test is no reason to lose the others.
    let end = catch_unwind(AssertUnwindSafe(|| match prepared {
        Prepared::Done => End::default(),
        Prepared::Trouble(trouble) => End { run: None, trouble: Some(trouble.clone()) },
        Prepared::Program => program::run(config, suite.base(), directory, suite.resumed, &mut gate),
        Prepared::Rust(found) => {
            let environment = config.env.clone().into_iter().collect();
            let patience = suite.config.suite.patience;
            let resume = suite.resumed;
            Library { found, environment, fingerprint, resume, directory, patience }.run(&mut gate)
        }
    }));
    let end = end.unwrap_or_else(|_| End {
        run: None,
        trouble: Some(Trouble::new("its check failed by a defect of Ordain", "please report it with the test")),
    });
    gate.end(end);
}

/// What the conductor knows of a test.
struct Test {
    grant: Sender<Grant>,
    row: Row,
    findings: usize,
    /// Its own limit of executions.
    most: Option<u64>,
    /// Whether it goes on after a finding.
    keep_going: bool,
    /// The slice that it has: when it began, and how many executions are kept for it.
    granted: Option<(Instant, u64)>,
    /// Whether its thread has come to its end.
    ended: bool,
    /// Whether its checkpoints are removed, which are of no use when it is done.
    forgotten: bool,
}

struct Conductor<'a> {
    suite: &'a Suite,
    observer: &'a mut dyn SuiteObserver,
    allocator: Allocator,
    tests: Vec<Test>,
    from: Receiver<SliceReport>,
    halt: Arc<AtomicBool>,
    started: Instant,
    began: u64,
    /// The file as it was looked at last, and what it said.
    file: (Option<Stamp>, Policy),
    budget_spent: bool,
    interrupted: bool,
    unwritten: Option<String>,
}

/// What changes when a file is written.
type Stamp = (SystemTime, u64);

impl<'a> Conductor<'a> {
    fn new(
        suite: &'a Suite,
        tests: Vec<Test>,
        from: Receiver<SliceReport>,
        halt: Arc<AtomicBool>,
        interrupted: bool,
        observer: &'a mut dyn SuiteObserver,
    ) -> Self {
        let weights: Vec<f64> = suite.config.tests.iter().map(|t| t.weight).collect();
        let mut allocator = Allocator::new(suite.config.suite.policy, &weights);
        for (number, test) in tests.iter().enumerate().filter(|(_, test)| test.ended) {
            allocator.give_back(number, test.row.seconds, None, test.findings as u64, true);
        }
        let began = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
        Self {
            suite,
            observer,
            allocator,
            tests,
            from,
            halt,
            started: Instant::now(),
            began,
            file: (suite.stamp, suite.file_policy),
            budget_spent: false,
            interrupted,
            unwritten: None,
        }
    }

    fn conduct(mut self) -> SuiteResult {
        let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
        let workers = self.suite.config.suite.workers.unwrap_or(cores);
        self.write();
        loop {
            self.look_around();
            while !self.is_over() && self.running() < workers {
                let free = workers - self.running();
                let left = self.executions_left();
                // What others may still use cannot be given away; they give back what they do not.
                if left == Some(0) && self.running() > 0 {
                    break;
                }
                let Some(test) = self.allocator.take() else { break };
                self.grant(test, left.map(|left| left.div_ceil(free as u64)));
            }
            if self.running() == 0 {
                break;
            }
            // Waits for the end of a slice, and looks now and then whether somebody wants it to stop.
            match self.from.recv_timeout(LOOK) {
                Ok(report) => self.take_report(report),
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

    fn running(&self) -> usize {
        self.tests.iter().filter(|test| test.granted.is_some()).count()
    }

    /// Executions that were made in this run of the suite; those that were made before are not of its budget.
    fn executions(&self) -> u64 {
        let made = |test: &Test| test.row.executions.saturating_sub(test.row.carried);
        self.tests.iter().fold(0, |sum, test| sum.saturating_add(made(test)))
    }

    /// Executions of the budget that nobody has.
    fn executions_left(&self) -> Option<u64> {
        let kept: u64 = self.tests.iter().filter_map(|t| t.granted).fold(0, |sum, g| sum.saturating_add(g.1));
        let most = self.suite.config.suite.executions?;
        Some(most.saturating_sub(self.executions()).saturating_sub(kept))
    }

    /// Looks for what ends the suite, and for a change of its objective.
    fn look_around(&mut self) {
        let config = &self.suite.config.suite;
        self.interrupted |= self.observer.is_stopped();
        // Confirming and shrinking what was found at last may take a little longer than the budget.
        let late = config.budget.is_some_and(|budget| self.started.elapsed() >= budget + (budget / 10).max(GRACE));
        self.halt.fetch_or(self.interrupted || late, Relaxed);
        self.budget_spent |= config.budget.is_some_and(|budget| self.started.elapsed() >= budget)
            || config.executions.is_some_and(|most| self.executions() >= most);
        let stamp = stamp(&self.suite.file);
        if stamp != self.file.0 {
            self.file.0 = stamp;
            match Config::read(&self.suite.file) {
                Ok(new) => self.follow(&new),
                // A file that is being written may be wrong for a moment; the objective stays as it is then.
                Err(error) => self.observer.unchanged(self.allocator.policy, &error),
            }
        }
    }

    /// Takes over what the file says about the objective.
    fn follow(&mut self, new: &Config) {
        for (number, test) in self.suite.config.tests.iter().enumerate() {
            if let Some(new) = new.tests.iter().find(|new| new.name == test.name) {
                self.allocator.set_weight(number, new.weight);
            }
        }
        let policy = new.suite.policy;
        // What the command line said holds until the file says something new.
        if policy != self.file.1 {
            self.file.1 = policy;
            if policy != self.allocator.policy {
                self.observer.changed(self.allocator.policy, policy);
                self.allocator.policy = policy;
            }
        }
    }

    /// Gives a test its slice; `share` is how many executions of the budget it may use.
    fn grant(&mut self, number: usize, share: Option<u64>) {
        let config = &self.suite.config.suite;
        let test = &mut self.tests[number];
        let (mut time, mut executions) = match config.slice {
            Amount::Time(time) => (time, u64::MAX),
            Amount::Executions(executions) => (Duration::MAX, executions),
        };
        if let Some(budget) = config.budget {
            time = time.min(budget.saturating_sub(self.started.elapsed()));
        }
        if let Some(share) = share {
            executions = executions.min(share);
        }
        test.granted = Some((Instant::now(), if share.is_some() { executions } else { 0 }));
        let until = test.row.executions.saturating_add(executions);
        let _ = test.grant.send(Grant::Slice { time, until });
    }

    fn take_report(&mut self, report: SliceReport) {
        let elapsed = self.started.elapsed();
        let by_executions = self.suite.counts_executions();
        let test = &mut self.tests[report.test];
        if let Some((granted, _)) = test.granted.take() {
            test.row.seconds += granted.elapsed().as_secs_f64();
            test.row.slices += 1;
        }
        test.row.executions = report.executions.max(test.row.executions);
        test.row.carried = report.carried;
        test.row.estimate = report.estimate.or(test.row.estimate);
        test.findings = report.findings.max(test.findings);
        test.ended = report.end.is_some();
        if let Some(end) = report.end {
            finish(&mut test.row, end, (test.most, test.keep_going), elapsed);
        }
        let row = &test.row;
        let spent = if by_executions { row.executions as f64 } else { row.seconds * share_of(row) };
        let total = total_ln(spent, row.executions, row.estimate, test.most);
        let (findings, ended) = (test.findings as u64, test.ended);
        self.allocator.give_back(report.test, spent, total, findings, ended);
        if ended && !self.is_over() {
            self.write();
        }
        let progress = self.progress(report.test);
        self.observer.progress(&progress);
        if ended {
            self.observer.done(&self.tests[report.test].row);
        }
    }

    fn progress(&self, last: usize) -> Progress {
        Progress {
            elapsed: self.started.elapsed(),
            budget: self.suite.config.suite.budget,
            tests: self.tests.len(),
            done: self.tests.iter().filter(|t| t.row.done).count(),
            findings: self.tests.iter().map(|t| t.findings).sum(),
            executions: self.executions(),
            most_executions: self.suite.config.suite.executions,
            policy: self.allocator.policy,
            last: self.tests[last].row.name.clone(),
            last_share: self.tests[last].row.share(),
        }
    }

    /// Tells all that still live to end as they are, and waits for what they have to say.
    fn stop_all(&mut self) {
        self.halt.store(true, Relaxed);
        for test in self.tests.iter().filter(|test| !test.ended) {
            let _ = test.grant.send(Grant::Stop);
        }
        while self.tests.iter().any(|test| !test.ended) {
            let Ok(report) = self.from.recv() else { break };
            self.take_report(report);
        }
    }

    /// Writes the record, so that the suite can be resumed whatever happens.
    fn write(&mut self) {
        let result = self.so_far();
        if let Err(reason) = record::write(self.suite, &result) {
            self.unwritten = Some(reason);
            return;
        }
        for test in self.tests.iter_mut().filter(|test| test.row.done && !test.forgotten) {
            // If it stays, it is not looked at.
            let _ = checkpoint::forget(&test.row.directory);
            test.forgotten = true;
        }
    }

    fn so_far(&self) -> SuiteResult {
        SuiteResult {
            policy: self.allocator.policy,
            began: self.began,
            wall_seconds: self.started.elapsed().as_secs_f64(),
            budget_spent: self.budget_spent && self.tests.iter().any(|t| !t.row.done),
            interrupted: self.interrupted,
            rows: self.tests.iter().map(|t| t.row.clone()).collect(),
            unwritten: self.unwritten.clone(),
        }
    }

    fn result(mut self) -> SuiteResult {
        self.write();
        self.so_far()
    }
}

/// Notes what a test came to, and writes its record.
fn finish(row: &mut Row, end: End, (most, keep_going): (Option<u64>, bool), elapsed: Duration) {
    let stopped = end.trouble.as_ref().is_some_and(Trouble::is_stopped);
    row.trouble = end.trouble.filter(|_| !stopped);
    if let Some(mut run) = end.run {
        if run.unmet.is_none() {
            run.unmet = Require::unmet(row.require, &run);
        }
        row.executions = run.executions;
        row.estimate = run.estimate.or(row.estimate);
        // What was stopped by the suite's budget is not done; what has reached its own limit is. Whether a Rust test goes on after a
        // finding it knows itself.
        let found = !keep_going && run.verdict == Verdict::Finding && row.kind == TestKind::Program;
        row.done = !run.interrupted || found || most.is_some_and(|most| run.executions >= most);
        if let Err(error) = store::write_run(&row.directory, &run) {
            let help = "is the disk full, or the directory not yours? Name another with --run-dir";
            row.trouble = Some(Trouble::new(format!("its record could not be written: {error}"), help));
        }
        row.run = Some(run);
    }
    row.done |= row.trouble.is_some();
    row.done_at = row.done.then_some(elapsed.as_secs_f64());
}

/// How much more a test has cost in all than in this run of the suite, if every execution costs the same.
fn share_of(row: &Row) -> f64 {
    let made = row.executions.saturating_sub(row.carried);
    if made == 0 { 1.0 } else { row.executions as f64 / made as f64 }
}

/// What a test costs in all, as natural logarithm: as much for each execution as so far.
pub(crate) fn total_ln(spent: f64, executions: u64, estimate: Option<Estimate>, most: Option<u64>) -> Option<f64> {
    let each = spent / executions as f64;
    let limit = most.map(|most| (most as f64).log10());
    let log10 = match (estimate.map(|e| e.log10), limit) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    };
    let log10 = log10.filter(|log10| log10.is_finite() && executions > 0 && each > 0.0)?;
    Some(log10 * std::f64::consts::LN_10 + each.ln())
}

/// Tells whether a file is the one that was looked at.
pub(crate) fn stamp(file: &Path) -> Option<Stamp> {
    let data = std::fs::metadata(file).ok()?;
    Some((data.modified().ok()?, data.len()))
}
