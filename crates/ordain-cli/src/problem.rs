//! What keeps a command from doing its work: the cause, and what to do about it.

use miette::{Diagnostic, MietteHandlerOpts, NamedSource, Report, SourceSpan};
use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::Arc;
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
    /// Standard output does not take what is written.
    #[error("cannot write to standard output")]
    #[diagnostic(help("is the disk full?"))]
    Output {
        #[source]
        error: io::Error,
    },
    /// Whoever read standard output went away.
    #[error("standard output was closed")]
    OutputClosed,
}

/// What a check said that gave up.
#[derive(Debug, Error)]
#[error("{0}")]
pub(crate) struct CheckPanicked(pub(crate) String);

/// Lets errors look the same everywhere: no wrapping, so that paths and commands can be copied.
pub(crate) fn install_handler() {
    // Fails only if there is a handler already, which would do as well.
    let _ = miette::set_hook(Box::new(|_| {
        Box::new(MietteHandlerOpts::new().wrap_lines(false).terminal_links(false).build())
    }));
}

/// Prints a problem for the person at the terminal.
#[allow(clippy::print_stderr)]
pub(crate) fn tell(problem: Problem) {
    eprint!("{:?}", Report::new(problem));
}
