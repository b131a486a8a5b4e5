//! Explores a Rust test: its binary runs in a process of its own, whose check connects to us and explores fragments.

use crate::cluster::Record;
use ordain_check::protocol::{self, Message, Request, SOCKET, VERSION, receive, send};
use ordain_cluster::{Explorer, Finding, Refusal, Returned, RunSpec};
use ordain_explore::frontier::{Order, Rule, Signals};
use std::ffi::OsString;
use std::io::{self, BufReader, ErrorKind, Read};
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// How long a test may take to make its check, and a fragment beyond its time.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long it is waited for another check of a test.
const SOON: Duration = Duration::from_secs(5);
/// How often it is looked whether to stop.
const PAUSE: Duration = Duration::from_millis(20);

/// A test that waits for fragments.
pub(super) struct Test {
    process: Process,
    to: UnixStream,
    from: BufReader<Patient>,
    rule: Rule,
    /// What weakens the verdict of the run.
    warnings: Vec<String>,
}

/// A process that ends with us, and its children with it.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        // Its group has its number. It may be gone already.
        let group = format!("-{}", self.0.id());
        let _ = Command::new("kill").args(["-KILL", "--", &group]).stderr(Stdio::null()).status();
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A stream that gives up when its time is over.
struct Patient {
    stream: UnixStream,
    until: Instant,
}

impl Read for Patient {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.stream.read(buffer) {
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    if Instant::now() >= self.until {
                        return Err(io::Error::new(ErrorKind::TimedOut, "it does not answer"));
                    }
                }
                result => return result,
            }
        }
    }
}

fn cannot(what: &str) -> impl FnOnce(io::Error) -> Refusal {
    let what = what.to_owned();
    move |error| Refusal(format!("{what}: {error}"))
}

/// Where tests that are started connect to.
struct Door<'a> {
    spec: &'a RunSpec,
    name: &'a str,
    directory: &'a Path,
    socket: PathBuf,
    listener: UnixListener,
}

impl<'a> Door<'a> {
    fn open(spec: &'a RunSpec, name: &'a str, directory: &'a Path) -> Result<Self, Refusal> {
        let socket = directory.join(".check");
        let listener = UnixListener::bind(&socket).map_err(cannot("cannot listen for the test"))?;
        listener.set_nonblocking(true).map_err(cannot("cannot listen for the test"))?;
        Ok(Self { spec, name, directory, socket, listener })
    }

    /// Starts the test.
    fn start(&self) -> Result<Process, Refusal> {
        // Places in the source are known by addresses, so these must be the same on every worker.
        let mut command = Command::new("setarch");
        command.arg("-R").arg(self.directory.join(&self.spec.program.name)).arg(self.name);
        command.args(["--exact", "--include-ignored", "--nocapture", "--test-threads=1"]);
        let text = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
        command.envs(self.spec.environment.iter().map(|(name, value)| (text(&name.0), text(&value.0))));
        command.env(SOCKET, &self.socket).env_remove("ORDAIN_REPLAY").current_dir(self.directory).process_group(0);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let process = command.spawn().map_err(cannot("setarch, which starts it at fixed addresses, cannot be run"))?;
        Ok(Process(process))
    }

    /// Waits for a check of the test.
    fn wait(&self, process: &mut Process, patience: Duration) -> Result<Arrival, Refusal> {
        let begun = Instant::now();
        loop {
            match self.listener.accept() {
                Ok((stream, _)) => {
                    let lost = || cannot("the test was lost");
                    stream.set_nonblocking(false).map_err(lost())?;
                    stream.set_read_timeout(Some(PAUSE)).map_err(lost())?;
                    stream.set_write_timeout(Some(PATIENCE)).map_err(lost())?;
                    return Ok(Arrival::Check(stream));
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => return Err(cannot("cannot hear the test")(error)),
            }
            if let Ok(Some(status)) = process.0.try_wait() {
                return Ok(Arrival::End(status));
            }
            if begun.elapsed() > patience {
                return Ok(Arrival::Nothing);
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Whether the test makes another check after its first one. That is stopped at once.
    fn has_more(&self) -> Result<bool, Refusal> {
        let mut process = self.start()?;
        if let Arrival::Check(mut first) = self.wait(&mut process, PATIENCE)? {
            // If it is not heard, there is no other one.
            let _ = send(&mut first, &Request::Stop);
        }
        Ok(matches!(self.wait(&mut process, SOON)?, Arrival::Check(_)))
    }
}

/// What a test does first.
enum Arrival {
    Check(UnixStream),
    End(ExitStatus),
    Nothing,
}

impl Test {
    /// Starts the test and waits for its check.
    pub(super) fn open(spec: &RunSpec, name: &str, directory: &Path) -> Result<Self, Refusal> {
        let door = Door::open(spec, name, directory)?;
        let mut process = door.start()?;
        let stream = match door.wait(&mut process, PATIENCE)? {
            Arrival::Check(stream) => stream,
            Arrival::End(status) => {
                return Err(Refusal(format!("the test `{name}` made no check: its process ended with {status}")));
            }
            Arrival::Nothing => {
                return Err(Refusal(format!("the test `{name}` made no check for {} seconds", PATIENCE.as_secs())));
            }
        };
        let mut warnings = Vec::new();
        if door.has_more()? {
            warnings.push(format!(
                "the test `{name}` makes more checks than one, and only the first was explored: give each a test of its own"
            ));
        }
        let to = stream.try_clone().map_err(cannot("the test was lost"))?;
        let from = BufReader::new(Patient { stream, until: Instant::now() + PATIENCE });
        let mut test = Self { process, to, from, rule: spec.rule, warnings };
        match test.hear(PATIENCE)? {
            Message::Hello { version: VERSION, .. } => Ok(test),
            _ => Err(Refusal("the test was built with another version of Ordain".into())),
        }
    }

    fn hear(&mut self, patience: Duration) -> Result<Message, Refusal> {
        self.from.get_mut().until = Instant::now() + patience;
        match receive(&mut self.from) {
            Ok(Some(told)) => Ok(told),
            Ok(None) => {
                let status = self.process.0.wait().map_or_else(|e| e.to_string(), |status| status.to_string());
                Err(Refusal(format!("the process of the test ended while it explored: {status}")))
            }
            Err(error) => Err(cannot("the test was lost")(error)),
        }
    }
}

impl Explorer for Test {
    fn explore(&mut self, order: &Order, signals: &Signals) -> Result<Returned, Refusal> {
        if signals.stop.load(Relaxed) {
            return Err(Refusal("the worker leaves".into()));
        }
        let fragment = protocol::Fragment { rule: self.rule, task: order.task.clone(), births: order.births.to_vec() };
        send(&mut self.to, &Request::Explore(Box::new(fragment))).map_err(cannot("the test was lost"))?;
        let patience = Duration::from_micros(order.task.slice).saturating_mul(2).saturating_add(PATIENCE);
        match self.hear(patience)? {
            Message::Explored(report) => {
                let findings = report.findings.into_iter().map(|found| {
                    let record = Record { story: found.story, schedule: found.schedule, path: None };
                    Finding { key: found.key, record: serde_json::to_vec(&record).unwrap_or_default() }
                });
                Ok(Returned {
                    findings: findings.collect(),
                    estimate: report.estimate,
                    warnings: self.warnings.clone(),
                    doubts: report.doubt.into_iter().collect(),
                    cpu: report.cpu,
                    ..Returned::new(report.done)
                })
            }
            Message::Lost(reason) => Err(Refusal(reason)),
            _ => Err(Refusal("the test says what it was not asked for".into())),
        }
    }
}
