//! What keeps a command from doing its work: the cause, and what to do about it.

use crate::look;
use miette::{Diagnostic, MietteHandlerOpts, NamedSource, Report, SourceSpan};
use ordain_native::binary::Refused;
use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;

/// Why a command cannot do its work. Always exit status 2, but for a reader of the output that went away.
#[derive(Debug, Diagnostic, Error)]
pub(crate) enum Problem {
    /// The schedule file cannot be read.
    #[error("cannot read the schedule file {}", path.display())]
    #[diagnostic(help("a finding prints the path of its schedule; files are in .ordain/<test>/ where the test ran"))]
    Unreadable {
        path: PathBuf,
        #[source]
        error: io::Error,
    },
    /// The exploration trace cannot be read.
    #[error("cannot read the exploration trace {}", path.display())]
    #[diagnostic(help("`ordain check --exploration-trace FILE -- PROGRAM` writes one"))]
    UnreadableTrace {
        path: PathBuf,
        #[source]
        error: io::Error,
    },
    /// A line of the exploration trace makes no sense.
    #[error("{} is not an exploration trace: line {line}: {reason}", path.display())]
    #[diagnostic(help("docs/estimation.md describes the format; was the file cut off, or is it another one?"))]
    BadTrace { path: PathBuf, line: usize, reason: String },
    /// The exploration trace has no execution.
    #[error("{} has no execution", path.display())]
    #[diagnostic(help("`ordain check --exploration-trace FILE -- PROGRAM` writes a trace"))]
    EmptyTrace { path: PathBuf },
    /// The exploration trace cannot be written.
    #[error("cannot write the exploration trace {}", path.display())]
    #[diagnostic(help("is there room, and may you write there?"))]
    UnwritableTrace {
        path: PathBuf,
        #[source]
        error: io::Error,
    },
    /// The search has no tree.
    #[error("an exploration trace is of an exhaustive search: `{strategy}` is none")]
    #[diagnostic(help("leave --exploration-trace out, or use --strategy optimal, source, dpor or dfs"))]
    NoTrace { strategy: String },
    /// It is something else than a file.
    #[error("{} is not a file", path.display())]
    #[diagnostic(help("name one of the schedule files in it: they end in .ordain"))]
    NotAFile { path: PathBuf },
    /// It is larger than any schedule.
    #[error("{} has {size} bytes, and a schedule has fewer than {most}", path.display())]
    #[diagnostic(help("is it a schedule file?"))]
    TooLarge { path: PathBuf, size: u64, most: u64 },
    /// It is text, but not a schedule.
    #[error("{} is not a valid schedule: line {line}: {reason}", path.display())]
    #[diagnostic(help("was it edited, or is it another file? A failing check writes its schedule to .ordain/<test>/"))]
    NotASchedule {
        path: PathBuf,
        line: usize,
        reason: String,
        #[source_code]
        text: Arc<NamedSource<String>>,
        #[label("here")]
        place: SourceSpan,
    },
    /// It is not text.
    #[error("{} is not a schedule: it is not UTF-8 text", path.display())]
    #[diagnostic(help("schedule files begin with `ordain schedule 1`"))]
    NotText { path: PathBuf },
    /// It does not say whose schedule it is.
    #[error("{} does not name the program that it is a schedule of", path.display())]
    #[diagnostic(help("its header needs a line `program: NAME`, with the name of the test"))]
    NoProgram { path: PathBuf },
    /// The name cannot be that of a test.
    #[error("`{program}` is not the name of a test")]
    #[diagnostic(help("the line `program:` of {} must hold the full name of a test", path.display()))]
    BadProgram { path: PathBuf, program: String },
    /// The demo program is not in this version.
    #[error("there is no demo program called `{name}`")]
    #[diagnostic(help("the demo programs are {known}"))]
    UnknownDemo { name: String, known: String },
    /// There is no such kind of finding.
    #[error("there is no kind of finding called `{code}`")]
    #[diagnostic(help("{}the kinds are {known}", nearest.map_or_else(String::new, |near| format!("did you mean `{near}`? "))))]
    UnknownKind { code: String, nearest: Option<&'static str>, known: String },
    /// The program cannot be run.
    #[error("cannot run {command}")]
    #[diagnostic(help("install it, or set the variable CARGO to where it is"))]
    CannotRun {
        command: String,
        #[source]
        error: io::Error,
    },
    /// Cargo failed before the test ran.
    #[error("the tests cannot be listed: cargo ended with {status}")]
    #[diagnostic(help(
        "its messages are above; run this where `cargo test` works, and pass what it needs behind `--`"
    ))]
    NoTests { status: ExitStatus },
    /// There is no such test.
    #[error("there is no test called `{program}` here")]
    #[diagnostic(help(
        "choose package and features behind `--`, such as `-- -p NAME`; if the check has a name of its own \
         (Check::name), run its test with ORDAIN_REPLAY={} cargo test TEST", path.display()
    ))]
    UnknownTest { path: PathBuf, program: String },
    /// The check itself cannot run.
    #[error("the check cannot run")]
    #[diagnostic(help("is ORDAIN_REPLAY set to something that is not a schedule of this program?"))]
    Check {
        #[source]
        reason: CheckPanicked,
    },
    /// The program cannot be run under control, as its file tells.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Refused(#[from] Refused),
    /// The check of a program came to no verdict.
    #[error("{problem}")]
    #[diagnostic(help("{}", native_help(problem)))]
    Native { problem: ordain_native::Problem },
    /// What the program is to read cannot be read.
    #[error("cannot read {}, which was to be the program's standard input", path.display())]
    #[diagnostic(help(
        "--stdin takes the file whose contents the program reads; without it, the program reads what is piped into the command"
    ))]
    Input {
        path: PathBuf,
        #[source]
        error: io::Error,
    },
    /// Nobody writes what the program is to read.
    #[error("{}, which was to be the program's standard input, gives nothing: {reason} for {} s", path.display(), waited.as_secs_f32())]
    #[diagnostic(help(
        "write it to its end, and if it is a FIFO, begin to write before; --max-time is how long that is waited for. If the program is to \
         read nothing: < /dev/null"
    ))]
    NoInput { path: PathBuf, reason: &'static str, waited: Duration },
    /// What the program is to read is too much.
    #[error("{} has more than {most} bytes, too many for the program's standard input", path.display())]
    #[diagnostic(help("every execution reads it anew: make a shorter input that does the same"))]
    LongInput { path: PathBuf, most: u64 },
    /// The header of a program's schedule makes no sense.
    #[error("{} is not a valid schedule: its line `{key}: {value}` is wrong: {reason}", path.display())]
    #[diagnostic(help("was it edited? `ordain check` writes such files; make it anew with the command that found it"))]
    BadHeader { path: PathBuf, key: String, value: String, reason: String },
    /// The program of a schedule is not where it was.
    #[error("the program of the schedule cannot be run")]
    #[diagnostic(help("if it was moved or is called otherwise here, name it with --program FILE"))]
    NoExecutable {
        #[source]
        reason: Refused,
    },
    /// The program read something that is not given.
    #[error("the program read {size} of standard input when the schedule was made, and now it would read nothing")]
    #[diagnostic(help("name the file that it read with --stdin FILE"))]
    InputMissing { size: String },
    /// The program does something else than the schedule says.
    #[error("the program departs from the schedule at step {step} of {steps}: {difference}")]
    #[diagnostic(help("{}", match changed {
        true => format!(
            "the program is not the one that the schedule was made with; look for the finding in the new one, from where it \
             departs: {command}"
        ),
        false => "the program is the same, so something around it differs: its input, files, variables, libraries, or \
                  the directory that it runs in".to_owned(),
    }))]
    Departure { step: usize, steps: usize, difference: String, changed: bool, command: String },
    /// There is no such step.
    #[error("there is no step {step}: the execution has {steps} of them, and the first is step 0")]
    #[diagnostic(help("leave --at out to hold the program at its end, where the finding is"))]
    NoSuchStep { step: usize, steps: usize },
    /// There is no gdb.
    #[error("gdb is not installed")]
    #[diagnostic(help(
        "install it, with `apt install gdb` on Debian and Ubuntu; or step through the schedule without it: --step"
    ))]
    NoGdb,
    /// Something is wrong with gdb.
    #[error("gdb cannot be run")]
    #[diagnostic(help(
        "does `gdb --version` work, and can files be written to the directory for temporary ones (TMPDIR)?"
    ))]
    Gdb {
        #[source]
        error: io::Error,
    },
    /// The process is not there any more.
    #[error("the program destroyed its process under this schedule, so there is nothing to attach gdb to")]
    #[diagnostic(help("hold it before that with --at N; `ordain show` lists the steps"))]
    ProcessGone,
    /// Commands cannot be read.
    #[error("cannot read commands from standard input")]
    #[diagnostic(help("--step reads a command in each line; `h` lists them"))]
    Commands {
        #[source]
        error: io::Error,
    },
    /// An option that only a program's schedule has a use for.
    #[error("{option} is for schedules of programs, and {} is that of the test `{program}`", path.display())]
    #[diagnostic(help("leave it out; what cargo needs to run the test is passed behind `--`"))]
    OnlyForPrograms { option: &'static str, path: PathBuf, program: String },
    /// An option that only a test's schedule has a use for.
    #[error("what is behind `--` is for cargo, and {} is the schedule of a program", path.display())]
    #[diagnostic(help("leave it out: the schedule has the program's arguments"))]
    OnlyForTests { path: PathBuf },
    /// There is no record of a run.
    #[error("{} is not the directory of a run: {reason}", directory.display())]
    #[diagnostic(help(
        "`ordain check` prints the directory that it writes to: .ordain/PROGRAM unless --run-dir names another"
    ))]
    NoRun { directory: PathBuf, reason: String },
    /// There are no runs at all.
    #[error("there is no run in .ordain here")]
    #[diagnostic(help("name the run directory, or run `ordain check -- PROGRAM` first"))]
    NoRuns,
    /// The file of a suite is not as it should be.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Suite(#[from] Box<ordain_suite::ConfigError>),
    /// There is nothing to resume.
    #[error("there is no suite to resume in {}: {reason}", directory.display())]
    #[diagnostic(help("a suite that is stopped or whose budget is spent prints the directory that it writes to"))]
    NoSuite { directory: PathBuf, reason: String },
    /// No test has such a name.
    #[error("no test of {} has a name with {names} in it", file.display())]
    #[diagnostic(help("its tests are {known}"))]
    NoSuchTest { file: PathBuf, names: String, known: String },
    /// The file to begin with is there.
    #[error("{} exists, and is left as it is", path.display())]
    #[diagnostic(help("name another file: ordain suite --init other.toml"))]
    SuiteExists { path: PathBuf },
    /// The command was built without clusters.
    #[cfg(not(feature = "cluster"))]
    #[error("this command was built without clusters")]
    #[diagnostic(help(
        "build it with the feature `cluster`, which is on by default: cargo install --path crates/ordain-cli"
    ))]
    NoCluster,
    /// Something is wrong with the cluster.
    #[cfg(feature = "cluster")]
    #[error(transparent)]
    #[diagnostic(transparent)]
    Cluster(#[from] Box<ordain_cluster::ClusterError>),
    /// The search cannot be divided.
    #[cfg(feature = "cluster")]
    #[error("a {strategy} search cannot be divided among workers")]
    #[diagnostic(help("use --strategy optimal, which is the default, or source; or check without --cluster"))]
    NotDivisible { strategy: String },
    /// The option has no meaning on a cluster.
    #[cfg(feature = "cluster")]
    #[error("{option} does not go with --cluster")]
    #[diagnostic(help("leave one of the two out"))]
    NotOnCluster { option: &'static str },
    /// The program cannot be sent.
    #[cfg(feature = "cluster")]
    #[error("cannot read {}, which was to be sent to the workers", path.display())]
    #[diagnostic(help("may you read it? Running a program does not need that, sending it does"))]
    Submit {
        path: PathBuf,
        #[source]
        error: io::Error,
    },
    /// Every worker refuses.
    #[cfg(feature = "cluster")]
    #[error("every worker of the cluster refuses to run it, so the run was cancelled\n{reasons}")]
    #[diagnostic(help(
        "`ordain doctor` on those machines tells what they lack; start workers on machines that can run it"
    ))]
    AllRefuse { reasons: String },
    /// The run came to no verdict.
    #[cfg(feature = "cluster")]
    #[error("run {run} cannot go on: {reason}")]
    #[diagnostic(help("submit it again; if it happens again, please report it"))]
    RunFailed { run: String, reason: String },
    /// Somebody cancelled the run.
    #[cfg(feature = "cluster")]
    #[error("run {run} was cancelled")]
    #[diagnostic(help("by somebody with `ordain cluster cancel`; submit it again if that was a mistake"))]
    RunCancelled { run: String },
    /// The system gives no threads.
    #[cfg(feature = "cluster")]
    #[error("cannot start threads")]
    #[diagnostic(help("is the limit of processes reached (`ulimit -u`)?"))]
    Threads {
        #[source]
        error: io::Error,
    },
    /// A file for another tool cannot be written.
    #[error("cannot write {}: {reason}", path.display())]
    #[diagnostic(help("is the disk full, or the directory not yours? Name another file"))]
    Export { path: PathBuf, reason: String },
    /// No browser shows the report.
    #[error("the report was written to {}, but no browser shows it: {reason}", path.display())]
    #[diagnostic(help("open the file yourself, or set the variable BROWSER to a program that can"))]
    NoBrowser { path: PathBuf, reason: String },
    /// Standard output does not take what is written.
    #[error("cannot write to standard output")]
    #[diagnostic(help("is the disk full?"))]
    Output {
        #[source]
        error: io::Error,
    },
    /// What is wrong is in the result of the command.
    #[error("this system lacks what Ordain needs")]
    Reported,
    /// Whoever read standard output went away.
    #[error("standard output was closed")]
    OutputClosed,
}

/// What to do when the check of a program came to no verdict.
fn native_help(problem: &ordain_native::Problem) -> &'static str {
    use ordain_native::{Failure, Problem};
    match problem {
        Problem::Failure(Failure::Start(_)) => "`ordain doctor` tells what this system lacks",
        Problem::Failure(Failure::Resources(_)) => {
            "this is a limit of the system or of the shell that Ordain was started from; `ulimit -a` lists them"
        }
        Problem::Failure(Failure::Early(_)) => {
            "does it run without Ordain, in an environment without variables of your own (`env -i`)? Pass those that it \
             needs with --env NAME=VALUE; `ordain doctor` tells what this system lacks"
        }
        Problem::Failure(Failure::Refused(_)) => {
            "Ordain refuses what it would only half control; the limits are in docs/native.md"
        }
        Problem::Failure(Failure::Broken(_)) => {
            "this is a defect of Ordain; try --mode exec, and please report it with the program"
        }
        Problem::NothingRan { stopped: true, .. } => {
            "a signal stopped it, such as Ctrl-C or SIGTERM; run it again, and let it go on for longer"
        }
        Problem::NoTimeToConfirm { .. } => {
            "what does not show again in a fresh process is not told as a finding: give it more time (--max-time), or let nobody stop it"
        }
        Problem::Failure(Failure::Over) | Problem::NothingRan { .. } => {
            "give it more time (--max-time), or less to do; --strategy random needs the least for each execution"
        }
        Problem::Nondeterminism { .. } => {
            "exploration needs a program that does the same in the same order of its threads. What differs from run to \
             run: files that it changes, other processes, the network, memory that it reads before it writes it?"
        }
        Problem::Resume { .. } => {
            "a search that is stopped, or whose budget is spent, can be resumed by the same command with --resume; without it \
             the search begins anew"
        }
        Problem::Trace(_) => "is there room, and may you write there?",
        Problem::Unconfirmed { .. } => {
            "the program depends on something that is not put back between executions, such as a file that it changes; \
             try --mode exec"
        }
    }
}

/// Message and help of a problem, as text.
pub(crate) fn texts(problem: &Problem) -> (String, Option<String>) {
    let mut message = problem.to_string();
    let mut cause = std::error::Error::source(problem);
    while let Some(error) = cause {
        let text = error.to_string();
        if !message.contains(&text) {
            message = format!("{message}: {text}");
        }
        cause = error.source();
    }
    (message, problem.help().map(|help| help.to_string()))
}

/// What a check said that gave up.
#[derive(Debug, Error)]
#[error("{0}")]
pub(crate) struct CheckPanicked(pub(crate) String);

/// Lets errors look the same everywhere: no wrapping, so that paths and commands can be copied.
pub(crate) fn install_handler() {
    // Fails only if there is a handler already, which would do as well.
    let _ = miette::set_hook(Box::new(|_| {
        let handler = MietteHandlerOpts::new().wrap_lines(false).terminal_links(false);
        // Colours on a terminal are miette's own choice, unless somebody has made one.
        let handler = if look::is_chosen() { handler.color(look::of_errors().colour) } else { handler };
        Box::new(if look::is_ascii() { handler.unicode(false) } else { handler }.build())
    }));
}

/// Prints a problem for the person at the terminal.
#[allow(clippy::print_stderr)]
pub(crate) fn tell(problem: Problem) {
    crate::output::tell(&format!("{:?}", Report::new(problem)));
}
