//! Notices calls that block for real.
//!
//! All modelled threads share one OS thread, so a call that blocks it, such as a lock of std's that another modelled thread
//! holds, blocks the check for ever. Nothing can be unwound then; what can be done is to say so. A thread of its own looks
//! at the steps made and at the processor time used: if neither grows for a while, it tells and ends the process.

use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Once, PoisonError};
use std::time::Duration;

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
}

impl Watched {
    #[inline]
    pub(super) fn beat(&self, site: u64) {
        self.beats.store(self.beats.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
        self.last_site.store(site, Ordering::Relaxed);
    }
}

static WATCHED: Mutex<Vec<Arc<Watched>>> = Mutex::new(Vec::new());

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
    });
    watched().push(entry.clone());
    static STARTED: Once = Once::new();
    STARTED.call_once(|| {
        // Without the thread, a call that blocks is not told; nothing else is lost.
        let _ = std::thread::Builder::new().name("ordain-watchdog".into()).spawn(look);
    });
    entry
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

fn look() {
    let mut seen: Vec<(Arc<Watched>, u64, u64, u32)> = Vec::new();
    loop {
        std::thread::sleep(INTERVAL);
        let now = watched().clone();
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
