//! Keys of somebody else in what is asked and answered: they pass through the proxy unchanged, and marks stand in their place in all that the hub
//! keeps and shows.

use serde_json::Value;
use tests::raw;
use tests::wait::within;
use tests::wire::WebSocketWire;
use tests::{ScriptedServer, ServerStep, TestHub};

use super::proxy::{END, STREAM, piece};
use super::redaction::{found_in, stored};

/// A token of GitHub in the question, as an agent sends what it has read from a file.
const ASKED: &str = "ghp_Z9y8X7w6V5u4T3s2R1q0P9o8N7m6L5k4J3h2";

/// A key of Anthropic in the answer of another vendor's model; the stream cuts it.
const ANSWERED: &str = "sk-ant-api03-A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8S9t0U1v2W3x4Y5z6";

/// The middle of each: no part of it may be found anywhere.
const PIECES: [&str; 2] = ["V5u4T3s2R1q0", "G7h8I9j0K1l2"];

/// The marks that stand in their places.
const MARKS: [&str; 2] = ["[redacted:github-token:", "[redacted:anthropic-key:"];

/// An upstream whose answer has the key in two pieces and in the arguments of a call.
async fn upstream() -> ScriptedServer {
    ScriptedServer::start(|_| {
        let (front, back) = ANSWERED.split_at(23);
        let call = format!(
            r#"{{"index":0,"id":"call-1","type":"function","function":{{"name":"login","arguments":"{{\"key\":\"{ANSWERED}\"}}"}}}}"#
        );
        let call =
            format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"tool_calls\":[{call}]}}}}]}}\n\n");
        vec![
            ServerStep::begin("200 OK", &STREAM),
            ServerStep::piece(&piece(&format!("Use {front}"))),
            ServerStep::piece(&piece(&format!("{back} here."))),
            ServerStep::piece(call.as_bytes()),
            ServerStep::piece(END),
            ServerStep::end(&[]),
        ]
    })
    .await
}

/// All frames of a socket up to that with the last mark: those of the question, the answer and the arguments of the call.
async fn frames(mut wire: WebSocketWire) -> String {
    let mut all = String::new();
    within("the marks", async {
        while !all.contains(MARKS[0]) || all.matches(MARKS[1]).count() < 2 {
            all += &wire.text().await.unwrap();
        }
    })
    .await;
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn i12_keys_of_others_in_bodies_pass_unchanged_and_are_nowhere_in_the_hub() {
    let origin = upstream().await;
    let mut hub = TestHub::start_with(&["--upstream", &origin.named("x"), "--log", "sqlite"]).await;
    let folder = hub.folder().to_path_buf();
    let mut wire = WebSocketWire::connect(hub.address()).await;
    wire.send_text(r#"{"t":"sub","sub":1,"conv":"c"}"#.to_owned()).await;
    let body = format!(
        r#"{{"model":"m","stream":true,"messages":[{{"role":"user","content":"My .env has TOKEN={ASKED}\nWhy?"}}]}}"#
    );
    let headers = [("authorization", "Bearer own"), ("fanlight-conversation", "c")];
    let direct = raw::call(origin.address(), &raw::post("/v1/chat/completions", &headers, &body)).await;
    let proxied = raw::call(hub.address(), &raw::post("/proxy/x/v1/chat/completions", &headers, &body)).await;
    assert_eq!((proxied.status(), &proxied.body), (200, &direct.body));
    assert!(String::from_utf8_lossy(&proxied.body).contains(PIECES[1]), "the caller gets the key");
    let asked = origin.asked();
    assert_eq!(asked[1].body, body.as_bytes(), "the upstream gets what the caller sent");
    // What the hub tells: live, as a state, as events, in the list, in a search, as an export.
    let mut told = frames(wire).await;
    let paths = ["", "/events?limit=1000", "/export/jsonl", "/export/html", "/export/openai-chat"];
    for path in paths.map(|path| format!("/v1/conversations/c{path}")) {
        let asked = hub.request("GET", &path).header("accept", "application/x-ndjson, */*").send();
        let answer = within(&path, asked).await.unwrap();
        assert!(answer.status().is_success(), "{path}: {}", answer.status());
        told += &within(&path, answer.text()).await.unwrap();
    }
    let has_hits = |found: &Value| found["hits"].as_array().is_some_and(|hits| !hits.is_empty());
    let found: Value = hub.json_until("/v1/search?q=redacted", has_hits).await;
    for word in PIECES {
        let found: Value = hub.json(&format!("/v1/search?q={word}")).await;
        assert_eq!(found["hits"], serde_json::json!([]), "the index does not have {word}");
    }
    told += &found.to_string();
    told += &hub.json("/v1/conversations").await.to_string();
    assert_eq!(hub.stop().await, Some(0));
    for word in PIECES {
        assert!(!told.contains(word), "somebody was told {word}");
        let (files, found) = found_in(&folder, word);
        assert!(files >= 3 && found.is_empty(), "{word} is in {found:?} of {files} files");
    }
    let (lines, went_well) = stored(&folder, &["scan"], "").await;
    assert!(went_well && lines.is_empty(), "{lines}");
}
