//! Checkpointing a search that is not finished: what is left, what was found, and of which program.
//!
//! It is written whole or not at all, beside the findings, at intervals and at the end. What it says is checked before it is believed.

use super::{Attempt, Campaign};
use crate::checkpoint::{self, Identity};
use crate::explorer::{Explorer, Observation};
use crate::{Problem, Resume, Settings};
use ordain_explore::classes::Classes;
use ordain_explore::frontier::Controller;
use ordain_explore::strategy::Kind as StrategyKind;
use ordain_report::Kind;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::time::Duration;

/// The checkpoint of a check: where it is, and of which search.
#[derive(Clone, Debug)]
pub struct CheckpointFile {
    /// The name of its file, in the directory of the check.
    pub file: String,
    /// What a search that is resumed must agree in, beside the settings: what the program is, and what is done to it.
    pub identity: Identity,
}

impl CheckpointFile {
    /// With all that a search with these settings must agree in.
    pub(super) fn for_search(mut self, settings: &Settings) -> Self {
        self.identity.insert(0, ("version of Ordain".to_owned(), env!("CARGO_PKG_VERSION").to_owned()));
        self.identity.extend(settings.identity());
        self
    }
}

/// What is known of a search that is not finished.
#[derive(Serialize, Deserialize)]
#[serde(bound = "")]
pub(super) struct Checkpoint<F> {
    pub(super) controller: Controller,
    /// Time that it took so far, and processor time of exploring.
    pub(super) elapsed: Duration,
    exploring: Duration,
    visible: usize,
    spin_held: bool,
    took_turns: bool,
    failing: u64,
    classes: Classes,
    /// What only the front end understands.
    condition: Vec<u8>,
    findings: Vec<SavedFinding>,
    #[serde(skip)]
    of: std::marker::PhantomData<F>,
}

/// The same, to be written.
#[derive(Serialize)]
struct CheckpointView<'a> {
    controller: &'a Controller,
    elapsed: Duration,
    exploring: Duration,
    visible: usize,
    spin_held: bool,
    took_turns: bool,
    failing: u64,
    classes: &'a Classes,
    condition: Vec<u8>,
    findings: Vec<SavedFinding>,
}

/// A finding, as text.
#[derive(Serialize, Deserialize)]
struct SavedFinding {
    kind: Kind,
    place: String,
    finding: String,
}

impl<E: Explorer> Campaign<'_, E> {
    /// Whether the search can have checkpoints.
    pub(super) fn can_checkpoint(&self) -> bool {
        self.workers > 0 && self.options.directory.is_some() && self.is_divisible()
    }

    /// Whether there is a checkpoint.
    pub(super) fn has_checkpoint(&self) -> bool {
        self.options.directory.as_deref().is_some_and(|directory| directory.join(&self.place.file).exists())
    }

    /// Writes what is left, so that it can be resumed; `false` if it cannot.
    pub(super) fn write_checkpoint(&mut self, controller: &Controller, before: Duration) -> bool {
        let Some(directory) = self.options.directory.as_deref() else { return false };
        let written = self.write(directory, controller, before);
        if let Err(why) = &written {
            self.note_once(format!("the checkpoint could not be written: {why}"));
        }
        written.is_ok()
    }

    fn write(&self, directory: &Path, controller: &Controller, before: Duration) -> Result<(), String> {
        let saved = |(finding, observation): (&E::Finding, &Observation)| {
            let finding = serde_json::to_string(finding).map_err(|e| e.to_string())?;
            Ok(SavedFinding { kind: observation.kind, place: observation.place.clone(), finding })
        };
        let body = CheckpointView {
            controller,
            elapsed: before + self.started.elapsed(),
            exploring: self.exploring,
            visible: self.visible,
            spin_held: self.spin_held,
            took_turns: self.took_turns,
            failing: self.failing,
            classes: &self.classes,
            condition: self.worker.explorer.tell_condition(false),
            findings: self.findings.iter().zip(&self.observed).map(saved).collect::<Result<_, String>>()?,
        };
        let bytes = postcard::to_allocvec(&body).map_err(|e| e.to_string())?;
        checkpoint::write(directory, &self.place.file, &self.place.identity, &bytes)
    }

    /// Reads the checkpoint, if it is of this program with these options, and takes over what was found.
    pub(super) fn resume(&mut self) -> Attempt<Checkpoint<E::Finding>, E> {
        let directory = self.options.directory.clone().unwrap_or_default();
        let path = directory.join(&self.place.file);
        let refuse = |reason: &str| Problem::Resume { path: path.clone(), reason: reason.into() };
        if !self.can_checkpoint() {
            let reason = self.worker.explorer.indivisible().filter(|_| self.options.resume == Resume::IfPossible);
            return Err(refuse(reason.unwrap_or(
                "only a search with the strategy optimal, source or portfolio, without bounds, in snapshot or fork mode, can be resumed",
            )));
        }
        self.keep_strategy(&directory);
        let body =
            checkpoint::read(&directory, &self.place.file, &self.place.identity).map_err(|reason| refuse(&reason))?;
        let body = body.ok_or_else(|| refuse("there is no checkpoint"))?;
        let checkpoint: Checkpoint<E::Finding> = postcard::from_bytes(&body).map_err(|_| refuse("it is damaged"))?;
        if !checkpoint.controller.is_intact() {
            return Err(refuse("it is damaged"));
        }
        (self.findings, self.observed) = checkpoint.findings().ok_or_else(|| refuse("its findings cannot be read"))?;
        (self.exploring, self.visible, self.spin_held) =
            (checkpoint.exploring, checkpoint.visible, checkpoint.spin_held);
        (self.failing, self.took_turns) = (checkpoint.failing, checkpoint.took_turns);
        self.classes.clone_from(&checkpoint.classes);
        self.worker.explorer.take_condition(&checkpoint.condition);
        Ok(checkpoint)
    }

    /// Which strategy is usual depends on limits, and another limit is no reason to begin again: unless a strategy was asked for, that of
    /// the checkpoint is kept.
    fn keep_strategy(&mut self, directory: &Path) {
        if self.settings.strategy.is_some() {
            return;
        }
        for kind in [StrategyKind::Optimal, StrategyKind::Portfolio] {
            let mut identity = self.place.identity.clone();
            for (_, value) in identity.iter_mut().filter(|(key, _)| key == "strategy") {
                kind.name().clone_into(value);
            }
            if matches!(checkpoint::read(directory, &self.place.file, &identity), Ok(Some(_))) {
                self.place.identity = identity;
                self.kind = kind;
                return;
            }
        }
    }
}

/// How many executions the search of a checkpoint has made, if it can be resumed.
pub fn checkpointed_executions(directory: &Path, place: &CheckpointFile, settings: &Settings) -> u64 {
    let place = place.clone().for_search(settings);
    let body = checkpoint::read(directory, &place.file, &place.identity).ok().flatten();
    let checkpoint = body.and_then(|body| postcard::from_bytes::<Checkpoint<()>>(&body).ok());
    checkpoint.filter(|c| c.controller.is_intact()).map_or(0, |c| c.controller.total().executions)
}

impl<F: DeserializeOwned> Checkpoint<F> {
    /// The findings so far.
    fn findings(&self) -> Option<(Vec<F>, Vec<Observation>)> {
        let finding = |saved: &SavedFinding| {
            let finding: F = serde_json::from_str(&saved.finding).ok()?;
            let (kind, place) = (saved.kind, saved.place.clone());
            Some((finding, Observation { kind, message: String::new(), place, prefix: Vec::new() }))
        };
        self.findings.iter().map(finding).collect::<Option<Vec<_>>>().map(|all| all.into_iter().unzip())
    }
}
