//! Making a step: its effect on objects and threads, and what it means for threads that spin.

use super::enabled::{LEVELS, lesson, of_turns};
use super::{Arbiter, Unsettled};
use crate::execution::{Step, Transition, Watching};
use crate::finding::MisuseAt;
use crate::footprint::{Access, Footprint};
use crate::idle::{Idle, Left, Version, is_progress};
use crate::names::ThreadId;
use crate::operation::{Operation, Outcome};
use crate::primitives;
use crate::state::View;

impl Arbiter {
    /// Executes the announced operation of a thread. The transition must be enabled.
    pub fn apply(&mut self, transition: Transition) -> Outcome {
        let Transition { thread, choice } = transition;
        let choices = self.choices(thread);
        debug_assert!(choice < choices, "transition not enabled");
        let Some(pending) = self.threads[thread.index()].pending.take() else { return Outcome::FAILED };
        let op = pending.op;
        let mut footprint = core::mem::take(&mut self.footprint);
        primitives::present_footprint(&op, thread, choice, &self.execution.state, &mut footprint);
        if pending.released {
            footprint.insert(0, Access::EVERYTHING);
        }
        let own_end = footprint.len();
        let number = self.execution.steps.len();
        let mut own_writes = u128::MAX;
        if pending.held {
            let watching = watch(number as u32, &self.threads[thread.index()].idle, &mut footprint);
            own_writes = watching.own_writes;
            self.execution.spin_held = true;
            *(if pending.hogs { &mut self.execution.took_turns } else { &mut self.execution.idled }) = true;
            self.execution.watching.push(watching);
        }
        self.run = (Some(thread), if self.run.0 == Some(thread) { self.run.1 + 1 } else { 1 });
        let first_access = self.execution.accesses.len() as u32;
        let first_object = usize::from(footprint.first() == Some(&Access::EVERYTHING));
        let mut versions: smallvec::SmallVec<[Version; 4]> = smallvec::SmallVec::new();
        for (i, access) in footprint.iter().enumerate() {
            let known = *access != Access::EVERYTHING;
            self.execution.accesses.push(*access);
            self.execution.before.push(if known { self.execution.state.word(access.object()) } else { 0 });
            if known && i < own_end {
                versions.push(self.versions[access.object().index()]);
            }
        }
        let (outcome, misuse) = primitives::apply(&op, thread, choice, &mut self.execution.state);
        self.execution.steps.push(Step {
            thread,
            choice,
            choices,
            op,
            outcome,
            site: pending.site,
            held: pending.held,
            changes: true,
            first_access,
            access_count: footprint.len() as u32,
        });
        let misused = misuse.is_some();
        if let Some(misuse) = misuse {
            self.execution.misuses.push(MisuseAt { misuse, step: number as u32 });
        }
        if self.time_used {
            let objects = &footprint[first_object..own_end];
            pass_time(&mut self.threads[thread.index()].time, objects, &mut self.times);
        }
        let cell = match op {
            Operation::Store { cell, .. } | Operation::Update { cell, .. } => Some(cell),
            Operation::CompareExchange { cell, .. } if outcome == Outcome::DONE => Some(cell),
            Operation::Count { count, observes: true } => Some(count),
            _ => None,
        };
        let first = first_access as usize;
        let accesses = first + first_object..first + own_end;
        let unsettled = Unsettled { cell, step: number, accesses, own_writes, before: versions };
        if cell.is_some() {
            self.unsettled = Some(unsettled);
        } else {
            let same = self.leaves_shares(&op);
            self.settle(&unsettled, same);
        }
        self.footprint = footprint;
        if let Operation::Join { thread: target, .. } = op
            && outcome == Outcome::DONE
            && !misused
        {
            self.threads[thread.index()].joined += 1 + self.threads[target.index()].joined;
        }
        self.follow_up(&op, thread, outcome, number);
        outcome
    }

    /// Whether a step that was applied only changed the number of those who share something, and some are left.
    fn leaves_shares(&self, op: &Operation) -> bool {
        let state = &self.execution.state;
        match *op {
            Operation::AddShare { .. } | Operation::CloneSender { .. } => true,
            Operation::DropShare { count, weak } => weak || primitives::has_shares(count, state),
            Operation::DropSender { channel } => primitives::has_senders(channel, state),
            _ => false,
        }
    }

    /// Takes note of what a step means for threads that spin. `same` says that it left the cell that it wrote as it was.
    pub(super) fn settle(&mut self, unsettled: &Unsettled, same: bool) {
        let Unsettled { step: number, accesses, own_writes, before, .. } = unsettled;
        let Step { thread, op, outcome, site, held, first_access, .. } = self.execution.steps[*number];
        let bound = self.spin_bound(site);
        let entry = &mut self.threads[thread.index()];
        let changes = !entry.idle.leaves_unchanged(&op, outcome, site, bound, same);
        self.execution.steps[*number].changes = changes;
        let mut sees = false;
        for place in accesses.clone() {
            let access = self.execution.accesses[place];
            let object = access.object();
            let version = &mut self.versions[object.index()];
            let unseen = &mut self.unseen[object.index()];
            sees |= unseen.see(thread, access);
            if access.is_write() && (!held || own_writes >> (place - first_access as usize) & 1 == 1) {
                if changes {
                    *version = Version { writes: version.writes + 1, commuting: 0 };
                    unseen.change(thread, false);
                }
            } else if !access.is_write() && self.execution.before[place] != self.execution.state.word(object) {
                version.commuting += 1;
                unseen.change(thread, true);
            }
        }
        if self.options.free_rounds > 0
            && let Some(site) = entry.turns.note(&op, site, is_progress(&op, outcome, same), sees)
        {
            let site = of_turns(site);
            let new = (0..=LEVELS).map(|level| lesson(site, level)).find(|lesson| !self.long_loops.contains(lesson));
            if let Some(lesson) = new {
                self.learn(lesson);
            }
        }
        let entry = &mut self.threads[thread.index()];
        let objects = &self.execution.accesses[accesses.clone()];
        let left = entry.idle.note(&op, outcome, site, objects, before, &self.versions, same);
        if let Some(Left { site, gives_way }) = left {
            // A loop that waits for memory gets no more rounds than that, however often it turns out.
            let levels = if gives_way { 0 } else { LEVELS };
            match (0..=levels).map(|level| lesson(site, level)).find(|lesson| !self.long_loops.contains(lesson)) {
                Some(lesson) => self.learn(lesson),
                // Once something is learned, what follows in this execution does not count.
                None => self.execution.left_unseen |= gives_way && !self.execution.learned,
            }
        }
    }

    /// What an executed step means beyond its objects: threads come and go, channels grow.
    fn follow_up(&mut self, op: &Operation, thread: ThreadId, outcome: Outcome, number: usize) {
        match *op {
            Operation::Spawn { child } => {
                self.start_thread(child, number as u32);
                self.threads[child.index()].time = self.threads[thread.index()].time;
                self.spawned += 1;
                self.progress = number;
            }
            Operation::End | Operation::Crash => self.end_program(),
            Operation::Exit => {
                self.alive.retain(|t| *t != thread);
                self.progress = number;
            }
            Operation::Send { channel, .. } | Operation::Receive { channel, .. } => {
                if let Some(message) = outcome.message() {
                    self.extend_channel(channel, u64::from(message) + 1);
                }
            }
            _ => {}
        }
    }
}

/// Adds what a held thread watches to the footprint of its step.
#[cold]
fn watch(step: u32, idle: &Idle, footprint: &mut Footprint) -> Watching {
    let writes = footprint.iter().enumerate().filter(|(_, a)| a.is_write());
    let own_writes = writes.fold(0, |mask, (i, _)| mask | 1 << i);
    let mut watching = Watching { step, watched: 0, watched_writes: 0, own_writes };
    for access in idle.watched() {
        let place = footprint.iter().position(|a| a.object() == access.object()).unwrap_or_else(|| {
            footprint.push(access);
            footprint.len() - 1
        });
        if access.is_write() {
            footprint[place] = access;
            watching.watched_writes |= 1 << place;
        }
        watching.watched |= 1 << place;
    }
    watching
}

/// Virtual time follows the happens-before relation, so it is the same in all executions of a class.
fn pass_time(time: &mut u64, objects: &[Access], times: &mut [(u64, u64)]) {
    for access in objects {
        let (read, written) = times[access.object().index()];
        *time = (*time).max(written).max(if access.is_write() { read } else { 0 });
    }
    for access in objects {
        let (read, written) = &mut times[access.object().index()];
        let latest = if access.is_write() { written } else { read };
        *latest = (*latest).max(*time);
    }
}
