//! Amounts of testing, as people write them: times such as `30s`, numbers of executions such as `1000 executions`.

use std::time::Duration;

/// A time, or a number of executions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// A time.
    Time(Duration),
    /// A number of executions.
    Executions(u64),
}

impl std::str::FromStr for Amount {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = text.strip_suffix("executions").or_else(|| text.strip_suffix("execution"));
        let Some(number) = number else {
            let how = |reason| format!("{reason}; or a number of executions: \"1000 executions\"");
            return duration(text).map(Self::Time).map_err(how);
        };
        match number.trim_end().replace('_', "").parse() {
            Ok(0) => Err("it must be more than nothing".into()),
            Ok(number) => Ok(Self::Executions(number)),
            Err(_) => Err(format!("`{}` is not a number of executions: write \"1000 executions\"", number.trim_end())),
        }
    }
}

/// A time such as `500ms`, `30s`, `1.5m` or `2h`.
pub fn duration(text: &str) -> Result<Duration, String> {
    const HOW: &str = "write a number and a unit: 500ms, 30s, 5m or 1h";
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "ms" => 0.001,
        "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        "" => return Err(format!("the unit is missing; {HOW}")),
        _ => return Err(format!("the unit is unknown; {HOW}")),
    };
    if !digits.starts_with(|c: char| c.is_ascii_digit()) {
        return Err(format!("not a time; {HOW}"));
    }
    let number: f64 = digits.parse().map_err(|_| format!("not a number; {HOW}"))?;
    let time = Duration::try_from_secs_f64(number * unit).map_err(|_| "longer than any check can last".to_owned())?;
    if time.is_zero() { Err("it must be longer than nothing".into()) } else { Ok(time) }
}

/// A time as [`duration`] reads it, or none: `0`.
pub fn duration_or_zero(text: &str) -> Result<Duration, String> {
    if matches!(text, "0" | "0s" | "0ms") { Ok(Duration::ZERO) } else { duration(text) }
}

/// A time as [`duration`] reads it, to the millisecond.
pub fn duration_text(time: Duration) -> String {
    match time.as_millis() {
        millis if millis % 1000 == 0 => format!("{}s", millis / 1000),
        millis => format!("{millis}ms"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        assert_eq!(duration("30s"), Ok(Duration::from_secs(30)));
        assert_eq!(duration("5m"), Ok(Duration::from_secs(300)));
        assert_eq!(duration("1.5h"), Ok(Duration::from_secs(5400)));
        assert_eq!(duration("250ms"), Ok(Duration::from_millis(250)));
        for wrong in
            ["", "s", "30", "30 s", "-1s", "1e400s", "1e30h", "0s", "1d", "nans", "infs", "+1s", "1s1s", "\u{663}s"]
        {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
        for text in ["30s", "250ms", "1001ms"] {
            assert_eq!(duration(text).map(duration_text).as_deref(), Ok(text));
        }
    }

    #[test]
    fn amounts_are_times_or_executions() {
        let amount = |text: &str| text.parse::<Amount>();
        assert_eq!(amount("2s"), Ok(Amount::Time(Duration::from_secs(2))));
        assert_eq!(amount("1 execution"), Ok(Amount::Executions(1)));
        assert_eq!(amount("10_000 executions"), Ok(Amount::Executions(10_000)));
        for wrong in ["", "5", "0 executions", "-1 executions", "executions", "1e3 executions", "5 runs"] {
            assert!(amount(wrong).is_err(), "{wrong}");
        }
    }
}
