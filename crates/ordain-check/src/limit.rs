//! When a check must be over: at its deadline, or when somebody stops it.
//!
//! Whoever waits for a program looks at it. The program is asked to come back first; one that does not is ended after a moment, so that
//! a limit holds whatever an execution, its analysis or an estimate takes.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// How long a program has to come back after the limit.
const GRACE: Duration = Duration::from_millis(500);

/// A limit of a check. Copies share what stops them.
#[derive(Clone, Debug, Default)]
pub struct Limit {
    /// How long a program has to come back behind it, if not as long as usual.
    grace: Option<Duration>,
    deadline: Option<Instant>,
    /// Those who may stop it.
    stops: Vec<Arc<AtomicBool>>,
    /// How much longer there is for a last word, and when that began.
    last_word: Option<(Duration, Arc<OnceLock<Instant>>)>,
}

impl Limit {
    /// At a deadline, if there is one.
    pub fn at(deadline: Option<Instant>) -> Self {
        Self { deadline, ..Self::default() }
    }

    /// So soon, and hardly later.
    pub fn soon(time: Duration) -> Self {
        Self { grace: Some(time / 2), ..Self::at(Some(Instant::now() + time)) }
    }

    /// How long a program has to come back behind it.
    pub fn grace(&self) -> Duration {
        self.grace.unwrap_or(GRACE)
    }

    /// The same, and whenever somebody sets a flag.
    pub fn or(mut self, stop: Option<Arc<AtomicBool>>) -> Self {
        self.stops.extend(stop);
        self
    }

    /// The same, and so much longer from when it is seen to be reached: for what must be said even then.
    pub fn with_last_word(mut self, time: Duration) -> Self {
        self.last_word = Some((time, Arc::default()));
        self
    }

    /// Whether it is reached.
    pub fn is_over(&self) -> bool {
        let reached = self.is_stopped() || self.is_late();
        match &self.last_word {
            Some((time, since)) if reached => since.get_or_init(Instant::now).elapsed() >= *time,
            _ => reached,
        }
    }

    /// The same, so much later.
    pub fn postponed(mut self, time: Duration) -> Self {
        self.deadline = self.deadline.and_then(|deadline| deadline.checked_add(time));
        self
    }

    /// When it is reached if nobody stops it before, for who cannot ask again.
    pub fn deadline(&self) -> Option<Instant> {
        match (&self.last_word, self.deadline) {
            (Some((time, _)), Some(deadline)) => deadline.max(Instant::now()).checked_add(*time),
            (_, deadline) => deadline,
        }
    }

    /// Whether somebody has stopped it.
    pub fn is_stopped(&self) -> bool {
        self.stops.iter().any(|stop| stop.load(Relaxed))
    }

    /// Whether its deadline has passed.
    pub fn is_late(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// The time until the deadline.
    pub fn left(&self) -> Duration {
        self.deadline.map_or(Duration::MAX, |deadline| deadline.saturating_duration_since(Instant::now()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_last_word_is_said_after_a_stop_and_then_it_is_over() {
        let stop = Arc::new(AtomicBool::new(false));
        let limit = Limit::at(None).or(Some(stop.clone()));
        let (long, short) =
            (limit.clone().with_last_word(Duration::from_secs(3600)), limit.clone().with_last_word(Duration::ZERO));
        assert!(!limit.is_over() && !long.is_over() && !short.is_over());
        stop.store(true, Relaxed);
        assert!(limit.is_over() && !long.is_over() && short.is_over());
    }
}
