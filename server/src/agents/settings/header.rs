//! Headers in the settings, with places for what only the environment knows.

use hyper::header::{AUTHORIZATION, HeaderName, HeaderValue};

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

/// A header; `${NAME}` in its value stands for what is in that variable of the environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilledHeader {
    /// Its name.
    pub name: HeaderName,
    value: Vec<Piece>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    Variable(String),
}

impl FilledHeader {
    /// The header `name` with `value`; else what is wrong with it.
    pub fn new(name: &str, value: &str) -> Result<Self, String> {
        let of = |what: &str| format!("the header {name:?} {what}");
        let known = HeaderName::from_bytes(name.as_bytes()).map_err(|_odd| of("has a name that none has"))?;
        if RESERVED.contains(&known.as_str()) {
            return Err(of("is set by the protocol"));
        }
        let mut pieces = Vec::new();
        let mut rest = value;
        while let Some((text, more)) = rest.split_once("${") {
            let (variable, behind) = more.split_once('}').ok_or_else(|| of("has ${ without }"))?;
            if variable.is_empty() || !variable.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
                return Err(of(&format!("has ${{{variable}}}, which is the name of no variable")));
            }
            pieces.extend([Piece::Text(text.to_owned()), Piece::Variable(variable.to_owned())]);
            rest = behind;
        }
        pieces.push(Piece::Text(rest.to_owned()));
        let texts = pieces.iter().filter_map(|it| if let Piece::Text(text) = it { Some(text) } else { None });
        for text in texts {
            HeaderValue::from_str(text).map_err(|_odd| of("has a value that cannot be sent"))?;
        }
        Ok(Self { name: known, value: pieces })
    }

    /// Whether it is the one that keys are usually in.
    pub fn is_authorization(&self) -> bool {
        self.name == AUTHORIZATION
    }

    /// Its value with what the environment knows now. Neither the trace nor the log may quote it.
    pub(crate) fn filled(&self) -> Result<HeaderValue, String> {
        let mut whole = String::new();
        for piece in &self.value {
            match piece {
                Piece::Text(text) => whole.push_str(text),
                Piece::Variable(name) => {
                    let found = std::env::var(name).map_err(|_unset| {
                        let header = &self.name;
                        format!("the environment variable {name} of its header {header} is not set")
                    })?;
                    whole.push_str(found.trim());
                }
            }
        }
        let value = HeaderValue::from_str(&whole);
        let mut value = value.map_err(|_secret| format!("its header {} cannot be sent", self.name))?;
        value.set_sensitive(true);
        Ok(value)
    }
}

#[cfg(test)]
mod tests;
