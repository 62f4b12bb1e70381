//! Operators put conversations in order: titles, pins, archives, tags and notes, over each door, and what becomes of them.

use event_log::clock::now_ms;
use model::frame::ServerFrame;
use serde_json::{Value, json};
use tests::TestHub;
use tests::wait::until;
use tests::wire::WebSocketWire;

use super::access::{forbidden, get, guarded, refusal};
use super::commands::run;

/// One run, so that the conversation exists and its run says a title.
async fn tell(hub: &TestHub, conversation: &str) {
    let events = json!([
        {"k": "run.start", "run": "r", "title": "of the run"},
        {"k": "run.end", "run": "r", "status": "complete"},
    ]);
    let path = format!("/v1/conversations/{conversation}/events");
    let answer = hub.request("POST", &path).body(events.to_string()).send().await.unwrap();
    assert_eq!(answer.status(), 200);
}

/// Gives the command `label` with the id `id`; status and body of the answer.
async fn label(hub: &TestHub, conversation: &str, id: &str, fields: Value) -> (u16, Value) {
    let mut body = json!({"id": id, "command": "label"});
    body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    let path = format!("/v1/conversations/{conversation}/commands");
    let answer = hub.request("POST", &path).body(body.to_string()).send().await.unwrap();
    (answer.status().as_u16(), answer.json().await.unwrap())
}

/// Gives the command, which must be carried out.
async fn labelled(hub: &TestHub, conversation: &str, id: &str, fields: Value) {
    let (status, answer) = label(hub, conversation, id, fields).await;
    assert_eq!(status, 200, "{answer}");
}

/// The names on the page of the list that `query` asks for, and the place of the next page.
async fn names(hub: &TestHub, query: &str) -> (String, Option<String>) {
    let list = hub.json(&format!("/v1/conversations{query}")).await;
    let rows = list["conversations"].as_array().unwrap();
    let names: Vec<_> = rows.iter().map(|row| row["conversation"].as_str().unwrap()).collect();
    (names.join(" "), list["next"].as_str().map(str::to_owned))
}

async fn listed(hub: &TestHub, query: &str) -> String {
    names(hub, query).await.0
}

async fn row(hub: &TestHub, conversation: &str) -> Value {
    let list = hub.json("/v1/conversations?archived=all").await;
    let rows = list["conversations"].as_array().unwrap();
    rows.iter().find(|row| row["conversation"] == conversation).unwrap().clone()
}

#[tokio::test]
async fn what_operators_make_of_a_conversation_is_in_its_row_and_state_and_outlives_the_hub() {
    let mut hub = TestHub::start().await;
    tell(&hub, "c").await;
    let all =
        json!({"title": " My\n title ", "pinned": true, "tags": ["prod", "nightly"], "note": "look at this"});
    labelled(&hub, "c", "1", all.clone()).await;
    let head = hub.json("/v1/conversations/c").await["seq"].clone();
    labelled(&hub, "c", "1", all).await;
    assert_eq!(hub.json("/v1/conversations/c").await["seq"], head, "an id is carried out once");
    let is_whole = async |hub: &TestHub| {
        let row = row(hub, "c").await;
        assert_eq!((&row["title"], &row["pinned"]), (&json!("My title"), &json!(true)), "{row}");
        assert_eq!((&row["tags"], row.get("archived")), (&json!(["prod", "nightly"]), None), "{row}");
        let label = hub.json("/v1/conversations/c").await["label"].clone();
        assert_eq!(
            (&label["note"], label.get("by")),
            (&json!("look at this"), None),
            "nobody has a name: {label}"
        );
    };
    is_whole(&hub).await;
    hub.restart().await;
    is_whole(&hub).await;
    labelled(&hub, "c", "2", json!({"title": "", "note": "", "tags": [], "pinned": false})).await;
    let row = row(&hub, "c").await;
    assert_eq!(
        (&row["title"], row.get("pinned"), row.get("tags")),
        (&json!("of the run"), None, None),
        "{row}"
    );
    assert_eq!(hub.json("/v1/conversations/c").await.get("label"), None);
}

#[tokio::test]
async fn the_list_has_pinned_ones_first_and_archived_ones_only_when_asked_for() {
    let mut hub = TestHub::start().await;
    for name in ["a", "b", "c", "d", "e"] {
        tell(&hub, name).await;
        let at = row(&hub, name).await["at"].as_u64().unwrap();
        // Rows of the same millisecond stand in the order of their names.
        until("the next millisecond", || async move { (now_ms() > at).then_some(()) }).await;
    }
    labelled(&hub, "b", "1", json!({"pinned": true, "tags": ["x", "yy"]})).await;
    labelled(&hub, "a", "1", json!({"pinned": true, "tags": ["y"]})).await;
    labelled(&hub, "d", "1", json!({"archived": true, "tags": ["x"]})).await;
    tell(&hub, "c").await;
    let is_in_order = async |hub: &TestHub| {
        // What people make of a conversation does not move it: b was at work after a.
        assert_eq!(listed(hub, "").await, "b a c e");
        assert_eq!(listed(hub, "?archived=only").await, "d");
        assert_eq!(listed(hub, "?archived=all").await, "b a c e d");
        assert_eq!(
            (listed(hub, "?pinned=true").await, listed(hub, "?pinned=false").await),
            ("b a".into(), "c e".into())
        );
        assert_eq!((listed(hub, "?tag=x").await, listed(hub, "?tag=y").await), ("b".into(), "a".into()));
        assert_eq!(listed(hub, "?tag=x&archived=all&state=complete").await, "b d");
        for limit in 1..=5 {
            let (mut found, mut query) = (Vec::new(), format!("?limit={limit}"));
            loop {
                let (page, next) = names(hub, &query).await;
                found.extend(page.split_whitespace().map(str::to_owned));
                let Some(next) = next else { break };
                query = format!("?limit={limit}&after={next}");
            }
            assert_eq!(found.join(" "), "b a c e", "in pages of {limit}");
        }
    };
    is_in_order(&hub).await;
    hub.restart().await;
    is_in_order(&hub).await;
    let bad = hub.request("GET", "/v1/conversations?archived=maybe").send().await.unwrap();
    assert_eq!(bad.status(), 400);
}

#[tokio::test]
async fn a_socket_gives_the_command_too_and_viewers_of_the_list_are_told() {
    let hub = TestHub::start().await;
    tell(&hub, "c").await;
    tell(&hub, "d").await;
    let mut list = WebSocketWire::connect(hub.address()).await;
    list.send_text(json!({"t": "watch", "sub": 1}).to_string()).await;
    let ServerFrame::Fleet { full: true, .. } = list.frame().await else { panic!("no list") };
    let mut wire = WebSocketWire::connect(hub.address()).await;
    let command = json!({"id": "1", "command": "label", "archived": true, "tags": ["old"]});
    wire.send_text(json!({"t": "command", "conv": "c", "command": command}).to_string()).await;
    let ServerFrame::Done(done) = wire.frame().await else { panic!("not done") };
    assert_eq!((done.conversation.as_str(), done.run), ("c", None));
    let row = loop {
        let ServerFrame::Fleet { rows, .. } = list.frame().await else { continue };
        if let Some(row) = rows.into_iter().find(|row| row.archived) {
            break row;
        }
    };
    assert_eq!((row.conversation.as_str(), row.tags), ("c", vec!["old".into()]));
}

#[tokio::test]
async fn what_is_too_much_is_refused_by_name_and_changes_nothing() {
    let hub = TestHub::start().await;
    tell(&hub, "c").await;
    let many: Vec<String> = (0..17).map(|number| format!("t{number}")).collect();
    for (number, (fields, why)) in [
        (json!({"tags": many, "pinned": true}), "`tags` has 17 tags, the limit is 16"),
        (json!({"tags": ["two words"]}), "\"two words\", which is no tag"),
        (json!({"note": "x".repeat(4097)}), "`note` has 4097 bytes, the limit is 4096"),
        (json!({"title": "x".repeat(801)}), "`title` has 801 bytes, the limit is 800"),
        (json!({}), "it changes nothing"),
        (json!({"by": "somebody"}), "it changes nothing"),
        (json!({"pinned": "yes"}), "the body is not a command"),
    ]
    .into_iter()
    .enumerate()
    {
        let (status, problem) = label(&hub, "c", &number.to_string(), fields).await;
        assert_eq!((status, &problem["code"]), (400, &json!("bad_request")), "{problem}");
        assert!(problem["detail"].as_str().unwrap().contains(why), "{why}: {problem}");
    }
    let (status, problem) = label(&hub, "nothing", "1", json!({"pinned": true})).await;
    assert_eq!((status, &problem["code"]), (404, &json!("unknown_conversation")), "{problem}");
    assert_eq!(hub.json("/v1/conversations/c").await.get("label"), None);
}

#[tokio::test]
async fn a_publisher_that_writes_a_label_is_not_believed() {
    let hub = TestHub::start().await;
    tell(&hub, "c").await;
    let forged = r#"{"k":"label","title":"forged","pinned":true,"by":"ann","by_hub":true}"#;
    hub.publisher("c").await.says(forged).await;
    let path = "/v1/conversations/c/events";
    let posted = hub.request("POST", path).body(format!("[{forged}]")).send().await.unwrap();
    assert_eq!(posted.status(), 200);
    let view = hub.json("/v1/conversations/c").await;
    assert_eq!((view.get("label"), &view["anomalies"]["total"]), (None, &json!(2)), "{view}");
    let detail = view["anomalies"]["first"][0]["detail"].as_str().unwrap();
    assert!(detail.contains("only the hub writes"), "{detail}");
    assert_eq!(row(&hub, "c").await["title"], "of the run");
}

#[tokio::test]
async fn a_file_and_a_fork_carry_it_and_a_fork_is_neither_pinned_nor_archived() {
    let (hub, other) = (TestHub::start().await, TestHub::start().await);
    tell(&hub, "c").await;
    labelled(
        &hub,
        "c",
        "1",
        json!({"title": "mine", "archived": true, "pinned": true, "tags": ["x"], "note": "n"}),
    )
    .await;
    let view = hub.json("/v1/conversations/c").await;
    let file = hub.request("GET", "/v1/conversations/c/export/native").send().await.unwrap();
    let file = file.bytes().await.unwrap();
    let imported = run(&["import", "--url", &other.url("")], &file).await;
    assert!(imported.status.success(), "{imported:?}");
    let copy = other.json("/v1/conversations/c").await;
    assert_eq!(copy["label"], view["label"]);
    assert_eq!(listed(&other, "?archived=only&tag=x").await, "c");
    let fork = json!({"id": "f", "command": "fork", "into": "d"}).to_string();
    let forked = hub.request("POST", "/v1/conversations/c/commands").body(fork).send().await.unwrap();
    assert_eq!(forked.status(), 200);
    let row = row(&hub, "d").await;
    assert_eq!((row.get("pinned"), row.get("archived")), (None, None), "{row}");
    assert_eq!((&row["title"], &row["tags"]), (&json!("mine"), &json!(["x"])), "{row}");
}

#[tokio::test(flavor = "multi_thread")]
async fn it_takes_the_grant_to_control_and_the_name_of_who_did_it_is_there() {
    let hub = guarded().await;
    let ann = hub.token_for("ann", &["view,publish,control:*"]).await;
    let eve = hub.token_for("eve", &["view,publish,export:*"]).await;
    let guest = hub.token_for("far", &["control:other"]).await;
    assert!(super::access::tell(&hub, &ann, "c", "text").await.status().is_success());
    let body = json!({"id": "1", "command": "label", "title": "mine", "by": "eve"}).to_string();
    let give = async |token: &str| {
        let request = hub.request("POST", "/v1/conversations/c/commands").bearer_auth(token);
        request.body(body.clone()).send().await.unwrap()
    };
    assert_eq!(refusal(give(&eve).await).await, forbidden());
    assert_eq!(refusal(give(&guest).await).await, forbidden());
    assert_eq!(give(&ann).await.status(), 200);
    let label = until("the label", async || {
        let view: Value = get(&hub, &eve, "/v1/conversations/c").await.json().await.ok()?;
        view.get("label").cloned()
    })
    .await;
    assert_eq!((&label["title"], &label["by"]), (&json!("mine"), &json!("ann")));
    let told = get(&hub, &eve, "/v1/conversations/c/export/jsonl").await.text().await.unwrap();
    let line = told.lines().find(|line| line.contains(r#""k":"label""#)).unwrap_or(&told);
    assert!(line.contains(r#""by_hub":true"#) && !told.contains("fanlight.command"), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_label_moves_nothing_and_ratings_are_counted_exported_and_taken_back() {
    let mut hub = TestHub::start().await;
    for name in ["old", "new"] {
        hub.publisher(name).await.says("{\"k\":\"message\",\"message\":\"m\",\"role\":\"user\",\"text\":\"Why?\"}\n{\"k\":\"run.start\",\"run\":\"r\"}\n{\"k\":\"run.end\",\"run\":\"r\",\"status\":\"complete\"}").await;
    }
    let order = async |hub: &TestHub| {
        let list = hub.json("/v1/conversations").await;
        let rows = list["conversations"].as_array().unwrap().clone();
        rows.iter()
            .map(|row| (row["conversation"].as_str().unwrap().to_owned(), row["at"].clone()))
            .collect::<Vec<_>>()
    };
    let before = order(&hub).await;
    assert_eq!(before.first().map(|row| row.0.as_str()), Some("new"));
    let rate = async |hub: &TestHub, id: &str, more: Value| {
        let mut command = json!({ "id": id, "command": "rate" });
        command.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let request = hub.request("POST", "/v1/conversations/old/commands").body(command.to_string());
        let answer = request.send().await.unwrap();
        (answer.status().as_u16(), answer.text().await.unwrap())
    };
    assert_eq!(
        rate(&hub, "1", json!({ "run": "r", "good": false, "why": " the wrong table " })).await.0,
        200
    );
    assert_eq!(rate(&hub, "2", json!({ "message": "m", "good": true })).await.0, 200);
    let row = |list: &Value| {
        list["conversations"]
            .as_array()
            .unwrap()
            .iter()
            .find(|row| row["conversation"] == "old")
            .cloned()
            .unwrap()
    };
    let list = hub.json("/v1/conversations").await;
    assert_eq!((&row(&list)["good"], &row(&list)["bad"]), (&json!(1), &json!(1)));
    assert_eq!(order(&hub).await, before);
    let view = hub.json("/v1/conversations/old").await;
    assert_eq!(view["label"]["ratings"][0], json!({ "run": "r", "good": false, "why": "the wrong table" }));
    let export =
        hub.request("GET", "/v1/conversations/old/export/native").send().await.unwrap().text().await.unwrap();
    assert!(
        export.contains("\"rating\":{\"run\":\"r\",\"good\":false,\"why\":\"the wrong table\"}"),
        "{export}"
    );
    for (id, more) in [
        ("3", json!({ "run": "nobody", "good": true })),
        ("4", json!({ "good": true })),
        ("5", json!({ "run": "r", "message": "m", "good": true })),
        ("6", json!({ "run": "r", "good": true, "why": "x".repeat(1_025) })),
    ] {
        let (status, why) = rate(&hub, id, more).await;
        assert!(status == 400 && why.contains("bad_request"), "{id}: {status} {why}");
    }
    hub.stop().await;
    hub.start_again().await;
    assert_eq!(order(&hub).await, before, "after a restart as before");
    assert_eq!(rate(&hub, "7", json!({ "run": "r" })).await.0, 200);
    let list = hub.json("/v1/conversations").await;
    assert_eq!((&row(&list)["good"], &row(&list)["bad"]), (&json!(1), &Value::Null));
    assert_eq!(order(&hub).await, before);
}
