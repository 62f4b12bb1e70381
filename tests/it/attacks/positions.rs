//! True positions, epochs and hashes of somebody else's conversation, which somebody has come to know: they open nothing there, and nothing by way
//! of a conversation of one's own.

use serde_json::{Value, json};
use tests::TestHub;
use tests::wire::WebSocketWire;

use crate::access::{forbidden, get, guarded, refusal};

/// What stands only in the conversation of somebody else.
const HIDDEN: &str = "hidden words";

/// Says something, with a result so large that it is fetched by its hash; the position afterwards and that hash.
async fn told(hub: &TestHub, token: &str, conversation: &str, words: &str) -> (String, String) {
    let large = format!("{words} {}", "0123456789abcde\n".repeat(20 << 10));
    let events = json!([
        { "k": "message", "message": "m", "role": "user", "text": words },
        { "k": "run.start", "run": "r", "title": words },
        { "k": "tool.call", "run": "r", "tool": "t", "name": "read", "arguments": "{}" },
        { "k": "tool.result", "run": "r", "tool": "t", "output": large },
        { "k": "run.end", "run": "r", "status": "complete" },
    ]);
    let path = format!("/v1/conversations/{conversation}/events");
    let said = hub.request("POST", &path).bearer_auth(token).body(events.to_string()).send().await.unwrap();
    assert!(said.status().is_success());
    let position: Value = said.json::<Value>().await.unwrap()["position"].clone();
    let view: Value =
        get(hub, token, &format!("/v1/conversations/{conversation}")).await.json().await.unwrap();
    let hash = view["runs"]["r"]["tools"]["t"]["result_ref"]["hash"].as_str().unwrap().to_owned();
    (position["epoch"].as_str().unwrap().to_owned(), hash)
}

/// What `token` is told at `path`, of a stream up to its first pieces, from the position in `last`.
async fn heard(hub: &TestHub, token: &str, path: &str, last: Option<&str>) -> (u16, String) {
    let mut request = hub.request("GET", path).bearer_auth(token);
    if let Some(last) = last {
        request = request.header("last-event-id", last);
    }
    let mut answer = tests::wait::within(path, request.send()).await.unwrap();
    let status = answer.status().as_u16();
    let (mut said, is_live) = (String::new(), path.contains("/events"));
    while let Some(piece) = tests::wait::within(path, answer.chunk()).await.unwrap() {
        said.push_str(&String::from_utf8_lossy(&piece));
        let has_come = ["event: batch", "event: snap"].iter().any(|event| said.contains(event));
        if is_live && status == 200 && has_come && said.ends_with("\n\n") {
            break;
        }
    }
    (status, said)
}

/// The frames that answer a subscription, up to `live` or an error.
async fn subscribed(wire: &mut WebSocketWire, sub: u32, conversation: &str, have: &Value) -> String {
    wire.send_text(json!({"t": "sub", "sub": sub, "conv": conversation, "have": have}).to_string()).await;
    let mut said = String::new();
    loop {
        let frame = wire.text().await.unwrap();
        said.push_str(&frame);
        if [r#""t":"live""#, r#""t":"error""#].iter().any(|end| frame.contains(end)) {
            return said;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_a_true_position_or_hash_of_somebody_else_also_by_way_of_ones_own_conversation() {
    let hub = guarded().await;
    let all = hub.token_for("all", &["view,publish,export:*"]).await;
    let team = hub.token_for("team", &["view,publish,export:team-*"]).await;
    let (epoch, hash) = told(&hub, &all, "secret", HIDDEN).await;
    let (own, _) = told(&hub, &team, "team-1", "own words").await;
    let at = format!("{epoch}:0");
    let theirs = [
        format!("/v1/conversations/secret/events?after={at}"),
        format!("/v1/conversations/secret/results/{hash}"),
        format!("/v1/events?conversation=secret&after={at}"),
        format!("/v1/events?conversation=team-1&conversation=secret&after={own}:0,{at}"),
        "/v1/conversations/secret/wait?until=seq:1&timeout_ms=1".to_owned(),
        "/v1/conversations/secret/stream/fanlight?run=r&until=run.end".to_owned(),
        "/v1/conversations/secret/export/native?run=r".to_owned(),
    ];
    for path in &theirs {
        for last in [None, Some(at.as_str())] {
            let (status, said) = heard(&hub, &team, path, last).await;
            assert_eq!(status, 403, "{path}: {said}");
            assert!(!said.contains(HIDDEN) && !said.contains(&epoch), "{path}: {said}");
        }
    }
    // What is true of the one is nothing in the other.
    let by_own: [(String, &[u16]); 4] = [
        (format!("/v1/conversations/team-1/results/{hash}"), &[404, 410]),
        (format!("/v1/conversations/team-1/results/..%2f..%2fsecret%2fresults%2f{hash}"), &[400, 404]),
        (format!("/v1/conversations/team-1/events?after={at}"), &[200]),
        (format!("/v1/events?conversation=team-1&after={at}"), &[200]),
    ];
    for (path, wanted) in by_own {
        let (status, said) = heard(&hub, &team, &path, None).await;
        assert!(wanted.contains(&status) && !said.contains(HIDDEN), "{path}: {status} {said}");
        assert_eq!(status == 200, said.contains("own words"), "{path}: {said}");
    }
    let mut wire = WebSocketWire::connect_in_silence(hub.address()).await;
    wire.send_text(format!(r#"{{"t":"hello","versions":["1"],"token":"{team}"}}"#)).await;
    assert!(wire.text().await.unwrap().contains("welcome"));
    for seq in [0, 1, 5] {
        let have = json!({"epoch": epoch, "seq": seq});
        let said = subscribed(&mut wire, seq, "secret", &have).await;
        assert!(said.contains("forbidden") && !said.contains(HIDDEN), "{said}");
        let said = subscribed(&mut wire, 10 + seq, "team-1", &have).await;
        assert!(said.contains("epoch_changed") && said.contains("own words"), "{said}");
        assert!(!said.contains(HIDDEN), "{said}");
    }
    // Nor does a result or a file that names the hash open it in one's own conversation.
    let named = json!([
        { "k": "tool.call", "run": "s", "tool": "t", "name": "read", "arguments": "{}" },
        { "k": "tool.result", "run": "s", "tool": "t", "output": "x", "ref": { "bytes": 9, "hash": hash } },
        { "k": "message", "message": "f", "role": "user", "text": "x",
          "files": [{ "name": "a.txt", "type": "text/plain", "bytes": 9, "hash": hash }] },
    ]);
    let post = hub.request("POST", "/v1/conversations/team-1/events").bearer_auth(&team);
    assert!(post.body(named.to_string()).send().await.unwrap().status().is_success());
    let path = format!("/v1/conversations/team-1/results/{hash}");
    assert!([404, 410].contains(&get(&hub, &team, &path).await.status().as_u16()));
    let export = get(&hub, &team, "/v1/conversations/team-1/export/native").await.text().await.unwrap();
    assert!(!export.contains(HIDDEN) && !export.contains(&hash), "{export}");
    let fork = json!({ "id": "1", "command": "fork", "into": "team-2" }).to_string();
    let fork = hub.request("POST", "/v1/conversations/secret/commands").bearer_auth(&team).body(fork);
    assert_eq!(refusal(fork.send().await.unwrap()).await, forbidden());
}

#[tokio::test(flavor = "multi_thread")]
async fn with_a_grant_on_it_a_true_position_and_hash_of_a_conversation_open_it() {
    let hub = guarded().await;
    let all = hub.token_for("all", &["view,publish,export:*"]).await;
    let (epoch, hash) = told(&hub, &all, "secret", HIDDEN).await;
    for path in [
        format!("/v1/conversations/secret/events?after={epoch}:0"),
        format!("/v1/conversations/secret/results/{hash}"),
        format!("/v1/events?conversation=secret&after={epoch}:0"),
        "/v1/conversations/secret/stream/fanlight?run=r&until=run.end".to_owned(),
    ] {
        let (status, said) = heard(&hub, &all, &path, None).await;
        assert!(status == 200 && said.contains(HIDDEN), "{path}: {status} {said}");
    }
}
