//! Processes that a suite starts: in a group of their own, so that Ctrl-C at the terminal is ours to handle; what they write
//! is read and its end kept; and they end with us.

use rustix::process::{Pid, Signal, kill_process_group};
use std::io::Read;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How often we look at a process.
pub(crate) const PAUSE: Duration = Duration::from_millis(5);
/// How much of what a process writes is kept, if only the end is of interest.
const TAIL: usize = 1 << 14;
/// How long we wait for the rest of the output of a process that has ended.
const REST: Duration = Duration::from_secs(2);

/// The end of what was written.
#[derive(Clone)]
struct Tail {
    most: usize,
    bytes: Arc<Mutex<Vec<u8>>>,
}

impl Tail {
    /// Reads in a thread of its own until there is no more; `at_end` is dropped then.
    fn of(from: impl Read + Send + 'static, most: usize, at_end: Sender<()>) -> Self {
        let tail = Self { most, bytes: Arc::default() };
        let other = tail.clone();
        // Without the thread the process blocks when the pipe is full, and counts as hanging.
        let _ = std::thread::Builder::new().name("ordain-output".into()).spawn(move || {
            other.fill(from);
            drop(at_end);
        });
        tail
    }

    fn fill(&self, mut from: impl Read) {
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = from.read(&mut buffer) {
            let mut bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
            bytes.extend_from_slice(&buffer[..count]);
            if bytes.len() > self.most.saturating_mul(2) {
                let beginning = bytes.len() - self.most;
                bytes.drain(..beginning);
            }
        }
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
    }
}

/// A process; it ends when this is dropped.
pub(crate) struct Process {
    child: Child,
    reaped: bool,
    outputs: [Option<Tail>; 2],
    ended: Receiver<()>,
}

impl Process {
    /// Starts a process.
    pub(crate) fn start(command: &mut Command) -> std::io::Result<Self> {
        Self::start_keeping(command, TAIL)
    }

    fn start_keeping(command: &mut Command, most: usize) -> std::io::Result<Self> {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let mut child = command.spawn()?;
        let (at_end, ended) = channel();
        let out = child.stdout.take().map(|from| Tail::of(from, most, at_end.clone()));
        let errors = child.stderr.take().map(|from| Tail::of(from, TAIL, at_end));
        Ok(Self { child, reaped: false, outputs: [out, errors], ended })
    }

    /// How it ended, if it has.
    pub(crate) fn ended(&mut self) -> std::io::Result<Option<ExitStatus>> {
        let status = self.child.try_wait()?;
        self.reaped |= status.is_some();
        Ok(status)
    }

    /// Waits for its end, for that long at most.
    pub(crate) fn wait(&mut self, most: Duration) -> std::io::Result<Option<ExitStatus>> {
        let begin = Instant::now();
        loop {
            match self.ended()? {
                None if begin.elapsed() < most => std::thread::sleep(PAUSE),
                status => return Ok(status),
            }
        }
    }

    /// What it has written to standard output (0) or standard error (1); of much only the end.
    pub(crate) fn written(&self, which: usize) -> String {
        if self.reaped {
            // Nobody sends: the channel is closed when all is read. Others may hold the pipe open; they are not waited for.
            let _ = self.ended.recv_timeout(REST);
        }
        self.outputs[which].as_ref().map_or_else(String::new, Tail::text)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if !self.reaped {
            // The process is not reaped, so the number of its group cannot be another's.
            if let Some(group) = Pid::from_raw(self.child.id() as i32) {
                let _ = kill_process_group(group, Signal::KILL);
            }
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// What a process did that has ended.
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    pub(crate) output: String,
    pub(crate) errors: String,
}

/// Why there is no result.
pub(crate) enum NotEnded {
    /// It could not be started or waited for.
    Failed(std::io::Error),
    /// It took too long.
    Late,
    /// The suite is stopped.
    Stopped,
}

/// Runs a process to its end, and keeps that much of its output.
pub(crate) fn run(
    command: &mut Command,
    most_output: usize,
    patience: Option<Duration>,
    is_stopped: &dyn Fn() -> bool,
) -> Result<Ended, NotEnded> {
    let mut process = Process::start_keeping(command, most_output).map_err(NotEnded::Failed)?;
    let begin = Instant::now();
    loop {
        if let Some(status) = process.ended().map_err(NotEnded::Failed)? {
            return Ok(Ended { status, output: process.written(0), errors: process.written(1) });
        }
        if is_stopped() {
            return Err(NotEnded::Stopped);
        }
        if patience.is_some_and(|patience| begin.elapsed() >= patience) {
            return Err(NotEnded::Late);
        }
        std::thread::sleep(PAUSE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn output_and_status_are_told() {
        let ended = run(&mut shell("echo out; echo err >&2; exit 3"), 100, None, &|| false);
        let Ok(ended) = ended else { panic!("it runs") };
        assert_eq!((ended.status.code(), ended.output.as_str(), ended.errors.as_str()), (Some(3), "out\n", "err\n"));
    }

    #[test]
    fn of_much_output_the_end_is_kept() {
        let script = "i=0; while [ $i -lt 3000 ]; do echo line $i; i=$((i+1)); done";
        let Ok(ended) = run(&mut shell(script), 100, None, &|| false) else { panic!("it runs") };
        assert!(ended.output.len() <= 5000 && ended.output.ends_with("line 2999\n"), "{}", ended.output.len());
    }

    #[test]
    fn whatever_does_not_end_is_ended() {
        let late = run(&mut shell("sleep 1000 & wait"), 100, Some(Duration::from_millis(20)), &|| false);
        assert!(matches!(late, Err(NotEnded::Late)));
        let stopped = run(&mut shell("sleep 1000"), 100, None, &|| true);
        assert!(matches!(stopped, Err(NotEnded::Stopped)));
        let failed = run(&mut Command::new("/nowhere/program"), 100, None, &|| false);
        assert!(matches!(failed, Err(NotEnded::Failed(_))));
    }
}
