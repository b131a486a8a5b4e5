//! How text shall look where it is written: how wide, whether in colour, and in which characters.

use ordain_report::terminal::Look;
use std::borrow::Cow;
use std::io::{self, IsTerminal as _};
use std::sync::OnceLock;

/// Whether text is in colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Colour {
    /// On terminals that can, unless NO_COLOR is set
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// What the user has chosen.
static CHOSEN: OnceLock<Colour> = OnceLock::new();

/// Takes note of what the user has chosen.
pub(crate) fn choose(colour: Colour) {
    // It is chosen once.
    let _ = CHOSEN.set(colour);
}

/// Narrower windows get lines that wrap; wider ones lines that the eye can follow.
const WIDTHS: std::ops::RangeInclusive<usize> = 40..=160;

/// Whether the user has chosen.
pub(crate) fn is_chosen() -> bool {
    CHOSEN.get().is_some_and(|colour| *colour != Colour::Auto)
}

/// For standard error.
pub(crate) fn of_errors() -> Look {
    look(io::stderr().is_terminal(), terminal_size::terminal_size_of(io::stderr()))
}

/// For a result: on standard error if standard output is for machines.
pub(crate) fn of_result(machines: bool) -> Look {
    if machines { of_errors() } else { of_output() }
}

/// For standard output.
pub(crate) fn of_output() -> Look {
    look(io::stdout().is_terminal(), terminal_size::terminal_size_of(io::stdout()))
}

fn look(terminal: bool, size: Option<(terminal_size::Width, terminal_size::Height)>) -> Look {
    let variable = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    // Without a terminal nobody needs lines to end anywhere: logs and files get them whole.
    let width = variable.or(size.map(|(width, _)| usize::from(width.0)));
    let width = width.map_or(Look::PLAIN.width, |width| width.clamp(*WIDTHS.start(), *WIDTHS.end()));
    Look { width, colour: colour(terminal) }
}

/// As users say it: NO_COLOR, CLICOLOR_FORCE, a terminal that can.
fn colour(terminal: bool) -> bool {
    match CHOSEN.get() {
        Some(Colour::Always) => return true,
        Some(Colour::Never) => return false,
        Some(Colour::Auto) | None => {}
    }
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty() && value != "0");
    if std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty()) {
        return false;
    }
    set("CLICOLOR_FORCE") || (terminal && std::env::var_os("TERM").is_some_and(|term| term != "dumb"))
}

/// Whether the locale has ASCII only. Where none is set, terminals can more.
pub(crate) fn is_ascii() -> bool {
    let locale =
        ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(|name| std::env::var(name).ok().filter(|l| !l.is_empty()));
    matches!(locale.as_deref(), Some("C" | "POSIX"))
}

/// Text with what Ordain itself writes beyond ASCII only where the locale has it. What comes from the program stays as it is.
pub(crate) fn in_locale(text: &str) -> Cow<'_, str> {
    if text.is_ascii() || !is_ascii() { Cow::Borrowed(text) } else { Cow::Owned(plain(text)) }
}

fn plain(text: &str) -> String {
    // In columns, what gets longer takes the place of spaces behind it.
    let text = text.replace("\u{2026}  ", "...").replace('\u{2026}', "...");
    let plain = |c: char| match c {
        '\u{d7}' => 'x',
        '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{2500}' => '-',
        '\u{b7}' | '\u{2022}' => '*',
        '\u{2502}' => '|',
        '\u{2192}' => '>',
        '\u{a0}' | '\u{202f}' => ' ',
        other => other,
    };
    text.chars().map(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn columns_stay_where_they_are() {
        assert_eq!(plain("a\u{2026}   b"), "a... b");
        assert_eq!(plain("2.1 \u{d7} 10^5 (28\u{2013}49 %)\u{2026}"), "2.1 x 10^5 (28-49 %)...");
        assert_eq!(plain("gr\u{fc}n"), "gr\u{fc}n");
    }
}
