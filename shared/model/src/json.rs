//! A piece of JSON kept as the text that was sent, so that numbers, key order and spelling survive every hop.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// Valid JSON on one line. Equality is equality of the text. Copies share its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Json(Arc<str>);

impl Json {
    /// `text` as JSON, or nothing when it does not parse.
    pub fn parse(text: &str) -> Option<Self> {
        serde_json::from_str::<&RawValue>(text).ok().map(Self::from_raw)
    }

    /// Copies the JSON text of `raw`.
    pub fn from_raw(raw: &RawValue) -> Self {
        Self::of_valid(raw.get())
    }

    /// Copies `text`, which somebody has parsed as JSON already. Whoever has not uses [`Json::parse`].
    pub fn of_valid(text: &str) -> Self {
        // A line break inside JSON is always white space between tokens: strings hold it only escaped.
        if [b'\n', b'\r'].iter().any(|byte| text.as_bytes().contains(byte)) {
            return Self(text.replace(['\n', '\r'], " ").into());
        }
        Self(text.into())
    }

    /// Makes a JSON string of `text`.
    pub fn string(text: &str) -> Self {
        Self::of(text)
    }

    /// Any value that can be written as JSON; `null` for the few that cannot (a map with keys that are no strings).
    pub fn of<T: Serialize + ?Sized>(value: &T) -> Self {
        Self(serde_json::to_string(value).unwrap_or_else(|_| String::from("null")).into())
    }

    /// The value as JSON text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The text that a reader should see: the content of a string, else the JSON itself.
    pub fn to_text(&self) -> std::borrow::Cow<'_, str> {
        if self.0.starts_with('"')
            && let Ok(text) = serde_json::from_str::<String>(&self.0)
        {
            return text.into();
        }
        (&*self.0).into()
    }

    /// The JSON as a tree; `null` when it nests deeper than the parser goes.
    pub fn to_value(&self) -> serde_json::Value {
        serde_json::from_str(&self.0).unwrap_or(serde_json::Value::Null)
    }
}

impl Serialize for Json {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match serde_json::from_str::<&RawValue>(&self.0) {
            Ok(raw) => raw.serialize(serializer),
            Err(error) => Err(serde::ser::Error::custom(error)),
        }
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = <Box<RawValue>>::deserialize(deserializer)?;
        Ok(Self::from_raw(&raw))
    }
}
