//! Processor time, as the system counts it: of a thread and of the processes that it has seen to their end. What other threads of the process
//! do, such as other tests, does not count.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

thread_local! {
    /// Processor time of children that have ended, and of their children.
    static CHILDREN: Cell<Duration> = const { Cell::new(Duration::ZERO) };
}

/// Processor time of this thread so far, and of the children that it has [counted](count_child).
pub fn processor_time() -> Duration {
    // SAFETY: fills in a structure of our own.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_THREAD, &mut usage);
        usage
    };
    time_of(&usage) + CHILDREN.get()
}

/// Counts the processor time of a child that has ended or is about to, and that of its children. To be called before it is waited for: then it is
/// gone.
pub fn count_child(id: u32) {
    // SAFETY: both structures are our own; nothing is waited for, so the number of the child stays its own.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        let mut info: libc::siginfo_t = std::mem::zeroed();
        let options = libc::WEXITED | libc::WNOWAIT;
        libc::syscall(libc::SYS_waitid, libc::P_PID, id, &raw mut info, options, &raw mut usage);
        usage
    };
    CHILDREN.set(CHILDREN.get() + time_of(&usage));
}

/// The processor time of worker threads together.
#[derive(Clone, Debug, Default)]
pub(crate) struct WorkerTime(Arc<AtomicU64>);

impl WorkerTime {
    /// Counts what this thread uses until the guard is dropped.
    pub(crate) fn measure(&self) -> Measured {
        Measured { begin: processor_time(), total: self.clone() }
    }

    /// What was counted so far.
    pub(crate) fn total(&self) -> Duration {
        Duration::from_nanos(self.0.load(Relaxed))
    }
}

/// Counts the time of its thread when it is dropped.
pub(crate) struct Measured {
    begin: Duration,
    total: WorkerTime,
}

impl Drop for Measured {
    fn drop(&mut self) {
        let used = processor_time().saturating_sub(self.begin);
        self.total.0.fetch_add(u64::try_from(used.as_nanos()).unwrap_or(u64::MAX), Relaxed);
    }
}

fn time_of(usage: &libc::rusage) -> Duration {
    let time = |t: libc::timeval| Duration::new(t.tv_sec as u64, t.tv_usec as u32 * 1000);
    time(usage.ru_utime) + time(usage.ru_stime)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// Something that takes a while, and is not nothing for the compiler.
    fn work() {
        let begin = processor_time();
        while processor_time() < begin + Duration::from_millis(60) {
            std::hint::black_box((0..10_000u64).fold(0, |a, b| a ^ b));
        }
    }

    #[test]
    fn other_threads_do_not_count() {
        let begin = processor_time();
        let other = std::thread::spawn(|| {
            work();
            processor_time()
        });
        assert!(other.join().expect("it does not panic") >= Duration::from_millis(60));
        assert!(processor_time() - begin < Duration::from_millis(30));
    }

    #[test]
    fn children_count_with_their_children() {
        let begin = processor_time();
        let busy = "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done";
        let mut child =
            Command::new("/bin/sh").args(["-c", &format!("({busy}); true")]).spawn().expect("there is a shell");
        count_child(child.id());
        let used = processor_time() - begin;
        assert!(child.wait().expect("it ends").success());
        assert!(used >= Duration::from_millis(10), "{used:?}");
    }
}
