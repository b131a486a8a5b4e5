//! What the system counts.

use std::time::Duration;

/// Processor time of this process and its children that have ended.
pub fn processor_time() -> Duration {
    let of = |who| {
        // SAFETY: fills in a structure of our own.
        let usage = unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            libc::getrusage(who, &mut usage);
            usage
        };
        let time = |t: libc::timeval| Duration::new(t.tv_sec as u64, t.tv_usec as u32 * 1000);
        time(usage.ru_utime) + time(usage.ru_stime)
    };
    of(libc::RUSAGE_SELF) + of(libc::RUSAGE_CHILDREN)
}
