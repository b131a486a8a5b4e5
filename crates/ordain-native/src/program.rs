//! A program as something that can be explored: what its executions show, and what is kept of one when the next begins.

use crate::check::Check;
use crate::finding::{self, Finding, NativeWords};
use crate::process::Patience;
use crate::target::{Failure, ModeChange, Native};
use crate::view::View;
use ordain_check::{Allowance, Explorer, Job, Limit, Observation, Part, Proof, Recruit, Turn, Watched};
use ordain_explore::classes::Classes;
use ordain_explore::frontier::Order;
use ordain_explore::{Lowest, Plan, Planned, Summary, Target, prefix_of};
use ordain_model::describe::Words;
use ordain_model::{End, Execution, Names, Site};
use ordain_report::{Kind, Story};
use ordain_wire::{Mode, Unmodelled};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;

/// Why one worker explores.
const ALONE: &str = "one worker explored, because executions at the same time would share the files, ports or named objects that the \
     program makes or changes";

/// A program under control, and the check that it is run for.
pub(crate) struct Program {
    pub(crate) check: Arc<Check>,
    pub(crate) native: Native,
    /// Outputs that were seen; the first is that of a run without a schedule, with which others are compared.
    outputs: Vec<[Vec<u8>; 2]>,
    /// What was seen of atomic instructions, if anything.
    pub(crate) atomics: Option<String>,
    /// What each worker sees of the system, if they must be kept apart.
    view: Option<Arc<View>>,
}

/// What whoever leads must know of a worker.
#[derive(Serialize, Deserialize)]
struct Condition {
    mode: u32,
    changes: Vec<(u32, u32, String)>,
    unmodelled: u64,
    inputs: Option<Vec<u8>>,
}

impl Program {
    /// The program, ready to be run.
    pub(crate) fn new(check: &Arc<Check>, mode: Option<Mode>) -> Result<Self, Failure> {
        Ok(Self::of(check, check.native(mode)?))
    }

    fn of(check: &Arc<Check>, native: Native) -> Self {
        Self { check: check.clone(), native, outputs: Vec::new(), atomics: None, view: None }
    }

    /// The same program in another process.
    fn with(&self, native: Native) -> Self {
        Self { outputs: self.outputs.clone(), ..Self::of(&self.check, native) }
    }

    /// What the last execution shows, whatever it writes.
    fn notice(&self) -> Option<Observation> {
        finding::notice(&self.native, self.check.program.expect_status.into())
    }

    /// Whether the output of the last execution is one that was not seen before, and not the first.
    fn compare_output(&mut self) -> Option<Observation> {
        let output = [self.native.output(0), self.native.output(1)];
        if self.outputs.contains(&output) {
            return None;
        }
        self.outputs.push(output);
        finding::unlike(self.outputs.first()?, &mut self.native)
    }

    /// Whether each worker has a view of its own, in which the program does the same.
    fn is_kept_apart(&mut self) -> bool {
        if self.native.mode() == Mode::Exec || self.native.collides_in(true) {
            self.view = None;
        } else if self.view.is_none() {
            self.view = View::of_system().map(Arc::new).filter(|view| self.does_the_same_in(view));
        }
        self.view.is_some()
    }

    /// Whether the program does in a view what it does without.
    fn does_the_same_in(&self, view: &Arc<View>) -> bool {
        let run = |view: Option<&Arc<View>>, plan: &[Planned]| {
            let mut native = self.native.fresh_in(view.cloned()).ok()?;
            native.run(&mut Plan::new(plan, &mut Lowest));
            native.failure().is_none().then_some(native)
        };
        let Some(without) = run(None, &[]) else { return false };
        let Some(within) = run(Some(view), &prefix_of(without.execution())) else { return false };
        let [one, other] =
            [&without, &within].map(|n| (n.execution().steps.len(), n.aftermath().ended.clone(), n.mode()));
        one == other && !matches!(within.execution().end, End::Diverged(_))
    }

    fn has_done(&self, what: Unmodelled) -> bool {
        self.native.unmodelled() & what.bit() != 0
    }
}

impl Target for Program {
    fn run(&mut self, plan: &mut Plan<'_>) {
        self.native.run(plan);
    }

    fn execution(&self) -> &Execution {
        self.native.execution()
    }

    fn names(&self) -> &Names {
        self.native.names()
    }
}

impl Explorer for Program {
    type Finding = Finding;
    type Failure = Failure;

    fn names_mut(&mut self) -> &mut Names {
        self.native.names_mut()
    }

    fn observe(&mut self) -> Option<Observation> {
        match self.notice() {
            None if self.check.program.compare_output => self.compare_output(),
            noticed => noticed,
        }
    }

    fn describe(&mut self, observation: &Observation, proof: &Proof<'_>) -> Finding {
        let usual = self.outputs.first().filter(|_| observation.kind == Kind::Output);
        finding::describe(&mut self.native, observation, &finding::Context { check: &self.check, proof, usual })
    }

    fn story(finding: &Finding) -> &Story {
        &finding.story
    }

    fn with_words<R>(&self, tell: impl FnOnce(&dyn Words) -> R) -> R {
        tell(&NativeWords::new(&self.native))
    }

    fn observe_again(&mut self, kind: Kind) -> Option<Observation> {
        match (self.notice(), self.outputs.first()) {
            (None, Some(usual)) if kind == Kind::Output => finding::unlike(usual, &mut self.native),
            (noticed, _) => noticed,
        }
    }

    fn time_to_show(&self, kind: Kind) -> Duration {
        let Patience { blocked, .. } = self.check.program.patience();
        // A hang is one when it has lasted so long.
        if kind == Kind::Hang { blocked } else { Duration::ZERO }
    }

    fn ended(&mut self) -> String {
        self.native.aftermath().ended.to_string()
    }

    fn note_usual(&mut self) {
        if self.check.program.compare_output {
            self.outputs = vec![[self.native.output(0), self.native.output(1)]];
        }
    }

    fn failure(&self) -> Option<Failure> {
        self.native.failure().cloned()
    }

    fn is_over(&self) -> bool {
        self.native.is_over()
    }

    fn set_limit(&mut self, limit: Limit) -> Limit {
        self.native.set_limit(limit)
    }

    fn lessons(&self) -> &[Site] {
        self.native.loops()
    }

    fn learn(&mut self, lessons: &[Site]) {
        self.native.know_loops(lessons);
    }

    fn take_over(&mut self, order: &Order) -> Result<(), Failure> {
        self.native.take_over(order)
    }

    fn leaves_things(&self) -> bool {
        true
    }

    fn release(&mut self) {
        self.native.end_process();
    }

    fn in_fresh<R>(&mut self, taught: bool, show: impl FnOnce(&mut Self) -> R) -> Result<R, Failure> {
        let mut native = self.native.fresh(Mode::Exec)?;
        if !taught {
            native.forget_lessons();
        }
        Ok(show(&mut self.with(native)))
    }

    fn in_copy<R>(&mut self, try_out: impl FnOnce(&mut Self) -> R) -> Result<R, Failure> {
        let native = self.native.fresh(self.native.mode())?;
        Ok(try_out(&mut self.with(native)))
    }

    fn indivisible(&self) -> Option<&'static str> {
        (!self.explores()).then_some("only searches in snapshot or fork mode, without comparing outputs, can be")
    }

    fn explores(&self) -> bool {
        self.native.mode() != Mode::Exec && !self.check.program.compare_output
    }

    fn explore(&mut self, job: &Job, part: Part<'_>, allowance: &Allowance) -> Result<Option<Turn>, Failure> {
        let status = self.check.program.expect_status.into();
        let explored = match part {
            Part::Whole => self.native.explore(job, status, allowance)?,
            Part::Fragment(order) => self.native.explore_fragment(job, status, order, allowance)?,
        };
        let Some((mut turn, telling)) = explored else { return Ok(None) };
        if telling && turn.departure.is_none() {
            turn.observation = self.notice();
            if turn.observation.is_some() {
                turn.unexplored = false;
                turn.failing = 1;
            } else if !turn.unexplored {
                turn.unexplained = Some(format!("the process saw that it {}", self.native.aftermath().ended));
            }
        }
        Ok(Some(turn))
    }

    fn restart(&mut self) {
        self.native.restart_search();
    }

    fn begin_with(&mut self, rest: Option<Order>) {
        self.native.begin_with(rest);
    }

    fn write_classes(&mut self, classes: &Classes) -> Result<(), Failure> {
        self.native.write_classes(classes)
    }

    fn recruit(&mut self, count: usize) -> Result<Vec<Recruit<Self>>, Failure> {
        let fresh = || self.native.fresh_in(self.view.clone());
        let mut crew = (0..count).map(|_| fresh()).collect::<Result<Vec<_>, _>>()?;
        // The first goes on with the process that is there, unless each has a view of its own.
        if self.view.is_none()
            && let Some(first) = crew.first_mut()
        {
            std::mem::swap(first, &mut self.native);
        }
        let recruit = |native: Native| {
            let (check, view) = (self.check.clone(), self.view.clone());
            Box::new(move || Self { view, ..Self::of(&check, native) }) as Recruit<Self>
        };
        Ok(crew.into_iter().map(recruit).collect())
    }

    fn must_be_alone(&mut self) -> Option<String> {
        (self.native.collides_in(false) && !self.is_kept_apart()).then(|| ALONE.into())
    }

    fn collides(&self) -> bool {
        self.native.collides_in(self.view.is_some())
    }

    fn anew(&mut self) -> Result<(), Failure> {
        self.native = self.native.fresh_like()?;
        Ok(())
    }

    fn lower(&mut self, reason: &str) -> Result<Option<[&'static str; 2]>, Failure> {
        let from = self.native.mode();
        let Some(lower) = self.native.lower(reason)? else { return Ok(None) };
        self.native = lower;
        Ok(Some([from.name(), self.native.mode().name()]))
    }

    fn tell_condition(&self, shows: bool) -> Vec<u8> {
        let number = |mode| mode as u32;
        let changes = self.native.changes.iter().map(|c| (number(c.from), number(c.to), c.reason.clone()));
        let condition = Condition {
            mode: number(self.native.mode()),
            changes: changes.collect(),
            unmodelled: self.native.unmodelled(),
            inputs: shows.then(|| self.native.inputs()),
        };
        postcard::to_allocvec(&condition).unwrap_or_default()
    }

    fn take_condition(&mut self, condition: &[u8]) {
        let mode = |number| [Mode::Snapshot, Mode::Fork, Mode::Exec].into_iter().find(|mode| *mode as u32 == number);
        let Ok(condition) = postcard::from_bytes::<Condition>(condition) else { return };
        let changes = condition
            .changes
            .into_iter()
            .map(|(from, to, reason)| Some(ModeChange { from: mode(from)?, to: mode(to)?, reason }));
        if let (Some(now), Some(changes)) = (mode(condition.mode), changes.collect::<Option<Vec<_>>>()) {
            self.native.follow_mode(now, &changes);
        }
        self.native.note_unmodelled(condition.unmodelled);
        if let Some(inputs) = condition.inputs {
            self.native.set_inputs(&inputs);
        }
    }

    fn losses(&self) -> (u64, Option<String>) {
        (self.native.losses, self.native.last_loss.clone())
    }

    fn note_loss(&mut self, how: String) {
        self.native.losses += 1;
        self.native.last_loss = Some(how);
    }

    fn waits_for_memory(&self) -> Option<String> {
        self.has_done(Unmodelled::MemoryLoops).then(|| "threads wait in loops for memory to change".into())
    }

    fn is_blind(&self, summary: &Summary) -> bool {
        crate::blindness(self.check.binary.rust, summary).is_some()
    }

    fn is_unverifiable(&self) -> bool {
        self.native.unmodelled() != 0
    }

    fn is_worth_a_cross_check(&self) -> bool {
        // Nothing is verified if libraries are loaded, but samples may meet a deadlock with the loader's lock.
        self.native.unmodelled() & !Unmodelled::Loader.bit() == 0
    }

    fn must_stay(&self) -> Option<String> {
        let what = Unmodelled::of(self.native.unmodelled()).next()?;
        Some(format!("threads {}, which is not explored: check it on one machine", what.text()))
    }

    fn watch(&mut self, seed: u64, go_on: &mut dyn FnMut() -> bool) -> Result<Watched, Failure> {
        self.watch_atomics(seed, go_on)
    }
}
