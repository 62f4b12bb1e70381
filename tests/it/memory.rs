//! What a burst takes of the system's memory.

use futures_util::future::join_all;
use serde_json::json;
use tests::TestHub;
use tests::wait::until;

const MIB: u64 = 1 << 20;

/// Bodies that come at the same time, of 15 MiB each.
const BODIES: usize = 8;

/// What may stay of them, in bytes. All of them have 120 MiB.
const STAYS_BYTES_MAX: u64 = 48 * MIB;

#[tokio::test]
async fn i7_memory_that_a_burst_took_is_given_back() {
    let hub = TestHub::start().await;
    let said = |number: usize| json!({"k": "message", "message": format!("m{number}"), "role": "user", "text": "x".repeat(15 << 10)});
    let mut events: Vec<_> = (0..1_000).map(said).collect();
    // Nothing of a body with a bad event is kept.
    events.push(json!({"k": "message"}));
    let body = serde_json::to_string(&events).unwrap();
    let before = hub.process();
    let bodies = (0..BODIES).map(async |number| {
        let request = hub.request("POST", &format!("/v1/conversations/c{number}/events"));
        request.body(body.clone()).send().await.unwrap().status().as_u16()
    });
    assert_eq!(join_all(bodies).await, [400; BODIES]);
    let peak = hub.process().peak_bytes;
    assert!(peak > before.resident_bytes + STAYS_BYTES_MAX, "{peak} bytes are no burst");
    until("the memory to be given back", async || {
        (hub.process().resident_bytes < before.resident_bytes + STAYS_BYTES_MAX).then_some(())
    })
    .await;
}
