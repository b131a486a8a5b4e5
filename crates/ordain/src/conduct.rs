//! Being conducted: in a suite, a check goes on only while it is its turn.

use ordain_check::checkpoint::FILE;
use ordain_check::protocol::{
    DIRECTORY, Fragment, FragmentReport, Message, RESUME, Request, SOCKET, TEST, VERSION, receive, send,
};
use ordain_check::{CheckpointFile, Observer, Progress, Settings};
use ordain_report::{Estimate, Run};
use std::io::BufReader;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Whoever says when to go on.
pub(crate) struct Conductor {
    to: UnixStream,
    from: BufReader<UnixStream>,
    /// When the slice is over, by time and by executions.
    until: (Instant, u64),
    waited: Duration,
    stopped: bool,
    /// A fragment that is to be explored.
    fragment: Option<Box<Fragment>>,
}

/// Whether a suite conducts the checks of this process.
pub(crate) fn is_conducted() -> bool {
    std::env::var_os(SOCKET).is_some()
}

/// Checks of this process so far: a test may make several, one after the other.
static CHECKS: AtomicU32 = AtomicU32::new(0);

/// The checkpoint of a check, for a suite that is resumed.
pub(crate) struct SuiteCheckpoint {
    pub(crate) directory: PathBuf,
    pub(crate) place: CheckpointFile,
    /// Whether to resume from it.
    pub(crate) resume: bool,
}

impl SuiteCheckpoint {
    /// For a check that is about to begin; `None` if nobody wants one.
    pub(crate) fn of(name: &str) -> Option<Self> {
        let (directory, test) = (std::env::var_os(DIRECTORY)?, std::env::var(TEST).ok()?);
        let number = CHECKS.fetch_add(1, Relaxed) + 1;
        let identity = [("test or configuration", test), ("check", name.to_owned())];
        let identity = identity.map(|(name, value)| (name.to_owned(), value)).into();
        let place = CheckpointFile { file: format!("{FILE}-{number}"), identity };
        Some(Self { directory: directory.into(), place, resume: std::env::var_os(RESUME).is_some() })
    }

    /// For a check without checkpoints.
    pub(crate) fn nowhere() -> CheckpointFile {
        CheckpointFile { file: String::new(), identity: Vec::new() }
    }

    /// How many executions were made before.
    pub(crate) fn executions(&self, settings: &Settings) -> u64 {
        if self.resume { ordain_check::checkpointed_executions(&self.directory, &self.place, settings) } else { 0 }
    }
}

impl Observer for Conductor {
    fn progress(&mut self, progress: &Progress) {
        self.pause(progress.summary.executions, progress.findings, progress.estimate);
    }

    fn allowance(&self, done: u64) -> (Duration, u64) {
        let (end, executions) = self.until;
        (end.saturating_duration_since(Instant::now()), executions.saturating_sub(done))
    }

    fn waited(&self) -> Duration {
        self.waited
    }

    fn is_stopped(&self) -> bool {
        self.stopped
    }
}

impl Conductor {
    /// Connects to the conductor of a suite, if there is one, and waits for the first turn.
    /// It has made so many executions before.
    pub(crate) fn connect(check: &str, executions: u64) -> Option<Self> {
        let path = std::env::var_os(SOCKET)?;
        let to = UnixStream::connect(&path).ok()?;
        let from = BufReader::new(to.try_clone().ok()?);
        let mut conductor =
            Self { to, from, until: (Instant::now(), 0), waited: Duration::ZERO, stopped: false, fragment: None };
        conductor.tell(&Message::Hello { version: VERSION, check: check.to_owned(), executions });
        conductor.wait(executions);
        Some(conductor)
    }

    /// Where schedules of findings are written.
    pub(crate) fn directory(&self) -> Option<PathBuf> {
        std::env::var_os(DIRECTORY).map(PathBuf::from)
    }

    /// Whether fragments are to be explored, and not the whole.
    pub(crate) fn wants_fragments(&self) -> bool {
        self.fragment.is_some()
    }

    /// The fragment that is to be explored; `None` if it shall end.
    pub(crate) fn fragment(&mut self) -> Option<Box<Fragment>> {
        if self.fragment.is_none() {
            self.wait(0);
        }
        self.fragment.take()
    }

    /// Tells what came of a fragment.
    pub(crate) fn explored(&mut self, report: Result<FragmentReport, String>) {
        self.tell(&report.map_or_else(Message::Lost, |report| Message::Explored(Box::new(report))));
    }

    /// Whether the slice is over.
    fn is_over(&self, executions: u64) -> bool {
        self.stopped || executions >= self.until.1 || Instant::now() >= self.until.0
    }

    /// If the slice is over, tells how far the check is and waits for the next; `true` if it shall end.
    fn pause(&mut self, executions: u64, findings: usize, estimate: Option<Estimate>) -> bool {
        if !self.stopped && self.is_over(executions) {
            self.tell(&Message::Slice { executions, findings, estimate });
            self.wait(executions);
        }
        self.stopped
    }

    /// Tells the result.
    pub(crate) fn finish(mut self, run: Run) {
        self.tell(&Message::Done(Box::new(run)));
    }

    fn tell(&mut self, message: &Message) {
        // Without a conductor there is nobody to go on for.
        self.stopped |= send(&mut self.to, message).is_err();
    }

    fn wait(&mut self, done: u64) {
        if self.stopped {
            return;
        }
        let begin = Instant::now();
        match receive(&mut self.from) {
            Ok(Some(Request::Go { milliseconds, executions })) => {
                let (now, day) = (Instant::now(), Duration::from_secs(86_400));
                let time = Duration::from_millis(milliseconds).min(day);
                self.until = (now + time, done.saturating_add(executions));
            }
            Ok(Some(Request::Explore(fragment))) => self.fragment = Some(fragment),
            Ok(Some(Request::Stop) | None) | Err(_) => self.stopped = true,
        }
        self.waited += begin.elapsed();
    }
}
