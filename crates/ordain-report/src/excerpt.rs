//! The source around the places of a finding, for reports that are read where the source is not.

use crate::source::Sources;
use crate::story::{Excerpt, Place, Story};
use std::collections::{BTreeMap, BTreeSet};

/// Lines before and behind each place.
const AROUND: u32 = 4;
/// Lines that are kept, at most; the places that matter most come first.
const MOST_LINES: usize = 600;

/// Keeps the source around the places of a story: its steps, stacks, waits and accesses.
pub fn keep_sources(story: &mut Story, sources: &mut Sources) {
    let mut wanted: BTreeMap<String, BTreeSet<u32>> = BTreeMap::new();
    let mut count = 0;
    for place in places(story) {
        let lines = wanted.entry(place.file.clone()).or_default();
        for line in place.line.saturating_sub(AROUND).max(1)..=place.line.saturating_add(AROUND) {
            if count < MOST_LINES && sources.raw_line(&place.file, line).is_some() && lines.insert(line) {
                count += 1;
            }
        }
    }
    let mut excerpts: Vec<Excerpt> = Vec::new();
    for (file, lines) in wanted {
        for line in lines {
            let Some(text) = sources.raw_line(&file, line).map(str::to_owned) else { continue };
            match excerpts
                .last_mut()
                .filter(|last| last.file == file && last.line as usize + last.lines.len() == line as usize)
            {
                Some(last) => last.lines.push(text),
                None => excerpts.push(Excerpt { file: file.clone(), line, lines: vec![text] }),
            }
        }
    }
    story.sources = excerpts;
}

/// The places of a story that have a line, those that matter most first.
fn places(story: &Story) -> impl Iterator<Item = &Place> {
    let waits = story.waiting.iter().flat_map(|w| &w.waiters).filter_map(|w| w.place.as_ref());
    let accesses = story.race.iter().flat_map(|race| &race.accesses).filter_map(|a| a.place.as_ref());
    let frames = story.threads.iter().flat_map(|t| &t.frames).filter_map(|f| f.place.as_ref());
    let steps =
        |matters: bool| story.steps.iter().filter(move |s| s.matters == matters).filter_map(|s| s.place.as_ref());
    waits.chain(accesses).chain(steps(true)).chain(frames).chain(steps(false)).filter(|place| place.line > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::story::Step;

    #[test]
    fn lines_around_places_are_kept_with_their_indentation_once() {
        let at = |line| Step {
            place: Some(Place { file: file!().to_owned(), line, ..Place::default() }),
            ..Step::default()
        };
        let mut story: Story = serde_json::from_str(
            r#"{"kind": "hang", "headline": "", "details": [], "program": "", "threads": [],
                "level": "ordain types, sequential consistency", "objects": [], "steps": [], "length": 0, "holds": [], "waiting": null, "race": null, "outputs": ["", ""],
                "usual_outputs": null, "size": {"preemptions": 0, "steps": 0, "switches": 0}, "shrunk": null,
                "schedule": null}"#,
        )
        .expect("a record of an earlier version is read");
        story.steps = vec![at(2), at(4), at(20), at(1_000_000), at(0)];
        keep_sources(&mut story, &mut Sources::default());
        let told: Vec<(u32, usize)> = story.sources.iter().map(|e| (e.line, e.lines.len())).collect();
        assert_eq!(told, [(1, 8), (16, 9)]);
        assert!(story.sources[1].lines.iter().any(|line| line.starts_with("        for line in")));
        story.steps =
            vec![Step { place: Some(Place { file: "no/such.c".into(), line: 4, ..Place::default() }), ..at(1) }];
        keep_sources(&mut story, &mut Sources::default());
        assert_eq!(story.sources, []);
    }
}
