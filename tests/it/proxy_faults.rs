//! Upstreams that fail: the caller sees what the upstream did, and the run says so with a name.

use tests::raw;
use tests::wait::within;
use tests::{ScriptedServer, ServerStep, TestHub};

use super::proxy::{ASKS, END, STREAM, hub_before, piece, run_of};

/// What the error of a run is called, whether it passes, and how the run ended.
async fn error_of(hub: &TestHub, conversation: &str) -> (String, bool, String) {
    let run = run_of(hub, conversation).await;
    let error = &run["error"];
    let code = error["code"].as_str().unwrap_or_default().to_owned();
    (code, error["retryable"] == true, run["status"].as_str().unwrap_or_default().to_owned())
}

fn call(conversation: &str) -> Vec<u8> {
    raw::post(
        &format!("/proxy/x/~{conversation}/v1/chat/completions"),
        &[("authorization", "Bearer k")],
        ASKS,
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upstream_that_is_not_there_is_named() {
    // A port that nobody listens on: it was free a moment ago.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let hub = TestHub::start_with(&["--upstream", &format!("x=http://{address}")]).await;
    let answer = raw::call(hub.address(), &call("c")).await;
    let problem: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
    assert_eq!((answer.status(), problem["code"].as_str()), (502, Some("upstream_unreachable")));
    let detail = problem["detail"].as_str().unwrap();
    assert!(detail.contains(&format!("upstream x at http://{address}")), "{detail}");
    assert_eq!(error_of(&hub, "c").await, ("upstream_unreachable".into(), true, "error".into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn refusals_pass_and_are_read() {
    let origin = ScriptedServer::start(|asked| {
        let json = [("content-type", "application/json"), ("retry-after", "7"), ("x-request-id", "r1")];
        match asked.header("x-case").unwrap() {
            "401" => ServerStep::answer("401 Unauthorized", &json, br#"{"error":{"message":"Incorrect API key","type":"invalid_request_error","code":"invalid_api_key"}}"#),
            "400" => ServerStep::answer("400 Bad Request", &json, br#"{"type":"error","error":{"type":"invalid_request_error","message":"max_tokens is missing"}}"#),
            "429" => ServerStep::answer("429 Too Many Requests", &json, br#"{"error":{"message":"Rate limit reached","type":"requests","code":"rate_limit_exceeded"}}"#),
            "500" => ServerStep::answer("500 Internal Server Error", &json, br#"{"error":{"message":"The server had an error","type":"server_error"}}"#),
            "503" => ServerStep::answer("503 Service Unavailable", &[("content-type", "text/html")], b"<html><body>upstream connect error</body></html>"),
            other => panic!("{other}"),
        }
    })
    .await;
    let hub = hub_before(&origin).await;
    let cases = [
        ("401", false, "Incorrect API key"),
        ("400", false, "max_tokens is missing"),
        ("429", true, "Rate limit reached"),
        ("500", true, "The server had an error"),
        ("503", true, ""),
    ];
    for (case, retryable, message) in cases {
        let path = format!("/proxy/x/~c{case}/v1/chat/completions");
        let direct =
            raw::call(origin.address(), &raw::post("/v1/chat/completions", &[("x-case", case)], ASKS)).await;
        let proxied = raw::call(hub.address(), &raw::post(&path, &[("x-case", case)], ASKS)).await;
        assert_eq!((&proxied.start, &proxied.body), (&direct.start, &direct.body));
        assert_eq!(proxied.without(&["fanlight-conversation"]), direct.without(&[]));
        let run = run_of(&hub, &format!("c{case}")).await;
        let error = &run["error"];
        assert_eq!(
            (run["status"].as_str(), Some(error["retryable"] == true)),
            (Some("error"), Some(retryable)),
            "{case} {run}"
        );
        assert!(error["message"].as_str().unwrap().contains(message), "{case} {error}");
        if case == "429" {
            assert_eq!(error["retry_after_ms"], 7_000, "{error}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn i12_a_stream_that_is_cut_is_cut_for_the_caller_at_the_same_byte() {
    let origin = ScriptedServer::start(|asked| {
        let said = piece("Half of");
        match asked.header("x-case").unwrap() {
            // In the same breath as the last piece.
            "close" => vec![ServerStep::begin("200 OK", &STREAM), ServerStep::piece(&said)],
            "reset" => vec![
                ServerStep::begin("200 OK", &STREAM),
                ServerStep::piece(&said),
                ServerStep::Wait,
                ServerStep::Reset,
            ],
            "short" => {
                let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", said.len() + 100);
                vec![ServerStep::Say([head.as_bytes(), &said].concat())]
            }
            "inside" => {
                vec![
                    ServerStep::begin("200 OK", &STREAM),
                    ServerStep::Say([b"ff\r\n", said.as_slice()].concat()),
                ]
            }
            other => panic!("{other}"),
        }
    })
    .await;
    let hub = hub_before(&origin).await;
    for case in ["close", "reset", "short", "inside"] {
        let path = format!("/proxy/x/~{case}/v1/chat/completions");
        let mut wire = raw::connect(hub.address()).await;
        wire.send(&raw::post(&path, &[("x-case", case)], ASKS)).await;
        let head = within("the head", wire.head()).await.unwrap();
        assert_eq!(head.status(), 200);
        if case == "short" {
            let rest = within("the rest", wire.rest()).await;
            assert_eq!(rest, piece("Half of"), "{case}");
        } else {
            assert_eq!(within("a piece", wire.piece()).await, Some(piece("Half of")), "{case}");
            origin.go_on();
            // No clean end.
            assert_eq!(within("the cut", wire.piece()).await, None, "{case}");
        }
        let run = run_of(&hub, case).await;
        assert_eq!(run["text"], "Half of", "{case}");
        assert_eq!(
            (run["error"]["code"].as_str(), run["error"]["retryable"].as_bool()),
            (Some("upstream_cut"), Some(true)),
            "{case} {run}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upstream_that_closes_without_a_word_has_failed() {
    let origin = ScriptedServer::start(|_| Vec::new()).await;
    let hub = hub_before(&origin).await;
    let answer = raw::call(hub.address(), &call("c")).await;
    let problem: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
    assert_eq!((answer.status(), problem["code"].as_str()), (502, Some("upstream_failed")));
    assert_eq!(error_of(&hub, "c").await, ("upstream_failed".into(), true, "error".into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn who_hangs_up_is_hung_up_for() {
    let origin = ScriptedServer::start(|asked| match asked.header("x-case").unwrap() {
        "silent" => vec![ServerStep::Silence],
        _ => vec![
            ServerStep::begin("200 OK", &STREAM),
            ServerStep::piece(&piece("Started")),
            ServerStep::Silence,
        ],
    })
    .await;
    let hub = hub_before(&origin).await;
    for (number, case) in [(1, "silent"), (2, "started")] {
        let path = format!("/proxy/x/~{case}/v1/chat/completions");
        let mut wire = raw::connect(hub.address()).await;
        wire.send(&raw::post(&path, &[("x-case", case)], ASKS)).await;
        if case == "started" {
            within("the head", wire.head()).await.unwrap();
            within("a piece", wire.piece()).await.unwrap();
        } else {
            tests::wait::until("the request to arrive", async || {
                (origin.asked().len() == number).then_some(())
            })
            .await;
        }
        drop(wire);
        tests::wait::until("the upstream to be left", async || {
            (origin.left() == number as u64).then_some(())
        })
        .await;
        let run = run_of(&hub, case).await;
        assert_eq!(run["status"], "cancelled", "{run}");
    }
    assert_eq!(hub.summary("started").await["runs"][0]["text"], "Started");
}

#[tokio::test(flavor = "multi_thread")]
async fn nonsense_passes_and_is_said_to_be_nonsense() {
    let origin = ScriptedServer::start(|_| {
        ServerStep::answer("200 OK", &STREAM, b"\x00\x01garbage\xff\n\ndata: {\"broken\": \n\n")
    })
    .await;
    let hub = hub_before(&origin).await;
    let answer = raw::call(hub.address(), &call("c")).await;
    assert_eq!(answer.body, b"\x00\x01garbage\xff\n\ndata: {\"broken\": \n\n");
    let run = run_of(&hub, "c").await;
    assert_ne!(run["status"], "complete", "{run}");
    let summary = hub.summary("c").await;
    assert!(!summary["anomalies"].as_array().unwrap().is_empty(), "{summary}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hub_that_cannot_write_leaves_calls_alone() {
    let origin = ScriptedServer::start(|_| {
        vec![
            ServerStep::begin("200 OK", &STREAM),
            ServerStep::piece(&piece("Hi.")),
            ServerStep::piece(END),
            ServerStep::end(&[]),
        ]
    })
    .await;
    // No room for anything.
    let hub = TestHub::start_with(&[
        "--upstream",
        &origin.named("x"),
        "--log",
        "sqlite",
        "--log-max-bytes",
        "200000",
    ])
    .await;
    let long = format!(
        r#"{{"model":"m","stream":true,"messages":[{{"role":"user","content":"{}"}}]}}"#,
        "x".repeat(100_000)
    );
    for _ in 0..5 {
        let answer = raw::call(hub.address(), &raw::post("/proxy/x/v1/chat/completions", &[], &long)).await;
        assert_eq!((answer.status(), answer.is_whole), (200, true));
        assert_eq!(answer.body, [piece("Hi."), END.to_vec()].concat());
    }
}
