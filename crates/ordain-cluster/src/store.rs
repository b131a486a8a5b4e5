//! What is in JetStream: two streams of messages, the bucket of runs, the store of objects, and how each is read and changed.
//!
//! Objects are known by their run and their hash. Runs do not share objects: whoever removes a run can then remove everything of it, without
//! asking whether another one has just begun to rely on it.

use crate::connect::{ANSWER, Access, Timing};
use crate::error::ClusterError;
use crate::message::Parcel;
use crate::spec::{MOST_FILE, ObjectRef, RunId, RunSpec, random};
use crate::state::State;
use async_nats::jetstream::consumer::{AckPolicy, PullConsumer, pull};
use async_nats::jetstream::kv::{self, Operation, UpdateErrorKind};
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::object_store::{self, ObjectStore};
use async_nats::jetstream::stream::{self, DiscardPolicy, RetentionPolicy, Stream};
use async_nats::jetstream::{self, Context};
use async_nats::{Client, RequestErrorKind};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE;
use futures_util::{StreamExt as _, TryStreamExt as _};
use std::fmt;
use std::time::Duration;
use tokio::io::AsyncReadExt as _;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};

const TASKS: &str = "ordain-tasks";
const RESULTS: &str = "ordain-results";
const RUNS: &str = "ordain-runs";
const OBJECTS: &str = "ordain-objects";
/// The stream whose one message says that somebody makes the others.
const LAYOUT: &str = "ordain-layout";
const LAYOUT_LOCK: &str = "ordain.layout";
/// How long others may take to make them.
const LAID_OUT: Duration = Duration::from_secs(8);
/// The least that a message must be able to hold.
const LEAST_PAYLOAD: usize = 32 << 10;
/// Larger parts of messages become objects.
const MOST_INLINE: usize = 256 << 10;
/// Larger parcels are refused.
const MOST_PARCEL: u64 = 256 << 20;
/// More runs are not looked at.
const MOST_RUNS: usize = 10_000;
/// How long a file may take to come or go.
const TRANSFER: Duration = Duration::from_secs(120);

/// A connection to a cluster.
#[derive(Clone)]
pub struct Cluster {
    pub(crate) client: Client,
    pub(crate) timing: Timing,
    /// Who we are, different for every connection.
    pub(crate) id: String,
    context: Context,
    tasks: Stream,
    results: Stream,
    runs: kv::Store,
    objects: ObjectStore,
    object_stream: Stream,
    inline: usize,
}

impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cluster").field("id", &self.id).field("timing", &self.timing).finish_non_exhaustive()
    }
}

/// Waits until somebody says so, for ever if nobody can any more.
pub(crate) async fn told(flag: &mut watch::Receiver<bool>) {
    if flag.wait_for(|flag| *flag).await.is_err() {
        std::future::pending().await
    }
}

/// Messages of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mail {
    Tasks,
    Results,
}

/// What came of changing a state.
#[derive(Debug)]
pub(crate) enum Written {
    /// It is changed; its new revision.
    Yes(u64),
    /// Somebody else has changed it.
    Fenced,
}

async fn within<T, E: fmt::Display>(
    what: &str,
    limit: Duration,
    future: impl Future<Output = Result<T, E>>,
) -> Result<T, ClusterError> {
    match timeout(limit, future).await {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(ClusterError::server(what, error)),
        Err(_) => Err(ClusterError::server(what, "it does not answer")),
    }
}

/// Makes sure that the server stores anything. Asked in plain words, which servers of all versions answer.
async fn ask_for_jetstream(client: &Client, access: &Access) -> Result<(), ClusterError> {
    let missing = |reason: String| ClusterError::NoJetStream { url: access.shown(), reason };
    let answer = match client.request("$JS.API.INFO", "".into()).await {
        Ok(answer) => answer,
        Err(error) if error.kind() == RequestErrorKind::NoResponders => {
            return Err(missing("nobody answers for it".into()));
        }
        Err(error) => return Err(ClusterError::server("tell about JetStream", error)),
    };
    let answer: serde_json::Value = serde_json::from_slice(&answer.payload).unwrap_or_default();
    match answer["error"]["description"].as_str() {
        Some(reason) => Err(missing(reason.to_owned())),
        None => Ok(()),
    }
}

/// Whoever has it may make what is missing on the server, and nobody else at the same time: if two make the same stream, servers up to 2.9 remove
/// the files of the one that stays, and what is sent to it is lost.
struct Alone {
    lock: Option<(Stream, u64)>,
}

impl Alone {
    /// Waits until everything is there, or nobody else is making it.
    async fn to_lay_out(context: &Context) -> Self {
        let begin = Instant::now();
        while !Self::is_laid_out(context).await {
            // Not all at the same time.
            sleep(Duration::from_millis(random() % 100)).await;
            let config = stream::Config {
                name: LAYOUT.to_owned(),
                subjects: vec![LAYOUT_LOCK.to_owned()],
                // It has no files.
                storage: stream::StorageType::Memory,
                // Who dies meanwhile has it no longer.
                max_age: ANSWER,
                duplicate_window: ANSWER,
                ..Default::default()
            };
            let stream = within("make the stream of locks", ANSWER, context.get_or_create_stream(config)).await;
            let free = PublishMessage::build().expected_last_subject_sequence(0);
            let locked = match context.send_publish(LAYOUT_LOCK, free).await {
                Ok(sent) => sent.await,
                Err(error) => Err(error),
            };
            if let Some((stream, place)) = stream.ok().zip(locked.ok()) {
                return Self { lock: Some((stream, place.sequence)) };
            }
            if begin.elapsed() > LAID_OUT {
                // Perhaps streams without files are not allowed here.
                break;
            }
        }
        Self { lock: None }
    }

    async fn is_laid_out(context: &Context) -> bool {
        for name in [TASKS.to_owned(), RESULTS.to_owned(), format!("KV_{RUNS}"), format!("OBJ_{OBJECTS}")] {
            if context.get_stream(name).await.is_err() {
                return false;
            }
        }
        true
    }

    /// Everything is there.
    async fn done(self) {
        if let Some((stream, sequence)) = self.lock {
            // Otherwise it ends by itself.
            let _ = stream.delete_message(sequence).await;
        }
    }
}

impl Cluster {
    /// Connects, and makes what is missing on the server.
    pub async fn connect(access: &Access, timing: Timing) -> Result<Self, ClusterError> {
        let id = format!("{:016x}", random());
        let client = access.connect(&id, &timing).await?;
        let payload = client.max_payload();
        if payload < LEAST_PAYLOAD {
            return Err(ClusterError::SmallPayload { have: payload, need: LEAST_PAYLOAD });
        }
        let mut context = jetstream::new(client.clone());
        context.set_timeout(ANSWER);
        ask_for_jetstream(&client, access).await?;
        let alone = Alone::to_lay_out(&context).await;
        let stream = |name: &str, subject: &str| stream::Config {
            name: name.to_owned(),
            subjects: vec![format!("{subject}.*")],
            retention: RetentionPolicy::WorkQueue,
            duplicate_window: Duration::from_secs(120),
            // What is left of runs that were removed while somebody was still working for them.
            max_age: timing.keep,
            ..Default::default()
        };
        let tasks = context.get_or_create_stream(stream(TASKS, "ordain.tasks"));
        let tasks = within("make the stream of tasks", ANSWER, tasks).await?;
        let results = context.get_or_create_stream(stream(RESULTS, "ordain.results"));
        let results = within("make the stream of results", ANSWER, results).await?;
        let runs = match context.get_key_value(RUNS).await {
            Ok(runs) => runs,
            Err(_) => {
                // The client asks the server about its account first, and does not understand the answer of older servers. A bucket is
                // nothing but a stream.
                let config = stream::Config {
                    name: format!("KV_{RUNS}"),
                    subjects: vec![format!("$KV.{RUNS}.>")],
                    max_messages_per_subject: 1,
                    allow_rollup: true,
                    deny_delete: true,
                    allow_direct: true,
                    discard: DiscardPolicy::New,
                    ..Default::default()
                };
                within("make the bucket of runs", ANSWER, context.get_or_create_stream(config)).await?;
                within("find the bucket of runs", ANSWER, context.get_key_value(RUNS)).await?
            }
        };
        let objects = match context.get_object_store(OBJECTS).await {
            Ok(objects) => objects,
            Err(_) => {
                let config = object_store::Config { bucket: OBJECTS.into(), ..Default::default() };
                within("make the store of objects", ANSWER, context.create_object_store(config)).await?
            }
        };
        let object_stream = context.get_stream(format!("OBJ_{OBJECTS}"));
        let object_stream = within("find the store of objects", ANSWER, object_stream).await?;
        alone.done().await;
        let inline = (payload / 2).min(MOST_INLINE);
        Ok(Self { client, timing, id, context, tasks, results, runs, objects, object_stream, inline })
    }

    /// Whether the server can be reached now.
    pub fn is_connected(&self) -> bool {
        self.client.connection_state() == async_nats::connection::State::Connected
    }

    /// Sends what is still to be sent, as far as that is possible soon.
    pub(crate) async fn flush(&self) {
        // Whoever leaves does not wait for a server that is gone; what it did not hear is delivered again.
        let _ = timeout(Duration::from_secs(1), self.client.flush()).await;
    }

    fn stream(&self, mail: Mail) -> &Stream {
        match mail {
            Mail::Tasks => &self.tasks,
            Mail::Results => &self.results,
        }
    }

    fn subject(mail: Mail, run: &RunId) -> String {
        match mail {
            Mail::Tasks => format!("ordain.tasks.{run}"),
            Mail::Results => format!("ordain.results.{run}"),
        }
    }

    /// Sends a message; whoever sends it again within a while sends nothing.
    pub(crate) async fn send(&self, mail: Mail, run: &RunId, lease: u64, payload: Vec<u8>) -> Result<(), ClusterError> {
        let kind = if mail == Mail::Tasks { "task" } else { "result" };
        let message = PublishMessage::build().payload(payload.into()).message_id(format!("{kind}-{run}-{lease}"));
        let sent = async { self.context.send_publish(Self::subject(mail, run), message).await?.await };
        within(&format!("take a {kind}"), ANSWER, sent).await.map(|_| ())
    }

    /// Makes the consumer that all who take these messages share.
    pub(crate) async fn open_mail(&self, mail: Mail, run: &RunId) -> Result<PullConsumer, ClusterError> {
        let config = pull::Config {
            durable_name: Some(run.to_string()),
            filter_subject: Self::subject(mail, run),
            ack_policy: AckPolicy::Explicit,
            ack_wait: self.timing.ack_wait,
            max_ack_pending: 100_000,
            ..Default::default()
        };
        let opened = self.stream(mail).get_or_create_consumer(run.as_str(), config);
        within("make a consumer", ANSWER, opened).await
    }

    /// The consumer, if there is one.
    pub(crate) async fn mail(&self, mail: Mail, run: &RunId) -> Result<PullConsumer, ClusterError> {
        within("find a consumer", ANSWER, self.stream(mail).get_consumer(run.as_str())).await
    }

    /// Removes messages.
    pub(crate) async fn discard(&self, mail: Mail, run: &RunId) -> Result<(), ClusterError> {
        let purged = self.stream(mail).purge().filter(Self::subject(mail, run));
        within("remove messages", ANSWER, purged.into_future()).await.map(|_| ())
    }

    fn object_name(run: &RunId, object: ObjectRef) -> String {
        format!("{run}/{}", object.hash)
    }

    /// Stores an object.
    pub(crate) async fn put(&self, run: &RunId, bytes: &[u8]) -> Result<ObjectRef, ClusterError> {
        let object = ObjectRef::of(bytes);
        let name = Self::object_name(run, object);
        let chunk = self.client.max_payload().saturating_sub(4096).min(128 << 10);
        let meta = object_store::ObjectMetadata { name, chunk_size: Some(chunk), ..Default::default() };
        let mut reader = bytes;
        within("store an object", TRANSFER, self.objects.put(meta, &mut reader)).await?;
        Ok(object)
    }

    /// Fetches an object, and makes sure that it is the one.
    pub(crate) async fn get(&self, run: &RunId, object: ObjectRef, what: &str) -> Result<Vec<u8>, ClusterError> {
        let most = MOST_FILE.max(MOST_PARCEL);
        if object.size > most {
            return Err(ClusterError::TooLarge { what: what.to_owned(), size: object.size, most });
        }
        let tampered = |reason: &str| ClusterError::Tampered {
            what: what.to_owned(),
            run: run.clone(),
            reason: reason.to_owned(),
        };
        let name = Self::object_name(run, object);
        let found = within(&format!("find {what}"), ANSWER, self.objects.get(name.as_str())).await?;
        if found.info().size as u64 != object.size {
            return Err(tampered("it has another size"));
        }
        if object.size == 0 {
            return Ok(Vec::new());
        }
        // The client gives up with a panic if the server goes away at the wrong moment; in a task of its own that is an error.
        let read = tokio::spawn(timeout(TRANSFER, async move {
            let mut bytes = Vec::new();
            found.take(object.size + 1).read_to_end(&mut bytes).await.map(|_| bytes)
        }));
        let bytes = match read.await {
            Ok(Ok(Ok(bytes))) => bytes,
            Ok(Ok(Err(error))) if error.kind() == std::io::ErrorKind::InvalidData => {
                return Err(tampered(&error.to_string()));
            }
            Ok(Ok(Err(error))) => return Err(ClusterError::server(format!("send {what}"), error)),
            Ok(Err(_)) | Err(_) => return Err(ClusterError::server(format!("send {what}"), "it does not answer")),
        };
        if ObjectRef::of(&bytes) != object {
            return Err(tampered("it has another SHA-256"));
        }
        Ok(bytes)
    }

    /// Removes an object, with the mark that the server would keep of it.
    pub(crate) async fn remove(&self, run: &RunId, object: ObjectRef) -> Result<(), ClusterError> {
        self.remove_named(&Self::object_name(run, object)).await
    }

    async fn remove_named(&self, name: &str) -> Result<(), ClusterError> {
        within("remove an object", ANSWER, self.objects.delete(name)).await?;
        let mark = format!("$O.{OBJECTS}.M.{}", BASE64_URL_SAFE.encode(name));
        within("remove an object", ANSWER, self.object_stream.purge().filter(mark).into_future()).await.map(|_| ())
    }

    /// Puts bytes into a parcel, and into the store if they are too many for a message.
    pub(crate) async fn pack(&self, run: &RunId, bytes: Vec<u8>) -> Result<Parcel, ClusterError> {
        if bytes.len() <= self.inline {
            Ok(Parcel::Here(bytes))
        } else {
            Ok(Parcel::Stored(self.put(run, &bytes).await?))
        }
    }

    /// Opens a parcel.
    pub(crate) async fn unpack(&self, run: &RunId, parcel: Parcel, what: &str) -> Result<Vec<u8>, ClusterError> {
        match parcel {
            Parcel::Here(bytes) => Ok(bytes),
            Parcel::Stored(object) => self.get(run, object, what).await,
        }
    }

    /// All runs that the server knows of.
    pub(crate) async fn runs(&self) -> Result<Vec<RunId>, ClusterError> {
        let prefix = format!("$KV.{RUNS}.");
        let listing = self.runs.stream.info_with_subjects(format!("{prefix}*.state"));
        let listing = within("list the runs", ANSWER, listing).await?;
        let subjects = listing.take(MOST_RUNS).map_ok(|(subject, _)| subject).try_collect::<Vec<String>>();
        let subjects = within("list the runs", ANSWER, subjects).await?;
        let run = |subject: &String| RunId::parse(subject.strip_prefix(&prefix)?.strip_suffix(".state")?).ok();
        Ok(subjects.iter().filter_map(run).collect())
    }

    async fn entry(&self, key: String) -> Result<Option<(Vec<u8>, u64)>, ClusterError> {
        let entry = within("read the entry of a run", ANSWER, self.runs.entry(key)).await?;
        let live = entry.filter(|entry| entry.operation == Operation::Put);
        Ok(live.map(|entry| (entry.value.to_vec(), entry.revision)))
    }

    /// The state of a run and its revision.
    pub(crate) async fn state(&self, run: &RunId) -> Result<Option<(State, u64)>, ClusterError> {
        let Some((bytes, revision)) = self.entry(format!("{run}.state")).await? else { return Ok(None) };
        let state: State = serde_json::from_slice(&bytes).map_err(|error| ClusterError::Tampered {
            what: "the state".into(),
            run: run.clone(),
            reason: error.to_string(),
        })?;
        if state.version != crate::spec::VERSION {
            let reason = format!("it is of version {}", state.version);
            return Err(ClusterError::Tampered { what: "the state".into(), run: run.clone(), reason });
        }
        Ok(Some((state, revision)))
    }

    /// Changes the state of a run, if nobody else has since. Waits for a server that is away.
    pub(crate) async fn write(&self, run: &RunId, state: &State, revision: u64) -> Result<Written, ClusterError> {
        let value = serde_json::to_vec(state).map_err(|error| ClusterError::BadSpec(error.to_string()))?;
        let key = format!("{run}.state");
        self.patiently(|| async {
            match self.runs.update(&key, value.clone().into(), revision).await {
                Ok(revision) => return Ok(Written::Yes(revision)),
                Err(error) if error.kind() == UpdateErrorKind::WrongLastRevision => {}
                Err(error) => return Err(ClusterError::server("change the state of a run", error)),
            }
            // Perhaps it was changed by us, and the answer got lost.
            let now = self.entry(key.clone()).await?;
            Ok(now.filter(|(bytes, _)| *bytes == value).map_or(Written::Fenced, |(_, revision)| Written::Yes(revision)))
        })
        .await
    }

    /// Tries again while the server is away, but not for ever.
    pub(crate) async fn patiently<T, F: Future<Output = Result<T, ClusterError>>>(
        &self,
        mut attempt: impl FnMut() -> F,
    ) -> Result<T, ClusterError> {
        let until = Instant::now() + self.timing.outage;
        let mut pause = Duration::from_millis(20);
        loop {
            match attempt().await {
                Err(error) if error.is_passing() && Instant::now() < until => {
                    sleep(pause).await;
                    pause = (pause * 2).min(Duration::from_secs(1));
                }
                result => return result,
            }
        }
    }

    /// The specification of a run.
    pub(crate) async fn spec(&self, run: &RunId) -> Result<RunSpec, ClusterError> {
        let Some((bytes, _)) = self.entry(format!("{run}.spec")).await? else {
            return Err(ClusterError::NoRun { run: run.to_string() });
        };
        let spec: RunSpec = serde_json::from_slice(&bytes).map_err(|error| ClusterError::BadSpec(error.to_string()))?;
        spec.verify()?;
        Ok(spec)
    }

    /// Makes the entries of a new run.
    pub(crate) async fn create(&self, run: &RunId, spec: &RunSpec, state: &State) -> Result<u64, ClusterError> {
        let text = |error: serde_json::Error| ClusterError::BadSpec(error.to_string());
        let spec = serde_json::to_vec(spec).map_err(text)?;
        let state = serde_json::to_vec(state).map_err(text)?;
        let most = self.client.max_payload().saturating_sub(4096);
        if spec.len() > most {
            let what = "the specification of the run (its arguments, variables and options)".to_owned();
            return Err(ClusterError::TooLarge { what, size: spec.len() as u64, most: most as u64 });
        }
        within("store the specification of a run", ANSWER, self.runs.put(format!("{run}.spec"), spec.into())).await?;
        within("store the state of a run", ANSWER, self.runs.create(format!("{run}.state"), state.into())).await
    }

    /// Tells why a worker does not run something.
    pub(crate) async fn refuse(&self, run: &RunId, worker: &str, reason: &str) -> Result<(), ClusterError> {
        let key = format!("{run}.refusal.{worker}");
        let told = self.runs.put(key, reason.to_owned().into());
        within("take a refusal", ANSWER, told).await.map(|_| ())
    }

    /// Takes a refusal back.
    pub(crate) async fn accept(&self, run: &RunId, worker: &str) -> Result<(), ClusterError> {
        let purged = self.runs.stream.purge().filter(format!("$KV.{RUNS}.{run}.refusal.{worker}"));
        within("take a refusal back", ANSWER, purged.into_future()).await.map(|_| ())
    }

    /// Why workers do not run something, by worker.
    pub(crate) async fn refusals(&self, run: &RunId) -> Result<Vec<(String, String)>, ClusterError> {
        let prefix = format!("$KV.{RUNS}.{run}.refusal.");
        let listing =
            within("list refusals", ANSWER, self.runs.stream.info_with_subjects(format!("{prefix}*"))).await?;
        let subjects = listing.take(MOST_RUNS).map_ok(|(subject, _)| subject).try_collect::<Vec<String>>();
        let mut refusals = Vec::new();
        for subject in within("list refusals", ANSWER, subjects).await? {
            let Some(worker) = subject.strip_prefix(&prefix) else { continue };
            if let Some((reason, _)) = self.entry(format!("{run}.refusal.{worker}")).await? {
                let reason: String = String::from_utf8_lossy(&reason).chars().take(2_000).collect();
                refusals.push((worker.to_owned(), reason));
            }
        }
        Ok(refusals)
    }

    /// Removes messages and consumers of a run, and its objects but for some.
    pub(crate) async fn clean(&self, run: &RunId, keep: &[ObjectRef]) -> Result<(), ClusterError> {
        for mail in [Mail::Tasks, Mail::Results] {
            // It may be gone already.
            let _ = timeout(ANSWER, self.stream(mail).delete_consumer(run.as_str())).await;
            self.discard(mail, run).await?;
        }
        let prefix = format!("{run}/");
        let keep: Vec<String> = keep.iter().map(|object| Self::object_name(run, *object)).collect();
        let listing = within("list the objects", ANSWER, self.objects.list()).await?;
        let objects = within("list the objects", TRANSFER, listing.try_collect::<Vec<_>>()).await?;
        for object in objects.iter().filter(|object| object.name.starts_with(&prefix) && !keep.contains(&object.name)) {
            self.remove_named(&object.name).await?;
        }
        Ok(())
    }

    /// Removes everything of a run.
    pub(crate) async fn erase(&self, run: &RunId) -> Result<(), ClusterError> {
        self.clean(run, &[]).await?;
        // The state comes last: as long as it is there, somebody will go on with this.
        for keys in ["refusal.*", "spec", "state"] {
            let purged = self.runs.stream.purge().filter(format!("$KV.{RUNS}.{run}.{keys}"));
            within("remove the entries of a run", ANSWER, purged.into_future()).await?;
        }
        Ok(())
    }
}
