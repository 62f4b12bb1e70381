//! The OpenAPI document: that it is of this hub, and that answers are as it says.

use std::collections::BTreeSet;

use access::{Need, routes};
use serde_json::{Value, json};
use tests::TestHub;
use tests::wait::within;

use super::access::{get, guarded, refusal, tell, unauthenticated};

/// The methods for which a line with `*` stands.
const ANY: [&str; 7] = ["get", "put", "post", "delete", "options", "head", "patch"];

/// The operations of the table of access, as the document names them.
fn lines() -> BTreeSet<(String, String)> {
    let named = |(method, path, ..): (&str, String, Need, _)| {
        let methods = if method == "*" { ANY.to_vec() } else { vec![method] };
        let path = path.replace("{*", "{");
        methods.into_iter().map(move |it| (it.to_lowercase(), path.clone())).collect::<Vec<_>>()
    };
    routes::all().flat_map(named).collect()
}

/// The operations of `document`.
fn operations(document: &Value) -> BTreeSet<(String, String)> {
    let paths = document["paths"].as_object().unwrap();
    let of = |(path, item): (&String, &Value)| {
        let path = path.clone();
        item.as_object().unwrap().keys().map(|it| (it.clone(), path.clone())).collect::<Vec<_>>()
    };
    paths.iter().flat_map(of).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_document_has_each_route_of_the_table_of_access_and_no_other() {
    let hub = TestHub::start_in_memory().await;
    let document = hub.json("/openapi.json").await;
    assert_eq!(document["openapi"], "3.1.0");
    assert_eq!(operations(&document), lines());
    assert_eq!(document.get("security"), None, "without access control nobody needs a credential");
}

#[tokio::test(flavor = "multi_thread")]
async fn with_access_control_it_is_for_those_who_are_known_and_says_what_each_operation_needs() {
    let hub = guarded().await;
    assert_eq!(refusal(hub.request("GET", "/openapi.json").send().await.unwrap()).await, unauthenticated());
    let nobody = hub.token_for("nobody", &["import:nowhere"]).await;
    let document: Value = get(&hub, &nobody, "/openapi.json").await.json().await.unwrap();
    assert_eq!(operations(&document), lines());
    assert!(document["security"].is_array());
    let told = |method: &str, path: &str| document["paths"][path][method]["description"].to_string();
    assert!(
        told("put", "/v1/conversations/{conversation}/events").contains("Needs `import` on the conversation")
    );
    assert!(told("get", "/metrics").contains("Needs `view` on every conversation. Closed to roles"));
    assert_eq!(document["paths"]["/healthz"]["get"]["security"], json!([]));
    let help = get(&hub, &nobody, "/help/no-such-document").await.status().as_str().to_owned();
    assert_eq!(help, "404");
    assert!(document["paths"]["/help/{document}"]["get"]["responses"][help].is_object());
    let proxied = &document["paths"]["/proxy/{upstream}/{path}"]["post"]["security"];
    assert_eq!(proxied, &json!([{"proxied": []}]));
}

/// The schema to which `schema` refers, or itself.
fn resolved<'a>(document: &'a Value, schema: &'a Value) -> &'a Value {
    match schema["$ref"].as_str().and_then(|to| to.strip_prefix('#')) {
        Some(pointer) => document.pointer(pointer).unwrap_or_else(|| panic!("nothing is at {pointer}")),
        None => schema,
    }
}

/// Why `value` is not as `schema` says: the fields that must be there, their types, and their words.
fn fault(document: &Value, schema: &Value, value: &Value) -> Option<String> {
    let schema = resolved(document, schema);
    let is_of = |kind: &Value| match kind.as_str().unwrap() {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        _ => true,
    };
    let is_typed = match &schema["type"] {
        Value::Array(kinds) => kinds.iter().any(is_of),
        Value::Null => true,
        kind => is_of(kind),
    };
    if !is_typed {
        return Some(format!("{value} is not of the type {}", schema["type"]));
    }
    if schema["enum"].as_array().is_some_and(|words| !words.contains(value)) {
        return Some(format!("{value} is none of {}", schema["enum"]));
    }
    for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if value.get(name).is_none() {
            return Some(format!("{name} is missing in {value}"));
        }
    }
    for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
        if let Some(why) = value.get(name).and_then(|value| fault(document, schema, value)) {
            return Some(format!("{name}: {why}"));
        }
    }
    value.as_array().into_iter().flatten().find_map(|value| fault(document, &schema["items"], value))
}

/// Asks, and compares status, media type and JSON of the answer with the document. The answer's JSON.
async fn compared(
    hub: &TestHub,
    document: &Value,
    (method, template): (&str, &str),
    path: &str,
    body: &str,
) -> Value {
    let what = format!("{method} {path}");
    let request = hub.request(method, path).header("content-type", "application/json").body(body.to_owned());
    let answer = within(&what, request.send()).await.unwrap();
    let status = answer.status().as_u16().to_string();
    let told = &document["paths"][template][method.to_lowercase()]["responses"][&status];
    assert!(told.is_object(), "{what}: {status} is not in the document");
    let kind = answer.headers().get("content-type").map(|kind| kind.to_str().unwrap().to_owned());
    let Some(kind) = kind else {
        assert!(told["content"].is_null(), "{what}: a body without a type");
        return Value::Null;
    };
    let kind = kind.split(';').next().unwrap().to_owned();
    let content = &told["content"][&kind];
    assert!(content.is_object(), "{what}: {status} with {kind} is not in the document");
    if !kind.ends_with("json") {
        return Value::Null;
    }
    let value: Value = answer.json().await.unwrap();
    assert_eq!(fault(document, &content["schema"], &value), None, "{what}: {status}");
    value
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_and_refusals_have_the_status_the_type_and_the_fields_that_the_document_names() {
    let hub = TestHub::start().await;
    assert!(tell(&hub, "", "c", "hello").await.status().is_success());
    let document = hub.json("/openapi.json").await;
    let of = "/v1/conversations/{conversation}";
    let events = "/v1/conversations/{conversation}/events";
    let commands = "/v1/conversations/{conversation}/commands";
    let export = "/v1/conversations/{conversation}/export/{format}";
    let stream = "/v1/conversations/{conversation}/stream/{dialect}";
    let one = r#"[{"k":"run.start","run":"r2"}]"#;
    let narrowed = "/v1/search?q=hello&tool=x&agent=y&state=error&archived=all&tag=z&since=1&until=2";
    for (method, template, path, body) in [
        ("GET", "/healthz", "/healthz", ""),
        ("GET", "/readyz", "/readyz", ""),
        ("GET", "/metrics", "/metrics", ""),
        ("GET", "/openapi.json", "/openapi.json", ""),
        ("GET", "/schema/{name}", "/schema/event.json", ""),
        ("GET", "/schema/{name}", "/schema/none.json", ""),
        ("GET", "/v1/access", "/v1/access", ""),
        ("GET", "/v1/audit", "/v1/audit", ""),
        ("GET", "/v1/agents", "/v1/agents", ""),
        ("GET", "/v1/upstreams", "/v1/upstreams", ""),
        ("GET", "/v1/conversations", "/v1/conversations?limit=1", ""),
        ("GET", "/v1/conversations", "/v1/conversations?after=x", ""),
        ("GET", "/v1/search", "/v1/search?q=hello", ""),
        ("GET", "/v1/search", narrowed, ""),
        ("GET", "/v1/search", "/v1/search", ""),
        ("GET", "/v1/tools", "/v1/tools", ""),
        ("GET", "/v1/series", "/v1/series?metric=runs,tokens", ""),
        ("GET", "/v1/series", "/v1/series?metric=none", ""),
        ("GET", "/v1/usage", "/v1/usage?by=day", ""),
        ("GET", "/v1/usage", "/v1/usage?format=csv", ""),
        ("GET", "/v1/ws", "/v1/ws", ""),
        ("GET", "/v1/shares", "/v1/shares", ""),
        ("POST", "/v1/shares", "/v1/shares", r#"{"conversation":"c"}"#),
        ("DELETE", "/v1/shares/{id}", "/v1/shares/none", ""),
        ("POST", "/v1/traces", "/v1/traces", r#"{"resourceSpans":[]}"#),
        ("GET", of, "/v1/conversations/c", ""),
        ("GET", of, "/v1/conversations/c?summary", ""),
        ("GET", of, "/v1/conversations/none", ""),
        ("GET", of, "/v1/conversations/a%2Fb", ""),
        ("POST", events, "/v1/conversations/c/events", one),
        ("POST", events, "/v1/conversations/c/events", r#"[{"k":7}]"#),
        ("PUT", events, "/v1/conversations/c/events", "no file"),
        ("DELETE", of, "/v1/conversations/c", ""),
        ("DELETE", of, "/v1/conversations/none", ""),
        ("DELETE", of, "/v1/conversations/none?force=perhaps", ""),
        ("POST", commands, "/v1/conversations/c/commands", r#"{"id":"1","command":"stop"}"#),
        ("GET", "/v1/conversations/{conversation}/wait", "/v1/conversations/c/wait?timeout_ms=1", ""),
        ("GET", export, "/v1/conversations/c/export/md", ""),
        ("GET", export, "/v1/conversations/c/export/none", ""),
        ("GET", stream, "/v1/conversations/c/stream/openai-chat?run=r1&until=run.end", ""),
        ("POST", "/v1/ingest/{dialect}/{conversation}", "/v1/ingest/openai-chat/d", "data: [DONE]\n\n"),
        ("POST", "/v1/ingest/{dialect}/{conversation}", "/v1/ingest/none/d", ""),
        ("POST", "/v1/chat/completions", "/v1/chat/completions", "{}"),
        ("GET", "/v1/models", "/v1/models", ""),
        ("POST", "/compat/langgraph/threads", "/compat/langgraph/threads", "[]"),
        ("GET", "/compat/langgraph/threads/{thread}", "/compat/langgraph/threads/none", ""),
        ("GET", "/proxy/{upstream}/{path}", "/proxy/none/v1/models", ""),
        ("GET", "/login", "/login", ""),
        ("GET", "/s/{secret}", "/s/none", ""),
    ] {
        compared(&hub, &document, (method, template), path, body).await;
    }
    let taken = compared(&hub, &document, ("POST", events), "/v1/conversations/c/events", one).await;
    assert_eq!(taken["events"], 1);
    // The test can see what it looks for.
    let schema = json!({"$ref": "#/components/schemas/Taken"});
    assert!(fault(&document, &schema, &json!({"position": 1})).is_some());
}
