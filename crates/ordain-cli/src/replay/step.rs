//! `ordain replay --step`: the schedule step by step, forward and back, with a look at threads and objects on the way.
//!
//! Commands come from standard input, a line each. Where that is no terminal they are written down again, so that the transcript
//! reads as if they had been typed.

use super::departure::{Difference, Expected, Objects};
use super::gdb::{short, state};
use super::{Arguments, program, timeline};
use crate::Outcome;
use crate::check;
use crate::look;
use crate::output::{printable, printable_lines, tell};
use crate::problem::Problem;
use ordain_model::Schedule;
use ordain_native::{Check, Replayed, Session, State};
use ordain_report::Story;
use ordain_report::terminal::Timeline;
use std::io::{self, BufRead as _, IsTerminal as _};

const HELP: &str = "\
n [COUNT]   make the next step, or that many
t THREAD    go on until that thread is about to move
u NUMBER    go on until the step of that number is next
b [COUNT]   go back a step, or that many: the program is run again up to there
w [THREAD]  where all threads are, what they hold and wait for; or the stack of one
o           objects: who holds them, who wants them
p           what the program has written
r           run to the end
q           quit
h           this help
An empty line repeats the last command.
";

/// A replay that somebody steps through.
struct Stepper<'a> {
    session: Session<'a>,
    schedule: &'a Schedule,
    expected: &'a [Expected],
    /// What the check knew of this execution.
    record: Option<Story>,
    objects: Objects,
    timeline: Timeline,
    /// What the execution came to, once it is over.
    end: Option<Replayed>,
    /// Where it first did something else than the schedule says.
    difference: Option<Difference>,
}

/// Steps through a schedule.
pub(super) fn step(
    arguments: &Arguments,
    check: &Check,
    schedule: &Schedule,
    expected: &[Expected],
    changed: bool,
) -> Result<Outcome, Problem> {
    let look = look::of_errors();
    let record = timeline::recorded(&arguments.file, schedule).filter(|_| !changed);
    let timeline = match &record {
        Some(story) => Timeline::of_story(story, true, look),
        None => Timeline::expecting(&timeline::texts(schedule, expected), look),
    };
    let session = Session::start(check, schedule).map_err(|problem| Problem::Native { problem })?;
    let mut stepper = Stepper {
        session,
        schedule,
        expected,
        record,
        objects: Objects::default(),
        timeline,
        end: None,
        difference: None,
    };
    tell("`n` makes a step, `h` lists the commands\n\n");
    tell(&stepper.timeline.header());
    stepper.tell_next()?;
    let mut last = String::new();
    loop {
        tell("(ordain) ");
        let mut line = String::new();
        let read = io::stdin().lock().read_line(&mut line).map_err(|error| Problem::Commands { error })?;
        let line = line.trim();
        if read == 0 {
            tell("\n");
            break;
        }
        if !io::stdin().is_terminal() {
            tell(&format!("{}\n", printable(line)));
        }
        let command = if line.is_empty() { last.clone() } else { line.to_owned() };
        last = command.clone();
        if matches!(command.as_str(), "q" | "quit") {
            break;
        }
        stepper.obey(&command)?;
    }
    match stepper.end {
        Some(Replayed { departure: Some(text), steps, .. }) => {
            Err(program::departure(arguments, schedule, changed, (steps, text), stepper.difference))
        }
        Some(Replayed { finding: Some(_), .. }) => Ok(Outcome::Finding),
        _ => Ok(Outcome::Clean),
    }
}

impl Stepper<'_> {
    fn obey(&mut self, command: &str) -> Result<(), Problem> {
        let mut words = command.split_whitespace();
        let (verb, argument) = (words.next().unwrap_or_default(), words.next());
        let number = argument.map(|text| text.parse::<usize>().ok());
        match (verb, number, argument) {
            ("", ..) => {}
            ("n" | "next" | "f" | "forward", None, _) => self.forward(|_, made| made >= 1)?,
            ("n" | "next" | "f" | "forward", Some(Some(count)), _) => self.forward(|_, made| made >= count)?,
            ("b" | "back", None, _) => self.back(1)?,
            ("b" | "back", Some(Some(count)), _) => self.back(count)?,
            ("u" | "until", Some(Some(number)), _) if number < self.session.made() => {
                tell(&format!(
                    "step {} is next; `b {}` goes back to {number}\n",
                    self.session.made(),
                    self.session.made() - number
                ));
            }
            ("u" | "until", Some(Some(number)), _) => self.forward(|session, _| session.made() >= number)?,
            ("t" | "thread", _, Some(name)) => self.until_thread(name)?,
            ("w" | "where", _, Some(name)) => self.stack(name),
            ("w" | "where", ..) => self.threads(),
            ("o" | "objects", ..) => self.objects(),
            ("p" | "print", ..) => self.outputs(),
            ("r" | "run", ..) => self.forward(|_, _| false)?,
            ("h" | "help" | "?", ..) => tell(HELP),
            _ => tell(&format!("`{}` is no command; `h` lists them\n", printable(command))),
        }
        Ok(())
    }

    /// Makes steps until enough were made.
    fn forward(&mut self, enough: impl Fn(&Session<'_>, usize) -> bool) -> Result<(), Problem> {
        if self.session.is_over() {
            tell("the execution is over; `b` goes back, `q` ends\n");
            return Ok(());
        }
        let mut made = 0;
        while !self.session.is_over() && !enough(&self.session, made) {
            let Some(step) = self.session.step().map_err(|problem| Problem::Native { problem })? else { continue };
            let name = self.session.thread_of(&step);
            if self.difference.is_none() {
                let (session, objects) = (&self.session, &mut self.objects);
                self.difference = Difference::in_step(session, step.number, self.expected, &name, objects);
            }
            let step = match &self.difference {
                None => timeline::as_recorded(step, &name, self.record.as_ref()),
                Some(_) => step,
            };
            tell(&self.timeline.step(&name, &step));
            made += 1;
        }
        self.tell_next()
    }

    fn until_thread(&mut self, name: &str) -> Result<(), Problem> {
        let known = self.schedule.steps.iter().any(|step| step.0 == name);
        if !known && !self.session.thread_names().iter().any(|n| n == name) {
            let names = self.session.thread_names().join(", ");
            tell(&format!("there is no thread `{}`; so far there are {names}\n", printable(name)));
            return Ok(());
        }
        self.forward(|session, made| made > 0 && session.next_thread().as_deref() == Some(name))
    }

    fn back(&mut self, count: usize) -> Result<(), Problem> {
        let native = |problem| Problem::Native { problem };
        let to = self.session.made().saturating_sub(count);
        self.session.restart().map_err(native)?;
        self.end = None;
        self.timeline.rewind(to);
        self.difference = self.difference.take().filter(|difference| difference.step < to);
        while self.session.made() < to && self.session.step().map_err(native)?.is_some() {}
        self.tell_next()
    }

    /// What is next, or how it ended.
    fn tell_next(&mut self) -> Result<(), Problem> {
        if !self.session.is_over() {
            let number = self.session.made();
            let text = match self.session.next_step() {
                Some((name, doing, place)) => {
                    let place = place.as_ref().map_or_else(String::new, |place| format!(" at {}", short(place)));
                    format!("next is step {number}: {name}: {doing}{place}")
                }
                None => format!("next is step {number}"),
            };
            tell(&format!("{}\n", printable(&text)));
            return Ok(());
        }
        if self.session.departed() && self.difference.is_none() {
            self.difference = Difference::at_end(&self.session, self.schedule, self.expected);
        }
        let replayed = self.session.finish().map_err(|problem| Problem::Native { problem })?;
        match (&replayed.finding, &self.difference) {
            (Some(finding), _) => {
                tell(&self.timeline.end(&finding.story));
                tell(&format!("\n{}\n", check::story_without_timeline(finding, &check::next(finding, None))));
            }
            (None, Some(difference)) if replayed.departure.is_some() => {
                tell(&format!("the program departs from the schedule: {}\n", difference.text));
            }
            _ => tell("the execution is over, and nothing was found\n"),
        }
        self.end = Some(replayed);
        Ok(())
    }

    fn threads(&self) {
        let next = self.session.next_thread();
        let mut rows = Vec::new();
        for thread in self.session.threads() {
            let is_next = next.as_deref() == Some(&thread.name);
            let holds =
                if thread.holds.is_empty() { String::new() } else { format!("holds {}", thread.holds.join(", ")) };
            // Libraries without lines are passed over.
            let frame = thread.frames.iter().find(|f| f.place.is_some());
            let function = frame.and_then(|f| f.function.clone()).map_or_else(String::new, |f| f + " at ");
            let place = match (frame.and_then(|f| f.place.as_ref()), &thread.place) {
                _ if thread.state == State::Ended => String::new(),
                (Some(place), _) | (None, Some(place)) => format!("{function}{}", short(place)),
                (None, None) => String::new(),
            };
            let mark = if is_next { "=>" } else { "  " };
            let kind = self.end.as_ref().and_then(|end| end.finding.as_ref()).map(|finding| finding.story.kind.title());
            let state = match (thread.state, kind) {
                (State::Failed, Some(kind)) => kind.to_owned(),
                _ => state(&thread, is_next),
            };
            rows.push([format!("{mark} {}", thread.name), state, holds, place]);
        }
        tell(&printable_lines(&table(&rows)));
    }

    fn stack(&self, name: &str) {
        let threads = self.session.threads();
        match threads.iter().find(|t| t.name == name) {
            Some(thread) => {
                let mut text = String::new();
                for frame in &thread.frames {
                    let function = frame.function.as_deref().unwrap_or("?");
                    let place = frame
                        .place
                        .as_ref()
                        .map_or_else(|| format!(" in {}", frame.module), |p| format!(" at {}", short(p)));
                    text += &format!("  {function}{place}\n");
                }
                tell(&printable_lines(&if text.is_empty() { "its stack is not known\n".to_owned() } else { text }));
            }
            None => {
                let names: Vec<&str> = threads.iter().map(|t| t.name.as_str()).collect();
                tell(&format!("there is no thread `{}`; so far there are {}\n", printable(name), names.join(", ")));
            }
        }
    }

    fn objects(&self) {
        let mut rows = Vec::new();
        for object in self.session.objects() {
            let held = match object.held_by.as_slice() {
                [] => String::new(),
                threads => format!("held by {}", threads.join(", ")),
            };
            let wanted = object.wanted_by.iter().map(|(thread, verb, waits)| {
                format!("{thread} {}: {verb}", if *waits { "waits" } else { "is about to" })
            });
            rows.push([
                format!("  {}", object.name),
                object.kind.to_owned(),
                held,
                wanted.collect::<Vec<_>>().join("; "),
            ]);
        }
        tell(&printable_lines(&if rows.is_empty() { "no objects yet\n".to_owned() } else { table(&rows) }));
    }

    fn outputs(&mut self) {
        let mut nothing = true;
        for (which, name) in ["standard output", "standard error"].into_iter().enumerate() {
            let bytes = self.session.written(which);
            if !bytes.is_empty() {
                nothing = false;
                tell(&format!("{name}:\n{}\n", printable_lines(String::from_utf8_lossy(&bytes).trim_end())));
            }
        }
        if nothing {
            tell("the program has written nothing yet\n");
        }
    }
}

/// Rows with columns as wide as they need.
fn table(rows: &[[String; 4]]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths = [width(0), width(1), width(2)];
    let mut text = String::new();
    for [first, second, third, last] in rows {
        let mut line = String::new();
        for (cell, width) in [first, second, third].into_iter().zip(widths).filter(|(_, width)| *width > 0) {
            line += &format!("{cell:<width$}  ");
        }
        line += last;
        text += line.trim_end();
        text.push('\n');
    }
    text
}
