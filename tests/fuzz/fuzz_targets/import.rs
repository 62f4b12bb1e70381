//! Histories that are imported as a whole: all of one is there afterwards, and what is exported again is imported again to
//! the same; or nothing is there.
#![no_main]

use fuzz::hub::{self, Clock, Hub};
use fuzz::talk::{Answer, ask};
use libfuzzer_sys::fuzz_target;
use model::{Envelope, snapshot};
use edge::Config;

fuzz_target!(|bytes: &[u8]| {
    hub::with(Clock::Jumps, Config::default(), async |hub| {
        let came = put(hub, "one", bytes).await;
        let state = get(hub, "one", "").await;
        if came.status != 200 {
            assert_eq!(state.status, 404, "refused, and there all the same: {came:?}\n{state:?}");
            return;
        }
        assert_eq!(state.status, 200, "taken, and not there");
        let view = snapshot::decode(&state.body).expect("the state of a conversation");
        assert!(view.seq > 0);
        assert_eq!(put(hub, "one", bytes).await.status, 409, "taken twice");
        let export = get(hub, "one", "/export/native").await;
        assert_eq!(export.status, 200, "{export:?}");
        check(&export.body);
        let again = put(hub, "two", &export.body).await;
        assert_eq!(again.status, 200, "what was exported is not taken: {again:?}\n{}", text(&export.body));
        let other = get(hub, "two", "").await;
        assert!(other.body == state.body, "another state:\n{}\n{}", text(&state.body), text(&other.body));
        // A conversation that was imported goes on.
        let event = br#"{"k":"status","run":"r","text":"on"}"#;
        let more = ask(hub, "POST /v1/conversations/one/events HTTP/1.1", event).await.expect("an answer");
        assert_eq!(more.status, 200, "{more:?}");
        let after = snapshot::decode(&get(hub, "one", "").await.body).expect("the state of a conversation");
        assert!(after.seq > view.seq);
    });
});

async fn put(hub: Hub, name: &str, body: &[u8]) -> Answer {
    let answer = ask(hub, &format!("PUT /v1/conversations/{name}/events HTTP/1.1"), body).await;
    answer.inspect(Answer::check).expect("an answer")
}

async fn get(hub: Hub, name: &str, what: &str) -> Answer {
    let answer = ask(hub, &format!("GET /v1/conversations/{name}{what} HTTP/1.1"), &[]).await;
    answer.inspect(Answer::check).expect("an answer")
}

/// I1: the seqs of an export are dense.
fn check(export: &[u8]) {
    let events = text(export);
    let events = events.lines().skip(1).filter_map(|line| Envelope::parse(line).ok());
    let seqs: Vec<_> = events.map(|event| event.seq).collect();
    assert!(seqs.windows(2).all(|pair| pair[0] + 1 == pair[1]), "I1: {seqs:?}");
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
