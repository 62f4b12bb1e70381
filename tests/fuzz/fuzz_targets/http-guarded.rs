//! Requests over HTTP to a hub with access control, in the form of the target `http`. `$T`, `$W` and `$C` stand for the limited token, a
//! wrong one and a cookie. Nobody reads or writes what they have no grant for, whatever their heads say; without a token or cookie
//! nobody is answered with more than doors for everybody have.
#![no_main]

use fuzz::guarded::{self, Guarded};
use fuzz::{halves, head_and_body, reaches_outside, sent_head};
use fuzz::talk::{Answer, ask, say};
use libfuzzer_sys::fuzz_target;

/// Doors that are open to everybody.
const OPEN: [&str; 5] = ["/healthz", "/readyz", "/login", "/logout", "/s/"];

fuzz_target!(|bytes: &[u8]| {
    let Some((mode, rest)) = bytes.split_first() else { return };
    if reaches_outside(rest) {
        return;
    }
    guarded::with(bytes, async |guarded| {
        if *mode == 1 {
            if let Some(answer) = say(guarded.hub, rest).await {
                check(guarded, &answer);
            }
        } else {
            requests(guarded, rest).await;
        }
        guarded.list_is_as_it_was().await;
    });
});

fn check(guarded: &Guarded, answer: &Answer) {
    answer.check();
    guarded.may_hear(answer.head.as_bytes());
    guarded.may_hear(&answer.body);
}

async fn requests(guarded: &Guarded, mut rest: &[u8]) {
    while !rest.is_empty() {
        let (request, after) = halves(rest);
        rest = after;
        let Some((head, body)) = head_and_body(request) else { continue };
        let is_known = ["$T", "$C"].iter().any(|place| request.windows(2).any(|two| two == place.as_bytes()));
        let head = guarded.filled(head).await;
        let body = match std::str::from_utf8(body) {
            Ok(text) => guarded.filled(text).await.into_bytes(),
            Err(_) => body.to_vec(),
        };
        let first = head.lines().next().unwrap_or_default();
        let is_open =
            first.split([' ', '?']).nth(1).is_some_and(|path| OPEN.iter().any(|open| path.contains(open)));
        let head = sent_head(&head);
        let Some(answer) = ask(guarded.hub, &head, &body).await else { continue };
        check(guarded, &answer);
        let is_let_in = answer.status < 400 && !is_open;
        assert!(is_known || !is_let_in, "nobody knows who sends this: {head}\n{}", answer.head);
    }
}
