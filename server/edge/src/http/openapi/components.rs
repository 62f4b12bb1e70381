//! The schemas of the document: those of the wire, which `schema/*.json` has, and those of answers that only HTTP has,
//! in `schemas.json` beside this file. Only those that are referred to go into the document.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

/// The prefix of references in the document.
const PLACE: &str = "#/components/schemas/";

/// The prefix of references in the files of `schema/`.
const DEFINED: &str = "#/$defs/";

/// The files with schemas of the wire. What both define is the same in both.
pub(super) const WIRE: [&str; 2] = [
    include_str!("../../../../../schema/server-frame.json"),
    include_str!("../../../../../schema/client-frame.json"),
];

/// Schemas that only HTTP has.
pub(super) const OWN: &str = include_str!("schemas.json");

/// The schema that a table names: a component, JSON, or anything.
pub(super) fn schema(named: &str) -> Value {
    match named {
        "" => json!({}),
        // A test parses each.
        json if json.starts_with('{') => serde_json::from_str(json).unwrap_or_default(),
        name => json!({"$ref": format!("{PLACE}{name}")}),
    }
}

/// The components to which `document` refers.
pub(super) fn components(document: &Value) -> Value {
    let known = all();
    let mut used = BTreeMap::new();
    let mut open = Vec::new();
    references(document, &mut open);
    while let Some(name) = open.pop() {
        if let Some(schema) = known.get(&name).filter(|_| !used.contains_key(&name)) {
            references(schema, &mut open);
            used.insert(name, schema.clone());
        }
    }
    json!({"schemas": used, "securitySchemes": {
        "token": {"type": "http", "scheme": "bearer", "description": "A token of `fanlight token create`, or of an issuer in the settings."},
        "session": {"type": "apiKey", "in": "cookie", "name": "__Host-fanlight", "description": "The cookie of a browser that logged in; without TLS it is named fanlight."},
        "proxied": {"type": "apiKey", "in": "header", "name": "Fanlight-Token", "description": "A token of the hub in calls through the proxy, where Authorization has the vendor's key."},
    }})
}

/// Every schema that a document may refer to, by name.
pub(super) fn all() -> Map<String, Value> {
    let mut all = Map::new();
    for text in WIRE {
        // The files are written by the build's own tools, and a test parses them.
        let file: Value = serde_json::from_str(text).unwrap_or_default();
        if let Some(Value::Object(defined)) = file.get("$defs") {
            all.extend(defined.clone());
        }
    }
    all.values_mut().for_each(moved);
    let own: Map<String, Value> = serde_json::from_str(OWN).unwrap_or_default();
    all.extend(own);
    all
}

/// Makes references of the files of `schema/` lead to components.
fn moved(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            for (name, value) in fields.iter_mut() {
                match value {
                    Value::String(to) if name == "$ref" => *to = to.replace(DEFINED, PLACE),
                    other => moved(other),
                }
            }
        }
        Value::Array(all) => all.iter_mut().for_each(moved),
        _ => {}
    }
}

/// Appends the names of all components to which `value` refers.
pub(super) fn references(value: &Value, names: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                match value {
                    Value::String(to) if name == "$ref" => {
                        names.extend(to.strip_prefix(PLACE).map(str::to_owned));
                    }
                    other => references(other, names),
                }
            }
        }
        Value::Array(all) => all.iter().for_each(|value| references(value, names)),
        _ => {}
    }
}
