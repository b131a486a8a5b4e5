//! Times and spans as numbers of nanoseconds, and as the C library has them.

use libc::timespec;

/// Nanoseconds of a second.
pub const SECOND: u64 = 1_000_000_000;

/// Whether the nanoseconds of a time are less than a second.
pub fn is_valid(time: &timespec) -> bool {
    (0..SECOND as i64).contains(&time.tv_nsec)
}

/// A valid time in nanoseconds: none before 1970, and as many as there can be for one that never comes.
pub fn nanoseconds(time: &timespec) -> u64 {
    (time.tv_sec.max(0) as u64).saturating_mul(SECOND).saturating_add(time.tv_nsec as u64)
}

/// A number of nanoseconds as seconds and the rest.
pub fn timespec_of(nanoseconds: u64) -> timespec {
    timespec { tv_sec: (nanoseconds / SECOND) as i64, tv_nsec: (nanoseconds % SECOND) as i64 }
}

/// Clock ticks of `times`, a hundred to the second.
pub fn ticks(seconds: i64, nanoseconds: i64) -> i64 {
    seconds.wrapping_mul(100) + nanoseconds / 10_000_000
}

/// What `sleep` says is left: seconds, rounded as the C library does.
pub fn whole_seconds(left: &timespec) -> u32 {
    (left.tv_sec + i64::from(left.tv_nsec >= SECOND as i64 / 2)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(tv_sec: i64, tv_nsec: i64) -> timespec {
        timespec { tv_sec, tv_nsec }
    }

    #[test]
    fn nanoseconds_are_less_than_a_second() {
        assert!([0, 1, 999_999_999].iter().all(|n| is_valid(&time(0, *n)) && is_valid(&time(-5, *n))));
        assert!([-1, 1_000_000_000, i64::MAX, i64::MIN].iter().all(|n| !is_valid(&time(0, *n))));
    }

    #[test]
    fn times_become_nanoseconds_and_back() {
        for nanoseconds_in in [0, 1, SECOND - 1, SECOND, 1_700_000_000 * SECOND + 7, u64::MAX] {
            assert_eq!(nanoseconds(&timespec_of(nanoseconds_in)), nanoseconds_in);
        }
        assert_eq!(nanoseconds(&time(2, 5)), 2 * SECOND + 5);
    }

    #[test]
    fn times_that_are_far_away_stay_there() {
        assert_eq!(nanoseconds(&time(i64::MAX, 999_999_999)), u64::MAX);
        // Before 1970 is as good as at its beginning: it is over.
        assert_eq!(nanoseconds(&time(-1, 0)), 0);
        assert_eq!(nanoseconds(&time(i64::MIN, 3)), 3);
    }

    #[test]
    fn ticks_are_hundredths() {
        assert_eq!(ticks(0, 9_999_999), 0);
        assert_eq!(ticks(0, 10_000_000), 1);
        assert_eq!(ticks(12, 340_000_000), 1234);
    }

    #[test]
    fn what_is_left_to_sleep_is_rounded() {
        assert_eq!(whole_seconds(&time(3, 499_999_999)), 3);
        assert_eq!(whole_seconds(&time(3, 500_000_000)), 4);
        assert_eq!(whole_seconds(&time(0, 0)), 0);
    }
}
