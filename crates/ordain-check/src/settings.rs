//! The options of a check, each in one place. Flags of the command, keys of `ordain.toml`, methods of the library's builder, options of the
//! attribute, what a cluster is sent, headers of schedules, and what a checkpoint is known by all come from here.

mod text;

#[cfg(feature = "clap")]
pub mod flags;

pub use text::{from_values, keys, optional_time, time, unusual, values};

use ordain_explore::strategy::{Bound, Kind as StrategyKind};
use ordain_model::Options;
use ordain_report::{Require, Timeouts};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::Duration;

/// Samples of a strategy that only samples, if nothing else limits it.
const DEFAULT_SAMPLES: u64 = 10_000;
/// Largest depth of probabilistic concurrency testing: no bug needs more than a few ordering constraints.
pub const MOST_PCT_DEPTH: usize = 1000;

/// The options of a check of any program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
#[cfg_attr(feature = "clap", derive(clap::Args))]
pub struct Settings {
    /// How schedules are chosen [default: optimal, or portfolio with a limit]
    #[cfg_attr(feature = "clap", arg(long, value_name = "STRATEGY", value_parser = flags::strategy()))]
    #[serde(with = "text::strategy")]
    pub strategy: Option<StrategyKind>,
    /// Only schedules with at most N preemptions
    #[cfg_attr(feature = "clap", arg(long, value_name = "N", conflicts_with_all = ["strategy", "delay_bound"]))]
    pub preemption_bound: Option<u32>,
    /// Only schedules with at most N delays
    #[cfg_attr(feature = "clap", arg(long, value_name = "N", conflicts_with = "strategy"))]
    pub delay_bound: Option<u32>,
    /// The seed of strategies that sample
    #[cfg_attr(feature = "clap", arg(long, value_name = "N", default_value_t = Self::default().seed))]
    pub seed: u64,
    /// How many ordering constraints the strategy pct looks for
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "N", default_value_t = Self::default().pct_depth, value_parser = flags::pct_depth)
    )]
    pub pct_depth: usize,

    /// Stop after that many executions
    #[cfg_attr(feature = "clap", arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..)))]
    pub max_executions: Option<u64>,
    /// Stop after that time, such as 30s, 5m or 1h
    #[cfg_attr(feature = "clap", arg(long, value_name = "TIME", value_parser = crate::amount::duration))]
    #[serde(with = "text::optional_time")]
    pub max_time: Option<Duration>,
    /// Go on after the first finding
    #[cfg_attr(feature = "clap", arg(long))]
    pub keep_going: bool,
    /// What must be reached for status 0: `verified`, or `share=90%` of the classes, by the estimate
    #[cfg_attr(feature = "clap", arg(long, value_name = "WHAT"))]
    pub require: Option<Require>,

    /// When sleeps and timeouts may end
    #[cfg_attr(feature = "clap", arg(long, value_name = "WHEN", default_value = "any", value_parser = flags::timeouts()))]
    pub timeouts: Timeouts,
    /// Let waits on condition variables end without a reason, as POSIX allows
    #[cfg_attr(feature = "clap", arg(long))]
    pub spurious_wakeups: bool,
    /// Idle rounds of a waiting loop that are explored
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "N", default_value_t = Self::default().spin_bound, value_parser = clap::value_parser!(u32).range(1..))
    )]
    pub spin_bound: u32,
    /// Steps after which an execution that does not end is a finding
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "N", default_value_t = Self::default().max_steps, value_parser = flags::at_least_one)
    )]
    pub max_steps: usize,

    /// How long a finding may be made smaller before it is shown; 0 shows it as it was found
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "TIME", default_value = "10s", value_parser = crate::amount::duration_or_zero)
    )]
    #[serde(with = "text::time")]
    pub shrink_time: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        let world = Options::default();
        Self {
            strategy: None,
            preemption_bound: None,
            delay_bound: None,
            seed: 0,
            pct_depth: 3,
            max_executions: None,
            max_time: None,
            keep_going: false,
            require: None,
            timeouts: Timeouts::Any,
            spurious_wakeups: world.spurious_wakeups,
            spin_bound: world.spin_bound,
            max_steps: world.max_steps,
            shrink_time: Duration::from_secs(10),
        }
    }
}

impl Settings {
    /// Those of the options that a schedule can only be followed with, by their names.
    pub const OF_SCHEDULES: [&str; 4] = ["timeouts", "spurious-wakeups", "spin-bound", "max-steps"];

    /// The bound, if there is one.
    pub fn bound(&self) -> Option<Bound> {
        self.preemption_bound.map(Bound::Preemptions).or(self.delay_bound.map(Bound::Delays))
    }

    /// The strategy: as it was chosen, or as the budget suggests.
    pub fn strategy(&self) -> StrategyKind {
        let budget = self.max_executions.is_some() || self.max_time.is_some();
        self.strategy.unwrap_or(if budget { StrategyKind::Portfolio } else { StrategyKind::Optimal })
    }

    /// Most executions of a search that samples, or does not.
    pub fn most_executions(&self, samples: bool) -> u64 {
        match self.max_executions {
            None if samples && self.max_time.is_none() => DEFAULT_SAMPLES,
            most => most.unwrap_or(u64::MAX),
        }
    }

    /// What is assumed of the world; the front end decides the rest.
    pub fn options(&self, rest: Options) -> Options {
        Options {
            spurious_wakeups: self.spurious_wakeups,
            kind_time: self.timeouts == Timeouts::Last,
            spin_bound: self.spin_bound,
            max_steps: self.max_steps,
            ..rest
        }
    }

    /// All of it that decides what is explored, by name: a search can only be resumed with the same.
    pub fn identity(&self) -> Vec<(String, String)> {
        let values = values(self);
        let of_search = ["seed", "preemption-bound", "delay-bound"].iter().chain(&Self::OF_SCHEDULES);
        let mut identity = vec![("strategy".to_owned(), self.strategy().name().to_owned())];
        identity.extend(of_search.filter_map(|key| Some(((*key).to_owned(), values.get(*key)?.clone()))));
        identity
    }

    /// What does not go together, or is out of range. Settings may come from a file or over a network.
    pub fn verify(&self) -> Result<(), String> {
        let zero = [
            ("max-executions", self.max_executions == Some(0)),
            ("max-time", self.max_time == Some(Duration::ZERO)),
            ("spin-bound", self.spin_bound == 0),
            ("max-steps", self.max_steps == 0),
            ("pct-depth", self.pct_depth == 0),
        ];
        if let Some((key, _)) = zero.iter().find(|(_, is_zero)| *is_zero) {
            return Err(format!("`{key}` is 0: it must be 1 or more"));
        }
        if self.pct_depth > MOST_PCT_DEPTH {
            return Err(format!("`pct-depth` is {}: it must be {MOST_PCT_DEPTH} or less", self.pct_depth));
        }
        if self.preemption_bound.is_some() && self.delay_bound.is_some() {
            return Err("`preemption-bound` and `delay-bound` do not go together: a search has one bound".into());
        }
        match self.strategy.filter(|strategy| strategy.samples() && self.bound().is_some()) {
            Some(strategy) => Err(format!(
                "a bound does not go with the strategy `{}`: bounds are for exhaustive search; leave one of the two out",
                strategy.name()
            )),
            None => Ok(()),
        }
    }
}

/// Whether a search is resumed from its checkpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Resume {
    /// It begins anew.
    #[default]
    No,
    /// It begins anew if there is no checkpoint of this program with these options, and says why.
    IfPossible,
    /// It is an error if it cannot.
    Must,
}

/// How a check is run: what does not change what it comes to.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// Where schedules of findings are written, and what is left of a search; nowhere if not told.
    pub directory: Option<PathBuf>,
    /// Where the trace of an exhaustive search is written; the search is then led from plan to plan.
    pub exploration_trace: Option<PathBuf>,
    /// How many explore at the same time, if the search can be divided. With none, one does, without checkpoints.
    pub workers: usize,
    /// How long a worker explores at least before it is heard; longer as the search goes on.
    pub slice: Duration,
    /// Whether to resume the search whose checkpoint is in the directory.
    pub resume: Resume,
    /// Whether there is a checkpoint also when the search has ended, with what it found: one of several in a process that is resumed.
    pub checkpoint_result: bool,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            directory: None,
            exploration_trace: None,
            workers: 0,
            slice: Duration::from_millis(20),
            resume: Resume::No,
            checkpoint_result: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_come_back_as_they_were_sent() {
        let settings = Settings {
            strategy: Some(StrategyKind::Pct),
            delay_bound: Some(2),
            max_time: Some(Duration::from_millis(1500)),
            require: Some(Require::Share(0.5)),
            timeouts: Timeouts::Last,
            ..Settings::default()
        };
        let text = serde_json::to_string(&settings).expect("it can be written");
        assert_eq!(serde_json::from_str::<Settings>(&text).expect("it can be read"), settings);
        assert_eq!(serde_json::from_str::<Settings>("{}").expect("all have defaults"), Settings::default());
    }

    #[test]
    fn what_does_not_go_together_is_told() {
        let told = |settings: Settings| settings.verify().expect_err("it cannot be meant");
        assert!(Settings::default().verify().is_ok());
        assert!(told(Settings { spin_bound: 0, ..Settings::default() }).contains("`spin-bound` is 0"));
        assert!(told(Settings { pct_depth: 1001, ..Settings::default() }).contains("1000 or less"));
        let bounded = Settings { preemption_bound: Some(1), ..Settings::default() };
        assert!(told(Settings { delay_bound: Some(1), ..bounded.clone() }).contains("do not go together"));
        let sampled = Settings { strategy: Some(StrategyKind::Pos), ..bounded.clone() };
        assert!(told(sampled).contains("strategy `pos`"));
        assert!(bounded.verify().is_ok());
    }

    #[test]
    fn a_search_is_known_by_what_decides_what_is_explored() {
        let of = |settings: &Settings| settings.identity();
        let usual = Settings::default();
        assert!(of(&usual).contains(&("strategy".into(), "optimal".into())), "{:?}", of(&usual));
        for other in [
            Settings { strategy: Some(StrategyKind::Source), ..usual.clone() },
            Settings { seed: 1, ..usual.clone() },
            Settings { timeouts: Timeouts::Last, ..usual.clone() },
            Settings { spurious_wakeups: true, ..usual.clone() },
            Settings { spin_bound: 3, ..usual.clone() },
            Settings { max_steps: 3, ..usual.clone() },
        ] {
            assert_ne!(of(&other), of(&usual), "{other:?}");
        }
        for same in [
            Settings { keep_going: true, ..usual.clone() },
            Settings { shrink_time: Duration::ZERO, ..usual.clone() },
            Settings { require: Some(Require::Verified), ..usual.clone() },
        ] {
            assert_eq!(of(&same), of(&usual), "{same:?}");
        }
    }
}
