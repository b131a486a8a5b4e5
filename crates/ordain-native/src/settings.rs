//! The options that only checks of programs have.

use crate::process::Patience;
use ordain_check::{Settings, settings};
use ordain_model::Options;
use ordain_wire::Mode;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// A program may be without the processor for so many times as long as it may use it.
const BLOCKED: u32 = 5;

/// The options of a check of a program, beside those that every check has.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
#[cfg_attr(feature = "clap", derive(clap::Args))]
pub struct ProgramSettings {
    /// The exit status that is no finding
    #[cfg_attr(feature = "clap", arg(long, value_name = "N", default_value_t = 0))]
    pub expect_status: u8,
    /// Take it as a finding if the program's output depends on the schedule
    #[cfg_attr(feature = "clap", arg(long))]
    pub compare_output: bool,
    /// Processor time after which a thread that makes no visible call hangs
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "TIME", default_value = "2s", value_parser = ordain_check::amount::duration)
    )]
    #[serde(with = "settings::time")]
    pub hang_time: Duration,
    /// How executions are started [default: the fastest that works for the program]
    #[cfg_attr(feature = "clap", arg(long, value_name = "MODE", value_parser = mode_parser()))]
    #[serde(with = "mode")]
    pub mode: Option<Mode>,
}

impl Default for ProgramSettings {
    fn default() -> Self {
        Self { expect_status: 0, compare_output: false, hang_time: Duration::from_secs(2), mode: None }
    }
}

impl ProgramSettings {
    /// Those of the options that a schedule can only be followed with, by their names.
    const OF_SCHEDULES: [&str; 2] = ["expect-status", "hang-time"];

    /// How long the program may do nothing visible.
    pub fn patience(&self) -> Patience {
        Patience { busy: self.hang_time, blocked: self.hang_time.saturating_mul(BLOCKED) }
    }

    /// What is out of range.
    pub fn verify(&self) -> Result<(), String> {
        if self.hang_time.is_zero() { Err("`hang-time` is 0: it must be more".into()) } else { Ok(()) }
    }
}

/// What is assumed of the world. Rounds of a program's loop take longer than those of a closure's.
pub fn options(settings: &Settings) -> Options {
    settings.options(Options { livelock_rounds: 10_000, ..Options::default() })
}

/// What a schedule says of the options with which it was found: those that are not as usual.
pub(crate) fn header(common: &Settings, program: &ProgramSettings) -> Vec<(String, String)> {
    let unusual = |values: BTreeMap<String, String>, usual: BTreeMap<String, String>, keys: &[&str]| {
        let lines = keys.iter().map(|key| (*key, values.get(*key), usual.get(*key)));
        let lines = lines.filter(|(_, value, usual)| value != usual);
        lines.filter_map(|(key, value, _)| Some((key.to_owned(), value?.clone()))).collect::<Vec<_>>()
    };
    let mut lines = unusual(settings::values(common), settings::values(&Settings::default()), &Settings::OF_SCHEDULES);
    let (values, usual) = (settings::values(program), settings::values(&ProgramSettings::default()));
    lines.extend(unusual(values, usual, &ProgramSettings::OF_SCHEDULES));
    lines
}

/// The options that a schedule says it was found with. An error names the line that makes no sense, its value, and why.
pub fn of_header<'a>(
    get: impl Fn(&str) -> Option<&'a str>,
) -> Result<(Settings, ProgramSettings), (&'static str, &'a str, String)> {
    let given = |keys: &[&'static str]| keys.iter().filter_map(|key| Some((*key, get(key)?))).collect::<Vec<_>>();
    // One by one, so that the error names the line.
    let (mut common, mut program) = (Vec::new(), Vec::new());
    for (key, value) in given(&Settings::OF_SCHEDULES) {
        common.push((key.to_owned(), value.to_owned()));
        let read = settings::from_values::<Settings>(common.clone());
        read.and_then(|settings| settings.verify()).map_err(|reason| (key, value, reason))?;
    }
    for (key, value) in given(&ProgramSettings::OF_SCHEDULES) {
        program.push((key.to_owned(), value.to_owned()));
        let read = settings::from_values::<ProgramSettings>(program.clone());
        read.and_then(|settings| settings.verify()).map_err(|reason| (key, value, reason))?;
    }
    let common = settings::from_values(common).unwrap_or_default();
    Ok((common, settings::from_values(program).unwrap_or_default()))
}

/// A mode by its name.
#[cfg(feature = "clap")]
fn mode_parser() -> impl clap::builder::TypedValueParser<Value = Mode> {
    use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser as _};
    let help = |mode| match mode {
        Mode::Snapshot => "memory is put back after each execution",
        Mode::Fork => "each execution is a child of a process that stands before main",
        Mode::Exec => "the program is started anew for each execution",
    };
    use ordain_wire::Numbered as _;
    let names = Mode::ALL.iter().map(|mode| PossibleValue::new(mode.name()).help(help(*mode)));
    PossibleValuesParser::new(names).try_map(|name| Mode::by_name(&name).ok_or("there is no such mode"))
}

/// A mode by its name, if there is one.
mod mode {
    use ordain_wire::{Mode, Numbered as _};
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(mode: &Option<Mode>, to: S) -> Result<S::Ok, S::Error> {
        mode.map(Mode::name).serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Mode>, D::Error> {
        let Some(name) = Option::<String>::deserialize(from)? else { return Ok(None) };
        let wrong = || {
            let names: Vec<&str> = Mode::ALL.iter().map(|mode| mode.name()).collect();
            let names = names.join(", ");
            serde::de::Error::custom(format!("there is no mode `{name}`: {names}"))
        };
        Mode::by_name(&name).map(Some).ok_or_else(wrong)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ordain_report::Timeouts;

    #[test]
    fn headers_say_what_is_not_as_usual() {
        assert_eq!(header(&Settings::default(), &ProgramSettings::default()), []);
        let common = Settings { timeouts: Timeouts::Last, spin_bound: 5, seed: 7, ..Settings::default() };
        let program = ProgramSettings {
            expect_status: 3,
            hang_time: Duration::from_millis(300),
            compare_output: true,
            mode: Some(Mode::Fork),
        };
        let lines = header(&common, &program);
        let line = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        assert_eq!(
            lines,
            [line("timeouts", "last"), line("spin-bound", "5"), line("expect-status", "3"), line("hang-time", "300ms")]
        );
        let get = |key: &str| lines.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str());
        let (common, program) = of_header(get).expect("they make sense");
        assert_eq!((common.timeouts, common.spin_bound, common.seed), (Timeouts::Last, 5, 0));
        assert_eq!((program.expect_status, program.hang_time), (3, Duration::from_millis(300)));
    }

    #[test]
    fn headers_that_make_no_sense_are_named() {
        for (key, value) in [
            ("timeouts", "late"),
            ("spurious-wakeups", "yes"),
            ("spin-bound", "0"),
            ("max-steps", "-1"),
            ("expect-status", "256"),
            ("hang-time", "soon"),
        ] {
            let (wrong, told, _) = of_header(|name| (name == key).then_some(value)).expect_err(value);
            assert_eq!((wrong, told), (key, value));
        }
    }
}
