//! What comes over the network is not believed: refusals, changed files, results of nobody; and what a server lacks is said.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::*;
use futures_util::TryStreamExt as _;
use ordain_cluster::{
    Access, Cluster, ClusterError, Ending, Explorer, ExplorerFactory, Login, Refusal, RunId, RunSpec, Status,
    Submission, cancel, list,
};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

const QUICK: Duration = Duration::from_millis(3);
const SLOW: Duration = Duration::from_millis(30);

/// A machine on which nothing can be run.
struct Unable;

impl ExplorerFactory for Unable {
    fn open(&mut self, spec: &RunSpec, _: &Path) -> Result<Box<dyn Explorer>, Refusal> {
        Err(Refusal(format!("`{}` is for another processor", spec.program.name)))
    }
}

#[test]
fn who_cannot_run_it_leaves_it_to_others() {
    let server = Server::start();
    let url = server.url();
    let run = submitted(&url, &closure(3, 2));
    let watcher = watcher(&url, &run);
    let unable = worker_with(&url, "unable", || Box::new(Unable));
    std::thread::sleep(Duration::from_millis(200));
    let able = worker(&url, "able", QUICK);
    assert_exact(watcher.join(), orders(3, 2));
    able.stop();
    unable.stop();
}

/// A machine on which nothing can be run the first two times.
struct Moody(Arc<AtomicU32>);

impl ExplorerFactory for Moody {
    fn open(&mut self, spec: &RunSpec, directory: &Path) -> Result<Box<dyn Explorer>, Refusal> {
        match self.0.fetch_add(1, Relaxed) {
            0 | 1 => Err(Refusal("its disk is full".into())),
            _ => Closures { most: 8, pause: QUICK }.open(spec, directory),
        }
    }
}

#[test]
fn what_was_refused_is_tried_again() {
    let server = Server::start();
    let url = server.url();
    let run = submitted(&url, &closure(3, 2));
    let attempts = Arc::new(AtomicU32::new(0));
    let counted = attempts.clone();
    let worker = worker_with(&url, "moody", move || Box::new(Moody(counted.clone())));
    wait_for(&url, &run, |state| state.status == Status::Finished);
    assert_exact(watcher(&url, &run).join(), orders(3, 2));
    assert_eq!(attempts.load(Relaxed), 3);
    worker.stop();
}

#[test]
fn if_nobody_can_run_it_that_is_said() {
    let server = Server::start();
    let url = server.url();
    let workers: Vec<_> = ["east", "west"].map(|name| worker_with(&url, name, || Box::new(Unable))).into();
    let run = submitted(&url, &closure(3, 2));
    let ending = watcher(&url, &run).join();
    let Ending::Refused(mut refusals) = ending else { panic!("{ending:?}") };
    refusals.sort();
    let reason = "`counter-3-2` is for another processor".to_owned();
    assert_eq!(refusals, [("east".to_owned(), reason.clone()), ("west".to_owned(), reason)]);
    workers.into_iter().for_each(Part::stop);
}

#[test]
fn a_file_that_was_changed_is_not_run() {
    let server = Server::start();
    let url = server.url();
    let run = submitted(&url, &closure(3, 2));
    // Somebody who may write to the store puts another program of the same size in its place.
    runtime().block_on(async {
        let client = async_nats::connect(&url).await.unwrap();
        let store = async_nats::jetstream::new(client).get_object_store("ordain-objects").await.unwrap();
        let objects: Vec<_> = store.list().await.unwrap().try_collect().await.unwrap();
        for object in objects {
            store.put(object.name.as_str(), &mut &b"9 9"[..]).await.unwrap();
        }
    });
    let worker = worker(&url, "careful", QUICK);
    let ending = watcher(&url, &run).join();
    let Ending::Refused(refusals) = ending else { panic!("{ending:?}") };
    assert!(refusals[0].1.contains("another SHA-256"), "{refusals:?}");
    worker.stop();
}

#[test]
fn a_file_cannot_leave_its_directory() {
    let server = Server::start();
    let url = server.url();
    runtime().block_on(async {
        let cluster = connect(&url).await;
        let Submission { mut spec, program, .. } = closure(2, 2);
        spec.program.name = "../outside".into();
        let refused = ordain_cluster::submit(&cluster, &Submission { spec, program, stdin: None }).await;
        assert!(matches!(refused, Err(ClusterError::BadSpec(_))), "{refused:?}");
    });
}

/// Sends a result of nobody's again and again.
fn disturb(url: &str, run: &RunId, payloads: &[Vec<u8>]) {
    runtime().block_on(async {
        let client = async_nats::connect(url).await.unwrap();
        let context = async_nats::jetstream::new(client);
        for payload in payloads {
            let sent = context.publish(format!("ordain.results.{run}"), payload.clone().into()).await.unwrap();
            sent.await.unwrap();
        }
    });
}

#[test]
fn results_of_nobody_and_nonsense_do_not_count() {
    let server = Server::start();
    let url = server.url();
    let run = submitted(&url, &closure(3, 3));
    let watcher = watcher(&url, &run);
    let worker = worker(&url, "honest", SLOW);
    wait_for(&url, &run, |state| state.progress.results >= 1);
    // A result in the right form for a lease that does not exist, one that is cut off, and noise.
    let stale = [&[2u8, 0xff, 0xff, 3, 0, 0, 1, 5][..]].concat();
    disturb(&url, &run, &[stale, vec![1, 2], vec![0xff; 300], Vec::new()]);
    let progress = assert_exact(watcher.join(), orders(3, 3));
    assert_eq!((progress.stale, progress.malformed), (1, 3), "{progress:?}");
    worker.stop();
}

#[test]
fn a_cancelled_run_leaves_nothing_behind() {
    let server = Server::start();
    let url = server.url();
    let run = submitted(&url, &closure(3, 3));
    let watcher = watcher(&url, &run);
    let worker = worker(&url, "busy", SLOW);
    wait_for(&url, &run, |state| state.progress.results >= 2);
    runtime().block_on(async {
        let cluster = connect(&url).await;
        cancel(&cluster, &run).await.unwrap();
        assert!(list(&cluster).await.unwrap().is_empty());
        let twice = cancel(&cluster, &run).await;
        assert!(matches!(twice, Err(ClusterError::NoRun { .. })), "{twice:?}");
    });
    // Whoever watches is told, by the mark or by the absence of the run.
    drop(watcher);
    worker.stop();
    // Who controlled it removes what it was just sending, as soon as it is told.
    runtime().block_on(async {
        let client = async_nats::connect(&url).await.unwrap();
        let context = async_nats::jetstream::new(client);
        let mut left = u64::MAX;
        for _ in 0..200 {
            left = 0;
            for stream in ["ordain-tasks", "KV_ordain-runs", "OBJ_ordain-objects"] {
                left += context.get_stream(stream).await.unwrap().info().await.unwrap().state.messages;
            }
            if left == 0 {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("{left} messages stay");
    });
}

async fn refused(access: &Access) -> ClusterError {
    Cluster::connect(access, timing()).await.expect_err("it is not let in")
}

#[test]
fn what_a_server_lacks_is_said() {
    let plain = Server::start_with("127.0.0.1", &[]);
    let small = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(small.path(), "max_payload: 1024\n").unwrap();
    let small_server = Server::start_with("127.0.0.1", &["-js", "-c", small.path().to_str().unwrap()]);
    let closed = Server::start_with("127.0.0.1", &["-js", "--user", "me", "--pass", "secret"]);
    runtime().block_on(async {
        let error = refused(&Access::new(plain.url())).await;
        assert!(matches!(error, ClusterError::NoJetStream { .. }), "{error:?}");
        let error = refused(&Access::new(small_server.url())).await;
        assert!(matches!(error, ClusterError::SmallPayload { have: 1024, .. }), "{error:?}");
        let error = refused(&Access::new(closed.url())).await;
        assert!(matches!(error, ClusterError::Denied { .. }), "{error:?}");
        let wrong = Login::Password("me".into(), "wrong".into());
        let error = refused(&Access { login: wrong, ..Access::new(closed.url()) }).await;
        assert!(matches!(error, ClusterError::Denied { .. }), "{error:?}");
        let right = Login::Password("me".into(), "secret".into());
        Cluster::connect(&Access { login: right, ..Access::new(closed.url()) }, timing()).await.unwrap();
        let error = refused(&Access::new("nats://127.0.0.1:1")).await;
        assert!(matches!(error, ClusterError::Unreachable { .. }), "{error:?}");
        let error = refused(&Access::new(plain.url().replace("nats:", "tls:"))).await;
        assert!(matches!(error, ClusterError::Tls { .. }), "{error:?}");
        let nowhere = Login::Credentials("/nonexistent/me.creds".into());
        let error = refused(&Access { login: nowhere, ..Access::new(plain.url()) }).await;
        assert!(matches!(error, ClusterError::BadFile { .. }), "{error:?}");
    });
}

#[test]
fn a_full_store_is_said() {
    let config = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(config.path(), "jetstream { max_file_store: 1MB }\n").unwrap();
    let server = Server::start_with("127.0.0.1", &["-c", config.path().to_str().unwrap()]);
    let error = runtime().block_on(async {
        let cluster = connect(&server.url()).await;
        let mut submission = closure(2, 2);
        submission.program = vec![7; 4 << 20];
        submission.spec.program = ordain_cluster::FileSpec::new("large", &submission.program);
        ordain_cluster::submit(&cluster, &submission).await.expect_err("there is no room")
    });
    assert!(matches!(error, ClusterError::Full { .. }), "{error:?}");
}
