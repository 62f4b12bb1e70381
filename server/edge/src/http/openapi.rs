//! `GET /openapi.json`: an OpenAPI 3.1 document of the whole HTTP interface.
//!
//! ```text
//! access::routes::all() ── one line: method, path, need ──┐
//! openapi::native, pages, doors, platform ── what is said ├──▶ paths ──┐
//! schema/*.json, openapi/schemas.json ── bodies ─────────────────────────┴──▶ the document
//! ```
//!
//! The table of access decides which operations there are; the tables below this module say what each takes and
//! answers. A line without a description, or a description without a line, fails a test. The failures of an operation
//! are codes of the one table, and each becomes the status that goes with it.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use access::{Need, Shows, routes};
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use model::code::ErrorCode;
use serde_json::{Map, Value, json};

use crate::access::Gate;

mod components;
mod doors;
mod native;
mod operation;
mod pages;
mod parameters;
mod platform;

use components::{components, schema};
use operation::{Answer, Content, FailureForm, Operation, Parameter};

/// The methods that a line with `*` stands for: all those of OpenAPI 3.1 but `TRACE`, which no client of the hub can send.
const METHODS: [&str; 7] = ["get", "put", "post", "delete", "options", "head", "patch"];

/// Who may call, as the document says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Security {
    /// With access control every operation that is not open needs a credential.
    Required,
    /// Access control is off: nobody needs a token.
    Off,
}

/// Answers with the document, which is made when it is first asked for and kept.
pub(crate) async fn openapi(State(gate): State<Arc<Gate>>) -> Response {
    static WITH: OnceLock<Bytes> = OnceLock::new();
    static WITHOUT: OnceLock<Bytes> = OnceLock::new();
    let (kept, security) = if gate.is_on() { (&WITH, Security::Required) } else { (&WITHOUT, Security::Off) };
    let document = kept.get_or_init(|| Bytes::from(document(security).to_string())).clone();
    let headers = [(header::CONTENT_TYPE, "application/json"), (header::CACHE_CONTROL, "no-cache")];
    (headers, Body::from(document)).into_response()
}

/// The whole document, as callers are told it.
fn document(security: Security) -> Value {
    let mut paths = BTreeMap::<String, Map<String, Value>>::new();
    for (method, path, need, shows) in routes::all() {
        let Some(said) = operation(method, &path) else { continue };
        let item = paths.entry(templated(&path)).or_default();
        for method in methods(method) {
            item.insert(method.clone(), described(&said, (&method, &path), (need, shows), security));
        }
    }
    let mut document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Fanlight",
            "summary": "Takes event streams of AI agents, stores them and fans them out to viewers.",
            "description": "The HTTP interface of a hub. docs/protocol.md describes it in words, and the frames of the WebSocket.",
            "version": env!("CARGO_PKG_VERSION"),
            "license": {"name": "see LICENSE"},
        },
        "servers": [{"url": "/"}],
        "tags": operation::TAGS.map(|(name, about)| json!({"name": name, "description": about})),
        "paths": paths,
    });
    let all = components(&document);
    if let Some(fields) = document.as_object_mut() {
        fields.insert("components".into(), all);
        if security == Security::Required {
            fields.insert("security".into(), json!([{"token": []}, {"session": []}]));
        }
    }
    document
}

/// What is said of a line of the table of access.
fn operation(method: &str, path: &str) -> Option<Operation> {
    let plain = [native::OPERATIONS, native::WHOLE, pages::OPERATIONS, doors::OPERATIONS];
    let found = plain.into_iter().flatten().find(|it| it.method == method && it.path == path);
    let below = || routes::PLATFORMS.iter().filter_map(|prefix| path.strip_prefix(prefix));
    let of_platform = || {
        let known = |rest| platform::OPERATIONS.iter().find(|it| it.method == method && it.path == rest);
        below().find_map(known)
    };
    found.or_else(of_platform).copied()
}

/// The methods of a line, in lower case.
fn methods(method: &str) -> Vec<String> {
    match method {
        "*" => METHODS.map(str::to_owned).to_vec(),
        one => vec![one.to_ascii_lowercase()],
    }
}

/// A path of the router as OpenAPI writes it, where a parameter for all that follows looks like any other.
fn templated(path: &str) -> String {
    path.replace("{*", "{")
}

/// A name for the operation that no other one has.
fn id_of(method: &str, path: &str) -> String {
    let words = path.split(|sign: char| !sign.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    std::iter::once(method).chain(words).collect::<Vec<_>>().join("_")
}

/// Describes one operation of the document.
fn described(
    said: &Operation,
    (method, path): (&str, &str),
    (need, shows): (Need, Shows),
    security: Security,
) -> Value {
    let mut told = json!({
        "operationId": id_of(method, path),
        "tags": [said.tag],
        "summary": said.summary,
        "description": about(said, need, shows),
        "responses": responses(said, path, need),
    });
    let Some(fields) = told.as_object_mut() else { return told };
    let in_path = parameters::in_path(path);
    let given = said.query.iter().map(|it| parameter("query", it));
    let given = given.chain(said.headers.iter().map(|it| parameter("header", it)));
    let all: Vec<Value> = in_path.iter().map(|it| parameter("path", it)).chain(given).collect();
    if !all.is_empty() {
        fields.insert("parameters".into(), all.into());
    }
    if !said.body.is_empty() && !matches!(method, "get" | "head" | "delete" | "options") {
        let is_needed = said.body.iter().all(|content| content.is_needed);
        fields.insert("requestBody".into(), json!({"required": is_needed, "content": contents(said.body)}));
    }
    if security == Security::Required {
        if need.is_open() {
            fields.insert("security".into(), json!([]));
        } else if path.starts_with("/proxy/") {
            fields.insert("security".into(), json!([{"proxied": []}]));
        }
    }
    told
}

/// The description of an operation: its own words, then what access control asks of its caller.
fn about(said: &Operation, need: Need, shows: Shows) -> String {
    let words = |rights: &[access::Right]| {
        rights.iter().map(|right| format!("`{right}`")).collect::<Vec<_>>().join(" and ")
    };
    let needs = match need {
        Need::Nothing => "Open to everybody.".to_owned(),
        Need::Greeting => "The credential comes in the first frame, or with the request.".to_owned(),
        Need::Known => "Needs a known caller, and no right.".to_owned(),
        Need::OnNamed(rights) => format!("Needs {} on the conversation.", words(rights)),
        Need::OnSome(right) => format!("Needs `{right}` on some conversation, and is about those alone."),
        Need::OnAll(rights) => format!("Needs {} on every conversation.", words(rights)),
    };
    let closed = if shows == Shows::Everything { " Closed to roles." } else { "" };
    let own = if said.about.is_empty() { String::new() } else { format!("{} ", said.about) };
    format!("{own}{needs}{closed}")
}

/// A parameter of an operation as JSON.
fn parameter(place: &str, said: &Parameter) -> Value {
    let mut told = json!({
        "name": said.name, "in": place, "description": said.about,
        "required": said.is_needed || place == "path", "schema": said.shape.schema(),
    });
    if let (operation::Shape::Texts, Some(fields)) = (said.shape, told.as_object_mut()) {
        fields.insert("explode".into(), true.into());
    }
    told
}

/// Bodies by their type.
fn contents(all: &[Content]) -> Value {
    let told = all.iter().map(|content| (content.kind.to_owned(), json!({"schema": schema(content.schema)})));
    Value::Object(told.collect())
}

/// All answers: those of the handler, then the failures by status.
fn responses(said: &Operation, path: &str, need: Need) -> Value {
    let mut all = Map::new();
    for Answer { status, about, contents: bodies } in said.answers {
        let mut told = json!({"description": about});
        if let (false, Some(fields)) = (bodies.is_empty(), told.as_object_mut()) {
            fields.insert("content".into(), contents(bodies));
        }
        all.insert(status.to_string(), told);
    }
    if said.form == FailureForm::Foreign {
        let about = "Whatever the upstream answers, as it is.";
        all.insert("default".into(), json!({"description": about, "content": {"*/*": {}}}));
    }
    for (status, codes) in failures(said, path, need) {
        let codes: Vec<_> = codes.into_iter().map(|code| format!("`{code}`")).collect();
        let mut told = json!({"description": codes.join(", "), "content": said.form.contents()});
        if let (429 | 503, Some(fields)) = (status, told.as_object_mut()) {
            let after = json!({"description": "After how many seconds to try again, where that is known.",
                "schema": {"type": "integer", "minimum": 0}});
            fields.insert("headers".into(), json!({"Retry-After": after}));
        }
        // A status that is an answer of the handler too keeps its own words.
        let status = status.to_string();
        match all.get_mut(&status).and_then(|known| known.get_mut("content")?.as_object_mut()) {
            Some(known) => {
                known.insert("application/problem+json".into(), json!({"schema": schema("Problem")}));
            }
            None => drop(all.insert(status, told)),
        }
    }
    Value::Object(all)
}

/// The codes with which an operation fails, by status: its own, and those of the checks that each request passes before.
fn failures(said: &Operation, path: &str, need: Need) -> BTreeMap<u16, Vec<&'static str>> {
    let mut all = vec![ErrorCode::BadRequest, ErrorCode::ForbiddenOrigin, ErrorCode::Internal];
    if !need.is_open() {
        all.extend([
            ErrorCode::Unauthenticated,
            ErrorCode::Forbidden,
            ErrorCode::TooMany,
            ErrorCode::LogUnavailable,
        ]);
    }
    if path.contains("{conversation}") && path.starts_with("/v1/") {
        all.extend([ErrorCode::BadConversation, ErrorCode::Elsewhere, ErrorCode::LogFailed]);
    }
    all.extend(said.fails);
    let mut by_status = BTreeMap::<u16, Vec<&'static str>>::new();
    for code in all {
        let codes = by_status.entry(code.status()).or_default();
        if !codes.contains(&code.as_str()) {
            codes.push(code.as_str());
        }
    }
    if said.form == FailureForm::Platform {
        by_status.entry(422).or_default().push("unprocessable");
    }
    by_status
}

#[cfg(test)]
mod tests;
