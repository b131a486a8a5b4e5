//! The gate between a test and the conductor: the test waits in front of it for its turn, and tells how far it is.

use crate::result::End;
use ordain_report::Estimate;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender};
use std::time::{Duration, Instant};

/// What the conductor grants to a test.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Grant {
    /// Go on for that long, and until that many executions are made in all.
    Slice { time: Duration, until: u64 },
    /// End as it is.
    Stop,
}

/// How far a test is at the end of a slice.
#[derive(Debug)]
pub(crate) struct SliceReport {
    pub(crate) test: usize,
    pub(crate) executions: u64,
    /// Those of them that were made in earlier runs of the suite.
    pub(crate) carried: u64,
    pub(crate) findings: usize,
    pub(crate) estimate: Option<Estimate>,
    /// What it came to, if it has come to its end.
    pub(crate) end: Option<End>,
}

/// The side of a test.
pub(crate) struct Gate {
    test: usize,
    to: Sender<SliceReport>,
    from: Receiver<Grant>,
    /// The slice: when it began, how long it is, and how many executions there may be in all at its end.
    slice: (Instant, Duration, u64),
    /// Executions that were made in earlier runs of the suite.
    carried: u64,
    /// How many executions there may be in all, in any slice.
    most: u64,
    /// Time of the slices before.
    active: Duration,
    stopped: bool,
    /// Set when the suite ends before the slice does.
    halt: Arc<AtomicBool>,
}

impl Gate {
    pub(crate) fn new(
        test: usize,
        to: Sender<SliceReport>,
        from: Receiver<Grant>,
        most: Option<u64>,
        halt: Arc<AtomicBool>,
    ) -> Self {
        let (slice, most) = ((Instant::now(), Duration::ZERO, 0), most.unwrap_or(u64::MAX));
        Self { test, to, from, slice, carried: 0, most, active: Duration::ZERO, stopped: false, halt }
    }

    /// The test goes on with what it has done in earlier runs of the suite.
    pub(crate) fn carry(&mut self, executions: u64) {
        self.carried = self.carried.saturating_add(executions);
        self.slice.2 = self.slice.2.saturating_add(executions);
    }

    /// Whether the test has reached its own limit.
    pub(crate) fn is_at_limit(&self, done: u64) -> bool {
        done >= self.most
    }

    /// Waits for the next turn.
    pub(crate) fn wait(&mut self) {
        match self.from.recv() {
            Ok(Grant::Slice { time, until }) => self.slice = (Instant::now(), time, until),
            Ok(Grant::Stop) | Err(_) => {
                self.stopped = true;
                self.slice = (Instant::now(), Duration::ZERO, 0);
            }
        }
    }

    /// Whether the test shall end as it is.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped || self.halt.load(Relaxed)
    }

    /// What is set when the suite ends before the slice does.
    pub(crate) fn halt(&self) -> Arc<AtomicBool> {
        self.halt.clone()
    }

    /// Time that the test had its turn.
    pub(crate) fn active(&self) -> Duration {
        self.active + self.slice.0.elapsed()
    }

    /// What is left of the slice after that many executions: time, and executions.
    pub(crate) fn allowance(&self, done: u64) -> (Duration, u64) {
        let (begin, time, until) = self.slice;
        (time.saturating_sub(begin.elapsed()), until.min(self.most).saturating_sub(done).max(1))
    }

    /// Whether the slice is over.
    pub(crate) fn is_over(&self, done: u64) -> bool {
        let (begin, time, until) = self.slice;
        !self.is_stopped() && (done >= until || begin.elapsed() >= time)
    }

    /// Tells how far the test is, and waits for the next turn.
    pub(crate) fn pause(&mut self, executions: u64, findings: usize, estimate: Option<Estimate>) {
        self.active = self.active();
        let report = SliceReport { test: self.test, executions, carried: self.carried, findings, estimate, end: None };
        if self.to.send(report).is_err() {
            self.stopped = true;
        } else {
            self.wait();
        }
    }

    /// Tells what the test came to.
    pub(crate) fn end(self, end: End) {
        let (executions, findings) = end.run.as_ref().map_or((0, 0), |run| (run.executions, run.findings.len()));
        let estimate = end.run.as_ref().and_then(|run| run.estimate);
        let carried = self.carried;
        let _ = self.to.send(SliceReport { test: self.test, executions, carried, findings, estimate, end: Some(end) });
    }
}
