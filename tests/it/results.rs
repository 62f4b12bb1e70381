//! Results that are too large for their events.

use model::RunId;
use model::view::ToolView;
use tests::TestHub;

/// Bytes of the result: several times what stands in an event.
const BYTES: usize = 900 << 10;

fn call(view: &model::View) -> Option<&ToolView> {
    view.runs.get(&RunId::new("r"))?.tools.values().next()
}

#[tokio::test]
async fn of_a_large_result_viewers_get_the_beginning_and_who_asks_gets_all_of_it() {
    let hub = TestHub::start().await;
    let mut viewer = hub.view("c").await;
    viewer.live().await;
    let text = "0123456789abcde\n".repeat(BYTES / 16);
    let rows = format!("{{\"rows\":{}}}", serde_json::to_string(&text).unwrap());
    hub.publisher("c")
        .await
        .says(&format!(
            "{}\n{}\n{}",
            r#"{"k":"run.start","run":"r"}"#,
            r#"{"k":"tool.call","run":"r","tool":"t","name":"query","arguments":"{}"}"#,
            format_args!(r#"{{"k":"tool.result","run":"r","tool":"t","output":{rows}}}"#),
        ))
        .await;
    viewer.until(|view| call(view).is_some_and(|call| call.result.is_some())).await;
    let shown = call(viewer.view()).unwrap();
    let whole = shown.result_ref.clone().unwrap();
    assert_eq!(whole.bytes, rows.len() as u64);
    assert!(rows.starts_with(&*shown.result.as_ref().unwrap().to_text()));
    assert!(viewer.seen.bytes < 64 << 10, "{:?}", viewer.seen);
    assert_eq!(viewer.view().anomalies.total, 0);

    let path = format!("/v1/conversations/c/results/{}", whole.hash);
    let answer = hub.request("GET", &path).send().await.unwrap();
    let header = |name: &str| answer.headers()[name].to_str().unwrap().to_owned();
    assert_eq!(header("content-type"), "application/json");
    assert!(header("cache-control").contains("immutable"));
    let tag = header("etag");
    assert_eq!(answer.text().await.unwrap(), rows);
    let again = hub.request("GET", &path).header("if-none-match", tag).send().await.unwrap();
    assert_eq!(again.status().as_u16(), 304);

    // A document has all of it, and so has a stream of another client.
    for path in ["export/md", "export/openai", "export/deep-agent", "stream/deep-agent?until=run.end"] {
        let end = r#"{"k":"run.end","run":"r","status":"complete"}"#;
        hub.request("POST", "/v1/conversations/c/events").body(end).send().await.unwrap();
        let answer = hub.request("GET", &format!("/v1/conversations/c/{path}")).send().await.unwrap();
        let text = answer.text().await.unwrap();
        assert!(text.len() > BYTES, "{path}: {} bytes", text.len());
    }

    assert_eq!(whole.hash.len(), 32);
    let older = "0000000000000000";
    let none = format!("{older}{older}");
    for (hash, status) in [(older, 410), (&none, 410), ("..", 404), ("xyz", 400), ("000000000000000g", 400)] {
        let answer = hub.request("GET", &format!("/v1/conversations/c/results/{hash}")).send().await.unwrap();
        assert_eq!(answer.status().as_u16(), status, "{hash}");
    }
}
