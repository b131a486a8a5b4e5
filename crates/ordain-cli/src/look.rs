//! How text shall look where it is written: how wide, and whether in colour.

use ordain_report::terminal::Look;
use std::io::{self, IsTerminal as _};

/// Narrower windows get lines that wrap; wider ones lines that the eye can follow.
const WIDTHS: std::ops::RangeInclusive<usize> = 40..=160;

/// For standard error.
pub(crate) fn of_errors() -> Look {
    look(io::stderr().is_terminal(), terminal_size::terminal_size_of(io::stderr()))
}

/// For standard output.
pub(crate) fn of_output() -> Look {
    look(io::stdout().is_terminal(), terminal_size::terminal_size_of(io::stdout()))
}

fn look(terminal: bool, size: Option<(terminal_size::Width, terminal_size::Height)>) -> Look {
    let variable = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let width = variable.or(size.map(|(width, _)| usize::from(width.0))).unwrap_or(Look::PLAIN.width);
    Look { width: width.clamp(*WIDTHS.start(), *WIDTHS.end()), colour: colour(terminal) }
}

/// As users say it: NO_COLOR, CLICOLOR_FORCE, a terminal that can.
fn colour(terminal: bool) -> bool {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty() && value != "0");
    if std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty()) {
        return false;
    }
    set("CLICOLOR_FORCE") || (terminal && std::env::var_os("TERM").is_some_and(|term| term != "dumb"))
}
