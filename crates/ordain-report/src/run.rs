//! A check as a whole, as plain data: what a report is made of.

use crate::kind::{Sight, Verdict};
use crate::note::Note;
use crate::story::Story;
use crate::terminal::plural;
use ordain_model::Level;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What a check did and found out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The version of this record.
    pub version: u32,
    /// What was checked: the command line, or the name of the test.
    pub program: String,
    /// The version of Ordain.
    pub ordain: String,
    /// When it began, in seconds since 1970.
    pub began: u64,
    /// What it came to.
    pub verdict: Verdict,
    /// The verdict in a sentence.
    pub meaning: String,
    /// What weakens the verdict, or what the user should know.
    pub notes: Vec<Note>,
    /// Which operations were visible.
    pub level: Level,
    /// How executions were started; none for checks of the library.
    pub mode: Option<String>,
    /// How schedules were chosen.
    pub strategy: String,
    /// Executions that ran to their end.
    pub executions: u64,
    /// Executions that were cut short because what would have followed was covered elsewhere.
    pub blocked: u64,
    /// Steps of all executions.
    pub steps: u64,
    /// Most threads in one execution.
    pub threads: usize,
    /// Most steps in one execution.
    pub depth: usize,
    /// Whether nothing is left to explore.
    pub exhausted: bool,
    /// Whether the user stopped it.
    pub interrupted: bool,
    /// How much of what threads do was visible.
    #[serde(default)]
    pub sight: Sight,
    /// Why it counts as failed although nothing was found: what was required and not reached.
    #[serde(default)]
    pub unmet: Option<String>,
    /// How many executions there are in all, as far as can be told.
    pub estimate: Option<Estimate>,
    /// Time by the clock, in seconds.
    pub wall_seconds: f64,
    /// Processor time, in seconds.
    pub cpu_seconds: f64,
    /// How the search was divided, if it was.
    #[serde(default)]
    pub workers: Option<Workers>,
    /// How it went, in order of time.
    pub progress: Vec<Sample>,
    /// The path that the search was on when it ended, from the first step, with what is done and what is left beside it.
    pub path: Vec<Branch>,
    /// What was found.
    pub findings: Vec<Story>,
}

/// How several workers explored together.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Workers {
    /// Workers at the same time.
    pub count: usize,
    /// How much of their time they explored, from zero to one.
    pub utilisation: f64,
    /// Parts of the search that were explored one by one.
    pub fragments: u64,
    /// Parts that were given to another worker, because the first was lost.
    pub released: u64,
}

impl fmt::Display for Workers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { count, utilisation, fragments, released } = self;
        write!(f, "{count}, {:.0} % busy, {}", 100.0 * utilisation, plural(*fragments as usize, "fragment"))?;
        if *released > 0 {
            write!(f, " ({released} given to another worker)")?;
        }
        Ok(())
    }
}

/// How many executions there are in all.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The best guess, as the logarithm to base 10: there may be more than numbers can hold.
    pub log10: f64,
    /// The lower end of its interval, likewise.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// How many of them have been made.
    #[serde(default)]
    pub done: u64,
}

impl Estimate {
    /// An estimate whose numbers are natural logarithms.
    pub fn from_ln(ln: f64, low: f64, high: f64, done: u64) -> Self {
        let log10 = |ln: f64| ln / std::f64::consts::LN_10;
        Self { log10: log10(ln), low: log10(low), high: log10(high), done }
    }

    /// What is known when everything is explored.
    pub fn exact(total: u64) -> Self {
        let ln = (total.max(1) as f64).ln();
        Self::from_ln(ln, ln, ln, total)
    }

    /// Whether a search of which so much is done, and something left, shows that the estimate is wrong.
    pub fn is_refuted_by(&self, done: u64) -> bool {
        self.log10 <= (done.max(1) as f64).log10()
    }

    /// The same of a search of which so much is done, and something left.
    pub fn with_done(self, done: u64) -> Self {
        let least = (done as f64 + 1.0).log10();
        let Self { log10, low, high, .. } = self;
        Self { log10: log10.max(least), low: low.max(least), high: high.max(least), done }
    }

    /// The share that is explored, as a logarithm to base 10: the best guess, and the ends of its interval.
    pub fn share(&self) -> (f64, f64, f64) {
        let done = (self.done.max(1) as f64).log10();
        let share = |total: f64| (done - total).min(0.0);
        (share(self.log10), share(self.high), share(self.low))
    }

    /// What is explored, in words: `about 37 % (28–49 %) of an estimated 2.1 × 10^5 classes`.
    pub fn in_words(&self, things: &str) -> String {
        let (explored, total) = self.told();
        format!("about {explored} of an estimated {total} {things}")
    }

    /// The same where there is little room: `37 % (28–49 %) of 2.1 × 10^5`.
    pub fn in_short(&self) -> String {
        let (explored, total) = self.told();
        format!("{explored} of {total}")
    }

    /// The share that is explored, with its interval, and how much there is.
    fn told(&self) -> (String, String) {
        let (share, low, high) = self.share();
        let total = number(self.log10);
        if share < -4.0 {
            return (number(share), total);
        }
        let percent = |share: f64| percent(10f64.powf(share));
        let (low, high) = (percent(low), percent(high));
        let interval = if low == high { String::new() } else { format!(" ({low}–{high} %)") };
        (format!("{} %{interval}", percent(share)), total)
    }
}

/// A share in percent, with as many digits as are worth something.
pub fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    match percent {
        p if p >= 99.95 => "100".into(),
        p if p >= 10.0 => format!("{p:.0}"),
        p if p >= 1.0 => format!("{p:.1}"),
        p if p >= 0.1 => format!("{p:.2}"),
        p if p >= 0.001 => format!("{p:.3}"),
        p => format!("{p:.0e}"),
    }
}

/// A number given by its logarithm to base 10, in few digits: `1680`, `2.1 × 10^5`, `10^13863`.
pub fn number(log10: f64) -> String {
    if !log10.is_finite() {
        return "unknown".into();
    }
    if (0.0..4.0).contains(&log10) {
        return format!("{:.0}", 10f64.powf(log10));
    }
    let exponent = log10.floor();
    let leading = 10f64.powf(log10 - exponent);
    if exponent.abs() >= 100.0 {
        return format!("10^{log10:.0}");
    }
    let leading = format!("{leading:.1}");
    if leading == "10.0" { format!("1.0 × 10^{}", exponent + 1.0) } else { format!("{leading} × 10^{exponent}") }
}

/// How far a check was at some moment.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Seconds since it began.
    pub seconds: f64,
    /// Executions so far.
    pub executions: u64,
    /// Findings so far.
    pub findings: usize,
    /// What was estimated then.
    pub estimate: Option<Estimate>,
}

/// A state on the path of the search, and what can be done there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Branch {
    /// The step that was taken here: `main.1 lock queue.lock`.
    pub taken: String,
    /// What else was tried here and is explored.
    pub explored: Vec<String>,
    /// What is still to be tried here.
    pub left: Vec<String>,
}

impl Run {
    /// The version of records that this Ordain writes and reads.
    pub const VERSION: u32 = 2;
}

/// How a check went: few samples, however long it takes.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    kept: Vec<Sample>,
    newest: Option<Sample>,
    /// Time between samples that are kept; grows as there are more.
    interval: f64,
}

impl Samples {
    /// More are not kept.
    const MOST: usize = 512;

    /// Takes a sample; later ones have later times.
    pub fn add(&mut self, sample: Sample) {
        self.newest = Some(sample);
        if self.kept.last().is_some_and(|last| sample.seconds - last.seconds < self.interval) {
            return;
        }
        self.kept.push(sample);
        if self.kept.len() >= Self::MOST {
            self.interval = sample.seconds / (Self::MOST / 2) as f64;
            let mut last = f64::NEG_INFINITY;
            let interval = self.interval;
            self.kept.retain(|s| {
                let keep = s.seconds - last >= interval;
                last = if keep { s.seconds } else { last };
                keep
            });
        }
    }

    /// The samples, in order of time.
    pub fn done(mut self) -> Vec<Sample> {
        self.kept.extend(self.newest.filter(|newest| self.kept.last() != Some(newest)));
        self.kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimates_read_well() {
        let words = |total: f64, low: f64, high: f64, done: u64| {
            Estimate::from_ln(total.ln(), low.ln(), high.ln(), done).in_words("classes")
        };
        assert_eq!(words(2.1e5, 1.6e5, 2.8e5, 77_700), "about 37 % (28–49 %) of an estimated 2.1 × 10^5 classes");
        assert_eq!(words(1680.0, 1680.0, 1680.0, 400), "about 24 % of an estimated 1680 classes");
        assert_eq!(words(1e6, 1e6, 2e6, 999_999), "about 100 % (50–100 %) of an estimated 1.0 × 10^6 classes");
        assert_eq!(words(1e9, 1e8, 1e10, 1000), "about 1.0 × 10^-6 of an estimated 1.0 × 10^9 classes");
        let huge = Estimate::from_ln(13_863.0 * std::f64::consts::LN_10, 0.0, 40_000.0, 10);
        assert_eq!(huge.in_words("classes"), "about 10^-13862 of an estimated 10^13863 classes");
    }

    #[test]
    fn shares_and_numbers_are_short() {
        assert_eq!(
            [percent(1.0), percent(0.123), percent(0.0123), percent(0.0009), percent(3.2e-14)],
            ["100", "12", "1.2", "0.090", "3e-12"]
        );
        assert_eq!([number(3.0), number(45.3), number(13863.0)], ["1000", "2.0 × 10^45", "10^13863"]);
        assert_eq!([number(-6.0), number(5.999_99)], ["1.0 × 10^-6", "1.0 × 10^6"]);
    }

    #[test]
    fn samples_stay_few_and_reach_to_the_end() {
        for count in [0u32, 1, 2, 511, 512, 513, 100_000] {
            let mut samples = Samples::default();
            for i in 0..count {
                let seconds = f64::from(i) / 10.0;
                samples.add(Sample { seconds, executions: u64::from(i), findings: 0, estimate: None });
            }
            let samples = samples.done();
            assert!(samples.len() <= 513 && samples.len() >= (count as usize).min(200), "{count}: {}", samples.len());
            assert!(samples.windows(2).all(|w| w[0].seconds < w[1].seconds));
            assert_eq!(samples.last().map(|s| s.executions), count.checked_sub(1).map(u64::from));
        }
    }
}
