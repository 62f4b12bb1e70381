//! Requests over HTTP, one after the other with `-----` between: the first line is method and path, lines of the head
//! follow, and behind an empty line the body. Whatever is asked, the hub answers with something that it means, and each
//! conversation that came of it keeps the laws. A first byte of 1 sends the bytes as they are.
#![no_main]

use fuzz::{halves, head_and_body, reaches_outside, sent_head};
use fuzz::hub::{self, Clock, Hub};
use fuzz::talk::{ask, checked, say};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use edge::Config;

fuzz_target!(|bytes: &[u8]| {
    let Some((mode, rest)) = bytes.split_first() else { return };
    if reaches_outside(rest) {
        return;
    }
    hub::with(Clock::Jumps, Config::default(), async |hub| {
        if *mode == 1 {
            say(hub, rest).await.inspect(|answer| answer.check());
        } else {
            requests(hub, rest).await;
        }
        let list = ask(hub, "GET /v1/conversations HTTP/1.1", &[]).await.expect("the list");
        assert_eq!(list.status, 200);
        let list: Value = serde_json::from_slice(&list.body).expect("the list is JSON");
        for row in list["conversations"].as_array().expect("rows") {
            let name = row["conversation"].as_str().expect("a name");
            assert!(checked(hub, name).await.is_some(), "{name:?} is in the list and not there");
        }
    });
});

async fn requests(hub: Hub, mut rest: &[u8]) {
    while !rest.is_empty() {
        let (request, after) = halves(rest);
        rest = after;
        let Some((head, body)) = head_and_body(request) else { continue };
        ask(hub, &sent_head(head), body).await.inspect(|answer| answer.check());
    }
}
