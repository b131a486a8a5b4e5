//! Sampling with several workers, with the result that one worker would have.
//!
//! Samples come in chunks, each with its seed, so the same are drawn however many workers there are. What is observed in a chunk
//! counts when all chunks before it are done: then it is what one worker would have come to first.

use super::divided::WorkerReport;
use super::{Attempt, Campaign, Explored, TURN};
use crate::Problem;
use crate::explorer::{Explorer, Observation};
use crate::limit::Limit;
use crate::turn::{Allowance, Job, Part, Wanted};
use crate::worker::Worker;
use ordain_explore::strategy::{CHUNK, Chunk, Deal, InOrder};
use ordain_explore::{Coverage, Summary};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Instant;

/// How often a chunk is begun whose process is lost.
const ATTEMPTS: u32 = 3;

/// What workers share.
struct Common {
    job: Job,
    deal: Deal,
    keep_going: bool,
    limit: Limit,
    /// Nobody goes on, whatever is left.
    stop: Arc<AtomicBool>,
}

/// What a worker tells of a chunk.
enum Message<F> {
    /// It has gone on.
    Turn(Box<WorkerReport>),
    /// Its process was started anew, and it begins again: why, if it was lost, and what it had drawn.
    Again { lost: Option<String>, drawn: u64 },
    /// Nothing can be run.
    Failed(F),
    /// The program departed from a schedule of its own.
    Departed { step: usize, difference: String },
    /// Executions at the same time are in each other's way.
    Collision,
    /// The program destroys its processes.
    GivenUp,
    /// That is all.
    Complete,
}

impl Common {
    fn is_over(&self) -> bool {
        self.stop.load(Relaxed) || self.limit.is_over()
    }

    fn work<E: Explorer>(&self, mut worker: Worker<E>, tell: &Sender<(u64, Message<E::Failure>)>) {
        let mut told: Vec<Observation> = Vec::new();
        while !self.is_over()
            && let Some(chunk) = self.deal.next()
        {
            let tell = |what| tell.send((chunk.number, what)).ok();
            if self.draw(&mut worker, &chunk, &mut told, &tell).is_none() {
                return;
            }
        }
    }

    /// Draws a chunk; `None` if nobody listens any more.
    fn draw<E: Explorer>(
        &self,
        worker: &mut Worker<E>,
        chunk: &Chunk,
        told: &mut Vec<Observation>,
        tell: &dyn Fn(Message<E::Failure>) -> Option<()>,
    ) -> Option<()> {
        let job = Job { seed: chunk.seed, ..self.job };
        let (mut drawn, mut attempts, known) = (0, 0, told.len());
        let mut ends = false;
        worker.restart();
        while drawn < chunk.samples && !ends {
            if self.is_over() || !self.deal.matters(chunk.number) {
                return Some(());
            }
            let time = self.limit.left().min(TURN);
            let executions = chunk.samples - drawn;
            let allowance = Allowance { before: drawn, executions, time, forecast: Wanted::No, keep: false };
            let losses = worker.explorer.losses().0;
            let what = match worker.explore(&job, Part::Whole, &allowance, None, &self.limit) {
                _ if worker.explorer.collides() => return tell(Message::Collision),
                Ok(Some(turn)) => {
                    drawn += turn.summary.executions;
                    if let Some(divergence) = &turn.departure {
                        ends = true;
                        let difference = super::difference(&worker.explorer, divergence);
                        Message::Departed { step: divergence.step, difference }
                    } else {
                        let over = worker.explorer.is_over();
                        let report = WorkerReport::of(&worker.explorer, turn, told);
                        ends = report.ends(self.keep_going);
                        if over {
                            return tell(Message::Turn(Box::new(report)));
                        }
                        Message::Turn(Box::new(report))
                    }
                }
                Ok(None) if worker.explorer.is_over() => return Some(()),
                Ok(None) => {
                    attempts += 1;
                    told.truncate(known);
                    // It may also need more threads, or another mode.
                    let (count, last) = worker.explorer.losses();
                    let lost = last.filter(|_| count > losses);
                    tell(Message::Again { lost, drawn: std::mem::take(&mut drawn) })?;
                    ends = attempts > ATTEMPTS;
                    if !ends {
                        continue;
                    }
                    Message::GivenUp
                }
                Err(failure) => {
                    ends = true;
                    Message::Failed(failure)
                }
            };
            if ends {
                self.deal.end_with(chunk.number);
            }
            tell(what)?;
        }
        tell(Message::Complete)
    }
}

/// What was taken in of what workers have told, in order.
struct Taken<F: std::error::Error + 'static> {
    total: Summary,
    /// One worker would have ended here.
    over: bool,
    given_up: bool,
    /// Executions at the same time are in each other's way, so what they showed may be wrong.
    collision: bool,
    problem: Option<Problem<F>>,
}

impl<F: std::error::Error + Clone + Send + 'static> Taken<F> {
    fn take<E: Explorer<Failure = F>>(&mut self, campaign: &mut Campaign<'_, E>, message: Message<F>) {
        if self.over {
            return;
        }
        if campaign.worker.explorer.collides() && campaign.divided_among > 1 {
            (self.collision, self.over) = (true, true);
            return;
        }
        match message {
            Message::Turn(report) => {
                self.total.add(&report.summary);
                match campaign.take_report(*report, &self.total, false) {
                    Ok(over) => self.over = over,
                    Err(problem) => self.problem = Some(problem),
                }
            }
            Message::Again { lost, .. } => {
                if let Some(how) = lost {
                    campaign.worker.explorer.note_loss(how);
                }
            }
            Message::Failed(failure) => self.problem = Some(failure.into()),
            Message::Departed { step, difference } => {
                self.problem = Some(Problem::Nondeterminism { step, difference });
            }
            Message::Collision => (self.collision, self.over) = (true, true),
            Message::GivenUp => self.given_up = true,
            Message::Complete => {}
        }
        self.over |= self.given_up || self.problem.is_some();
    }
}

impl<E: Explorer> Campaign<'_, E> {
    /// Whether samples are drawn by several workers.
    pub(super) fn is_shared(&mut self) -> bool {
        self.workers_now() > 1
            && self.kind.samples()
            && self.worker.explorer.indivisible().is_none()
            && self.most(&Summary::default()) > CHUNK
    }

    /// Draws samples with several workers. `None` if the program destroys its processes: then it must be led step by step.
    pub(super) fn sample(&mut self) -> Attempt<Option<Explored>, E> {
        let most = self.most(&Summary::default());
        let common = Common {
            job: self.job(),
            deal: Deal::new(self.settings.seed, most),
            keep_going: self.settings.keep_going,
            limit: self.limit.clone(),
            stop: Arc::new(AtomicBool::new(false)),
        };
        self.divided_among = self.workers;
        let crew = self.worker.explorer.recruit(self.workers)?;
        // What was drawn, in whatever order, and what of it counts by now.
        let mut drawn = Summary::default();
        let (mut order, mut taken) = (
            InOrder::default(),
            Taken { total: Summary::default(), over: false, given_up: false, collision: false, problem: None },
        );
        let (tell, told) = channel();
        std::thread::scope(|scope| {
            for (number, recruit) in crew.into_iter().enumerate() {
                let (common, tell) = (&common, tell.clone());
                let time = self.workers_cpu.clone();
                let work = move || {
                    let _measured = time.measure();
                    let mut explorer = recruit();
                    explorer.set_limit(common.limit.clone().or(Some(common.stop.clone())));
                    common.work(Worker::new(explorer), &tell);
                };
                // Where the system gives no more threads, those that there are do the work.
                let begun = std::thread::Builder::new().spawn_scoped(scope, work).is_ok();
                assert!(begun || number > 0, "the system gives no thread to work in");
                if !begun {
                    break;
                }
            }
            drop(tell);
            let mut ticked = Instant::now();
            loop {
                match told.recv_timeout(TURN) {
                    Ok((chunk, Message::Complete)) => order.complete(chunk),
                    Ok((chunk, what)) => {
                        match &what {
                            Message::Turn(report) => drawn.add(&report.summary),
                            Message::Again { drawn: in_vain, .. } => {
                                drawn.executions -= in_vain;
                                order.begin_again(chunk, |what| matches!(what, Message::Again { .. }));
                            }
                            _ => {}
                        }
                        order.tell(chunk, what);
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => return,
                }
                while let Some(what) = order.take() {
                    taken.take(self, what);
                }
                if ticked.elapsed() >= TURN {
                    ticked = Instant::now();
                    if self.tell_progress(&drawn) {
                        common.stop.store(true, Relaxed);
                    }
                }
                if taken.over {
                    common.stop.store(true, Relaxed);
                }
            }
        });
        if !taken.over {
            self.note_end();
            // Time is over, or somebody stopped it: what was noticed is told, though chunks before it are not done.
            for what in order.rest() {
                taken.take(self, what);
            }
        }
        let Taken { total, given_up, collision, problem, .. } = taken;
        if collision {
            return if self.are_kept_apart() { self.sample() } else { self.search_whole(None).map(Some) };
        }
        match problem {
            Some(problem) => Err(problem),
            None if given_up => Ok(None),
            None => Ok(Some((total, (total.executions >= most).then_some(Coverage::Samples), None))),
        }
    }
}
