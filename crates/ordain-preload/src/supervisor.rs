//! Exploring inside the process: the search runs where the program runs, so that an execution costs no change of process.
//!
//! What the search knows is in memory of its own, which is read-only while the program runs: a program that writes wildly crashes
//! instead. An execution is learned from what a second arbiter makes of its events, never from what the first one, whose memory
//! the program could write to, believes.

use crate::classes::Classes;
use crate::engine::engine;
use crate::heap;
use crate::link::{self, control};
use crate::sys::call;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ops::ControlFlow;
use core::sync::atomic::Ordering::Relaxed;
use ordain_explore::branch_point;
use ordain_explore::estimate::{Effort, Forecast, Foresight};
use ordain_explore::frontier::{Explored, explore_fragment};
use ordain_explore::strategy::{Bound, Bounded, Kind, Mixed, Optimal};
use ordain_explore::{Coverage, Fingerprint, Plan, Strategy, Summary, Target, search};
use ordain_model::{End, Execution, Names, ThreadId};
use ordain_wire::{
    Authority, BoundKind, ClassUse, Control, Ending, Estimating, Exhausted, Follower, Knowledge, Mode, Observation,
    Request, Unmodelled,
};

/// The search of this process.
struct Supervisor {
    /// The number that the launcher gave it.
    number: u32,
    follower: Follower,
    strategy: Box<dyn Strategy>,
    /// What the launcher knows already: names, long loops.
    told: (usize, usize),
    /// Runs one execution that has been prepared.
    execute: fn(),
    contradiction: Option<&'static str>,
    /// The strategy only samples: what an execution teaches need not be confirmed, and findings are confirmed elsewhere.
    samples: bool,
    visible: u32,
    spin_held: bool,
    foresight: Foresight,
    fingerprint: Fingerprint,
    /// Steps since the last estimate, and executions since then.
    unforeseen: (u64, u64),
}

static mut SUPERVISOR: *mut Supervisor = core::ptr::null_mut();

struct SearchTarget<'a>(&'a mut Supervisor);

impl Target for SearchTarget<'_> {
    fn run(&mut self, plan: &mut Plan<'_>) {
        let s = &mut *self.0;
        let e = engine();
        // SAFETY: the plan outlives the execution, and nobody else uses it meanwhile.
        let shielded = unsafe { heap::outside(|| e.prepare(plan)) };
        if shielded {
            plan.restart();
        }
        heap::shield(shielded);
        (s.execute)();
        if s.samples && shielded {
            // Nothing is learned, and what comes next does not depend on anything that is shielded.
            return;
        }
        heap::unshield();
        if s.samples {
            return;
        }
        let by = ended_by();
        let followed = match shielded {
            true => s.follower.follow_whole(e.events.bytes(), plan),
            // The plan decided as it went, so it cannot be asked again.
            false => {
                s.follower.begin();
                s.follower.feed(e.events.bytes(), &mut Authority::Events)
            }
        };
        let concluded = followed.and_then(|()| match shielded {
            true => s.follower.conclude(by, &mut Authority::Plan(plan)),
            false if by.is_none() && e.was_cut() => {
                s.follower.arbiter.finish_with(End::Cut);
                Ok(())
            }
            false => s.follower.conclude(by, &mut Authority::Events),
        });
        if let Err(contradiction) = concluded {
            s.contradiction = Some(contradiction.0);
        }
    }

    fn execution(&self) -> &Execution {
        if self.0.samples { engine().arbiter.execution() } else { self.0.follower.arbiter.execution() }
    }

    fn names(&self) -> &Names {
        self.0.follower.arbiter.names()
    }
}

impl SearchTarget<'_> {
    /// Estimates how much there is. What is found on the way is told.
    fn forecast(
        &mut self,
        strategy: &mut dyn Strategy,
        executions: u64,
        at_the_end: bool,
        remarkable: &mut bool,
        restarted: &mut bool,
    ) {
        let control = control();
        let (some, steps) = core::mem::take(&mut self.0.unforeseen);
        let effort =
            if at_the_end { Effort::at_the_end(executions, steps.max(some)) } else { Effort::beside(some, steps) };
        let mut foresight = core::mem::take(&mut self.0.foresight);
        let effort = effort.until(&is_stopped);
        let forecast = foresight.forecast(self, strategy, executions, effort, &mut |target| {
            *remarkable = target.0.contradiction.is_some() || is_remarkable(target.execution(), control);
            if *remarkable { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        self.0.foresight = foresight;
        match forecast {
            Forecast::Estimate(Some(estimate)) => {
                for (word, value) in control.estimate.iter().zip([estimate.ln, estimate.low, estimate.high]) {
                    word.store(value.to_bits(), Relaxed);
                }
                control.estimate_done.store(estimate.done, Relaxed);
                control.estimated.store(1, Relaxed);
            }
            Forecast::Estimate(None) | Forecast::Broken => {}
            Forecast::Restarted => *restarted = true,
        }
    }
}

/// Whether the launcher wants to have what there is.
fn is_stopped() -> bool {
    control().stop.load(Relaxed) != 0
}

/// Which thread ended the execution, if not the model did, and whether in an orderly way.
fn ended_by() -> Option<(ThreadId, bool)> {
    let control = control();
    match control.ending.load() {
        Some(Ending::Model) => None,
        Some(Ending::Exit) => Some((ThreadId(control.culprit.load(Relaxed)), true)),
        _ => Some((ThreadId(control.culprit.load(Relaxed)), false)),
    }
}

/// Whether the launcher should hear of the last execution.
fn is_remarkable(execution: &Execution, control: &Control) -> bool {
    let ended_well = match control.ending.load() {
        Some(Ending::Model) => true,
        Some(Ending::Exit) => control.detail.load(Relaxed) == control.expected_status.load(Relaxed),
        _ => false,
    };
    !ended_well || !execution.misuses.is_empty() || !matches!(execution.end, End::Complete | End::Cut | End::Running)
}

/// Explores until the turn is over, an execution is remarkable, or nothing is left; leaves everything in the control words.
pub fn explore(execute: fn()) {
    heap::inside(|| {
        // SAFETY: only the carrier comes here.
        let s = unsafe {
            if SUPERVISOR.is_null() || (*SUPERVISOR).number != control().search.load(Relaxed) {
                if !SUPERVISOR.is_null() {
                    drop(Box::from_raw(SUPERVISOR));
                }
                SUPERVISOR = Box::into_raw(Box::new(Supervisor::new(execute)));
            }
            &mut *SUPERVISOR
        };
        if control().request.is(Request::ExploreFragment) { s.explore_fragment() } else { s.explore() }
    });
}

/// Nanoseconds on a clock.
fn read_clock(clock: i32) -> u64 {
    let mut time = [0u64; 2];
    // SAFETY: the kernel fills it in.
    unsafe { call!(libc::SYS_clock_gettime, clock, time.as_mut_ptr()) };
    time[0] * 1_000_000_000 + time[1]
}

/// Processor time of the process, and of its children that have ended if executions are children.
fn processor_time() -> u64 {
    let own = read_clock(libc::CLOCK_PROCESS_CPUTIME_ID);
    if engine().mode == Mode::Snapshot {
        return own;
    }
    let mut usage = [0u64; 18];
    // SAFETY: the kernel fills it in: two times of seconds and microseconds come first.
    unsafe { call!(libc::SYS_getrusage, libc::RUSAGE_CHILDREN, usage.as_mut_ptr()) };
    own + (usage[0] + usage[2]) * 1_000_000_000 + (usage[1] + usage[3]) * 1000
}

/// Microseconds since some time.
fn now() -> u64 {
    read_clock(libc::CLOCK_MONOTONIC) / 1000
}

impl Supervisor {
    fn new(execute: fn()) -> Self {
        let control = control();
        let mut follower = Follower::new(link::options());
        // What the engine has learned from the launcher; it cannot be wrong, because no execution has run under it yet.
        let known = link::read_known();
        let _ = follower.adopt(&known);
        let told = follower.extent();
        let bound = control.bound.load(Relaxed);
        let mut samples = false;
        let mut strategy: Box<dyn Strategy> = match control.bound_kind.load().unwrap_or(BoundKind::None) {
            BoundKind::Preemptions => Box::new(Bounded::new(Bound::Preemptions(bound))),
            BoundKind::Delays => Box::new(Bounded::new(Bound::Delays(bound))),
            BoundKind::None => {
                let kind = Kind::ALL.get(control.strategy.load(Relaxed) as usize).copied().unwrap_or_default();
                samples = kind.samples();
                let (seed, depth) = (control.seed.load(Relaxed), control.depth.load(Relaxed) as usize);
                if control.class_use.is(ClassUse::Compare) {
                    samples = true;
                    Box::new(UnshieldedSampler::new(|| Box::new(Mixed::new(seed))))
                } else if samples {
                    Box::new(UnshieldedSampler::new(|| kind.make(seed, depth)))
                } else {
                    kind.make(seed, depth)
                }
            }
        };
        let number = control.search.load(Relaxed);
        if let Some(strategy) = strategy.divisible()
            && control.request.is(Request::Explore)
            && let Some(rest) = link::read_fragment()
        {
            // SAFETY: no execution runs.
            unsafe { heap::outside(|| crate::process::learn(engine(), link::read_known())) };
            strategy.load(&rest);
            strategy.go_on_after(control.before.load(Relaxed));
        }
        Self {
            number,
            follower,
            strategy,
            told,
            execute,
            contradiction: None,
            samples,
            visible: 0,
            spin_held: false,
            foresight: Foresight::default(),
            fingerprint: Fingerprint::default(),
            unforeseen: (0, 0),
        }
    }

    /// Lets the follower know what the engine knows.
    fn follow_engine(&mut self) {
        let e = engine();
        let known = Knowledge { births: e.arbiter.names().births(self.told.0).collect(), long_loops: Vec::new() };
        if self.follower.adopt(&known).is_err() {
            self.contradiction = Some("the names of objects are not those that were told");
        }
    }

    /// Explores a fragment, and tells what has become of it.
    fn explore_fragment(&mut self) {
        let used = processor_time();
        if control().names_length.load(Relaxed) > 0 {
            // What other workers have met.
            let known = link::read_known();
            // SAFETY: no execution runs.
            unsafe { heap::outside(|| crate::process::learn(engine(), link::read_known())) };
            if self.follower.adopt(&known).is_err() {
                self.contradiction = Some("the names of objects are not those that were told");
            }
            self.told = self.follower.extent();
        }
        let mut whole = core::mem::replace(&mut self.strategy, Box::new(NoStrategy));
        let (Some(fragment), Some(strategy)) = (link::read_fragment(), whole.divisible()) else {
            link::break_down(format_args!("there is no fragment to explore"));
        };
        let mut turn = TurnLimit::begin();
        let mut inside = SearchTarget(self);
        let (mut explored, summary) =
            explore_fragment(&mut inside, strategy, &fragment, &mut |target, summary| turn.look(target, summary));
        turn.classes.tell();
        let (mut remarkable, mut restarted) = (turn.remarkable, false);
        control().estimated.store(0, Relaxed);
        let unforeseen = &mut inside.0.unforeseen;
        *unforeseen = (unforeseen.0 + summary.executions, unforeseen.1 + summary.steps);
        let estimating = control().estimating.load().unwrap_or(Estimating::No);
        if estimating != Estimating::No && !remarkable && !summary.restarted {
            // The worker knows its own part only, so it looks from the beginning.
            let mut beginning = Optimal::default();
            if let Some(mut plan) = beginning.plan() {
                inside.run(&mut plan);
                remarkable = inside.0.contradiction.is_some() || is_remarkable(inside.execution(), control());
            }
            if !remarkable && !inside.execution().learned {
                beginning.learn(inside.execution());
                inside.forecast(&mut beginning, 1, estimating == Estimating::Best, &mut remarkable, &mut restarted);
            }
        }
        explored.loops = self.follower.arbiter.long_loops().to_vec();
        if !link::write_explored(&explored) {
            link::refuse(format_args!("the rest of a fragment of the search is too large to be reported"));
        }
        link::write_pairs(&branch_point::encode(&branch_point::branch_points(strategy)));
        self.strategy = whole;
        self.report(&summary, remarkable, restarted || summary.restarted, used);
    }

    fn explore(&mut self) {
        let control = control();
        let used = processor_time();
        let mut restarted = false;
        // The search has the strategy, and the target all the rest.
        let mut strategy = core::mem::replace(&mut self.strategy, Box::new(NoStrategy));
        let mut inside = SearchTarget(self);
        let mut summary = Summary::default();
        let mut turn = TurnLimit::begin();
        if turn.most > 0 {
            summary = search(&mut inside, &mut *strategy, &mut |target, summary| turn.look(target, summary));
            heap::unshield();
        }
        turn.classes.tell();
        let mut remarkable = turn.remarkable;
        restarted |= summary.restarted;
        control.estimated.store(0, Relaxed);
        let unforeseen = &mut inside.0.unforeseen;
        *unforeseen = (unforeseen.0 + summary.executions, unforeseen.1 + summary.steps);
        let estimating = control.estimating.load().unwrap_or(Estimating::No);
        let best = estimating == Estimating::Best;
        if estimating != Estimating::No && !remarkable && !summary.exhausted && !inside.0.samples {
            let before = if restarted { 0 } else { control.before.load(Relaxed) };
            let mut again = false;
            inside.forecast(&mut *strategy, before + summary.executions, best, &mut remarkable, &mut again);
            if again {
                // What was just made does not count either.
                (summary.executions, summary.blocked, restarted) = (0, 0, true);
            }
        }
        if !summary.exhausted && !self.samples && (remarkable || best) {
            link::write_pairs(&branch_point::encode(&branch_point::branch_points(&*strategy)));
        } else {
            control.prefix_length.store(0, Relaxed);
        }
        control.fragment_length.store(0, Relaxed);
        if control.keep.load(Relaxed) != 0
            && let Some(divisible) = strategy.divisible()
        {
            let loops = self.follower.arbiter.long_loops().to_vec();
            link::write_explored(&Explored { loops, ..divisible.unload() });
        }
        self.strategy = strategy;
        self.report(&summary, remarkable, restarted, used);
    }

    /// Leaves everything in the control words.
    fn report(&mut self, summary: &Summary, remarkable: bool, restarted: bool, used: u64) {
        let control = control();
        if let Some(contradiction) = self.contradiction {
            link::break_down(format_args!("the report of an execution contradicts the model: {contradiction}"));
        }
        control.cpu.store(processor_time() - used, Relaxed);
        control.executions.store(summary.executions, Relaxed);
        control.blocked.store(summary.blocked, Relaxed);
        control.steps.store(summary.steps, Relaxed);
        control.most_threads.store(summary.threads as u32, Relaxed);
        control.most_steps.store(summary.depth as u32, Relaxed);
        control.most_visible.store(self.visible, Relaxed);
        control.spin_held.store(self.spin_held.into(), Relaxed);
        control.restarted.store(restarted.into(), Relaxed);
        let execution = if self.samples { engine().arbiter.execution() } else { self.follower.arbiter.execution() };
        control.observation.store(match &execution.end {
            _ if !remarkable => Observation::None,
            End::Diverged(divergence) => {
                link::write_departure(divergence);
                Observation::Departure
            }
            _ => Observation::Execution,
        });
        control.exhausted.store(match (summary.exhausted, self.strategy.coverage()) {
            (false, _) => Exhausted::No,
            (true, Coverage::Everything) => Exhausted::Everything,
            (true, Coverage::Bound) => Exhausted::Bound,
            (true, Coverage::Samples) => Exhausted::Samples,
        });
        if self.samples && remarkable {
            // The names must be those of the engine.
            heap::inside(|| self.follow_engine());
        }
        if self.follower.extent() != self.told {
            let (names, loops) = self.told;
            self.told = self.follower.extent();
            link::write_known(&self.follower.known_since(names, loops));
        } else {
            control.names_length.store(0, Relaxed);
        }
    }
}

/// Microseconds after which a turn may end though few executions were made.
const LONG: u64 = 1_000_000;

/// Decides when a turn is over.
struct TurnLimit {
    most: u64,
    time: u64,
    started: u64,
    remarkable: bool,
    classes: Classes,
}

impl TurnLimit {
    fn begin() -> Self {
        let control = control();
        let (most, time) = (control.most.load(Relaxed), control.time.load(Relaxed));
        Self { most, time, started: now(), remarkable: false, classes: Classes::begin() }
    }

    /// Looks at an execution.
    fn look(&mut self, target: &mut SearchTarget<'_>, summary: &Summary) -> ControlFlow<()> {
        let execution = target.execution();
        self.remarkable = target.0.contradiction.is_some() || is_remarkable(execution, control());
        let visible = execution.visible() as u32;
        let spin_held = execution.spin_held;
        if visible > target.0.visible || spin_held && !target.0.spin_held {
            // Samplers leave it shielded.
            heap::unshield();
            target.0.visible = target.0.visible.max(visible);
            target.0.spin_held |= spin_held;
        }
        let done = summary.executions;
        if target.0.samples {
            self.remarkable |= self.classes.is_unexplored(target.execution());
        } else {
            let Supervisor { foresight, follower, fingerprint, .. } = &mut *target.0;
            foresight.hear(follower.arbiter.execution());
            if done == 0 {
                // Nothing that was explored before counts.
                self.classes.forget();
            }
            self.classes.note(fingerprint, follower.arbiter.execution());
        }
        let over = done >= self.most || is_stopped() || self.is_late(done);
        // What such threads wait for is not visible, so nothing can be planned.
        let blind = !target.0.samples && control().unmodelled.load(Relaxed) & Unmodelled::MemoryLoops.bit() != 0;
        if self.remarkable || over || blind { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Whether the time is over after so many executions. Not before some were made: so a small search is never divided, and comes to the
    /// same each time. But where executions take long, what was made of them must be heard before the launcher's patience ends.
    fn is_late(&self, done: u64) -> bool {
        let time = match () {
            () if done.is_multiple_of(64) => self.time,
            () if done.is_power_of_two() => self.time.saturating_mul(10).max(LONG),
            () => return false,
        };
        now() - self.started >= time
    }
}

/// A sampler, which has nothing to lose: it goes on while the memory of the search is read-only, so everything it has is elsewhere.
struct UnshieldedSampler(Box<dyn Strategy>);

impl UnshieldedSampler {
    fn new(make: impl FnOnce() -> Box<dyn Strategy>) -> Self {
        // SAFETY: no execution runs.
        Self(unsafe { heap::outside(make) })
    }
}

impl Strategy for UnshieldedSampler {
    fn plan(&mut self) -> Option<Plan<'_>> {
        // SAFETY: no execution runs.
        unsafe { heap::outside(|| self.0.plan()) }
    }

    fn learn(&mut self, execution: &Execution) {
        // SAFETY: no execution runs.
        unsafe { heap::outside(|| self.0.learn(execution)) }
    }

    fn coverage(&self) -> Coverage {
        self.0.coverage()
    }

    fn restart(&mut self) {
        // SAFETY: no execution runs.
        unsafe { heap::outside(|| self.0.restart()) }
    }
}

/// Stands for the strategy while the search has it.
struct NoStrategy;

impl Strategy for NoStrategy {
    fn plan(&mut self) -> Option<Plan<'_>> {
        None
    }
    fn learn(&mut self, _execution: &Execution) {}
    fn coverage(&self) -> Coverage {
        Coverage::Samples
    }
    fn restart(&mut self) {}
}
