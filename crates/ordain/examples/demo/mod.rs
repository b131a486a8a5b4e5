//! The frame of the examples: checks the program with its bug, or the one without it.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "examples talk to the person at the terminal")]

use ordain::{Check, Verdict};
use std::process::ExitCode;

/// Checks `buggy` or `fixed`, as the first argument says. Exits with 1 if something was found, 0 if not, 2 for wrong use.
pub(crate) fn main(name: &str, buggy: fn(), fixed: fn()) -> ExitCode {
    let program = match std::env::args().nth(1).as_deref() {
        None | Some("buggy") => buggy,
        Some("fixed") => fixed,
        Some(other) => {
            eprintln!("`{other}`: say `buggy` or `fixed`");
            return ExitCode::from(2);
        }
    };
    let report = Check::new().name(name).schedule_directory(None).run(program);
    for finding in &report.findings {
        println!("{finding}");
    }
    println!("{report}");
    ExitCode::from(u8::from(report.verdict == Verdict::Finding))
}
