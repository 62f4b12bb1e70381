//! JSON level by level: a level is taken apart when it is opened, and keeps the spelling and the order of what came.

use std::fmt;
use std::sync::Arc;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::format;

/// One level of a JSON text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Node {
    /// The fields, in order, each value as it was written.
    Object(Vec<(String, Arc<str>)>),
    /// The items, in order, as they were written.
    Array(Vec<Arc<str>>),
    /// A string: what it says.
    Text(String),
    /// A number or a word, as it was written.
    Word(String),
}

impl Node {
    /// How many fields or items there are; nothing for what has none.
    pub fn count(&self) -> Option<usize> {
        match self {
            Self::Object(fields) => Some(fields.len()),
            Self::Array(items) => Some(items.len()),
            Self::Text(_) | Self::Word(_) => None,
        }
    }
}

/// The level at the top of `json`; what does not parse is a word.
pub fn node(json: &str) -> Node {
    container(json).unwrap_or_else(|| match serde_json::from_str::<String>(json) {
        Ok(text) => Node::Text(text),
        Err(_) => Node::Word(json.trim().to_owned()),
    })
}

/// The level at the top of `text`, where that is a JSON object or array.
pub(super) fn container(text: &str) -> Option<Node> {
    let start = text.trim_start();
    if !start.starts_with(['{', '[']) {
        return None;
    }
    serde_json::from_str::<Level>(text).ok().map(|level| level.0)
}

/// What a closed object or array is: `{3 keys}`, `[100 items]`.
pub fn glance(node: &Node) -> String {
    match node {
        Node::Object(fields) => format!("{{{}}}", format::counted(fields.len(), "key")),
        Node::Array(items) => format!("[{}]", format::counted(items.len(), "item")),
        Node::Text(_) | Node::Word(_) => String::new(),
    }
}

/// Where the field `key` of what stands at `parent` is: `$.rows`, `$["a b"]`.
pub fn key_path(parent: &str, key: &str) -> String {
    let is_name = key.chars().next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if is_name {
        return format!("{parent}.{key}");
    }
    format!("{parent}[{}]", serde_json::to_string(key).unwrap_or_default())
}

/// Where the item `at` of what stands at `parent` is: `$.rows[3]`.
pub fn index_path(parent: &str, at: usize) -> String {
    format!("{parent}[{at}]")
}

/// A level, for serde: maps without order or values that are parsed would lose what was written.
struct Level(Node);

impl<'de> Deserialize<'de> for Level {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OneLevel).map(Self)
    }
}

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
