//! A Rust test as a test of a suite: its binary runs in a process of its own, and its check connects to us.

use crate::cargo::Found;
use crate::conduct::Gate;
use crate::result::Trouble;
use ordain_report::conduct::{Order, Told, VARIABLE, receive, send};
use ordain_report::{Run, Verdict};
use std::io::{BufReader, ErrorKind};
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How often we look for a process that does not connect.
const PAUSE: Duration = Duration::from_millis(5);

/// Runs the test while it is its turn.
pub(crate) fn run(found: &Found, patience: Duration, gate: &mut Gate) -> Result<Box<Run>, Trouble> {
    let trouble = |what: &str, error: std::io::Error| Trouble { message: format!("{what}: {error}"), help: None };
    // Only we can enter the directory, so nobody else can connect.
    let private = tempfile::Builder::new().prefix("ordain-suite-").tempdir();
    let private = private.map_err(|e| trouble("cannot make a temporary directory", e))?;
    let path = private.path().join("conduct");
    let listener = UnixListener::bind(&path).map_err(|e| trouble("cannot listen for the test", e))?;
    listener.set_nonblocking(true).map_err(|e| trouble("cannot listen for the test", e))?;
    let mut command = Command::new(&found.binary);
    command.arg(&found.test).args(["--exact", "--nocapture", "--test-threads=1"]);
    command.current_dir(&found.directory).env(VARIABLE, &path);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let child = command.spawn().map_err(|e| trouble(&format!("cannot run {}", found.binary.display()), e))?;
    let mut process = Process { child, patience };
    let mut result: Option<Box<Run>> = None;
    // A test may make several checks, one after the other.
    while let Some(stream) = process.connection(&listener)? {
        let before = result.as_ref().map_or((0, 0), |run| (run.executions, run.findings.len()));
        let run = process.conduct(stream, before, gate)?;
        result = Some(join(result, run));
        if gate.stopped {
            break;
        }
    }
    result.ok_or_else(|| Trouble {
        message: "it made no check".into(),
        help: Some("a test of a suite calls ordain::check, or is an #[ordain::test]; run it alone to see what it does".into()),
    })
}

/// What two checks of one test come to: the worse of the two.
fn join(before: Option<Box<Run>>, run: Box<Run>) -> Box<Run> {
    let Some(mut before) = before else { return run };
    let mut run = run;
    let worse = |verdict| match verdict {
        Verdict::Finding => 2,
        Verdict::NoFinding => 1,
        Verdict::Verified => 0,
    };
    if worse(before.verdict) > worse(run.verdict) {
        std::mem::swap(&mut before, &mut run);
    }
    run.executions += before.executions;
    run.blocked += before.blocked;
    run.steps += before.steps;
    run.wall_seconds += before.wall_seconds;
    run.cpu_seconds += before.cpu_seconds;
    run.exhausted &= before.exhausted;
    run.interrupted |= before.interrupted;
    run.findings.append(&mut before.findings);
    run
}

/// The process of a test; it ends with us.
struct Process {
    child: Child,
    patience: Duration,
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Process {
    /// Waits for a check to connect; `None` when the process has ended.
    fn connection(&mut self, listener: &UnixListener) -> Result<Option<UnixStream>, Trouble> {
        let begin = Instant::now();
        loop {
            match listener.accept() {
                Ok((stream, _)) => {
                    // The listener does not block, and what it gives may not either.
                    let set = stream.set_nonblocking(false).and_then(|()| stream.set_read_timeout(Some(self.patience)));
                    return match set {
                        Ok(()) => Ok(Some(stream)),
                        Err(error) => Err(Trouble { message: format!("cannot talk to the test: {error}"), help: None }),
                    };
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => return Err(Trouble { message: format!("cannot hear the test: {error}"), help: None }),
            }
            match self.child.try_wait() {
                Ok(None) => {}
                Ok(Some(status)) if status.code().is_some() => return Ok(None),
                Ok(Some(status)) => return Err(crashed(&status.to_string())),
                Err(error) => return Err(crashed(&error.to_string())),
            }
            if begin.elapsed() > self.patience {
                return Err(hangs(self.patience));
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Lets a check go on while it is its turn, to its end.
    fn conduct(&mut self, stream: UnixStream, before: (u64, usize), gate: &mut Gate) -> Result<Box<Run>, Trouble> {
        let lost = |error: std::io::Error| match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => hangs(self.patience),
            _ => crashed(&error.to_string()),
        };
        let mut to = stream.try_clone().map_err(lost)?;
        let mut from = BufReader::new(stream);
        loop {
            match receive::<Told>(&mut from).map_err(lost)? {
                Some(Told::Hello(_)) => {}
                Some(Told::Slice { executions, findings, estimate }) => {
                    gate.pause(before.0 + executions, before.1 + findings, estimate);
                }
                Some(Told::Done(run)) => return Ok(run),
                None => {
                    let status = self.child.wait().map(|s| s.to_string()).unwrap_or_default();
                    return Err(crashed(&status));
                }
            }
            let left = u64::try_from(gate.left().as_millis()).unwrap_or(u64::MAX).max(1);
            let order = if gate.stopped { Order::Stop } else { Order::Go(left) };
            send(&mut to, &order).map_err(lost)?;
        }
    }
}

fn crashed(how: &str) -> Trouble {
    Trouble {
        message: format!("its process ended before its check did ({how})"),
        help: Some("run the test alone to see what it does".into()),
    }
}

fn hangs(patience: Duration) -> Trouble {
    Trouble {
        message: format!("it said nothing for {} seconds", patience.as_secs_f64()),
        help: Some("it hangs, or one execution takes very long; `patience` in [suite] is how long it may".into()),
    }
}
