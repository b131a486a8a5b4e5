//! Values of flags.

use super::MOST_PCT_DEPTH;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use ordain_explore::strategy::Kind as Strategy;
use ordain_report::Timeouts;

/// A strategy by its name.
pub fn strategy() -> impl TypedValueParser<Value = Strategy> {
    let names = PossibleValuesParser::new(Strategy::ALL.map(Strategy::name));
    names.try_map(|name| Strategy::by_name(&name).ok_or("there is no such strategy"))
}

/// When timed waits may expire.
pub fn timeouts() -> impl TypedValueParser<Value = Timeouts> {
    let names = [
        PossibleValue::new("any").help("at any moment, as a program must be ready for"),
        PossibleValue::new("last").help("only when nothing else can happen: sleeps and timeouts end late"),
    ];
    PossibleValuesParser::new(names).map(|name| if name == "last" { Timeouts::Last } else { Timeouts::Any })
}

/// A number that is not zero.
pub fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("it must be 1 or more".into()),
        Ok(number) => Ok(number),
        Err(error) => Err(error.to_string()),
    }
}

/// How many ordering constraints PCT looks for.
pub fn pct_depth(text: &str) -> Result<usize, String> {
    at_least_one(text).and_then(|_| at_most::<MOST_PCT_DEPTH>(text))
}

/// A number that is not larger than sense.
pub fn at_most<const MOST: usize>(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(number) if number > MOST => Err(format!("it must be {MOST} or less")),
        Ok(number) => Ok(number),
        Err(error) => Err(error.to_string()),
    }
}
