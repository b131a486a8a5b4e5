//! Schedules as text: the recipe of an execution, small and diff-able.
//!
//! ```text
//! ordain schedule 1
//! program: tests::transfer
//! found: deadlock
//! steps:
//! main                 # spawn main.1 at src/lib.rs:7:9
//! main.1 choice 1      # notify-one main/condvar#2 at src/lib.rs:9:13
//! ```
//!
//! What comes from a file is not trusted: sizes are limited, and every error names its line.

use crate::execution::Transition;
use crate::names::{Names, ThreadId};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

/// The first line of every schedule of this version.
const MAGIC: &str = "ordain schedule 1";
/// More decisions than this are refused.
const MOST_STEPS: usize = 50_000_000;
/// No thread has more children than this, nor a name of more parts.
const MOST_CHILDREN: u32 = 100_000;
const MOST_PARTS: usize = 256;

/// A schedule: what it is about, and the decisions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    /// What is known of it, in order: `program`, `found`, `level` and others.
    pub header: Vec<(String, String)>,
    /// The decisions: name of the thread and choice.
    pub steps: Vec<(String, u32)>,
}

/// Why a text is not a schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduleError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub reason: String,
}

impl fmt::Display for ScheduleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.reason)
    }
}

impl core::error::Error for ScheduleError {}

impl Schedule {
    /// The value of a header line.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.header.iter().find(|h| h.0 == key).map(|h| h.1.as_str())
    }

    /// Reads a schedule.
    pub fn parse(text: &str) -> Result<Self, ScheduleError> {
        let fail = |line: usize, reason: &str| Err(ScheduleError { line: line + 1, reason: reason.to_string() });
        let mut lines = text.lines().enumerate();
        match lines.next() {
            Some((_, first)) if first.trim_end() == MAGIC => {}
            Some((_, first)) if first.starts_with("ordain schedule ") => {
                return fail(0, "made by another version of Ordain: this one reads schedules of version 1");
            }
            _ => return fail(0, "not a schedule: it must begin with `ordain schedule 1`"),
        }
        let mut schedule = Self::default();
        let mut in_steps = false;
        for (number, line) in lines {
            let line = line.split('#').next().unwrap_or_default().trim();
            if line.is_empty() {
                continue;
            }
            if in_steps {
                let step = match parse_step(line) {
                    Some(step) => step,
                    None => return fail(number, "not a step: expected `THREAD` or `THREAD choice N`"),
                };
                if schedule.steps.len() >= MOST_STEPS {
                    return fail(number, "too many steps");
                }
                schedule.steps.push(step);
            } else if line == "steps:" {
                in_steps = true;
            } else if let Some((key, value)) = line.split_once(':') {
                schedule.header.push((key.trim().to_string(), value.trim().to_string()));
            } else {
                return fail(number, "expected `KEY: VALUE` or `steps:`");
            }
        }
        if !in_steps {
            return fail(text.lines().count(), "no line `steps:`");
        }
        Ok(schedule)
    }

    /// Writes the schedule; `comment` gives what to say about each step.
    pub fn format(&self, comment: &mut dyn FnMut(usize) -> Option<String>) -> String {
        let mut text = format!("{MAGIC}\n");
        for (key, value) in &self.header {
            text.push_str(&format!("{key}: {}\n", value.replace(['\n', '\r', '#'], " ")));
        }
        text.push_str("steps:\n");
        for (i, (thread, choice)) in self.steps.iter().enumerate() {
            let step = if *choice == 0 { thread.clone() } else { format!("{thread} choice {choice}") };
            match comment(i) {
                Some(comment) => text.push_str(&format!("{step:<20} # {}\n", comment.replace(['\n', '\r'], " "))),
                None => text.push_str(&format!("{step}\n")),
            }
        }
        text
    }

    /// Takes down the decisions of an execution.
    pub fn set_steps(&mut self, transitions: impl Iterator<Item = Transition>, names: &Names) {
        self.steps = transitions.map(|t| (names.thread_name(t.thread), t.choice)).collect();
    }

    /// The decisions as transitions, with the threads named in `names`.
    pub fn transitions(&self, names: &mut Names) -> Vec<Transition> {
        let mut known: Vec<(&str, ThreadId)> = Vec::new();
        let mut transitions = Vec::with_capacity(self.steps.len());
        for (name, choice) in &self.steps {
            let thread = match known.iter().find(|k| k.0 == name) {
                Some(known) => known.1,
                None => {
                    let numbers = name.split('.').skip(1).filter_map(|p| p.parse::<u32>().ok());
                    let thread = numbers.fold(ThreadId::MAIN, |t, n| names.child(t, n - 1));
                    known.push((name, thread));
                    thread
                }
            };
            transitions.push(Transition { thread, choice: *choice });
        }
        transitions
    }
}

/// `main.1` or `main.1 choice 2`.
fn parse_step(line: &str) -> Option<(String, u32)> {
    let mut words = line.split_whitespace();
    let name = words.next()?;
    let choice = match (words.next(), words.next(), words.next()) {
        (None, None, None) => 0,
        (Some("choice"), Some(choice), None) => choice.parse().ok()?,
        _ => return None,
    };
    let mut parts = name.split('.');
    let is_main = parts.next() == Some("main");
    let mut count = 0;
    for part in parts {
        let number: u32 = part.parse().ok()?;
        count += 1;
        if number == 0 || number > MOST_CHILDREN || count > MOST_PARTS {
            return None;
        }
    }
    is_main.then(|| (name.to_string(), choice))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_survives_writing_and_reading() {
        let schedule = Schedule {
            header: alloc::vec![("program".into(), "a::b".into()), ("found".into(), "deadlock".into())],
            steps: alloc::vec![("main".into(), 0), ("main.1".into(), 2), ("main.1.3".into(), 0)],
        };
        let text = schedule.format(&mut |i| (i == 1).then(|| "notify-one # of two".to_string()));
        assert_eq!(Schedule::parse(&text), Ok(schedule.clone()));
        assert_eq!(schedule.get("found"), Some("deadlock"));
        let mut names = Names::default();
        let transitions = schedule.transitions(&mut names);
        assert_eq!(names.thread_name(transitions[2].thread), "main.1.3");
    }

    #[test]
    fn what_is_no_schedule_is_refused_with_its_line() {
        let line = |text: &str| Schedule::parse(text).map_err(|e| e.line);
        assert_eq!(line(""), Err(1));
        assert_eq!(line("#!/bin/sh\n"), Err(1));
        assert_eq!(line("ordain schedule 9\n"), Err(1));
        assert_eq!(line("ordain schedule 1\nnonsense\n"), Err(2));
        assert_eq!(line("ordain schedule 1\nsteps:\nmain\nmain.0\n"), Err(4));
        assert_eq!(line("ordain schedule 1\nsteps:\nmain.99999999\n"), Err(3));
        assert_eq!(line("ordain schedule 1\nsteps:\nmain choice\n"), Err(3));
        assert_eq!(line("ordain schedule 1\nsteps:\nother\n"), Err(3));
        assert!(line("ordain schedule 1\nprogram: x\n").is_err());
    }
}
