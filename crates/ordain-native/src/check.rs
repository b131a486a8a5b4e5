//! Checking a program: explore its schedules, confirm what is found in a fresh process, and say honestly what was not seen.

mod renew;
mod verdict;
mod watch;

pub use renew::Renewed;
pub use verdict::blindness;

use crate::binary::Binary;
use crate::finding::{self, Finding};
use crate::process::Launch;
use crate::program::Program;
use crate::settings::{self, ProgramSettings};
use crate::target::{Failure, Native};
use ordain_check::checkpoint::{self, FILE};
use ordain_check::{Campaign, CheckpointFile, FragmentResult, Observer, Proof, RunOptions, Settings, Unobserved};
use ordain_explore::frontier::Order;
use ordain_explore::{Lowest, Plan, Planned, Preemptions, Summary, Target};
use ordain_model::describe;
use ordain_model::{Divergence, End, Level, Options, Schedule};
use ordain_report::{Branch, Estimate, Note, Sample, Sight, Verdict, Workers, fingerprint, quote};
use ordain_wire::Mode;
use std::ffi::{OsStr, OsString};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

/// The level at which programs are checked.
pub const LEVEL: Level = Level::Sync;

/// A check of a program, and its options.
#[derive(Clone, Debug)]
pub struct Check {
    /// What is known of the program's file.
    pub binary: Binary,
    /// What to run.
    pub launch: Launch,
    /// The options that every check has.
    pub settings: Settings,
    /// Those that only checks of programs have.
    pub program: ProgramSettings,
    /// How it is run. With workers, what is left is kept in the directory until [`Check::forget_search`].
    pub run: RunOptions,
}

/// The result of a check.
#[derive(Debug)]
pub struct Report {
    /// The verdict.
    pub verdict: Verdict,
    /// The verdict in a sentence.
    pub meaning: String,
    /// What weakens it, or what the user should know.
    pub notes: Vec<Note>,
    /// How much of what threads do was visible.
    pub sight: Sight,
    /// The strategy.
    pub strategy: &'static str,
    /// The mode at the end.
    pub mode: Mode,
    /// Why that mode.
    pub mode_reason: String,
    /// What the search did.
    pub summary: Summary,
    /// Samples by which the verdict was cross-checked.
    pub cross_checked: u64,
    /// Visible operations in an execution at most, those that make, join and end threads left out.
    pub visible: usize,
    /// Findings.
    pub findings: Vec<Finding>,
    /// Processes that were lost on the way.
    pub losses: u64,
    /// Time by the clock.
    pub wall: Duration,
    /// Processor time of the launcher and the program.
    pub cpu: Duration,
    /// Processor time of exploring alone: without starting the program, and without confirming findings.
    pub exploring: Duration,
    /// How it went.
    pub progress: Vec<Sample>,
    /// Whether the observer stopped it.
    pub interrupted: bool,
    /// The path that the search was on when it ended.
    pub path: Vec<Branch>,
    /// How the search was divided, if it was.
    pub workers: Option<Workers>,
    /// Whether what is left was kept, and can be resumed.
    pub resumable: bool,
    /// How many executions there are in all, as far as can be told.
    pub estimate: Option<Estimate>,
}

/// Why a check came to no verdict.
pub type Problem = ordain_check::Problem<Failure>;

/// A program that waits for fragments of a search.
pub struct Fragments(ordain_check::Fragments<Program>);

impl Fragments {
    /// Starts the program, and makes sure that it is deterministic.
    pub fn open(check: Check) -> Result<Self, Problem> {
        let settings = check.settings.clone();
        let program = Program::new(&Arc::new(check), None)?;
        ordain_check::Fragments::open(settings, program).map(Self)
    }

    /// Explores a fragment. An error says why this program cannot be explored here.
    pub fn explore(&mut self, order: &Order) -> Result<FragmentResult<Finding>, String> {
        self.0.explore(order)
    }
}

impl Check {
    /// What is assumed of the world.
    pub fn options(&self) -> Options {
        settings::options(&self.settings)
    }

    /// What decides what is explored, beside the settings that every check has.
    fn checkpoint(&self) -> CheckpointFile {
        let input = fingerprint::of(&self.launch.input);
        let list = |words: &mut dyn Iterator<Item = OsString>| {
            let words: Vec<String> = words.map(|word| quote(&word.to_string_lossy())).collect();
            words.join(" ")
        };
        let of_program = [
            ("program", format!("{} ({:032x})", self.binary.path.display(), self.binary.fingerprint)),
            ("arguments", list(&mut self.launch.arguments.iter().cloned())),
            (
                "environment",
                list(&mut self.launch.environment.iter().map(|(k, v)| [k.as_os_str(), v].join(OsStr::new("=")))),
            ),
            ("standard input", format!("{input:032x}")),
        ];
        let mut identity = of_program.map(|(name, value)| (name.to_owned(), value)).to_vec();
        // How executions are started changes none of them.
        identity.extend(ordain_check::settings::values(&self.program).into_iter().filter(|(key, _)| key != "mode"));
        CheckpointFile { file: FILE.into(), identity }
    }

    /// Nothing is left that would be resumed: for whoever has kept the result of this check.
    pub fn forget_search(&self) {
        if let Some(directory) = &self.run.directory {
            // If it stays, it is found to be of a finished search or is written over.
            let _ = checkpoint::forget(directory);
        }
    }

    /// The program, ready to be run.
    pub(crate) fn native(&self, mode: Option<Mode>) -> Result<Native, Failure> {
        let mut native = Native::new(self.launch.clone(), self.options(), mode, self.program.patience())?;
        native.order_output(self.program.compare_output);
        Ok(native)
    }

    /// Runs it.
    pub fn run(&self) -> Result<Report, Problem> {
        self.run_watched(&mut Unobserved)
    }

    /// Runs it, with somebody who is told how it goes and can stop it.
    pub fn run_watched(&self, observer: &mut dyn Observer) -> Result<Report, Problem> {
        let program = Program::new(&Arc::new(self.clone()), self.program.mode)?;
        let outcome = Campaign::new(&self.settings, &self.run, program, self.checkpoint(), observer)?.run()?;
        Ok(verdict::report(outcome))
    }

    /// Runs the program under a schedule; gives what it shows, if anything, and whether it followed to the end.
    pub fn replay(&self, schedule: &Schedule) -> Result<Replayed, Problem> {
        let mut native = self.native(Some(Mode::Exec))?;
        native.prepare_for(schedule);
        let transitions = schedule.transitions(native.names_mut());
        let prefix: Vec<Planned> = transitions.into_iter().map(|transition| Planned { transition, op: None }).collect();
        let mut policy = Preemptions::of(Lowest);
        native.run(&mut Plan::follow(&prefix, &mut policy));
        if let Some(failure) = native.failure() {
            return Err(failure.clone().into());
        }
        self.replayed(&mut native, &policy.steps)
    }

    /// Runs the program under a schedule again and again, that many times, each in a fresh process; tells what each run comes to, and goes on
    /// as long as it is told to. The misbehaviour is described the first time that it shows; how often it shows is worth no more of
    /// everybody's time.
    pub fn replay_times(
        &self,
        schedule: &Schedule,
        times: u32,
        tell: &mut dyn FnMut(Repeated) -> ControlFlow<()>,
    ) -> Result<(), Problem> {
        let mut native = self.native(Some(Mode::Exec))?;
        native.prepare_for(schedule);
        let transitions = schedule.transitions(native.names_mut());
        let prefix: Vec<Planned> = transitions.into_iter().map(|transition| Planned { transition, op: None }).collect();
        let (mut described, mut usual) = (false, None);
        for _ in 0..times {
            let mut policy = Preemptions::of(Lowest);
            native.run(&mut Plan::follow(&prefix, &mut policy));
            if let Some(failure) = native.failure() {
                return Err(failure.clone().into());
            }
            let steps = native.execution().steps.len();
            let repeated = match native.execution().end.clone() {
                End::Diverged(divergence) => Repeated::Departed(steps, self.difference(&native, &divergence)),
                _ => {
                    let mut noticed = finding::notice(&native, self.program.expect_status.into());
                    if noticed.is_none() && self.program.compare_output {
                        if usual.is_none() {
                            usual = Some(self.usual_output(&native)?);
                        }
                        noticed = usual.as_ref().and_then(|usual| finding::unlike(usual, &mut native));
                    }
                    match noticed {
                        None => Repeated::EndedWell,
                        Some(_) if described => Repeated::Shown(None),
                        Some(noticed) => {
                            described = true;
                            let proof = Proof { number: 0, preemptions: &policy.steps, shrunk: None };
                            let context = finding::Context { check: self, proof: &proof, usual: usual.as_ref() };
                            Repeated::Shown(Some(Box::new(finding::describe(&mut native, &noticed, &context))))
                        }
                    }
                }
            };
            if tell(repeated).is_break() {
                break;
            }
        }
        Ok(())
    }

    /// What the last execution showed, which followed a schedule.
    pub(crate) fn replayed(&self, native: &mut Native, preemptions: &[usize]) -> Result<Replayed, Problem> {
        let departure = match &native.execution().end {
            End::Diverged(divergence) => Some(self.difference(native, divergence)),
            _ => None,
        };
        let mut usual = None;
        let mut noticed = finding::notice(native, self.program.expect_status.into());
        if noticed.is_none() && self.program.compare_output && departure.is_none() {
            let outputs = self.usual_output(native)?;
            noticed = finding::unlike(&outputs, native);
            usual = Some(outputs);
        }
        let finding = noticed.map(|noticed| {
            let proof = Proof { number: 0, preemptions, shrunk: None };
            let context = finding::Context { check: self, proof: &proof, usual: usual.as_ref() };
            finding::describe(native, &noticed, &context)
        });
        Ok(Replayed {
            finding,
            departure,
            steps: native.execution().steps.len(),
            output: [native.output(0), native.output(1)],
        })
    }

    /// What the program writes in a run without a schedule.
    fn usual_output(&self, native: &Native) -> Result<[Vec<u8>; 2], Problem> {
        let mut usual = native.fresh(Mode::Exec)?;
        usual.run(&mut Plan::new(&[], &mut Lowest));
        if let Some(failure) = usual.failure() {
            return Err(failure.clone().into());
        }
        Ok([usual.output(0), usual.output(1)])
    }

    fn difference(&self, native: &Native, divergence: &Divergence) -> String {
        let words = finding::NativeWords::new(native);
        describe::difference(&words, divergence)
    }
}

/// What one of several replays came to.
#[derive(Debug)]
pub enum Repeated {
    /// The misbehaviour showed; it is described the first time.
    Shown(Option<Box<Finding>>),
    /// The program followed the schedule and ended well.
    EndedWell,
    /// It departed from the schedule after so many steps, and how.
    Departed(usize, String),
}

/// What a replay showed.
#[derive(Debug)]
pub struct Replayed {
    /// The misbehaviour.
    pub finding: Option<Finding>,
    /// How the program departed from the schedule, if it did.
    pub departure: Option<String>,
    /// Steps that were made.
    pub steps: usize,
    /// What it wrote to standard output and standard error.
    pub output: [Vec<u8>; 2],
}
