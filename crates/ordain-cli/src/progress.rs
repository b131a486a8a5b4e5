//! How a run goes, while it goes: a line that is renewed in place on a terminal, lines now and then elsewhere; and Ctrl-C.
//!
//! The first Ctrl-C ends the run in order, with a verdict about what was done so far; the second ends it at once.

use crate::check::plural;
use crate::outcome::stop_flag;
use crate::{look, output};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use ordain_native::{Observer, Progress};
use ordain_report::Kind;
pub(crate) use ordain_report::terminal::large;
use ordain_suite::{ConfigError, Policy, SuiteObserver};
use std::fmt::Write as _;
use std::io::{self, IsTerminal as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Runs that are over before that show nothing.
const PATIENCE: Duration = Duration::from_secs(1);
/// Lines that are not renewed in place come at doubling intervals up to this.
const MOST_INTERVAL: Duration = Duration::from_secs(30);

/// Shows how a run goes, and hears Ctrl-C.
pub(crate) struct Live {
    line: Line,
    started: Instant,
    stop: Arc<AtomicBool>,
}

enum Line {
    /// Nothing is shown.
    Quiet,
    /// A line that is renewed in place.
    Renewed(ProgressBar),
    /// Lines now and then.
    Periodic { next: Duration, interval: Duration },
}

impl Live {
    /// Begins to listen; shows something after a second.
    pub(crate) fn start(quiet: bool) -> Self {
        let stop = stop_flag();
        let line = match () {
            () if quiet => Line::Quiet,
            () if io::stderr().is_terminal() => {
                let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(10));
                bar.set_style(
                    ProgressStyle::with_template("{wide_msg}").unwrap_or_else(|_| ProgressStyle::default_bar()),
                );
                Line::Renewed(bar)
            }
            () => Line::Periodic { next: PATIENCE, interval: PATIENCE },
        };
        Self { line, started: Instant::now(), stop }
    }

    /// How wide a line that is renewed may be; others may be as long as they like.
    fn width(&self) -> usize {
        match &self.line {
            Line::Renewed(_) => look::of_errors().width,
            Line::Quiet | Line::Periodic { .. } => usize::MAX,
        }
    }

    /// The flag that Ctrl-C sets.
    pub(crate) fn flag(&self) -> Arc<AtomicBool> {
        self.stop.clone()
    }

    /// Takes the line away, so that the result can be written.
    pub(crate) fn end(&self) {
        if let Line::Renewed(bar) = &self.line {
            bar.finish_and_clear();
        }
    }

    /// Tells something that stays.
    pub(crate) fn say(&self, text: &str) {
        match &self.line {
            Line::Quiet => {}
            Line::Renewed(bar) => bar.suspend(|| output::tell(&format!("{}\n", output::printable(text)))),
            Line::Periodic { .. } => output::tell(&format!("{}\n", output::printable(text))),
        }
    }

    /// Shows how far it is, unless it was told lately.
    pub(crate) fn show(&mut self, text: impl FnOnce() -> String) {
        let elapsed = self.started.elapsed();
        if elapsed < PATIENCE {
            return;
        }
        match &mut self.line {
            Line::Quiet => {}
            Line::Renewed(bar) => bar.set_message(look::in_locale(&text()).into_owned()),
            Line::Periodic { next, interval } => {
                if elapsed >= *next {
                    *interval = (*interval * 2).min(MOST_INTERVAL);
                    *next = elapsed + *interval;
                    output::tell(&format!("{}\n", text()));
                }
            }
        }
    }
}

impl Observer for Live {
    fn progress(&mut self, progress: &Progress) {
        let stopping = Observer::is_stopped(self);
        let width = self.width();
        self.show(|| if stopping { "stopping ...".to_owned() } else { fitting(progress, width) });
    }

    fn shrinking(&mut self, kind: Kind, elapsed: Duration) {
        self.show(|| format!("found: {kind}; making it smaller, {:.0} s", elapsed.as_secs_f64()));
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Relaxed)
    }

    fn stop_flag(&self) -> Option<Arc<AtomicBool>> {
        Some(self.stop.clone())
    }
}

impl SuiteObserver for Live {
    fn progress(&mut self, progress: &ordain_suite::Progress) {
        let stopping = SuiteObserver::is_stopped(self);
        self.show(|| if stopping { "stopping ...".to_owned() } else { conducting(progress) });
    }

    fn building(&mut self, package: &str) {
        self.say(&format!("building the tests of package {package}"));
    }

    fn changed(&mut self, from: Policy, to: Policy) {
        self.say(&format!("the policy was {} and is now {}: the file has changed", from.name(), to.name()));
    }

    fn unchanged(&mut self, policy: Policy, error: &ConfigError) {
        self.say(&format!("the file has changed, but cannot be used ({error}); the policy stays {}", policy.name()));
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Relaxed)
    }
}

/// How far a suite is, in a line.
fn conducting(progress: &ordain_suite::Progress) -> String {
    let mut text = format!(
        "{}: {} of {} done, {}",
        time(progress.elapsed),
        progress.done,
        plural(progress.tests as u64, "test"),
        plural_large(progress.executions, "execution")
    );
    if progress.findings > 0 {
        let _ = write!(text, ", {}", plural(progress.findings as u64, "finding"));
    }
    let _ = write!(text, ", {}", progress.policy.name());
    if let Some(budget) = progress.budget {
        let _ = write!(text, ", at most {} left", time(budget.saturating_sub(progress.elapsed)));
    }
    if let Some(most) = progress.most_executions {
        let _ = write!(text, ", at most {} left", plural_large(most.saturating_sub(progress.executions), "execution"));
    }
    let _ = write!(text, "; last {}", output::printable(&progress.last));
    if let Some(share) = progress.last_share {
        let _ = write!(text, " ({:.1} % explored)", share * 100.0);
    }
    text
}

/// How far the search is, in a line of this width: if not everything fits, what one can do without is left out.
fn fitting(progress: &Progress, width: usize) -> String {
    let text = exploring(progress);
    if text.chars().count() <= width { text } else { exploring_in_short(progress) }
}

/// The same with what matters most.
fn exploring_in_short(progress: &Progress) -> String {
    let mut text = format!("{}: {}", time(progress.elapsed), plural_large(progress.summary.executions, "execution"));
    if let Some(estimate) = &progress.estimate {
        let _ = write!(text, ", {}", estimate.in_short());
    }
    if progress.findings > 0 {
        let _ = write!(text, ", {}", plural(progress.findings as u64, "finding"));
    }
    if let Some(left) = left(progress).or_else(|| expected(progress)) {
        let _ = write!(text, ", {} left", time(left));
    }
    if progress.workers > 1 {
        let _ = write!(text, ", {}", plural(progress.workers as u64, "worker"));
    }
    text
}

/// How far the search is, in a line.
fn exploring(progress: &Progress) -> String {
    let summary = &progress.summary;
    let seconds = progress.elapsed.as_secs_f64();
    let mut text = format!("{}: {}", time(progress.elapsed), plural_large(summary.executions, "execution"));
    if seconds > 0.0 {
        let _ = write!(text, ", {} per second", large((summary.executions as f64 / seconds) as u64));
    }
    if let Some(estimate) = &progress.estimate {
        let _ = write!(text, ", {}", estimate.in_words("classes"));
    }
    let _ = write!(text, ", {} deep", plural(summary.depth as u64, "step"));
    if progress.findings > 0 {
        let _ = write!(text, ", {}", plural(progress.findings as u64, "finding"));
    }
    if let Some(division) = progress.division.filter(|_| progress.workers > 1) {
        let busy = division.assigned.min(progress.workers);
        let _ = write!(text, ", {busy} of {} busy", plural(progress.workers as u64, "worker"));
    }
    if let Some(left) = left(progress) {
        let _ = write!(text, ", at most {} left", time(left));
    } else if let Some(left) = expected(progress) {
        let _ = write!(text, ", about {} left", time(left));
    }
    text
}

/// How long it will still take, as far as can be foreseen; `None` if that is beyond a year.
fn expected(progress: &Progress) -> Option<Duration> {
    let estimate = progress.estimate.as_ref()?;
    let left = 10f64.powf(-estimate.share().0) - 1.0;
    let left = Duration::try_from_secs_f64(progress.elapsed.as_secs_f64() * left).ok()?;
    (left < Duration::from_secs(365 * 86_400)).then_some(left)
}

/// How long it can still take, by the limits that were given.
fn left(progress: &Progress) -> Option<Duration> {
    let by_time = progress.limit.map(|limit| limit.saturating_sub(progress.elapsed));
    let by_count = progress.most.filter(|_| progress.summary.executions > 0).map(|most| {
        let each = progress.elapsed.as_secs_f64() / progress.summary.executions as f64;
        Duration::try_from_secs_f64(each * most.saturating_sub(progress.summary.executions) as f64)
            .unwrap_or(Duration::MAX)
    });
    match (by_time, by_count) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

/// `12 s`, `3 min 4 s`, `2 h 10 min`.
pub(crate) fn time(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

/// `1 thing`, `12,345 things`.
pub(crate) fn plural_large(count: u64, thing: &str) -> String {
    format!("{} {thing}{}", large(count), if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ordain_explore::Summary;
    use ordain_report::Estimate;

    #[test]
    fn the_line_says_what_one_wants_to_know() {
        let summary = Summary { executions: 1_234_567, depth: 17, ..Summary::default() };
        let mut progress = Progress {
            elapsed: Duration::from_secs(64),
            summary,
            findings: 0,
            estimate: None,
            most: None,
            limit: None,
            workers: 2,
            division: None,
        };
        assert_eq!(exploring(&progress), "1 min 4 s: 1,234,567 executions, 19,290 per second, 17 steps deep");
        let ln = |n: f64| n.ln();
        progress.estimate = Some(Estimate::from_ln(ln(2_469_134.0), ln(2e6), ln(3e6), 1_234_567));
        assert_eq!(
            exploring(&progress),
            "1 min 4 s: 1,234,567 executions, 19,290 per second, about 50 % (41–62 %) of an estimated 2.5 × 10^6 classes, \
             17 steps deep, about 1 min 4 s left"
        );
        assert_eq!(fitting(&progress, 200), exploring(&progress));
        assert_eq!(
            fitting(&progress, 80),
            "1 min 4 s: 1,234,567 executions, 50 % (41–62 %) of 2.5 × 10^6, 1 min 4 s left, 2 workers"
        );
        (progress.findings, progress.limit) = (1, Some(Duration::from_secs(7300)));
        assert!(exploring(&progress).ends_with("17 steps deep, 1 finding, at most 2 h 0 min left"));
        progress.most = Some(2_469_134);
        assert!(exploring(&progress).ends_with("at most 1 min 4 s left"));
    }
}
