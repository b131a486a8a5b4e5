//! A replay that is seen while it goes: the timeline of a finding, a line for each step as it is made.
//!
//! Columns must be known before the first step. The record of the run has them, and which steps matter; without it the
//! schedule tells who does what, which is enough to show all steps. Otherwise the timeline is drawn at the end.

use super::departure::{Difference, Expected, Objects};
use crate::look;
use crate::outcome::stop_flag;
use crate::output;
use crate::problem::Problem;
use ordain_model::Schedule;
use ordain_native::{Check, Replayed, Session};
use ordain_report::terminal::{self, Look, Timeline};
use ordain_report::{Kind, Step, Story, store};
use std::path::Path;

/// What a replay showed, and where it first was another one than the recorded.
pub(super) struct Seen {
    pub(super) replayed: Replayed,
    pub(super) difference: Option<Difference>,
    /// The timeline was shown.
    pub(super) shown: bool,
}

/// Whether a schedule leads to an execution that is too long to be followed by eye.
pub(super) fn is_long(schedule: &Schedule) -> bool {
    const MOST: usize = 20_000;
    let found = schedule.get("found").unwrap_or_default();
    schedule.steps.len() > MOST || [Kind::StepLimit, Kind::Livelock].iter().any(|kind| found.starts_with(kind.name()))
}

/// Replays, and shows the steps as they are made.
pub(super) fn replay(
    check: &Check,
    schedule: &Schedule,
    expected: &[Expected],
    record: Option<Story>,
    all: bool,
) -> Result<Seen, Problem> {
    let native = |problem| Problem::Native { problem };
    let look = look::of_errors();
    let mut timeline = match &record {
        Some(story) => Some(Timeline::of_story(story, all, look)),
        None if all => Some(Timeline::expecting(&texts(schedule, expected), look)),
        None => None,
    };
    let matters = |number: usize| {
        let known = record.as_ref().map(|story| story.steps.iter().find(|s| s.number == number));
        all || known.is_some_and(|step| step.is_none_or(|s| s.matters))
    };
    if let Some(timeline) = &timeline {
        output::tell(&heading(record.as_ref(), look));
        output::tell(&timeline.header());
    }
    let mut session = Session::start_until(check, schedule, stop_flag()).map_err(native)?;
    let (mut difference, mut objects) = (None, Objects::default());
    while !session.is_over() {
        let Some(step) = session.step().map_err(native)? else { continue };
        let name = session.thread_of(&step);
        if difference.is_none() {
            difference = Difference::in_step(&session, step.number, expected, &name, &mut objects);
        }
        let step = match &difference {
            None => as_recorded(step, &name, record.as_ref()),
            Some(_) => step,
        };
        if let Some(timeline) = timeline.as_mut().filter(|_| matters(step.number)) {
            output::tell(&timeline.step(&name, &step));
        }
    }
    if difference.is_none() && session.departed() {
        difference = Difference::at_end(&session, schedule, expected);
    }
    let replayed = session.finish().map_err(native)?;
    if let (None, Some(finding)) = (&timeline, &replayed.finding) {
        let story = &finding.story;
        let mut drawn = Timeline::of_story(story, false, look);
        output::tell(&format!("{}{}", terminal::title(story, look), drawn.header()));
        for step in story.steps.iter().filter(|s| s.matters) {
            let name = story.threads.get(step.thread).map_or("?", |t| t.name.as_str());
            output::tell(&drawn.step(name, step));
        }
        output::tell(&format!("{}\n", drawn.end(story)));
    }
    if let Some(timeline) = timeline.as_mut() {
        output::tell(&match &replayed.finding {
            Some(finding) => timeline.end(&finding.story),
            None => timeline.legend(),
        });
        output::tell("\n");
    }
    let shown = timeline.is_some() || replayed.finding.is_some();
    Ok(Seen { replayed, difference, shown })
}

fn heading(record: Option<&Story>, look: Look) -> String {
    match record {
        Some(story) => terminal::title(story, look),
        None => terminal::bold("how it happens:", look) + "\n",
    }
}

/// A step as the check told it, if it is the same: the check knew the whole execution, so it had names for more objects.
pub(super) fn as_recorded(step: Step, thread: &str, record: Option<&Story>) -> Step {
    let known = record.and_then(|story| {
        let known = story.steps.iter().find(|s| s.number == step.number && s.verb == step.verb)?;
        (story.threads.get(known.thread)?.name == thread).then_some(known)
    });
    match known {
        Some(known) => Step { text: known.text.clone(), place: known.place.clone(), ..step },
        None => step,
    }
}

/// Who does what, as the schedule file tells it.
pub(super) fn texts(schedule: &Schedule, expected: &[Expected]) -> Vec<(String, String)> {
    let text = |i: usize| expected.get(i).map(|e| e.text.clone()).unwrap_or_default();
    schedule.steps.iter().enumerate().map(|(i, step)| (step.0.clone(), text(i))).collect()
}

/// The story of the schedule's finding, if the record of its run is still beside it.
pub(super) fn recorded(file: &Path, schedule: &Schedule) -> Option<Story> {
    let directory = file.parent().map(|d| if d.as_os_str().is_empty() { Path::new(".") } else { d })?;
    let run = store::read_run(directory).ok()?;
    let same_file =
        |story: &Story| story.schedule.as_ref().is_some_and(|path| Path::new(path).file_name() == file.file_name());
    // The record may be of a later run, so it must tell the same steps.
    let same_steps = |story: &Story| {
        let threads = schedule.steps.iter().map(|step| step.0.as_str());
        let told = story.steps.iter().enumerate().take_while(|(i, step)| step.number == *i);
        let names = told.map(|(_, step)| story.threads.get(step.thread).map_or("", |t| t.name.as_str()));
        story.length >= schedule.steps.len() && names.zip(threads).all(|(a, b)| a == b)
    };
    run.findings.into_iter().find(|story| same_file(story) && same_steps(story))
}
