//! Being conducted: in a suite, a check goes on only while it is its turn.

use ordain_report::conduct::{Order, Told, VARIABLE, receive, send};
use ordain_report::{Estimate, Run};
use std::io::BufReader;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// Whoever says when to go on.
pub(crate) struct Conductor {
    to: UnixStream,
    from: BufReader<UnixStream>,
    until: Instant,
    stopped: bool,
}

impl Conductor {
    /// Connects to the conductor of a suite, if there is one, and waits for the first turn.
    pub(crate) fn connect(check: &str) -> Option<Self> {
        let path = std::env::var_os(VARIABLE)?;
        let to = UnixStream::connect(&path).ok()?;
        let from = BufReader::new(to.try_clone().ok()?);
        let mut conductor = Self { to, from, until: Instant::now(), stopped: false };
        conductor.tell(&Told::Hello(check.to_owned()));
        conductor.wait();
        Some(conductor)
    }

    /// If the slice is over, tells how far the check is and waits for the next; `true` if it shall end.
    pub(crate) fn pause(&mut self, executions: u64, findings: usize, estimate: impl FnOnce() -> Option<Estimate>) -> bool {
        if !self.stopped && Instant::now() >= self.until {
            self.tell(&Told::Slice { executions, findings, estimate: estimate() });
            self.wait();
        }
        self.stopped
    }

    /// Tells the result.
    pub(crate) fn finish(mut self, run: Run) {
        self.tell(&Told::Done(Box::new(run)));
    }

    fn tell(&mut self, told: &Told) {
        // Without a conductor there is nobody to go on for.
        self.stopped |= send(&mut self.to, told).is_err();
    }

    fn wait(&mut self) {
        match receive(&mut self.from) {
            Ok(Some(Order::Go(milliseconds))) => self.until = Instant::now() + Duration::from_millis(milliseconds),
            Ok(Some(Order::Stop) | None) | Err(_) => self.stopped = true,
        }
    }
}
