//! What `--format json` prints. The schema of the check's object is in `docs/check.schema.json`.

use crate::check;
use crate::problem::{self, Problem};
use ordain_model::Level;
use ordain_native::{LEVEL, Report};
use ordain_report::{Estimate, Note, Sight, Story, Workers};
use serde::Serialize;
use std::path::Path;

/// The version of all objects here; it changes when a field changes its meaning or goes away.
pub(crate) const VERSION: u32 = 2;

/// The result of `ordain check`.
#[derive(Serialize)]
pub(crate) struct Check {
    version: u32,
    verdict: &'static str,
    meaning: String,
    level: Level,
    program: String,
    arguments: Vec<String>,
    mode: &'static str,
    mode_reason: String,
    strategy: &'static str,
    executions: u64,
    cross_checked: u64,
    blocked: u64,
    steps: u64,
    threads_max: usize,
    depth_max: usize,
    exhausted: bool,
    estimate: Option<serde_json::Number>,
    estimate_log10: Option<Estimate>,
    findings: Vec<Finding>,
    notes: Vec<Note>,
    sight: Sight,
    unmet: Option<String>,
    wall_seconds: f64,
    cpu_seconds: f64,
    executions_per_cpu_second: Option<f64>,
    workers: Option<Workers>,
    resumable: bool,
}

impl Check {
    pub(crate) fn new(check: &ordain_native::Check, report: &Report, unmet: Option<String>) -> Self {
        Self {
            version: VERSION,
            verdict: report.verdict.name(),
            meaning: report.meaning.clone(),
            level: LEVEL,
            program: check.launch.program.to_string_lossy().into_owned(),
            arguments: lossy(&check.launch.arguments),
            mode: report.mode.name(),
            mode_reason: report.mode_reason.clone(),
            strategy: report.strategy,
            executions: report.summary.executions,
            cross_checked: report.cross_checked,
            blocked: report.summary.blocked,
            steps: report.summary.steps,
            threads_max: report.summary.threads,
            depth_max: report.summary.depth,
            exhausted: report.summary.exhausted,
            estimate: report.estimate.and_then(total),
            estimate_log10: report.estimate,
            findings: report.findings.iter().map(Finding::from).collect(),
            notes: report.notes.clone(),
            sight: report.sight,
            unmet,
            wall_seconds: report.wall.as_secs_f64(),
            cpu_seconds: report.cpu.as_secs_f64(),
            executions_per_cpu_second: check::rate(report),
            workers: report.workers,
            resumable: report.resumable,
        }
    }
}

/// A check that was submitted to a cluster, and goes on there.
#[cfg(feature = "cluster")]
#[derive(Serialize)]
pub(crate) struct Submitted<'a> {
    version: u32,
    run: &'a str,
}

#[cfg(feature = "cluster")]
impl<'a> Submitted<'a> {
    pub(crate) fn new(run: &'a str) -> Self {
        Self { version: VERSION, run }
    }
}

/// The result of `ordain check --cluster`.
#[cfg(feature = "cluster")]
#[derive(Serialize)]
pub(crate) struct ClusterCheck<'a> {
    version: u32,
    verdict: &'static str,
    meaning: &'a str,
    level: Level,
    program: &'a str,
    strategy: &'a str,
    executions: u64,
    blocked: u64,
    steps: u64,
    threads_max: usize,
    depth_max: usize,
    exhausted: bool,
    estimate: Option<serde_json::Number>,
    estimate_log10: Option<Estimate>,
    findings: Vec<Finding>,
    notes: &'a [Note],
    sight: Sight,
    unmet: Option<&'a str>,
    wall_seconds: f64,
    cluster: Division<'a>,
}

/// How a search was divided.
#[cfg(feature = "cluster")]
#[derive(Serialize)]
struct Division<'a> {
    run: &'a str,
    slots: u64,
    utilisation: f64,
    fragments: u64,
    fragments_assigned: u64,
    fragments_waiting: u64,
    redeliveries: u64,
    stale: u64,
    malformed: u64,
    released: u64,
    takeovers: u64,
    restarts: u64,
    worker_seconds: f64,
}

#[cfg(feature = "cluster")]
impl<'a> ClusterCheck<'a> {
    pub(crate) fn new(
        run: &'a str,
        record: &'a ordain_report::Run,
        files: Vec<Option<std::path::PathBuf>>,
        progress: &ordain_cluster::Progress,
    ) -> Self {
        let findings = record.findings.iter().zip(&files).map(|(story, file)| Finding::new(story, file.as_deref()));
        Self {
            version: VERSION,
            verdict: record.verdict.name(),
            meaning: &record.meaning,
            level: record.level,
            program: &record.program,
            strategy: &record.strategy,
            executions: record.executions,
            blocked: record.blocked,
            steps: record.steps,
            threads_max: record.threads,
            depth_max: record.depth,
            exhausted: record.exhausted,
            estimate: record.estimate.and_then(total),
            estimate_log10: record.estimate,
            findings: findings.collect(),
            notes: &record.notes,
            sight: record.sight,
            unmet: record.unmet.as_deref(),
            wall_seconds: record.wall_seconds,
            cluster: Division {
                run,
                slots: progress.slots,
                utilisation: progress.utilisation(),
                fragments: progress.results,
                fragments_assigned: progress.assigned,
                fragments_waiting: progress.waiting,
                redeliveries: progress.redeliveries,
                stale: progress.stale,
                malformed: progress.malformed,
                released: progress.released,
                takeovers: progress.takeovers,
                restarts: progress.restarts,
                worker_seconds: progress.busy_millis as f64 / 1000.0,
            },
        }
    }
}

/// What was estimated: a whole number, as such as long as that is exact.
fn total(estimate: Estimate) -> Option<serde_json::Number> {
    let value = 10f64.powf(estimate.log10).round();
    if value < 1e15 { Some((value as u64).into()) } else { serde_json::Number::from_f64(value) }
}

/// A confirmed misbehaviour.
#[derive(Serialize)]
pub(crate) struct Finding {
    kind: &'static str,
    message: String,
    schedule: Option<String>,
    steps: usize,
    preemptions: usize,
    found_with: Option<FoundWith>,
    threads: Vec<Thread>,
}

/// How large the schedule was before it was made smaller.
#[derive(Serialize)]
struct FoundWith {
    steps: usize,
    preemptions: usize,
}

#[derive(Serialize)]
struct Thread {
    name: String,
    doing: Option<String>,
    frames: Vec<Frame>,
}

#[derive(Serialize)]
struct Frame {
    function: Option<String>,
    file: Option<String>,
    line: Option<u32>,
    module: String,
    offset: u64,
}

impl From<&ordain_native::Finding> for Finding {
    fn from(finding: &ordain_native::Finding) -> Self {
        Self::new(&finding.story, finding.file.as_deref())
    }
}

impl Finding {
    fn new(story: &Story, file: Option<&Path>) -> Self {
        let threads = story.threads.iter().map(|thread| Thread {
            name: thread.name.clone(),
            doing: thread.doing.clone(),
            frames: thread.frames.iter().map(Frame::from).collect(),
        });
        Self {
            kind: story.kind.name(),
            message: story.message(),
            schedule: file.map(|file| file.to_string_lossy().into_owned()),
            steps: story.size.steps,
            preemptions: story.size.preemptions,
            found_with: story.shrunk.map(|s| FoundWith { steps: s.from.steps, preemptions: s.from.preemptions }),
            threads: threads.collect(),
        }
    }
}

impl From<&ordain_report::Frame> for Frame {
    fn from(frame: &ordain_report::Frame) -> Self {
        Self {
            function: frame.function.clone(),
            file: frame.place.as_ref().map(|place| place.file.clone()),
            line: frame.place.as_ref().map(|place| place.line),
            module: frame.module.clone(),
            offset: frame.offset,
        }
    }
}

/// The result of `ordain replay` of a program.
#[derive(Serialize)]
pub(crate) struct Replay {
    pub(crate) version: u32,
    pub(crate) schedule: String,
    pub(crate) program: String,
    pub(crate) arguments: Vec<String>,
    pub(crate) program_changed: bool,
    pub(crate) times: u32,
    pub(crate) shown: u32,
    pub(crate) ended_well: u32,
    pub(crate) departed: u32,
    pub(crate) departure: Option<String>,
    pub(crate) finding: Option<Finding>,
}

/// Why a command could not do its work.
#[derive(Serialize)]
pub(crate) struct Trouble {
    version: u32,
    error: Error,
}

#[derive(Serialize)]
struct Error {
    message: String,
    help: Option<String>,
}

impl From<&Problem> for Trouble {
    fn from(problem: &Problem) -> Self {
        let (message, help) = problem::texts(problem);
        Self { version: VERSION, error: Error { message, help } }
    }
}

/// Arguments as text.
pub(crate) fn lossy(arguments: &[std::ffi::OsString]) -> Vec<String> {
    arguments.iter().map(|a| a.to_string_lossy().into_owned()).collect()
}
