//! `ordain check`: explores the schedules of a program.
//!
//! Text for people goes to standard error; standard output is for the one JSON object of `--format json`.

mod told;

use crate::Outcome;
use crate::cluster::{self, Connection, Subject, Watch};
use crate::exports::Exports;
use crate::input::read_input;
use crate::json;
use crate::options::{self, Format};
use crate::output;
use crate::problem::Problem;
use crate::progress::Live;
use ordain_cluster::RunId;
use ordain_explore::strategy::{Bound, Kind as Strategy};
use ordain_model::Options;
use ordain_native::{Check, Launch, Mode, Patience, Verdict, binary, record};
use ordain_report::{Run, store};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub(crate) use told::{next, plural, rate, story, story_without_timeline};

/// More workers would only wait for each other.
const MOST_WORKERS: usize = 1024;

#[derive(clap::Args)]
#[command(override_usage = "ordain check [OPTIONS] -- PROGRAM [ARGUMENT]...")]
#[command(after_help = "Exit status: 0 verified or nothing found, 1 a finding, 2 the program cannot be checked.\n\
                        Executions get no variables of the environment but PATH, HOME, LANG, LC_ALL, TMPDIR, TERM and \
                        LD_LIBRARY_PATH.")]
pub(crate) struct Arguments {
    /// The program and its arguments
    #[arg(last = true, required_unless_present = "attach", value_name = "PROGRAM")]
    command: Vec<OsString>,

    /// How schedules are chosen [default: optimal, or portfolio with a limit]
    #[arg(long, value_name = "STRATEGY", value_parser = options::strategy())]
    strategy: Option<Strategy>,
    /// Only schedules with at most N preemptions
    #[arg(long, value_name = "N", conflicts_with_all = ["strategy", "delay_bound"])]
    preemption_bound: Option<u32>,
    /// Only schedules with at most N delays
    #[arg(long, value_name = "N", conflicts_with = "strategy")]
    delay_bound: Option<u32>,
    /// The seed of strategies that sample
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// How many ordering constraints the strategy pct looks for
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = options::pct_depth)]
    pct_depth: usize,

    /// Stop after that many executions
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    max_executions: Option<u64>,
    /// Stop after that time, such as 30s, 5m or 1h
    #[arg(long, value_name = "TIME", value_parser = options::duration)]
    max_time: Option<Duration>,
    /// Go on after the first finding
    #[arg(long)]
    keep_going: bool,

    /// What the program reads from standard input [default: nothing]
    #[arg(long, value_name = "FILE")]
    stdin: Option<PathBuf>,
    /// A variable for the program's environment; may be given several times
    #[arg(long = "env", value_name = "NAME=VALUE", value_parser = options::variable_parser())]
    environment: Vec<(OsString, OsString)>,

    /// The exit status that is no finding
    #[arg(long, value_name = "N", default_value_t = 0)]
    expect_status: u8,
    /// Take it as a finding if the program's output depends on the schedule
    #[arg(long)]
    compare_output: bool,

    /// Let time pass only when nothing else can happen: sleeps and timeouts end late
    #[arg(long)]
    kind_time: bool,
    /// Let waits on condition variables end without a reason, as POSIX allows
    #[arg(long)]
    spurious_wakeups: bool,
    /// Idle rounds of a waiting loop that are explored
    #[arg(long, value_name = "N", default_value_t = Options::default().spin_bound,
          value_parser = clap::value_parser!(u32).range(1..))]
    spin_bound: u32,
    /// Steps after which an execution that does not end is a finding
    #[arg(long, value_name = "N", default_value_t = Options::default().max_steps, value_parser = options::at_least_one)]
    max_steps: usize,
    /// Processor time after which a thread that makes no visible call hangs [default: 2s]
    #[arg(long, value_name = "TIME", value_parser = options::duration)]
    hang_time: Option<Duration>,

    /// How executions are started [default: the fastest that works for the program]
    #[arg(long, value_name = "MODE")]
    mode: Option<ModeName>,
    /// How long a finding may be made smaller before it is shown; 0 shows it as it was found
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = options::duration_or_zero)]
    shrink_time: Duration,

    /// How many processes explore at the same time; 0 for one on each core
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = options::at_most::<MOST_WORKERS>)]
    workers: usize,
    /// How long each explores at least before what is left is divided anew
    #[arg(long, value_name = "TIME", default_value = "20ms", value_parser = options::duration)]
    slice: Duration,
    /// Go on with the search that was kept in the run directory when it was stopped
    #[arg(long)]
    resume: bool,

    /// Write how the search went to a file, for `ordain estimate`; makes the search slower
    #[arg(long, value_name = "FILE")]
    exploration_trace: Option<PathBuf>,

    /// Where schedules of findings and the record of the run are written [default: .ordain/PROGRAM]
    #[arg(long, value_name = "DIR")]
    run_dir: Option<PathBuf>,
    /// For whom the result is written
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    pub(crate) format: Format,
    /// Show no progress
    #[arg(long, short)]
    quiet: bool,
    #[command(flatten)]
    exports: Exports,

    /// Let the workers of a cluster explore: the NATS server, such as nats://host:4222
    #[arg(long, value_name = "URL", help_heading = "Cluster")]
    cluster: Option<String>,
    /// The program is a Rust test binary: explore the check of this test
    #[arg(long, value_name = "NAME", requires = "cluster", conflicts_with = "attach", help_heading = "Cluster")]
    test: Option<String>,
    /// Submit the check and leave
    #[arg(long, requires = "cluster", help_heading = "Cluster")]
    detach: bool,
    /// Come back to a run
    #[arg(long, value_name = "RUN", requires = "cluster", conflicts_with_all = ["command", "detach"], help_heading = "Cluster")]
    attach: Option<String>,
    #[command(flatten)]
    connection: Connection,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum ModeName {
    /// Memory is put back after each execution
    Snapshot,
    /// Each execution is a child of a process that stands before main
    Fork,
    /// The program is started anew for each execution
    Exec,
}

impl From<ModeName> for Mode {
    fn from(name: ModeName) -> Self {
        match name {
            ModeName::Snapshot => Self::Snapshot,
            ModeName::Fork => Self::Fork,
            ModeName::Exec => Self::Exec,
        }
    }
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Problem> {
    let result = match &arguments.cluster {
        Some(url) => run_on_cluster(arguments, url),
        None => prepare(arguments).and_then(|check| run_check(arguments, &check)),
    };
    if let Err(problem) = &result {
        let program: Vec<String> = json::lossy(&arguments.command);
        arguments.exports.write_trouble(&program.join(" "), problem)?;
    }
    result
}

/// Lets the workers of a cluster do it.
fn run_on_cluster(arguments: &Arguments, url: &str) -> Result<Outcome, Problem> {
    if arguments.exploration_trace.is_some() {
        return Err(Problem::NotOnCluster { option: "--exploration-trace" });
    }
    let watch = Watch {
        url,
        connection: &arguments.connection,
        quiet: arguments.quiet,
        format: arguments.format,
        exports: &arguments.exports,
        directory: arguments.run_dir.clone(),
    };
    match &arguments.attach {
        Some(run) => cluster::check(&watch, &Subject::Attach(RunId::parse(run)?)),
        None => {
            let check = prepare(arguments)?;
            cluster::check(
                &watch,
                &Subject::Submit { check: &check, test: arguments.test.as_deref(), detach: arguments.detach },
            )
        }
    }
}

fn run_check(arguments: &Arguments, check: &Check) -> Result<Outcome, Problem> {
    let mut live = Live::start(arguments.quiet);
    let report = check.run_watched(&mut live);
    live.end();
    let report = report.map_err(|problem| match (problem, &check.exploration_trace) {
        (ordain_native::Problem::Trace(error), Some(path)) => Problem::UnwritableTrace { path: path.clone(), error },
        (problem, _) => Problem::Native { problem },
    })?;
    let run = record::run(check, &report);
    let kept = keep(check, &run);
    if !report.resumable {
        check.forget_search();
    }
    output::tell(&told::human(check, &report, kept.as_deref().ok()));
    if let Err(error) = &kept {
        output::tell(&format!(
            "  note      the record of the run could not be written ({})\n",
            output::printable(error)
        ));
    }
    if arguments.format == Format::Json {
        output::write_json(&json::Check::new(check, &report))?;
    }
    let outcome = if report.verdict == Verdict::Finding { Outcome::Finding } else { Outcome::Clean };
    arguments.exports.write_behind(&[run], &[], Ok(outcome))
}

/// Writes the record of the run; gives the run directory.
fn keep(check: &Check, run: &Run) -> Result<PathBuf, String> {
    let directory = check.directory.as_deref().unwrap_or(Path::new(".ordain"));
    let file = store::write_run(directory, run)?;
    Ok(file.parent().unwrap_or(directory).to_owned())
}

fn prepare(arguments: &Arguments) -> Result<Check, Problem> {
    let (program, rest) = arguments.command.split_first().map_or((OsString::new(), &[][..]), |(p, r)| (p.clone(), r));
    let binary = binary::inspect(&program, std::env::var_os("PATH").as_deref())?;
    if arguments.exploration_trace.is_some() {
        let bound = arguments.preemption_bound.or(arguments.delay_bound).map(|_| "a bounded search");
        let samples = arguments.strategy.filter(|s| s.samples()).map(Strategy::name);
        if let Some(strategy) = bound.or(samples) {
            return Err(Problem::NoTrace { strategy: strategy.to_owned() });
        }
    }
    let directory = arguments.run_dir.clone().unwrap_or_else(|| default_directory(&binary.path));
    Ok(Check {
        launch: Launch {
            program: binary.path.clone(),
            arguments: rest.to_vec(),
            environment: arguments.environment.clone(),
            input: match &arguments.stdin {
                Some(path) => read_input(path, arguments.max_time)?,
                None => Vec::new(),
            },
        },
        binary,
        options: Options {
            spurious_wakeups: arguments.spurious_wakeups,
            kind_time: arguments.kind_time,
            spin_bound: arguments.spin_bound,
            max_steps: arguments.max_steps,
            ..ordain_native::default_options()
        },
        strategy: arguments.strategy,
        bound: arguments.preemption_bound.map(Bound::Preemptions).or(arguments.delay_bound.map(Bound::Delays)),
        seed: arguments.seed,
        depth: arguments.pct_depth,
        max_executions: arguments.max_executions,
        max_time: arguments.max_time,
        mode: arguments.mode.map(Mode::from),
        keep_going: arguments.keep_going,
        compare_output: arguments.compare_output,
        expected_status: arguments.expect_status.into(),
        patience: arguments.hang_time.map_or_else(Patience::default, patience),
        directory: Some(directory),
        shrink_time: arguments.shrink_time,
        exploration_trace: arguments.exploration_trace.clone(),
        workers: match arguments.workers {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            workers => workers,
        },
        slice: arguments.slice,
        resume: arguments.resume,
    })
}

/// A program may be without the processor for longer than it may use it.
pub(crate) fn patience(busy: Duration) -> Patience {
    Patience { busy, blocked: busy.saturating_mul(5) }
}

/// The run directory of a program, unless another one is given.
pub(crate) fn default_directory(program: &Path) -> PathBuf {
    let name = program.file_name().unwrap_or_default().to_string_lossy();
    let safe = |c: char| if c.is_alphanumeric() || "-_.+".contains(c) { c } else { '-' };
    let name: String = name.chars().map(safe).collect();
    Path::new(".ordain").join(if name.trim_matches('.').is_empty() { "program" } else { &name })
}
