//! Workers as processes, on hosts of their own where the system permits that: killed, frozen, cut off.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::*;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

const SLOW: Duration = Duration::from_millis(30);
const URL: &str = "ORDAIN_TEST_URL";

/// Not a test: what the processes run that the tests start.
#[test]
fn a_worker_process() {
    if let Ok(url) = std::env::var(URL) {
        worker(&url, "process", SLOW).join();
    }
}

/// A process that ends with the test.
struct Process(Child);

impl Process {
    fn start(mut command: Command, url: &str) -> Self {
        command.args(["--exact", "a_worker_process", "--nocapture"]).env(URL, url);
        Self(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }

    fn here(url: &str) -> Self {
        Self::start(Command::new(std::env::current_exe().unwrap()), url)
    }

    fn signal(&self, signal: &str) {
        assert!(Command::new("kill").args([signal, &self.0.id().to_string()]).status().unwrap().success());
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Killing a frozen process works too.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn processes_may_be_killed_or_frozen() {
    let server = Server::start();
    let url = server.url();
    let run = submitted(&url, &closure(3, 3));
    let watcher = watcher(&url, &run);
    let mut processes: Vec<_> = (0..4).map(|_| Process::here(&url)).collect();
    wait_for(&url, &run, |state| state.progress.results >= 6);
    // One is frozen while it has a task, and comes back when others have explored it.
    processes[0].signal("-STOP");
    wait_for(&url, &run, |state| state.progress.results >= 12);
    drop(processes.remove(1));
    processes.push(Process::here(&url));
    wait_for(&url, &run, |state| state.progress.results >= 50);
    processes[0].signal("-CONT");
    let progress = assert_exact(watcher.join(), orders(3, 3));
    assert!(progress.redeliveries > 0, "{progress:?}");
}

#[test]
fn a_controller_that_was_cut_off_cannot_come_back() {
    let server = Server::start();
    let url = server.url();
    let proxy = Proxy::start(server.port);
    let run = submitted(&url, &closure(3, 3));
    let watcher = watcher(&proxy.url(), &run);
    wait_for(&url, &run, |state| state.holder.is_some());
    let workers: Vec<_> = (0..4).map(|n| worker(&url, &format!("w{n}"), SLOW)).collect();
    wait_for(&url, &run, |state| state.progress.results >= 8);
    proxy.cut(true);
    wait_for(&url, &run, |state| state.progress.takeovers == 1);
    wait_for(&url, &run, |state| state.progress.results >= 24);
    // It still believes that it is the controller, and has results to save.
    proxy.cut(false);
    let progress = assert_exact(watcher.join(), orders(3, 3));
    assert_eq!(progress.takeovers, 1, "{progress:?}");
    workers.into_iter().for_each(Part::stop);
}

#[test]
fn workers_that_are_cut_off_come_back() {
    let server = Server::start();
    let url = server.url();
    let proxy = Proxy::start(server.port);
    let run = submitted(&url, &closure(3, 3));
    let watcher = watcher(&url, &run);
    let near: Vec<_> = (0..2).map(|n| worker(&url, &format!("near{n}"), SLOW)).collect();
    let far: Vec<_> = (0..2).map(|n| worker(&proxy.url(), &format!("far{n}"), SLOW)).collect();
    for round in 1..=2u64 {
        wait_for(&url, &run, |state| state.progress.results >= 16 * round);
        proxy.cut(true);
        std::thread::sleep(Duration::from_millis(1200));
        proxy.cut(false);
    }
    assert_exact(watcher.join(), orders(3, 3));
    near.into_iter().chain(far).for_each(Part::stop);
}

/// Hosts on a network of their own: namespaces, each with a cable to a switch.
struct Network {
    name: String,
    subnet: u32,
    hosts: u32,
}

fn ip(arguments: &str) -> bool {
    let run = Command::new("ip").args(arguments.split(' ')).stdout(Stdio::null()).stderr(Stdio::null()).status();
    run.is_ok_and(|status| status.success())
}

impl Network {
    /// `None` if the system does not permit it.
    fn new(hosts: u32) -> Option<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = std::process::id() % 1000 * 10 + NEXT.fetch_add(1, Relaxed);
        let network = Self { name: format!("ord{number}"), subnet: number % 250, hosts };
        let (name, subnet) = (&network.name, network.subnet);
        let mut made = ip(&format!("link add {name} type bridge"))
            && ip(&format!("addr add 10.213.{subnet}.1/24 dev {name}"))
            && ip(&format!("link set {name} up"));
        for host in 0..hosts {
            made = made
                && ip(&format!("netns add {name}h{host}"))
                && ip(&format!("link add {name}v{host} type veth peer name eth0 netns {name}h{host}"))
                && ip(&format!("link set {name}v{host} master {name} up"))
                && ip(&format!("-n {name}h{host} addr add 10.213.{subnet}.{}/24 dev eth0", host + 2))
                && ip(&format!("-n {name}h{host} link set eth0 up"));
        }
        made.then_some(network)
    }

    fn address(&self) -> String {
        format!("10.213.{}.1", self.subnet)
    }

    fn start(&self, host: u32, url: &str) -> Process {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &format!("{}h{host}", self.name)]).arg(std::env::current_exe().unwrap());
        Process::start(command, url)
    }

    /// Pulls the cable of a host, or puts it back.
    fn cut(&self, host: u32, cut: bool) {
        assert!(ip(&format!("link set {}v{host} {}", self.name, if cut { "down" } else { "up" })));
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        for host in 0..self.hosts {
            ip(&format!("netns del {}h{host}", self.name));
        }
        ip(&format!("link del {}", self.name));
    }
}

#[test]
#[allow(clippy::print_stderr, reason = "says what was not tested")]
fn hosts_may_be_cut_off_from_the_network() {
    let Some(network) = Network::new(4) else {
        eprintln!("NOT TESTED: this system permits no network namespaces (root, `ip netns`); proxies are cut instead");
        return;
    };
    let server = Server::start_with(&network.address(), &["-js"]);
    let url = server.url();
    let run = submitted(&url, &closure(3, 3));
    let watcher = watcher(&url, &run);
    let hosts: Vec<_> = (0..4).map(|host| network.start(host, &url)).collect();
    for round in 1..=3u64 {
        wait_for(&url, &run, |state| state.progress.results >= 12 * round);
        let host = (round % 4) as u32;
        network.cut(host, true);
        std::thread::sleep(Duration::from_millis(1500));
        network.cut(host, false);
    }
    assert_exact(watcher.join(), orders(3, 3));
    drop(hosts);
}
