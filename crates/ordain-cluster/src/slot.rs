//! A place for fragments on a worker: a thread of its own that keeps what it has opened, because what explores cannot change threads.

use crate::directory::Directory;
use crate::message::Returned;
use crate::spec::{RunId, RunSpec};
use ordain_explore::frontier::{Order, Signals};
use std::collections::HashMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use tokio::sync::oneshot;

/// Why a worker does not run something: a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal(pub String);

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Explores fragments of one run.
pub trait Explorer {
    /// Explores until the time of the task is over, nothing is left, or the signals say so. Whatever keeps it from that is a refusal: this
    /// worker then takes no more tasks of the run for a while, unless it is leaving.
    fn explore(&mut self, order: &Order, signals: &Signals) -> Result<Returned, Refusal>;
}

/// Makes explorers.
pub trait ExplorerFactory {
    /// Makes ready what a run is about. The files of the specification are in the directory, under their names, and are what they should
    /// be; the program may do there what it likes.
    fn open(&mut self, spec: &RunSpec, directory: &Path) -> Result<Box<dyn Explorer>, Refusal>;
}

/// Makes a factory for each thread that explores.
pub(crate) type MakeFactory = Arc<dyn Fn() -> Box<dyn ExplorerFactory> + Send + Sync>;

/// A run as a worker has it: its files are on the disk, and verified.
#[derive(Debug)]
pub(crate) struct Local {
    pub(crate) run: RunId,
    pub(crate) spec: RunSpec,
    pub(crate) files: Directory,
}

/// What a slot says.
pub(crate) type Answer = Result<Returned, Refusal>;

/// What is asked of a slot.
pub(crate) enum Job {
    Explore {
        local: Arc<Local>,
        order: Box<Order>,
        answer: oneshot::Sender<Answer>,
    },
    /// The run is over.
    Close(RunId),
}

/// A thread that explores.
pub(crate) struct Slot {
    pub(crate) jobs: mpsc::Sender<Job>,
    thread: JoinHandle<()>,
}

impl Slot {
    pub(crate) fn start(number: usize, make: MakeFactory, signals: Arc<Signals>) -> std::io::Result<Self> {
        let (jobs, asked) = mpsc::channel();
        let body = move || {
            let mut factory = make();
            let mut open: HashMap<RunId, Open> = HashMap::new();
            while let Ok(job) = asked.recv() {
                match job {
                    Job::Close(run) => drop(open.remove(&run)),
                    Job::Explore { local, order, answer } => {
                        let run = local.run.clone();
                        let result = catch_unwind(AssertUnwindSafe(|| {
                            explore(&mut *factory, &mut open, &local, &order, &signals)
                        }));
                        let result = result.unwrap_or_else(|panic| {
                            let text = panic.downcast_ref::<String>().map(String::as_str);
                            let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
                            Err(Refusal(format!(
                                "exploring it failed, which is a defect of Ordain: {}",
                                text.unwrap_or("?")
                            )))
                        });
                        if result.is_err() {
                            open.remove(&run);
                        }
                        // Whoever asked may be gone; the task is then delivered to somebody else.
                        let _ = answer.send(result);
                    }
                }
            }
        };
        let thread = std::thread::Builder::new().name(format!("explorer {number}")).spawn(body)?;
        Ok(Self { jobs, thread })
    }

    /// Ends the thread after what it does.
    pub(crate) fn end(self) {
        drop(self.jobs);
        // Panics are caught inside.
        let _ = self.thread.join();
    }
}

/// What is open on a slot. The explorer goes before its directory.
struct Open {
    explorer: Box<dyn Explorer>,
    _directory: Directory,
}

fn explore(
    factory: &mut dyn ExplorerFactory,
    open: &mut HashMap<RunId, Open>,
    local: &Local,
    order: &Order,
    signals: &Signals,
) -> Answer {
    if !open.contains_key(&local.run) {
        let directory = Directory::new().and_then(|directory| {
            for file in local.spec.files() {
                std::fs::copy(local.files.path().join(&file.name), directory.path().join(&file.name))?;
            }
            Ok(directory)
        });
        let directory = directory
            .map_err(|error| Refusal(format!("there is no directory to run it in: {error} (TMPDIR, disk full?)")))?;
        let explorer = factory.open(&local.spec, directory.path())?;
        open.insert(local.run.clone(), Open { explorer, _directory: directory });
    }
    match open.get_mut(&local.run) {
        Some(open) => open.explorer.explore(order, signals),
        None => Err(Refusal("it was closed".into())),
    }
}
