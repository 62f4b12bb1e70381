//! What schemas say, without the ways that JSON Schema has to say it.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// A type as it is used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Type {
    Text,
    Integer,
    Truth,
    Any,
    /// One of these words.
    Words(Vec<String>),
    List(Box<Self>),
    Tuple(Vec<Self>),
    /// From text to this.
    Map(Box<Self>),
    Or(Vec<Self>),
    Null,
    Named(String),
}

/// A member of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) doc: String,
    pub(crate) required: bool,
    pub(crate) holds: Type,
}

/// A type with a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Definition {
    Object(Vec<Field>),
    Alias(Type),
}

/// All named types, in an order in which each stands behind those that it uses, and what is said of each.
#[derive(Debug, Default)]
pub(crate) struct Types {
    pub(crate) all: Vec<(String, String, Definition)>,
    raw: BTreeMap<String, Value>,
}

impl Types {
    /// The types of some schemas.
    pub(crate) fn of(schemas: &[(&str, Value)]) -> Self {
        let mut types = Self::default();
        for (_, schema) in schemas {
            let mut root = schema.clone();
            let title = root["title"].as_str().unwrap().to_owned();
            if let Some(Value::Object(defs)) = root.as_object_mut().unwrap().remove("$defs") {
                types.raw.extend(defs);
            }
            types.raw.insert(title, root);
        }
        let names: Vec<String> = types.raw.keys().cloned().collect();
        for name in names {
            types.define(&name);
        }
        // Those that only lend their members to the variants of a union are used by nobody.
        let lent = |name: &str| types.all.iter().all(|(_, _, definition)| !uses(definition, name));
        let roots = ["Event", "ClientFrame", "ServerFrame", "View"];
        let idle: Vec<String> = types
            .all
            .iter()
            .map(|(name, ..)| name.clone())
            .filter(|name| lent(name) && !roots.contains(&name.as_str()))
            .collect();
        types.all.retain(|(name, ..)| !idle.contains(name));
        types
    }

    fn define(&mut self, name: &str) {
        if self.all.iter().any(|(known, ..)| known == name) {
            return;
        }
        let schema = self.raw[name].clone();
        let definition = self.definition(name, &schema);
        // A type that uses itself is there by now.
        if !self.all.iter().any(|(known, ..)| known == name) {
            self.all.push((name.to_owned(), doc(&schema), definition));
        }
    }

    fn definition(&mut self, name: &str, schema: &Value) -> Definition {
        let object = schema.as_object().unwrap();
        let variants = object.get("oneOf").or_else(|| object.get("anyOf"));
        if let Some(variants) = variants.and_then(Value::as_array) {
            if let Some(tag) = variants.first().and_then(tag) {
                return self.tagged(object, variants, &tag);
            }
            if variants.iter().all(|variant| variant.get("properties").is_some()) {
                return self.wrapped(name, variants);
            }
        }
        if object.contains_key("properties") {
            return Definition::Object(self.fields(name, object));
        }
        Definition::Alias(self.holds(name, schema))
    }

    /// Objects that one word tells apart: each gets a name of its own, after that word.
    fn tagged(&mut self, around: &Map<String, Value>, variants: &[Value], tag: &str) -> Definition {
        let suffix = if tag == "k" { "Event" } else { "Frame" };
        let names = variants.iter().map(|variant| {
            let word = variant["properties"][tag]["const"].as_str().unwrap();
            let name = format!("{}{suffix}", pascal(word));
            let mut fields = self.fields(&name, variant.as_object().unwrap());
            if let Some(lent) = variant.get("$ref").and_then(Value::as_str) {
                let lender = self.raw[local(lent)].clone();
                fields.extend(self.fields(&name, lender.as_object().unwrap()));
            }
            fields.extend(self.fields(&name, around));
            // What tells it apart comes first.
            fields.sort_by_key(|field| field.name != tag);
            self.all.push((name.clone(), doc(variant), Definition::Object(fields)));
            Type::Named(name)
        });
        Definition::Alias(Type::Or(names.collect()))
    }

    /// Objects that are told apart by their only member.
    fn wrapped(&mut self, name: &str, variants: &[Value]) -> Definition {
        let names = variants.iter().map(|variant| {
            let member = variant["required"][0].as_str().unwrap();
            let own = format!("{name}{}", pascal(member));
            let fields = self.fields(&own, variant.as_object().unwrap());
            self.all.push((own.clone(), doc(variant), Definition::Object(fields)));
            Type::Named(own)
        });
        Definition::Alias(Type::Or(names.collect()))
    }

    fn fields(&mut self, owner: &str, object: &Map<String, Value>) -> Vec<Field> {
        let required = object.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
        let properties = object.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
        let fields = properties.into_iter().map(|(name, schema)| Field {
            doc: doc(&schema),
            required: required.iter().any(|known| *known == name),
            holds: self.holds(&format!("{owner}{}", pascal(&name)), &schema),
            name,
        });
        fields.collect()
    }

    /// What `schema` allows; `name` is for an object that has none.
    fn holds(&mut self, name: &str, schema: &Value) -> Type {
        let Some(object) = schema.as_object() else { return Type::Any };
        if let Some(named) = object.get("$ref").and_then(Value::as_str) {
            let named = local(named).to_owned();
            self.define(&named);
            return Type::Named(named);
        }
        if let Some(word) = object.get("const").and_then(Value::as_str) {
            return Type::Words(vec![word.to_owned()]);
        }
        if let Some(words) = object.get("enum").and_then(Value::as_array) {
            return Type::Words(words.iter().map(|word| word.as_str().unwrap().to_owned()).collect());
        }
        for any in ["anyOf", "oneOf"] {
            if let Some(choices) = object.get(any).and_then(Value::as_array) {
                return or(choices.iter().map(|choice| self.holds(name, choice)).collect());
            }
        }
        match object.get("type") {
            Some(Value::Array(types)) => {
                let each = types.iter().map(|one| {
                    let mut alone = object.clone();
                    alone.insert("type".into(), one.clone());
                    self.holds(name, &alone.into())
                });
                or(each.collect())
            }
            Some(Value::String(one)) => self.simple(name, one, object),
            _ => Type::Any,
        }
    }

    fn simple(&mut self, name: &str, one: &str, object: &Map<String, Value>) -> Type {
        match one {
            "string" => Type::Text,
            "integer" | "number" => Type::Integer,
            "boolean" => Type::Truth,
            "null" => Type::Null,
            "array" => match object.get("prefixItems").and_then(Value::as_array) {
                Some(items) => Type::Tuple(items.iter().map(|item| self.holds(name, item)).collect()),
                None => {
                    Type::List(Box::new(object.get("items").map_or(Type::Any, |item| self.holds(name, item))))
                }
            },
            "object" if object.contains_key("properties") => {
                let fields = self.fields(name, object);
                self.all.push((name.to_owned(), String::new(), Definition::Object(fields)));
                Type::Named(name.to_owned())
            }
            "object" => {
                let patterns = object.get("patternProperties").and_then(Value::as_object);
                let value = patterns.and_then(|all| all.values().next());
                let value =
                    value.or_else(|| object.get("additionalProperties").filter(|one| one.is_object()));
                Type::Map(Box::new(value.map_or(Type::Any, |value| self.holds(name, value))))
            }
            other => panic!("{name}: no type is called {other}"),
        }
    }
}

/// The member that tells `variant` from the others: the one with a fixed word.
fn tag(variant: &Value) -> Option<String> {
    let properties = variant.get("properties")?.as_object()?;
    properties.iter().find(|(_, schema)| schema.get("const").is_some()).map(|(name, _)| name.clone())
}

fn or(choices: Vec<Type>) -> Type {
    let mut flat: Vec<Type> = Vec::new();
    for choice in choices {
        match (choice, flat.first_mut()) {
            (Type::Words(more), Some(Type::Words(words))) => words.extend(more),
            (other, _) => flat.push(other),
        }
    }
    if flat.len() == 1 { flat.remove(0) } else { Type::Or(flat) }
}

fn uses(definition: &Definition, name: &str) -> bool {
    match definition {
        Definition::Object(fields) => fields.iter().any(|field| names(&field.holds, name)),
        Definition::Alias(alias) => names(alias, name),
    }
}

fn names(holds: &Type, name: &str) -> bool {
    match holds {
        Type::Named(known) => known == name,
        Type::List(inner) | Type::Map(inner) => names(inner, name),
        Type::Or(many) | Type::Tuple(many) => many.iter().any(|one| names(one, name)),
        _ => false,
    }
}

fn doc(schema: &Value) -> String {
    schema.get("description").and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn local(reference: &str) -> &str {
    reference.strip_prefix("#/$defs/").unwrap()
}

/// `tool.state` as `ToolState`.
pub(crate) fn pascal(word: &str) -> String {
    let words = word.split(['.', '_', '-']);
    let capital = |word: &str| {
        let mut letters = word.chars();
        letters
            .next()
            .map(|first| first.to_ascii_uppercase().to_string() + letters.as_str())
            .unwrap_or_default()
    };
    words.map(capital).collect()
}
