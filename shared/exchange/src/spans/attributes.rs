//! The attributes of a span: names and values, and the three ways in which instrumentations write trees into
//! them (JSON, JSON in a text, names with dots).
//!
//! ```text
//! gen_ai.input.messages = [{"role": "user"}]              JSON
//! gen_ai.input.messages = "[{\"role\": \"user\"}]"        JSON in a text
//! gen_ai.prompt.0.role  = "user"                          names with dots
//! ```

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// The most levels of a tree that is written as names with dots; deeper names are not split.
const SEGMENTS_MAX: usize = 16;

/// Attributes by name. Sorted, so that all names with one beginning are beside each other.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Attributes(BTreeMap<String, Value>);

impl FromIterator<(String, Value)> for Attributes {
    fn from_iter<T: IntoIterator<Item = (String, Value)>>(pairs: T) -> Self {
        Self(pairs.into_iter().collect())
    }
}

impl Attributes {
    /// The number of attributes.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are no attributes.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All attributes, sorted by name.
    #[cfg(test)]
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&String, &Value)> {
        self.0.iter()
    }

    /// Approximately how many bytes of memory the attributes take.
    pub fn weight(&self) -> usize {
        self.0.iter().map(|(name, value)| name.len().saturating_add(weight(value))).sum()
    }

    /// The value of `name`; nothing for null.
    pub(crate) fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name).filter(|value| !value.is_null())
    }

    /// The value of `name` if it is a text that is not empty.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.get(name)?.as_str().filter(|text| !text.is_empty())
    }

    /// The first text among the values of `names` that is not empty.
    pub(crate) fn first_text(&self, names: &[&str]) -> Option<&str> {
        names.iter().find_map(|name| self.text(name))
    }

    /// The first count among the values of `names`, written as a number or as a text.
    pub(crate) fn first_count(&self, names: &[&str]) -> Option<u64> {
        names.iter().find_map(|name| count(self.get(name)?))
    }

    /// The first value among those of `names`, as a tree: a text that contains JSON is parsed.
    pub(crate) fn first_tree(&self, names: &[&str]) -> Option<Value> {
        names.iter().find_map(|name| Some(tree_of(self.get(name)?)))
    }

    /// The tree that is written as `prefix.0.name`, `prefix.1.name`, or as the value of `prefix`.
    pub(crate) fn tree(&self, prefix: &str) -> Option<Value> {
        if let Some(value) = self.get(prefix) {
            return Some(tree_of(value));
        }
        let start = format!("{prefix}.");
        let mut root = AttributeNode::default();
        for (name, value) in self.0.range(start.clone()..) {
            let Some(path) = name.strip_prefix(&start) else { break };
            root.put(path, value, SEGMENTS_MAX);
        }
        (!root.children.is_empty()).then(|| root.into_value())
    }

    /// Whether any name starts with `prefix`.
    pub(crate) fn has_prefix(&self, prefix: &str) -> bool {
        self.0.range(prefix.to_owned()..).next().is_some_and(|(name, _)| name.starts_with(prefix))
    }

    /// Adds the attributes of `other` whose names are missing here.
    pub(crate) fn join(&mut self, other: &Self) {
        for (name, value) in &other.0 {
            self.0.entry(name.clone()).or_insert_with(|| value.clone());
        }
    }
}

/// Approximately how many bytes of memory a value takes.
fn weight(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len().saturating_add(24),
        Value::Array(items) => items.iter().map(weight).sum::<usize>().saturating_add(24),
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| name.len().saturating_add(weight(value))).sum::<usize>()
        }
        _ => 24,
    }
}

/// A count from a number, or from a text that is a number. Negative numbers give nothing.
pub(crate) fn count(value: &Value) -> Option<u64> {
    match value {
        Value::Number(number) => number.as_u64().or_else(|| {
            let number = number.as_f64().filter(|number| number.is_finite() && *number >= 0.0)?;
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates")]
            Some(number as u64)
        }),
        Value::String(text) => text.parse().ok(),
        _ => None,
    }
}

/// The JSON object or list that `value` contains as text; else `value` itself.
pub(crate) fn tree_of(value: &Value) -> Value {
    if let Value::String(text) = value
        && text.trim_start().starts_with(['[', '{'])
        && let Ok(tree) = serde_json::from_str(text)
    {
        return tree;
    }
    value.clone()
}

/// A node of the tree that names with dots are collected into.
#[derive(Debug, Default)]
struct AttributeNode {
    /// What stands at this name itself.
    value: Option<Value>,
    /// What stands below it.
    children: BTreeMap<String, Self>,
}

impl AttributeNode {
    /// Puts a value at `path`, which is split at dots into at most `segments` levels.
    fn put(&mut self, path: &str, value: &Value, segments: usize) {
        match path.split_once('.').filter(|_| segments > 0) {
            Some((first, rest)) => {
                let child = self.children.entry(first.to_owned()).or_default();
                child.put(rest, value, segments.saturating_sub(1));
            }
            None => self.children.entry(path.to_owned()).or_default().value = Some(value.clone()),
        }
    }

    /// The node as JSON: a list if all names of its children are numbers, else an object.
    fn into_value(self) -> Value {
        if self.children.is_empty() {
            return self.value.unwrap_or_default();
        }
        let numbers: Option<BTreeMap<u64, &str>> =
            self.children.keys().map(|name| Some((name.parse().ok()?, name.as_str()))).collect();
        let order: Option<Vec<String>> =
            numbers.map(|numbers| numbers.into_values().map(str::to_owned).collect());
        let mut children = self.children;
        if let Some(order) = order {
            let items = order.iter().filter_map(|name| children.remove(name)).map(Self::into_value);
            return Value::Array(items.collect());
        }
        Value::Object(
            children.into_iter().map(|(name, node)| (name, node.into_value())).collect::<Map<_, _>>(),
        )
    }
}
