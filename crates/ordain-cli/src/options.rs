//! Values of options that several commands have.

use clap::ValueEnum;
use clap::builder::{OsStringValueParser, PossibleValuesParser, TypedValueParser};
use ordain_explore::strategy::Kind as Strategy;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

/// For whom the result is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Text for people
    #[default]
    Human,
    /// One JSON object on standard output
    Json,
}

/// A strategy by its name.
pub(crate) fn strategy() -> impl TypedValueParser<Value = Strategy> {
    let names = PossibleValuesParser::new(Strategy::ALL.map(Strategy::name));
    names.try_map(|name| Strategy::by_name(&name).ok_or("there is no such strategy"))
}

/// A time such as `500ms`, `30s`, `1.5m` or `2h`.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
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

/// The same, or `0`.
pub(crate) fn duration_or_zero(text: &str) -> Result<Duration, String> {
    if matches!(text, "0" | "0s" | "0ms") { Ok(Duration::ZERO) } else { duration(text) }
}

/// Variables that Ordain needs for itself.
const OWN_VARIABLES: [&str; 3] = ["LD_PRELOAD", "LD_BIND_NOW", "GLIBC_TUNABLES"];

/// [`variable`] for the command line.
pub(crate) fn variable_parser() -> impl TypedValueParser<Value = (OsString, OsString)> {
    OsStringValueParser::new().try_map(|text| variable(&text))
}

/// A variable of the environment, `NAME=VALUE`.
pub(crate) fn variable(text: &OsStr) -> Result<(OsString, OsString), String> {
    let bytes = text.as_bytes();
    let at = bytes.iter().position(|b| *b == b'=').ok_or("write NAME=VALUE")?;
    let (name, value) = (&bytes[..at], &bytes[at + 1..]);
    if name.is_empty() {
        return Err("there is no name before the `=`".into());
    }
    if bytes.contains(&0) {
        return Err("a variable cannot hold a NUL byte".into());
    }
    if OWN_VARIABLES.iter().any(|own| own.as_bytes() == name) {
        let name = String::from_utf8_lossy(name);
        return Err(format!("Ordain sets {name} itself to enter the program, so the program cannot have another"));
    }
    Ok((OsStr::from_bytes(name).to_owned(), OsStr::from_bytes(value).to_owned()))
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
    }

    #[test]
    fn variables_have_names() {
        let split = |text: &str| variable(OsStr::new(text)).ok();
        assert_eq!(split("A=b=c"), Some(("A".into(), "b=c".into())));
        assert_eq!(split("A="), Some(("A".into(), "".into())));
        for wrong in ["", "A", "=b", "LD_PRELOAD=x.so", "A=\0"] {
            assert_eq!(split(wrong), None, "{wrong}");
        }
    }
}
