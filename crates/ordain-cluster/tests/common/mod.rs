//! A server of its own for each test, workers on threads that can be killed, and searches of closures whose classes are known.
#![allow(dead_code, unreachable_pub, unused_imports, reason = "each test uses a part")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod proxy;
mod server;

pub use proxy::Proxy;
pub use server::Server;

use ordain_cluster::{
    Access, Cluster, Ending, Explorer, ExplorerFactory, FileSpec, Finding, Kind, Progress, Refusal, Returned, RunId,
    RunSpec, Submission, Timing, WorkerOptions, attach, submit, work,
};
use ordain_explore::frontier::{Divisible, Done, Order, Rule, Signals, explore_fragment};
use ordain_explore::strategy::{Optimal, Source};
use ordain_explore::{Target, class_of};
use ordain_model::End;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;

/// Everything happens soon.
pub fn timing() -> Timing {
    Timing {
        ack_wait: Duration::from_millis(800),
        beat: Duration::from_millis(100),
        claim: Duration::from_millis(800),
        patience: Duration::from_secs(30),
        retry: Duration::from_millis(300),
        outage: Duration::from_secs(30),
        keep: Duration::from_secs(3600),
    }
}

/// Some threads that take a mutex a few times each: a class for each order.
pub fn counter(threads: usize, rounds: usize) {
    let mutex = Arc::new(ordain::sync::Mutex::new(0));
    let body = |mutex: Arc<ordain::sync::Mutex<usize>>| move || (0..rounds).for_each(|_| *mutex.lock().unwrap() += 1);
    let threads: Vec<_> = (0..threads).map(|_| ordain::thread::spawn(body(mutex.clone()))).collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

/// The number of orders: (threads × rounds)! / rounds!^threads.
pub fn orders(threads: u64, rounds: u64) -> u64 {
    let factorial = |n: u64| (1..=n).product::<u64>();
    factorial(threads * rounds) / factorial(rounds).pow(threads as u32)
}

/// Explores closures: the program is a file that says how many threads and rounds there are.
pub struct Closures {
    /// Executions in a fragment at most.
    pub most: u64,
    /// How long a fragment takes at least.
    pub pause: Duration,
}

/// A target of any type.
struct Anything(Box<dyn Target>);

impl Target for Anything {
    fn run(&mut self, plan: &mut ordain_explore::Plan<'_>) {
        self.0.run(plan);
    }

    fn execution(&self) -> &ordain_model::Execution {
        self.0.execution()
    }

    fn names(&self) -> &ordain_model::Names {
        self.0.names()
    }
}

struct Search {
    target: Anything,
    rule: Rule,
    most: u64,
    pause: Duration,
}

impl ExplorerFactory for Closures {
    fn open(&mut self, spec: &RunSpec, directory: &Path) -> Result<Box<dyn Explorer>, Refusal> {
        let text = std::fs::read_to_string(directory.join(&spec.program.name)).map_err(|e| Refusal(e.to_string()))?;
        let numbers: Vec<usize> = text.split(' ').filter_map(|n| n.parse().ok()).collect();
        let [threads, rounds] = numbers[..] else { return Err(Refusal(format!("`{text}` is no program"))) };
        let target = Anything(Box::new(ordain::target(move || counter(threads, rounds))));
        Ok(Box::new(Search { target, rule: spec.rule, most: self.most, pause: self.pause }))
    }
}

impl Explorer for Search {
    fn explore(&mut self, order: &Order, _: &Signals) -> Result<Returned, Refusal> {
        std::thread::sleep(self.pause);
        let Order { task, births } = order;
        let mut strategy: Box<dyn Divisible> = match self.rule {
            Rule::Optimal => Box::new(Optimal::default()),
            Rule::Source => Box::new(Source::default()),
        };
        let (mut classes, mut diverged) = (Vec::new(), None);
        let most = self.most;
        let (explored, summary) =
            explore_fragment(&mut self.target, &mut *strategy, &task.fragment, &mut |target, summary| {
                let execution = target.execution();
                if let End::Diverged(divergence) = &execution.end {
                    diverged = Some(Refusal(format!("it diverges: {divergence:?}")));
                } else if !matches!(execution.end, End::Cut) {
                    classes.extend(class_of(execution).0.to_le_bytes());
                }
                let over = summary.executions + summary.blocked >= most;
                if over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
        if let Some(refusal) = diverged {
            return Err(refusal);
        }
        // Threads and objects of these programs get the same numbers everywhere.
        let named: Vec<_> = self.target.names().births(0).collect();
        assert!(named.iter().zip(births.iter()).all(|(a, b)| a == b), "the names are others");
        let done =
            Done { lease: task.lease, explored, names: task.names, births: named[task.names..].to_vec(), summary };
        // What was met goes with the result, so that a test can see that every class counted once.
        let findings = vec![Finding { key: task.lease.to_string(), record: classes }];
        Ok(Returned { findings, ..Returned::new(done) })
    }
}

/// A submission of a closure.
pub fn closure(threads: usize, rounds: usize) -> Submission {
    let program = format!("{threads} {rounds}").into_bytes();
    let mut spec = RunSpec::new(Kind::Program, FileSpec::new(format!("counter-{threads}-{rounds}"), &program));
    spec.limits.keep_going = true;
    Submission { spec, program, stdin: None }
}

/// The classes of a run, and how often each counted.
pub fn classes(findings: &[Finding]) -> BTreeMap<u128, u64> {
    let mut classes = BTreeMap::new();
    for finding in findings {
        for class in finding.record.chunks(16) {
            *classes.entry(u128::from_le_bytes(class.try_into().unwrap())).or_default() += 1;
        }
    }
    classes
}

/// Demands that every class was explored, and none twice.
#[track_caller]
pub fn assert_exact(ending: Ending, expected: u64) -> Progress {
    let Ending::Finished(outcome, findings) = ending else { panic!("it did not finish: {ending:?}") };
    let classes = classes(&findings);
    let twice = classes.values().filter(|n| **n > 1).count();
    assert_eq!((classes.len() as u64, twice), (expected, 0), "{:?}", outcome.progress);
    assert!(outcome.exhausted);
    assert_eq!(outcome.progress.summary.executions, expected);
    outcome.progress
}

pub fn runtime() -> Runtime {
    Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
}

pub async fn connect(url: &str) -> Cluster {
    Cluster::connect(&Access::new(url), timing()).await.unwrap()
}

/// Something that runs on its own thread and can be ended in order or killed.
pub struct Part<T> {
    stop: watch::Sender<bool>,
    kill: watch::Sender<bool>,
    thread: JoinHandle<Option<T>>,
}

impl<T: Send + 'static> Part<T> {
    fn start<F: Future<Output = T>>(body: impl FnOnce(watch::Receiver<bool>) -> F + Send + 'static) -> Self {
        let (stop, stopped) = watch::channel(false);
        let (kill, mut killed) = watch::channel(false);
        let thread = std::thread::spawn(move || {
            let runtime = runtime();
            let result = runtime.block_on(async {
                tokio::select! {
                    result = body(stopped) => Some(result),
                    _ = killed.wait_for(|killed| *killed) => None,
                }
            });
            // Nothing in it gets to say a last word.
            runtime.shutdown_background();
            result
        });
        Self { stop, kill, thread }
    }

    /// Ends it where it is.
    pub fn kill(self) {
        self.kill.send_replace(true);
        assert!(self.thread.join().unwrap().is_none(), "it was over already");
    }

    /// Asks it to end.
    pub fn stop(self) -> T {
        self.stop.send_replace(true);
        self.thread.join().unwrap().unwrap()
    }

    /// Waits for its end.
    pub fn join(self) -> T {
        self.thread.join().unwrap().unwrap()
    }
}

/// A worker with a slot.
pub fn worker(url: &str, name: &str, pause: Duration) -> Part<()> {
    worker_with(url, name, move || Box::new(Closures { most: 8, pause }))
}

pub fn worker_with(
    url: &str,
    name: &str,
    make: impl Fn() -> Box<dyn ExplorerFactory> + Send + Sync + 'static,
) -> Part<()> {
    let (url, name) = (url.to_owned(), name.to_owned());
    Part::start(move |stop| async move {
        let cluster = connect(&url).await;
        work(&cluster, WorkerOptions::new(&name, 1, make), stop, |_| {}).await.unwrap();
    })
}

/// Watches a run, and controls it if nobody else does.
pub fn watcher(url: &str, run: &RunId) -> Part<Ending> {
    let (url, run) = (url.to_owned(), run.clone());
    Part::start(move |stop| async move {
        let cluster = connect(&url).await;
        attach(&cluster, &run, stop, &mut |_| {}).await.unwrap()
    })
}

/// Submits a run, and lets it go.
pub fn submitted(url: &str, submission: &Submission) -> RunId {
    runtime().block_on(async { submit(&connect(url).await, submission).await.unwrap() })
}

/// Waits until so much of a run is done.
pub fn wait_for(url: &str, run: &RunId, what: impl Fn(&ordain_cluster::State) -> bool) {
    runtime().block_on(async {
        let cluster = connect(url).await;
        for _ in 0..600 {
            let runs = ordain_cluster::list(&cluster).await.unwrap_or_default();
            if runs.iter().any(|listed| listed.run == *run && what(&listed.state)) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("it does not come to that: {:?}", ordain_cluster::list(&cluster).await);
    });
}
