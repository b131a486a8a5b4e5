//! Parts of a story as plain text, for formats that have no layout of their own.

use crate::shell::quote;
use crate::story::{Story, Waiter};

/// The command that replays the finding, if it has a schedule file.
pub(crate) fn replay(story: &Story) -> Option<String> {
    Some(format!("ordain replay {}", quote(story.schedule.as_deref()?)))
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
        Some(("await", what)) => format!("waits for {what}"),
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
