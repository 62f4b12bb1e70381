//! JSON, level by level: a level is parsed when it is unfolded. Spelling and order stay as written.

use std::fmt;
use std::sync::Arc;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::format;

/// A level of a JSON text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Node {
    /// The fields, in order, each value as written.
    Object(Vec<(String, Arc<str>)>),
    /// The items, in order, as written.
    Array(Vec<Arc<str>>),
    /// A decoded string.
    Text(String),
    /// A number, a literal, or invalid JSON, as written.
    Word(String),
}

impl Node {
    /// The number of fields or items; `None` for other values.
    pub fn count(&self) -> Option<usize> {
        match self {
            Self::Object(fields) => Some(fields.len()),
            Self::Array(items) => Some(items.len()),
            Self::Text(_) | Self::Word(_) => None,
        }
    }
}

/// The first level of `json`. Text that does not parse becomes a [`Node::Word`].
pub fn node(json: &str) -> Node {
    container(json).unwrap_or_else(|| match serde_json::from_str::<String>(json) {
        Ok(text) => Node::Text(text),
        Err(_) => Node::Word(json.trim().to_owned()),
    })
}

/// The first level of `text`, if it is a JSON object or array.
pub(super) fn container(text: &str) -> Option<Node> {
    let start = text.trim_start();
    if !start.starts_with(['{', '[']) {
        return None;
    }
    serde_json::from_str::<Level>(text).ok().map(|level| level.0)
}

/// A folded object or array in short: `{3 keys}`, `[100 items]`; empty for other values.
pub fn glance(node: &Node) -> String {
    match node {
        Node::Object(fields) => format!("{{{}}}", format::counted(fields.len(), "key")),
        Node::Array(items) => format!("[{}]", format::counted(items.len(), "item")),
        Node::Text(_) | Node::Word(_) => String::new(),
    }
}

/// The path of the field `key` of the value at `parent`: `$.rows`, `$["a b"]`.
pub fn key_path(parent: &str, key: &str) -> String {
    let is_name = key.chars().next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if is_name {
        return format!("{parent}.{key}");
    }
    format!("{parent}[{}]", serde_json::to_string(key).unwrap_or_default())
}

/// The path of the item `at` of the value at `parent`: `$.rows[3]`.
pub fn index_path(parent: &str, at: usize) -> String {
    format!("{parent}[{at}]")
}

/// Deserializes one level. A generic value would lose the order and the spelling.
struct Level(Node);

impl<'de> Deserialize<'de> for Level {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OneLevel).map(Self)
    }
}

/// The visitor of [`Level`].
struct OneLevel;

impl<'de> Visitor<'de> for OneLevel {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object or array")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Node, A::Error> {
        let mut fields = Vec::new();
        while let Some((key, value)) = map.next_entry::<String, &RawValue>()? {
            fields.push((key, value.get().into()));
        }
        Ok(Node::Object(fields))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Node, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element::<&RawValue>()? {
            items.push(item.get().into());
        }
        Ok(Node::Array(items))
    }
}
