//! Sampling with several workers: each draws samples with seeds of its own, in a process of its own.
//!
//! Samples come in chunks, each with its seed, so the same are drawn however many workers there are.

use super::Problem;
use super::divided::Heard;
use super::run::{Explored, Run};
use crate::finding::Noticed;
use crate::target::{Allowance, Failure, Native, Search, Wanted};
use ordain_explore::{Coverage, Summary};
use ordain_wire::Mode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// Samples with one seed.
const CHUNK: u64 = 2_000;
/// How long a process samples before it is heard.
const TURN: Duration = Duration::from_millis(100);
/// How often a chunk is begun whose process is lost.
const ATTEMPTS: u32 = 3;

/// What workers share.
struct Common {
    job: Search,
    most: u64,
    deadline: Option<Instant>,
    /// The next chunk.
    next: AtomicU64,
    stop: AtomicBool,
}

/// What a worker tells.
enum Told {
    /// It has gone on.
    Turn(Summary, Box<Heard>),
    /// A process was lost, and why; what it had drawn of its chunk does not count.
    Lost(String, u64),
    /// Nothing can be run.
    Failed(Failure),
    /// The program destroys its processes.
    GivenUp,
}

impl Common {
    fn is_over(&self) -> bool {
        self.stop.load(Relaxed) || self.deadline.is_some_and(|d| Instant::now() >= d)
    }

    fn work(&self, mut native: Native, tell: &Sender<Told>) {
        let mut told: Vec<Noticed> = Vec::new();
        loop {
            let chunk = self.next.fetch_add(1, Relaxed);
            let first = chunk.saturating_mul(CHUNK);
            if first >= self.most || self.is_over() {
                return;
            }
            let seed = self.job.seed.wrapping_add(chunk.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            let job = Search { seed, ..self.job };
            if self.draw(&mut native, &job, CHUNK.min(self.most - first), &mut told, tell).is_none() {
                return;
            }
        }
    }

    /// Draws a chunk; `None` if it is over.
    fn draw(
        &self,
        native: &mut Native,
        job: &Search,
        most: u64,
        told: &mut Vec<Noticed>,
        tell: &Sender<Told>,
    ) -> Option<()> {
        let (mut done, mut attempts) = (0, 0);
        native.restart_search();
        while done < most && !self.is_over() {
            let left = self.deadline.map_or(TURN, |d| d.saturating_duration_since(Instant::now()).min(TURN));
            let allowance =
                Allowance { before: done, executions: most - done, time: left, forecast: Wanted::No, keep: false };
            match native.explore(job, &allowance) {
                Ok(Some(turn)) => {
                    done += turn.summary.executions;
                    let heard = Heard::of(native, &turn, job.expected_status, told);
                    tell.send(Told::Turn(turn.summary, Box::new(heard))).ok()?;
                }
                Ok(None) => {
                    attempts += 1;
                    let why = native.last_loss.clone().unwrap_or_else(|| "its process was started anew".into());
                    tell.send(Told::Lost(why, done)).ok()?;
                    if attempts > ATTEMPTS {
                        tell.send(Told::GivenUp).ok()?;
                        return None;
                    }
                    done = 0;
                }
                Err(failure) => {
                    tell.send(Told::Failed(failure)).ok()?;
                    return None;
                }
            }
        }
        Some(())
    }
}

impl Run<'_> {
    /// Whether samples can be drawn by several workers.
    pub(super) fn is_shared(&self) -> bool {
        self.check.workers > 1
            && self.kind().samples()
            && self.native.mode() != Mode::Exec
            && !self.check.compare_output
            && self.most(&Summary::default()) > CHUNK
    }

    /// Draws samples with several workers. `None` if the program destroys its processes: then it must be led step by step.
    pub(super) fn sample(&mut self) -> Result<Option<Explored>, Problem> {
        let common = Common {
            job: self.job(),
            most: self.most(&Summary::default()),
            deadline: self.check.max_time.map(|t| self.started + t),
            next: AtomicU64::new(0),
            stop: AtomicBool::new(false),
        };
        let mut crew = Vec::new();
        for number in 0..self.check.workers {
            let fresh = self.native.fresh_like()?;
            // The first goes on with the process that is there.
            crew.push(if number == 0 { std::mem::replace(&mut self.native, fresh) } else { fresh });
        }
        let mut total = Summary::default();
        let mut problem = None;
        let mut given_up = false;
        let (tell, told) = channel();
        std::thread::scope(|scope| {
            for native in crew {
                let (common, tell) = (&common, tell.clone());
                scope.spawn(move || common.work(native, &tell));
            }
            drop(tell);
            let mut ticked = Instant::now();
            loop {
                match told.recv_timeout(TURN) {
                    Ok(Told::Turn(summary, heard)) => {
                        total.add(&summary);
                        match self.take_heard(*heard, &total, common.stop.load(Relaxed)) {
                            Ok(false) => {}
                            Ok(true) => common.stop.store(true, Relaxed),
                            Err(wrong) => problem = Some(wrong),
                        }
                    }
                    Ok(Told::Lost(why, done)) => {
                        total.executions -= done;
                        self.native.losses += 1;
                        self.native.last_loss = Some(why);
                    }
                    Ok(Told::Failed(failure)) => problem = Some(failure.into()),
                    Ok(Told::GivenUp) => given_up = true,
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => return,
                }
                if ticked.elapsed() >= TURN {
                    ticked = Instant::now();
                    if self.tell_progress(&total) {
                        common.stop.store(true, Relaxed);
                    }
                }
                if problem.is_some() || given_up {
                    common.stop.store(true, Relaxed);
                }
            }
        });
        self.timed_out |= common.deadline.is_some_and(|d| Instant::now() >= d);
        match problem {
            Some(problem) => Err(problem),
            None if given_up => Ok(None),
            None => {
                let drawn = total.executions >= common.most;
                Ok(Some((total, drawn.then_some(Coverage::Samples), None)))
            }
        }
    }
}
