//! Foreign objects that are handed on as they came, but for the secrets that some servers put into them.

use compact_str::CompactString;
use serde_json::Value;

use super::{AgentId, Decoded, EventWriter, Kind};
use crate::field::{ForeignField, json_within_depth};
use model::json::Json;

/// What stands in the place of a secret.
const REDACTED: &str = "[redacted]";

/// Names of fields that hold a secret, in small letters and without what joins their words.
const SECRET_NAMES: [&str; 8] = [
    "authorization",
    "proxyauthorization",
    "cookie",
    "setcookie",
    "accesstoken",
    "refreshtoken",
    "clientsecret",
    "password",
];

/// How the names of keys end that come with the name of a vendor before them.
const SECRET_NAME_END: &str = "apikey";

impl EventWriter {
    /// A foreign object that the decoder has no other name for.
    pub(crate) fn raw(&self, value: ForeignField<'_>, agent: Option<&AgentId>, out: &mut Decoded) {
        let kind = Kind::Raw { name: self.dialect.clone(), value: without_secrets(value) };
        self.push_by(agent, kind, out);
    }

    /// A foreign object that readers know by `name`.
    pub(crate) fn custom(
        &self,
        name: &str,
        value: ForeignField<'_>,
        agent: Option<&AgentId>,
        out: &mut Decoded,
    ) {
        let kind = Kind::Custom { name: CompactString::new(name), value: without_secrets(value) };
        self.push_by(agent, kind, out);
    }
}

/// `value` with nothing in the place of its secrets; as it came when it has none.
fn without_secrets(value: ForeignField<'_>) -> Json {
    let text = value.as_json_text();
    if !may_hold_secrets(text) {
        return value.json();
    }
    // What nests too deep for the parser is not worth the risk.
    let mut tree: Value = serde_json::from_str(text).unwrap_or_default();
    redact(&mut tree);
    let clean = tree.to_string();
    json_within_depth(&clean).unwrap_or_else(|| Json::of(&()))
}

/// A look at the text alone, which is enough for nearly all objects.
fn may_hold_secrets(text: &str) -> bool {
    let plain = plain(text);
    plain.contains("bearer ")
        || plain.contains(SECRET_NAME_END)
        || SECRET_NAMES.iter().any(|name| plain.contains(name))
}

/// In small letters, without what joins the words of names.
fn plain(text: &str) -> String {
    text.chars().filter(|c| !matches!(c, '-' | '_')).map(|c| c.to_ascii_lowercase()).collect()
}

/// As deep as the parser goes, so no deeper than the stack.
fn redact(value: &mut Value) {
    match value {
        Value::String(text) if text.to_ascii_lowercase().starts_with("bearer ") => {
            REDACTED.clone_into(text);
        }
        Value::Array(items) => items.iter_mut().for_each(redact),
        Value::Object(fields) => {
            for (name, value) in fields {
                let name = plain(name);
                let is_secret = SECRET_NAMES.contains(&name.as_str()) || name.ends_with(SECRET_NAME_END);
                match value {
                    // Where a schema tells what a password may be, there is none.
                    Value::Null | Value::Bool(_) => {}
                    Value::String(text) if is_secret && text.is_empty() => {}
                    Value::Object(_) if name == "password" => redact(value),
                    _ if is_secret => *value = Value::from(REDACTED),
                    _ => redact(value),
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests;
