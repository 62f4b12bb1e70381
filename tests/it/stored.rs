//! What the log on disk is asked over HTTP, and what it still knows after the hub has died.

use serde_json::Value;
use tests::{TestHub, TestPublisher};

pub(crate) const RUN: &str = r#"
    {"k":"message","message":"m1","role":"user","text":"How did revenue change?","run":""}
    {"k":"run.start","run":"r","title":"Quarterly report"}
    {"k":"part.start","part":"p1","kind":"thinking","run":"r"}
    {"k":"part.delta","part":"p1","text":"Look at the ledger first","run":"r"}
    {"k":"part.end","part":"p1","run":"r"}
    {"k":"tool.call","tool":"t1","name":"run_sql","arguments":"{\"query\":\"select revenue\"}","run":"r"}
    {"k":"tool.result","tool":"t1","output":"Umsätze: 42","exec_ms":840,"run":"r"}
    {"k":"part.start","part":"p2","kind":"text","run":"r"}
    {"k":"part.delta","part":"p2","text":"Revenue grew by 8.4 %","run":"r"}
    {"k":"part.end","part":"p2","run":"r"}
    {"k":"run.end","status":"complete","run":"r"}
"#;

pub(crate) async fn hits(hub: &TestHub, query: &str) -> Vec<(String, String)> {
    let found: Value = hub.json(&format!("/v1/search?q={query}")).await;
    let hits = found["hits"].as_array().unwrap_or_else(|| panic!("{query}: {found}"));
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    hits.iter().map(|hit| (text(&hit["kind"]), text(&hit["item"]))).collect()
}

fn pair(kind: &str, item: &str) -> (String, String) {
    (kind.to_owned(), item.to_owned())
}

#[tokio::test]
async fn texts_calls_and_results_are_found_and_still_are_after_a_crash() {
    found_after_a_crash(TestHub::start().await).await;
}

pub(crate) async fn found_after_a_crash(mut hub: TestHub) {
    hub.publisher("c").await.says(RUN).await;
    for _ in 0..2 {
        let revenue = [pair("text", "p2"), pair("arguments", "t1"), pair("message", "m1")];
        assert_eq!(hits(&hub, "revenue").await, revenue, "the newest first");
        assert_eq!(hits(&hub, "umsatze").await, [pair("result", "t1")], "without marks on letters");
        assert_eq!(hits(&hub, "led*").await, [pair("thinking", "p1")]);
        assert_eq!(hits(&hub, "%22revenue+grew%22").await, [pair("text", "p2")]);
        assert_eq!(hits(&hub, "revenue&kind=message").await, [pair("message", "m1")]);
        assert_eq!(hits(&hub, "revenue&conversation=other").await, []);
        assert_eq!(hits(&hub, "%22+AND+(").await, []);
        let tools: Value = hub.json("/v1/tools").await;
        let sql = &tools["tools"][0];
        assert_eq!((sql["name"].as_str(), sql["calls"].as_u64()), (Some("run_sql"), Some(1)));
        let p50 = sql["p50_ms"].as_u64().unwrap();
        assert!((790..=890).contains(&p50), "{p50}");
        hub.restart().await;
    }
}

#[tokio::test]
async fn a_hub_that_stops_keeps_its_epochs_and_one_that_dies_does_not() {
    epochs(TestHub::start().await).await;
}

pub(crate) async fn epochs(mut hub: TestHub) {
    let first = hub.publisher("c").await.says(RUN).await;
    let shown = hub.view_hash("c").await;
    assert_eq!(hub.stop().await, Some(0));
    hub.start_again().await;
    let mut viewer = hub.view("c").await;
    viewer.live().await;
    assert_eq!((viewer.epoch(), viewer.hash()), (first.epoch.clone(), shown.clone()));
    hub.restart().await;
    let mut viewer = hub.view("c").await;
    viewer.live().await;
    assert_ne!(viewer.epoch(), first.epoch, "it may have shown what it had not stored");
    assert_eq!((viewer.view().seq, viewer.hash()), (first.seq, shown));
}

#[tokio::test]
async fn i9_what_was_acked_as_stored_is_there_after_a_kill_and_levels_are_named() {
    acked(TestHub::start().await).await;
}

pub(crate) async fn acked(mut hub: TestHub) {
    for level in ["stored", "synced"] {
        let request = hub.request("POST", &format!("/v1/conversations/{level}/events")).body(RUN);
        let answer = request.header("fanlight-durability", level).send().await.unwrap();
        let answer: Value = answer.json().await.unwrap();
        assert_eq!(answer["durability"], level, "{answer}");
    }
    hub.restart().await;
    for level in ["stored", "synced"] {
        let summary = hub.summary(level).await;
        assert_eq!(summary["runs"][0]["text"], "Revenue grew by 8.4 %", "{level}: {summary}");
    }
}

#[tokio::test]
async fn the_list_has_what_is_in_memory_and_what_is_not_page_by_page() {
    listed(TestHub::start().await).await;
}

pub(crate) async fn listed(mut hub: TestHub) {
    for number in 0..7 {
        hub.publisher(&format!("c{number}")).await.says(RUN).await;
    }
    assert_eq!(hub.stop().await, Some(0));
    hub.start_again().await;
    const NEXT: &str = r#"{"k":"run.start","run":"r2"}"#;
    // Two come back to memory; the others are only in the log.
    for number in [1, 4] {
        // Another publisher: what the first one numbered is known, and would be a duplicate.
        TestPublisher::named("later", hub.address(), &format!("c{number}")).await.says(NEXT).await;
    }
    let (mut names, mut after) = (Vec::new(), String::new());
    loop {
        let page: Value = hub.json(&format!("/v1/conversations?limit=3{after}")).await;
        assert_eq!(page["total"], 7);
        let rows = page["conversations"].as_array().unwrap();
        names.extend(rows.iter().map(|row| row["conversation"].as_str().unwrap().to_owned()));
        let Some(next) = page["next"].as_str() else { break };
        after = format!("&after={next}");
    }
    let mut sorted = names.clone();
    sorted.sort();
    assert_eq!(sorted, ["c0", "c1", "c2", "c3", "c4", "c5", "c6"], "each once");
    assert!(names[..2].contains(&"c1".to_owned()) && names[..2].contains(&"c4".to_owned()), "{names:?}");
}
