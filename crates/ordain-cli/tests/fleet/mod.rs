//! A cluster on loopback for tests of the command: a server, workers that can be killed, and checks of theirs.
#![allow(dead_code, unreachable_pub, reason = "each test uses a part")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../../../ordain-cluster/tests/common/server.rs"]
mod server;

pub use server::Server;

use crate::common;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// After how long without a sign of life somebody is taken for dead.
const DEAD_AFTER: &str = "2s";

/// A process of ours that ends with the test.
pub struct Process(pub Child);

impl Process {
    /// Starts a command whose output nobody reads.
    fn start(command: &mut Command) -> Self {
        Self(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }

    /// Starts a command whose output is read in the end.
    pub fn piped(command: &mut Command) -> Self {
        Self(command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
    }

    /// Waits for its end. What it writes must fit into a pipe until then.
    pub fn output(mut self) -> Output {
        let status = self.0.wait().unwrap();
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        std::io::copy(&mut self.0.stdout.take().unwrap(), &mut stdout).unwrap();
        std::io::copy(&mut self.0.stderr.take().unwrap(), &mut stderr).unwrap();
        Output { status, stdout, stderr }
    }

    /// Whether it is over.
    pub fn is_over(&mut self) -> bool {
        self.0.try_wait().unwrap().is_some()
    }

    /// Asks it to end.
    pub fn terminate(&self) {
        assert!(Command::new("kill").args(["-TERM", &self.0.id().to_string()]).status().unwrap().success());
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A server with workers, and a directory for everything.
pub struct Fleet {
    pub server: Server,
    pub directory: TempDir,
    /// How everybody is let in.
    access: Vec<String>,
    workers: Vec<Process>,
    started: usize,
}

impl Fleet {
    /// A server with so many workers.
    pub fn start(workers: usize) -> Self {
        Self::on(Server::start(), &[], workers)
    }

    /// Workers on a server that has to be told who they are.
    pub fn on(server: Server, access: &[&str], workers: usize) -> Self {
        let access = access.iter().map(|option| (*option).to_owned()).collect();
        let mut fleet = Self { server, directory: common::directory(), access, workers: Vec::new(), started: 0 };
        std::fs::create_dir(fleet.directory.path().join("tmp")).unwrap();
        (0..workers).for_each(|_| fleet.join());
        fleet
    }

    /// Another worker.
    pub fn join(&mut self) {
        let name = format!("w{}", self.started);
        self.started += 1;
        let mut command = self.ordain(&["worker", &self.server.url(), "--name", &name]);
        // What workers leave behind that are killed goes with the test.
        command
            .args(["--parallel", "1", "--dead-after", DEAD_AFTER])
            .args(&self.access)
            .env("TMPDIR", self.directory.path().join("tmp"));
        self.workers.push(Process::start(&mut command));
    }

    /// Kills a worker, and starts another one.
    pub fn replace(&mut self, number: usize) {
        drop(self.workers.remove(number % self.workers.len()));
        self.join();
    }

    /// Takes a worker away from the fleet.
    pub fn take(&mut self) -> Process {
        self.workers.remove(0)
    }

    /// The command, in the directory of the test.
    pub fn ordain(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ordain"));
        command.current_dir(self.directory.path()).env("NO_COLOR", "1").args(arguments);
        command
    }

    /// A check on the cluster, without what is checked.
    fn check(&self, more: &[&str]) -> Command {
        let url = self.server.url();
        let mut command = self.ordain(&["check", "--quiet", "--format", "json", "--cluster", &url]);
        command.args(["--dead-after", DEAD_AFTER]).args(&self.access).args(more);
        command
    }

    /// Checks a C program of the tests.
    pub fn check_program(&self, source: &str, arguments: &[&str], more: &[&str]) -> Command {
        let program = common::compile(self.directory.path(), &common::source(source), "program", &[]);
        let mut command = self.check(more);
        command.arg("--").arg(program).args(arguments);
        command
    }

    /// Checks a test of this test binary.
    pub fn check_test(&self, test: &str, more: &[&str]) -> Command {
        // Without what debuggers read, which is most of it: every worker gets a copy.
        let binary = self.directory.path().join("tests");
        let stripped = Command::new("strip").arg("-o").arg(&binary).arg(std::env::current_exe().unwrap()).status();
        assert!(stripped.unwrap().success());
        let mut command = self.check(more);
        command.args(["--test", test, "--"]).arg(binary);
        command
    }

    /// Comes back to a run.
    pub fn attach(&self, run: &str) -> Command {
        self.check(&["--attach", run])
    }

    /// The runs, as `ordain cluster list` tells them; none while the server is away.
    pub fn runs(&self) -> Vec<Value> {
        let mut command = self.ordain(&["cluster", "list", &self.server.url(), "--format", "json"]);
        let listed = command.args(&self.access).output().unwrap();
        serde_json::from_slice(&listed.stdout).unwrap_or_default()
    }

    /// Waits until the only run has made so many executions; gives its name, or nothing if it is over.
    pub fn wait_for(&self, executions: u64, check: &mut Process) -> Option<String> {
        while !check.is_over() {
            if let [run] = &self.runs()[..]
                && run["progress"]["summary"]["executions"].as_u64().unwrap() >= executions
            {
                return Some(run["run"].as_str().unwrap().to_owned());
            }
            std::thread::sleep(Duration::from_millis(150));
        }
        None
    }
}

/// The JSON value that a command has written.
#[track_caller]
pub fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| {
        panic!("{}\n{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
    })
}

/// What a command has told people.
pub fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// Where a command that was run in a directory has written the schedule of its first finding.
pub fn schedule(directory: &Path, result: &Value) -> PathBuf {
    directory.join(result["findings"][0]["schedule"].as_str().unwrap())
}
