//! Writes foreign objects unchanged, without the secrets that some servers put into them.
//!
//! Debug events of LangGraph's platform contain the headers of the request with its bearer token; others
//! repeat the configuration of a client. Whoever views the conversation would see them. This is a precaution
//! for known names; the redactor of the hub searches texts besides.

use compact_str::CompactString;
use serde_json::Value;

use super::{AgentId, Decoded, EventWriter, Kind};
use crate::field::{ForeignField, json_within_depth};
use model::json::Json;

/// The text that replaces a secret.
const REDACTED: &str = "[redacted]";

/// The names of fields that contain a secret, in lower case and without separators.
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

/// The end of the names of keys that begin with the name of a vendor.
const SECRET_NAME_END: &str = "apikey";

impl EventWriter {
    /// Writes a foreign object that the decoder has no event for, under the name of the dialect. Nothing of
    /// it is lost but secrets.
    pub(crate) fn raw(&self, value: ForeignField<'_>, agent: Option<&AgentId>, out: &mut Decoded) {
        let kind = Kind::Raw { name: self.dialect.clone(), value: without_secrets(value) };
        self.push_by(agent, kind, out);
    }

    /// Writes a foreign object as a custom event with this `name`, which the dialect gives it.
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

/// `value` with its secrets replaced by `[redacted]`; unchanged, byte for byte, if it has none. A value that
/// nests deeper than [`model::limits::JSON_DEPTH_MAX`] becomes a string.
fn without_secrets(value: ForeignField<'_>) -> Json {
    let text = value.as_json_text();
    if !may_hold_secrets(text) {
        return value.json();
    }
    // An object that the parser refuses, because it nests too deep, is left out for safety.
    let mut tree: Value = serde_json::from_str(text).unwrap_or_default();
    redact(&mut tree);
    let clean = tree.to_string();
    json_within_depth(&clean).unwrap_or_else(|| Json::of(&()))
}

/// Whether the text may contain a secret. This quick check is enough for nearly all objects.
fn may_hold_secrets(text: &str) -> bool {
    has_end(text) && names_secret(text)
}

/// Whether the end of a name is in the text, without case and separators. One look at each byte finds that there is none.
fn has_end(text: &str) -> bool {
    const SIX: u64 = (1 << 48) - 1;
    const SEVEN: u64 = (1 << 56) - 1;
    let letters = u64::from_be_bytes;
    // The last eight letters.
    let mut last = 0_u64;
    text.bytes().filter(|byte| !matches!(byte, b'-' | b'_')).any(|byte| {
        let byte = byte.to_ascii_lowercase();
        last = (last << 8) | u64::from(byte);
        match byte {
            b'n' => [b"rization", b"esstoken", b"eshtoken"].iter().any(|end| letters(**end) == last),
            b'e' => last & SIX == letters(*b"\0\0cookie"),
            b't' => last == letters(*b"ntsecret"),
            b'd' => last == letters(*b"password"),
            b'y' => last & SIX == letters(*b"\0\0apikey"),
            b' ' => last & SEVEN == letters(*b"\0bearer "),
            _ => false,
        }
    })
}

/// Whether the name of a secret is in the text, or the word before a token.
fn names_secret(text: &str) -> bool {
    let plain = plain(text);
    plain.contains("bearer ")
        || plain.contains(SECRET_NAME_END)
        || SECRET_NAMES.iter().any(|name| plain.contains(name))
}

/// A name in lower case and without separators.
fn plain(text: &str) -> String {
    text.chars().filter(|c| !matches!(c, '-' | '_')).map(|c| c.to_ascii_lowercase()).collect()
}

/// Replaces the secrets in `value`: strings that begin with `Bearer `, and the values of fields with a
/// secret's name. The parser limits the depth of the recursion.
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
                    // A schema that describes a password contains none.
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
