//! Ordain on the command line: checks of programs, demo programs, schedule files, and replay.
//!
//! One file for each command; `outcome` has the exit statuses.

mod check;
#[cfg(feature = "cluster")]
mod cluster;
#[cfg(not(feature = "cluster"))]
#[path = "cluster/absent.rs"]
mod cluster;
mod completions;
mod demo;
mod doctor;
mod estimate;
mod expectation;
mod explain;
mod exports;
mod input;
mod json;
mod look;
mod man;
mod options;
mod outcome;
mod output;
mod problem;
mod progress;
mod replay;
mod replay_line;
mod report;
mod schedule_file;
mod show;
mod suite;

use clap::{CommandFactory as _, Parser, Subcommand};
use options::Format;
use outcome::Outcome;
use problem::Problem;
use std::process::ExitCode;
use std::sync::Arc;

/// Explores every inequivalent schedule of concurrent code.
#[derive(Parser)]
#[command(name = "ordain", version, about, arg_required_else_help = true)]
#[command(after_help = outcome::STATUSES)]
struct Cli {
    /// When output is in colour
    #[arg(long, value_name = "WHEN", default_value = "auto", global = true)]
    color: look::Colour,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Explores the schedules of a program
    Check(Box<check::Arguments>),
    /// Spends a budget over the tests of ordain.toml, programs and Rust tests
    Suite(Box<suite::Arguments>),
    /// Checks a small built-in program and shows what is found
    Demo(demo::Arguments),
    /// Shows a schedule file in a readable form
    Show(show::Arguments),
    /// Runs the program or the test that a schedule file belongs to, under that schedule
    Replay(replay::Arguments),
    /// Makes a report of a run, for a browser or for other tools
    Report(report::Arguments),
    /// Tells what this system offers for checking programs, and how to get what is missing
    Doctor(doctor::Arguments),
    /// Shows what estimators make of an exploration trace
    Estimate(estimate::Arguments),
    /// Explores for the runs of a cluster, on any machine
    Worker(Box<cluster::worker::Arguments>),
    /// Lists and cancels the runs of a cluster
    Cluster(Box<cluster::Arguments>),
    /// Explains a kind of finding: what it means, why tests miss it, how to fix it
    Explain(explain::Arguments),
    /// Writes what a shell needs to complete this command's words
    Completions(completions::Arguments),
    /// Writes the manual pages of this command
    Man(man::Arguments),
}

/// The command line, for what is made of it.
fn command() -> clap::Command {
    let mut command = Cli::command();
    command.build();
    command
}

/// A file that may not become larger is an error to be told, not a signal that ends the command. It is caught and not ignored: programs that
/// are started have it as ever.
fn survive_size_limits() {
    // Without a handler the signal ends the command, as always.
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default());
}

fn main() -> ExitCode {
    // Errors of use are printed by clap, which ends with status 2; help and version end with 0.
    let cli = Cli::parse();
    look::choose(cli.color);
    problem::install_handler();
    survive_size_limits();
    let (result, format) = match &cli.command {
        Command::Check(arguments) => (check::run(arguments), arguments.format),
        Command::Suite(arguments) => (suite::run(arguments), arguments.format),
        Command::Demo(arguments) => (demo::run(arguments), Format::Human),
        Command::Show(arguments) => (show::run(arguments), Format::Human),
        Command::Replay(arguments) => (replay::run(arguments), arguments.format),
        Command::Report(arguments) => (report::run(arguments), Format::Human),
        Command::Doctor(arguments) => (doctor::run(arguments), arguments.format),
        Command::Estimate(arguments) => (estimate::run(arguments), arguments.format),
        Command::Worker(arguments) => (cluster::worker::run(arguments), Format::Human),
        Command::Cluster(arguments) => (cluster::run(arguments), arguments.format()),
        Command::Explain(arguments) => (explain::run(arguments), Format::Human),
        Command::Completions(arguments) => (completions::run(arguments), Format::Human),
        Command::Man(arguments) => (man::run(arguments), Format::Human),
    };
    let status = outcome::status(&result);
    match result {
        Ok(_) | Err(Problem::OutputClosed | Problem::Reported) => {}
        Err(problem) => {
            if format == Format::Json {
                // If even that cannot be written, standard error has the rest.
                let _ = output::write_json(&json::Trouble::from(&problem));
            }
            problem::tell(problem);
        }
    }
    status
}
