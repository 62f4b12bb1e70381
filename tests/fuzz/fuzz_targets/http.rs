//! Requests over HTTP, one after the other with `-----` between: the first line is method and path, lines of the head
//! follow, and behind an empty line the body. Whatever is asked, the hub answers with something that it means, and each
//! conversation that came of it keeps the laws. A first byte of 1 sends the bytes as they are.
#![no_main]

use fuzz::halves;
use fuzz::hub::{self, Clock, Hub};
use fuzz::talk::{ask, checked, say};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use edge::Config;

/// What would go out of this machine, or wait for what is not there.
const OUTSIDE: [&str; 2] = ["proxy", "validate"];

fuzz_target!(|bytes: &[u8]| {
    let Some((mode, rest)) = bytes.split_first() else { return };
    let text = String::from_utf8_lossy(rest).to_lowercase();
    if OUTSIDE.iter().any(|word| text.contains(word)) || text.contains('%') && text.contains("%70") {
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
        let end = request.windows(2).position(|window| window == b"\n\n");
        let (head, body) = end.map_or((request, &[][..]), |at| (&request[..at], &request[at + 2..]));
        let Ok(head) = std::str::from_utf8(head) else { continue };
        let mut lines = head.lines();
        let first = lines.next().unwrap_or_default();
        let others: Vec<_> =
            lines.filter(|line| !line.to_ascii_lowercase().contains("content-length")).collect();
        let head = [&[&*format!("{first} HTTP/1.1")], others.as_slice()].concat().join("\r\n");
        ask(hub, &head, body).await.inspect(|answer| answer.check());
    }
}
