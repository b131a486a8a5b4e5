//! `ordain check --cluster`: submits a check, watches it, and tells what came of it, as a check on this machine would.

use super::connection::{Connection, block_on, follow};
use super::spec::{Description, Record, submission};
use crate::check::{default_directory, notes, outcome_of, plural};
use crate::exports::Exports;
use crate::options::Format;
use crate::outcome::{Outcome, despite};
use crate::problem::Problem;
use crate::progress::{Live, large, plural_large, time};
use crate::{json, look, output, replay_line};
use ordain_check::verdict::{Conclusion, Evidence, SPINNING};
use ordain_cluster::{Cluster, Ending, Finding, RunId, View};
use ordain_explore::Coverage;
use ordain_native::Check;
use ordain_report::terminal::{self, Next};
use ordain_report::{Estimate, Kind, Note, Require, Run, Sight, Story, Workers, store};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How a run is watched.
pub(crate) struct Watch<'a> {
    pub(crate) url: &'a str,
    pub(crate) connection: &'a Connection,
    pub(crate) quiet: bool,
    /// What the run must reach.
    pub(crate) require: Option<Require>,
    pub(crate) format: Format,
    pub(crate) exports: &'a Exports,
    /// Where the result goes; by default a directory named after the program.
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
        let (run, spec) = match subject {
            Subject::Attach(run) => (run.clone(), ordain_cluster::specification(&cluster, run).await?),
            Subject::Submit { check, test, detach } => {
                let submission = submission(check, *test)?;
                let run = ordain_cluster::submit(&cluster, &submission).await?;
                if *detach {
                    return Ok((run, None));
                }
                live.say(&format!("run {run}; Ctrl-C leaves it to the workers"));
                (run, submission.spec)
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
        Ok((run, Some((ending, Description::new(&spec)))))
    });
    live.end();
    let (run, ended) = ended?;
    let Some((ending, about)) = ended else { return leave(watch, &run) };
    match ending {
        Ending::Left => leave(watch, &run),
        Ending::Cancelled => Err(Problem::RunCancelled { run: run.to_string() }),
        Ending::Failed(reason) => Err(Problem::RunFailed { run: run.to_string(), reason }),
        Ending::Refused(refusals) => {
            let reasons = refusals.iter().map(|(worker, reason)| format!("worker {worker} cannot run it: {reason}"));
            Err(Problem::AllRefuse { reasons: output::printable_lines(&reasons.collect::<Vec<_>>().join("\n")) })
        }
        Ending::Finished(outcome, findings) => tell(watch, &run, &about, &outcome, &findings),
    }
}

/// Tells how to come back.
fn leave(watch: &Watch<'_>, run: &RunId) -> Result<Outcome, Problem> {
    // Secrets in the URL are not repeated.
    let url = ordain_cluster::Access::new(watch.url).shown();
    output::tell(&format!(
        "run {run} goes on without this command\n  come back  ordain check --cluster {url} --attach {run}\n  \
         cancel     ordain cluster cancel {url} {run}\n"
    ));
    if watch.format == Format::Json {
        output::write_json(&json::Submitted::new(run.as_str()))?;
    }
    Ok(Outcome::Clean)
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
    let mut text = format!("{}: {}", time(elapsed), plural_large(progress.summary.executions, "execution"));
    if let Some(rate) = (progress.summary.executions * 1000).checked_div(progress.millis) {
        let _ = write!(text, ", {} per second", large(rate));
    }
    if let Some(estimate) = estimate(progress) {
        let _ = write!(text, ", {}", estimate.in_words("classes"));
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

/// How much there is, and how much of it is explored.
fn estimate(progress: &ordain_cluster::Progress) -> Option<Estimate> {
    let total = progress.estimate?;
    Some(Estimate::from_ln(total.ln, total.low, total.high, total.done).with_done(progress.summary.executions))
}

/// A finding that came back, and where its schedule was written.
struct Returned {
    story: Story,
    file: Result<PathBuf, String>,
}

fn tell(
    watch: &Watch<'_>,
    run: &RunId,
    about: &Description,
    outcome: &ordain_cluster::Outcome,
    findings: &[Finding],
) -> Result<Outcome, Problem> {
    if outcome.progress.summary.executions == 0 && findings.is_empty() {
        return Err(Problem::Native {
            problem: ordain_native::Problem::NothingRan { stopped: false, timed_out: true },
        });
    }
    let directory = watch.directory.clone().unwrap_or_else(|| default_directory(&about.path));
    let mut returned = Vec::new();
    for (number, finding) in findings.iter().enumerate() {
        // It comes from a worker, which may be of another version.
        let Ok(record) = serde_json::from_slice::<Record>(&finding.record) else {
            return Err(Problem::RunFailed { run: run.to_string(), reason: "a finding cannot be read".into() });
        };
        let name = store::finding_file(number + 1);
        let schedule = match &record.path {
            Some(there) => record.schedule.replace(there.as_str(), &about.path.to_string_lossy()),
            None => record.schedule,
        };
        let file = store::write(&directory, &name, schedule.as_bytes());
        returned.push(Returned { story: record.story, file });
    }
    let mut record = record_of(run, about, outcome, &returned);
    record.unmet = Require::unmet(watch.require, &record);
    let kept = store::write_run(&directory, &record);
    let machines = watch.format == Format::Json || watch.exports.use_output();
    let mut text = String::new();
    for found in &returned {
        let mut next = Next::default();
        match &found.file {
            Ok(file) => next.commands.push(("replay".into(), replay_line::for_file(file))),
            Err(error) => next.trouble = Some(format!("The schedule file could not be written ({error}).")),
        }
        next.commands.push(("explain".into(), replay_line::explain(found.story.kind)));
        let _ = writeln!(text, "{}", terminal::finding(&found.story, look::of_result(machines), &next));
    }
    text.push_str(&output::printable_lines(&summary(&record)));
    if let Err(error) = &kept {
        let _ = writeln!(text, "  note      the record of the run could not be written ({})", output::printable(error));
    }
    let mut written = output::show_beside(machines, &text);
    if watch.format == Format::Json {
        let files = returned.iter().map(|found| found.file.clone().ok()).collect();
        written = output::write_json(&json::ClusterCheck::new(run.as_str(), &record, files, &outcome.progress));
    }
    let outcome = outcome_of(&record);
    watch.exports.write_behind(std::slice::from_ref(&record), &[], despite(written, Ok(outcome)))
}

/// What the workers have to show.
fn evidence(run: &RunId, about: &Description, outcome: &ordain_cluster::Outcome, findings: Vec<Kind>) -> Evidence {
    let progress = &outcome.progress;
    let summary = progress.summary;
    let mut notes = vec![division(run, progress).into()];
    if outcome.exhausted && about.test.is_none() {
        notes.push("nothing was cross-checked by samples, which a check without --cluster does".into());
    }
    if let Some(test) = &about.test {
        notes.push(format!("explored is the first check that the test `{test}` makes").into());
    }
    notes.extend(outcome.warnings.iter().chain(&outcome.doubts).map(Note::warning));
    let blindness = if about.test.is_none() { ordain_native::blindness(about.rust, &summary) } else { None };
    let sight = match () {
        () if blindness.is_some() => Sight::Nothing,
        () if !outcome.doubts.is_empty() => Sight::Part,
        () => Sight::Whole,
    };
    notes.extend(blindness);
    Evidence {
        findings,
        summary,
        coverage: outcome.exhausted.then_some(Coverage::Everything),
        sight,
        estimate: match outcome.exhausted {
            true => Some(Estimate::exact(summary.executions)),
            false => estimate(progress),
        },
        held: summary.spun.then_some(SPINNING),
        timed_out: !outcome.exhausted && about.millis.is_some_and(|most| progress.millis >= most),
        notes,
        ..Evidence::none(about.level, about.strategy, about.options)
    }
}

/// The run as data, as that of a check on one machine.
fn record_of(run: &RunId, about: &Description, outcome: &ordain_cluster::Outcome, found: &[Returned]) -> Run {
    let progress = &outcome.progress;
    let evidence = evidence(run, about, outcome, found.iter().map(|found| found.story.kind).collect());
    let (sight, estimate) = (evidence.sight, evidence.estimate);
    let Conclusion { verdict, meaning, notes } = evidence.conclude();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Run {
        version: Run::VERSION,
        program: about.command_line.clone(),
        ordain: env!("CARGO_PKG_VERSION").to_owned(),
        began: now.saturating_sub(Duration::from_millis(progress.millis)).as_secs(),
        verdict,
        meaning,
        notes,
        level: about.level,
        mode: None,
        strategy: about.strategy.name().to_owned(),
        executions: progress.summary.executions,
        blocked: progress.summary.blocked,
        steps: progress.summary.steps,
        threads: progress.summary.threads,
        depth: progress.summary.depth,
        exhausted: outcome.exhausted,
        interrupted: false,
        sight,
        unmet: None,
        estimate,
        wall_seconds: progress.millis as f64 / 1000.0,
        cpu_seconds: progress.cpu_micros as f64 / 1e6,
        workers: Some(Workers {
            count: progress.slots as usize,
            utilisation: progress.utilisation(),
            fragments: progress.results,
            released: progress.redeliveries,
        }),
        progress: Vec::new(),
        path: Vec::new(),
        findings: found.iter().map(|found| found.story.clone()).collect(),
    }
}

/// How the search was divided, in a sentence.
fn division(run: &RunId, progress: &ordain_cluster::Progress) -> String {
    format!(
        "a cluster explored it (run {run}): {}, {:.0} % of {} used, {} delivered again, {} came too late, {}",
        plural_large(progress.results, "fragment"),
        100.0 * progress.utilisation(),
        plural_large(progress.slots, "slot"),
        progress.redeliveries,
        progress.stale,
        plural(progress.takeovers + 1, "controller")
    )
}

fn summary(record: &Run) -> String {
    let mut text = format!("{}\n", record.meaning);
    let mut line = |key: &str, value: String| {
        let _ = writeln!(text, "  {key:<10}{value}");
    };
    line(
        "explored",
        format!(
            "{}; up to {} and {}",
            plural_large(record.executions, "execution"),
            plural(record.threads as u64, "thread"),
            plural(record.depth as u64, "step")
        ),
    );
    line("took", format!("{:.3} s, {:.3} s of the workers' processor time", record.wall_seconds, record.cpu_seconds));
    if let Some(unmet) = &record.unmet {
        line("failed", unmet.clone());
    }
    notes(&mut text, &record.notes);
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use ordain_cluster::Progress;
    use ordain_explore::Summary;
    use ordain_explore::strategy::Kind as Strategy;
    use ordain_model::Level;

    fn conclude(test: Option<&str>, findings: Vec<Kind>, exhausted: bool, summary: Summary) -> Conclusion {
        let about = Description {
            path: PathBuf::from("./program"),
            command_line: "./program".to_owned(),
            test: test.map(str::to_owned),
            level: if test.is_some() { Level::Types } else { Level::Sync },
            rust: false,
            strategy: Strategy::Optimal,
            options: ordain_model::Options::default(),
            millis: Some(1000),
        };
        let progress = Progress { summary, millis: 1000, ..Progress::default() };
        let run = RunId::parse("program-1").expect("a name of a run");
        evidence(&run, &about, &ordain_cluster::Outcome::new(exhausted, progress), findings).conclude()
    }

    /// The sentences are those of checks on one machine, which `tests/verdicts.rs` compares with each other.
    #[test]
    fn clusters_say_the_sentences_of_other_checks() {
        let summary = Summary { executions: 6, threads: 2, visible: 4, ..Summary::default() };
        let verified = |level: Level| format!("verified at level {level}: {}", level.assumption());
        let left = "no finding at level sync: nothing was found in 6 executions; what is left was not explored";
        let blind = "no finding at level sync: there was almost nothing to explore: all that is visible is covered by 6 executions";
        for (test, findings, exhausted, visible, sentence) in [
            (None, vec![Kind::Deadlock], false, 4, "finding: deadlock (after 6 executions)".to_owned()),
            (None, vec![], true, 4, verified(Level::Sync)),
            (Some("a::test"), vec![], true, 4, verified(Level::Types)),
            (None, vec![], false, 4, left.to_owned()),
            (None, vec![], true, 0, blind.to_owned()),
        ] {
            let Conclusion { meaning, notes, .. } = conclude(test, findings, exhausted, Summary { visible, ..summary });
            assert_eq!(meaning, sentence);
            assert_eq!(notes.iter().any(Note::is_warning), visible == 0, "{notes:?}");
            assert_eq!(notes.iter().any(|note| note.text == "the time was over"), !exhausted, "{notes:?}");
        }
        let nothing = conclude(None, vec![], false, Summary::default());
        assert_eq!(nothing.meaning, "no verdict: not one execution was complete when the time was over");
    }
}
