//! The text of findings.

use super::{Context, FindingKind};
use crate::rt::{Executor, location};
use ordain_explore::Target;
use ordain_model::describe::{Place, Words};
use ordain_model::{Names, Site, ThreadId};
use ordain_report::Story;
use ordain_report::terminal::{self, Look, Next};
use std::fmt::Write;
use std::path::Path;

impl Words for Executor {
    fn names(&self) -> &Names {
        Target::names(self)
    }

    fn given(&self, id: ThreadId) -> Option<String> {
        self.given_name(id).map(str::to_owned)
    }

    fn place(&self, site: Site) -> Option<Place> {
        place(site)
    }
}

/// The place of a site in the user's own sources. Destructors are called from inside std, which tells nothing.
fn place(site: Site) -> Option<Place> {
    let location = location(site).filter(|l| !l.file().starts_with("/rustc/"))?;
    Some(Place { file: location.file().to_owned(), line: location.line(), column: location.column() })
}

/// Where threads are that have gone on for too long: the places that the last steps went through.
pub(super) fn step_limit(executor: &Executor) -> String {
    let execution = executor.execution();
    let mut text = format!(
        "{} steps, and no thread began or ended in the last of them (Check::max_steps). The last 1000 steps were:",
        execution.steps.len()
    );
    let mut places: Vec<(ThreadId, Site, usize)> = Vec::new();
    for s in execution.steps.iter().rev().take(1000) {
        match places.iter_mut().find(|p| p.0 == s.thread && p.1 == s.site) {
            Some(place) => place.2 += 1,
            None => places.push((s.thread, s.site, 1)),
        }
    }
    places.sort_by_key(|p| (p.0, std::cmp::Reverse(p.2)));
    for (who, site, times) in places {
        let _ = write!(text, "\n{} {times} times{}", executor.thread(who), executor.at(site));
    }
    text
}

/// The whole story of a finding.
pub(super) fn finding(story: &Story, context: &Context<'_>, replay: &str, trouble: Option<String>) -> String {
    let trouble = trouble.map(|trouble| format!("The schedule file could not be written ({trouble})."));
    let mut next = Next { commands: Vec::new(), trouble };
    if context.proof.number > 0 && story.kind != FindingKind::Nondeterminism {
        let quoted = replay.replace('\'', "'\\''");
        let command = format!("ORDAIN_REPLAY='{quoted}' cargo test {}", context.check);
        next.commands.push(("replay".to_owned(), command));
        if let Some(directory) = story.schedule.as_ref().and_then(|file| Path::new(file).parent()) {
            let directory = ordain_report::quote(&directory.to_string_lossy());
            next.commands.push(("report".to_owned(), format!("ordain report {directory}")));
        }
    }
    terminal::finding(story, Look::PLAIN, &next)
}
