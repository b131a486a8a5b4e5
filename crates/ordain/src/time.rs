//! Time, shaped like [`std::time`].
//!
//! In a check time is virtual and belongs to the thread: it passes only by what the thread sleeps, and by waits that
//! expire.

pub use std::time::Duration;

use crate::rt;
use std::ops::{Add, AddAssign, Sub, SubAssign};

/// Virtual time begins this long after its zero, so that programs can look back.
const BEGINNING: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);

/// A point in time, as [`std::time::Instant`].
///
/// Points inside and outside a check cannot be compared with each other: the time between them counts as none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(Point);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Point {
    /// Outside a check.
    Real(std::time::Instant),
    /// Inside a check, since the zero of virtual time.
    Virtual(Duration),
}

impl Instant {
    /// The present.
    #[must_use]
    pub fn now() -> Self {
        Self(if rt::active() { Point::Virtual(BEGINNING + rt::now()) } else { Point::Real(std::time::Instant::now()) })
    }

    /// The time that has passed since.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        Self::now().duration_since(*self)
    }

    /// The time since `earlier`; none if that is later.
    #[must_use]
    pub fn duration_since(&self, earlier: Self) -> Duration {
        self.checked_duration_since(earlier).unwrap_or_default()
    }

    /// The time since `earlier`; none if that is later.
    #[must_use]
    pub fn saturating_duration_since(&self, earlier: Self) -> Duration {
        self.duration_since(earlier)
    }

    /// The time since `earlier`, or `None` if that is later.
    #[must_use]
    pub fn checked_duration_since(&self, earlier: Self) -> Option<Duration> {
        match (self.0, earlier.0) {
            (Point::Real(later), Point::Real(earlier)) => later.checked_duration_since(earlier),
            (Point::Virtual(later), Point::Virtual(earlier)) => later.checked_sub(earlier),
            _ => None,
        }
    }

    /// The point `duration` later, if it can be told.
    #[must_use]
    pub fn checked_add(&self, duration: Duration) -> Option<Self> {
        Some(Self(match self.0 {
            Point::Real(point) => Point::Real(point.checked_add(duration)?),
            Point::Virtual(point) => Point::Virtual(point.checked_add(duration)?),
        }))
    }

    /// The point `duration` earlier, if it can be told.
    #[must_use]
    pub fn checked_sub(&self, duration: Duration) -> Option<Self> {
        Some(Self(match self.0 {
            Point::Real(point) => Point::Real(point.checked_sub(duration)?),
            Point::Virtual(point) => Point::Virtual(point.checked_sub(duration)?),
        }))
    }
}

impl Add<Duration> for Instant {
    type Output = Self;

    #[track_caller]
    fn add(self, duration: Duration) -> Self {
        self.checked_add(duration).expect("overflow when adding duration to instant")
    }
}

impl Sub<Duration> for Instant {
    type Output = Self;

    #[track_caller]
    fn sub(self, duration: Duration) -> Self {
        self.checked_sub(duration).expect("overflow when subtracting duration from instant")
    }
}

impl Sub for Instant {
    type Output = Duration;

    fn sub(self, earlier: Self) -> Duration {
        self.duration_since(earlier)
    }
}

impl AddAssign<Duration> for Instant {
    #[track_caller]
    fn add_assign(&mut self, duration: Duration) {
        *self = *self + duration;
    }
}

impl SubAssign<Duration> for Instant {
    #[track_caller]
    fn sub_assign(&mut self, duration: Duration) {
        *self = *self - duration;
    }
}
