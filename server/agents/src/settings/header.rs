//! Headers in the settings, checked.

use hyper::header::{AUTHORIZATION, HeaderName, HeaderValue};

use super::Filled;

/// Headers that the protocol itself sets.
const RESERVED: [&str; 10] = [
    "accept",
    "connection",
    "content-length",
    "content-type",
    "host",
    "last-event-id",
    "mcp-protocol-version",
    "mcp-session-id",
    "transfer-encoding",
    "upgrade",
];

/// A header whose value the environment fills.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilledHeader {
    /// The name of the header.
    pub name: HeaderName,
    /// Filled when a session begins.
    value: Filled,
}

impl FilledHeader {
    /// Checks the header `name` with `value`. The error says what is wrong with it.
    pub fn new(name: &str, value: &str) -> Result<Self, String> {
        let of = |what: &str| format!("the header {name:?} {what}");
        let known = HeaderName::from_bytes(name.as_bytes()).map_err(|_odd| of("has an invalid name"))?;
        if RESERVED.contains(&known.as_str()) {
            return Err(of("is set by the protocol"));
        }
        let value = Filled::new(value).map_err(|why| of(&why))?;
        for text in value.texts() {
            HeaderValue::from_str(text).map_err(|_odd| of("has a value that cannot be sent"))?;
        }
        Ok(Self { name: known, value })
    }

    /// An `Authorization` header with this key.
    pub(crate) fn bearer(key: &str) -> Self {
        Self { name: AUTHORIZATION, value: Filled::literal(&format!("Bearer {key}")) }
    }

    /// Whether it is the `Authorization` header.
    pub fn is_authorization(&self) -> bool {
        self.name == AUTHORIZATION
    }

    /// Fills the value from the present environment. It is marked as sensitive, so that neither the trace nor
    /// the log prints it.
    pub(crate) fn filled(&self) -> Result<HeaderValue, String> {
        let whole = self.value.filled().map_err(|why| format!("of its header {}: {why}", self.name))?;
        let value = HeaderValue::from_str(&whole);
        let mut value = value.map_err(|_secret| format!("its header {} cannot be sent", self.name))?;
        value.set_sensitive(true);
        Ok(value)
    }
}

#[cfg(test)]
mod tests;
