//! Every field of every event and frame, as the schemas have it, and what bounds it.
//!
//! ```text
//! schema/*.json ──▶ fields ─┐
//! schema/bounds.txt ──▶ rows ┴──▶ docs/limits.md (written by `cargo xtask bounds`, checked by tidy)
//! ```
//!
//! What a field holds says for most of them what bounds it: a number, a word of a closed list, an id. Texts, JSON and lists
//! have rows of their own.

mod bounds;
mod table;

pub(crate) use bounds::{BoundRow, FieldBounds};
pub(crate) use table::table;

use crate::console::say;
use crate::failure::{CommandFailure, CommandResult};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The schemas, and what the fields at the root of each belong to.
pub(crate) const SCHEMAS: [(&str, &str); 3] = [
    ("schema/event.json", "Event"),
    ("schema/client-frame.json", "ClientFrame"),
    ("schema/server-frame.json", "ServerFrame"),
];

/// The rows that are written by hand.
pub(crate) const ROWS: &str = "schema/bounds.txt";

/// What is made of both.
pub(crate) const DOCUMENT: &str = "docs/limits.md";

/// The form of a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FieldForm {
    /// A boolean: true or false.
    Flag,
    /// A number without a fraction.
    Number,
    /// A word of a closed list.
    Word,
    /// An id, which is shortened.
    Id,
    /// The name of a conversation, which is refused when it is too long.
    Name,
    /// A text of any kind.
    Text,
    /// A JSON value of any kind.
    Json,
    /// An array or a map of something.
    Many,
    /// An object whose fields have rows of their own.
    Fields(String),
}

impl FieldForm {
    /// The name of the form in the rows and in the table.
    pub(crate) fn word(&self) -> &str {
        match self {
            Self::Flag => "flag",
            Self::Number => "number",
            Self::Word => "word",
            Self::Id => "id",
            Self::Name => "name",
            Self::Text => "text",
            Self::Json => "json",
            Self::Many => "many",
            Self::Fields(_) => "fields",
        }
    }
}

/// Writes [`DOCUMENT`] below `root`.
pub(crate) fn write(root: &Path) -> CommandResult {
    let read = |path: &str| {
        fs::read_to_string(root.join(path)).map_err(CommandFailure::io(format!("reading {path}")))
    };
    let (bounds, _odd) = FieldBounds::parse(&read(ROWS)?);
    let mut schemas = Vec::new();
    for (path, name) in SCHEMAS {
        let schema = serde_json::from_str(&read(path)?);
        schemas.push((
            name,
            schema.map_err(|error| CommandFailure::new(format!("{path} is not JSON: {error}")))?,
        ));
    }
    let text = table(&fields(&schemas), &bounds);
    fs::write(root.join(DOCUMENT), text).map_err(CommandFailure::io(format!("writing {DOCUMENT}")))?;
    say(format!("{DOCUMENT} is written; `cargo xtask tidy` says what is missing in it"));
    Ok(())
}

/// The fields of all schemas, by name: `Event:part.delta.text`, `RunStart.model`.
pub(crate) fn fields(schemas: &[(&str, Value)]) -> BTreeMap<String, FieldForm> {
    let mut all = BTreeMap::new();
    for (root, schema) in schemas {
        let definitions = &schema["$defs"];
        let mut walk = SchemaWalk { definitions, all: &mut all };
        walk.object(root, schema);
        for (name, definition) in definitions.as_object().into_iter().flatten() {
            walk.object(name, definition);
        }
    }
    all
}

/// One schema, taken apart. It is used for the root of a schema and for each of its definitions.
struct SchemaWalk<'a> {
    /// The `$defs` that references name.
    definitions: &'a Value,
    /// The fields that were found, by name.
    all: &'a mut BTreeMap<String, FieldForm>,
}

impl SchemaWalk<'_> {
    /// The fields of an object, and of each of its variants.
    fn object(&mut self, name: &str, schema: &Value) {
        for (field, value) in schema["properties"].as_object().into_iter().flatten() {
            // What tells variants apart.
            if value.get("const").is_some() && matches!(field.as_str(), "k" | "t" | "command") {
                continue;
            }
            let form = self.form(value);
            let path = format!("{name}.{field}");
            if value["properties"].is_object() {
                self.object(&path, value);
            }
            self.all.entry(path).or_insert(form);
        }
        for variant in ["oneOf", "anyOf", "allOf"].iter().filter_map(|key| schema[key].as_array()).flatten() {
            let constant = |tag: &str| variant.pointer(&format!("/properties/{tag}/const"))?.as_str();
            let tag = constant("k").or(constant("t")).map(|tag| format!(":{tag}")).unwrap_or_default();
            self.object(&format!("{name}{tag}"), variant);
        }
    }

    /// What the field of this schema holds. Ids and names are told from other texts by their `maxLength`, 160
    /// and 128.
    fn form(&self, value: &Value) -> FieldForm {
        if let Some(reference) = value["$ref"].as_str() {
            let name = reference.rsplit('/').next().unwrap_or_default();
            let definition = &self.definitions[name];
            return if is_word(definition) { FieldForm::Word } else { FieldForm::Fields(name.to_owned()) };
        }
        if is_word(value) {
            return FieldForm::Word;
        }
        let choices = ["oneOf", "anyOf"].iter().filter_map(|key| value[key].as_array()).flatten();
        if let Some(one) = choices.into_iter().find(|choice| choice["type"] != "null") {
            return self.form(one);
        }
        let kinds = value["type"].as_array().into_iter().flatten().chain([&value["type"]]);
        let kind = kinds.filter_map(Value::as_str).find(|kind| *kind != "null");
        match (kind, value["maxLength"].as_u64()) {
            (Some("boolean"), _) => FieldForm::Flag,
            (Some("integer"), _) => FieldForm::Number,
            (Some("string"), Some(160)) => FieldForm::Id,
            (Some("string"), Some(128)) => FieldForm::Name,
            (Some("string"), _) => FieldForm::Text,
            (Some("array"), _) => FieldForm::Many,
            (Some("object"), _) if value["properties"].is_object() => {
                FieldForm::Fields(String::from("below"))
            }
            (Some("object"), _) => FieldForm::Many,
            _ => FieldForm::Json,
        }
    }
}

/// Whether it is one of a closed list.
fn is_word(value: &Value) -> bool {
    let is_closed = |value: &Value| value.get("const").is_some() || value.get("enum").is_some();
    let all =
        |key: &str| value[key].as_array().is_some_and(|all| !all.is_empty() && all.iter().all(is_closed));
    is_closed(value) || all("oneOf") || all("anyOf")
}

#[cfg(test)]
mod tests;
