//! Conversations that an operator deletes: gone from memory, lists, searches and files, and their names begin anew.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tests::TestHub;
use tests::wait::within;
use tests::wire::WebSocketWire;

use super::access::{forbidden, get, guarded, refusal, tell};

/// A word that nothing else has.
const SECRET: &str = "zanzibarquux";

/// A result that is too large for its event, and the same in both conversations.
fn shared_result() -> String {
    "0123456789abcde\n".repeat(17 << 10)
}

/// Publishes a run with `text` in all that a run has.
async fn run(hub: &TestHub, conversation: &str, run: &str, text: &str) {
    let events = json!([
        { "k": "message", "message": format!("m-{run}"), "role": "user", "text": text },
        { "k": "run.start", "run": run, "title": text },
        { "k": "part.start", "run": run, "part": "p", "kind": "text" },
        { "k": "part.delta", "run": run, "part": "p", "text": format!("{text} is said") },
        { "k": "part.end", "run": run, "part": "p" },
        { "k": "tool.call", "run": run, "tool": "t", "name": "query", "arguments": json!({ "of": text }).to_string() },
        { "k": "tool.result", "run": run, "tool": "t", "output": { "rows": shared_result() } },
        { "k": "tool.call", "run": run, "tool": "u", "name": "query", "arguments": "{}" },
        { "k": "tool.result", "run": run, "tool": "u", "output": { "rows": text.repeat(6_000) } },
        { "k": "run.end", "run": run, "status": "complete" },
    ]);
    let path = format!("/v1/conversations/{conversation}/events");
    let request = hub.request("POST", &path).header("fanlight-durability", "stored");
    let answer = within(&path, request.body(events.to_string()).send()).await.unwrap();
    assert_eq!(answer.status(), 200, "{}", answer.text().await.unwrap());
}

async fn delete(hub: &TestHub, path: &str) -> (u16, String) {
    let path = format!("/v1/conversations/{path}");
    refusal(within(&path, hub.request("DELETE", &path).send()).await.unwrap()).await
}

/// The files below `folder` in which the word is.
fn holding(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let holds = |path: PathBuf| {
        if path.is_dir() {
            return holding(&path);
        }
        let bytes = std::fs::read(&path).unwrap();
        let is_in = bytes.windows(SECRET.len()).any(|window| window == SECRET.as_bytes());
        if is_in { vec![path] } else { Vec::new() }
    };
    entries.flat_map(holds).collect()
}

async fn listed(hub: &TestHub) -> Vec<String> {
    let list = hub.json("/v1/conversations").await;
    let rows = list["conversations"].as_array().unwrap();
    rows.iter().map(|row| row["conversation"].as_str().unwrap().to_owned()).collect()
}

/// Where the result of the call `tool` is.
async fn result(hub: &TestHub, conversation: &str, run: &str, tool: &str) -> String {
    let view = hub.json(&format!("/v1/conversations/{conversation}")).await;
    let hash = view["runs"][run]["tools"][tool]["result_ref"]["hash"].as_str();
    let hash = hash.unwrap_or_else(|| panic!("no reference in {view}"));
    format!("/v1/conversations/{conversation}/results/{hash}")
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_deleted_is_in_no_list_no_search_and_no_file_and_others_have_what_they_had() {
    let hub = TestHub::start_with(&["--log", "sqlite"]).await;
    for number in 0..12 {
        run(&hub, "gone", &format!("r{number}"), SECRET).await;
        run(&hub, "stays", &format!("r{number}"), "harmless").await;
    }
    let found =
        async |word: &str| hub.json(&format!("/v1/search?q={word}")).await["hits"].as_array().unwrap().len();
    assert!(found(SECRET).await > 0 && !holding(hub.folder()).is_empty());
    let (of_gone, of_stays) = (result(&hub, "gone", "r0", "t").await, result(&hub, "stays", "r0", "t").await);

    assert_eq!(delete(&hub, "gone").await.0, 204);
    assert_eq!(holding(hub.folder()), Vec::<PathBuf>::new());
    assert_eq!(listed(&hub).await, ["stays"]);
    assert_eq!(found(SECRET).await, 0);
    assert!(found("harmless").await > 0);
    for path in ["/v1/conversations/gone", "/v1/conversations/gone/export/md", &of_gone] {
        let answer = hub.request("GET", path).send().await.unwrap();
        assert!(matches!(answer.status().as_u16(), 404 | 410), "{path}: {}", answer.status());
    }
    let kept = hub.request("GET", &of_stays).send().await.unwrap();
    assert_eq!(kept.json::<Value>().await.unwrap()["rows"], shared_result());
    assert_eq!(hub.summary("stays").await["runs"].as_array().map(Vec::len), Some(12));
    assert_eq!(delete(&hub, "gone").await, (404, "unknown_conversation".into()));
    assert_eq!(delete(&hub, "never").await, (404, "unknown_conversation".into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_deleted_stays_gone_after_a_restart() {
    let mut hub = TestHub::start_with(&["--log", "sqlite"]).await;
    run(&hub, "gone", "r", SECRET).await;
    run(&hub, "stays", "r", "harmless").await;
    // Read back from the log.
    assert_eq!(hub.stop().await, Some(0));
    hub.start_again().await;
    assert_eq!(delete(&hub, "gone").await.0, 204);
    hub.restart().await;
    assert_eq!(listed(&hub).await, ["stays"]);
    assert_eq!(holding(hub.folder()), Vec::<PathBuf>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn viewers_and_lists_are_told_and_the_name_begins_in_a_new_epoch() {
    let hub = TestHub::start().await;
    run(&hub, "c", "r1", SECRET).await;
    run(&hub, "d", "r1", "harmless").await;
    let mut viewer = hub.view("c").await;
    viewer.live().await;
    let before = viewer.epoch();
    let mut list = WebSocketWire::connect(hub.address()).await;
    list.send_text(String::from(r#"{"t":"watch","sub":7}"#)).await;
    let mut until = async |wanted: &dyn Fn(&Value) -> bool| {
        loop {
            let frame: Value = serde_json::from_str(&list.text().await.unwrap()).unwrap();
            if frame["t"] == "fleet" && wanted(&frame) {
                return;
            }
        }
    };
    let has = |frame: &Value, name: &str| {
        frame["rows"].as_array().unwrap().iter().any(|row| row["conversation"] == name)
    };
    until(&|frame| has(frame, "c") && has(frame, "d")).await;

    assert_eq!(delete(&hub, "c").await.0, 204);
    // At once, and again when no list that is read from the log has it.
    for _ in 0..2 {
        until(&|frame| frame["gone"] == json!(["c"]) && frame["full"] == false && !has(frame, "c")).await;
    }
    viewer.until(|view| view.seq == 0).await;
    assert!(viewer.view().runs.is_empty() && viewer.epoch() != before);

    run(&hub, "c", "r2", "anew").await;
    viewer.until(|view| view.runs.values().any(|run| !run.is_running())).await;
    assert_eq!(viewer.hash(), hub.view_hash("c").await);
    assert_eq!(viewer.view().runs.len(), 1);
    until(&|frame| has(frame, "c")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_goes_on_is_in_the_way_unless_it_is_forced() {
    let hub = TestHub::start_in_memory().await;
    let mut publisher = hub.publisher("c").await;
    publisher.says(r#"{"k":"run.start","run":"r"}"#).await;
    assert_eq!(delete(&hub, "c").await, (409, "still_running".into()));
    assert_eq!(listed(&hub).await, ["c"]);
    assert_eq!(delete(&hub, "c?force=true").await.0, 204);
    assert_eq!(listed(&hub).await, Vec::<String>::new());
    assert_eq!(delete(&hub, "c?force=perhaps").await.0, 400);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_who_administers_deletes_and_who_did_is_noted_and_links_end() {
    let hub = guarded().await;
    let admin = hub.token_for("operator", &["admin"]).await;
    let ann = hub.token_for("ann", &["view,publish,control,export,import:*"]).await;
    assert!(tell(&hub, &ann, "c", "a word").await.status().is_success());
    assert!(tell(&hub, &ann, "d", "a word").await.status().is_success());
    for name in ["c", "d"] {
        let wish = json!({ "conversation": name }).to_string();
        let made = hub.request("POST", "/v1/shares").bearer_auth(&ann).body(wish).send().await.unwrap();
        assert!(made.status().is_success());
    }
    let delete = async |token: &str| {
        let path = "/v1/conversations/c";
        within(path, hub.request("DELETE", path).bearer_auth(token).send()).await.unwrap()
    };
    assert_eq!(refusal(delete(&ann).await).await, forbidden());
    assert!(get(&hub, &ann, "/v1/conversations/c").await.status().is_success());
    assert_eq!(delete(&admin).await.status(), 204);
    assert_eq!(get(&hub, &ann, "/v1/conversations/c").await.status(), 404);
    let shares: Value = get(&hub, &ann, "/v1/shares").await.json().await.unwrap();
    let shared: Vec<_> = shares["shares"].as_array().unwrap().iter().map(|it| &it["conversation"]).collect();
    assert_eq!(shared, ["d"]);
    assert_eq!(delete(&admin).await.status(), 404);
    let page: Value = get(&hub, &admin, "/v1/audit").await.json().await.unwrap();
    let noted: Vec<_> =
        page["entries"].as_array().unwrap().iter().filter(|it| it["deed"] == "delete").collect();
    let [failed, done] = noted[..] else { panic!("{page}") };
    assert_eq!((&done["who"], &done["conversation"]), (&json!("operator"), &json!("c")));
    assert_eq!((&done["failed"], &failed["failed"]), (&Value::Null, &json!("unknown_conversation")));
}
