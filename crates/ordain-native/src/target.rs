//! A program as a target of the search: runs plans on it, in whichever mode works, and believes nothing unconfirmed.

use crate::process::{Launch, Patience, Process, Waited, describe};
use crate::shared::Shared;
use ordain_explore::{Plan, Portable, Target};
use ordain_model::names::Birth;
use ordain_model::{
    Arbiter, End, Execution, Names, ObjectId, ObjectKind, Operation, Options, Site, ThreadId, Transition,
};
use ordain_wire::{Ending, Event, Known, Log, Mode, Policy, Status, ThreadRecord};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering::Relaxed;
use thiserror::Error;

/// Why a program cannot be run.
#[derive(Clone, Debug, Error)]
pub enum Failure {
    /// It cannot be started.
    #[error("the program cannot be started: {0}")]
    Start(String),
    /// It ended before main.
    #[error("the program ended before its main function began: {0}")]
    Early(String),
    /// It does what cannot be controlled.
    #[error("the program cannot be controlled: {0}")]
    Refused(String),
    /// The runtime in the program failed.
    #[error("Ordain's runtime failed inside the program: {0}")]
    Broken(String),
}

/// How an execution ended, beyond what the model knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The model knows.
    ByModel,
    /// The program exited.
    Exit(i32),
    /// A signal killed it.
    Signal {
        /// Its number.
        signal: i32,
        /// The address that it is about.
        address: u64,
    },
    /// An assertion failed.
    Assertion(String),
    /// The program called `abort`.
    Abort,
    /// Nothing visible happened for too long.
    Hang,
    /// Something was used as an object that is none.
    InvalidObject {
        /// What is known.
        message: String,
        /// Where.
        address: u64,
    },
    /// The program overwrote the memory of the runtime, or ended it in a way that cannot be told.
    Corrupted(String),
}

/// What is known of the last execution beyond its steps.
#[derive(Clone, Debug)]
pub struct Aftermath {
    /// How it ended.
    pub ended: Ended,
    /// The thread that ended it.
    pub culprit: ThreadId,
    /// Where its threads are.
    pub threads: Vec<ThreadRecord>,
    /// Bytes written to standard output and standard error.
    pub written: [u64; 2],
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
    arbiter: Arbiter,
    found: BTreeMap<(u64, u32, u8), (ObjectId, ObjectKind)>,
    buffer: Vec<u8>,
    read: usize,
    members: Vec<(ObjectId, u64)>,
    aftermath: Aftermath,
    failure: Option<Failure>,
    /// Changes of mode so far.
    pub changes: Vec<ModeChange>,
    /// Processes that were lost, and how.
    pub losses: u64,
}

/// What is wrong with an execution that was reported.
struct Mismatch(String);

/// How an attempt to run a plan ended.
enum Attempt {
    Done,
    /// Try again, in whichever mode is set now.
    Again,
    /// The execution destroyed its process or what it reported: whether that is the program's doing must be seen.
    Lost(String),
}

impl Native {
    /// Prepares to run a program. With `mode` it is run in that mode only.
    pub fn new(launch: Launch, options: Options, mode: Option<Mode>, patience: Patience) -> Result<Self, Failure> {
        let shared = Shared::new().map_err(|e| Failure::Start(format!("no shared memory: {e}")))?;
        let control = shared.control();
        control.spurious.store(options.spurious_wakeups.into(), Relaxed);
        control.kind_time.store(options.kind_time.into(), Relaxed);
        control.spin_bound.store(options.spin_bound, Relaxed);
        control.livelock_rounds.store(options.livelock_rounds, Relaxed);
        control.max_steps.store(options.max_steps as u64, Relaxed);
        control.entropy.store(0x6f72_6461_696e, Relaxed);
        let aftermath =
            Aftermath { ended: Ended::ByModel, culprit: ThreadId::MAIN, threads: Vec::new(), written: [0; 2] };
        Ok(Self {
            launch,
            options,
            shared,
            process: None,
            mode: mode.unwrap_or(Mode::Snapshot),
            fixed_mode: mode.is_some(),
            pool: 8,
            patience,
            arbiter: Arbiter::new(options),
            found: BTreeMap::new(),
            buffer: Vec::new(),
            read: 0,
            members: Vec::new(),
            aftermath,
            failure: None,
            changes: Vec::new(),
            losses: 0,
        })
    }

    /// Another run of the same program, from scratch, that knows the same names.
    pub fn fresh(&self, mode: Mode) -> Result<Self, Failure> {
        let mut other = Self::new(self.launch.clone(), self.options, Some(mode), self.patience)?;
        other.pool = self.pool;
        for (number, birth, kind) in self.arbiter.names().births(0) {
            other.arbiter.names_mut().adopt(number, birth, kind);
        }
        other.found = self.found.clone();
        for site in self.arbiter.long_loops() {
            other.arbiter.know_long_loop(*site);
        }
        Ok(other)
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
        self.arbiter.names_mut()
    }

    /// The address of an object, if it is known by that.
    pub fn address_of(&self, object: ObjectId) -> Option<u64> {
        self.found.iter().find(|(_, (o, _))| *o == object).map(|(key, _)| key.0)
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

    fn known(&self) -> Known {
        let births: Vec<(usize, Birth, ObjectKind)> = self.arbiter.names().births(0).collect();
        let found =
            self.found.iter().map(|((address, generation, _), (object, kind))| (*address, *generation, *kind, *object));
        Known { births, found: found.collect(), long_loops: self.arbiter.long_loops().iter().map(|s| s.0).collect() }
    }

    /// Makes sure that there is a process that waits for a plan.
    fn ensure_process(&mut self) -> Result<(), Failure> {
        if self.process.is_some() {
            return Ok(());
        }
        if !self.shared.write_known(&self.known()) {
            return Err(Failure::Refused("it has too many threads and objects".into()));
        }
        let process = Process::start(&self.launch, &self.shared, self.mode, self.pool);
        let mut process = process.map_err(|e| Failure::Start(e.to_string()))?;
        let waited = process.wait(&self.shared, self.patience).map_err(|e| Failure::Start(e.to_string()))?;
        match waited {
            Waited::Turn => {}
            Waited::Ended(status) => {
                let errors = process.output(1, 4096).unwrap_or_default();
                let errors = String::from_utf8_lossy(&errors);
                return Err(Failure::Early(format!("{}. {}", describe(status), errors.trim())));
            }
            Waited::Stuck => return Err(Failure::Early("it does not come to main".into())),
        }
        self.process = Some(process);
        match self.shared.control().status.load(Relaxed) {
            Status::READY => Ok(()),
            Status::REFUSED => {
                let reason = self.shared.message();
                self.process = None;
                if self.leave_mode(&reason) {
                    return self.ensure_process();
                }
                Err(Failure::Refused(reason))
            }
            _ => Err(Failure::Broken(self.shared.message())),
        }
    }

    /// Falls to the next mode, if that is allowed.
    fn leave_mode(&mut self, reason: &str) -> bool {
        let to = match self.mode {
            Mode::Snapshot if !self.fixed_mode => Mode::Fork,
            _ => return false,
        };
        self.changes.push(ModeChange { from: self.mode, to, reason: reason.into() });
        self.mode = to;
        true
    }

    fn attempt(&mut self, plan: &mut Plan<'_>) -> Result<Attempt, Failure> {
        self.ensure_process()?;
        self.write_plan(plan)?;
        self.arbiter.begin();
        self.members.clear();
        self.read = 0;
        let mut expected = None;
        let mut over = false;
        loop {
            let Some(process) = self.process.as_mut() else { return Ok(Attempt::Again) };
            process.give_turn(&self.shared);
            let waited = process.wait(&self.shared, self.patience).map_err(|e| Failure::Broken(e.to_string()))?;
            match waited {
                Waited::Turn => {}
                Waited::Ended(status) => {
                    self.process = None;
                    return Ok(Attempt::Lost(describe(status)));
                }
                Waited::Stuck => {
                    self.process = None;
                    return Ok(Attempt::Lost("it does not answer any more".into()));
                }
            }
            let status = self.shared.control().status.load(Relaxed);
            let fed = catch_unwind(AssertUnwindSafe(|| self.feed(plan, &mut expected, &mut over)));
            match fed {
                Ok(Ok(())) => {}
                Ok(Err(Mismatch(what))) => {
                    self.process = None;
                    return Ok(Attempt::Lost(what));
                }
                Err(_) => {
                    self.process = None;
                    return Ok(Attempt::Lost("what it reported makes no sense".into()));
                }
            }
            match status {
                Status::ASK => {
                    let answer = if over { None } else { plan.next(&mut self.arbiter) };
                    over |= answer.is_none();
                    expected = answer;
                    let control = self.shared.control();
                    control.answer_thread.store(answer.map_or(0, |t| t.thread.0), Relaxed);
                    control.answer_choice.store(answer.map_or(u32::MAX, |t| t.choice), Relaxed);
                }
                Status::DONE => return Ok(self.conclude(plan, over)),
                Status::MORE_THREADS => {
                    self.process = None;
                    if self.pool >= 4096 {
                        return Err(Failure::Refused("it has more than 4,096 threads at a time".into()));
                    }
                    self.pool *= 4;
                    return Ok(Attempt::Again);
                }
                Status::REFUSED => {
                    let reason = self.shared.message();
                    self.process = None;
                    return if self.leave_mode(&reason) { Ok(Attempt::Again) } else { Err(Failure::Refused(reason)) };
                }
                Status::BROKEN => {
                    self.process = None;
                    return Ok(Attempt::Lost(self.shared.message()));
                }
                _ => {
                    self.process = None;
                    return Ok(Attempt::Lost("it reported an unknown state".into()));
                }
            }
        }
    }

    fn write_plan(&mut self, plan: &Plan<'_>) -> Result<(), Failure> {
        let control = self.shared.control();
        let portable = plan.portable();
        let prefix = if portable.is_some() { plan.prefix() } else { &[] };
        if !self.shared.write_prefix(prefix.iter().map(|p| [p.transition.thread.0, p.transition.choice])) {
            return Err(Failure::Refused("its executions are too long".into()));
        }
        let policy = match portable {
            Some(Portable::Lowest) => Policy::LOWEST,
            Some(Portable::Random { seed, stream }) => {
                control.seed.store(seed, Relaxed);
                control.stream.store(stream, Relaxed);
                Policy::RANDOM
            }
            None => Policy::REMOTE,
        };
        control.policy.store(policy, Relaxed);
        control.log_length.store(0, Relaxed);
        control.message_length.store(0, Relaxed);
        control.address.store(0, Relaxed);
        Ok(())
    }

    /// Feeds new events to the arbiter.
    fn feed(
        &mut self,
        plan: &mut Plan<'_>,
        expected: &mut Option<Transition>,
        over: &mut bool,
    ) -> Result<(), Mismatch> {
        let mut buffer = std::mem::take(&mut self.buffer);
        self.shared.read_log(self.read, &mut buffer);
        self.read += buffer.len();
        let mut rest = buffer.as_slice();
        let mut result = Ok(());
        while !rest.is_empty() && !*over {
            let Some((event, behind)) = Log::read(rest) else {
                result = Err(Mismatch("what it reported cannot be read".into()));
                break;
            };
            rest = behind;
            result = self.feed_one(&event, plan, expected, over);
            if result.is_err() {
                break;
            }
        }
        self.buffer = buffer;
        result
    }

    fn feed_one(
        &mut self,
        event: &Event,
        plan: &mut Plan<'_>,
        expected: &mut Option<Transition>,
        over: &mut bool,
    ) -> Result<(), Mismatch> {
        let wrong = |what: &str| Err(Mismatch(format!("its report contradicts the model: {what}")));
        let alive = |arbiter: &Arbiter, thread: &ThreadId| arbiter.alive().binary_search(thread).is_ok();
        match *event {
            Event::Announce { thread, op, site } => {
                if !alive(&self.arbiter, &thread) || self.arbiter.pending(thread).is_some() {
                    return wrong("a thread announces twice");
                }
                if let Operation::Spawn { child } = op
                    && self.arbiter.next_child(thread) != child
                {
                    return wrong("a thread has another name");
                }
                if !op.is_known(self.arbiter.names()) {
                    return wrong("an operation is about nothing");
                }
                self.arbiter.announce(thread, op, Site(site));
            }
            Event::Step { thread, choice } => {
                let taken = match expected.take() {
                    Some(taken) => Some(taken),
                    None => plan.next(&mut self.arbiter),
                };
                match taken {
                    Some(taken) if taken == (Transition { thread, choice }) => {
                        self.arbiter.apply(taken);
                    }
                    Some(_) => return wrong("another thread went on"),
                    None => *over = true,
                }
            }
            Event::Create { thread, kind, initial, object } => {
                if !alive(&self.arbiter, &thread) || self.arbiter.create(thread, kind, initial) != object {
                    return wrong("an object has another name");
                }
            }
            Event::Found { address, generation, kind, initial, object } => {
                let names = self.arbiter.names_mut();
                let entry =
                    self.found.entry((address, generation, kind as u8)).or_insert_with(|| (names.external(kind), kind));
                if entry.0 != object {
                    return wrong("an object has another name");
                }
                self.arbiter.initialise(object, initial);
            }
            Event::PollMember { object, mask } => {
                if object.index() >= self.arbiter.names().object_count() {
                    return wrong("an object is unknown");
                }
                self.members.push((object, mask));
            }
            Event::CreatePoll { thread, set } => {
                let members = std::mem::take(&mut self.members);
                if !alive(&self.arbiter, &thread) || self.arbiter.create_poll(thread, &members) != set {
                    return wrong("a poll set has another name");
                }
            }
            Event::Value { object, value } => {
                if object.index() >= self.arbiter.execution().state.object_count() {
                    return wrong("an object is unknown");
                }
                self.arbiter.set_value(object, value);
            }
            Event::Patience { thread, nanoseconds } | Event::Advance { thread, nanoseconds } => {
                if thread.index() >= self.arbiter.names().thread_count() {
                    return wrong("a thread is unknown");
                }
                match event {
                    Event::Patience { .. } => self.arbiter.set_patience(thread, nanoseconds),
                    _ => self.arbiter.advance(thread, nanoseconds),
                }
            }
        }
        Ok(())
    }

    /// The execution is over: takes down how it ended.
    fn conclude(&mut self, plan: &mut Plan<'_>, over: bool) -> Attempt {
        let control = self.shared.control();
        let (ending, detail) = (control.ending.load(Relaxed), control.detail.load(Relaxed));
        let address = control.address.load(Relaxed);
        let culprit = ThreadId(control.culprit.load(Relaxed));
        if culprit.index() >= self.arbiter.names().thread_count() {
            self.process = None;
            return Attempt::Lost("it names an unknown thread".into());
        }
        let ended = match ending {
            Ending::MODEL => Ended::ByModel,
            Ending::EXIT => Ended::Exit(detail),
            Ending::SIGNAL => Ended::Signal { signal: detail, address },
            Ending::ASSERTION => Ended::Assertion(self.shared.message()),
            Ending::ABORT => Ended::Abort,
            Ending::HANG => Ended::Hang,
            _ => Ended::InvalidObject { message: self.shared.message(), address },
        };
        self.aftermath = Aftermath {
            culprit,
            threads: self.shared.threads(),
            written: control.output.each_ref().map(|o| o.load(Relaxed)),
            ended,
        };
        if self.mode == Mode::Exec && !matches!(self.arbiter.execution().end, End::Diverged(_)) {
            // The process waits so that its memory can be looked at; the next execution starts another.
        }
        if !over {
            match self.aftermath.ended {
                Ended::ByModel => {
                    if plan.next(&mut self.arbiter).is_some() {
                        self.process = None;
                        return Attempt::Lost("it ended where the model goes on".into());
                    }
                }
                Ended::Exit(_) => self.arbiter.finish_with(End::Complete),
                _ => {
                    // It was in the middle of something when it ended the program: nobody else goes on.
                    let ends = self.arbiter.pending(culprit).is_some_and(|p| p.0 == Operation::End);
                    if ends {
                        self.arbiter.apply(Transition::first(culprit));
                    }
                    self.arbiter.finish_with(End::Complete);
                }
            }
        }
        Attempt::Done
    }

    fn give_up(&mut self, failure: Failure) {
        self.failure = Some(failure);
        self.arbiter.diverge(Transition::first(ThreadId::MAIN), None);
    }
}

impl Target for Native {
    fn run(&mut self, plan: &mut Plan<'_>) {
        if self.mode == Mode::Exec {
            self.process = None;
        }
        let mut lost = 0;
        loop {
            match self.attempt(plan) {
                Ok(Attempt::Done) => return,
                Ok(Attempt::Again) => plan.restart(),
                Ok(Attempt::Lost(how)) => {
                    if std::env::var_os("DBG").is_some() { std::fs::write("/dev/stderr", format!("lost {how}\n")).ok(); }
                    self.losses += 1;
                    lost += 1;
                    if lost > 2 {
                        // In fresh processes too: this is what the program does.
                        self.aftermath.ended = Ended::Corrupted(how);
                        self.aftermath.culprit = ThreadId::MAIN;
                        self.arbiter.finish_with(End::Complete);
                        return;
                    }
                    plan.restart();
                }
                Err(failure) => return self.give_up(failure),
            }
        }
    }

    fn execution(&self) -> &Execution {
        self.arbiter.execution()
    }

    fn names(&self) -> &Names {
        self.arbiter.names()
    }
}
