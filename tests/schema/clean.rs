//! Schemas as they are published: descriptions without links of Rust's documentation, what may be absent never `null`, and
//! what publishers may leave out not asked for.

use serde_json::{Map, Value};

/// Makes `schema` ready to be published.
pub(crate) fn clean(mut schema: Value) -> Value {
    walk(&mut schema);
    schema
}

fn walk(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(walk),
        Value::Object(object) => {
            if object.get("title") == Some(&"Event".into()) || is_envelope(object) {
                // The hub fills it in.
                drop_required(object, "at");
            }
            drop_null_where_absent(object);
            if let Some(Value::String(text)) = object.get_mut("description") {
                *text = prose(text);
                if text.is_empty() {
                    object.remove("description");
                }
            }
            object.values_mut().for_each(walk);
        }
        _ => {}
    }
}

fn is_envelope(object: &Map<String, Value>) -> bool {
    let has = |name: &str| object.get("properties").and_then(|all| all.get(name)).is_some();
    has("seq") && has("producer_at")
}

fn drop_required(object: &mut Map<String, Value>, name: &str) {
    if let Some(Value::Array(required)) = object.get_mut("required") {
        required.retain(|known| known != name);
        if required.is_empty() {
            object.remove("required");
        }
    }
}

/// What may be absent is left out instead of being `null`.
fn drop_null_where_absent(object: &mut Map<String, Value>) {
    let required = object.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    let Some(Value::Object(properties)) = object.get_mut("properties") else { return };
    for (name, property) in properties {
        let Value::Object(property) = property else { continue };
        if required.iter().any(|known| known == name) {
            continue;
        }
        if let Some(Value::Array(types)) = property.get_mut("type") {
            types.retain(|known| known != "null");
            if let [only] = types.as_slice() {
                property["type"] = only.clone();
            }
        }
        if let Some(Value::Array(any)) = property.get_mut("anyOf") {
            any.retain(|one| one["type"] != "null");
            if let [Value::Object(only)] = any.clone().as_slice() {
                property.remove("anyOf");
                property.extend(only.clone());
            }
        }
    }
}

/// `text` without brackets around names, and nothing where it only points elsewhere.
fn prose(text: &str) -> String {
    let text = text.replace("[`", "`").replace("`]", "`");
    let first = text.lines().next().unwrap_or_default();
    let points = first.starts_with("See `") && first.find('.').is_some_and(|end| end + 1 >= first.len());
    if points && !text.contains("\n\n") && text.lines().count() == 1 { String::new() } else { text }
}
