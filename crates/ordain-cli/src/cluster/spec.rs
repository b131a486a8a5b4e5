//! From a check to the specification of a run, and back on a worker; findings on their way home.

use crate::problem::Problem;
use ordain_cluster::{FileSpec, Kind, Limits, Refusal, RunSpec, Submission, Text};
use ordain_explore::frontier::Rule;
use ordain_explore::strategy::Kind as Strategy;
use ordain_model::Options;
use ordain_native::{Check, LEVEL, Launch, Mode, Patience, binary};
use ordain_report::Story;
use serde::{Deserialize, Serialize};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Options of a check that matter to whoever explores.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    spurious_wakeups: bool,
    kind_time: bool,
    spin_bound: u32,
    livelock_rounds: u32,
    max_steps: usize,
    mode: Option<String>,
    /// Whether it is a Rust program, whose locks are not all visible.
    rust: bool,
    compare_output: bool,
    expected_status: i32,
    busy_millis: u64,
    blocked_millis: u64,
    shrink_millis: u64,
}

/// A finding, as it comes from a worker.
#[derive(Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) story: Story,
    /// The schedule, as it is written to a file.
    pub(crate) schedule: String,
    /// Where the program was on the worker.
    pub(crate) path: Option<String>,
}

/// What to submit for a check.
pub(super) fn submission(check: &Check, test: Option<&str>) -> Result<Submission, Problem> {
    let rule = match check.strategy {
        None | Some(Strategy::Optimal) => Rule::Optimal,
        Some(Strategy::Source) => Rule::Source,
        Some(other) => return Err(Problem::NotDivisible { strategy: other.name().to_owned() }),
    };
    if check.compare_output {
        return Err(Problem::NotOnCluster { option: "--compare-output" });
    }
    if check.bound.is_some() {
        return Err(Problem::NotDivisible { strategy: "bounded".to_owned() });
    }
    let path = &check.launch.program;
    let program = std::fs::read(path).map_err(|error| Problem::Submit { path: path.clone(), error })?;
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let text = |text: &OsStr| Text(text.as_bytes().to_vec());
    let millis = |time: Duration| time.as_millis().try_into().unwrap_or(u64::MAX);
    let settings = Settings {
        spurious_wakeups: check.options.spurious_wakeups,
        kind_time: check.options.kind_time,
        spin_bound: check.options.spin_bound,
        livelock_rounds: check.options.livelock_rounds,
        max_steps: check.options.max_steps,
        mode: check.mode.map(|mode| mode.word().to_owned()),
        rust: check.binary.rust,
        compare_output: check.compare_output,
        expected_status: check.expected_status,
        busy_millis: millis(check.patience.busy),
        blocked_millis: millis(check.patience.blocked),
        shrink_millis: millis(check.shrink_time),
    };
    let stdin = (!check.launch.input.is_empty()).then(|| check.launch.input.clone());
    let kind = test.map_or(Kind::Program, |name| Kind::Test { name: name.to_owned() });
    let mut spec = RunSpec::new(kind, FileSpec::new(name, &program));
    spec.origin = Some(text(path.as_os_str()));
    spec.arguments = check.launch.arguments.iter().map(|a| text(a)).collect();
    spec.environment = check.launch.environment.iter().map(|(name, value)| (text(name), text(value))).collect();
    spec.stdin = stdin.as_ref().map(|input| FileSpec::new(format!("{}.stdin", spec.program.name), input));
    spec.level = LEVEL.to_owned();
    spec.options = serde_json::to_value(settings).unwrap_or_default();
    spec.rule = rule;
    spec.seed = check.seed;
    spec.limits =
        Limits { executions: check.max_executions, millis: check.max_time.map(millis), keep_going: check.keep_going };
    Ok(Submission { spec, program, stdin })
}

fn settings(spec: &RunSpec) -> serde_json::Result<Settings> {
    serde_json::from_value(spec.options.clone())
}

fn os(text: &Text) -> OsString {
    OsString::from_vec(text.0.clone())
}

/// How a program is started that is there.
fn launch(spec: &RunSpec, program: PathBuf, input: Vec<u8>) -> Launch {
    Launch {
        program,
        arguments: spec.arguments.iter().map(os).collect(),
        environment: spec.environment.iter().map(|(name, value)| (os(name), os(value))).collect(),
        input,
    }
}

/// What is told of a run, wherever it was submitted.
pub(super) struct About {
    /// Where the program was then.
    pub(super) path: PathBuf,
    /// The program with its arguments.
    pub(super) command_line: String,
    /// The test, if it is one of a Rust test binary.
    pub(super) test: Option<String>,
    /// Whether it is a Rust program.
    pub(super) rust: bool,
    /// How schedules are chosen.
    pub(super) strategy: &'static str,
}

impl About {
    pub(super) fn new(spec: &RunSpec) -> Self {
        let path = PathBuf::from(spec.origin.as_ref().map_or_else(|| spec.program.name.clone().into(), os));
        Self {
            command_line: ordain_native::command_line(&launch(spec, path.clone(), Vec::new())),
            path,
            test: match &spec.kind {
                Kind::Program => None,
                Kind::Test { name } => Some(name.clone()),
            },
            rust: settings(spec).is_ok_and(|settings| settings.rust),
            strategy: strategy(spec.rule).name(),
        }
    }
}

fn strategy(rule: Rule) -> Strategy {
    match rule {
        Rule::Optimal => Strategy::Optimal,
        Rule::Source => Strategy::Source,
    }
}

/// The check that a specification is about, with its files in a directory of this worker.
pub(crate) fn check_of(spec: &RunSpec, directory: &Path) -> Result<Check, Refusal> {
    if spec.level != LEVEL {
        return Err(Refusal(format!(
            "it is to be explored at level {}, and this worker has level {LEVEL}",
            spec.level
        )));
    }
    let settings =
        settings(spec).map_err(|error| Refusal(format!("its options are of another version of Ordain: {error}")))?;
    let mode = match settings.mode.as_deref() {
        None => None,
        Some(word) => {
            let modes = [Mode::Snapshot, Mode::Fork, Mode::Exec];
            let mode = modes.into_iter().find(|mode| mode.word() == word);
            Some(mode.ok_or_else(|| Refusal("its mode is of another version of Ordain".into()))?)
        }
    };
    let program = directory.join(&spec.program.name);
    let binary = binary::inspect(program.as_os_str(), None).map_err(|refused| Refusal(refused.to_string()))?;
    let input = match &spec.stdin {
        None => Vec::new(),
        Some(file) => std::fs::read(directory.join(&file.name))
            .map_err(|error| Refusal(format!("its standard input cannot be read: {error}")))?,
    };
    Ok(Check {
        launch: launch(spec, binary.path.clone(), input),
        binary,
        options: Options {
            spurious_wakeups: settings.spurious_wakeups,
            kind_time: settings.kind_time,
            spin_bound: settings.spin_bound.max(1),
            livelock_rounds: settings.livelock_rounds,
            max_steps: settings.max_steps,
            ..Options::default()
        },
        strategy: Some(strategy(spec.rule)),
        bound: None,
        seed: spec.seed,
        depth: 3,
        max_executions: None,
        max_time: None,
        mode,
        keep_going: true,
        compare_output: settings.compare_output,
        expected_status: settings.expected_status,
        patience: Patience {
            busy: Duration::from_millis(settings.busy_millis),
            blocked: Duration::from_millis(settings.blocked_millis),
        },
        // Schedules are written here and sent home.
        directory: Some(directory.join(".ordain")),
        shrink_time: Duration::from_millis(settings.shrink_millis),
        exploration_trace: None,
        workers: 1,
        slice: ordain_native::SLICE,
        resume: false,
    })
}
