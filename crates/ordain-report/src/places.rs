//! Where a finding is: the one place that it is called by, and what it has to do with.

use crate::plain;
use crate::source::is_own;
use crate::story::{Place, Story};

/// The place that a finding is called by: where the thread is that ended the execution, else its last step, else where
/// the first thread of the cycle waits, else any place that is known. The user's own sources come first.
pub(crate) fn primary(story: &Story) -> Option<&Place> {
    let all = || candidates(story);
    all().find(|place| is_own(&place.file)).or_else(|| all().next())
}

fn candidates(story: &Story) -> impl Iterator<Item = &Place> {
    let culprits = || story.threads.iter().enumerate().filter(|(_, thread)| thread.culprit);
    let racing =
        story.race.iter().flat_map(|race| race.accesses.iter().rev().filter_map(|access| access.place.as_ref()));
    let frames = culprits().flat_map(|(_, thread)| thread.frames.iter().filter_map(|frame| frame.place.as_ref()));
    let last = culprits().filter_map(|(index, _)| last_step(story, index));
    let cycle = story.waiting.iter().flat_map(|waiting| {
        let of = |thread: usize| waiting.waiters.iter().find(move |waiter| waiter.thread == thread);
        let cycle = waiting.cycle.iter().filter_map(move |&thread| of(thread));
        cycle.chain(&waiting.waiters).filter_map(|waiter| waiter.place.as_ref())
    });
    let any = story.threads.iter().flat_map(|thread| thread.frames.iter().filter_map(|frame| frame.place.as_ref()));
    let steps = story.steps.iter().rev().filter_map(|step| step.place.as_ref());
    racing.chain(frames).chain(last).chain(cycle).chain(any).chain(steps)
}

fn last_step(story: &Story, thread: usize) -> Option<&Place> {
    story.steps.iter().rev().filter(|step| step.thread == thread).find_map(|step| step.place.as_ref())
}

/// Places that a reader of the finding should look at too, each with what is there.
pub(crate) fn related(story: &Story) -> Vec<(&Place, String)> {
    let mut all: Vec<(&Place, String)> = Vec::new();
    if let Some(race) = &story.race {
        for (which, access) in race.accesses.iter().enumerate() {
            all.extend(access.place.as_ref().zip(plain::access(story, which)));
        }
    }
    if let Some(waiting) = &story.waiting {
        for waiter in &waiting.waiters {
            let text = || format!("{} {}", plain::thread(story, waiter.thread), plain::waits(story, waiter));
            all.extend(waiter.place.as_ref().map(|place| (place, text())));
        }
    }
    for hold in story.holds.iter().filter(|hold| hold.to.is_none()) {
        let taken = story.steps.iter().find(|step| step.number == hold.from).and_then(|step| step.place.as_ref());
        let text = || format!("{} took {}", plain::thread(story, hold.thread), plain::object(story, hold.object));
        all.extend(taken.map(|place| (place, text())));
    }
    all
}
