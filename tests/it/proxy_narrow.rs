//! Upstreams that let few calls share a connection over HTTP/2.

use bytes::Bytes;
use hyper::body::Frame;
use tests::raw;
use tests::secure::TlsServer;
use tests::wait::within;

use super::proxy::{ASKS, piece};
use super::proxy_packed::hub_that_trusts;

/// Agents at once.
const AGENTS: usize = 20;

/// Calls of all agents are on their way at once, twice: to a hub that knows nothing of the upstream, and to one that does.
async fn all_are_answered_at_once(streams: u32) {
    let mut upstream = TlsServer::narrow(streams).await;
    let hub = hub_that_trusts(&upstream).await;
    for round in 0..2 {
        let mut wires = Vec::new();
        for agent in 0..AGENTS {
            let mut wire = raw::connect(hub.address()).await;
            let path = format!("/proxy/safe/~c{round}-{agent}/v1/chat/completions");
            wire.send(&raw::post(&path, &[], ASKS)).await;
            wires.push(wire);
        }
        // All of them are answered while none is over.
        let mut speakers = Vec::new();
        for _ in 0..AGENTS {
            speakers.push(upstream.speaker().await);
        }
        for speaker in &speakers {
            speaker.send(Ok(Frame::data(Bytes::from(piece("Here."))))).await.unwrap();
        }
        for wire in &mut wires {
            assert_eq!(within("the head", wire.head()).await.unwrap().status(), 200);
            assert_eq!(within("a piece", wire.piece()).await, Some(piece("Here.")));
        }
        drop(speakers);
        for wire in &mut wires {
            assert_eq!(within("the end", wire.piece()).await, Some(Vec::new()));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn i8_calls_do_not_wait_for_each_other_where_a_connection_carries_two() {
    all_are_answered_at_once(2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn i8_calls_do_not_wait_for_each_other_where_a_connection_carries_one() {
    all_are_answered_at_once(1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upstream_that_lets_no_call_through_is_named() {
    let upstream = TlsServer::narrow(0).await;
    let hub = hub_that_trusts(&upstream).await;
    // Each has a connection of its own, and is sent before or after the upstream says how many calls it allows.
    let calls = (0..AGENTS).map(|agent| {
        let path = format!("/proxy/safe/~c{agent}/v1/chat/completions");
        let address = hub.address();
        async move { raw::call(address, &raw::post(&path, &[], ASKS)).await }
    });
    for answer in futures_util::future::join_all(calls).await {
        let problem: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
        let code = problem["code"].as_str();
        assert_eq!((answer.status(), code), (502, Some("upstream_unreachable")), "{problem}");
        assert!(problem["detail"].as_str().unwrap().contains("no connection free"), "{problem}");
    }
}
