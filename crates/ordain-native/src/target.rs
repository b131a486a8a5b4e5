//! A program as a target of the search: runs plans on it, in whichever mode works, and believes nothing unconfirmed.

pub(crate) mod stepping;

mod attempt;
mod ended;
mod explore;
mod fragment;
mod side_effects;

pub use ended::{Aftermath, Ended};

use attempt::Attempt;
use side_effects::SideEffects;

use crate::process::{Launch, Patience, Process, Waited, describe};
use crate::resources;
use crate::shared::Shared;
use crate::view::View;
use crate::watch::{WatchResult, Watcher};
use ordain_check::Limit;
use ordain_explore::frontier::Order;
use ordain_explore::{Plan, Target};
use ordain_model::{Execution, Names, ObjectId, Options, Schedule, Site, ThreadId, Transition};
use ordain_wire::{Follower, Mode, Status};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use thiserror::Error;

/// Why a program cannot be run.
#[derive(Clone, Debug, Error)]
pub enum Failure {
    /// It cannot be started.
    #[error("the program cannot be started: {0}")]
    Start(String),
    /// The system does not let it be started: too many files, processes or bytes.
    #[error("the program cannot be started here: {0}")]
    Resources(String),
    /// It ended before main.
    #[error("the program ended before its main function began: {0}")]
    Early(String),
    /// It does what cannot be controlled.
    #[error("the program cannot be controlled: {0}")]
    Refused(String),
    /// The runtime in the program failed.
    #[error("Ordain's runtime failed inside the program: {0}")]
    Broken(String),
    /// The limit of the check was reached before the execution ended.
    #[error("the execution was stopped before it ended")]
    Over,
}

/// A change of mode, and why.
#[derive(Clone, Debug)]
pub struct ModeChange {
    /// The mode that was left.
    pub from: Mode,
    /// The mode that took over.
    pub to: Mode,
    /// Why.
    pub reason: String,
}

/// A program under control.
pub struct Native {
    launch: Launch,
    options: Options,
    shared: Shared,
    process: Option<Process>,
    mode: Mode,
    fixed_mode: bool,
    pool: u32,
    patience: Patience,
    /// What its processes see of the system, if not all of it.
    view: Option<Arc<View>>,
    /// When nothing may be run any more.
    limit: Limit,
    follower: Follower,
    buffer: Vec<u8>,
    read: usize,
    /// The process explores by itself.
    exploring: bool,
    /// What searches begin with, if not with nothing.
    rest: Option<Order>,
    /// How much of the names and loops the process has been told, or has told, since it explores.
    told: (usize, usize),
    /// The process asks before each step, so that what happens is known even if it is lost.
    careful: bool,
    /// A debugger may attach.
    debugged: bool,
    /// Its atomic instructions are watched.
    watcher: Option<Watcher>,
    aftermath: Aftermath,
    failure: Option<Failure>,
    /// Changes of mode so far.
    pub changes: Vec<ModeChange>,
    /// What any run of this program has done that the search does not follow.
    side_effects: Arc<SideEffects>,
    /// Processes that were lost.
    pub losses: u64,
    /// How the last one was.
    pub last_loss: Option<String>,
    /// What was known when the last execution began and changes which steps there are.
    lessons: Vec<Site>,
}

/// Why a program cannot be started.
fn cannot_start(what: &str, error: &std::io::Error) -> Failure {
    match resources::limit_behind(error) {
        Some(limit) => Failure::Resources(limit),
        None => Failure::Start(format!("{what}{error}")),
    }
}

/// New shared memory, with the options written into it.
fn new_shared(options: &Options) -> Result<Shared, Failure> {
    let shared = Shared::new().map_err(|e| cannot_start("no shared memory: ", &e))?;
    let control = shared.control();
    control.spurious.store(options.spurious_wakeups.into(), Relaxed);
    control.kind_time.store(options.kind_time.into(), Relaxed);
    control.spin_bound.store(options.spin_bound, Relaxed);
    control.livelock_rounds.store(options.livelock_rounds, Relaxed);
    control.max_steps.store(options.max_steps as u64, Relaxed);
    control.entropy.store(0x6f72_6461_696e, Relaxed);
    Ok(shared)
}

/// The mode in which less is left of one execution when the next begins.
fn lower_mode(mode: Mode) -> Option<Mode> {
    match mode {
        Mode::Snapshot => Some(Mode::Fork),
        Mode::Fork => Some(Mode::Exec),
        Mode::Exec => None,
    }
}

impl Native {
    /// Prepares to run a program. With `mode` it is run in that mode only.
    pub fn new(launch: Launch, options: Options, mode: Option<Mode>, patience: Patience) -> Result<Self, Failure> {
        // SAFETY: asks for a number.
        if unsafe { libc::getauxval(libc::AT_HWCAP2) } & 2 == 0 {
            return Err(Failure::Refused(
                "the processor or kernel has no FSGSBASE (Linux 5.9), which switching threads needs".into(),
            ));
        }
        if let Some(limit) = resources::too_small() {
            return Err(Failure::Resources(limit));
        }
        let shared = new_shared(&options)?;
        Ok(Self {
            launch,
            options,
            shared,
            process: None,
            mode: mode.unwrap_or(Mode::Snapshot),
            fixed_mode: mode.is_some(),
            pool: 8,
            patience,
            view: None,
            limit: Limit::default(),
            follower: Follower::new(options),
            buffer: Vec::new(),
            read: 0,
            exploring: false,
            rest: None,
            told: (0, 0),
            careful: false,
            debugged: false,
            watcher: None,
            aftermath: Aftermath::unreported(Ended::ByModel, ThreadId::MAIN),
            failure: None,
            changes: Vec::new(),
            side_effects: Arc::default(),
            losses: 0,
            last_loss: None,
            lessons: Vec::new(),
        })
    }

    /// Another run of the same program, from scratch, that knows the same names.
    pub fn fresh(&self, mode: Mode) -> Result<Self, Failure> {
        let mut other = Self::new(self.launch.clone(), self.options, Some(mode), self.patience)?;
        other.pool = self.pool;
        other.side_effects = Arc::clone(&self.side_effects);
        // It comes from a follower like this one, so it is taken over whole.
        let _ = other.follower.adopt(&self.follower.known_since(0, 0));
        other.shared.set_inputs(&self.shared.inputs());
        other.order_output(self.shared.control().compare_output.load(Relaxed) != 0);
        Ok(other)
    }

    /// Ends the process of the last execution, which may still hold what another process needs to do the same: locks on files, ports. What the
    /// execution wrote cannot be asked for any more. A process that explores by itself has put everything back.
    pub(crate) fn end_process(&mut self) {
        if !self.exploring {
            self.process = None;
        }
    }

    /// Another run of the same program, each execution in a process of its own in which atomic instructions are watched.
    pub(crate) fn watched(&self) -> Result<Self, Failure> {
        let mut other = self.fresh(Mode::Exec)?;
        other.limit = self.limit.clone();
        other.watcher = Some(Watcher::default());
        Ok(other)
    }

    /// What the last execution showed, if it was watched.
    pub(crate) fn watch_result(&mut self) -> WatchResult {
        let process = self.process.as_ref().map(Process::id);
        self.watcher.as_mut().map(|watcher| watcher.watch_result(process, &self.shared)).unwrap_or_default()
    }

    /// The same in the same mode, which it may leave.
    pub fn fresh_like(&self) -> Result<Self, Failure> {
        let mut other = self.fresh(self.mode)?;
        other.fixed_mode = self.fixed_mode;
        other.limit = self.limit.clone();
        other.changes.clone_from(&self.changes);
        Ok(other)
    }

    /// The program from scratch in the next mode, because it does not do the same again in this one; `None` if there is no other.
    pub fn lower(&self, reason: &str) -> Result<Option<Self>, Failure> {
        let Some(to) = lower_mode(self.mode).filter(|_| !self.fixed_mode) else { return Ok(None) };
        let mut other = Self::new(self.launch.clone(), self.options, None, self.patience)?;
        (other.mode, other.pool, other.limit) = (to, self.pool, self.limit.clone());
        (other.losses, other.last_loss) = (self.losses, self.last_loss.clone());
        other.changes.clone_from(&self.changes);
        other.changes.push(ModeChange { from: self.mode, to, reason: reason.into() });
        Ok(Some(other))
    }

    /// Nothing runs beyond this limit; gives the one that there was.
    pub(crate) fn set_limit(&mut self, limit: Limit) -> Limit {
        if matches!(self.failure, Some(Failure::Over)) {
            self.failure = None;
        }
        std::mem::replace(&mut self.limit, limit)
    }

    /// Makes sure that there is a process; `false` if there is none, because the time is over.
    fn has_process(&mut self) -> Result<bool, Failure> {
        match self.ensure_process() {
            Ok(()) => Ok(true),
            Err(Failure::Over) => {
                self.failure = Some(Failure::Over);
                self.stop_exploring();
                Ok(false)
            }
            Err(failure) => Err(failure),
        }
    }

    /// Whether the limit has ended an execution, or what a process was exploring.
    pub(crate) fn is_over(&self) -> bool {
        matches!(self.failure, Some(Failure::Over))
    }

    /// Another run of the same program has changed to another mode.
    pub fn follow_mode(&mut self, mode: Mode, changes: &[ModeChange]) {
        if changes.len() > self.changes.len() {
            self.mode = mode;
            self.changes = changes.to_vec();
        }
    }

    /// Says whether the order of what the program writes to its standard output and standard error counts.
    pub fn order_output(&mut self, counts: bool) {
        self.shared.control().compare_output.store(counts.into(), Relaxed);
    }

    /// What the program has done so far, in this run or in others that came from it, that the model does not know: bits of
    /// [`ordain_wire::Unmodelled`].
    pub fn unmodelled(&self) -> u64 {
        self.side_effects().unmodelled()
    }

    /// Takes over what an earlier search has noticed of that.
    pub fn note_unmodelled(&self, bits: u64) {
        self.side_effects.note_unmodelled(bits);
    }

    /// How many child processes an execution made, at most.
    pub fn children(&self) -> u32 {
        self.side_effects().children()
    }

    /// Whether executions at the same time would be in each other's way, if each process had a view of its own or not.
    pub(crate) fn collides_in(&self, view: bool) -> bool {
        self.side_effects().collides_in(view)
    }

    /// The same in the same mode, which it may leave, with this view of the system.
    pub(crate) fn fresh_in(&self, view: Option<Arc<View>>) -> Result<Self, Failure> {
        let mut other = self.fresh_like()?;
        other.view = view;
        Ok(other)
    }

    /// What all runs of this program have done, this one included.
    fn side_effects(&self) -> &SideEffects {
        self.side_effects.note(&self.shared);
        &self.side_effects
    }

    /// Loops that are known to end by themselves.
    pub fn loops(&self) -> &[Site] {
        self.follower.arbiter.long_loops()
    }

    /// Another run of the same program has learned that these loops end by themselves.
    pub fn know_loops(&mut self, loops: &[Site]) {
        for site in loops {
            self.follower.arbiter.know_long_loop(*site);
        }
    }

    /// What was known when the last execution began and changes which steps there are.
    pub fn lessons(&self) -> &[Site] {
        &self.lessons
    }

    /// Forgets everything that executions have taught; the next one begins without it.
    pub(crate) fn forget_lessons(&mut self) {
        self.follower.arbiter.forget_long_loops();
    }

    /// Prepares to follow a schedule: with what came from outside in it, and with what was known when it was made.
    pub(crate) fn prepare_for(&mut self, schedule: &Schedule) {
        self.set_inputs(&schedule.get("outside").map(crate::inputs::from_text).unwrap_or_default());
        let lessons = schedule.header.iter().filter(|(key, _)| key == "lesson");
        let lessons: Vec<Site> = lessons.filter_map(|(_, number)| Site::of_lesson(number.parse().ok()?)).collect();
        self.know_loops(&lessons);
    }

    /// What came from outside in all executions so far, for [`Native::set_inputs`] of another run.
    pub fn inputs(&self) -> Vec<u8> {
        self.shared.inputs()
    }

    /// Lets the same come from outside as in an earlier run.
    pub fn set_inputs(&mut self, inputs: &[u8]) {
        self.shared.set_inputs(inputs);
    }

    /// What is run.
    pub fn launch(&self) -> &Launch {
        &self.launch
    }

    /// How executions are started.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Why nothing can be run any more, if so.
    pub fn failure(&self) -> Option<&Failure> {
        self.failure.as_ref()
    }

    /// What is known of the last execution beyond its steps.
    pub fn aftermath(&self) -> &Aftermath {
        &self.aftermath
    }

    /// The names, to give some.
    pub fn names_mut(&mut self) -> &mut Names {
        self.follower.arbiter.names_mut()
    }

    /// The address of an object, if it is known by that.
    pub fn address_of(&self, object: ObjectId) -> Option<u64> {
        self.follower.address_of(object)
    }

    /// The process, while an execution in exec or fork mode has ended and its memory is still there.
    pub fn process_id(&self) -> Option<u32> {
        self.process.as_ref()?;
        match self.mode {
            Mode::Snapshot => self.process.as_ref().map(Process::id),
            _ => Some(self.shared.control().carrier.load(Relaxed) as u32),
        }
    }

    /// What the last execution wrote to standard output (0) or standard error (1).
    pub fn output(&mut self, which: usize) -> Vec<u8> {
        let length = self.aftermath.written[which];
        if length == 0 {
            return Vec::new();
        }
        self.process.as_mut().and_then(|p| p.output(which, length).ok()).unwrap_or_default()
    }

    /// Pages copied back after the last execution in snapshot mode.
    pub fn pages(&self) -> [u32; 2] {
        self.shared.control().pages.each_ref().map(|p| p.load(Relaxed))
    }

    /// Makes sure that there is a process that waits for a plan.
    fn ensure_process(&mut self) -> Result<(), Failure> {
        if self.process.is_some() {
            return Ok(());
        }
        if !matches!(self.aftermath.ended, Ended::ByModel | Ended::Exit(_)) || self.last_loss.is_some() {
            // A program that ended badly may have written over it.
            let shared = new_shared(&self.options)?;
            shared.set_inputs(&self.shared.inputs());
            let counts = self.shared.control().compare_output.load(Relaxed);
            shared.control().compare_output.store(counts, Relaxed);
            self.side_effects.note(&self.shared);
            self.shared = shared;
        }
        if !self.shared.write_known(&self.follower.known_since(0, 0)) {
            return Err(Failure::Refused("it has too many threads and objects".into()));
        }
        let process =
            Process::start(&self.launch, &self.shared, self.mode, self.pool, self.debugged, self.view.clone());
        let mut process = process.map_err(|e| cannot_start("", &e))?;
        let waited =
            process.wait(&self.shared, self.patience, &self.limit).map_err(|e| Failure::Start(e.to_string()))?;
        match waited {
            Waited::Turn => {}
            Waited::Ended(status) => {
                let errors = process.output(1, 4096).unwrap_or_default();
                let errors = String::from_utf8_lossy(&errors);
                return Err(Failure::Early(format!("{}. {}", describe(status), errors.trim())));
            }
            Waited::Stuck => return Err(Failure::Early("it does not reach main".into())),
            Waited::Over => return Err(Failure::Over),
        }
        let id = process.id();
        self.process = Some(process);
        match self.shared.control().status.load() {
            Some(Status::Ready) => {
                if let Some(watcher) = &mut self.watcher {
                    watcher.begin(id, &self.shared);
                }
                Ok(())
            }
            Some(status @ (Status::Refused | Status::OtherMode)) => {
                let reason = self.shared.message();
                self.process = None;
                if self.leave_mode(status, &reason) {
                    return self.ensure_process();
                }
                Err(Failure::Refused(reason))
            }
            _ => Err(Failure::Broken(self.shared.message())),
        }
    }

    /// Prepares more threads next time.
    fn grow_pool(&mut self) -> Result<(), Failure> {
        /// More than this are not prepared.
        const MOST: u32 = 4096;
        if self.pool >= MOST {
            return Err(Failure::Refused(format!("it has more than {MOST} threads at a time")));
        }
        self.pool = (self.pool * 4).min(MOST);
        Ok(())
    }

    /// Falls to the next mode, if that is allowed. What a program does is refused in fork mode as it would be in exec mode.
    fn leave_mode(&mut self, status: Status, reason: &str) -> bool {
        let to = match self.mode {
            Mode::Snapshot if !self.fixed_mode => Mode::Fork,
            Mode::Fork if !self.fixed_mode && status == Status::OtherMode => Mode::Exec,
            _ => return false,
        };
        self.changes.push(ModeChange { from: self.mode, to, reason: reason.into() });
        self.mode = to;
        true
    }

    fn give_up(&mut self, failure: Failure) {
        self.failure = Some(failure);
        self.follower.arbiter.diverge(Transition::first(ThreadId::MAIN), None);
    }
}

impl Target for Native {
    fn run(&mut self, plan: &mut Plan<'_>) {
        if self.exploring {
            self.stop_exploring();
        }
        let forget = plan.is_anew() && !self.follower.arbiter.long_loops().is_empty();
        if self.mode == Mode::Exec || forget {
            self.process = None;
        }
        if forget {
            self.follower.arbiter.forget_long_loops();
        }
        self.lessons.clear();
        self.lessons.extend(self.follower.arbiter.long_loops().iter().filter(|site| site.lesson().is_some()));
        let mut lost = 0;
        loop {
            self.careful = lost > 0;
            match self.attempt(plan) {
                Ok(Attempt::Done) => return,
                Ok(Attempt::Again) => plan.restart(),
                Ok(Attempt::Lost(how)) => {
                    self.losses += 1;
                    self.last_loss = Some(how.clone());
                    lost += 1;
                    if lost > 2 {
                        // In fresh processes too: this is what the program does.
                        self.follow_to_the_end(plan, how);
                        return;
                    }
                    plan.restart();
                }
                Err(failure) => return self.give_up(failure),
            }
        }
    }

    fn execution(&self) -> &Execution {
        self.follower.arbiter.execution()
    }

    fn names(&self) -> &Names {
        self.follower.arbiter.names()
    }
}

impl Drop for Native {
    fn drop(&mut self) {
        self.side_effects.note(&self.shared);
    }
}
