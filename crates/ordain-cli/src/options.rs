//! Values of options that several commands have.

use clap::ValueEnum;
use clap::builder::{OsStringValueParser, PossibleValuesParser, TypedValueParser};
use ordain_suite::Policy;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

pub(crate) use ordain_check::amount::duration;
pub(crate) use ordain_check::settings::flags::{at_most, strategy};

/// For whom the result is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Text for people
    #[default]
    Human,
    /// One JSON object on standard output
    Json,
}

/// A policy of suites by its name.
pub(crate) fn policy() -> impl TypedValueParser<Value = Policy> {
    let names = PossibleValuesParser::new(Policy::ALL.map(Policy::name));
    names.try_map(|name| Policy::by_name(&name).ok_or("there is no such policy"))
}

/// Variables that Ordain needs for itself.
const OWN_VARIABLES: [&str; 3] = ["LD_PRELOAD", "LD_BIND_NOW", "GLIBC_TUNABLES"];

/// [`variable`] for the command line, where a name alone is a variable that is passed on.
pub(crate) fn variable_parser() -> impl TypedValueParser<Value = (OsString, OsString)> {
    OsStringValueParser::new().try_map(|text| {
        if text.is_empty() || text.as_bytes().contains(&b'=') {
            return variable(&text);
        }
        let name = text.to_string_lossy();
        let value =
            std::env::var_os(&text).ok_or(format!("{name} is not set here; write NAME=VALUE to give it a value"))?;
        let mut passed = text.clone();
        passed.push("=");
        passed.push(value);
        variable(&passed)
    })
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
    fn variables_have_names() {
        let split = |text: &str| variable(OsStr::new(text)).ok();
        assert_eq!(split("A=b=c"), Some(("A".into(), "b=c".into())));
        assert_eq!(split("A="), Some(("A".into(), "".into())));
        for wrong in ["", "A", "=b", "LD_PRELOAD=x.so", "A=\0"] {
            assert_eq!(split(wrong), None, "{wrong}");
        }
    }
}
