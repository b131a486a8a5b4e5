//! Runs as people see them: submit, watch, leave, come back, list, cancel.

use crate::error::ClusterError;
use crate::fleet::{Beat, Fleet};
use crate::message::{Finding, decode};
use crate::spec::{MOST_FILE, RunId, RunSpec};
use crate::state::{Outcome, State, Status};
use crate::steward::Steward;
use crate::store::{Cluster, Written, told};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// What is submitted: the specification, and the contents of its files.
#[derive(Clone, Debug)]
pub struct Submission {
    /// What the run is about.
    pub spec: RunSpec,
    /// The contents of the program.
    pub program: Vec<u8>,
    /// The contents of its standard input, if the specification has one.
    pub stdin: Option<Vec<u8>>,
}

/// A run, as it is now.
#[derive(Debug)]
pub struct View<'a> {
    /// Its name.
    pub run: &'a RunId,
    /// What is known of it; `None` if the server has not told yet.
    pub state: Option<&'a State>,
    /// The workers that live.
    pub workers: &'a [Beat],
    /// Who does not run it, and why.
    pub refusals: &'a [(String, String)],
    /// Since when the server is away.
    pub away: Option<Duration>,
}

/// How watching a run ended.
#[derive(Debug)]
pub enum Ending {
    /// The run has come to an end.
    Finished(Box<Outcome>, Vec<Finding>),
    /// It was cancelled.
    Cancelled,
    /// It cannot go on.
    Failed(String),
    /// Every worker that lives refuses it, for these reasons.
    Refused(Vec<(String, String)>),
    /// Whoever watched left; the run goes on.
    Left,
}

/// A run in a list.
#[derive(Clone, Debug)]
pub struct Listed {
    /// Its name.
    pub run: RunId,
    /// What is known of it.
    pub state: State,
    /// What it is about, if that can be read.
    pub spec: Option<RunSpec>,
}

/// Submits a run. From then on it does not need whoever submitted it.
pub async fn submit(cluster: &Cluster, submission: &Submission) -> Result<RunId, ClusterError> {
    let Submission { spec, program, stdin } = submission;
    spec.verify()?;
    let run = RunId::new(&spec.program.name);
    let contents = std::iter::once(program).chain(stdin);
    for (file, contents) in spec.files().zip(contents) {
        let size = contents.len() as u64;
        if size > MOST_FILE {
            return Err(ClusterError::TooLarge { what: format!("`{}`", file.name), size, most: MOST_FILE });
        }
        if cluster.put(&run, contents).await? != file.object {
            return Err(ClusterError::BadSpec(format!("`{}` is not the file that it names", file.name)));
        }
    }
    cluster.create(&run, spec, &State::new(None)).await?;
    Ok(run)
}

/// Watches a run until it ends, and controls it if nobody else does. `stop` leaves it to others.
pub async fn attach(
    cluster: &Cluster,
    run: &RunId,
    stop: watch::Receiver<bool>,
    see: &mut dyn FnMut(&View<'_>),
) -> Result<Ending, ClusterError> {
    let (fleet, _listening) = Fleet::listen(cluster);
    let mut steward = Steward::new(cluster, &fleet);
    let ended = watch_run(cluster, run, stop, &fleet, &mut steward, see).await;
    steward.leave().await;
    ended
}

async fn watch_run(
    cluster: &Cluster,
    run: &RunId,
    mut stop: watch::Receiver<bool>,
    fleet: &Fleet,
    steward: &mut Steward,
    see: &mut dyn FnMut(&View<'_>),
) -> Result<Ending, ClusterError> {
    let pause = cluster.timing.beat.min(Duration::from_millis(250));
    let mut known: Option<State> = None;
    let mut refusals: Vec<(String, String)> = Vec::new();
    let (mut reached, mut refused_since) = (Instant::now(), None::<Instant>);
    loop {
        if *stop.borrow() {
            return Ok(Ending::Left);
        }
        let away = match look(cluster, run, steward).await {
            Ok((state, refused)) => {
                reached = Instant::now();
                let live = fleet.live();
                refusals = refused.into_iter().filter(|(id, _)| live.iter().any(|worker| worker.id == *id)).collect();
                known = Some(state);
                None
            }
            Err(error) if error.is_passing() && reached.elapsed() < cluster.timing.outage => Some(reached.elapsed()),
            Err(error) => return Err(error),
        };
        let workers = fleet.live();
        see(&View { run, state: known.as_ref(), workers: &workers, refusals: &refusals, away });
        match known.as_ref().map(|state| (&state.status, state.result)) {
            Some((Status::Finished, Some(result))) => {
                let what = "the result";
                let bytes = cluster.patiently(|| cluster.get(run, result, what)).await?;
                let tampered = |reason| ClusterError::Tampered { what: what.to_owned(), run: run.clone(), reason };
                let outcome: Outcome = decode(&bytes).map_err(tampered)?;
                let mut findings = Vec::new();
                for (key, parcel) in &outcome.findings {
                    let record = cluster.patiently(|| cluster.unpack(run, parcel.clone(), "a finding")).await?;
                    findings.push(Finding { key: key.clone(), record });
                }
                return Ok(Ending::Finished(Box::new(outcome), findings));
            }
            Some((Status::Finished, None)) => return Ok(Ending::Failed("its result is missing".into())),
            Some((Status::Cancelled, _)) => return Ok(Ending::Cancelled),
            Some((Status::Failed { reason }, _)) => return Ok(Ending::Failed(reason.clone())),
            Some((Status::Running, _)) | None => {}
        }
        if let Some(error) = steward.trouble(run).await
            && !error.is_passing()
        {
            return Err(error);
        }
        let refuses = |worker: &Beat| refusals.iter().any(|(id, _)| *id == worker.id);
        if !workers.is_empty() && workers.iter().all(refuses) {
            let since = refused_since.get_or_insert_with(Instant::now);
            // Somebody who can may just be coming.
            if since.elapsed() > cluster.timing.beat * 3 {
                let name =
                    |id: &str| workers.iter().find(|w| w.id == id).map_or_else(|| id.to_owned(), |w| w.name.clone());
                return Ok(Ending::Refused(refusals.iter().map(|(id, reason)| (name(id), reason.clone())).collect()));
            }
        } else {
            refused_since = None;
        }
        // Not being told to stop is what is expected.
        let _ = tokio::time::timeout(pause, told(&mut stop)).await;
    }
}

async fn look(
    cluster: &Cluster,
    run: &RunId,
    steward: &mut Steward,
) -> Result<(State, Vec<(String, String)>), ClusterError> {
    let Some((state, revision)) = cluster.state(run).await? else {
        return Err(ClusterError::NoRun { run: run.to_string() });
    };
    if state.status == Status::Running {
        steward.look(run, &state, revision).await?;
    }
    let refusals = cluster.refusals(run).await?;
    Ok((state, refusals))
}

/// What a run is about.
pub async fn specification(cluster: &Cluster, run: &RunId) -> Result<RunSpec, ClusterError> {
    cluster.patiently(|| cluster.spec(run)).await
}

/// Forgets a run whose result was fetched.
pub async fn forget(cluster: &Cluster, run: &RunId) -> Result<(), ClusterError> {
    cluster.patiently(|| cluster.erase(run)).await
}

/// All runs, those that go on first.
pub async fn list(cluster: &Cluster) -> Result<Vec<Listed>, ClusterError> {
    let mut runs = Vec::new();
    for run in cluster.runs().await? {
        let state = match cluster.state(&run).await {
            Ok(Some((state, _))) => state,
            // It has been removed meanwhile.
            Ok(None) => continue,
            Err(error) if error.is_passing() => return Err(error),
            // One that cannot be read must not hide the others.
            Err(error) => State { status: Status::Failed { reason: error.to_string() }, ..State::new(None) },
        };
        let spec = cluster.spec(&run).await.ok();
        runs.push(Listed { run, state, spec });
    }
    runs.sort_by_key(|listed| (listed.state.status != Status::Running, listed.run.clone()));
    Ok(runs)
}

/// Ends a run and removes everything of it.
pub async fn cancel(cluster: &Cluster, run: &RunId) -> Result<(), ClusterError> {
    loop {
        let (mut state, revision) = match cluster.state(run).await {
            Ok(Some(found)) => found,
            Ok(None) => return Err(ClusterError::NoRun { run: run.to_string() }),
            // Nobody controls what cannot be read.
            Err(ClusterError::Tampered { .. }) => break,
            Err(error) => return Err(error),
        };
        if state.status != Status::Running {
            break;
        }
        state.status = Status::Cancelled;
        state.beat += 1;
        // Its controller writes all the time; sooner or later we are faster.
        if let Written::Yes(_) = cluster.write(run, &state, revision).await? {
            break;
        }
    }
    forget(cluster, run).await
}
