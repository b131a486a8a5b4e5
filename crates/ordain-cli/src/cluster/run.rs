//! `ordain check --cluster`: submits a check, watches it, and tells what came of it, as a check on this machine would.

use super::connection::{Connection, block_on, follow};
use super::spec::{Record, submission};
use crate::check::plural;
use crate::exports::Exports;
use crate::options::Format;
use crate::problem::Problem;
use crate::progress::{Live, large, time};
use crate::{Outcome, json, look, output, replay_line};
use ordain_cluster::{Cluster, Ending, Finding, RunId, View};
use ordain_native::{Check, LEVEL};
use ordain_report::terminal::{self, Next};
use ordain_report::{Run, Story, Verdict, store};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How a run is watched.
pub(crate) struct Watch<'a> {
    pub(crate) url: &'a str,
    pub(crate) connection: &'a Connection,
    pub(crate) quiet: bool,
    pub(crate) format: Format,
    pub(crate) exports: &'a Exports,
    /// Where the result goes; by default a directory named after the run.
    pub(crate) directory: Option<PathBuf>,
}

/// What is submitted, or come back to.
pub(crate) enum Subject<'a> {
    Submit { check: &'a Check, test: Option<&'a str>, detach: bool },
    Attach(RunId),
}

/// Submits a check or comes back to one.
pub(crate) fn check(watch: &Watch<'_>, subject: &Subject<'_>) -> Result<Outcome, Problem> {
    let mut live = Live::start(watch.quiet);
    let ended = block_on(async {
        let cluster = Cluster::connect(&watch.connection.access(watch.url)?, watch.connection.timing()).await?;
        let run = match subject {
            Subject::Attach(run) => run.clone(),
            Subject::Submit { check, test, detach } => {
                let run = ordain_cluster::submit(&cluster, &submission(check, *test)?).await?;
                if *detach {
                    return Ok((run, None));
                }
                live.say(&format!("run {run}; Ctrl-C leaves it to the workers"));
                run
            }
        };
        let stop = follow(live.flag());
        let ending = ordain_cluster::attach(&cluster, &run, stop, &mut |view| see(&mut live, view)).await?;
        match &ending {
            // It was fetched, so nobody needs it any more.
            Ending::Finished(..) | Ending::Failed(_) => ordain_cluster::forget(&cluster, &run).await?,
            Ending::Refused(_) => ordain_cluster::cancel(&cluster, &run).await?,
            Ending::Cancelled | Ending::Left => {}
        }
        Ok((run, Some(ending)))
    });
    live.end();
    let (run, ending) = ended?;
    match ending {
        None | Some(Ending::Left) => {
            output::tell(&left(&run, watch.url));
            if watch.format == Format::Json {
                output::write_json(&json::Submitted::new(run.as_str()))?;
            }
            Ok(Outcome::Clean)
        }
        Some(Ending::Cancelled) => Err(Problem::RunCancelled { run: run.to_string() }),
        Some(Ending::Failed(reason)) => Err(Problem::RunFailed { run: run.to_string(), reason }),
        Some(Ending::Refused(refusals)) => {
            let reasons = refusals.iter().map(|(worker, reason)| format!("worker {worker} cannot run it: {reason}"));
            Err(Problem::AllRefuse { reasons: output::printable_lines(&reasons.collect::<Vec<_>>().join("\n")) })
        }
        Some(Ending::Finished(outcome, findings)) => tell(watch, &run, &outcome, &findings, subject),
    }
}

fn left(run: &RunId, url: &str) -> String {
    // Secrets in the URL are not repeated.
    let url = ordain_cluster::Access::new(url).shown();
    format!(
        "run {run} goes on without this command\n  come back  ordain check --cluster {url} --attach {run}\n  \
         cancel     ordain cluster cancel {url} {run}\n"
    )
}

/// Shows how far a run is.
fn see(live: &mut Live, view: &View<'_>) {
    live.show(|| progress(view));
}

/// How far a run is, in a line.
fn progress(view: &View<'_>) -> String {
    if let Some(away) = view.away {
        return format!("the server has been away for {}; nothing is lost, waiting ...", time(away));
    }
    let Some(state) = view.state else { return "waiting for the server ...".to_owned() };
    let progress = &state.progress;
    let elapsed = Duration::from_millis(progress.millis);
    let mut text = format!("{}: {} executions", time(elapsed), large(progress.summary.executions));
    if let Some(rate) = (progress.summary.executions * 1000).checked_div(progress.millis) {
        let _ = write!(text, ", {} per second", large(rate));
    }
    if view.workers.is_empty() {
        text.push_str(", no workers (start some: ordain worker URL)");
    } else {
        let slots: u32 = view.workers.iter().map(|worker| worker.slots).sum();
        let used: f64 = view.workers.iter().map(|worker| worker.utilisation * f64::from(worker.slots)).sum();
        let busy = 100.0 * used / f64::from(slots.max(1));
        let _ = write!(text, ", {} ({slots} slots, {busy:.0} % busy)", plural(view.workers.len() as u64, "worker"));
    }
    let _ = write!(text, ", fragments: {} assigned, {} waiting", progress.assigned, progress.waiting);
    if progress.redeliveries > 0 {
        let _ = write!(text, ", {} delivered again", progress.redeliveries);
    }
    if progress.findings > 0 {
        let _ = write!(text, ", {}", plural(progress.findings, "finding"));
    }
    if let Some((_, reason)) = view.refusals.first() {
        let _ = write!(
            text,
            ", {} cannot run it: {}",
            plural(view.refusals.len() as u64, "worker"),
            output::printable(reason)
        );
    }
    text
}

/// A finding that came back, and where its schedule was written.
struct Returned {
    story: Story,
    file: Result<PathBuf, String>,
}

fn tell(
    watch: &Watch<'_>,
    run: &RunId,
    outcome: &ordain_cluster::Outcome,
    findings: &[Finding],
    subject: &Subject<'_>,
) -> Result<Outcome, Problem> {
    let default = || match subject {
        Subject::Submit { check, .. } => check.directory.clone().unwrap_or_else(|| Path::new(".ordain").into()),
        Subject::Attach(run) => Path::new(".ordain").join(run.as_str()),
    };
    let directory = watch.directory.clone().unwrap_or_else(default);
    let mut returned = Vec::new();
    for (number, finding) in findings.iter().enumerate() {
        // It comes from a worker, which may be of another version.
        let Ok(record) = serde_json::from_slice::<Record>(&finding.record) else {
            return Err(Problem::RunFailed { run: run.to_string(), reason: "a finding cannot be read".into() });
        };
        let name = format!("{}-{}.ordain", record.story.kind.word().replace(' ', "-"), number + 1);
        let schedule = match (&record.path, subject) {
            (Some(there), Subject::Submit { check, .. }) => {
                record.schedule.replace(there.as_str(), &check.launch.program.to_string_lossy())
            }
            _ => record.schedule,
        };
        let file = store::write(&directory, &name, schedule.as_bytes());
        returned.push(Returned { story: record.story, file });
    }
    let record = record_of(run, outcome, &returned, subject);
    let kept = store::write_run(&directory, &record);
    let mut text = String::new();
    for found in &returned {
        let mut next = Next::default();
        match &found.file {
            Ok(file) => next.commands.push(("replay".into(), replay_line::for_file(file))),
            Err(error) => next.trouble = Some(format!("The schedule file could not be written ({error}).")),
        }
        next.commands.push(("explain".into(), replay_line::explain(found.story.kind)));
        let _ = writeln!(text, "{}", terminal::finding(&found.story, look::of_errors(), &next));
    }
    text.push_str(&output::printable_lines(&summary(run, outcome, &record)));
    if let Err(error) = &kept {
        let _ = writeln!(text, "  note      the record of the run could not be written ({})", output::printable(error));
    }
    output::tell(&text);
    if watch.format == Format::Json {
        let files = returned.iter().map(|found| found.file.clone().ok()).collect();
        output::write_json(&json::ClusterCheck::new(run.as_str(), &record, files, &outcome.progress))?;
    }
    watch.exports.write(std::slice::from_ref(&record))?;
    Ok(if returned.is_empty() { Outcome::Clean } else { Outcome::Finding })
}

/// The run as data, as that of a check on one machine.
fn record_of(run: &RunId, outcome: &ordain_cluster::Outcome, found: &[Returned], subject: &Subject<'_>) -> Run {
    let progress = &outcome.progress;
    // A program in which almost nothing is visible is not verified by looking at that.
    let few = match subject {
        Subject::Submit { check, test: None, .. } if check.binary.rust => 2 * progress.summary.threads,
        _ => 0,
    };
    let is_test = matches!(subject, Subject::Submit { test: Some(_), .. });
    let blind = !is_test && progress.summary.threads > 1 && progress.summary.visible <= few;
    let (verdict, meaning) = match (found, outcome.exhausted) {
        ([], true) if blind => (
            Verdict::NoFinding,
            format!("no finding at level {LEVEL}: almost nothing was visible, so almost nothing was explored"),
        ),
        ([], true) => (Verdict::Verified, format!("verified at level {LEVEL}: holds if the program has no data races")),
        ([], false) => (
            Verdict::NoFinding,
            format!("no finding at level {LEVEL}: the budget ended before everything was explored"),
        ),
        ([one], _) => (Verdict::Finding, format!("finding: {}", one.story.kind.word())),
        (several, _) => (Verdict::Finding, format!("finding: {} different ones", several.len())),
    };
    let program = match subject {
        Subject::Submit { check, .. } => ordain_native::command_line(&check.launch),
        Subject::Attach(_) => run.to_string(),
    };
    let mut notes = match subject {
        Subject::Submit { test: Some(test), .. } => {
            vec![format!("explored is the first check that the test `{test}` makes")]
        }
        _ => Vec::new(),
    };
    if progress.summary.spun {
        notes.push(
            "threads that wait in a loop were held after some idle rounds; more rounds were not explored".to_owned(),
        );
    }
    if blind {
        notes.push(format!(
            "ALMOST NOTHING WAS VISIBLE: {} threads, but only {} synchronisation calls in an execution; it may synchronise by atomics or \
             flags, which level sync does not see",
            progress.summary.threads, progress.summary.visible
        ));
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Run {
        version: Run::VERSION,
        program,
        ordain: env!("CARGO_PKG_VERSION").to_owned(),
        began: now.saturating_sub(Duration::from_millis(progress.millis)).as_secs(),
        verdict,
        meaning,
        notes,
        level: LEVEL.to_owned(),
        mode: None,
        strategy: "optimal".to_owned(),
        executions: progress.summary.executions,
        blocked: progress.summary.blocked,
        steps: progress.summary.steps,
        threads: progress.summary.threads,
        depth: progress.summary.depth,
        exhausted: outcome.exhausted,
        interrupted: false,
        estimate: None,
        wall_seconds: progress.millis as f64 / 1000.0,
        cpu_seconds: progress.busy_millis as f64 / 1000.0,
        progress: Vec::new(),
        path: Vec::new(),
        findings: found.iter().map(|found| found.story.clone()).collect(),
    }
}

fn summary(run: &RunId, outcome: &ordain_cluster::Outcome, record: &Run) -> String {
    let progress = &outcome.progress;
    let mut text = format!("{}\n", record.meaning);
    let mut line = |key: &str, value: String| {
        let _ = writeln!(text, "  {key:<10}{value}");
    };
    line(
        "explored",
        format!("{} executions; up to {} threads and {} steps", large(record.executions), record.threads, record.depth),
    );
    line("took", format!("{:.3} s, {:.3} s of the workers' time", record.wall_seconds, record.cpu_seconds));
    line(
        "cluster",
        format!(
            "run {run}: {} fragments, {:.0} % of {} slots used, {} delivered again, {} came too late, {}",
            progress.results,
            100.0 * progress.utilisation(),
            progress.slots,
            progress.redeliveries,
            progress.stale,
            plural(progress.takeovers + 1, "controller")
        ),
    );
    for note in &record.notes {
        let _ = writeln!(text, "  note      {note}");
    }
    text
}
