//! Where a program departs from a schedule that an older build of it made.
//!
//! The decisions of a schedule name threads only; what each step did is in its comments. So the first step that does
//! something else is known, even if the decisions can be followed for longer.

use crate::output::printable;
use crate::show::comments;
use ordain_model::Schedule;
use ordain_native::Session;
use ordain_report::Place;
use std::path::Path;

/// What a schedule file says about a step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Expected {
    /// The operation with its objects; empty if the file does not say.
    pub(super) text: String,
    /// Where it was, as `FILE:LINE`.
    pub(super) place: Option<String>,
}

/// The first step that is not as the schedule file says.
#[derive(Clone, Debug)]
pub(super) struct Difference {
    /// Its number.
    pub(super) step: usize,
    /// Who was to do what, and what it does instead.
    pub(super) text: String,
}

/// What a schedule file says about its steps.
pub(super) fn expectations(text: &str) -> Vec<Expected> {
    comments(text).map(Expected::of).collect()
}

impl Expected {
    fn of(comment: &str) -> Self {
        let (rest, place) = match comment.rsplit_once(" at ") {
            Some((rest, place)) => (rest, Some(place.trim().to_owned())),
            None => (comment, None),
        };
        let text = rest.split(" -> ").next().unwrap_or_default().trim().to_owned();
        Self { text, place }
    }

    fn told(&self) -> String {
        let place = self.place.as_ref().map_or_else(String::new, |place| format!(" at {}", near(place)));
        format!("{}{place}", self.text)
    }
}

impl Difference {
    /// Whether a step that was made is another one than the file says.
    pub(super) fn in_step(session: &Session<'_>, step: usize, expected: &[Expected], thread: &str) -> Option<Self> {
        let expected = expected.get(step).filter(|e| !e.text.is_empty())?;
        let (text, place) = session.told(step)?;
        if text == expected.text {
            return None;
        }
        let text = format!("{thread} was to {}, but its operation is {text}{}", expected.told(), at(place.as_ref()));
        Some(Self { step, text: printable(&text) })
    }

    /// What keeps the program from following the schedule at the step after the last.
    pub(super) fn at_end(session: &Session<'_>, schedule: &Schedule, expected: &[Expected]) -> Option<Self> {
        let step = session.made();
        let thread = &schedule.steps.get(step)?.0;
        let planned = expected.get(step).filter(|e| !e.text.is_empty());
        let same = |text: &str| planned.is_some_and(|planned| planned.text == text);
        let is_there = |place: Option<&Place>| planned.is_some_and(|planned| planned.told().ends_with(&at(place)));
        let instead = match session.told_pending(thread) {
            Some((text, place, true)) => format!("but its {text}{} must wait", at(place.as_ref())),
            Some((text, place, false)) if same(&text) && is_there(place.as_ref()) => {
                "and is about to, but with another object or other values".to_owned()
            }
            Some((text, place, false)) if same(&text) => format!("and is about to, but{}", at(place.as_ref())),
            Some((text, place, false)) => format!("but is about to {text}{}", at(place.as_ref())),
            None => "but it is not there (it has ended, or was not spawned)".to_owned(),
        };
        let planned = planned.map_or_else(|| "move".to_owned(), Expected::told);
        Some(Self { step, text: printable(&format!("{thread} was to {planned}, {instead}")) })
    }
}

fn at(place: Option<&Place>) -> String {
    match place {
        Some(place) if place.line > 0 => format!(" at {}:{}", near(&place.file), place.line),
        Some(place) => format!(" at {}", near(&place.file)),
        None => String::new(),
    }
}

/// The path as seen from the current directory.
fn near(path: &str) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    Path::new(path).strip_prefix(here).map_or(path.to_owned(), |p| p.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_taken_apart() {
        let expected = |text: &str, place: Option<&str>| Expected { text: text.into(), place: place.map(Into::into) };
        assert_eq!(Expected::of("lock mutex a at x/y.c:12"), expected("lock mutex a", Some("x/y.c:12")));
        assert_eq!(
            Expected::of("notify-one condvar c -> woke 1 at y.c:3"),
            expected("notify-one condvar c", Some("y.c:3"))
        );
        assert_eq!(Expected::of("exit"), expected("exit", None));
        assert_eq!(Expected::of(""), expected("", None));
    }
}
