//! Settings in layers, each over the one before: tables are merged key by key, all other values are replaced.

use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// How serde's messages begin, and what replaces these words.
const FOUND: [(&str, &str); 3] = [
    ("invalid type: ", "invalid type: found "),
    ("unknown field ", "unknown field: found "),
    ("unknown variant ", "unknown variant: found "),
];

/// Reads a TOML file. The error names the file and what is wrong.
pub(super) fn file(file: &Path) -> Result<Map<String, Value>, String> {
    let text = std::fs::read_to_string(file);
    let text = text.map_err(|error| format!("cannot read {}: {error}", file.display()))?;
    table(&text).map_err(|error| format!("{}: {error}", file.display()))
}

/// Parses TOML. The error says where and why it is invalid.
pub(super) fn table(text: &str) -> Result<Map<String, Value>, String> {
    toml::from_str(text).map_err(|error| error.to_string().trim_end().to_owned())
}

/// The fields of `settings`.
pub(super) fn fields(settings: &impl Serialize) -> Result<Map<String, Value>, String> {
    match serde_json::to_value(settings) {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(other) => Err(format!("{other} is not a table")),
        Err(error) => Err(error.to_string()),
    }
}

/// Merges `above` into `below`.
pub(super) fn lay(below: &mut Map<String, Value>, above: Map<String, Value>) {
    for (key, value) in above {
        match (below.get_mut(&key), value) {
            (Some(Value::Object(below)), Value::Object(above)) => lay(below, above),
            (_, value) => drop(below.insert(key, value)),
        }
    }
}

/// Converts the merged layers. The error says what does not fit, and its key. What serde says of a value is
/// changed so that it reads well with any key.
pub(super) fn fit<T: DeserializeOwned>(layers: Map<String, Value>) -> Result<T, String> {
    serde_path_to_error::deserialize(Value::Object(layers)).map_err(|error| {
        let what = error.inner().to_string();
        let is_found = FOUND.iter().find_map(|(begin, found)| Some((found, what.strip_prefix(begin)?)));
        let what = is_found.map_or_else(|| what.clone(), |(found, rest)| format!("{found}{rest}"));
        match error.path().iter().len() {
            0 => what,
            _ => format!("{what} for key \"{}\"", error.path()),
        }
    })
}

#[cfg(test)]
mod tests;
