//! Controlling a run: results in, tasks out, and everything saved between the two.
//!
//! The order makes it safe. Results are acknowledged after what they changed is saved, so a controller that dies before that has taken
//! nothing away; tasks are sent after the leases that they belong to are saved, so nobody explores for a lease that the next controller
//! gives to something else. Saving is a compare-and-set, so of two controllers that believe in themselves only one gets on.

use crate::error::ClusterError;
use crate::fleet::Fleet;
use crate::message::{Finding, Parcel, ResultMessage, Returned, Sent, TaskMessage, decode, encode};
use crate::pull;
use crate::spec::{ObjectRef, RunId, RunSpec, VERSION};
use crate::state::{Outcome, State, Status};
use crate::store::{Cluster, Mail, Written};
use async_nats::jetstream::Message;
use async_nats::jetstream::consumer::PullConsumer;
use ordain_explore::estimate::Estimate;
use ordain_explore::frontier::{Accepted, Controller, Pace, Task};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tokio::sync::watch;

/// Results that are taken in at a time.
const BATCH: usize = 256;
/// The longest wait for results, after which other things are looked at.
const TICK: Duration = Duration::from_millis(100);
/// Findings of so many bytes in all are kept with the state, further ones beside it.
const INLINE_FINDINGS: usize = 128 << 10;
/// More findings are not kept.
const MOST_FINDINGS: usize = 10_000;
/// No fragment takes longer, in microseconds, whatever its worker says.
const MOST_MICROS: u64 = 3_600_000_000;
/// More warnings are not kept, and longer ones are cut.
const MOST_WARNINGS: usize = 16;
const LONGEST_WARNING: usize = 2_000;

/// What the next controller needs.
#[derive(Serialize, Deserialize)]
struct Saved {
    controller: Controller,
    /// The tasks that are out.
    tasks: BTreeMap<u64, Task>,
    findings: Vec<(String, Parcel)>,
    warnings: Vec<String>,
    doubts: Vec<String>,
}

/// A run under control.
pub(crate) struct Control {
    cluster: Cluster,
    fleet: Fleet,
    run: RunId,
    spec: RunSpec,
    state: State,
    revision: u64,
    saved: Saved,
    known: BTreeSet<String>,
    /// When each task was last heard of or sent.
    sent: BTreeMap<u64, Instant>,
    /// Whether what is to be saved has changed.
    changed: bool,
    /// Leases whose tasks are still to be sent.
    unsent: Vec<u64>,
    /// Results that are still to be acknowledged.
    unacknowledged: Vec<Message>,
    /// Whether tasks that were sent are of no use any more.
    void: bool,
    refusing: BTreeSet<String>,
    /// When it was last looked who refuses.
    asked: Option<Instant>,
    written: Instant,
    counted: Instant,
}

/// Takes a run over, unless somebody else is faster.
pub(crate) async fn claim(
    cluster: &Cluster,
    fleet: &Fleet,
    run: &RunId,
    mut state: State,
    revision: u64,
) -> Result<Option<Control>, ClusterError> {
    if state.holder.is_some() || state.snapshot.is_some() {
        state.progress.takeovers += 1;
    }
    state.holder = Some(cluster.id.clone());
    state.beat += 1;
    let Written::Yes(revision) = cluster.write(run, &state, revision).await? else { return Ok(None) };
    let found = load(cluster, run, &state).await;
    let (spec, saved) = match found {
        Ok(found) => found,
        Err(error) => {
            // If it is only a matter of time, another attempt is made when the claim has run out.
            if !error.is_passing() {
                state.status = Status::Failed { reason: error.to_string() };
                (state.holder, state.ended) = (None, Some(now()));
                cluster.write(run, &state, revision).await?;
            }
            return Err(error);
        }
    };
    let known = saved.findings.iter().map(|(key, _)| key.clone()).collect();
    let unsent = saved.tasks.keys().copied().collect();
    let sent = saved.tasks.keys().map(|lease| (*lease, Instant::now())).collect();
    Ok(Some(Control {
        cluster: cluster.clone(),
        fleet: fleet.clone(),
        run: run.clone(),
        spec,
        state,
        revision,
        saved,
        known,
        sent,
        changed: false,
        unsent,
        unacknowledged: Vec::new(),
        void: false,
        refusing: BTreeSet::new(),
        asked: None,
        written: Instant::now(),
        counted: Instant::now(),
    }))
}

async fn load(cluster: &Cluster, run: &RunId, state: &State) -> Result<(RunSpec, Saved), ClusterError> {
    let spec = cluster.patiently(|| cluster.spec(run)).await?;
    let Some(object) = state.snapshot else {
        let controller = Controller::new(spec.rule, Pace::REMOTE);
        return Ok((
            spec,
            Saved {
                controller,
                tasks: BTreeMap::new(),
                findings: Vec::new(),
                warnings: Vec::new(),
                doubts: Vec::new(),
            },
        ));
    };
    let what = "the state of the controller";
    let bytes = cluster.patiently(|| cluster.get(run, object, what)).await?;
    let tampered = |reason| ClusterError::Tampered { what: what.to_owned(), run: run.clone(), reason };
    let saved: Saved = decode(&bytes).map_err(tampered)?;
    let leases: BTreeSet<u64> = saved.controller.leases().collect();
    if !saved.controller.is_intact() || !leases.iter().eq(saved.tasks.keys()) {
        return Err(tampered("its parts do not belong together".into()));
    }
    Ok((spec, saved))
}

/// Seconds since 1970.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

impl Control {
    /// Controls the run until it ends, somebody else does, or it is told to leave.
    pub(crate) async fn run(self, leave: watch::Receiver<bool>) -> Result<(), ClusterError> {
        let (cluster, run) = (self.cluster.clone(), self.run.clone());
        let ended = self.go_on(leave).await;
        if matches!(ended, Err(ClusterError::Fenced(_))) && matches!(cluster.state(&run).await, Ok(None)) {
            // It was removed, and what was sent in the last moment came too late for that.
            cluster.erase(&run).await?;
        }
        ended
    }

    async fn go_on(mut self, leave: watch::Receiver<bool>) -> Result<(), ClusterError> {
        let cluster = self.cluster.clone();
        let open = async |run: &RunId| {
            cluster.patiently(|| cluster.open_mail(Mail::Tasks, run)).await?;
            cluster.patiently(|| cluster.open_mail(Mail::Results, run)).await
        };
        let mut results = open(&self.run).await?;
        self.send_tasks().await?;
        let mut reached = Instant::now();
        loop {
            let leaving = *leave.borrow();
            match self.receive(&results, leaving).await {
                Ok(messages) => {
                    reached = Instant::now();
                    for message in messages {
                        self.take_in(message).await?;
                    }
                }
                Err(error) if !error.is_passing() || reached.elapsed() > self.cluster.timing.outage => {
                    return Err(error);
                }
                Err(_) => {
                    if leaving {
                        return Ok(());
                    }
                    tokio::time::sleep(TICK).await;
                    results = open(&self.run).await?;
                }
            }
            self.count();
            let ended = self.is_over();
            if ended.is_none() && !leaving {
                self.ask_who_refuses().await;
                self.release();
                self.assign();
            }
            if leaving || ended.is_some() {
                self.state.holder = None;
            }
            if let Some(exhausted) = ended {
                return self.finish(exhausted).await;
            }
            if self.changed || leaving || self.written.elapsed() > self.cluster.timing.claim / 4 {
                self.save().await?;
            }
            if leaving {
                self.cluster.flush().await;
                return Ok(());
            }
        }
    }

    async fn receive(&self, results: &PullConsumer, leaving: bool) -> Result<Vec<Message>, ClusterError> {
        let messages = pull::take(results, BATCH).await?;
        if messages.is_empty() && !leaving { pull::wait(results, TICK).await } else { Ok(messages) }
    }

    /// Takes in a result.
    async fn take_in(&mut self, message: Message) -> Result<(), ClusterError> {
        let read = decode::<ResultMessage>(&message.payload).ok().filter(|result| result.version == VERSION);
        let Some(result) = read else {
            self.state.progress.malformed += 1;
            self.unacknowledged.push(message);
            self.changed = true;
            return Ok(());
        };
        self.unacknowledged.push(message);
        self.changed = true;
        let lease = result.lease;
        if !self.saved.tasks.contains_key(&lease) {
            self.state.progress.stale += 1;
            return Ok(());
        }
        let what = "a result";
        let body = result.body;
        let bytes = self.cluster.patiently(|| self.cluster.unpack(&self.run, body.clone(), what)).await;
        let returned = match bytes {
            Ok(bytes) => decode::<Returned>(&bytes).ok().filter(|returned| returned.done.lease == lease),
            Err(error) if error.is_passing() => return Err(error),
            Err(_) => None,
        };
        let Some(Returned { done, findings, estimate, warnings, doubts, cpu }) = returned else {
            self.state.progress.malformed += 1;
            self.forget_lease(lease, true);
            return Ok(());
        };
        match self.saved.controller.accept(done) {
            Accepted::Counts => {
                self.forget_lease(lease, false);
                let progress = &mut self.state.progress;
                progress.results += 1;
                progress.redeliveries += result.deliveries.saturating_sub(1).min(1_000);
                progress.busy_millis += result.busy_micros.min(MOST_MICROS) / 1_000;
                progress.cpu_micros += u64::try_from(cpu.as_micros()).unwrap_or(u64::MAX).min(MOST_MICROS);
                let makes_sense = |e: &Estimate| [e.ln, e.low, e.high].iter().all(|number| number.is_finite());
                progress.estimate = estimate.filter(makes_sense).or(progress.estimate);
                keep_each_once(&mut self.saved.warnings, warnings);
                keep_each_once(&mut self.saved.doubts, doubts);
                self.keep_findings(findings).await?;
            }
            Accepted::Restarted => {
                self.saved.tasks.clear();
                self.sent.clear();
                self.unsent.clear();
                self.void = true;
                self.state.progress.estimate = None;
                self.keep_findings(findings).await?;
            }
            Accepted::Stale => {
                self.forget_lease(lease, false);
                self.state.progress.stale += 1;
            }
            Accepted::Malformed => {
                self.forget_lease(lease, false);
                self.state.progress.malformed += 1;
            }
        }
        Ok(())
    }

    fn forget_lease(&mut self, lease: u64, release: bool) {
        self.saved.tasks.remove(&lease);
        self.sent.remove(&lease);
        if release {
            self.saved.controller.release(lease);
        }
    }

    /// Keeps findings, each once.
    async fn keep_findings(&mut self, findings: Vec<Finding>) -> Result<(), ClusterError> {
        for finding in findings {
            if self.saved.findings.len() >= MOST_FINDINGS || !self.known.insert(finding.key.clone()) {
                continue;
            }
            let here = |parcel: &Parcel| if let Parcel::Here(bytes) = parcel { bytes.len() } else { 0 };
            let kept: usize = self.saved.findings.iter().map(|(_, parcel)| here(parcel)).sum();
            let parcel = if kept + finding.record.len() <= INLINE_FINDINGS {
                Parcel::Here(finding.record)
            } else {
                let stored = self.cluster.patiently(|| self.cluster.put(&self.run, &finding.record)).await?;
                Parcel::Stored(stored)
            };
            self.saved.findings.push((finding.key, parcel));
        }
        Ok(())
    }

    /// How many fragments the workers can explore at a time.
    fn slots(&self) -> usize {
        let able = self.fleet.live().into_iter().filter(|worker| !self.refusing.contains(&worker.id));
        able.map(|worker| worker.slots as usize).sum::<usize>().min(100_000)
    }

    async fn ask_who_refuses(&mut self) {
        if self.asked.is_some_and(|asked| asked.elapsed() < self.cluster.timing.beat) {
            return;
        }
        self.asked = Some(Instant::now());
        // Without an answer, it is as it was.
        if let Ok(refusals) = self.cluster.refusals(&self.run).await {
            self.refusing = refusals.into_iter().map(|(worker, _)| worker).collect();
        }
    }

    /// Takes back what nobody answers for although somebody could.
    fn release(&mut self) {
        if self.slots() == 0 {
            // Nobody is there to answer.
            self.sent.values_mut().for_each(|at| *at = Instant::now());
            return;
        }
        let patience = self.cluster.timing.patience;
        let silent: Vec<u64> =
            self.sent.iter().filter(|(_, at)| at.elapsed() > patience).map(|(lease, _)| *lease).collect();
        for lease in silent {
            self.forget_lease(lease, true);
            self.state.progress.released += 1;
            self.changed = true;
        }
    }

    /// Makes tasks: one for every place of a worker, and some that wait, so that nobody has to.
    fn assign(&mut self) {
        let slots = self.slots();
        let wanted = slots + slots / 2 + 1;
        while self.saved.tasks.len() < wanted {
            let idle = slots.saturating_sub(self.saved.tasks.len()).max(1);
            let elapsed = self.state.progress.millis.saturating_mul(1_000);
            let Some(task) = self.saved.controller.assign(idle, slots.max(1), elapsed) else { break };
            self.unsent.push(task.lease);
            self.sent.insert(task.lease, Instant::now());
            self.saved.tasks.insert(task.lease, task);
            self.changed = true;
        }
    }

    /// Brings the numbers up to date.
    fn count(&mut self) {
        let passed = self.counted.elapsed().as_millis() as u64;
        self.counted += Duration::from_millis(passed);
        let slots = self.slots() as u64;
        let progress = &mut self.state.progress;
        progress.millis += passed;
        progress.offered_millis += passed * slots;
        progress.slots = slots;
        let division = self.saved.controller.division();
        progress.summary = self.saved.controller.total();
        progress.waiting = division.waiting as u64;
        progress.assigned = self.saved.tasks.len() as u64;
        progress.restarts = u64::from(division.restarts);
        progress.findings = self.saved.findings.len() as u64;
    }

    /// Whether the run is over, and then whether everything is explored.
    fn is_over(&self) -> Option<bool> {
        let (limits, progress) = (&self.spec.limits, &self.state.progress);
        if self.saved.controller.is_finished() {
            return Some(true);
        }
        let enough = limits.executions.is_some_and(|most| progress.summary.executions >= most)
            || limits.millis.is_some_and(|most| progress.millis >= most)
            || !limits.keep_going && progress.findings > 0;
        enough.then_some(false)
    }

    /// Changes the entry of the run; whoever cannot is no controller any more.
    async fn write(&mut self) -> Result<(), ClusterError> {
        self.state.beat += 1;
        match self.cluster.write(&self.run, &self.state, self.revision).await? {
            Written::Yes(revision) => self.revision = revision,
            Written::Fenced => return Err(ClusterError::Fenced(self.run.clone())),
        }
        self.written = Instant::now();
        Ok(())
    }

    /// Saves, then acknowledges, then sends.
    async fn save(&mut self) -> Result<(), ClusterError> {
        let old = self.state.snapshot;
        if self.changed || old.is_none() {
            self.count();
            let bytes = encode(&self.saved);
            let new = self.cluster.patiently(|| self.cluster.put(&self.run, &bytes)).await?;
            self.state.snapshot = Some(new);
            // If this fails, what was stored stays: whoever took over may have come to the very same state, and rely on it.
            self.write().await?;
            if let Some(object) = old.filter(|old| *old != new) {
                let (cluster, run) = (self.cluster.clone(), self.run.clone());
                // What is not removed now is removed with the run.
                tokio::spawn(async move { cluster.remove(&run, object).await });
            }
            self.changed = false;
        } else {
            self.write().await?;
        }
        if std::mem::take(&mut self.void) {
            // They would be explored in vain.
            let _ = self.cluster.discard(Mail::Tasks, &self.run).await;
        }
        for message in self.unacknowledged.drain(..) {
            // A result whose acknowledgement is lost comes again, and is then stale.
            let _ = message.ack().await;
        }
        self.send_tasks().await
    }

    async fn send_tasks(&mut self) -> Result<(), ClusterError> {
        let unsent = std::mem::take(&mut self.unsent);
        let (cluster, run) = (&self.cluster, &self.run);
        let births = &if unsent.is_empty() { Vec::new() } else { self.saved.controller.births(0) };
        let sending =
            unsent.iter().filter_map(|lease| Some((*lease, self.saved.tasks.get(lease)?))).map(|(lease, task)| {
                cluster.patiently(move || async move {
                    let known = births[..task.names.min(births.len())].to_vec();
                    let body = cluster.pack(run, encode(&Sent { task: task.clone(), births: known })).await?;
                    let message = TaskMessage { version: VERSION, lease, body };
                    cluster.send(Mail::Tasks, run, lease, encode(&message)).await
                })
            });
        futures_util::future::try_join_all(sending).await?;
        for lease in unsent {
            self.sent.insert(lease, Instant::now());
        }
        Ok(())
    }

    /// Ends the run.
    async fn finish(mut self, exhausted: bool) -> Result<(), ClusterError> {
        self.count();
        let mut keep: Vec<ObjectRef> = Vec::new();
        for (_, parcel) in &self.saved.findings {
            if let Parcel::Stored(object) = parcel {
                keep.push(*object);
            }
        }
        if exhausted {
            self.state.progress.estimate = None;
        }
        let Saved { findings, warnings, doubts, .. } = &mut self.saved;
        let (findings, warnings) = (std::mem::take(findings), std::mem::take(warnings));
        let doubts = std::mem::take(doubts);
        let outcome = Outcome { exhausted, progress: self.state.progress.clone(), warnings, doubts, findings };
        let bytes = encode(&outcome);
        let result = self.cluster.patiently(|| self.cluster.put(&self.run, &bytes)).await?;
        keep.push(result);
        self.state.status = Status::Finished;
        (self.state.snapshot, self.state.result) = (None, Some(result));
        self.state.ended = Some(now());
        self.write().await?;
        // What cannot be removed now is removed with the run.
        let _ = self.cluster.clean(&self.run, &keep).await;
        Ok(())
    }
}

/// Keeps what workers say, each thing once. A doubt that is too long is kept in part: it must not get lost.
fn keep_each_once(kept: &mut Vec<String>, said: Vec<String>) {
    for mut text in said {
        if text.len() > LONGEST_WARNING {
            let end = (0..=LONGEST_WARNING).rev().find(|end| text.is_char_boundary(*end));
            text.truncate(end.unwrap_or(0));
        }
        if kept.len() < MOST_WARNINGS && !kept.contains(&text) {
            kept.push(text);
        }
    }
}
