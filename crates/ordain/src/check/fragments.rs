//! Checks that explore fragments for a worker of a cluster, one after the other, until they are told to end.

use super::{Check, Strategy};
use crate::conduct::Conductor;
use crate::program::{Body, Program};
use crate::report::Report;
use ordain_check::protocol::{Fragment, FragmentFinding, FragmentReport};
use ordain_check::{Fragments, Settings};
use ordain_explore::frontier::{Order, Rule};
use std::sync::Arc;

impl Check {
    /// Explores fragments for somebody else. The report says nothing: what there is to say was told.
    pub(super) fn explore_fragments(&self, name: &str, body: Body, mut conductor: Conductor) -> Report {
        // Whoever submitted the check gets the schedules; here is a directory that belongs to the run.
        let check = Arc::new(Self { directory: Some(".ordain".into()), ..self.clone() });
        let mut fragments = None;
        while let Some(fragment) = conductor.fragment() {
            let opened = fragments.get_or_insert_with(|| check.open(name, body.clone(), fragment.rule));
            let opened = opened.as_mut().map_err(|reason| reason.clone());
            conductor.explored(opened.and_then(|opened| explore(opened, *fragment)));
        }
        Report::new(name, self)
    }

    /// Makes sure that the program is deterministic.
    fn open(self: &Arc<Self>, name: &str, body: Body, rule: Rule) -> Result<Fragments<Program>, String> {
        let strategy = match rule {
            Rule::Optimal => Strategy::Optimal,
            Rule::Source => Strategy::Source,
        };
        let settings = Settings { strategy: Some(strategy), ..self.settings.clone() };
        Fragments::open(settings, Program::new(self, name, body)).map_err(|problem| problem.to_string())
    }
}

fn explore(fragments: &mut Fragments<Program>, fragment: Fragment) -> Result<FragmentReport, String> {
    let result = fragments.explore(&Order { task: fragment.task, births: Arc::new(fragment.births) })?;
    Ok(FragmentReport::new(result, |key, finding| {
        let written = finding.file.as_ref().and_then(|file| std::fs::read_to_string(file).ok());
        FragmentFinding { key, schedule: written.unwrap_or(finding.replay), story: finding.story }
    }))
}
