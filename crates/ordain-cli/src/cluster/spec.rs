//! From a check to the specification of a run, and back on a worker; findings on their way home.

use crate::problem::Problem;
use ordain_check::{RunOptions, Settings};
use ordain_cluster::{FileSpec, Kind, Limits, Refusal, RunSpec, Submission, Text};
use ordain_explore::frontier::Rule;
use ordain_explore::strategy::Kind as Strategy;
use ordain_model::Level;
use ordain_native::{Check, LEVEL, Launch, ProgramSettings, binary};
use ordain_report::Story;
use serde::{Deserialize, Serialize};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Options of a check that matter to whoever explores.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    settings: Settings,
    program: ProgramSettings,
    /// Whether it is a Rust program, whose locks are not all visible.
    rust: bool,
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
    let rule = match check.settings.strategy {
        None | Some(Strategy::Optimal) => Rule::Optimal,
        Some(Strategy::Source) => Rule::Source,
        Some(other) => return Err(Problem::NotDivisible { strategy: other.name().to_owned() }),
    };
    if check.program.compare_output {
        return Err(Problem::NotOnCluster { option: "--compare-output" });
    }
    if check.settings.bound().is_some() {
        return Err(Problem::NotDivisible { strategy: "bounded".to_owned() });
    }
    let path = &check.launch.program;
    let program = std::fs::read(path).map_err(|error| Problem::Submit { path: path.clone(), error })?;
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let text = |text: &OsStr| Text(text.as_bytes().to_vec());
    let millis = |time: Duration| time.as_millis().try_into().unwrap_or(u64::MAX);
    let options = Options { settings: check.settings.clone(), program: check.program.clone(), rust: check.binary.rust };
    let stdin = (!check.launch.input.is_empty()).then(|| check.launch.input.clone());
    let kind = test.map_or(Kind::Program, |name| Kind::Test { name: name.to_owned() });
    let mut spec = RunSpec::new(kind, FileSpec::new(name, &program));
    spec.origin = Some(text(path.as_os_str()));
    spec.arguments = check.launch.arguments.iter().map(|a| text(a)).collect();
    spec.environment = check.launch.environment.iter().map(|(name, value)| (text(name), text(value))).collect();
    spec.stdin = stdin.as_ref().map(|input| FileSpec::new(format!("{}.stdin", spec.program.name), input));
    spec.options = serde_json::to_value(options).unwrap_or_default();
    spec.rule = rule;
    spec.seed = check.settings.seed;
    spec.limits = Limits {
        executions: check.settings.max_executions,
        millis: check.settings.max_time.map(millis),
        keep_going: check.settings.keep_going,
    };
    Ok(Submission { spec, program, stdin })
}

fn options(spec: &RunSpec) -> serde_json::Result<Options> {
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

/// What is known of a run, wherever it was submitted.
pub(super) struct Description {
    /// Where the program was then.
    pub(super) path: PathBuf,
    /// The program with its arguments.
    pub(super) command_line: String,
    /// Which operations are visible.
    pub(super) level: Level,
    /// The test, if it is one of a Rust test binary.
    pub(super) test: Option<String>,
    /// Whether it is a Rust program.
    pub(super) rust: bool,
    /// How schedules are chosen.
    pub(super) strategy: Strategy,
    /// What is assumed of the world.
    pub(super) options: ordain_model::Options,
    /// Its limit of time, in milliseconds.
    pub(super) millis: Option<u64>,
}

impl Description {
    pub(super) fn new(spec: &RunSpec) -> Self {
        let path = PathBuf::from(spec.origin.as_ref().map_or_else(|| spec.program.name.clone().into(), os));
        let options = options(spec).ok();
        let settings = options.as_ref().map_or_else(Settings::default, |options| options.settings.clone());
        Self {
            command_line: ordain_native::command_line(&launch(spec, path.clone(), Vec::new())),
            path,
            level: spec.level,
            test: match &spec.kind {
                Kind::Program => None,
                Kind::Test { name } => Some(name.clone()),
            },
            rust: options.is_some_and(|options| options.rust),
            strategy: strategy(spec.rule),
            options: ordain_native::options(&settings),
            millis: spec.limits.millis,
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
    let other_version = |error: String| Refusal(format!("its options are of another version of Ordain: {error}"));
    let Options { settings, program: program_settings, .. } =
        options(spec).map_err(|error| other_version(error.to_string()))?;
    settings.verify().and_then(|()| program_settings.verify()).map_err(other_version)?;
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
        settings: Settings {
            strategy: Some(strategy(spec.rule)),
            seed: spec.seed,
            // Whoever divides the search keeps to its limits.
            max_executions: None,
            max_time: None,
            keep_going: true,
            ..settings
        },
        program: program_settings,
        // Schedules are written here and sent home.
        run: RunOptions { directory: Some(directory.join(".ordain")), workers: 1, ..RunOptions::default() },
    })
}
