//! `ordain check`: explores the schedules of a program.
//!
//! Text for people goes to standard error; standard output is for the one JSON object of `--format json`.

use crate::Outcome;
use crate::json;
use crate::options::{self, Format};
use crate::output;
use crate::problem::Problem;
use crate::replay_line;
use ordain_explore::strategy::{Bound, Kind as Strategy};
use ordain_model::Options;
use ordain_native::{Check, Finding, LEVEL, Launch, Mode, Patience, Report, Verdict, binary};
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Longer inputs are refused.
const MOST_INPUT: u64 = 1 << 30;

#[derive(clap::Args)]
#[command(override_usage = "ordain check [OPTIONS] -- PROGRAM [ARGUMENT]...")]
#[command(after_help = "Exit status: 0 verified or nothing found, 1 a finding, 2 the program cannot be checked.\n\
                        Executions get no variables of the environment but PATH, HOME, LANG, LC_ALL, TMPDIR, TERM and \
                        LD_LIBRARY_PATH.")]
pub(crate) struct Arguments {
    /// The program and its arguments
    #[arg(last = true, required = true, value_name = "PROGRAM")]
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
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = at_least_one)]
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
    #[arg(long, value_name = "N", default_value_t = Options::default().max_steps, value_parser = at_least_one)]
    max_steps: usize,
    /// Processor time after which a thread that makes no visible call hangs [default: 2s]
    #[arg(long, value_name = "TIME", value_parser = options::duration)]
    hang_time: Option<Duration>,

    /// How executions are started [default: the fastest that works for the program]
    #[arg(long, value_name = "MODE")]
    mode: Option<ModeName>,
    /// Where schedules of findings are written [default: .ordain/PROGRAM]
    #[arg(long, value_name = "DIR")]
    run_dir: Option<PathBuf>,
    /// For whom the result is written
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    pub(crate) format: Format,
}

fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("it must be 1 or more".into()),
        Ok(number) => Ok(number),
        Err(error) => Err(error.to_string()),
    }
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
    let check = prepare(arguments)?;
    let report = check.run().map_err(|problem| Problem::Native { problem })?;
    output::tell(&human(&check, &report));
    if arguments.format == Format::Json {
        output::write_json(&json::Check::new(&check, &report))?;
    }
    Ok(if report.verdict == Verdict::Finding { Outcome::Finding } else { Outcome::Clean })
}

fn prepare(arguments: &Arguments) -> Result<Check, Problem> {
    let (program, rest) = arguments.command.split_first().map_or((OsString::new(), &[][..]), |(p, r)| (p.clone(), r));
    let binary = binary::inspect(&program, std::env::var_os("PATH").as_deref())?;
    let directory =
        arguments.run_dir.clone().unwrap_or_else(|| Path::new(".ordain").join(directory_name(&binary.path)));
    Ok(Check {
        launch: Launch {
            program: binary.path.clone(),
            arguments: rest.to_vec(),
            environment: arguments.environment.clone(),
            input: arguments.stdin.as_deref().map_or(Ok(Vec::new()), read_input)?,
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
    })
}

/// A program may be without the processor for longer than it may use it.
pub(crate) fn patience(busy: Duration) -> Patience {
    Patience { busy, blocked: busy.saturating_mul(5) }
}

/// The name of the program, as that of a directory.
fn directory_name(program: &Path) -> String {
    let name = program.file_name().unwrap_or_default().to_string_lossy();
    let safe = |c: char| if c.is_alphanumeric() || "-_.+".contains(c) { c } else { '-' };
    let name: String = name.chars().map(safe).collect();
    if name.trim_matches('.').is_empty() { "program".into() } else { name }
}

/// Reads what the program is to read.
pub(crate) fn read_input(path: &Path) -> Result<Vec<u8>, Problem> {
    let unreadable = |error| Problem::Input { path: path.to_owned(), error };
    let mut input = Vec::new();
    File::open(path).and_then(|file| file.take(MOST_INPUT + 1).read_to_end(&mut input)).map_err(unreadable)?;
    if input.len() as u64 > MOST_INPUT {
        return Err(Problem::LongInput { path: path.to_owned(), most: MOST_INPUT });
    }
    Ok(input)
}

/// The findings, and then the verdict with all that it rests on.
fn human(check: &Check, report: &Report) -> String {
    let mut text = String::new();
    for finding in &report.findings {
        let _ = writeln!(text, "{}\n", story(finding));
    }
    let _ = writeln!(text, "{}", verdict(report));
    let line = |text: &mut String, key: &str, value: &str| {
        let _ = writeln!(text, "  {key:<10}{value}");
    };
    line(&mut text, "explored", &explored(check, report));
    line(&mut text, "took", &took(report));
    line(&mut text, "mode", &format!("{} ({})", report.mode.word(), report.mode_reason));
    line(&mut text, "strategy", &strategy(check, report));
    let (loud, quiet): (Vec<String>, Vec<String>) = notes(report).into_iter().partition(|note| is_loud(note));
    for note in &quiet {
        line(&mut text, "note", note);
    }
    for note in &loud {
        let _ = writeln!(text, "\nWARNING: {note}");
    }
    output::printable_lines(&text)
}

/// A finding, with the line that replays it as it can be typed here.
pub(crate) fn story(finding: &Finding) -> String {
    match &finding.file {
        Some(file) => {
            format!("{}\n\nreplay it with:\n  {}", replay_line::without(&finding.text), replay_line::for_file(file))
        }
        None if finding.trouble.is_some() => {
            format!("{}\nName a directory that can be written to with --run-dir.", finding.text.trim_end())
        }
        None => finding.text.trim_end().to_owned(),
    }
}

/// What weakens the verdict, or what the user should know.
pub(crate) fn notes(report: &Report) -> Vec<String> {
    let mut notes = report.notes.clone();
    if report.summary.threads <= 1 && report.verdict == Verdict::Verified {
        notes.push("the program made no threads with this input, so there was nothing to explore".into());
    }
    notes
}

/// Notes that take the ground from under a verdict begin in capitals.
fn is_loud(note: &str) -> bool {
    note.split_whitespace().take(2).all(|word| word.chars().all(|c| c.is_ascii_uppercase()))
}

/// The verdict in a sentence.
pub(crate) fn verdict(report: &Report) -> String {
    let executions = plural(report.summary.executions, "execution");
    match report.verdict {
        Verdict::Verified => format!("verified at level {LEVEL}: holds if the program has no data races"),
        Verdict::NoFinding => format!("no finding at level {LEVEL}: {}", report.meaning),
        Verdict::Finding => {
            let mut kinds: Vec<&str> = report.findings.iter().map(|f| f.kind.word()).collect();
            if let [kind] = kinds[..] {
                return format!("finding: {kind} (after {executions})");
            }
            kinds.sort_unstable();
            kinds.dedup();
            format!("finding: {} different ones: {} (in {executions})", report.findings.len(), kinds.join(", "))
        }
    }
}

fn explored(check: &Check, report: &Report) -> String {
    let summary = &report.summary;
    let executions = plural(summary.executions, "execution");
    let verified = report.verdict == Verdict::Verified;
    let mut text = match classes(report) {
        Some(1) if verified => format!("the only class of schedules, in {executions}"),
        Some(classes) if verified => {
            format!("all {} of schedules, in {executions}", plural_of(classes, "class", "classes"))
        }
        None if verified => format!("every class of schedules, in {executions}"),
        _ => executions,
    };
    if summary.blocked > 0 {
        let _ = write!(text, ", and {} cut short", summary.blocked);
    }
    let _ = write!(
        text,
        "; up to {} and {}",
        plural(summary.threads as u64, "thread"),
        plural(summary.depth as u64, "step")
    );
    if check.options.kind_time {
        text.push_str("; in kind time, where waits expire only when nothing else can happen");
    }
    text
}

/// How many classes of schedules there are, if that is known.
pub(crate) fn classes(report: &Report) -> Option<u64> {
    // These run each class once; others run more, and so tell nothing.
    let each_once = ["optimal", "source", "dpor"].contains(&report.strategy);
    (report.summary.exhausted && each_once).then_some(report.summary.executions)
}

fn took(report: &Report) -> String {
    let time = format!("{:.3} s, {:.3} s of processor time", report.wall.as_secs_f64(), report.cpu.as_secs_f64());
    match rate(report) {
        // The time of a finding is that of showing it again and of reading symbols.
        Some(rate) if report.verdict != Verdict::Finding => format!("{time}: {rate:.0} executions per CPU second"),
        _ => time,
    }
}

/// Executions in a second of processor time, starting the program and confirming findings not included.
pub(crate) fn rate(report: &Report) -> Option<f64> {
    let seconds = report.exploring.as_secs_f64();
    (seconds > 0.0).then(|| report.summary.executions as f64 / seconds)
}

fn strategy(check: &Check, report: &Report) -> String {
    match check.bound {
        Some(Bound::Preemptions(n)) => format!("{}, at most {}", report.strategy, plural(n.into(), "preemption")),
        Some(Bound::Delays(n)) => format!("{}, at most {}", report.strategy, plural(n.into(), "delay")),
        None if Strategy::by_name(report.strategy).is_some_and(|s| s.samples() || s == Strategy::Portfolio) => {
            format!("{}, seed {}", report.strategy, check.seed)
        }
        None => report.strategy.to_owned(),
    }
}

/// `1 thing`, `2 things`.
pub(crate) fn plural(count: u64, thing: &str) -> String {
    plural_of(count, thing, &format!("{thing}s"))
}

fn plural_of(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}
