//! Sampling with several workers, each in a process of its own, with the result that one worker would have.
//!
//! Samples come in chunks, each with its seed, so the same are drawn however many workers there are. What is noticed in a chunk
//! counts when all chunks before it are done: then it is what one worker would have come to first.

use super::Problem;
use super::divided::Heard;
use super::run::{Explored, Run};
use crate::finding::Noticed;
use crate::limit::Limit;
use crate::target::{Allowance, Failure, Native, Search, Wanted};
use ordain_explore::strategy::{CHUNK, Chunk, Deal, InOrder};
use ordain_explore::{Coverage, Summary};
use ordain_wire::Mode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// How long a process samples before it is heard.
const TURN: Duration = Duration::from_millis(100);
/// How often a chunk is begun whose process is lost.
const ATTEMPTS: u32 = 3;

/// What workers share.
struct Common {
    job: Search,
    deal: Deal,
    keep_going: bool,
    limit: Limit,
    /// Nobody goes on, whatever is left.
    stop: Arc<AtomicBool>,
}

/// What a worker tells of a chunk.
enum Told {
    /// It has gone on.
    Turn(Box<Heard>),
    /// Its process was started anew, and it begins again: why, if it was lost, and what it had drawn.
    Again { lost: Option<String>, drawn: u64 },
    /// Nothing can be run.
    Failed(Failure),
    /// The program destroys its processes.
    GivenUp,
    /// That is all.
    Complete,
}

impl Common {
    fn is_over(&self) -> bool {
        self.stop.load(Relaxed) || self.limit.is_over()
    }

    fn work(&self, mut native: Native, tell: &Sender<(u64, Told)>) {
        let mut told: Vec<Noticed> = Vec::new();
        while !self.is_over()
            && let Some(chunk) = self.deal.next()
        {
            let tell = |what| tell.send((chunk.number, what)).ok();
            if self.draw(&mut native, &chunk, &mut told, &tell).is_none() {
                return;
            }
        }
    }

    /// Draws a chunk; `None` if nobody listens any more.
    fn draw(
        &self,
        native: &mut Native,
        chunk: &Chunk,
        told: &mut Vec<Noticed>,
        tell: &dyn Fn(Told) -> Option<()>,
    ) -> Option<()> {
        let job = Search { seed: chunk.seed, ..self.job };
        let (mut drawn, mut attempts, known) = (0, 0, told.len());
        let mut ends = false;
        native.restart_search();
        while drawn < chunk.samples && !ends {
            if self.is_over() || !self.deal.matters(chunk.number) {
                return Some(());
            }
            let time = self.limit.left().min(TURN);
            let executions = chunk.samples - drawn;
            let allowance = Allowance { before: drawn, executions, time, forecast: Wanted::No, keep: false };
            let losses = native.losses;
            let what = match native.explore(&job, &allowance) {
                Ok(Some(turn)) => {
                    drawn += turn.summary.executions;
                    let heard = Heard::of(native, &turn, job.expected_status, told);
                    ends = heard.ends(self.keep_going);
                    Told::Turn(Box::new(heard))
                }
                Ok(None) if native.is_over() => return Some(()),
                Ok(None) => {
                    attempts += 1;
                    told.truncate(known);
                    // It may also need more threads, or another mode.
                    let lost = native.last_loss.clone().filter(|_| native.losses > losses);
                    tell(Told::Again { lost, drawn: std::mem::take(&mut drawn) })?;
                    ends = attempts > ATTEMPTS;
                    if !ends {
                        continue;
                    }
                    Told::GivenUp
                }
                Err(failure) => {
                    ends = true;
                    Told::Failed(failure)
                }
            };
            if ends {
                self.deal.end_with(chunk.number);
            }
            tell(what)?;
        }
        tell(Told::Complete)
    }
}

/// Takes in what workers have told, in order.
#[derive(Default)]
struct Taken {
    total: Summary,
    /// One worker would have ended here.
    over: bool,
    given_up: bool,
    /// Executions at the same time share something, so what they showed may be wrong.
    meet: bool,
    problem: Option<Problem>,
}

impl Taken {
    fn fail(&mut self, problem: Problem) {
        self.problem = Some(problem);
        self.over = true;
    }

    fn take(&mut self, run: &mut Run<'_>, told: Told) {
        if self.over {
            return;
        }
        if run.workers_collide() {
            (self.meet, self.over) = (true, true);
            return;
        }
        match told {
            Told::Turn(heard) => {
                self.total.add(&heard.summary);
                match run.take_heard(*heard, &self.total, false) {
                    Ok(over) => self.over = over,
                    Err(problem) => self.problem = Some(problem),
                }
            }
            Told::Again { lost: None, .. } => {}
            Told::Again { lost, .. } => {
                run.native.losses += 1;
                run.native.last_loss = lost;
            }
            Told::Failed(failure) => self.problem = Some(failure.into()),
            Told::GivenUp => self.given_up = true,
            Told::Complete => {}
        }
        self.over |= self.given_up || self.problem.is_some();
    }
}

impl Run<'_> {
    /// Whether samples are drawn by several workers.
    pub(super) fn is_shared(&mut self) -> bool {
        self.workers_now() > 1
            && self.kind().samples()
            && self.native.mode() != Mode::Exec
            && !self.check.compare_output
            && self.most(&Summary::default()) > CHUNK
    }

    /// Draws samples with several workers. `None` if the program destroys its processes: then it must be led step by step.
    pub(super) fn sample(&mut self) -> Result<Option<Explored>, Problem> {
        let most = self.most(&Summary::default());
        let common = Common {
            job: self.job(),
            deal: Deal::new(self.check.seed, most),
            keep_going: self.check.keep_going,
            limit: self.limit.clone(),
            stop: Arc::new(AtomicBool::new(false)),
        };
        self.crowd = self.workers;
        let mut crew = Vec::new();
        for mut native in self.hire(self.workers)? {
            native.set_limit(self.limit.clone().or(Some(common.stop.clone())));
            crew.push(native);
        }
        // What was drawn, in whatever order, and what of it counts by now.
        let mut drawn = Summary::default();
        let (mut order, mut taken) = (InOrder::default(), Taken::default());
        let (tell, told) = channel();
        std::thread::scope(|scope| {
            for (number, native) in crew.into_iter().enumerate() {
                let (common, tell) = (&common, tell.clone());
                let begun = std::thread::Builder::new().spawn_scoped(scope, move || common.work(native, &tell));
                match begun {
                    Ok(_) => {}
                    Err(error) if number == 0 => taken.fail(Failure::Resources(error.to_string()).into()),
                    // Those that there are do the work.
                    Err(_) => break,
                }
            }
            drop(tell);
            let mut ticked = Instant::now();
            loop {
                match told.recv_timeout(TURN) {
                    Ok((chunk, Told::Complete)) => order.complete(chunk),
                    Ok((chunk, what)) => {
                        match &what {
                            Told::Turn(heard) => drawn.add(&heard.summary),
                            Told::Again { drawn: in_vain, .. } => {
                                drawn.executions -= in_vain;
                                order.begin_again(chunk, |what| matches!(what, Told::Again { .. }));
                            }
                            Told::Failed(_) | Told::GivenUp | Told::Complete => {}
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
        let Taken { total, given_up, meet, problem, .. } = taken;
        if meet {
            return if self.workers_now() > 1 { self.sample() } else { self.search_whole(None) };
        }
        match problem {
            Some(problem) => Err(problem),
            None if given_up => Ok(None),
            None => Ok(Some((total, (total.executions >= most).then_some(Coverage::Samples), None))),
        }
    }
}
