//! What a role hides, at every door: contents are told apart by canaries that only those may hear who have no role.

use std::collections::{BTreeMap, BTreeSet};

use access::{Need, Shows, routes};
use futures_util::StreamExt as _;
use serde_json::{Value, json};
use tests::TestHub;
use tests::wait::{until, within};
use tests::wire::WebSocketWire;

use super::access::{filled, forbidden, get, refusal, unauthenticated};

/// The roles of these tests.
const ROLES: &str = r#"
[access]
mode = "tokens"

[access.roles.guest]
hide = ["thinking", "arguments", "results", "costs", "users"]

[access.roles.thoughtless]
hide = ["thinking"]

[access.roles.frugal]
hide = ["costs"]

[access.roles.no-sql]
hide_tools = ["run_*"]
"#;

/// What stands only in contents that the role `guest` hides.
const CANARIES: [&str; 11] = [
    "canary-thought",
    "canary-signature",
    "canary-argument",
    "canary-question",
    "canary-output",
    "canary-result",
    "canary-message",
    "canary-custom",
    "canary-raw",
    "canary-host",
    "424242",
];

/// A hub with roles.
pub(crate) async fn with_roles() -> TestHub {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("fanlight.toml");
    std::fs::write(&file, ROLES).unwrap();
    let hub = TestHub::start_with(&["--config", file.to_str().unwrap()]).await;
    drop(place);
    hub
}

/// A token that sees everything with that role.
pub(crate) async fn with_role(hub: &TestHub, role: &str, grants: &str) -> String {
    let token = hub.token(&["create", "--name", role, "--grant", grants, "--role", role]).await;
    until("the hub to know the token", async || {
        get(hub, &token, "/v1/access").await.status().is_success().then_some(())
    })
    .await;
    token
}

/// The story, with a large result whose hash is returned.
async fn tell(hub: &TestHub, token: &str, conversation: &str) -> String {
    let large = format!("canary-result {}", "0123456789abcde\n".repeat(40 << 10));
    let lines = [
        json!({ "k": "message", "message": "m1", "role": "user", "text": "shown question" }),
        json!({ "k": "message", "message": "m2", "role": "tool", "text": "canary-message" }),
        json!({ "k": "run.start", "run": "r", "title": "shown title", "host": "canary-host" }),
        json!({ "k": "part.start", "run": "r", "part": "p0", "kind": "thinking" }),
        json!({ "k": "part.delta", "run": "r", "part": "p0", "text": "canary-thought" }),
        json!({ "k": "part.end", "run": "r", "part": "p0", "signature": "canary-signature" }),
        json!({ "k": "tool.start", "run": "r", "tool": "t1", "name": "run_sql" }),
        json!({ "k": "tool.args", "run": "r", "tool": "t1", "text": "{\"q\":\"canary-argument\"}" }),
        json!({ "k": "approval.request", "run": "r", "tool": "t1", "text": "canary-question" }),
        json!({ "k": "approval.answer", "run": "r", "tool": "t1", "approved": true }),
        json!({ "k": "tool.output", "run": "r", "tool": "t1", "text": "canary-output" }),
        json!({ "k": "tool.result", "run": "r", "tool": "t1", "output": large }),
        json!({ "k": "tool.call", "run": "r", "tool": "t2", "name": "run_small", "arguments": "{\"a\":\"canary-argument\"}" }),
        json!({ "k": "tool.result", "run": "r", "tool": "t2", "output": "canary-result" }),
        json!({ "k": "custom", "run": "r", "name": "note", "value": "canary-custom" }),
        json!({ "k": "raw", "run": "r", "name": "x", "value": "canary-raw" }),
        json!({ "k": "part.start", "run": "r", "part": "p1", "kind": "text" }),
        json!({ "k": "part.delta", "run": "r", "part": "p1", "text": "shown answer" }),
        json!({ "k": "part.end", "run": "r", "part": "p1" }),
        json!({ "k": "run.end", "run": "r", "status": "complete", "usage": { "input_tokens": 424_242, "output_tokens": 1 } }),
    ];
    let path = format!("/v1/conversations/{conversation}/events");
    let body = Value::from(lines.to_vec()).to_string();
    let told = hub.request("POST", &path).bearer_auth(token).body(body).send().await.unwrap();
    assert!(told.status().is_success(), "{}", told.text().await.unwrap());
    let view: Value =
        get(hub, token, &format!("/v1/conversations/{conversation}")).await.json().await.unwrap();
    view["runs"]["r"]["tools"]["t1"]["result_ref"]["hash"].as_str().unwrap().to_owned()
}

/// What a route says, up to its end or up to what is certainly there.
async fn said(hub: &TestHub, token: &str, method: &str, path: &str) -> (u16, String) {
    let answer = hub.request(method, path).bearer_auth(token).send().await.unwrap();
    let status = answer.status().as_u16();
    let mut stream = answer.bytes_stream();
    let mut said = Vec::new();
    // Streams that go on are read up to what comes last in the story.
    while let Some(piece) = within(path, stream.next()).await {
        said.extend_from_slice(&piece.unwrap());
        let is_endless = path.contains("events") || (path.contains("/stream/") && method == "GET");
        if is_endless && String::from_utf8_lossy(&said).contains("shown answer") {
            break;
        }
    }
    (status, String::from_utf8_lossy(&said).into_owned())
}

/// Requests for each route that masks what it shows. A route of that kind without one fails the test.
fn requests(hash: &str) -> BTreeMap<&'static str, Vec<String>> {
    let of = |paths: &[&str]| paths.iter().map(|path| (*path).to_owned()).collect::<Vec<_>>();
    let dialects = || encode::ENCODINGS.iter().map(|encoding| encoding.name);
    let documents = encode::document::export::FORMATS.iter().map(|format| format.name);
    let formats: BTreeSet<_> = ["jsonl", "native"].into_iter().chain(documents).chain(dialects()).collect();
    let exports = formats.iter().map(|format| format!("/v1/conversations/c/export/{format}"));
    let streams: Vec<_> = dialects().map(|dialect| format!("/v1/conversations/c/stream/{dialect}")).collect();
    let rest = streams.iter().map(|path| format!("{path}/chat/completions")).collect();
    BTreeMap::from([
        (
            "/v1/search",
            of(&["/v1/search?q=canary*", "/v1/search?q=canary*&kind=thinking", "/v1/search?q=shown"]),
        ),
        ("/v1/tools", of(&["/v1/tools"])),
        ("/v1/conversations", of(&["/v1/conversations"])),
        ("/v1/events", of(&["/v1/events?conversation=c", "/v1/events?conversation=c&level=parts"])),
        ("/v1/conversations/{conversation}", of(&["/v1/conversations/c", "/v1/conversations/c?summary"])),
        (
            "/v1/conversations/{conversation}/events",
            of(&["/v1/conversations/c/events", "/v1/conversations/c/events?level=parts"]),
        ),
        ("/v1/conversations/{conversation}/export/{format}", exports.collect()),
        (
            "/v1/conversations/{conversation}/results/{hash}",
            vec![format!("/v1/conversations/c/results/{hash}")],
        ),
        ("/v1/conversations/{conversation}/stream/{dialect}", streams),
        ("/v1/conversations/{conversation}/stream/{dialect}/{*rest}", rest),
        // Told in tests of their own: commands, and all that comes over a socket.
        ("/v1/conversations/{conversation}/commands", Vec::new()),
        ("/v1/ws", Vec::new()),
    ])
}

#[tokio::test(flavor = "multi_thread")]
async fn no_route_tells_a_role_what_it_hides() {
    let hub = with_roles().await;
    let all = hub.token_for("all", &["admin"]).await;
    let guest = with_role(&hub, "guest", "view,publish,export,control,import:*").await;
    let hash = tell(&hub, &all, "c").await;
    until("all to be found", async || {
        let found: Value = get(&hub, &all, "/v1/search?q=canary*").await.json().await.ok()?;
        (found["hits"].as_array()?.len() >= 5).then_some(())
    })
    .await;
    let requests = requests(&hash);
    let mut heard = String::new();
    for (method, route, need, shows) in routes::all() {
        if shows == Shows::Everything {
            let path = filled(&route);
            let method = if method == "*" { "POST" } else { method };
            let answer = hub.request(method, &path).bearer_auth(&guest).send().await.unwrap();
            assert_eq!(refusal(answer).await, forbidden(), "{method} {path} {need:?}");
        }
        if shows != Shows::Masked {
            continue;
        }
        let paths = requests.get(route.as_str());
        for path in paths.unwrap_or_else(|| panic!("{method} {route}: say here how it is asked")) {
            let (status, whole) = said(&hub, &all, method, path).await;
            assert_eq!(status, 200, "{method} {path}: {whole}");
            heard.push_str(&whole);
            let (status, told) = said(&hub, &guest, method, path).await;
            assert_eq!(status == 403, path.contains("/results/"), "{method} {path}: {told}");
            for canary in CANARIES {
                assert!(!told.contains(canary), "{method} {path}: {canary} in {told}");
            }
        }
    }
    for canary in CANARIES {
        assert!(heard.contains(canary), "nothing can be shown of {canary}: nobody hears it");
    }
    assert_eq!(need_of_wait(), Shows::Nothing);
}

/// A wait says that something has happened, and looks at nothing that can be hidden.
fn need_of_wait() -> Shows {
    let line = routes::find("GET", "/v1/conversations/{conversation}/wait");
    line.map_or(Shows::Everything, |line| {
        assert!(matches!(line.need, Need::OnNamed(_)));
        line.shows
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_of_history_are_masked_and_say_how_far_they_go() {
    let hub = with_roles().await;
    let all = hub.token_for("all", &["view,publish:*"]).await;
    let guest = with_role(&hub, "guest", "view:*").await;
    tell(&hub, &all, "c").await;
    let page = async |token: &str| {
        let request =
            hub.request("GET", "/v1/conversations/c/events").header("accept", "application/x-ndjson");
        let answer = request.bearer_auth(token).send().await.unwrap();
        let position = answer.headers()["fanlight-position"].to_str().unwrap().to_owned();
        (position, answer.text().await.unwrap())
    };
    let ((whole, everything), (told, masked)) = (page(&all).await, page(&guest).await);
    assert_eq!(whole, told, "it covers the same");
    assert!(everything.contains("canary-result") && masked.contains("shown answer"));
    assert!(!masked.contains("canary") && !masked.contains("424242"), "{masked}");
}

/// Says hello with `token` and subscribes.
async fn subscribed(hub: &TestHub, token: &str, more: &str) -> WebSocketWire {
    let mut wire = WebSocketWire::connect_in_silence(hub.address()).await;
    wire.send_text(format!(r#"{{"t":"hello","versions":["1"],"token":"{token}"}}"#)).await;
    assert!(wire.text().await.unwrap().contains("welcome"));
    wire.send_text(format!(r#"{{"t":"sub","sub":1,"conv":"c"{more}}}"#)).await;
    wire
}

/// All that comes until `last` does.
async fn until_said(wire: &mut WebSocketWire, last: &str) -> String {
    let mut all = String::new();
    let reading = async {
        while !all.contains(last) {
            all.push_str(&wire.text().await.unwrap());
        }
    };
    within(last, reading).await;
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn a_socket_is_told_nothing_that_its_role_hides_live_later_or_again() {
    let hub = with_roles().await;
    let all = hub.token_for("all", &["view,publish:*"]).await;
    let guest = with_role(&hub, "guest", "view,control:*").await;
    let told = |text: &str| assert!(!text.contains("canary") && !text.contains("424242"), "{text}");
    // Live, event by event.
    let (mut live, mut whole) = (subscribed(&hub, &guest, "").await, subscribed(&hub, &all, "").await);
    tell(&hub, &all, "c").await;
    told(&until_said(&mut live, "run.end").await);
    assert!(until_said(&mut whole, "run.end").await.contains("canary-thought"));
    // By the snapshot, at every level.
    for level in
        ["", r#","level":"parts""#, r#","level":"critical""#, r#","kinds":["custom","raw","tool.*"]"#]
    {
        let mut later = subscribed(&hub, &guest, level).await;
        told(&until_said(&mut later, r#""t":"live""#).await);
    }
    // Again, from a position.
    let view: Value = get(&hub, &all, "/v1/conversations?limit=1").await.json().await.unwrap();
    let epoch = view["conversations"][0]["epoch"].as_str().unwrap();
    let mut again = subscribed(&hub, &guest, &format!(r#","have":{{"epoch":"{epoch}","seq":3}}"#)).await;
    let said = until_said(&mut again, r#""t":"live""#).await;
    assert!(said.contains(r#""mode":"tail""#), "{said}");
    told(&said);
    again.send_text(r#"{"t":"resync","sub":1}"#.to_owned()).await;
    told(&until_said(&mut again, r#""t":"live""#).await);
    // Of the list, nothing that depends on contents.
    again.send_text(r#"{"t":"watch","sub":2}"#.to_owned()).await;
    let listed = until_said(&mut again, "fleet").await;
    assert!(listed.contains(r#""anomalies":0"#), "{listed}");
    told(&listed);
    whole.send_text(r#"{"t":"watch","sub":2}"#.to_owned()).await;
    assert!(until_said(&mut whole, "fleet").await.contains(r#""host":"canary-host""#));
    // What would show it, or copy it, is refused in words that say why.
    for command in [r#""command":"fork""#, r#""command":"approve","tool":"t1""#] {
        let frame = format!(r#"{{"t":"command","conv":"c","command":{{"id":"x",{command}}}}}"#);
        again.send_text(frame).await;
        let said = until_said(&mut again, "refused").await;
        assert!(said.contains("forbidden") && said.contains("role"), "{said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_role_hides_its_own_and_calls_are_hidden_by_the_names_of_their_tools() {
    let hub = with_roles().await;
    let all = hub.token_for("all", &["view,publish:*"]).await;
    let hash = tell(&hub, &all, "c").await;
    let extra = json!([{ "k": "tool.call", "run": "r", "tool": "t9", "name": "read", "arguments": "{\"f\":\"plain-argument\"}" }]);
    let more = hub.request("POST", "/v1/conversations/c/events").bearer_auth(&all).body(extra.to_string());
    assert!(more.send().await.unwrap().status().is_success());
    let frugal = with_role(&hub, "frugal", "view:*").await;
    let view = get(&hub, &frugal, "/v1/conversations/c").await.text().await.unwrap();
    assert!(view.contains("canary-thought") && view.contains("canary-result") && !view.contains("424242"));
    let path = format!("/v1/conversations/c/results/{hash}");
    assert!(get(&hub, &frugal, &path).await.text().await.unwrap().contains("canary-result"));
    let no_sql = with_role(&hub, "no-sql", "view:*").await;
    let view = get(&hub, &no_sql, "/v1/conversations/c").await.text().await.unwrap();
    assert!(view.contains("plain-argument") && view.contains("canary-thought") && view.contains("424242"));
    assert!(!view.contains("canary-argument") && !view.contains("canary-result"), "{view}");
    // In the same words whether there is such a result or not.
    let there = refusal_text(get(&hub, &no_sql, &path).await).await;
    let missing = format!("/v1/conversations/c/results/{}", "0".repeat(32));
    assert_eq!(there, refusal_text(get(&hub, &no_sql, &missing).await).await);
    let known = hub.request("GET", &path).bearer_auth(&no_sql).header("if-none-match", format!("\"{hash}\""));
    assert_eq!(refusal(known.send().await.unwrap()).await, forbidden());
    let tools: Value = get(&hub, &no_sql, "/v1/tools").await.json().await.unwrap();
    assert!(!tools.to_string().contains("run_"), "{tools}");
    // What a browser keeps of one role is not what another is told.
    let tag = |answer: &reqwest::Response| answer.headers()["etag"].to_str().unwrap().to_owned();
    let whole = tag(&get(&hub, &all, "/v1/conversations/c").await);
    assert_ne!(whole, tag(&get(&hub, &no_sql, "/v1/conversations/c").await));
    let kept = hub.request("GET", "/v1/conversations/c").bearer_auth(&no_sql).header("if-none-match", whole);
    assert_eq!(kept.send().await.unwrap().status(), 200);
    let who: Value = get(&hub, &no_sql, "/v1/access").await.json().await.unwrap();
    assert_eq!((who["role"].as_str(), &who["hides_tools"]), (Some("no-sql"), &json!(["run_*"])));
}

async fn refusal_text(answer: reqwest::Response) -> (u16, String) {
    (answer.status().as_u16(), answer.text().await.unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_role_that_is_not_set_lets_nobody_in_and_a_wrong_one_starts_no_hub() {
    let hub = with_roles().await;
    let known = with_role(&hub, "frugal", "view:*").await;
    let unknown = hub.token(&["create", "--name", "x", "--grant", "admin", "--role", "nobody"]).await;
    until("the hub to look at the tokens", async || {
        let said = get(&hub, &unknown, "/v1/conversations").await.text().await.ok()?;
        said.contains("[access.roles.NAME]").then_some(())
    })
    .await;
    assert_eq!(refusal(get(&hub, &unknown, "/healthz").await).await.0, 401);
    assert_eq!(refusal(get(&hub, &unknown, "/v1/conversations").await).await, unauthenticated());
    assert!(get(&hub, &known, "/v1/conversations").await.status().is_success());
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("fanlight.toml");
    for (role, why) in
        [("hide = [\"secrets\"]", "secrets"), ("hide = []", "hides nothing"), ("hid = []", "hid")]
    {
        std::fs::write(&file, format!("[access.roles.guest]\n{role}\n")).unwrap();
        let mut command = tokio::process::Command::new(tests::hub::binary());
        command.args(["serve", "--listen", "127.0.0.1:0", "--config"]).arg(&file).kill_on_drop(true);
        command.arg("--data-dir").arg(place.path());
        let ran = within("a hub that does not start", command.output()).await.unwrap();
        let said = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert!(!ran.status.success() && said.contains(why), "{role}: {said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_with_a_role_shows_what_the_role_leaves() {
    let hub = with_roles().await;
    let all = hub.token_for("all", &["view,publish,export:*"]).await;
    tell(&hub, &all, "c").await;
    let link = async |token: &str, wish: Value| {
        let wish = wish.to_string();
        hub.request("POST", "/v1/shares").bearer_auth(token).body(wish).send().await.unwrap()
    };
    let none = link(&all, json!({ "conversation": "c", "role": "nobody" })).await;
    assert_eq!(none.status(), 400);
    let made: Value = link(&all, json!({ "conversation": "c", "role": "guest" })).await.json().await.unwrap();
    let opened = hub.request("GET", made["url"].as_str().unwrap());
    let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
    let opened = client.execute(opened.build().unwrap()).await.unwrap();
    let cookie = opened.headers()["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned();
    let view = hub.request("GET", "/v1/conversations/c").header("cookie", &cookie).send().await.unwrap();
    let view = view.text().await.unwrap();
    assert!(view.contains("shown answer") && !view.contains("canary"), "{view}");
    // Whoever has a role shares no more than they see.
    let frugal = with_role(&hub, "frugal", "view,export:*").await;
    assert_eq!(link(&frugal, json!({ "conversation": "c", "role": "thoughtless" })).await.status(), 400);
    let made = link(&frugal, json!({ "conversation": "c" })).await;
    assert_eq!(made.status(), 201);
    let rows: Value = get(&hub, &frugal, "/v1/shares").await.json().await.unwrap();
    assert_eq!(rows["shares"][0]["role"], "frugal");
}

/// The number that `/metrics` has for `name`.
async fn counted(hub: &TestHub, token: &str, name: &str) -> u64 {
    let text = get(hub, token, "/metrics").await.text().await.unwrap();
    let line = text.lines().find(|line| line.split(' ').next() == Some(name)).unwrap();
    line.rsplit(' ').next().unwrap().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_frame_is_encoded_once_for_each_role_however_many_have_it() {
    const EACH: usize = 4;
    const EVENTS: u64 = 10;
    let hub = with_roles().await;
    let all = hub.token_for("all", &["view,publish:*"]).await;
    let mut tokens = vec![all.clone()];
    for role in ["guest", "thoughtless", "frugal", "no-sql"] {
        tokens.push(with_role(&hub, role, "view:*").await);
    }
    let mut wires = Vec::new();
    for token in &tokens {
        for _ in 0..EACH {
            let mut wire = subscribed(&hub, token, "").await;
            until_said(&mut wire, r#""t":"live""#).await;
            wires.push(wire);
        }
    }
    let before = counted(&hub, &all, "fanlight_encodes_total").await;
    for number in 0..EVENTS {
        let event = json!([{ "k": "status", "run": "r", "text": format!("step {number}.") }]);
        let told =
            hub.request("POST", "/v1/conversations/c/events").bearer_auth(&all).body(event.to_string());
        assert!(told.send().await.unwrap().status().is_success());
        for wire in &mut wires {
            until_said(wire, &format!("step {number}.")).await;
        }
    }
    let encoded = counted(&hub, &all, "fanlight_encodes_total").await - before;
    assert_eq!(encoded, EVENTS * tokens.len() as u64, "{} viewers of {} roles", wires.len(), tokens.len());
}
