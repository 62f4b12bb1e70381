//! Who may see, say and do what: tokens and their grants at every door.

use std::collections::BTreeSet;

use access::{Need, routes};
use serde_json::Value;
use tests::TestHub;
use tests::hub::binary;
use tests::wait::within;
use tests::wire::WebSocketWire;
use tokio::process::Command;

/// A hub with access control.
pub(crate) async fn guarded() -> TestHub {
    TestHub::start_with(&["--access", "tokens"]).await
}

/// Status and code of a refusal.
pub(crate) async fn refusal(answer: reqwest::Response) -> (u16, String) {
    let status = answer.status().as_u16();
    let body = answer.bytes().await.unwrap();
    let problem: Value = serde_json::from_slice(&body).unwrap_or_default();
    (status, problem["code"].as_str().unwrap_or_default().to_owned())
}

pub(crate) fn unauthenticated() -> (u16, String) {
    (401, "unauthenticated".to_owned())
}

pub(crate) fn forbidden() -> (u16, String) {
    (403, "forbidden".to_owned())
}

/// Publishes one run with `text` into `conversation`.
pub(crate) async fn tell(hub: &TestHub, token: &str, conversation: &str, text: &str) -> reqwest::Response {
    let events = serde_json::json!([
        { "k": "run.start", "run": "r1", "title": text },
        { "k": "part.start", "run": "r1", "part": "p1", "kind": "text" },
        { "k": "part.delta", "run": "r1", "part": "p1", "text": text },
        { "k": "part.end", "run": "r1", "part": "p1" },
        { "k": "run.end", "run": "r1", "status": "complete" },
    ]);
    let path = format!("/v1/conversations/{conversation}/events");
    hub.request("POST", &path).bearer_auth(token).body(events.to_string()).send().await.unwrap()
}

/// What `token` gets at `path`.
pub(crate) async fn get(hub: &TestHub, token: &str, path: &str) -> reqwest::Response {
    hub.request("GET", path).bearer_auth(token).send().await.unwrap()
}

/// A path of that route.
pub(crate) fn filled(route: &str) -> String {
    let fill = |part: &str| match part {
        "{conversation}" => "c".to_owned(),
        part if part.starts_with('{') => "x".to_owned(),
        part => part.to_owned(),
    };
    let path = route.split('/').map(fill).collect::<Vec<_>>().join("/");
    if route.ends_with("/wait") { format!("{path}?timeout_ms=1") } else { path }
}

async fn asked(hub: &TestHub, token: Option<&str>, method: &str, path: &str) -> reqwest::Response {
    let method = if method == "*" { "POST" } else { method };
    let mut request = hub.request(method, path);
    if let Some(token) = token {
        let is_proxy = path.starts_with("/proxy/");
        request = if is_proxy { request.header("fanlight-token", token) } else { request.bearer_auth(token) };
    }
    within(path, request.send()).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_route_wants_somebody_to_be_known_who_has_the_grant() {
    let hub = guarded().await;
    let nobody = hub.token_for("nobody", &["import:nowhere"]).await;
    let operator = hub.token_for("operator", &["admin"]).await;
    for (method, route, need, _) in routes::all() {
        let path = filled(&route);
        let what = format!("{method} {path} {need:?}");
        let unknown = asked(&hub, None, method, &path).await;
        if need.is_open() {
            assert!(!matches!(unknown.status().as_u16(), 403..=405), "{what}: {}", unknown.status());
            continue;
        }
        assert_eq!(unknown.status(), 401, "{what}");
        let without = refusal(asked(&hub, Some(&nobody), method, &path).await).await;
        assert_eq!(without == forbidden(), need != Need::Known, "{what}: {without:?}");
        let may = asked(&hub, Some(&operator), method, &path).await.status().as_u16();
        assert!(!matches!(may, 401 | 403), "{what}: {may}");
    }
}

/// Routes as they stand in the code of the routers.
fn routes_in(code: &str) -> BTreeSet<String> {
    let after = code.split(".route(").skip(1);
    after
        .filter_map(|rest| rest.trim_start().strip_prefix('"')?.split('"').next().map(str::to_owned))
        .collect()
}

#[test]
fn every_route_of_the_routers_has_its_line() {
    let app = routes_in(include_str!("../../server/edge/src/app.rs"));
    let compat = routes_in(include_str!("../../server/edge/src/http/compat.rs"));
    let forge = routes_in(include_str!("../../server/edge/src/http/compat/forge.rs"));
    let platform = routes_in(include_str!("../../server/edge/src/http/compat/platform.rs"));
    assert!(app.len() > 20 && compat.len() > 5 && forge.len() > 10 && platform.len() > 20);
    let platform = platform.iter().map(|path| format!("/compat/langgraph{path}"));
    let written: BTreeSet<_> = app.into_iter().chain(compat).chain(forge).chain(platform).collect();
    for path in &written {
        assert!(routes::is_known(path), "{path} has no line in the table of access");
    }
    let of_others = |path: &String| path.starts_with("/compat/bernard") && !written.contains(path);
    for (_, path, ..) in routes::all().filter(|(_, path, ..)| !of_others(path)) {
        assert!(written.contains(&path), "{path} has a line and is no route");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_grant_is_for_its_conversations_and_a_refusal_never_tells_which_there_are() {
    let hub = guarded().await;
    let all = hub.token_for("all", &["view,publish:*"]).await;
    let team = hub.token_for("team", &["view,publish:team-*"]).await;
    assert!(tell(&hub, &all, "other", "hidden").await.status().is_success());
    assert!(tell(&hub, &team, "team-one", "shown").await.status().is_success());
    assert_eq!(refusal(tell(&hub, &team, "other", "x").await).await, forbidden());
    for (there, missing) in [("other", "missing"), ("other?summary", "missing?summary")] {
        let path = |name: &str| format!("/v1/conversations/{name}");
        let there = get(&hub, &team, &path(there)).await;
        let missing = get(&hub, &team, &path(missing)).await;
        assert_eq!(
            (there.status(), missing.status()),
            (reqwest::StatusCode::FORBIDDEN, reqwest::StatusCode::FORBIDDEN)
        );
        assert_eq!(there.text().await.unwrap(), missing.text().await.unwrap());
    }
    assert!(get(&hub, &team, "/v1/conversations/team-one").await.status().is_success());
    assert_eq!(get(&hub, &team, "/v1/conversations/team-two").await.status(), 404);
    let both = "/v1/events?conversation=team-one&conversation=other";
    assert_eq!(refusal(get(&hub, &team, both).await).await, forbidden());
    let export = "/v1/conversations/team-one/export/md";
    assert_eq!(refusal(get(&hub, &team, export).await).await, forbidden(), "to see is not to take along");
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_search_and_figures_show_what_may_be_seen() {
    let hub = guarded().await;
    let all = hub.token_for("all", &["view,publish:*"]).await;
    let team = hub.token_for("team", &["view:team-*"]).await;
    for name in ["team-one", "other-one", "team-two", "other-two"] {
        assert!(tell(&hub, &all, name, "quarterly figures").await.status().is_success());
    }
    let names = |list: &Value| {
        let rows = list["conversations"].as_array().unwrap().iter();
        rows.map(|row| row["conversation"].as_str().unwrap().to_owned()).collect::<BTreeSet<_>>()
    };
    let listed: Value = get(&hub, &team, "/v1/conversations").await.json().await.unwrap();
    assert_eq!(names(&listed), BTreeSet::from(["team-one".to_owned(), "team-two".to_owned()]));
    assert!(listed.get("total").is_none(), "{listed}");
    // Page by page: the mark of a page names no conversation that is kept back.
    let first: Value = get(&hub, &team, "/v1/conversations?limit=1").await.json().await.unwrap();
    let next = first["next"].as_str().unwrap();
    assert!(!first.to_string().contains("other"), "{first}");
    let second: Value =
        get(&hub, &team, &format!("/v1/conversations?limit=1&after={next}")).await.json().await.unwrap();
    let pages: BTreeSet<_> = names(&first).union(&names(&second)).cloned().collect();
    assert_eq!(pages, names(&listed));
    let listed: Value = get(&hub, &all, "/v1/conversations").await.json().await.unwrap();
    assert_eq!((names(&listed).len(), listed["total"].as_u64()), (4, Some(4)));
    let hits = |found: &Value| found["hits"].as_array().map_or(0, Vec::len);
    let everything = tests::wait::until("all to be found", async || {
        let found: Value = get(&hub, &all, "/v1/search?q=quarterly").await.json().await.ok()?;
        (hits(&found) >= 4).then_some(found)
    })
    .await;
    let found: Value = get(&hub, &team, "/v1/search?q=quarterly").await.json().await.unwrap();
    assert!(hits(&found) * 2 == hits(&everything) && !found.to_string().contains("other"), "{found}");
    assert_eq!(
        refusal(get(&hub, &team, "/v1/search?q=quarterly&conversation=other-one").await).await,
        forbidden()
    );
    for path in ["/v1/tools", "/v1/series?metric=runs", "/v1/usage", "/metrics"] {
        assert_eq!(refusal(get(&hub, &team, path).await).await, forbidden(), "{path}");
        assert!(get(&hub, &all, path).await.status().is_success(), "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_socket_is_told_what_its_token_may_see_say_and_do() {
    let hub = guarded().await;
    let all = hub.token_for("all", &["view,publish:*"]).await;
    let team = hub.token_for("team", &["view:team-*"]).await;
    assert!(tell(&hub, &all, "team-one", "shown").await.status().is_success());
    assert!(tell(&hub, &all, "other", "hidden").await.status().is_success());
    let mut wire = WebSocketWire::connect_in_silence(hub.address()).await;
    wire.send_text(format!(r#"{{"t":"hello","versions":["1"],"token":"{team}"}}"#)).await;
    assert!(wire.text().await.unwrap().contains("welcome"));
    for (frame, named) in [
        (r#"{"t":"sub","sub":1,"conv":"other"}"#, r#""sub":1"#),
        (r#"{"t":"sub","sub":2,"conv":"missing"}"#, r#""sub":2"#),
        (r#"{"t":"pub","id":3,"conv":"team-one","events":[]}"#, r#""id":3"#),
        (r#"{"t":"command","conv":"team-one","command":{"id":"four","command":"stop"}}"#, r#""id":"four""#),
    ] {
        wire.send_text(frame.to_owned()).await;
        let said = wire.text().await.unwrap();
        assert!(said.contains(r#""code":"forbidden""#) && said.contains(named), "{frame}: {said}");
    }
    wire.send_text(r#"{"t":"watch","sub":5}"#.to_owned()).await;
    let list = wire.text().await.unwrap();
    assert!(list.contains("team-one") && !list.contains("other") && list.contains(r#""total":1"#), "{list}");
    wire.send_text(r#"{"t":"sub","sub":6,"conv":"team-one"}"#.to_owned()).await;
    // More of the list may come first.
    let subbed = async {
        loop {
            let said = wire.text().await.unwrap();
            assert!(!said.contains("other") && !said.contains("hidden"), "{said}");
            if said.contains("subbed") {
                return;
            }
        }
    };
    within("the subscription", subbed).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_printed_once_and_kept_as_a_hash() {
    let hub = guarded().await;
    let token = hub.token_for("ci", &["view,publish:nightly-*"]).await;
    assert!(token.starts_with("fanlight_") && token.lines().count() == 1, "{token}");
    let list = hub.token(&["list"]).await;
    assert!(list.contains("ci") && list.contains("view,publish:nightly-*"), "{list}");
    let again = Command::new(binary())
        .args(["token", "create", "--name", "ci", "--grant", "view:*", "--data-dir"])
        .arg(hub.folder())
        .output();
    let again = within("a second token of that name", again).await.unwrap();
    assert!(!again.status.success() && again.stdout.is_empty());
    let told = String::from_utf8(again.stderr).unwrap();
    assert!(told.contains("there is a token named \"ci\" already"), "{told}");
    for file in std::fs::read_dir(hub.folder()).unwrap() {
        let path = file.unwrap().path();
        let bytes = std::fs::read(&path).unwrap();
        let has = bytes.windows(token.len()).any(|window| window == token.as_bytes());
        assert!(!has, "{} holds the token", path.display());
    }
    assert!(!list.contains(&token));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_commands_of_clients_send_the_token() {
    let hub = guarded().await;
    let token = hub.token_for("both", &["view,publish,export,import:*"]).await;
    let run = async |arguments: &[&str], token: Option<&str>| {
        let mut command = Command::new(binary());
        command.args(arguments).args(["--url", &hub.url("")]).kill_on_drop(true);
        command.stdin(std::process::Stdio::null());
        if let Some(token) = token {
            command.env("FANLIGHT_TOKEN", token);
        }
        within("a command", command.output()).await.unwrap()
    };
    assert!(tell(&hub, &token, "c", "hello there").await.status().is_success());
    // Not as JSON, which has no events from before it began.
    let tail = ["tail", "c", "--until", "run.end"];
    let export = ["export", "c", "--format", "md"];
    for arguments in [&tail[..], &export[..]] {
        let refused = run(arguments, None).await;
        assert!(!refused.status.success(), "{arguments:?}");
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(said.contains("token"), "{arguments:?}: {said}");
        let done = run(arguments, Some(&token)).await;
        assert!(done.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
        assert!(String::from_utf8_lossy(&done.stdout).contains("hello there"), "{arguments:?}");
    }
}
