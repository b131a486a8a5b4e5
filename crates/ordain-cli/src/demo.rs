//! `ordain demo`: small programs, each with the bug that its name stands for, and one without.
//!
//! Each program is a file in `demo/`; its text is shown with the finding, so that the lines in it can be followed.

mod counter;
mod ordered;
mod publish;
mod spin;
mod transfer;
mod waiter;

use crate::Outcome;
use crate::options;
use crate::output;
use crate::problem::{CheckPanicked, Problem};
use crate::{look, replay_line};
use ordain::{Check, Finding, FindingKind, Report, Strategy, Verdict};
use ordain_report::terminal::{self, Next};
use std::io::{self, Write};
use std::panic::catch_unwind;

/// A program to check.
pub(crate) struct Demo {
    /// What it is called.
    name: &'static str,
    /// What there is to see, in a few words.
    about: &'static str,
    /// Its text.
    source: &'static str,
    program: fn(),
}

macro_rules! demo {
    ($name:ident, $about:literal) => {
        Demo {
            name: stringify!($name),
            about: $about,
            source: include_str!(concat!("demo/", stringify!($name), ".rs")),
            program: $name::program,
        }
    };
}

/// All programs; the first one is the default.
const DEMOS: [Demo; 6] = [
    demo!(waiter, "lost wake-up: the flag is looked at before the lock is taken"),
    demo!(transfer, "deadlock: two transfers lock two accounts the other way round"),
    demo!(counter, "lost update: load and store instead of one atomic addition"),
    demo!(publish, "data race: a relaxed flag publishes nothing"),
    demo!(spin, "livelock: two polite threads let each other go first, for ever"),
    demo!(ordered, "verified: transfers that lock the accounts in one order"),
];

/// Demo checks are called like the command that runs them; no test has spaces in its name.
const PREFIX: &str = "ordain demo ";

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The program [default: waiter]
    #[arg(value_parser = names())]
    name: Option<String>,
    /// List the programs
    #[arg(long, conflicts_with_all = ["name", "strategy", "seed", "max_executions", "keep_going"])]
    list: bool,
    /// How schedules are chosen [default: optimal, or portfolio with a limit]
    #[arg(long, value_name = "STRATEGY", value_parser = options::strategy())]
    strategy: Option<Strategy>,
    /// The seed of strategies that sample
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Stop after that many executions
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    max_executions: Option<u64>,
    /// Go on after the first finding, and count all executions that misbehave
    #[arg(long)]
    keep_going: bool,
}

fn names() -> clap::builder::PossibleValuesParser {
    DEMOS.iter().map(|d| d.name).collect::<Vec<_>>().into()
}

/// The demo that a schedule's program is, if it is one.
pub(crate) fn name_of(program: &str) -> Option<&str> {
    program.strip_prefix(PREFIX)
}

/// The demo called `name`.
pub(crate) fn find(name: &str) -> Result<&'static Demo, Problem> {
    DEMOS.iter().find(|d| d.name == name).ok_or_else(|| {
        let known: Vec<&str> = DEMOS.iter().map(|d| d.name).collect();
        Problem::UnknownDemo { name: output::printable(name), known: known.join(", ") }
    })
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Problem> {
    if arguments.list {
        let width = DEMOS.iter().map(|d| d.name.len()).max().unwrap_or(0);
        output::write(|out| DEMOS.iter().try_for_each(|d| writeln!(out, "{:<width$}  {}", d.name, d.about)))?;
        return Ok(Outcome::Clean);
    }
    let demo = find(arguments.name.as_deref().unwrap_or(DEMOS[0].name))?;
    let report = check(demo, arguments)?;
    output::write(|out| show(demo, &report, out))?;
    Ok(if report.verdict == Verdict::Finding { Outcome::Finding } else { Outcome::Clean })
}

fn check(demo: &'static Demo, arguments: &Arguments) -> Result<Report, Problem> {
    let mut check = Check::new().name(format!("{PREFIX}{}", demo.name)).keep_going(arguments.keep_going);
    if let Some(strategy) = arguments.strategy {
        check = check.strategy(strategy);
    }
    if let Some(seed) = arguments.seed {
        check = check.seed(seed);
    }
    if let Some(most) = arguments.max_executions {
        check = check.max_executions(most);
    }
    // A check that is asked to replay what it cannot read panics; that is told as any other problem.
    std::panic::set_hook(Box::new(|_| {}));
    let result = catch_unwind(|| check.run(demo.program));
    let _ = std::panic::take_hook();
    result.map_err(|payload| {
        let text = payload.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("it panicked");
        Problem::Check { reason: CheckPanicked(text.trim_start_matches("ordain: ").to_owned()) }
    })
}

/// Writes the program's text, its findings, and the verdict.
fn show(demo: &Demo, report: &Report, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{} ({}):\n", demo.name, demo.about)?;
    for (i, line) in demo.source.lines().enumerate() {
        writeln!(out, "{:>4}  {line}", i + 1)?;
    }
    for finding in &report.findings {
        // Demo programs are replayed in another way than tests.
        let mut next = Next::default();
        next.commands.extend(replay_command(demo, finding).map(|line| ("replay".to_owned(), line)));
        next.commands.push(("explain".to_owned(), replay_line::explain(*finding.kind())));
        writeln!(out, "\n{}", terminal::finding(finding.story(), look::of_output(), &next).trim_end())?;
    }
    writeln!(out, "\n{report}")
}

/// The command that replays a finding, as the reader can type it.
fn replay_command(demo: &Demo, finding: &Finding) -> Option<String> {
    let possible = *finding.kind() != FindingKind::Nondeterminism && std::env::var_os("ORDAIN_REPLAY").is_none();
    possible.then(|| match finding.schedule_file() {
        Some(file) => replay_line::for_file(file),
        None => {
            let schedule = replay_line::quote(finding.replay_value());
            format!("ORDAIN_REPLAY={schedule} {} demo {}", replay_line::own_name(), demo.name)
        }
    })
}
