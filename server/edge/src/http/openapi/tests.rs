//! The document against the table of access, and against itself.

use std::collections::BTreeSet;

use super::*;

/// Every operation that is described, as method and path of the table of access.
fn said() -> Vec<(&'static str, String)> {
    let plain = [native::OPERATIONS, native::WHOLE, pages::OPERATIONS, doors::OPERATIONS];
    let plain = plain.into_iter().flatten().map(|it| (it.method, it.path.to_owned()));
    let platform = routes::PLATFORMS.iter().flat_map(|prefix| {
        platform::OPERATIONS.iter().map(move |it| (it.method, format!("{prefix}{}", it.path)))
    });
    plain.chain(platform).collect()
}

#[test]
fn each_line_of_access_is_described_once_and_nothing_else_is() {
    let lines: BTreeSet<_> = routes::all().map(|(method, path, ..)| (method, path)).collect();
    let said = said();
    let described: BTreeSet<_> = said.iter().cloned().collect();
    assert_eq!(said.len(), described.len(), "a route is described twice");
    let without: Vec<_> = lines.difference(&described).collect();
    let beyond: Vec<_> = described.difference(&lines).collect();
    assert!(without.is_empty() && beyond.is_empty(), "not described: {without:?}; no route: {beyond:?}");
}

#[test]
fn the_document_has_each_line_of_access_and_no_other() {
    let document = document(Security::Required);
    let mut found = BTreeSet::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        found.extend(item.as_object().unwrap().keys().map(|method| (method.clone(), path.clone())));
    }
    let lines = routes::all().flat_map(|(method, path, ..)| {
        methods(method).into_iter().map(move |method| (method, templated(&path)))
    });
    assert_eq!(found, lines.collect());
}

#[test]
fn each_operation_has_a_name_of_its_own_words_an_answer_and_parameters_that_are_described() {
    let document = document(Security::Required);
    let mut ids = BTreeSet::new();
    let tags: Vec<_> = operation::TAGS.iter().map(|(name, _)| *name).collect();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, told) in item.as_object().unwrap() {
            let what = format!("{method} {path}");
            assert!(
                ids.insert(told["operationId"].as_str().unwrap().to_owned()),
                "{what}: its name is not its own"
            );
            assert!(tags.contains(&told["tags"][0].as_str().unwrap()), "{what}");
            assert!(!told["summary"].as_str().unwrap().is_empty(), "{what}");
            let ends = |status: &String| status.starts_with(['1', '2', '3']) || status == "default";
            assert!(told["responses"].as_object().unwrap().keys().any(ends), "{what}: no answer");
            let in_path = |it: &&Value| it["in"] == "path";
            let given = told["parameters"].as_array().cloned().unwrap_or_default();
            let named: Vec<_> = given.iter().filter(in_path).map(|it| it["name"].as_str().unwrap()).collect();
            let wanted: Vec<_> =
                path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}')).collect();
            assert_eq!(named, wanted, "{what}");
            assert!(given.iter().all(|it| !it["description"].as_str().unwrap().is_empty()), "{what}");
        }
    }
}

#[test]
fn schemas_are_json_and_lead_to_schemas_that_are_there() {
    let all = components::all();
    for schema in all.values().chain([&document(Security::Off)]) {
        let mut names = Vec::new();
        components::references(schema, &mut names);
        for name in names {
            assert!(all.contains_key(&name), "no schema is named {name}");
        }
    }
    let tables =
        [native::OPERATIONS, native::WHOLE, pages::OPERATIONS, doors::OPERATIONS, platform::OPERATIONS];
    for operation in tables.into_iter().flatten() {
        let answers = operation.answers.iter().flat_map(|answer| answer.contents);
        for content in answers.chain(operation.body).filter(|content| content.schema.starts_with('{')) {
            assert_ne!(schema(content.schema), Value::Null, "{}: {}", operation.path, content.schema);
        }
    }
}

#[test]
fn files_of_the_wire_that_define_the_same_schema_define_it_alike() {
    let file =
        |text: &str| serde_json::from_str::<Value>(text).unwrap()["$defs"].as_object().unwrap().clone();
    let [server, client] = components::WIRE.map(file);
    for (name, schema) in &client {
        assert!(server.get(name).is_none_or(|known| known == schema), "{name} differs");
    }
    let own: Map<String, Value> = serde_json::from_str(components::OWN).unwrap();
    assert!(own.keys().all(|name| !server.contains_key(name) && !client.contains_key(name)));
}

#[test]
fn with_access_control_whoever_is_unknown_is_let_in_where_the_table_says_so() {
    let document = document(Security::Required);
    for (method, path, need, _) in routes::all() {
        for method in methods(method) {
            let told = &document["paths"][templated(&path)][&method];
            assert_eq!(told["security"] == json!([]), need.is_open(), "{method} {path}");
            assert_eq!(
                told["responses"].get("401").is_none() && need.is_open(),
                told["responses"].get("401").is_none()
            );
        }
    }
    assert_eq!(super::document(Security::Off).get("security"), None);
}
