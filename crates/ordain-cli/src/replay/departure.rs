//! Where a program departs from a schedule that an older build of it made.
//!
//! The decisions of a schedule name threads only; what each step did is in its comments. So the first step that does
//! something else is known, even if the decisions can be followed for longer.

use crate::output::printable;
use crate::show::comments;
use ordain_model::Schedule;
use ordain_native::Session;
use ordain_report::Place;
use std::collections::HashMap;
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
            // Not so `look at files`.
            Some((rest, place)) if place.contains([':', '+', '/']) => (rest, Some(place.trim().to_owned())),
            _ => (comment, None),
        };
        let text = rest.split(" -> ").next().unwrap_or_default().trim().to_owned();
        Self { text, place }
    }

    fn told(&self) -> String {
        let place = self.place.as_ref().map_or_else(String::new, |place| format!(" at {}", near(place)));
        format!("{}{place}", self.text)
    }
}

/// Which objects are the same in the file and here. Those without names of their own have numbers, and a process that has made other
/// executions before may have given others: `static/once#5` there may be `static/once#4` here.
#[derive(Debug, Default)]
pub(super) struct Objects {
    here: HashMap<String, String>,
    there: HashMap<String, String>,
}

impl Objects {
    /// Whether two operations are the same, as far as these objects are.
    fn are_same(&mut self, there: &str, here: &str) -> bool {
        fn kind(word: &str) -> Option<&str> {
            let (kind, number) = word.split_once('#')?;
            let is_object = kind.contains('/') && !number.is_empty() && number.chars().all(|c| c.is_ascii_digit());
            is_object.then_some(kind)
        }
        fn words(text: &str) -> impl Iterator<Item = &str> {
            text.split([' ', ',', '(', ')'])
        }
        words(there).count() == words(here).count()
            && words(there).zip(words(here)).all(|(a, b)| match (kind(a), kind(b)) {
                (Some(one), Some(other)) if one == other => {
                    let known_here = self.here.entry(a.to_owned()).or_insert_with(|| b.to_owned());
                    let known_there = self.there.entry(b.to_owned()).or_insert_with(|| a.to_owned());
                    known_here == b && known_there == a
                }
                _ => a == b,
            })
    }
}

impl Difference {
    /// Whether a step that was made is another one than the file says. Steps are compared in their order.
    pub(super) fn in_step(
        session: &Session<'_>,
        step: usize,
        expected: &[Expected],
        thread: &str,
        objects: &mut Objects,
    ) -> Option<Self> {
        let expected = expected.get(step).filter(|e| !e.text.is_empty())?;
        let (text, place) = session.told(step)?;
        if objects.are_same(&expected.text, &text) {
            return None;
        }
        let text = format!("{thread} was to {}, but its step is {text}{}", expected.told(), at(place.as_ref()));
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
    fn objects_without_names_may_have_other_numbers() {
        let mut objects = Objects::default();
        assert!(objects.are_same("lock static/mutex#3", "lock static/mutex#4"));
        assert!(objects.are_same("lock static/mutex#4", "lock static/mutex#3"));
        assert!(objects.are_same(
            "wait on main/condvar#0, unlock static/mutex#3",
            "wait on main/condvar#1, unlock static/mutex#4"
        ));
        // One object is not two.
        assert!(!objects.are_same("lock static/mutex#3", "lock static/mutex#5"));
        assert!(!objects.are_same("lock static/mutex#7", "lock static/mutex#4"));
        assert!(!objects.are_same("lock main/mutex#9", "lock static/mutex#9"));
        assert!(!objects.are_same("lock static/mutex#3", "unlock static/mutex#4"));
        assert!(!objects.are_same("lock mutex a", "lock mutex b"));
    }

    #[test]
    fn comments_are_taken_apart() {
        let expected = |text: &str, place: Option<&str>| Expected { text: text.into(), place: place.map(Into::into) };
        assert_eq!(Expected::of("lock mutex a at x/y.c:12"), expected("lock mutex a", Some("x/y.c:12")));
        assert_eq!(
            Expected::of("notify-one condvar c -> woke 1 at y.c:3"),
            expected("notify-one condvar c", Some("y.c:3"))
        );
        assert_eq!(Expected::of("exit"), expected("exit", None));
        assert_eq!(Expected::of("look at files"), expected("look at files", None));
        assert_eq!(Expected::of("look at files at x.c:5"), expected("look at files", Some("x.c:5")));
        assert_eq!(Expected::of(""), expected("", None));
    }
}
