//! Clusters on the command line: real workers, killed and asked to leave; runs that are left and come back to; what goes wrong.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use assert_cmd::cargo::cargo_bin;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A process of ours that ends with the test.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A server on loopback, in a directory that is removed in the end.
struct Server {
    port: u16,
    directory: TempDir,
    _process: Process,
}

impl Server {
    fn start() -> Self {
        for _ in 0..20 {
            let directory = tempfile::tempdir().unwrap();
            let port = TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
            let mut command = Command::new("nats-server");
            command.args(["-js", "-a", "127.0.0.1", "-p", &port.to_string(), "-sd"]).arg(directory.path().join("js"));
            let process = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
            let mut process = Process(process.expect("nats-server is installed: scripts/setup does that"));
            for _ in 0..200 {
                if process.0.try_wait().unwrap().is_some() {
                    break;
                }
                if TcpStream::connect(("127.0.0.1", port)).is_ok() {
                    return Self { port, directory, _process: process };
                }
                std::thread::sleep(Duration::from_millis(25));
            }
        }
        panic!("nats-server does not start");
    }

    fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    fn worker(&self, name: &str) -> Process {
        let mut command = Command::new(cargo_bin("ordain"));
        command.args(["worker", &self.url(), "--name", name, "--parallel", "1", "--dead-after", "2s"]);
        Process(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }

    fn ordain(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(cargo_bin("ordain"));
        command.current_dir(self.directory.path()).args(arguments);
        command.output().unwrap()
    }

    /// Checks a test of a test binary on the cluster.
    fn check(&self, binary: &Path, test: &str, more: &[&str]) -> Command {
        let mut command = Command::new(cargo_bin("ordain"));
        command.current_dir(self.directory.path());
        command.args([
            "check",
            "--quiet",
            "--cluster",
            &self.url(),
            "--dead-after",
            "2s",
            "--test",
            test,
            "--format",
            "json",
        ]);
        command.args(more).arg("--").arg(binary);
        command
    }
}

fn json(output: &Output) -> serde_json::Value {
    let text = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(&text).unwrap_or_else(|_| panic!("{text}\n{}", String::from_utf8_lossy(&output.stderr)))
}

/// Tests for workers to run. They explore when a worker says so, and everything at once otherwise.
mod explored {
    use ordain::sync::{Arc, Mutex};

    fn counter(threads: usize, rounds: usize) {
        let mutex = Arc::new(Mutex::new(0));
        let spawn = |_| {
            let mutex = mutex.clone();
            ordain::thread::spawn(move || (0..rounds).for_each(|_| *mutex.lock().unwrap() += 1))
        };
        let threads: Vec<_> = (0..threads).map(spawn).collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    }

    #[test]
    #[ignore = "for workers of clusters"]
    fn many_classes() {
        ordain::check(|| counter(3, 5));
    }

    #[test]
    #[ignore = "for workers of clusters"]
    fn some_classes() {
        ordain::check(|| counter(3, 4));
    }

    #[test]
    #[ignore = "for workers of clusters"]
    fn deadlock() {
        ordain::check(|| {
            let (a, b) = (Arc::new(Mutex::new(0)), Arc::new(Mutex::new(0)));
            let (c, d) = (a.clone(), b.clone());
            let other = ordain::thread::spawn(move || *d.lock().unwrap() += *c.lock().unwrap());
            *a.lock().unwrap() += *b.lock().unwrap();
            other.join().unwrap();
        });
    }
}

fn this_binary() -> std::path::PathBuf {
    std::env::current_exe().unwrap()
}

#[test]
fn workers_may_be_killed_while_they_explore_a_test() {
    let server = Server::start();
    let mut workers: Vec<_> = (0..4).map(|n| server.worker(&format!("w{n}"))).collect();
    let mut check = server.check(&this_binary(), "explored::many_classes", &[]);
    let check = check.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    for n in 4..6 {
        std::thread::sleep(Duration::from_millis(1500));
        drop(workers.remove(0));
        workers.push(server.worker(&format!("w{n}")));
    }
    let output = check.wait_with_output().unwrap();
    let result = json(&output);
    // 15! / (5!)^3
    assert_eq!((&result["verdict"], &result["executions"]), (&"verified".into(), &756_756.into()), "{result:#}");
    assert_eq!(output.status.code(), Some(0));
    assert!(result["cluster"]["fragments"].as_u64().unwrap() > 4, "{result:#}");
}

#[test]
fn a_finding_comes_back_with_its_schedule() {
    let server = Server::start();
    let _worker = server.worker("only");
    let output = server.check(&this_binary(), "explored::deadlock", &[]).output().unwrap();
    let result = json(&output);
    assert_eq!(output.status.code(), Some(1), "{result:#}");
    assert_eq!(result["findings"][0]["kind"], "deadlock");
    let schedule = result["findings"][0]["schedule"].as_str().unwrap();
    let schedule = std::fs::read_to_string(server.directory.path().join(schedule)).unwrap();
    assert!(schedule.starts_with("ordain schedule 1"), "{schedule}");
}

#[test]
fn one_can_leave_and_come_back() {
    let server = Server::start();
    let url = server.url();
    let output = server.check(&this_binary(), "explored::some_classes", &["--detach"]).output().unwrap();
    let run = json(&output)["run"].as_str().unwrap().to_owned();
    let listed = json(&server.ordain(&["cluster", "list", &url, "--format", "json"]));
    assert_eq!(listed[0]["run"], run.as_str());
    let _worker = server.worker("only");
    let attach = ["check", "--quiet", "--cluster", &url, "--attach", &run, "--dead-after", "2s", "--format", "json"];
    let result = json(&server.ordain(&attach));
    // 12! / (4!)^3
    assert_eq!(result["executions"], 34_650, "{result:#}");
    let again = server.ordain(&attach);
    assert_eq!(again.status.code(), Some(2), "its result was fetched");
    let output = server.check(&this_binary(), "explored::some_classes", &["--detach"]).output().unwrap();
    let run = json(&output)["run"].as_str().unwrap().to_owned();
    assert_eq!(server.ordain(&["cluster", "cancel", &url, &run]).status.code(), Some(0));
    assert_eq!(server.ordain(&["cluster", "cancel", &url, &run]).status.code(), Some(2));
}

#[test]
fn a_worker_leaves_when_it_is_told_to() {
    let server = Server::start();
    let mut worker = server.worker("brief");
    std::thread::sleep(Duration::from_secs(1));
    let told = Command::new("kill").args(["-TERM", &worker.0.id().to_string()]).status().unwrap();
    assert!(told.success());
    let begun = Instant::now();
    let status = loop {
        if let Some(status) = worker.0.try_wait().unwrap() {
            break status;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "it stays");
        std::thread::sleep(Duration::from_millis(50));
    };
    assert_eq!(status.code(), Some(0));
}

#[test]
fn what_cannot_be_done_is_said() {
    let server = Server::start();
    let output = server.ordain(&["worker", "nats://127.0.0.1:1"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("cannot be reached"));
    let _worker = server.worker("only");
    let output = server.check(&this_binary(), "explored::absent", &[]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(text.contains("worker only cannot run it: the test `explored::absent` made no check"), "{text}");
    let output = server.check(&this_binary(), "explored::many_classes", &["--strategy", "pos"]).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).contains("cannot be divided"), "{output:?}");
}
