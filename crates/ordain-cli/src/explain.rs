//! `ordain explain`: what a kind of finding means and how to fix it.

use crate::Outcome;
use crate::output::{self, printable};
use crate::problem::Problem;
use ordain_report::{Kind, explain};
use std::io::{self, Write};

/// How wide text is where no terminal says it.
const USUAL_WIDTH: usize = 80;
/// Longer lines are hard to read.
const GREATEST_WIDTH: usize = 100;
/// Shorter lines make no sense.
const LEAST_WIDTH: usize = 40;
/// How alike two words must be for one to be meant by the other; 1 is the same word.
const ALIKE: f64 = 0.75;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The kind of finding, as reports call it: `data-race`, `data race`, `ORDAIN-DATA-RACE`. Without it, all are listed
    #[arg(value_name = "CODE")]
    code: Vec<String>,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Problem> {
    if arguments.code.is_empty() {
        output::write(|out| list(out))?;
        return Ok(Outcome::Clean);
    }
    let code = arguments.code.join(" ");
    let kind = explain::by_code(&code).ok_or_else(|| unknown(&code))?;
    output::write(|out| out.write_all(explain::explain(kind).wrapped(width()).as_bytes()))?;
    Ok(Outcome::Clean)
}

fn list(out: &mut dyn Write) -> io::Result<()> {
    let wide = Kind::ALL.iter().map(|kind| kind.name().len()).max().unwrap_or(0);
    for kind in Kind::ALL {
        writeln!(out, "{:<wide$}  {}", kind.name(), explain::explain(kind).summary)?;
    }
    writeln!(out, "\n`ordain explain CODE` tells more about one of them.")
}

fn unknown(code: &str) -> Problem {
    let known: Vec<&str> = Kind::ALL.iter().map(|kind| kind.name()).collect();
    Problem::UnknownKind { code: printable(code), nearest: nearest(code), known: known.join(", ") }
}

/// The kind that was probably meant: one that has the word in its name, or is written almost like it.
fn nearest(code: &str) -> Option<&'static str> {
    let word = explain::as_word(code);
    let word = word.strip_prefix("ordain-").unwrap_or(&word);
    let words = || Kind::ALL.into_iter().map(Kind::name);
    if let Some(found) = words().find(|known| known.split('-').any(|part| part == word)) {
        return Some(found);
    }
    let rated = words().map(|known| (strsim::jaro_winkler(word, known), known));
    let best = rated.max_by(|a, b| a.0.total_cmp(&b.0));
    best.filter(|(likeness, _)| *likeness >= ALIKE).map(|(_, known)| known)
}

/// The width of the terminal, if there is one, within what can be read.
fn width() -> usize {
    let terminal = terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| usize::from(width.0));
    terminal.unwrap_or(USUAL_WIDTH).clamp(LEAST_WIDTH, GREATEST_WIDTH)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn slips_of_the_pen_are_understood() {
        for (slip, meant) in [
            ("deadlok", Some("deadlock")),
            ("race", Some("data-race")),
            ("datarace", Some("data-race")),
            ("ORDAIN-LIVELOK", Some("livelock")),
            ("segfault", None),
            ("", None),
        ] {
            assert_eq!(nearest(slip), meant, "{slip}");
        }
    }
}
