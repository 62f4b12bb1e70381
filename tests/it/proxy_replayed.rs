//! Recorded calls of all APIs, through the hub: the bytes are the upstream's, and every call is seen to its end.

use std::collections::BTreeMap;
use std::path::Path;

use tests::replayer::{self, RECORDING, RecordedExchange, exchanges};
use tests::wait::patiently_until;
use tests::{TestHub, raw};

/// Recordings beside the work tree; empty where they are not at hand.
const RECORDED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/traces/exchanges");

/// Sends the call of `exchange` to `address` below `base`, and gives how the answer is packed and its body, as it is.
async fn body_of(
    address: std::net::SocketAddr,
    base: &str,
    exchange: &RecordedExchange,
) -> (Option<String>, Vec<u8>) {
    // As it would stand in a path.
    let path = exchange.path.replace('<', "%3C").replace('>', "%3E");
    let headers =
        [("authorization", "Bearer k"), ("accept-encoding", "gzip"), (RECORDING, exchange.name.as_str())];
    let answer =
        raw::call(address, &raw::post(&format!("{base}{path}"), &headers, &exchange.request.to_string()))
            .await;
    assert_eq!((answer.status(), answer.is_whole), (200, true), "{}", exchange.name);
    (answer.header("content-encoding").map(str::to_owned), answer.body)
}

#[tokio::test(flavor = "multi_thread")]
async fn i12_recorded_calls_pass_and_are_seen_to_their_end() {
    let all = exchanges(Path::new(RECORDED));
    let calls: Vec<_> = all.into_iter().filter(|exchange| exchange.path.starts_with('/')).collect();
    let upstream = replayer::start(&calls).await;
    let mut options = Vec::new();
    for name in ["openai", "ollama", "other"] {
        options.extend([String::from("--upstream"), upstream.named(name)]);
    }
    let options: Vec<_> = options.iter().map(String::as_str).collect();
    let hub = TestHub::start_with(&options).await;
    let mut loops = BTreeMap::<&str, u64>::new();
    let mut packed = 0;
    for exchange in &calls {
        let file = exchange.name.split('-').next().unwrap();
        let place = if exchange.dialect.starts_with("ollama") { "ollama" } else { "other" };
        // One conversation for each recording, so that what is seen can be told apart.
        let base = format!("/proxy/{place}/~recording-{file}");
        let direct = body_of(upstream.address(), "", exchange).await;
        let proxied = body_of(hub.address(), &base, exchange).await;
        assert_eq!(proxied, direct, "{}", exchange.name);
        match direct.0 {
            Some(_) => packed += 1,
            None => assert_eq!(direct.1, exchange.answer.as_bytes(), "{}", exchange.name),
        }
        *loops.entry(file).or_default() += 1;
    }
    assert!(packed > 0 || calls.is_empty());
    patiently_until("all runs to end or wait for results", async || {
        (hub.number("proxy_recording").await == 0).then_some(())
    })
    .await;
    assert_eq!(hub.number("proxy_copies_lost_total").await, 0);
    for (file, calls) in loops {
        let summary = hub.summary(&format!("recording-{file}")).await;
        let runs = summary["runs"].as_array().unwrap();
        assert!(!runs.is_empty(), "{file}: {calls} calls are no run");
        let said = runs.iter().any(|run| run["text"] != "" || run["tool_calls"] != serde_json::json!([]));
        assert!(said, "{file}: {summary:#}");
    }
}
