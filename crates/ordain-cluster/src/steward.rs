//! Looking after runs: whoever finds one without a controller becomes its controller, and what is over is cleared away.
//!
//! A claim has run out when the entry of the run has not changed for a while by the clock of whoever looks, so clocks need not agree.

use crate::control::{self, claim};
use crate::error::ClusterError;
use crate::fleet::Fleet;
use crate::spec::RunId;
use crate::state::{State, Status};
use crate::store::Cluster;
use std::collections::HashMap;
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// How long a controller may take to leave.
const LEAVING: Duration = Duration::from_secs(3);

/// Looks after runs.
pub(crate) struct Steward {
    cluster: Cluster,
    fleet: Fleet,
    /// The revision of each run, and since when it has had that.
    seen: HashMap<RunId, (u64, Instant)>,
    controls: HashMap<RunId, JoinHandle<Result<(), ClusterError>>>,
    leave: watch::Sender<bool>,
}

impl Steward {
    pub(crate) fn new(cluster: &Cluster, fleet: &Fleet) -> Self {
        let (leave, _) = watch::channel(false);
        Self { cluster: cluster.clone(), fleet: fleet.clone(), seen: HashMap::new(), controls: HashMap::new(), leave }
    }

    /// Looks at a run; says whether it was taken over.
    pub(crate) async fn look(&mut self, run: &RunId, state: &State, revision: u64) -> Result<bool, ClusterError> {
        let seen = self.seen.entry(run.clone()).or_insert((revision, Instant::now()));
        if seen.0 != revision {
            *seen = (revision, Instant::now());
        }
        let since = seen.1;
        match state.status {
            Status::Running => {}
            Status::Cancelled => {
                self.cluster.erase(run).await?;
                return Ok(false);
            }
            Status::Finished | Status::Failed { .. } => {
                let age = control::now().saturating_sub(state.ended.unwrap_or(u64::MAX));
                if age > self.cluster.timing.keep.as_secs() {
                    self.cluster.erase(run).await?;
                }
                return Ok(false);
            }
        }
        if self.controls.get(run).is_some_and(|control| !control.is_finished()) {
            return Ok(false);
        }
        if state.holder.is_some() && since.elapsed() < self.cluster.timing.claim {
            return Ok(false);
        }
        let Some(control) = claim(&self.cluster, &self.fleet, run, state.clone(), revision).await? else {
            return Ok(false);
        };
        self.controls.insert(run.clone(), tokio::spawn(control.run(self.leave.subscribe())));
        Ok(true)
    }

    /// Forgets runs that are gone.
    pub(crate) fn retain(&mut self, runs: &[RunId]) {
        self.seen.retain(|run, _| runs.contains(run));
        self.controls.retain(|_, control| !control.is_finished());
    }

    /// Why controlling a run ended here, if it did because something is wrong.
    pub(crate) async fn trouble(&mut self, run: &RunId) -> Option<ClusterError> {
        if !self.controls.get(run).is_some_and(JoinHandle::is_finished) {
            return None;
        }
        match self.controls.remove(run)?.await {
            Ok(Err(error)) if !matches!(error, ClusterError::Fenced(_)) => Some(error),
            _ => None,
        }
    }

    /// Hands everything over that is controlled from here.
    pub(crate) async fn leave(self) {
        // Nobody hears it if nothing is controlled.
        let _ = self.leave.send(true);
        for (_, control) in self.controls {
            let abort = control.abort_handle();
            if tokio::time::timeout(LEAVING, control).await.is_err() {
                abort.abort();
            }
        }
    }
}
