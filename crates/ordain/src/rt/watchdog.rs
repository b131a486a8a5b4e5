//! Notices calls that block for real, and the end of the time that a check may take.
//!
//! All modelled threads share one OS thread, so a call that blocks it, such as a lock of std's that another modelled thread
//! holds, blocks the check for ever. Nothing can be unwound then; what can be done is to say so. A thread of its own looks
//! at the steps made and at the processor time used: if neither grows for a while, it tells and ends the process. The same thread wakes
//! when the time of a check is over, so that an execution need not look at the clock.

use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, Once, PoisonError};
use std::time::{Duration, Instant};

/// How long nothing may happen.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often to look.
const INTERVAL: Duration = Duration::from_millis(500);

/// What the watchdog looks at: one for each check that runs.
pub(super) struct Watched {
    /// The OS thread of the check, as the kernel knows it.
    os_thread: u64,
    /// Whether an execution runs: between executions it may wait for as long as it takes.
    pub(super) runs: AtomicBool,
    /// Grows with every switch of threads and every execution.
    beats: AtomicU64,
    /// Where the last step was announced, for the message.
    pub(super) last_site: AtomicU64,
    /// Whether the time of the executions is over.
    late: AtomicBool,
    /// When it is. Others look at it only while the list of what is watched is locked.
    deadline: Mutex<Option<Instant>>,
}

impl Watched {
    #[inline]
    pub(super) fn beat(&self, site: u64) {
        self.beats.store(self.beats.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
        self.last_site.store(site, Ordering::Relaxed);
    }

    /// Whether the time of the executions is over.
    #[inline]
    pub(super) fn is_late(&self) -> bool {
        self.late.load(Ordering::Relaxed)
    }

    /// Notes it if the time is over; else gives when it will be.
    fn look_at_clock(&self, now: Instant) -> Option<Instant> {
        let deadline = (*self.deadline.lock().unwrap_or_else(PoisonError::into_inner))?;
        if deadline > now {
            return Some(deadline);
        }
        self.late.store(true, Ordering::Relaxed);
        None
    }
}

static WATCHED: Mutex<Vec<Arc<Watched>>> = Mutex::new(Vec::new());
/// A deadline has come nearer.
static NEARER: Condvar = Condvar::new();

fn watched() -> std::sync::MutexGuard<'static, Vec<Arc<Watched>>> {
    WATCHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Begins to watch the calling OS thread.
pub(super) fn watch() -> Arc<Watched> {
    let os_thread = own_os_thread();
    let entry = Arc::new(Watched {
        os_thread,
        runs: AtomicBool::new(false),
        beats: AtomicU64::new(0),
        last_site: AtomicU64::new(0),
        late: AtomicBool::new(false),
        deadline: Mutex::new(None),
    });
    watched().push(entry.clone());
    static STARTED: Once = Once::new();
    STARTED.call_once(|| {
        // Without the thread, a call that blocks is not told, and the time is looked at between executions only.
        let _ = std::thread::Builder::new().name("ordain-watchdog".into()).spawn(look);
    });
    entry
}

/// Says when the executions are to be broken off, if at all.
pub(super) fn set_deadline(entry: &Watched, deadline: Option<Instant>) {
    let _list = watched();
    *entry.deadline.lock().unwrap_or_else(PoisonError::into_inner) = deadline;
    entry.late.store(deadline.is_some_and(|d| d <= Instant::now()), Ordering::Relaxed);
    if deadline.is_some() {
        NEARER.notify_one();
    }
}

/// Ends the watch.
pub(super) fn unwatch(entry: &Arc<Watched>) {
    watched().retain(|w| !Arc::ptr_eq(w, entry));
}

/// The kernel's number of the calling OS thread; zero where it cannot be known, and then it is not watched.
fn own_os_thread() -> u64 {
    let link = std::fs::read_link("/proc/thread-self").ok();
    let name = link.as_deref().and_then(|l| l.file_name()).and_then(|n| n.to_str());
    name.and_then(|n| n.parse().ok()).unwrap_or(0)
}

/// Processor time that an OS thread has used, in clock ticks.
fn processor_time(os_thread: u64) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/self/task/{os_thread}/stat")).ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    Some(user + system)
}

/// Waits for an interval and gives what is watched then. Deadlines that come meanwhile are noted.
fn wait() -> Vec<Arc<Watched>> {
    let end = Instant::now() + INTERVAL;
    let mut list = watched();
    loop {
        let now = Instant::now();
        let next = list.iter().filter_map(|w| w.look_at_clock(now)).fold(end, Instant::min);
        if now >= end {
            return list.clone();
        }
        list = NEARER.wait_timeout(list, next - now).unwrap_or_else(PoisonError::into_inner).0;
    }
}

fn look() {
    let mut seen: Vec<(Arc<Watched>, u64, u64, u32)> = Vec::new();
    loop {
        let now = wait();
        seen.retain(|s| now.iter().any(|w| Arc::ptr_eq(w, &s.0)));
        for entry in now {
            let Some(time) = processor_time(entry.os_thread) else { continue };
            let beats = entry.beats.load(Ordering::Relaxed);
            let Some(known) = seen.iter_mut().find(|s| Arc::ptr_eq(&s.0, &entry)) else {
                seen.push((entry, beats, time, 0));
                continue;
            };
            let idle = known.1 == beats && known.2 == time && entry.runs.load(Ordering::Relaxed);
            (known.1, known.2, known.3) = (beats, time, if idle { known.3 + 1 } else { 0 });
            if INTERVAL * known.3 >= PATIENCE {
                tell_and_end(&entry);
            }
        }
    }
}

fn tell_and_end(entry: &Watched) -> ! {
    let site = ordain_model::Site(entry.last_site.load(Ordering::Relaxed));
    let place = super::location(site).map_or_else(String::new, |l| format!(" The last step was at {l}."));
    // Not by a macro, whose output tests capture and lose when the process ends.
    let _ = writeln!(
        std::io::stderr(),
        "\nordain: the program under check has been blocked for {} s in a call that Ordain does not control.{place}\n\
         ordain: all threads of a check share one OS thread, so waiting for real blocks them all: a lock, channel, sleep or\n\
         ordain: join of std (or of another library) where one of ordain::sync or ordain::thread is needed, or input that\n\
         ordain: does not come. Replace it, or move it out of the closure. The process ends now.",
        PATIENCE.as_secs()
    );
    std::process::abort()
}
