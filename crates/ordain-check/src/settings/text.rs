//! Settings as text: in files, in headers, over networks.

use crate::amount;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Duration;

/// The values of settings, by name, as text. What is not given is left out.
pub fn values(settings: &impl Serialize) -> BTreeMap<String, String> {
    let Ok(Value::Object(values)) = serde_json::to_value(settings) else { return BTreeMap::new() };
    let text = |value: Value| match value {
        Value::Null => None,
        Value::String(text) => Some(text),
        other => Some(other.to_string()),
    };
    values.into_iter().filter_map(|(key, value)| Some((key, text(value)?))).collect()
}

/// The names of settings.
pub fn keys<S: Default + Serialize>() -> Vec<String> {
    match serde_json::to_value(S::default()) {
        Ok(Value::Object(values)) => values.into_iter().map(|(key, _)| key).collect(),
        _ => Vec::new(),
    }
}

/// The first of the settings whose value is not the usual one.
pub fn unusual<S: Default + Serialize>(settings: &S) -> Option<String> {
    let usual = values(&S::default());
    values(settings).into_iter().find(|(key, value)| usual.get(key) != Some(value)).map(|(key, _)| key)
}

/// Reads settings from their values as text; what is not there is as usual.
pub fn from_values<'de, S: Deserialize<'de>>(values: impl IntoIterator<Item = (String, String)>) -> Result<S, String> {
    let value = |text: String| match serde_json::from_str(&text) {
        Ok(value @ (Value::Bool(_) | Value::Number(_))) => value,
        _ => Value::String(text),
    };
    let values = values.into_iter().map(|(key, text)| (key, value(text))).collect();
    S::deserialize(Value::Object(values)).map_err(|error| error.to_string())
}

fn read_time<E: serde::de::Error>(text: &str) -> Result<Duration, E> {
    amount::duration_or_zero(text).map_err(|reason| E::custom(format!("`{text}`: {reason}")))
}

/// A time such as `10s`.
pub mod time {
    use super::*;

    /// Writes it.
    pub fn serialize<S: Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&amount::duration_text(*time))
    }

    /// Reads it.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        read_time(&String::deserialize(from)?)
    }
}

/// A time, if there is one.
pub mod optional_time {
    use super::*;

    /// Writes it.
    pub fn serialize<S: Serializer>(time: &Option<Duration>, to: S) -> Result<S::Ok, S::Error> {
        time.map(amount::duration_text).serialize(to)
    }

    /// Reads it.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
        Option::<String>::deserialize(from)?.as_deref().map(read_time).transpose()
    }
}

/// A strategy by its name, if there is one.
pub(super) mod strategy {
    use super::*;
    use ordain_explore::strategy::Kind;

    pub(in super::super) fn serialize<S: Serializer>(strategy: &Option<Kind>, to: S) -> Result<S::Ok, S::Error> {
        strategy.map(Kind::name).serialize(to)
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Kind>, D::Error> {
        let Some(name) = Option::<String>::deserialize(from)? else { return Ok(None) };
        let wrong = || {
            let names = Kind::ALL.map(Kind::name).join(", ");
            serde::de::Error::custom(format!("there is no strategy `{name}`: {names}"))
        };
        Kind::by_name(&name).map(Some).ok_or_else(wrong)
    }
}
