//! `ordain man`: the manual pages, made from the command line, so that they say what `--help` says.

use crate::outcome::Outcome;
use crate::output;
use crate::problem::Problem;
use clap::{Arg, Command};
use ordain_report::store;
use std::fmt::Write as _;
use std::path::PathBuf;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Where all pages are written, one for each command; without it, the page of `ordain` goes to standard output
    #[arg(value_name = "DIR")]
    directory: Option<PathBuf>,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Problem> {
    let command = crate::command();
    let Some(directory) = &arguments.directory else {
        output::show(&page(&command, "ordain"))?;
        return Ok(Outcome::Clean);
    };
    let mut pages = vec![("ordain".to_owned(), page(&command, "ordain"))];
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set() && sub.get_name() != "help") {
        let name = format!("ordain-{}", sub.get_name());
        pages.push((name.clone(), page(sub, &name)));
    }
    for (name, text) in &pages {
        let path = directory.join(format!("{name}.1"));
        store::write_to(&path, text.as_bytes()).map_err(|reason| Problem::Export { path, reason })?;
    }
    output::tell(&format!("{} pages are in {}\n", pages.len(), output::printable(&directory.display().to_string())));
    Ok(Outcome::Clean)
}

/// Text as roff takes it.
fn roff(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    // A line that begins with one of these is an order.
    let line = |line: &str| if line.starts_with(['.', '\'']) { format!("\\&{line}\n") } else { format!("{line}\n") };
    text.lines().map(line).collect()
}

fn page(command: &Command, name: &str) -> String {
    let about = command.get_about().map_or_else(String::new, ToString::to_string);
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ");
    let mut text = format!(
        ".TH {} 1 \"\" \"ordain {}\"\n.SH NAME\n{} \\- {}.SH SYNOPSIS\n.nf\n{}.fi\n",
        name.to_uppercase(),
        env!("CARGO_PKG_VERSION"),
        roff(name).trim_end(),
        roff(&about),
        roff(usage)
    );
    let positionals: Vec<&Arg> = command.get_positionals().filter(|arg| !arg.is_hide_set()).collect();
    section(&mut text, "ARGUMENTS", &positionals);
    let mut headings: Vec<&str> = Vec::new();
    let options: Vec<&Arg> = command.get_arguments().filter(|arg| !arg.is_positional() && !arg.is_hide_set()).collect();
    for heading in options.iter().map(|arg| arg.get_help_heading().unwrap_or("OPTIONS")) {
        if !headings.contains(&heading) {
            headings.push(heading);
        }
    }
    for heading in headings {
        let of_it: Vec<&Arg> =
            options.iter().filter(|arg| arg.get_help_heading().unwrap_or("OPTIONS") == heading).copied().collect();
        section(&mut text, &heading.to_uppercase(), &of_it);
    }
    let subs: Vec<&Command> = command.get_subcommands().filter(|sub| !sub.is_hide_set()).collect();
    if !subs.is_empty() {
        text.push_str(".SH COMMANDS\n");
        for sub in subs {
            let about = sub.get_about().map_or_else(String::new, ToString::to_string);
            let _ = write!(text, ".TP\n\\fB{}\\fR\n{}", roff(sub.get_name()).trim_end(), roff(&about));
        }
    }
    if let Some(after) = command.get_after_help() {
        let _ = write!(text, ".SH NOTES\n.nf\n{}.fi\n", roff(&after.to_string()));
    }
    text
}

fn section(text: &mut String, title: &str, args: &[&Arg]) {
    if args.is_empty() {
        return;
    }
    let _ = writeln!(text, ".SH {title}");
    for arg in args {
        let names = [arg.get_short().map(|c| format!("-{c}")), arg.get_long().map(|long| format!("--{long}"))];
        let names: Vec<String> = names.into_iter().flatten().map(|name| roff(&name).trim_end().to_owned()).collect();
        let takes = arg.is_positional() || arg.get_action().takes_values();
        let value = arg
            .get_value_names()
            .filter(|_| takes)
            .map(|names| names.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(" "))
            .unwrap_or_default();
        let space = if names.is_empty() || value.is_empty() { "" } else { " " };
        let help = arg.get_long_help().or(arg.get_help()).map_or_else(String::new, ToString::to_string);
        let _ = write!(
            text,
            ".TP\n\\fB{}\\fR{space}\\fI{}\\fR\n{}",
            names.join("\\fR, \\fB"),
            roff(&value).trim_end(),
            roff(&help)
        );
        let values = if takes { arg.get_possible_values() } else { Vec::new() };
        let values: Vec<&str> =
            values.iter().filter(|value| !value.is_hide_set()).map(|value| value.get_name()).collect();
        let defaults: Vec<String> = arg.get_default_values().iter().map(|v| v.to_string_lossy().into_owned()).collect();
        if !values.is_empty() {
            let _ = write!(text, "{}", roff(&format!("Possible values: {}.", values.join(", "))));
        }
        if takes && !defaults.is_empty() {
            let _ = write!(text, "{}", roff(&format!("Default: {}.", defaults.join(", "))));
        }
    }
}
