//! A Rust test as a test of a suite: its binary runs in a process of its own, and its check connects to us.

use crate::cargo::Found;
use crate::gate::Gate;
use crate::process::{PAUSE, Process};
use crate::result::{End, Trouble};
use ordain_check::protocol::{DIRECTORY, Message, RESUME, Request, SOCKET, TEST, VERSION, receive, send};
use ordain_report::{Run, Sight, Verdict};
use std::io::{self, BufReader, ErrorKind};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::Command;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// A check is heard at least that often, so that it ends soon when the suite does.
const TURN: Duration = Duration::from_millis(200);
/// How long a check may take to end when it is told to.
const GRACE: Duration = Duration::from_secs(5);

/// A test and what it is run with.
pub(crate) struct Library<'a> {
    pub(crate) found: &'a Found,
    pub(crate) environment: Vec<(String, String)>,
    /// What it is made of, if that can be told: then its searches have checkpoints.
    pub(crate) fingerprint: Option<u128>,
    /// Whether its searches are resumed.
    pub(crate) resume: bool,
    /// Where schedules of its findings and checkpoints are written.
    pub(crate) directory: &'a Path,
    /// How long it may be silent.
    pub(crate) patience: Duration,
}

impl Library<'_> {
    /// Runs the test while it is its turn.
    pub(crate) fn run(&self, gate: &mut Gate) -> End {
        let mut run = None;
        let trouble = self.run_checks(&mut run, gate).err();
        if trouble.as_ref().is_some_and(Trouble::is_stopped) {
            run = run.map(cut_short);
        }
        End { run, trouble }
    }

    fn run_checks(&self, result: &mut Option<Box<Run>>, gate: &mut Gate) -> Result<(), Trouble> {
        let cannot = |what: &str, error: io::Error| {
            Trouble::new(format!("{what}: {error}"), "is there room for temporary files, and are they allowed?")
        };
        // Only we can enter the directory, so nobody else can connect.
        let private = tempfile::Builder::new().prefix("ordain-suite-").tempdir();
        let private = private.map_err(|e| cannot("cannot make a temporary directory", e))?;
        let path = private.path().join("conduct");
        let listener = UnixListener::bind(&path).map_err(|e| cannot("cannot listen for the test", e))?;
        listener.set_nonblocking(true).map_err(|e| cannot("cannot listen for the test", e))?;
        let found = self.found;
        let mut command = Command::new(&found.binary);
        command.arg(&found.test).args(["--exact", "--include-ignored", "--nocapture", "--test-threads=1"]);
        command.current_dir(&found.directory).env("CARGO_MANIFEST_DIR", &found.directory);
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.env(SOCKET, &path).env(DIRECTORY, self.directory).env_remove("ORDAIN_REPLAY");
        command.env_remove(TEST).env_remove(RESUME);
        if let Some(fingerprint) = self.fingerprint {
            command.env(TEST, format!("{fingerprint:032x}"));
        }
        if self.resume {
            command.env(RESUME, "1");
        }
        let process = Process::start(&mut command).map_err(|error| {
            Trouble::new(format!("cannot run {}: {error}", found.binary.display()), "is it a test binary?")
        })?;
        let mut conducted = Conducted { process, patience: self.patience };
        // A test may make several checks, one after the other.
        while let Some(stream) = conducted.connection(&listener, result.is_some(), gate)? {
            let before = result.as_ref().map_or((0, 0), |run| (run.executions, run.findings.len()));
            let run = conducted.conduct(stream, before, gate)?;
            let interrupted = run.interrupted;
            *result = Some(join(result.take(), run));
            if interrupted {
                break;
            }
        }
        Ok(())
    }
}

/// What a test comes to that was stopped between two of its checks: nobody knows what the next would have found.
fn cut_short(mut run: Box<Run>) -> Box<Run> {
    (run.interrupted, run.exhausted) = (true, false);
    if run.verdict == Verdict::Verified {
        run.verdict = Verdict::NoFinding;
    }
    run.meaning = format!("it was stopped between two checks, of which the last came to this: {}", run.meaning);
    run
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
    run.executions = run.executions.saturating_add(before.executions);
    run.blocked = run.blocked.saturating_add(before.blocked);
    run.steps = run.steps.saturating_add(before.steps);
    run.wall_seconds += before.wall_seconds;
    run.cpu_seconds += before.cpu_seconds;
    run.exhausted &= before.exhausted;
    run.interrupted |= before.interrupted;
    run.unmet = run.unmet.or(before.unmet.take());
    if before.sight != Sight::Whole {
        run.sight = before.sight;
    }
    // What one of them was estimated at says nothing about both.
    run.estimate = None;
    run.notes.append(&mut before.notes);
    run.findings.append(&mut before.findings);
    run
}

/// The process of a test.
struct Conducted {
    process: Process,
    patience: Duration,
}

impl Conducted {
    /// Waits for a check to connect; `None` when the process has ended, which it may only after a check.
    fn connection(
        &mut self,
        listener: &UnixListener,
        checked: bool,
        gate: &Gate,
    ) -> Result<Option<UnixStream>, Trouble> {
        let begin = Instant::now();
        let cannot = |error: io::Error| Trouble::new(format!("cannot hear the test: {error}"), "try again");
        loop {
            // Looked at first: who connects and ends at once has connected.
            let status = self.process.ended().map_err(cannot)?;
            match listener.accept() {
                Ok((stream, _)) => {
                    // The listener does not block, and what it gives may not either.
                    stream.set_nonblocking(false).map_err(cannot)?;
                    return Ok(Some(stream));
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => return Err(cannot(error)),
            }
            match status {
                Some(status) if checked && status.code().is_some() => return Ok(None),
                Some(status) if checked => {
                    return Err(self.told(format!("its process ended with {status} after its check")));
                }
                Some(status) if status.success() => {
                    return Err(Trouble::new(
                        "it made no check",
                        "a test of a suite calls ordain::check, or is an #[ordain::test]; run it alone to see what it does",
                    ));
                }
                Some(status) => return Err(self.told(format!("it ended with {status} before it made a check"))),
                // After a check it may be about to end.
                None if gate.is_stopped() && (!checked || begin.elapsed() > GRACE) => return Err(Trouble::stopped()),
                None if begin.elapsed() > self.patience => return Err(self.hangs()),
                None => std::thread::sleep(PAUSE),
            }
        }
    }

    /// Lets a check go on while it is its turn, to its end.
    fn conduct(&mut self, stream: UnixStream, before: (u64, usize), gate: &mut Gate) -> Result<Box<Run>, Trouble> {
        let mut to = stream.try_clone().map_err(|error| self.lost(&error))?;
        let from = hear(stream).map_err(|error| self.lost(&error))?;
        let mut asked = Instant::now();
        loop {
            let message = match from.recv_timeout(PAUSE * 4) {
                Ok(Ok(message)) => message,
                Ok(Err(error)) => return Err(self.lost(&error)),
                Err(RecvTimeoutError::Disconnected) => return Err(self.gone()),
                Err(RecvTimeoutError::Timeout) => {
                    let patience = if gate.is_stopped() { self.patience.min(GRACE) } else { self.patience };
                    if asked.elapsed() > patience {
                        return Err(self.hangs());
                    }
                    continue;
                }
            };
            let (executions, findings, estimate) = match message {
                Message::Hello { version: VERSION, executions, .. } => {
                    gate.carry(executions);
                    (executions, 0, None)
                }
                Message::Hello { version, .. } => {
                    return Err(Trouble::new(
                        format!(
                            "it uses another version of the library ordain (it speaks {version}, we speak {VERSION})"
                        ),
                        "use the same version of `ordain` in Cargo.toml as that of this command",
                    ));
                }
                Message::Slice { executions, findings, estimate } => (executions, findings, estimate),
                Message::Done(run) if run.version == Run::VERSION => return Ok(run),
                Message::Explored(_) | Message::Lost(_) => {
                    return Err(self.lost(&io::Error::other("it says what it was not asked for")));
                }
                Message::Done(_) => return Err(self.lost(&io::Error::other("its record has another version"))),
            };
            let done = before.0.saturating_add(executions);
            if gate.is_over(done) && !gate.is_at_limit(done) {
                gate.pause(done, before.1.saturating_add(findings), estimate);
            }
            let (time, executions) = gate.allowance(done);
            let milliseconds = u64::try_from(time.min(TURN).as_millis()).unwrap_or(u64::MAX).max(1);
            let over = gate.is_stopped() || gate.is_at_limit(done);
            let request = if over { Request::Stop } else { Request::Go { milliseconds, executions } };
            send(&mut to, &request).map_err(|error| self.lost(&error))?;
            asked = Instant::now();
        }
    }

    /// The other side has closed the connection.
    fn gone(&mut self) -> Trouble {
        let how = match self.process.wait(GRACE) {
            Ok(Some(status)) => format!("its process ended with {status} before its check did"),
            _ => "it broke off its check".to_owned(),
        };
        self.told(how)
    }

    /// What comes makes no sense, or nothing comes.
    fn lost(&mut self, error: &io::Error) -> Trouble {
        match error.kind() {
            ErrorKind::BrokenPipe | ErrorKind::ConnectionReset | ErrorKind::UnexpectedEof => self.gone(),
            _ => Trouble::new(
                format!("what it says about its check makes no sense: {error}"),
                "is it the library ordain that it uses, in the same version as this command?",
            ),
        }
    }

    fn hangs(&self) -> Trouble {
        Trouble::new(
            format!("it hangs: it said nothing for {} seconds", self.patience.as_secs_f64()),
            "or one execution takes longer than that: `patience` in [suite] says how long it may",
        )
    }

    /// A trouble with the last that the process said.
    fn told(&self, what: String) -> Trouble {
        let help = "run the test alone to see what it does";
        match last_words(&self.process.written(1)).or_else(|| last_words(&self.process.written(0))) {
            Some(words) => Trouble::new(format!("{what}: {words}"), help),
            None => Trouble::new(what, help),
        }
    }
}

/// The line that tells most: what is behind a panic, or what Ordain said, else the last one.
fn last_words(output: &str) -> Option<String> {
    // What the test harness says is no news.
    let harness = |l: &str| l.starts_with("test ") || l.starts_with("running ");
    let lines: Vec<&str> = output.lines().map(str::trim).filter(|l| !l.is_empty() && !harness(l)).collect();
    let told = lines.iter().find(|l| l.starts_with("ordain: "));
    let panicked = lines.iter().rposition(|l| l.contains("panicked at")).and_then(|at| lines.get(at + 1));
    let last = lines.iter().rfind(|l| !l.starts_with("note: "));
    told.or(panicked).or(last).map(|line| line.chars().take(300).collect())
}

/// Listens in a thread of its own, because reading cannot be given up half-way.
fn hear(stream: UnixStream) -> io::Result<Receiver<io::Result<Message>>> {
    let (to, told) = channel();
    std::thread::Builder::new().name("ordain-listener".into()).spawn(move || {
        let mut from = BufReader::new(stream);
        while let Some(told) = receive(&mut from).transpose() {
            let failed = told.is_err();
            if to.send(told).is_err() || failed {
                break;
            }
        }
    })?;
    Ok(told)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_that_tells_most_is_found() {
        let panicked =
            "\nrunning 1 test\n\nthread 'a' panicked at src/lib.rs:1:1:\nno luck\nnote: run with `RUST_BACKTRACE=1`\n";
        assert_eq!(last_words(panicked).as_deref(), Some("no luck"));
        let blocked = "\nordain: the program is blocked.\nordain: more\nlast\n";
        assert_eq!(last_words(blocked).as_deref(), Some("ordain: the program is blocked."));
        assert_eq!(last_words("one\ntwo\n").as_deref(), Some("two"));
        assert_eq!(last_words(" \nrunning 1 test\ntest a::b ... "), None);
    }
}
