//! Links to one conversation: whom a link is for, frozen links and links to one turn.

use std::collections::BTreeMap;

use futures_util::StreamExt as _;
use reqwest::Response;
use serde_json::{Value, json};
use tests::TestHub;
use tests::wait::{patiently, until, within};
use tests::wire::WebSocketWire;

use super::access::{forbidden, get, guarded, refusal, tell};
use super::access_page::{browser, cookie};
use super::access_roles::{with_role, with_roles};

/// Asks for a link as `token`.
pub(crate) async fn wish(hub: &TestHub, token: &str, wanted: &Value) -> Response {
    let asked = hub.request("POST", "/v1/shares").bearer_auth(token).body(wanted.to_string()).send();
    patiently("a link", asked).await.unwrap()
}

/// The link that `token` makes.
pub(crate) async fn made(hub: &TestHub, token: &str, wanted: Value) -> Value {
    let made = wish(hub, token, &wanted).await;
    let (status, told) = (made.status(), made.text().await.unwrap());
    assert_eq!(status, 201, "{wanted}: {told}");
    serde_json::from_str(&told).unwrap()
}

/// What a browser gets that opens `path` with these headers; from a bookmark, unless they say something else.
pub(crate) async fn opens(hub: &TestHub, path: &str, headers: &[(&str, &str)]) -> Response {
    let mut request = browser().get(hub.url(path)).header("accept", "text/html,*/*;q=0.8");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    if !headers.iter().any(|(name, _)| *name == "sec-fetch-site") {
        request = request.header("sec-fetch-site", "none");
    }
    patiently(path, request.send()).await.unwrap()
}

pub(crate) fn url(link: &Value) -> &str {
    link["url"].as_str().unwrap()
}

/// The cookie and the path that somebody gets who follows `link`.
pub(crate) async fn followed(hub: &TestHub, link: &Value) -> (String, String) {
    let answer = opens(hub, url(link), &[]).await;
    assert_eq!(answer.status(), 303, "{link}");
    let to = answer.headers()["location"].to_str().unwrap().to_owned();
    (cookie(&answer), to)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_says_whom_it_is_for_to_those_who_may_see_the_conversation() {
    let hub = with_roles().await;
    let ann = hub.token_for("ann", &["view,publish,export:*"]).await;
    let bob = hub.token_for("bob", &["view:c"]).await;
    let eve = hub.token_for("eve", &["view:other"]).await;
    let admin = hub.token_for("admin", &["admin"]).await;
    let masked = with_role(&hub, "guest", "view:*").await;
    for name in ["c", "other"] {
        assert!(tell(&hub, &ann, name, "hello").await.status().is_success());
    }
    for bad in [json!(""), json!("a\nb"), json!("x".repeat(201)), json!(7)] {
        let refused = wish(&hub, &ann, &json!({"conversation": "c", "for": bad})).await;
        assert_eq!(refusal(refused).await, (400, "bad_request".to_owned()), "{bad}");
    }
    let live =
        made(&hub, &ann, json!({"conversation": "c", "for": "Carol of <Acme>", "role": "guest"})).await;
    let frozen = made(&hub, &ann, json!({"conversation": "c", "for": "Dan", "frozen": true})).await;
    assert_eq!((&frozen["conversation"], &live["conversation"]), (&json!("c"), &json!("c")));
    made(&hub, &ann, json!({"conversation": "other"})).await;
    let list = async |token: &str| -> Value {
        get(&hub, token, "/v1/shares?conversation=c").await.json::<Value>().await.unwrap()["shares"].take()
    };
    let seen = list(&bob).await;
    let fields = |row: &Value| (row["for"].clone(), row["by"].clone(), row["revocable"].clone());
    assert_eq!(seen.as_array().unwrap().len(), 2, "{seen}");
    assert_eq!(fields(&seen[0]), (json!("Carol of <Acme>"), json!("ann"), json!(false)));
    assert_eq!((&seen[0]["frozen"], &seen[1]["frozen"]), (&Value::Null, &json!({"seq": 5})));
    assert_eq!(fields(&list(&ann).await[1]), (json!("Dan"), json!("ann"), json!(true)));
    assert_eq!(fields(&list(&admin).await[1]), (json!("Dan"), json!("ann"), json!(true)));
    assert_eq!(fields(&list(&masked).await[1]), (Value::Null, Value::Null, json!(false)), "users are hidden");
    assert_eq!(refusal(get(&hub, &eve, "/v1/shares?conversation=c").await).await, forbidden());
    let own = get(&hub, &bob, "/v1/shares").await.json::<Value>().await.unwrap();
    assert_eq!(own["shares"], json!([]), "without a conversation only what one may take back");

    // Whoever follows a link is told about that one, and of no other.
    let (guest, _) = followed(&hub, &frozen).await;
    let asks = async |cookie: &str, path: &str| {
        browser().get(hub.url(path)).header("cookie", cookie).send().await.unwrap()
    };
    let told = asks(&guest, "/v1/access").await.json::<Value>().await.unwrap()["link"].take();
    let facts = (&told["by"], &told["for"], &told["frozen"], &told["one_turn"]);
    assert_eq!(facts, (&json!("ann"), &json!("Dan"), &json!(true), &json!(false)), "{told}");
    assert!(told["expires"].as_u64() > told["created"].as_u64(), "{told}");
    assert_eq!(refusal(asks(&guest, "/v1/shares?conversation=c").await).await, forbidden());
    let (guest, _) = followed(&hub, &live).await;
    let told = asks(&guest, "/v1/access").await.json::<Value>().await.unwrap()["link"].take();
    assert_eq!((&told["by"], &told["for"], &told["frozen"]), (&Value::Null, &Value::Null, &json!(false)));
    let others = asks(&guest, "/v1/shares?conversation=c").await.json::<Value>().await.unwrap();
    assert_eq!(others["shares"], json!([]), "who else is shown it is not for them");
    until("the audit log to say it", async || {
        let log = get(&hub, &admin, "/v1/audit").await.text().await.ok()?;
        (log.contains("frozen, for Dan") && log.contains("for Carol of <Acme>")).then_some(())
    })
    .await;
}

/// One turn of a conversation: a question, and a run with a result that is stored apart.
pub(crate) fn turn(number: usize, extra: &str) -> Value {
    let (message, run, tool) = (format!("m{number}"), format!("r{number}"), format!("t{number}"));
    let large = format!("result-{number} {}", format!("{number:016x}\n").repeat(40 << 10));
    json!([
        {"k": "message", "message": message, "role": "user", "text": format!("question-{number} {extra}")},
        {"k": "run.start", "run": run, "title": format!("title-{number}")},
        {"k": "part.start", "run": run, "part": format!("p{number}"), "kind": "text"},
        {"k": "part.delta", "run": run, "part": format!("p{number}"), "text": format!("answer-{number}")},
        {"k": "part.end", "run": run, "part": format!("p{number}")},
        {"k": "tool.call", "run": run, "tool": tool, "name": format!("tool_{number}"), "arguments": "{}"},
        {"k": "tool.result", "run": run, "tool": tool, "output": large},
        {"k": "custom", "run": run, "name": "note", "value": format!("custom-{number}")},
        {"k": "run.end", "run": run, "status": "complete"},
    ])
}

pub(crate) async fn publish(hub: &TestHub, token: &str, conversation: &str, events: &Value) {
    let path = format!("/v1/conversations/{conversation}/events");
    let told = hub.request("POST", &path).bearer_auth(token).body(events.to_string()).send();
    let told = patiently("events", told).await.unwrap();
    assert!(told.status().is_success(), "{}", told.text().await.unwrap());
}

/// The hash of the result of the call of a turn.
pub(crate) async fn hash_of(hub: &TestHub, token: &str, conversation: &str, number: usize) -> String {
    let view: Value =
        get(hub, token, &format!("/v1/conversations/{conversation}")).await.json().await.unwrap();
    let hash =
        view["runs"][format!("r{number}")]["tools"][format!("t{number}")]["result_ref"]["hash"].as_str();
    hash.unwrap_or_else(|| panic!("{view}")).to_owned()
}

/// All that somebody gets who follows a link to `conversation`, at every door that they have, by the door. Streams are read until `last` was said.
async fn all_of(
    hub: &TestHub,
    cookie: &str,
    conversation: &str,
    hashes: &[String],
    last: &str,
) -> BTreeMap<String, String> {
    let of = |rest: &str| format!("/v1/conversations/{conversation}{rest}");
    let mut paths = vec![
        of(""),
        of("?summary"),
        of("/events"),
        of("/events?level=parts"),
        "/v1/conversations".to_owned(),
        "/v1/conversations?archived=all".to_owned(),
        "/v1/search?q=question*".to_owned(),
        "/v1/search?q=answer*".to_owned(),
        "/v1/search?q=result*".to_owned(),
        format!("/v1/events?conversation={conversation}"),
        "/v1/shares".to_owned(),
        "/v1/agents".to_owned(),
        "/v1/tools".to_owned(),
        "/v1/usage".to_owned(),
        "/metrics".to_owned(),
        of("/wait?timeout_ms=1"),
        of("/wait?timeout_ms=1&until=message"),
    ];
    for format in ["jsonl", "native", "md", "html", "open-webui", "openai", "anthropic"] {
        paths.push(of(&format!("/export/{format}")));
    }
    for dialect in
        ["openai-chat", "anthropic", "ag-ui", "ai-sdk", "deep-agent", "forge", "ralph", "rye", "langgraph"]
    {
        paths.push(of(&format!("/stream/{dialect}")));
    }
    paths.extend(hashes.iter().map(|hash| of(&format!("/results/{hash}"))));
    let mut all = BTreeMap::new();
    for path in paths {
        let answer = browser().get(hub.url(&path)).header("cookie", cookie).send();
        let answer = patiently(&path, answer).await.unwrap();
        let mut said = format!("{} ", answer.status());
        let is_endless = path.contains("/events") || path.contains("/stream/");
        let mut stream = answer.bytes_stream();
        // A stream that goes on has heartbeats, so the whole reading has a time, not each piece.
        within(&path, async {
            while let Some(piece) = stream.next().await {
                said.push_str(&String::from_utf8_lossy(&piece.unwrap()));
                if let Some(end) = said.find(last).filter(|_| is_endless) {
                    // What comes after it in the same piece depends on how the pieces were cut.
                    said.truncate(end);
                    break;
                }
            }
        })
        .await;
        // Who looks at it now, and how many, are facts of the viewers, not of the conversation.
        let said = said.split("event: presence\n").enumerate().map(|(place, rest)| match place {
            0 => rest,
            _ => rest.split_once("\n\n").map_or("", |(_, rest)| rest),
        });
        let said: String = said.collect();
        let said =
            said.split("\"viewers\":").map(|rest| rest.trim_start_matches(|c: char| c.is_ascii_digit()));
        all.insert(path, said.collect());
    }
    let page = browser().get(hub.url(&of("/events"))).header("accept", "application/x-ndjson");
    let page = patiently("a page", page.header("cookie", cookie).send()).await.unwrap();
    all.insert("history".to_owned(), page.text().await.unwrap());
    all.insert("socket".to_owned(), over_socket(hub, cookie, conversation).await);
    all
}

/// The state that a socket gives first, with what else its frames say.
pub(crate) async fn over_socket(hub: &TestHub, cookie: &str, conversation: &str) -> String {
    let mut wire = WebSocketWire::connect_with_cookie(hub.address(), cookie).await;
    wire.send_text(r#"{"t":"hello","versions":["1"]}"#.to_owned()).await;
    wire.send_text(json!({"t": "sub", "sub": 1, "conv": conversation}).to_string()).await;
    let mut said = String::new();
    loop {
        let text = wire.text().await.expect("a frame").to_string();
        let frame: Value = serde_json::from_str(&text).unwrap();
        if frame["t"] == "snap" {
            said.push_str(&text);
            if frame["more"] != true {
                return said;
            }
        }
    }
}

/// Where what a frozen link shows is.
pub(crate) fn name_in(path: &str) -> String {
    path.strip_prefix("/c/").unwrap().replace("%2E", ".")
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_happens_after_a_frozen_link_was_made_changes_no_byte_of_what_it_shows() {
    let hub = guarded().await;
    let ann = hub.token_for("ann", &["view,publish,export,control:*"]).await;
    publish(&hub, &ann, "c", &turn(1, "")).await;
    // A run that goes on is shown as cut off there.
    let open = json!([{"k": "run.start", "run": "open"}, {"k": "part.start", "run": "open", "part": "o", "kind": "text"},
                      {"k": "part.delta", "run": "open", "part": "o", "text": "half of it"}]);
    publish(&hub, &ann, "c", &open).await;
    let link = made(&hub, &ann, json!({"conversation": "c", "frozen": true})).await;
    let (guest, to) = followed(&hub, &link).await;
    let name = name_in(&to);
    let hashes = vec![hash_of(&hub, &ann, "c", 1).await];
    let before = all_of(&hub, &guest, &name, &hashes, "half of it").await;
    assert!(before["history"].contains("half of it") && before["socket"].contains("answer-1"));
    let view: Value = serde_json::from_str(
        before[&format!("/v1/conversations/{name}")].split_once(' ').unwrap().1.trim_start_matches("OK "),
    )
    .unwrap();
    assert_eq!(view["runs"]["open"]["status"], "interrupted");

    publish(
        &hub,
        &ann,
        "c",
        &json!([{"k": "part.delta", "run": "open", "part": "o", "text": " canary-late"}]),
    )
    .await;
    publish(&hub, &ann, "c", &turn(2, "canary-late")).await;
    // The first message again, with another text.
    publish(
        &hub,
        &ann,
        "c",
        &json!([{"k": "message", "message": "m1", "role": "user", "text": "canary-late"}]),
    )
    .await;
    let label = json!({"id": "1", "command": "label", "title": "canary-late", "note": "canary-late"});
    let labelled =
        hub.request("POST", "/v1/conversations/c/commands").bearer_auth(&ann).body(label.to_string());
    assert!(labelled.send().await.unwrap().status().is_success());
    let late = hash_of(&hub, &ann, "c", 2).await;
    let after = all_of(&hub, &guest, &name, &hashes, "half of it").await;
    for (path, told) in &before {
        assert_eq!(after.get(path), Some(told), "{path}");
        assert!(!told.contains("canary-late"));
    }
    let asks = async |path: &str| browser().get(hub.url(path)).header("cookie", &guest).send().await.unwrap();
    for path in [
        "/v1/conversations/c",
        "/v1/conversations/c/events",
        "/c/other",
        &format!("/v1/conversations/c/results/{late}"),
    ] {
        let seen = asks(path).await;
        assert!(seen.status() == 403 || path.starts_with("/c/"), "{path}: the original is not open to them");
    }
    assert_eq!(asks(&format!("/v1/conversations/{name}/results/{late}")).await.status(), 410);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_to_one_turn_shows_that_turn_and_nothing_of_the_others() {
    let hub = guarded().await;
    let ann = hub.token_for("ann", &["view,publish,export,control:*"]).await;
    for number in 1..=3 {
        publish(&hub, &ann, "c", &turn(number, "")).await;
    }
    let label = json!({"id": "1", "command": "label", "title": "title-1 of all", "note": "answer-3"});
    let labelled =
        hub.request("POST", "/v1/conversations/c/commands").bearer_auth(&ann).body(label.to_string());
    assert!(labelled.send().await.unwrap().status().is_success());
    let none = wish(&hub, &ann, &json!({"conversation": "c", "turn": "m9", "frozen": true})).await;
    assert_eq!(refusal(none).await, (404, "not_found".to_owned()));
    let link = made(&hub, &ann, json!({"conversation": "c", "turn": "m2", "frozen": true})).await;
    let rows = get(&hub, &ann, "/v1/shares?conversation=c").await.json::<Value>().await.unwrap();
    assert_eq!(rows["shares"][0]["frozen"]["turn"], "m2", "{rows}");
    let (guest, to) = followed(&hub, &link).await;
    let name = name_in(&to);
    let mut hashes = Vec::new();
    for number in 1..=3 {
        hashes.push(hash_of(&hub, &ann, "c", number).await);
    }
    let all = all_of(&hub, &guest, &name, &hashes, "answer-2").await;
    let heard = all.values().cloned().collect::<String>();
    for own in ["question-2", "answer-2", "result-2", "title-2", "custom-2", "tool_2"] {
        assert!(heard.contains(own), "{own}");
    }
    for (path, told) in &all {
        for other in [1, 3] {
            for word in ["question", "answer", "result", "title", "custom"] {
                assert!(!told.contains(&format!("{word}-{other}")), "{path}: {word}-{other} in {told}");
            }
            assert!(!told.contains(&format!("tool_{other}")), "{path}");
            assert!(
                !told.contains(&format!("\"r{other}\"")) && !told.contains(&format!("\"m{other}\"")),
                "{path}: {told}"
            );
        }
    }
    let history = all["history"].lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let seqs = history.map(|event| event["seq"].as_u64().unwrap()).collect::<Vec<_>>();
    assert_eq!(seqs, (1..=seqs.len() as u64).collect::<Vec<_>>(), "how much came before is not told either");
}

/// The names of copies that the list has.
async fn copies(hub: &TestHub, token: &str) -> Vec<String> {
    let list: Value =
        get(hub, token, "/v1/conversations?archived=only&tag=frozen-link").await.json().await.unwrap();
    let names = list["conversations"].as_array().unwrap().iter();
    names.map(|row| row["conversation"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_frozen_link_shows_goes_with_the_link_and_with_the_conversation() {
    let hub = guarded().await;
    let admin = hub.token_for("admin", &["admin"]).await;
    for name in ["c", "d"] {
        publish(&hub, &admin, name, &turn(1, "canary-erased")).await;
    }
    let mut links = Vec::new();
    for name in ["c", "c", "d"] {
        links.push(made(&hub, &admin, json!({"conversation": name, "frozen": true})).await);
    }
    let list: Value = get(&hub, &admin, "/v1/conversations").await.json().await.unwrap();
    assert_eq!(list["conversations"].as_array().unwrap().len(), 2, "the list does not have them: {list}");
    assert_eq!(copies(&hub, &admin).await.len(), 3);
    let found: Value = get(&hub, &admin, "/v1/search?q=canary*&archived=all").await.json().await.unwrap();
    let found =
        found["hits"].as_array().unwrap().iter().filter(|hit| hit.to_string().contains("fanlight.frozen."));
    assert_eq!(found.count(), 0, "the search finds the original alone");
    // A link is revoked: its copy goes.
    let path = format!("/v1/shares/{}", links[0]["id"].as_str().unwrap());
    assert_eq!(hub.request("DELETE", &path).bearer_auth(&admin).send().await.unwrap().status(), 204);
    until("the copy to go", async || (copies(&hub, &admin).await.len() == 2).then_some(())).await;
    // The conversation is deleted: links and copies go before the answer.
    let (guest, to) = followed(&hub, &links[1]).await;
    assert_eq!(
        hub.request("DELETE", "/v1/conversations/c").bearer_auth(&admin).send().await.unwrap().status(),
        204
    );
    assert_eq!(copies(&hub, &admin).await.len(), 1);
    assert_eq!(opens(&hub, url(&links[1]), &[]).await.status(), 401);
    let seen = format!("/v1/conversations/{}", name_in(&to));
    let seen = browser().get(hub.url(&seen)).header("cookie", &guest).send().await.unwrap();
    assert_eq!(seen.status(), 401, "who looked at it is cut off");
    followed(&hub, &links[2]).await;
    // A copy that is deleted takes its link along.
    let last = copies(&hub, &admin).await.remove(0);
    let path = format!("/v1/conversations/{last}");
    assert_eq!(hub.request("DELETE", &path).bearer_auth(&admin).send().await.unwrap().status(), 204);
    assert_eq!(opens(&hub, url(&links[2]), &[]).await.status(), 401);
    let rows = get(&hub, &admin, "/v1/shares").await.json::<Value>().await.unwrap();
    assert_eq!(rows["shares"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_frozen_link_outlives_the_hub_and_a_link_whose_conversation_is_gone_does_not() {
    let mut hub = guarded().await;
    let admin = hub.token_for("admin", &["admin"]).await;
    publish(&hub, &admin, "c", &turn(1, "")).await;
    let link = made(&hub, &admin, json!({"conversation": "c", "frozen": true, "for": "Dan"})).await;
    let (guest, to) = followed(&hub, &link).await;
    let before = over_socket(&hub, &guest, &name_in(&to)).await;
    hub.restart().await;
    until("the hub to be there", async || {
        get(&hub, &admin, "/v1/access").await.status().is_success().then_some(())
    })
    .await;
    let (guest, to) = followed(&hub, &link).await;
    let view = |frame: &str| serde_json::from_str::<Value>(frame).unwrap()["state"].take();
    assert!(before.contains("answer-1"), "{before}");
    assert_eq!(view(&over_socket(&hub, &guest, &name_in(&to)).await), view(&before));
    let rows = get(&hub, &admin, "/v1/shares?conversation=c").await.json::<Value>().await.unwrap();
    assert_eq!(rows["shares"][0]["for"], "Dan", "{rows}");
}

#[tokio::test(flavor = "multi_thread")]
async fn retention_passes_over_copies_and_whoever_takes_a_name_again_does_not_get_its_links() {
    let folder = tempfile::tempdir().unwrap();
    let log = format!("sqlite:{}", folder.path().join("log.db").display());
    let mut hub = TestHub::start_with(&["--access", "tokens", "--log", &log]).await;
    let admin = hub.token_for("admin", &["admin"]).await;
    for name in ["c", "d"] {
        publish(&hub, &admin, name, &turn(1, "")).await;
    }
    let again = made(&hub, &admin, json!({"conversation": "c", "frozen": true})).await;
    let gone = made(&hub, &admin, json!({"conversation": "d", "frozen": true})).await;
    followed(&hub, &again).await;
    assert_eq!(hub.stop().await, Some(0));
    // Both are removed, and one of the names is taken again before anybody looks at the links. Without access control, and with no links beside its
    // log, the hub cannot tell which copies are over, so it leaves them.
    let mut other = TestHub::start_with(&["--log", &log, "--retain-conversations", "0"]).await;
    let told = other.json_until("/v1/conversations", |list| list["conversations"] == json!([])).await;
    assert_eq!(told["conversations"], json!([]));
    let list = "/v1/conversations?archived=only&tag=frozen-link";
    assert_eq!(other.json(list).await["conversations"].as_array().unwrap().len(), 2);
    publish(&other, "", "c", &turn(2, "")).await;
    assert_eq!(other.stop().await, Some(0));
    hub.start_again().await;
    until("the links to go", async || {
        let rows: Value = get(&hub, &admin, "/v1/shares").await.json().await.ok()?;
        (rows["shares"] == json!([])).then_some(())
    })
    .await;
    until("the copies to go", async || copies(&hub, &admin).await.is_empty().then_some(())).await;
    for link in [&again, &gone] {
        assert_eq!(opens(&hub, url(link), &[]).await.status(), 401);
    }
    let kept = get(&hub, &admin, "/v1/conversations/c").await.text().await.unwrap();
    assert!(kept.contains("answer-2"), "the new one stays: {kept}");
}

#[tokio::test(flavor = "multi_thread")]
async fn copies_whose_links_are_over_go_while_access_control_is_off_and_the_others_stay() {
    let folder = tempfile::tempdir().unwrap();
    let log = format!("sqlite:{}", folder.path().join("log.db").display());
    let mut hub = TestHub::start_with(&["--access", "tokens", "--log", &log]).await;
    let admin = hub.token_for("admin", &["admin"]).await;
    publish(&hub, &admin, "c", &turn(1, "")).await;
    let stays = made(&hub, &admin, json!({"conversation": "c", "frozen": true})).await;
    made(&hub, &admin, json!({"conversation": "c", "frozen": true, "expires_s": 3})).await;
    let (_, to) = followed(&hub, &stays).await;
    assert_eq!(hub.stop().await, Some(0));
    std::fs::copy(hub.folder().join("shares.json"), folder.path().join("shares.json")).unwrap();
    // It is over by now or soon; a hub that starts later than that finds it over at its first look.
    until("the short link to be over", async || {
        let links = std::fs::read_to_string(folder.path().join("shares.json")).ok()?;
        let links: Value = serde_json::from_str(&links).ok()?;
        let ends = links.as_array()?.iter().filter_map(|link| link["expires"].as_u64()).min()?;
        (event_log::clock::now_ms() > ends).then_some(())
    })
    .await;
    let open = TestHub::start_with(&["--log", &log]).await;
    let list = "/v1/conversations?archived=only&tag=frozen-link";
    let left = open.json_until(list, |list| list["conversations"].as_array().unwrap().len() == 1).await;
    assert_eq!(left["conversations"][0]["conversation"], name_in(&to));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pattern_of_names_opens_no_copy_and_a_fork_of_a_copy_has_a_name_like_others() {
    let hub = guarded().await;
    let admin = hub.token_for("admin", &["admin"]).await;
    let fay = hub.token_for("fay", &["view,export:f*"]).await;
    publish(&hub, &admin, "c", &turn(1, "")).await;
    made(&hub, &admin, json!({"conversation": "c", "frozen": true})).await;
    let copy = copies(&hub, &admin).await.remove(0);
    let path = format!("/v1/conversations/{copy}");
    assert_eq!(refusal(get(&hub, &fay, &path).await).await, forbidden());
    assert_eq!(copies(&hub, &fay).await, Vec::<String>::new());
    let fork = json!({"id": "1", "command": "fork"}).to_string();
    let path = format!("{path}/commands");
    let forked = hub.request("POST", &path).bearer_auth(&admin).body(fork).send();
    let forked = patiently("a fork", forked).await.unwrap();
    let (status, told) = (forked.status(), forked.text().await.unwrap());
    assert!(status.is_success() && !told.contains("\"fanlight.frozen."), "{status}: {told}");
}
