//! A worker: takes tasks of any run, explores them, sends what came of it; and controls runs that nobody controls.

use crate::directory::{self, Directory};
use crate::error::ClusterError;
use crate::fleet::{self, Beat, Fleet};
use crate::message::{ResultMessage, Sent, TaskMessage, decode, encode};
use crate::pull;
use crate::slot::{Answer, ExplorerFactory, Job, Local, MakeFactory, Refusal, Slot};
use crate::spec::{RunId, VERSION};
use crate::state::Status;
use crate::steward::Steward;
use crate::store::{Cluster, Mail, told};
use async_nats::jetstream::consumer::PullConsumer;
use async_nats::jetstream::{AckKind, Message};
use ordain_explore::frontier::{Order, Signals};
use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::{Duration, Instant};
use tokio::sync::{Notify, mpsc as queue, oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};

/// The longest wait for a task, after which other runs are looked at.
const WAIT: Duration = Duration::from_millis(250);
/// How long a worker that leaves waits for what it explores to be finished.
const SOON: Duration = Duration::from_secs(1);
/// How long explorers may take to end when they are told to.
const GRACE: Duration = Duration::from_secs(10);
/// The longest time after which something refused is tried again.
const LONGEST_PAUSE: Duration = Duration::from_secs(600);
/// How long a fragment may take beyond its time, many times over.
const STUCK: Duration = Duration::from_secs(120);

/// How a worker works.
#[derive(Clone)]
pub struct WorkerOptions {
    /// What its owner calls it.
    pub name: String,
    /// How many fragments it explores at a time.
    pub parallel: usize,
    make: MakeFactory,
}

impl WorkerOptions {
    /// A worker with a factory for each thread that explores.
    pub fn new(
        name: &str,
        parallel: usize,
        make: impl Fn() -> Box<dyn ExplorerFactory> + Send + Sync + 'static,
    ) -> Self {
        Self { name: name.to_owned(), parallel: parallel.max(1), make: Arc::new(make) }
    }
}

impl fmt::Debug for WorkerOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkerOptions")
            .field("name", &self.name)
            .field("parallel", &self.parallel)
            .finish_non_exhaustive()
    }
}

/// What a worker tells its owner.
#[derive(Clone, Debug)]
pub enum Event {
    /// It takes tasks of a run.
    Opened(RunId),
    /// It does not run something.
    Refused(RunId, String),
    /// A run is over.
    Closed(RunId),
    /// It controls a run.
    Controls(RunId),
    /// The server is away, or does not do what it should.
    Trouble(String),
    /// The server is back.
    Recovered,
}

/// Whom a worker tells.
type Tell = Arc<dyn Fn(Event) + Send + Sync>;

/// A run that the worker knows of.
struct Known {
    /// What tasks are taken with; nothing, if it is refused.
    ready: Option<Ready>,
    /// How often it was refused in a row.
    refusals: u32,
    /// When it is tried again.
    again: Instant,
}

/// A run that tasks can be taken of, and the tasks.
type Ready = (Arc<Local>, Arc<PullConsumer>);

struct Worker {
    cluster: Cluster,
    name: String,
    slots: AtomicUsize,
    runs: Mutex<HashMap<RunId, Known>>,
    busy: AtomicUsize,
    busy_micros: AtomicU64,
    news: Notify,
    signals: Arc<Signals>,
    tell: Tell,
}

/// Works until it is told to stop. What is explored then comes to its end or goes back to the others.
pub async fn work(
    cluster: &Cluster,
    options: WorkerOptions,
    mut stop: watch::Receiver<bool>,
    tell: impl Fn(Event) + Send + Sync + 'static,
) -> Result<(), ClusterError> {
    directory::sweep();
    let signals = Arc::new(Signals::default());
    let started = (0..options.parallel).map(|number| Slot::start(number, options.make.clone(), signals.clone()));
    let slots: Vec<Slot> = started
        .collect::<Result<_, _>>()
        .map_err(|error| ClusterError::Local { what: "start threads to explore with", reason: error.to_string() })?;
    let worker = Arc::new(Worker {
        cluster: cluster.clone(),
        name: options.name,
        slots: AtomicUsize::new(slots.len()),
        runs: Mutex::default(),
        busy: AtomicUsize::new(0),
        busy_micros: AtomicU64::new(0),
        news: Notify::new(),
        signals: signals.clone(),
        tell: Arc::new(tell),
    });
    let (fleet, _listening) = Fleet::listen(cluster);
    let (abandon, abandoned) = watch::channel(false);
    let mut chores = JoinSet::new();
    chores.spawn(beats(worker.clone()));
    let jobs: Vec<mpsc::Sender<Job>> = slots.iter().map(|slot| slot.jobs.clone()).collect();
    let (left, leaving) = oneshot::channel();
    let looking = tokio::spawn(look_around(worker.clone(), Steward::new(cluster, &fleet), jobs, leaving));
    let mut exploring = JoinSet::new();
    feed(&worker, &slots, &mut exploring, &mut stop, &abandoned).await;
    // From here on the worker leaves: first it stops controlling, then it brings to an end what it explores.
    let _ = left.send(());
    let _ = timeout(SOON, async { while exploring.join_next().await.is_some() {} }).await;
    signals.stop.store(true, Relaxed);
    let finished = timeout(GRACE, async { while exploring.join_next().await.is_some() {} }).await.is_ok();
    let _ = abandon.send(true);
    let _ = timeout(Duration::from_secs(2), async { while exploring.join_next().await.is_some() {} }).await;
    let _ = timeout(GRACE, looking).await;
    chores.shutdown().await;
    worker.beat(0.0, true).await;
    cluster.flush().await;
    if finished {
        // Threads that are stuck end with the process.
        let _ = tokio::task::spawn_blocking(move || slots.into_iter().for_each(Slot::end)).await;
    }
    Ok(())
}

/// Tells all the time that the worker lives.
async fn beats(worker: Arc<Worker>) {
    let mut ticks = interval(worker.cluster.timing.beat);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut last = Instant::now();
    loop {
        ticks.tick().await;
        let offered = last.elapsed().as_micros() as f64 * worker.slots.load(Relaxed).max(1) as f64;
        last = Instant::now();
        let used = worker.busy_micros.swap(0, Relaxed) as f64;
        worker.beat((used / offered.max(1.0)).min(1.0), false).await;
    }
}

/// Keeps the list of runs up to date, and controls those that nobody controls.
async fn look_around(
    worker: Arc<Worker>,
    mut steward: Steward,
    jobs: Vec<mpsc::Sender<Job>>,
    mut leaving: oneshot::Receiver<()>,
) {
    let mut troubled = false;
    while leaving.try_recv().is_err() {
        match worker.look(&mut steward, &jobs).await {
            Ok(()) if troubled => {
                troubled = false;
                (worker.tell)(Event::Recovered);
            }
            Ok(()) => {}
            Err(error) => {
                if !troubled {
                    (worker.tell)(Event::Trouble(error.to_string()));
                }
                troubled = true;
            }
        }
        if timeout(worker.cluster.timing.beat, &mut leaving).await.is_ok() {
            break;
        }
    }
    steward.leave().await;
}

impl Worker {
    async fn beat(&self, utilisation: f64, leaves: bool) {
        let beat = Beat {
            id: self.cluster.id.clone(),
            name: self.name.clone(),
            slots: self.slots.load(Relaxed) as u32,
            busy: self.busy.load(Relaxed) as u32,
            utilisation,
            leaves,
        };
        if let Ok(payload) = serde_json::to_vec(&beat)
            && self.cluster.is_connected()
        {
            // The next one comes soon.
            let _ = self.cluster.client.publish(fleet::subject(&self.cluster.id), payload.into()).await;
        }
    }

    fn known(&self) -> std::sync::MutexGuard<'_, HashMap<RunId, Known>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks once at all runs.
    async fn look(&self, steward: &mut Steward, jobs: &[mpsc::Sender<Job>]) -> Result<(), ClusterError> {
        let runs = self.cluster.runs().await?;
        let mut running = Vec::new();
        for run in &runs {
            let (state, revision) = match self.cluster.state(run).await {
                Ok(Some(found)) => found,
                Ok(None) => continue,
                Err(error) if error.is_passing() => return Err(error),
                // An entry that makes no sense is the matter of whoever made it.
                Err(_) => continue,
            };
            match steward.look(run, &state, revision).await {
                Ok(true) => (self.tell)(Event::Controls(run.clone())),
                Ok(false) => {}
                Err(error) if error.is_passing() => return Err(error),
                Err(_) => continue,
            }
            if state.status == Status::Running {
                running.push(run.clone());
                self.prepare(run).await?;
            }
        }
        steward.retain(&runs);
        let over: Vec<RunId> = self.known().keys().filter(|run| !running.contains(run)).cloned().collect();
        for run in over {
            self.known().remove(&run);
            for slot in jobs {
                // A slot that is gone has closed it.
                let _ = slot.send(Job::Close(run.clone()));
            }
            (self.tell)(Event::Closed(run));
        }
        Ok(())
    }

    /// Fetches and verifies what a run needs.
    async fn prepare(&self, run: &RunId) -> Result<(), ClusterError> {
        let mut refusals = 0;
        if let Some(known) = self.known().get(run) {
            if known.ready.is_some() || Instant::now() < known.again {
                return Ok(());
            }
            refusals = known.refusals;
        }
        match self.fetch(run).await {
            Ok(None) => Ok(()),
            Ok(Some(ready)) => {
                let known = Known { ready: Some(ready), refusals, again: Instant::now() };
                self.known().insert(run.clone(), known);
                (self.tell)(Event::Opened(run.clone()));
                self.news.notify_one();
                Ok(())
            }
            Err(error) if error.is_passing() => Err(error),
            Err(error) => {
                self.refuse(run, &error.to_string()).await;
                Ok(())
            }
        }
    }

    async fn fetch(&self, run: &RunId) -> Result<Option<Ready>, ClusterError> {
        // Its controller makes it first of all.
        let Ok(tasks) = self.cluster.mail(Mail::Tasks, run).await else { return Ok(None) };
        let spec = self.cluster.spec(run).await?;
        let local = |error: std::io::Error| ClusterError::Local { what: "keep the program", reason: error.to_string() };
        let files = Directory::new().map_err(local)?;
        for file in spec.files() {
            let contents = self.cluster.get(run, file.object, &format!("the file `{}`", file.name)).await?;
            let path = files.path().join(&file.name);
            std::fs::write(&path, contents).map_err(local)?;
            if file.name == spec.program.name {
                use std::os::unix::fs::PermissionsExt as _;
                std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700)).map_err(local)?;
            }
        }
        Ok(Some((Arc::new(Local { run: run.clone(), spec, files }), Arc::new(tasks))))
    }

    /// Takes no more tasks of a run for a while, and says why.
    async fn refuse(&self, run: &RunId, reason: &str) {
        let reason: String = reason.chars().take(2_000).collect();
        {
            let mut known = self.known();
            let known = known.entry(run.clone()).or_insert(Known { ready: None, refusals: 0, again: Instant::now() });
            if known.ready.is_none() && Instant::now() < known.again {
                // Another slot has said so.
                return;
            }
            let pause = self.cluster.timing.retry.saturating_mul(1 << known.refusals.min(10)).min(LONGEST_PAUSE);
            *known = Known { ready: None, refusals: known.refusals + 1, again: Instant::now() + pause };
        }
        (self.tell)(Event::Refused(run.clone(), reason.clone()));
        let told = self.cluster.patiently(|| self.cluster.refuse(run, &self.cluster.id, &reason));
        if let Err(error) = told.await {
            (self.tell)(Event::Trouble(error.to_string()));
        }
    }

    /// A fragment of a run was explored: if it was refused before, it no longer is.
    async fn accept(&self, run: &RunId) {
        let refused = match self.known().get_mut(run) {
            Some(known) if known.ready.is_some() => std::mem::take(&mut known.refusals) > 0,
            _ => false,
        };
        if refused && let Err(error) = self.cluster.patiently(|| self.cluster.accept(run, &self.cluster.id)).await {
            (self.tell)(Event::Trouble(error.to_string()));
        }
    }

    /// The runs that tasks can be taken of.
    fn ready(&self) -> Vec<Ready> {
        let mut ready: Vec<Ready> = self.known().values().filter_map(|known| known.ready.clone()).collect();
        ready.sort_by(|a, b| a.0.run.cmp(&b.0.run));
        ready
    }
}

/// Takes tasks whenever a slot is free, of one run after the other.
async fn feed(
    worker: &Arc<Worker>,
    slots: &[Slot],
    exploring: &mut JoinSet<()>,
    stop: &mut watch::Receiver<bool>,
    abandoned: &watch::Receiver<bool>,
) {
    let (freed, mut free) = queue::unbounded_channel::<usize>();
    let mut idle: Vec<usize> = (0..slots.len()).collect();
    let mut turn = 0;
    while !*stop.borrow() {
        while exploring.try_join_next().is_some() {}
        while let Ok(slot) = free.try_recv() {
            idle.push(slot);
        }
        if idle.is_empty() {
            tokio::select! {
                slot = free.recv() => idle.extend(slot),
                () = told(stop) => {}
            }
            continue;
        }
        let ready = worker.ready();
        if ready.is_empty() {
            let news = timeout(WAIT, worker.news.notified());
            tokio::select! {
                _ = news => {}
                () = told(stop) => {}
            }
            continue;
        }
        turn += 1;
        let (mut got, mut failed) = (false, false);
        for place in 0..=ready.len() {
            let (local, tasks) = &ready[(turn + place) % ready.len()];
            // After a round without anything, one run is waited for; the next time it is another one.
            let last = place == ready.len();
            if idle.is_empty() || last && got {
                break;
            }
            let share = idle.len().div_ceil(ready.len());
            let taken = if last { pull::wait(tasks, WAIT).await } else { pull::take(tasks, share).await };
            match taken {
                Err(_) => failed = true,
                Ok(messages) => {
                    for message in messages {
                        got = true;
                        let Some(slot) = idle.pop() else {
                            // It is for somebody else.
                            let _ = message.ack_with(AckKind::Nak(None)).await;
                            continue;
                        };
                        let (worker, local, jobs) = (worker.clone(), local.clone(), slots[slot].jobs.clone());
                        let (freed, abandoned) = (freed.clone(), abandoned.clone());
                        let ack_wait = tasks.cached_info().config.ack_wait;
                        exploring.spawn(async move {
                            worker.busy.fetch_add(1, Relaxed);
                            let usable = handle(&worker, &local, &jobs, message, ack_wait, abandoned).await;
                            worker.busy.fetch_sub(1, Relaxed);
                            if usable {
                                // If nobody listens, the worker is leaving.
                                let _ = freed.send(slot);
                            } else {
                                worker.slots.fetch_sub(1, Relaxed);
                            }
                        });
                    }
                }
            }
        }
        if failed && !got {
            // The run may be over, or the server away.
            sleep(Duration::from_millis(100)).await;
        }
    }
}

/// Explores a task; says whether the slot can be used again.
async fn handle(
    worker: &Worker,
    local: &Arc<Local>,
    jobs: &mpsc::Sender<Job>,
    message: Message,
    ack_wait: Duration,
    mut abandoned: watch::Receiver<bool>,
) -> bool {
    let (cluster, run) = (&worker.cluster, &local.run);
    let deliveries = message.info().map_or(1, |info| info.delivered.max(1) as u64);
    let order = match open_task(cluster, run, &message).await {
        Ok(order) => order,
        Err(error) => {
            if !error.is_passing() {
                worker.refuse(run, &error.to_string()).await;
            }
            let _ = message.ack_with(AckKind::Nak(None)).await;
            return true;
        }
    };
    let lease = order.task.lease;
    let limit = Duration::from_micros(order.task.slice).saturating_mul(20).saturating_add(STUCK);
    let (answer, mut answered) = oneshot::channel();
    let started = Instant::now();
    if jobs.send(Job::Explore { local: local.clone(), order: Box::new(order), answer }).is_err() {
        let _ = message.ack_with(AckKind::Nak(None)).await;
        return false;
    }
    let mut ticks = interval((ack_wait / 3).max(Duration::from_millis(20)));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut counted = started;
    let mut count = || {
        worker.busy_micros.fetch_add(counted.elapsed().as_micros() as u64, Relaxed);
        counted = Instant::now();
    };
    let result: Answer = loop {
        tokio::select! {
            result = &mut answered => break result.unwrap_or_else(|_| Err(Refusal("the thread that explores is gone".into()))),
            _ = ticks.tick() => {
                count();
                // If it does not arrive, the task may be delivered to another worker too, and one of the results is stale.
                let _ = message.ack_with(AckKind::Progress).await;
                if started.elapsed() > limit {
                    worker.refuse(run, "exploring a fragment of it does not come to an end").await;
                    let _ = message.ack_with(AckKind::Nak(None)).await;
                    return false;
                }
            }
            () = told(&mut abandoned) => {
                let _ = message.ack_with(AckKind::Nak(None)).await;
                return false;
            }
        }
    };
    count();
    let returned = match result {
        Ok(returned) => returned,
        Err(Refusal(reason)) => {
            // Whoever is told to stop loses what it was doing.
            if !worker.signals.stop.load(Relaxed) {
                worker.refuse(run, &reason).await;
            }
            let _ = message.ack_with(AckKind::Nak(None)).await;
            return true;
        }
    };
    let busy_micros = started.elapsed().as_micros() as u64;
    worker.accept(run).await;
    let bytes = encode(&returned);
    let send = cluster.patiently(|| async {
        let body = cluster.pack(run, bytes.clone()).await?;
        let result = ResultMessage { version: VERSION, lease, body, deliveries, busy_micros };
        cluster.send(Mail::Results, run, lease, encode(&result)).await
    });
    tokio::pin!(send);
    let sent = loop {
        tokio::select! {
            sent = &mut send => break sent,
            _ = ticks.tick() => drop(message.ack_with(AckKind::Progress).await),
            () = told(&mut abandoned) => {
                let _ = message.ack_with(AckKind::Nak(None)).await;
                return true;
            }
        }
    };
    let kind = if sent.is_ok() { AckKind::Ack } else { AckKind::Nak(None) };
    // If it does not arrive, the task is delivered again, and its result is stale.
    let _ = message.ack_with(kind).await;
    true
}

async fn open_task(cluster: &Cluster, run: &RunId, message: &Message) -> Result<Order, ClusterError> {
    let tampered = |reason| ClusterError::Tampered { what: "a task".into(), run: run.clone(), reason };
    let envelope: TaskMessage = decode(&message.payload).map_err(tampered)?;
    if envelope.version != VERSION {
        return Err(tampered(format!("it is of version {}", envelope.version)));
    }
    let bytes = cluster.unpack(run, envelope.body, "a task").await?;
    let Sent { task, births } = decode(&bytes).map_err(tampered)?;
    if task.lease != envelope.lease {
        return Err(tampered("its lease is another one".into()));
    }
    Ok(Order { task, births: Arc::new(births) })
}
