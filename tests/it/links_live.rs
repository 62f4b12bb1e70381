//! Live links to one turn: whoever follows one sees the turn as it comes, nothing else, until its runs end.

use serde_json::{Value, json};
use tests::TestHub;
use tests::wait::{patiently, until, within};
use tests::wire::WebSocketWire;

use super::access::{get, guarded, refusal};
use super::access_page::browser;
use super::access_roles::with_roles;
use super::links::{followed, made, name_in, publish, turn, wish};

/// A question, and a run that has begun to answer it.
pub(crate) fn begun(number: usize) -> Value {
    let (message, run, part) = (format!("m{number}"), format!("r{number}"), format!("p{number}"));
    json!([
        {"k": "message", "message": message, "role": "user", "text": format!("question-{number}")},
        {"k": "run.start", "run": run, "title": format!("title-{number}")},
        {"k": "part.start", "run": run, "part": part, "kind": "text"},
        {"k": "part.delta", "run": run, "part": part, "text": format!("first-{number} ")},
    ])
}

/// More of the answer of that run.
pub(crate) fn more(number: usize, text: &str) -> Value {
    json!([{"k": "part.delta", "run": format!("r{number}"), "part": format!("p{number}"), "text": text}])
}

/// The end of that run.
pub(crate) fn ended(number: usize) -> Value {
    let (run, part) = (format!("r{number}"), format!("p{number}"));
    json!([{"k": "part.end", "run": run, "part": part}, {"k": "run.end", "run": run, "status": "complete"}])
}

/// Somebody who follows a link over a socket, and all that they were told.
pub(crate) struct Watcher {
    wire: WebSocketWire,
    /// The frames, one after the other.
    pub(crate) told: String,
}

impl Watcher {
    /// Watches `conversation` as whoever has this cookie.
    pub(crate) async fn begin(hub: &TestHub, cookie: &str, conversation: &str) -> Self {
        let mut wire = WebSocketWire::connect_with_cookie(hub.address(), cookie).await;
        wire.send_text(r#"{"t":"hello","versions":["1"]}"#.to_owned()).await;
        wire.send_text(json!({"t": "sub", "sub": 1, "conv": conversation}).to_string()).await;
        Self { wire, told: String::new() }
    }

    /// Reads until `word` was said.
    pub(crate) async fn hears(&mut self, word: &str) {
        within(word, async {
            while !self.told.contains(word) {
                let text = self.wire.text().await.unwrap_or_else(|end| panic!("{end:?} after {}", self.told));
                self.told.push_str(&text);
                self.told.push('\n');
            }
        })
        .await;
    }

    /// Reads until the socket ends; the code with which it does.
    async fn end(mut self) -> Option<u16> {
        self.wire.end().await.0
    }
}

/// The state of the copy as whoever has this cookie gets it.
async fn state(hub: &TestHub, cookie: &str, conversation: &str) -> Value {
    let path = format!("/v1/conversations/{conversation}");
    let asked = browser().get(hub.url(&path)).header("cookie", cookie).send();
    patiently("the state", asked).await.unwrap().json().await.unwrap()
}

/// Waits until the run `run` of the copy has this status, and returns the state.
async fn comes_to(hub: &TestHub, cookie: &str, conversation: &str, (run, status): (&str, &str)) -> Value {
    until(status, async || {
        let state = state(hub, cookie, conversation).await;
        (state["runs"][run]["status"] == status).then_some(state)
    })
    .await
}

/// Fails if `told` has something of turns whose words and names end or are like this.
fn shows_none_of(told: &str, others: &[&str]) {
    for other in others {
        let words = ["canary", "first", "question"].map(|word| format!("{word}{other}"));
        assert!(!told.contains(&format!("\"{other}\"")), "{other}");
        assert!(words.iter().all(|word| !told.contains(word)), "{told}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_follows_a_live_link_to_a_turn_sees_it_come_and_end_and_nothing_of_a_run_beside_it() {
    let hub = guarded().await;
    let ann = hub.token_for("ann", &["view,publish,export,control:*"]).await;
    publish(&hub, &ann, "c", &turn(1, "")).await;
    publish(&hub, &ann, "c", &begun(2)).await;
    let over = wish(&hub, &ann, &json!({"conversation": "c", "turn": "m1"})).await;
    let (status, why) = (over.status(), over.text().await.unwrap());
    assert!(status == 400 && why.contains("no run of this turn goes on"), "{why}");
    let missing = wish(&hub, &ann, &json!({"conversation": "c", "turn": "m9"})).await;
    assert_eq!(refusal(missing).await, (404, "not_found".to_owned()));
    let absent = wish(&hub, &ann, &json!({"conversation": "absent", "turn": "m1"})).await;
    assert_eq!(refusal(absent).await, (404, "unknown_conversation".to_owned()));

    let link = made(&hub, &ann, json!({"conversation": "c", "turn": "m2", "for": "Dan"})).await;
    let rows = get(&hub, &ann, "/v1/shares?conversation=c").await.json::<Value>().await.unwrap();
    assert_eq!((&rows["shares"][0]["turn"], &rows["shares"][0]["frozen"]), (&json!("m2"), &Value::Null));
    let (guest, to) = followed(&hub, &link).await;
    let name = name_in(&to);
    let told = browser().get(hub.url("/v1/access")).header("cookie", &guest).send().await.unwrap();
    let told = told.json::<Value>().await.unwrap()["link"].take();
    assert_eq!((&told["frozen"], &told["one_turn"]), (&json!(false), &json!(true)), "{told}");
    let mut watcher = Watcher::begin(&hub, &guest, &name).await;
    watcher.hears("first-2").await;
    assert!(!watcher.told.contains("second-2"));

    // Each piece comes before the next one is said, with a turn beside it that is not shown.
    publish(&hub, &ann, "c", &begun(3)).await;
    for piece in ["second-2 ", "third-2 "] {
        publish(&hub, &ann, "c", &more(2, piece)).await;
        watcher.hears(piece.trim()).await;
        publish(&hub, &ann, "c", &more(3, piece.replace('2', "3").as_str())).await;
    }
    let large = format!("large-2 {}", "0123456789abcdef\n".repeat(20 << 10));
    let call = json!([
        {"k": "tool.call", "run": "r2", "tool": "t2", "name": "tool_2", "arguments": "{}"},
        {"k": "tool.result", "run": "r2", "tool": "t2", "output": large},
        {"k": "agent.start", "run": "r2", "agent": "a2", "name": "helper-2"},
        {"k": "part.start", "run": "r2", "agent": "a2", "part": "q2", "kind": "text"},
        {"k": "part.delta", "run": "r2", "agent": "a2", "part": "q2", "text": "of-the-helper-2"},
        {"k": "agent.end", "run": "r2", "agent": "a2", "status": "complete"},
        {"k": "message", "message": "m2", "role": "user", "run": "r3", "text": "canary-3"},
    ]);
    publish(&hub, &ann, "c", &call).await;
    let label = json!({"id": "1", "command": "label", "title": "canary-3", "note": "canary-3"});
    let path = "/v1/conversations/c/commands";
    let labelled = hub.request("POST", path).bearer_auth(&ann).body(label.to_string()).send();
    assert!(patiently("a label", labelled).await.unwrap().status().is_success());
    watcher.hears("of-the-helper-2").await;
    publish(&hub, &ann, "c", &ended(2)).await;
    watcher.hears("run.end").await;
    let end = comes_to(&hub, &guest, &name, ("r2", "complete")).await;
    assert_eq!(end["runs"]["r2"]["parts"]["p2"]["text"], "first-2 second-2 third-2 ", "{end}");

    // It is frozen now, also where the run goes on by itself, and the result is there as a whole.
    publish(&hub, &ann, "c", &json!([{"k": "status", "run": "r2", "text": "canary-3"}])).await;
    publish(&hub, &ann, "c", &ended(3)).await;
    let hash = end["runs"]["r2"]["tools"]["t2"]["result_ref"]["hash"].as_str().unwrap();
    let result = browser().get(hub.url(&format!("/v1/conversations/{name}/results/{hash}")));
    let result = result.header("cookie", &guest).send().await.unwrap().text().await.unwrap();
    assert!(result.starts_with("\"large-2") && result.len() > large.len(), "{}", result.len());
    let all = format!("{} {}", watcher.told, state(&hub, &guest, &name).await);
    shows_none_of(&all, &["-3", "r3", "m3", "-1", "r1", "m1"]);
    // The copy has what the original has of the run, with the same times.
    let original = get(&hub, &ann, "/v1/conversations/c").await.json::<Value>().await.unwrap();
    for field in ["started_at", "ended_at", "items", "tools", "agents"] {
        assert_eq!(end["runs"]["r2"][field], original["runs"]["r2"][field], "{field}");
    }
    let found = get(&hub, &ann, "/v1/search?q=large*&archived=all").await.text().await.unwrap();
    assert!(!found.contains("fanlight.frozen."), "the search finds the original alone: {found}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_live_link_to_a_turn_goes_on_after_a_restart_with_what_was_missed() {
    let mut hub = guarded().await;
    let ann = hub.token_for("ann", &["view,publish,export:*"]).await;
    publish(&hub, &ann, "c", &begun(1)).await;
    let link = made(&hub, &ann, json!({"conversation": "c", "turn": "m1"})).await;
    let (guest, to) = followed(&hub, &link).await;
    let name = name_in(&to);
    let mut watcher = Watcher::begin(&hub, &guest, &name).await;
    publish(&hub, &ann, "c", &more(1, "before ")).await;
    watcher.hears("before").await;
    // The last words before the end come at the copy or not; nothing is said twice either way.
    for killed in [false, true] {
        let path = "/v1/conversations/c/events?durability=synced";
        let said = more(1, if killed { "killed " } else { "stopped " }).to_string();
        let said = hub.request("POST", path).bearer_auth(&ann).body(said).send();
        assert!(patiently("the last words", said).await.unwrap().status().is_success());
        if killed {
            hub.kill().await;
            hub.start_again().await;
        } else {
            hub.restart().await;
        }
        until("the hub to be there", async || {
            get(&hub, &ann, "/v1/access").await.status().is_success().then_some(())
        })
        .await;
        publish(&hub, &ann, "c", &more(1, "again ")).await;
    }
    let (guest, _) = followed(&hub, &link).await;
    let mut watcher = Watcher::begin(&hub, &guest, &name).await;
    publish(&hub, &ann, "c", &more(1, "after")).await;
    watcher.hears("after").await;
    publish(&hub, &ann, "c", &ended(1)).await;
    let end = comes_to(&hub, &guest, &name, ("r1", "complete")).await;
    let text = &end["runs"]["r1"]["parts"]["p1"]["text"];
    assert_eq!(text, "first-1 before stopped again killed again after", "{end}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_live_link_that_is_revoked_while_its_turn_runs_cuts_off_and_goes_with_its_copy() {
    let hub = guarded().await;
    let admin = hub.token_for("admin", &["admin"]).await;
    publish(&hub, &admin, "c", &begun(1)).await;
    let copies = async || {
        let list = "/v1/conversations?archived=only&tag=frozen-link";
        let list: Value = get(&hub, &admin, list).await.json().await.unwrap();
        list["conversations"].as_array().unwrap().len()
    };
    let revoked = made(&hub, &admin, json!({"conversation": "c", "turn": "m1"})).await;
    let deleted = made(&hub, &admin, json!({"conversation": "c", "turn": "m1"})).await;
    let short = made(&hub, &admin, json!({"conversation": "c", "turn": "m1", "expires_s": 2})).await;
    let mut watchers = Vec::new();
    for link in [&short, &revoked, &deleted] {
        let (guest, to) = followed(&hub, link).await;
        watchers.push((guest.clone(), Watcher::begin(&hub, &guest, &name_in(&to)).await));
    }
    assert_eq!(copies().await, 3);
    let (_, expired) = watchers.remove(0);
    assert_eq!(expired.end().await, Some(4401), "its time is over");
    publish(&hub, &admin, "c", &more(1, "second")).await;
    for (_, watcher) in &mut watchers {
        watcher.hears("second").await;
    }
    let path = format!("/v1/shares/{}", revoked["id"].as_str().unwrap());
    assert_eq!(hub.request("DELETE", &path).bearer_auth(&admin).send().await.unwrap().status(), 204);
    let (_, cut) = watchers.remove(0);
    assert_eq!(cut.end().await, Some(4401));
    until("the copies of links that are over to go", async || (copies().await == 1).then_some(())).await;
    publish(&hub, &admin, "c", &more(1, "third")).await;
    watchers[0].1.hears("third").await;
    // The conversation goes, and the name begins anew: nothing of that comes.
    let path = "/v1/conversations/c?force=true";
    assert_eq!(hub.request("DELETE", path).bearer_auth(&admin).send().await.unwrap().status(), 204);
    publish(&hub, &admin, "c", &begun(1)).await;
    let (_, last) = watchers.remove(0);
    assert!(!last.told.contains("fourth"));
    assert_eq!(last.end().await, Some(4401));
    assert_eq!(copies().await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_live_link_to_a_turn_hides_what_its_role_hides_and_nobody_writes_to_its_copy() {
    let hub = with_roles().await;
    let admin = hub.token_for("admin", &["admin"]).await;
    publish(&hub, &admin, "c", &begun(1)).await;
    let link = made(&hub, &admin, json!({"conversation": "c", "turn": "m1", "role": "guest"})).await;
    let (guest, to) = followed(&hub, &link).await;
    let name = name_in(&to);
    let mut watcher = Watcher::begin(&hub, &guest, &name).await;
    let secret = json!([
        {"k": "part.start", "run": "r1", "part": "h1", "kind": "thinking"},
        {"k": "part.delta", "run": "r1", "part": "h1", "text": "canary-thought"},
        {"k": "part.end", "run": "r1", "part": "h1"},
        {"k": "tool.call", "run": "r1", "tool": "t1", "name": "tool_1", "arguments": "{\"a\":\"canary-argument\"}"},
        {"k": "tool.result", "run": "r1", "tool": "t1", "output": "canary-result"},
    ]);
    publish(&hub, &admin, "c", &secret).await;
    publish(&hub, &admin, "c", &more(1, "seen")).await;
    watcher.hears("seen").await;
    assert!(!watcher.told.contains("canary"), "{}", watcher.told);
    for body in [more(1, "forged"), ended(1)] {
        let path = format!("/v1/conversations/{name}/events");
        let sent = hub.request("POST", &path).bearer_auth(&admin).body(body.to_string()).send();
        assert_eq!(refusal(patiently("a forgery", sent).await.unwrap()).await.0, 403, "while it goes on too");
    }
    publish(&hub, &admin, "c", &ended(1)).await;
    watcher.hears("run.end").await;
    assert!(!watcher.told.contains("forged") && !watcher.told.contains("canary"));
}
