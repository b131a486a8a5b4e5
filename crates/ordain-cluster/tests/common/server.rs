//! A NATS server on loopback, with a store that outlives it.

use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

pub struct Server {
    pub port: u16,
    address: String,
    directory: TempDir,
    options: Vec<String>,
    process: Child,
}

impl Server {
    pub fn start() -> Self {
        Self::start_with("127.0.0.1", &["-js"])
    }

    /// A server with other options.
    pub fn start_with(address: &str, options: &[&str]) -> Self {
        let options: Vec<String> = options.iter().map(|option| (*option).to_owned()).collect();
        for _ in 0..20 {
            let port = TcpListener::bind((address, 0)).unwrap().local_addr().unwrap().port();
            let directory = tempfile::tempdir().unwrap();
            let process = launch(address, port, &directory, &options);
            let mut server = Self { port, address: address.to_owned(), directory, options: options.clone(), process };
            if server.is_up() {
                return server;
            }
            // Somebody else has taken the port meanwhile.
        }
        panic!("nats-server does not start: is it installed? scripts/setup does that");
    }

    pub fn url(&self) -> String {
        format!("nats://{}:{}", self.address, self.port)
    }

    fn is_up(&mut self) -> bool {
        for _ in 0..200 {
            if self.process.try_wait().unwrap().is_some() {
                return false;
            }
            if TcpStream::connect((self.address.as_str(), self.port)).is_ok() {
                return true;
            }
            std::thread::sleep(Duration::from_millis(25));
        }
        false
    }

    fn end(&mut self) {
        // It is ours, and may be gone already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }

    /// Kills it and starts it again, with what it had stored.
    pub fn restart(&mut self, pause: Duration) {
        self.end();
        std::thread::sleep(pause);
        self.process = launch(&self.address, self.port, &self.directory, &self.options);
        assert!(self.is_up(), "nats-server does not come back");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

fn launch(address: &str, port: u16, directory: &TempDir, options: &[String]) -> Child {
    let mut command = Command::new("nats-server");
    command.args(["-a", address, "-p", &port.to_string(), "-sd"]).arg(directory.path()).args(options);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().expect("nats-server is installed: scripts/setup does that")
}
