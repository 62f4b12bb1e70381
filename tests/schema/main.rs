//! What stands in `schema/` and the types of the client packages that are made of it are those of the code.
//! `cargo xtask schema` writes them.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails right there"
)]

use std::path::Path;

use serde_json::Value;

mod clean; // schemas without what only Rust means by it
mod python; // the types as Python has them
mod shape; // what schemas say, without the ways they have to say it
mod typescript; // the types as TypeScript has them

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

fn holds(file: &str, text: &str) {
    let path = Path::new(ROOT).join(file);
    if std::env::var_os("FANLIGHT_BLESS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        return;
    }
    let there = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(there == text, "{file} is not what the code says: run `cargo xtask schema` and read the diff");
}

fn schemas() -> Vec<(&'static str, Value)> {
    model::schema::schemas()
        .into_iter()
        .map(|(name, schema)| (name, clean::clean(schema.to_value())))
        .collect()
}

#[test]
fn golden_schemas_are_current() {
    for (name, schema) in schemas() {
        holds(
            &format!("schema/{name}.json"),
            &format!("{}\n", serde_json::to_string_pretty(&schema).unwrap()),
        );
    }
}

#[test]
fn golden_types_of_the_packages_are_current() {
    let types = shape::Types::of(&schemas());
    holds("integrations/python/src/fanlight/types.py", &python::write(&types));
    holds("integrations/typescript/src/types.ts", &typescript::write(&types));
}
