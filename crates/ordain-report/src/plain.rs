//! A story as plain text: no colours, no width. What other formats have as the body of a finding.

use crate::story::{Step, Story, Switch, Waiter};
use std::fmt::Write as _;

/// Steps shown of a long story: the first and the last ones.
const FIRST_SHOWN: usize = 40;
const LAST_SHOWN: usize = 40;

/// The command that replays the finding, if it has a schedule file.
pub(crate) fn replay(story: &Story) -> Option<String> {
    Some(format!("ordain replay {}", quote(story.schedule.as_deref()?)))
}

/// The text as a word of the shell.
fn quote(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./+=:,@%".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

/// How a thread is called, with the name that the program gave it.
pub(crate) fn thread(story: &Story, index: usize) -> String {
    match story.threads.get(index) {
        Some(thread) => match &thread.given {
            Some(given) => format!("{} ({given})", thread.name),
            None => thread.name.clone(),
        },
        None => format!("thread {index}"),
    }
}

/// How an object is called.
pub(crate) fn object(story: &Story, index: usize) -> String {
    story.objects.get(index).map_or_else(|| format!("object {index}"), |object| object.name.clone())
}

/// What a waiting thread waits for, as a sentence without its thread: `waits to lock queue.lock, held by main`.
pub(crate) fn waits(story: &Story, waiter: &Waiter) -> String {
    let doing = waiter.doing.as_str();
    match doing.split_once(' ') {
        None if doing == "park" => "is parked and waits to be unparked".to_owned(),
        Some(("woken", queue)) => format!("waits to be woken from {queue}"),
        Some(("join", other)) => format!("waits for {other} to end"),
        _ if waiter.for_threads.is_empty() => format!("waits to {doing}"),
        _ => {
            let name = |index: usize| if index == waiter.thread { "itself".to_owned() } else { thread(story, index) };
            let holders: Vec<String> = waiter.for_threads.iter().map(|&index| name(index)).collect();
            format!("waits to {doing}, held by {}", holders.join(" and "))
        }
    }
}

/// The access of a race, as a sentence: `main.1 writes counter`.
pub(crate) fn access(story: &Story, which: usize) -> Option<String> {
    let race = story.race.as_ref()?;
    let access = race.accesses.get(which)?;
    let verb = if access.write { "writes" } else { "reads" };
    Some(format!("{} {verb} {}", thread(story, access.thread), object(story, race.object)))
}

/// The whole story: what went wrong, why, every thread, the steps, what was written, and how to see it again.
pub(crate) fn story(story: &Story) -> String {
    let mut text = format!("{}: {}\n", story.kind, story.headline);
    for line in &story.details {
        let _ = writeln!(text, "  {line}");
    }
    // Details, if there are any, say the same.
    if story.details.is_empty() {
        waiting(story, &mut text);
        race(story, &mut text);
    }
    threads(story, &mut text);
    steps(story, &mut text);
    outputs(story, &mut text);
    if let Some(command) = replay(story) {
        let _ = write!(text, "\nreplay it with:\n  {command}\n");
    }
    text
}

fn waiting(story: &Story, text: &mut String) {
    let Some(waiting) = &story.waiting else { return };
    text.push('\n');
    for waiter in &waiting.waiters {
        let at = waiter.place.as_ref().map_or_else(String::new, |place| format!(" at {place}"));
        let _ = writeln!(text, "{} {}{at}", thread(story, waiter.thread), waits(story, waiter));
    }
    if let [first, _, ..] = waiting.cycle[..] {
        let names: Vec<String> = waiting.cycle.iter().chain([&first]).map(|&index| thread(story, index)).collect();
        let _ = writeln!(text, "circle: {}", names.join(" -> "));
    }
}

fn race(story: &Story, text: &mut String) {
    let Some(race) = &story.race else { return };
    text.push('\n');
    for (which, access) in race.accesses.iter().enumerate() {
        let at = access.place.as_ref().map_or_else(String::new, |place| format!(" at {place}"));
        let _ = writeln!(text, "{}{at}", self::access(story, which).unwrap_or_default());
    }
}

fn threads(story: &Story, text: &mut String) {
    for (index, thread) in story.threads.iter().enumerate() {
        if thread.doing.is_none() && thread.frames.is_empty() {
            continue;
        }
        let doing = thread.doing.as_ref().map_or_else(String::new, |doing| format!(", about to {doing}"));
        let mark = if thread.culprit { ", which ended the execution" } else { "" };
        let _ = writeln!(text, "\n{}{mark}{doing}", self::thread(story, index));
        for frame in &thread.frames {
            let name = frame.function.as_deref().unwrap_or("?");
            let _ = match &frame.place {
                Some(place) => writeln!(text, "  {name} at {place}"),
                None => writeln!(text, "  {name} in {}+{:#x}", frame.module, frame.offset),
            };
        }
    }
}

fn steps(story: &Story, text: &mut String) {
    let count = story.steps.len();
    if count == 0 {
        return;
    }
    let _ = writeln!(text, "\nsteps (`>`: another thread took over; `!`: and the one before could have gone on):");
    let name = |step: &Step| story.threads.get(step.thread).map_or_else(|| "?".to_owned(), |t| t.name.clone());
    let width = story.steps.iter().map(|step| name(step).chars().count()).max().unwrap_or(0);
    let mut next = 0;
    for (index, step) in story.steps.iter().enumerate() {
        if count > FIRST_SHOWN + LAST_SHOWN && (FIRST_SHOWN..count - LAST_SHOWN).contains(&index) {
            continue;
        }
        if step.number > next {
            let _ = writeln!(text, "  ... {} steps, all in the schedule file ...", step.number - next);
        }
        next = step.number.saturating_add(1);
        let mark = match step.switch {
            Switch::None => ' ',
            Switch::Free => '>',
            Switch::Preemption => '!',
        };
        let at = step.place.as_ref().map_or_else(String::new, |place| format!(" at {place}"));
        let _ = writeln!(text, "{mark} {:>4} {:<width$}  {}{at}", step.number, name(step), step.text);
    }
}

fn outputs(story: &Story, text: &mut String) {
    let usual = story.usual_outputs.as_ref();
    for (index, name) in ["standard output", "standard error"].into_iter().enumerate() {
        let Some(usual) = usual.map(|usual| &usual[index]).filter(|usual| **usual != story.outputs[index]) else {
            continue;
        };
        let _ = write!(text, "\n{name} here:\n{}", lines(&story.outputs[index]));
        let _ = write!(text, "{name} usually:\n{}", lines(usual));
    }
}

fn lines(text: &str) -> String {
    text.lines().map(|line| format!("  {line}\n")).collect()
}
