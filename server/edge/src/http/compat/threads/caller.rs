//! Who calls: what tells one caller of a door from others who say the same.

use std::fmt;

use axum::http::HeaderMap;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::proxy::keys;

/// Headers beside those with keys that differ from caller to caller: its program, its page, and the person behind a program
/// that many use.
const HEADERS: [&str; 5] =
    ["user-agent", "origin", "x-llm-key", "x-openwebui-user-id", "x-openwebui-chat-id"];

/// Fields of a request in which the clients of OpenAI's API name the person behind them.
const FIELDS: [&str; 2] = ["user", "safety_identifier"];

/// A caller who names no conversation. What it sends is not kept: of those who begin a run a salted hash is, by which a hub
/// that comes back tells them apart.
#[derive(Clone)]
pub(in crate::http::compat) struct Caller {
    /// The door that it calls at.
    pub(super) door: &'static str,
    marks: Vec<u8>,
}

impl Caller {
    /// The caller at `door` of a request with these headers and fields.
    pub(in crate::http::compat) fn of(door: &'static str, headers: &HeaderMap, fields: &Value) -> Self {
        let mut marks = door.as_bytes().to_vec();
        let mut put = |name: &str, value: &[u8]| {
            marks.push(0xff);
            marks.extend_from_slice(name.as_bytes());
            marks.push(b':');
            marks.extend_from_slice(value);
        };
        put("keys", &keys(headers));
        for name in HEADERS {
            headers.get_all(name).iter().for_each(|value| put(name, value.as_bytes()));
        }
        for name in FIELDS {
            if let Some(value) = fields.get(name).and_then(Value::as_str) {
                put(name, value.as_bytes());
            }
        }
        Self { door, marks }
    }

    /// What tells it from others without telling what it sent.
    pub(super) fn sealed(&self, salt: u64) -> u64 {
        let mut hasher = Sha256::new();
        hasher.update(salt.to_be_bytes());
        hasher.update(&self.marks);
        let sealed = hasher.finalize();
        sealed.iter().take(8).fold(0, |all, byte| (all << 8) | u64::from(*byte))
    }
}

impl fmt::Debug for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Caller({})", self.door)
    }
}
