//! Processor time: on a loaded machine it says what something costs, where the time of day says what others did meanwhile.

use std::time::Duration;

fn read(clock: libc::clockid_t) -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place for the answer.
    let failed = unsafe { libc::clock_gettime(clock, &mut time) };
    assert_eq!(failed, 0, "there is a clock of processor time");
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Of all threads of this process.
pub(crate) fn process() -> Duration {
    read(libc::CLOCK_PROCESS_CPUTIME_ID)
}

/// Of this thread.
pub(crate) fn thread() -> Duration {
    read(libc::CLOCK_THREAD_CPUTIME_ID)
}
