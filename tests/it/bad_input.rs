//! Bad input: each kind a named error or a counted anomaly, and the rest of the conversation intact.

use model::code::ErrorCode;
use model::frame::{ClientFrame, ServerFrame, SubscriptionOptions};
use tests::TestHub;
use tests::wire::{WebSocketWire, WireMessage};

fn chunk(content: &str) -> String {
    format!(
        "data: {{\"model\":\"m\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{content}\"}}}}]}}\n\n"
    )
}

const FINISH: &str = concat!(
    r#"data: {"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
    "\n\ndata: [DONE]\n\n"
);

#[tokio::test]
async fn a_wrong_dialect_is_named_with_those_there_are() {
    let hub = TestHub::start().await;
    let answer = hub.request("POST", "/v1/ingest/klingon/c").body("x").send().await.unwrap();
    assert_eq!(answer.headers()["content-type"], "application/problem+json");
    let status = answer.status().as_u16();
    let problem: serde_json::Value = answer.json().await.unwrap();
    assert_eq!((status, problem["code"].as_str()), (404, Some("unknown_dialect")));
    let detail = problem["detail"].as_str().unwrap();
    assert!(detail.contains("klingon") && detail.contains("openai-chat"), "{detail}");
    assert_eq!(hub.json("/v1/conversations").await["conversations"].as_array().unwrap().len(), 0);
}

#[tokio::test]
async fn broken_json_in_the_middle_is_counted_and_the_rest_is_there() {
    let hub = TestHub::start().await;
    let mut body = hub.ingest("openai-chat", "c");
    body.write(chunk("before ") + "data: {\"choices\":[{\"delta\n\n" + &chunk("after") + FINISH).await;
    let (status, answer) = body.finish().await;
    assert_eq!((status, answer["anomalies"].as_u64()), (200, Some(1)));
    let summary = hub.summary("c").await;
    assert_eq!(summary["runs"][0]["text"], "before after");
    assert_eq!(summary["anomalies"][0]["code"], "malformed");
}

#[tokio::test]
async fn bytes_of_another_kind_are_named_and_the_conversation_goes_on() {
    let hub = TestHub::start().await;
    let anthropic = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\"}}\n\n";
    let cases = [
        ("<!doctype html>\n<html><body><h1>502 Bad Gateway</h1></body></html>".into(), "an HTML page"),
        (b"\x1f\x8b\x08\0\0\0\0\0\0\x03\xcb\x48".to_vec(), "compressed with gzip"),
        (anthropic.into(), "looks like anthropic"),
    ];
    for (bytes, expected) in cases {
        let mut body = hub.ingest("openai-chat", "c");
        body.write(bytes).await;
        assert_eq!(body.finish().await.0, 200);
        let anomalies = hub.summary("c").await["anomalies"].clone();
        let last = &anomalies.as_array().unwrap().last().unwrap();
        assert_eq!(last["code"], "wrong_dialect", "{anomalies}");
        assert!(last["detail"].as_str().unwrap().contains(expected), "{anomalies}");
    }
    let request = hub.request("POST", "/v1/ingest/openai-chat/c").header("content-encoding", "gzip");
    let answer = request.body("x").send().await.unwrap();
    assert_eq!(answer.status().as_u16(), 415);
    let mut body = hub.ingest("openai-chat", "c");
    body.write(chunk("whole") + FINISH).await;
    assert_eq!(body.finish().await.0, 200);
    let runs = hub.summary("c").await["runs"].clone();
    assert_eq!(runs.as_array().unwrap().last().unwrap()["text"], "whole");
}

#[tokio::test]
async fn a_body_that_stops_leaves_what_came_and_an_interrupted_run() {
    let hub = TestHub::start().await;
    let mut viewer = hub.view("c").await;
    let mut body = hub.ingest("openai-chat", "c");
    body.write(chunk("half")).await;
    viewer.until(|view| view.runs.values().any(|run| run.answer() == "half")).await;
    body.abort().await;
    viewer.until(|view| view.runs.values().any(|run| !run.is_running())).await;
    let run = &hub.summary("c").await["runs"][0];
    assert_eq!((run["status"].as_str(), run["text"].as_str()), (Some("interrupted"), Some("half")));
    // The conversation goes on.
    let mut body = hub.ingest("openai-chat", "c");
    body.write(chunk("whole") + FINISH).await;
    assert_eq!(body.finish().await.0, 200);
    assert_eq!(hub.summary("c").await["runs"][1]["text"], "whole");
}

#[tokio::test]
async fn i7_a_frame_over_the_limit_closes_that_socket_with_its_code() {
    let hub = TestHub::start().await;
    let mut other = hub.view("c").await;
    let mut wire = WebSocketWire::connect(hub.address()).await;
    let big = "x".repeat(model::limits::INBOUND_FRAME_BYTES_MAX);
    wire.send_text(format!("{{\"t\":\"pub\",\"id\":1,\"conv\":\"c\",\"events\":[],\"x\":\"{big}\"}}")).await;
    let (said, closed) = wire.end().await;
    assert_eq!(said, Some(4501));
    assert!(closed.is_none_or(|code| code == 4501), "{closed:?}");
    let head = hub.publisher("c").await.says(r#"{"k":"run.start","run":"r"}"#).await.seq;
    other.reach(head).await;
}

#[tokio::test]
async fn an_unknown_frame_and_text_that_is_none_are_named_and_the_socket_stays() {
    let hub = TestHub::start().await;
    let mut wire = WebSocketWire::connect(hub.address()).await;
    let bad = [
        ("{\"t\":\"weather\"}", "weather"),
        ("{oops", "not a valid frame"),
        ("{\"t\":\"sub\",\"sub\":1}", "conv"),
    ];
    for (text, part) in bad {
        wire.send_text(text.to_owned()).await;
        let answer = wire.frame().await;
        let ServerFrame::Error { code, message, .. } = answer else { panic!("{answer:?}") };
        assert_eq!(code, ErrorCode::BadRequest);
        assert!(message.contains(part), "{message}");
    }
    wire.send(&ClientFrame::Sub {
        sub: 1,
        conv: "c".parse().unwrap(),
        have: None,
        wish: SubscriptionOptions::default(),
    })
    .await;
    assert!(matches!(wire.frame().await, ServerFrame::Subbed { sub: 1, .. }));
}

#[tokio::test]
async fn a_subscription_to_nothing_is_named() {
    let hub = TestHub::start().await;
    let mut wire = WebSocketWire::connect(hub.address()).await;
    for frame in [ClientFrame::Unsub { sub: 9 }, ClientFrame::Resync { sub: 9 }] {
        wire.send(&frame).await;
        let answer = wire.frame().await;
        let ServerFrame::Error { sub, code, .. } = answer else { panic!("{answer:?}") };
        assert_eq!((sub, code), (Some(9), ErrorCode::UnknownSubscription));
    }
    wire.send_text("{\"t\":\"sub\",\"sub\":2,\"conv\":\"a/b\"}".to_owned()).await;
    let answer = wire.frame().await;
    let ServerFrame::Error { sub, code, .. } = answer else { panic!("{answer:?}") };
    assert_eq!((sub, code), (Some(2), ErrorCode::BadConversation));
}

/// The next error of `wire`.
async fn error(wire: &mut WebSocketWire) -> (Option<u32>, ErrorCode) {
    loop {
        if let ServerFrame::Error { sub, code, .. } = wire.frame().await {
            return (sub, code);
        }
    }
}

#[tokio::test]
async fn i7_more_subscriptions_than_the_limit_are_refused() {
    let hub = TestHub::start().await;
    let mut wire = WebSocketWire::connect(hub.address()).await;
    let most = u32::try_from(model::limits::SUBSCRIPTIONS_PER_SOCKET_MAX).unwrap();
    for sub in 0..=most {
        wire.send(&ClientFrame::Sub {
            sub,
            conv: format!("c{sub}").parse().unwrap(),
            have: None,
            wish: SubscriptionOptions::default(),
        })
        .await;
    }
    assert_eq!(error(&mut wire).await, (Some(most), ErrorCode::TooMany));
    wire.send(&ClientFrame::Sub {
        sub: 0,
        conv: "c".parse().unwrap(),
        have: None,
        wish: SubscriptionOptions::default(),
    })
    .await;
    assert_eq!(error(&mut wire).await, (Some(0), ErrorCode::SubscriptionInUse));
}

#[tokio::test]
async fn a_client_of_another_version_is_told_so() {
    let hub = TestHub::start().await;
    let mut wire = WebSocketWire::connect_in_silence(hub.address()).await;
    wire.send(&ClientFrame::Hello { versions: vec!["9".into()], client: None, token: None }).await;
    assert_eq!(wire.end().await.0, Some(4505));
}

#[tokio::test]
async fn a_socket_that_does_not_say_hello_is_closed() {
    let hub = TestHub::start().await;
    let mut wire = WebSocketWire::connect_in_silence(hub.address()).await;
    assert_eq!(wire.end().await.0, Some(4506));
}

#[tokio::test]
async fn a_first_frame_that_is_no_hello_is_refused() {
    let hub = TestHub::start().await;
    let mut wire = WebSocketWire::connect_in_silence(hub.address()).await;
    wire.send(&ClientFrame::Watch { sub: 0, limit: None }).await;
    match wire.next().await {
        WireMessage::Frame(ServerFrame::Bye { code, .. }, _) => assert_eq!(code, 4500),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn paths_and_names_that_are_none_are_named() {
    let hub = TestHub::start().await;
    hub.publisher("c").await.says(r#"{"k":"run.start","run":"r"}"#).await;
    for (method, path, status, code) in [
        ("GET", "/v1/conversations/nobody", 404, "unknown_conversation"),
        ("GET", "/v1/nothing", 404, "not_found"),
        ("DELETE", "/v1/conversations", 405, "method_not_allowed"),
        ("GET", "/v1/conversations/c/events?after=oops", 400, "bad_position"),
        ("POST", "/v1/ingest/openai-chat/a%2Fb", 400, "bad_conversation"),
    ] {
        let answer = hub.request(method, path).send().await.unwrap();
        let got = answer.status().as_u16();
        let problem: serde_json::Value = answer.json().await.unwrap();
        assert_eq!((got, problem["code"].as_str()), (status, Some(code)), "{method} {path}: {problem}");
    }
}
