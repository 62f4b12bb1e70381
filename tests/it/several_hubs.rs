//! Several hubs on one log in PostgreSQL: real processes over real sockets, killed, paused and stopped.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use model::code::ErrorCode;
use model::frame::{ClientFrame, Pub, ServerFrame, SubscriptionOptions};
use model::{ConversationId, Envelope, PublisherId};
use tests::wait::{patiently, patiently_until, until};
use tests::wire::WebSocketWire;
use tests::{ScriptedServer, ServerStep, TestHub, TestPublisher, TestViewer};

use crate::access_page::{browser, cookie, log_in};
use crate::cluster::{Cluster, status, statuses};
use crate::stored::{self, RUN};

async fn post(hub: &TestHub, conversation: &str, text: &str) -> reqwest::Response {
    let path = format!("/v1/conversations/{conversation}/events");
    patiently(&path, hub.request("POST", &path).body(status(text)).send()).await.unwrap()
}

#[tokio::test]
async fn i2_a_viewer_on_a_follower_sees_what_one_on_the_owner_sees() {
    let cluster = Cluster::start(3).await;
    let [a, b, c] = &cluster.hubs[..] else { panic!() };
    let mut publisher = a.publisher("c").await;
    publisher.says(r#"{"k":"run.start","run":"r"}"#).await;
    let (mut here, mut there) = (a.view("c").await, b.view("c").await);
    here.live().await;
    there.live().await;
    let mut last = publisher.says(RUN).await;
    for number in 0..50 {
        last = publisher.says(&status(&number.to_string())).await;
    }
    let mut late = c.view("c").await;
    for viewer in [&mut here, &mut there, &mut late] {
        viewer.reach(last.seq).await;
        assert_eq!(viewer.epoch(), last.epoch);
    }
    assert_eq!((there.hash(), late.hash()), (here.hash(), here.hash()));
    assert!(there.seen.batches > 1 && there.seen.snapshots <= 1, "events, not states: {:?}", there.seen);
    // Another one that comes to the follower with a position goes on from it.
    there.cut();
    let last = publisher.says(&status("later")).await;
    there.resume().await;
    there.reach(last.seq).await;
    here.reach(last.seq).await;
    assert_eq!(there.hash(), here.hash());
    assert!(there.seen.snapshots <= 1);
}

#[tokio::test]
async fn i10_what_is_published_through_a_follower_is_stored_once() {
    let cluster = Cluster::start(2).await;
    let [a, b] = &cluster.hubs[..] else { panic!() };
    a.publisher("c").await.says(r#"{"k":"run.start","run":"r"}"#).await;
    let mut publisher = TestPublisher::named("through b", b.address(), "c").await;
    for number in 0..100 {
        let ack = publisher.says(&status(&number.to_string())).await;
        assert_eq!((ack.seq, ack.duplicate), (number + 2, false));
    }
    let again = publisher.publish(100, &status("99")).await.unwrap();
    assert!(again.duplicate);
    let gap = publisher.publish(200, &status("x")).await.unwrap_err();
    assert!(matches!(gap, ServerFrame::Error { expected: Some(101), .. }), "{gap:?}");
    // Whoever numbers the same way at the owner goes on there.
    let mut moved = TestPublisher::named("through b", a.address(), "c").await;
    assert!(moved.publish(100, &status("99")).await.unwrap().duplicate);
    let wanted: Vec<String> = (0..100).map(|number| number.to_string()).collect();
    assert_eq!(statuses(a, "c").await, wanted);
    assert_eq!(statuses(b, "c").await, wanted);
}

#[tokio::test]
async fn requests_about_a_conversation_are_served_by_any_hub() {
    let cluster = Cluster::start(2).await;
    let [a, b] = &cluster.hubs[..] else { panic!() };
    a.publisher("c").await.says(RUN).await;
    assert_eq!(b.view_hash("c").await, a.view_hash("c").await);
    let posted = post(b, "c", "by http").await;
    assert!(posted.status().is_success(), "{}", posted.text().await.unwrap());
    assert_eq!(statuses(a, "c").await, ["by http"]);
    let mut body = b.ingest("fanlight", "c");
    body.write(format!("{}\n", status("streamed"))).await;
    let (code, answer) = body.finish().await;
    assert_eq!(code, 200, "{answer}");
    let unknown = b.request("GET", "/v1/conversations/none").send().await.unwrap();
    assert_eq!(unknown.status(), 404);
    let command = r#"{"id":"1","do":"say","text":"hello"}"#;
    let said = b.request("POST", "/v1/conversations/c/commands").body(command).send().await.unwrap();
    let said = said.text().await.unwrap();
    let at_owner = a.request("POST", "/v1/conversations/c/commands").body(command).send().await.unwrap();
    assert_eq!(said, at_owner.text().await.unwrap(), "the same answer by the owner itself");
    for hub in [a, b] {
        assert_eq!(stored::hits(hub, "umsatze").await.len(), 1);
        let listed =
            hub.json_until("/v1/conversations", |json| json["conversations"][0]["conversation"] == "c");
        assert_eq!(listed.await["conversations"].as_array().unwrap().len(), 1);
    }
    // A conversation that nobody has is had by the hub that is asked.
    assert!(post(b, "new", "first").await.status().is_success());
    assert_eq!(statuses(a, "new").await, ["first"]);
}

/// Publishes `count` statuses one after the other, each until it is acked, over whatever sockets that takes.
pub(super) async fn publish_all(address: SocketAddr, name: &str, conversation: &str, count: u64) {
    publish_while(address, (name, conversation), Duration::ZERO, |number| number <= count).await;
}

/// The same for as long as `goes_on` says so of the next number, one each `pace` at most; the number of the last one.
pub(super) async fn publish_while(
    address: SocketAddr,
    (name, conversation): (&str, &str),
    pace: Duration,
    mut goes_on: impl FnMut(u64) -> bool,
) -> u64 {
    let (mut wire, mut number) = (None, 0);
    let mut pace = (!pace.is_zero()).then(|| tokio::time::interval(pace));
    while goes_on(number + 1) {
        number += 1;
        if let Some(pace) = &mut pace {
            pace.tick().await;
        }
        let frame = ClientFrame::Pub(Pub {
            id: number,
            conv: ConversationId::parse(conversation).unwrap(),
            pid: Some(PublisherId::new(name)),
            pepoch: 1,
            pfirst: 0,
            pseq: number,
            durability: None,
            events: vec![Envelope::parse(&status(&format!("{name} {number}"))).unwrap()],
        });
        loop {
            let mut socket: WebSocketWire = match wire.take() {
                Some(socket) => socket,
                None => patiently_until("a socket", async || WebSocketWire::try_connect(address).await).await,
            };
            if socket.offer(&frame).await && is_acked(&mut socket, number).await {
                wire = Some(socket);
                break;
            }
        }
    }
    number
}

/// Whether the frame `number` is acked before the socket ends or it is refused.
async fn is_acked(socket: &mut WebSocketWire, number: u64) -> bool {
    while let Ok((answer, _)) = socket.frame_or_end().await {
        match answer {
            ServerFrame::Ack(ack) if ack.id == number => return true,
            ServerFrame::Error { id: Some(_), .. } => return false,
            _ => {}
        }
    }
    false
}

/// Lets a viewer take frames until it is as `wanted`.
pub(super) async fn watch_until(mut viewer: TestViewer, wanted: impl Fn(&TestViewer) -> bool) -> TestViewer {
    patiently("a viewer to see everything", async {
        while !wanted(&viewer) {
            viewer.step().await;
        }
    })
    .await;
    viewer
}

#[tokio::test]
async fn i9_i10_an_owner_that_is_killed_loses_nothing_that_was_acked_and_all_see_the_same() {
    const EACH: u64 = 60;
    let mut cluster = Cluster::start(3).await;
    let mut owner = cluster.hubs.remove(0);
    let [b, c] = &cluster.hubs[..] else { panic!() };
    owner.publisher("c").await.says(r#"{"k":"run.start","run":"r"}"#).await;
    let viewers = [b.view("c").await, b.view("c").await, c.view("c").await, c.view("c").await];
    let publishers: Vec<_> = [("p1", b), ("p2", b), ("p3", c), ("p4", c)]
        .map(|(name, hub)| tokio::spawn(publish_all(hub.address(), name, "c", EACH)))
        .into();
    until("some of it", async || (statuses(b, "c").await.len() > 40).then_some(())).await;
    owner.kill().await;
    for publisher in publishers {
        patiently("a publisher", publisher).await.unwrap();
    }
    let (at_b, at_c) = (statuses(b, "c").await, statuses(c, "c").await);
    assert_eq!(at_b, at_c);
    let mut counts = BTreeMap::<&str, u64>::new();
    for text in &at_b {
        *counts.entry(text).or_default() += 1;
    }
    assert_eq!(counts.len() as u64, 4 * EACH, "nothing that was acked is lost");
    assert!(counts.values().all(|count| *count == 1), "nothing is there twice");
    let hash = b.view_hash("c").await;
    assert_eq!(c.view_hash("c").await, hash);
    for viewer in viewers {
        let viewer = watch_until(viewer, |viewer| viewer.hash() == hash).await;
        assert!(viewer.seen.drifts == 0);
    }
}

#[tokio::test]
async fn i9_an_owner_that_was_paused_and_wakes_writes_nothing_and_ends() {
    let mut cluster = Cluster::start(2).await;
    let mut a = cluster.hubs.remove(0);
    let b = &cluster.hubs[0];
    assert!(post(&a, "c", "first").await.status().is_success());
    let (mut stale, mut viewer) = (a.view("c").await, b.view("c").await);
    stale.live().await;
    viewer.live().await;
    a.signal("STOP").await;
    // Through the other hub, which waits until the database says that the owner is dead.
    until_posted(b, "c", "second").await;
    a.signal("CONT").await;
    let late = a.request("POST", "/v1/conversations/c/events").body(status("late")).send().await;
    assert!(!late.is_ok_and(|late| late.status().is_success()), "what is not stored is not acked");
    // It shows nobody what it had: its viewers are sent away, and it ends.
    patiently("the viewer to be sent away", async { while stale.step_or_leave().await {} }).await;
    assert_eq!(a.ended().await, Some(1));
    assert!(post(b, "c", "third").await.status().is_success());
    assert_eq!(statuses(b, "c").await, ["first", "second", "third"]);
    let hash = b.view_hash("c").await;
    watch_until(viewer, |viewer| viewer.hash() == hash).await;
    a.start_again().await;
    assert_eq!(a.view_hash("c").await, hash, "started again it follows");
}

#[tokio::test]
async fn i10_an_owner_that_was_paused_tells_no_publisher_that_frames_are_missing() {
    let mut cluster = Cluster::start(2).await;
    let mut a = cluster.hubs.remove(0);
    let b = &cluster.hubs[0];
    publish_all(a.address(), "p", "c", 1).await;
    let mut wire = WebSocketWire::connect(a.address()).await;
    a.signal("STOP").await;
    // The publisher goes on at the other hub, which takes over, and comes back to the first.
    publish_all(b.address(), "p", "c", 3).await;
    let frame = ClientFrame::Pub(Pub {
        id: 4,
        conv: ConversationId::parse("c").unwrap(),
        pid: Some(PublisherId::new("p")),
        pepoch: 1,
        pfirst: 0,
        pseq: 4,
        durability: None,
        events: vec![Envelope::parse(&status("p 4")).unwrap()],
    });
    wire.send(&frame).await;
    a.signal("CONT").await;
    while let Ok((answer, _)) = wire.frame_or_end().await {
        // It would take what it sent to the other hub for lost.
        let is_gap = matches!(answer, ServerFrame::Error { code: ErrorCode::PublisherGap, .. });
        assert!(!is_gap && !matches!(answer, ServerFrame::Ack(_)), "{answer:?}");
    }
    assert_eq!(a.ended().await, Some(1));
    publish_all(b.address(), "p", "c", 4).await;
    assert_eq!(statuses(b, "c").await, ["p 1", "p 2", "p 3", "p 4"]);
}

/// Posts until the hub takes it.
async fn until_posted(hub: &TestHub, conversation: &str, text: &str) {
    patiently_until("the hub to take it", async || {
        post(hub, conversation, text).await.status().is_success().then_some(())
    })
    .await;
}

#[tokio::test]
async fn i13_an_owner_that_is_stopped_hands_over_and_viewers_notice_nothing() {
    let mut cluster = Cluster::start(3).await;
    let mut owner = cluster.hubs.remove(0);
    let [b, c] = &cluster.hubs[..] else { panic!() };
    let first = owner.publisher("c").await.says(r#"{"k":"run.start","run":"r"}"#).await;
    let (mut at_b, mut at_c) = (b.view("c").await, c.view("c").await);
    at_b.live().await;
    at_c.live().await;
    let publisher = tokio::spawn(publish_all(b.address(), "p", "c", 80));
    at_b.reach(20).await;
    assert_eq!(owner.stop().await, Some(0));
    patiently("the publisher", publisher).await.unwrap();
    for viewer in [&mut at_b, &mut at_c] {
        viewer.reach(81).await;
        assert_eq!(viewer.epoch(), first.epoch, "the epoch goes on");
        assert!(viewer.seen.snapshots <= 1, "no gap: {:?}", viewer.seen);
    }
    assert_eq!(at_b.hash(), at_c.hash());
    let wanted: Vec<String> = (1..=80).map(|number| format!("p {number}")).collect();
    assert_eq!(statuses(c, "c").await, wanted);
}

#[tokio::test]
async fn a_hub_with_another_secret_is_refused_by_the_others() {
    let cluster = Cluster::start(1).await;
    let a = &cluster.hubs[0];
    let stranger = cluster.another("another secret of more than thirty-two bytes", &[]).await;
    a.publisher("c").await.says(RUN).await;
    let answer = stranger.request("GET", "/v1/conversations/c").send().await.unwrap();
    assert_eq!(answer.status(), 401);
    assert!(answer.text().await.unwrap().contains("secret"));
    let mut wire = WebSocketWire::connect(stranger.address()).await;
    let conv = ConversationId::parse("c").unwrap();
    wire.send(&ClientFrame::Sub { sub: 1, conv, have: None, wish: SubscriptionOptions::default() }).await;
    let refused = wire.frame().await;
    assert!(
        matches!(&refused, ServerFrame::Error { sub: Some(1), message, .. } if message.contains("secret")),
        "{refused:?}"
    );
    // Nobody asks for somebody else without it.
    let forged = a.request("GET", "/v1/conversations/c").header("fanlight-on-behalf", "%7B%7D");
    assert_eq!(forged.send().await.unwrap().status(), 401);
}

#[tokio::test]
async fn what_a_principal_may_holds_whichever_hub_it_asks() {
    let cluster = Cluster::start_with(2, &["--access", "tokens"]).await;
    let [a, b] = &cluster.hubs[..] else { panic!() };
    let owner = a.token_for("owner", &["publish,view:*"]).await;
    let reader = b.token_for("reader", &["view:c"]).await;
    let publish = a.request("POST", "/v1/conversations/c/events").bearer_auth(&owner);
    assert!(publish.body(status("first")).send().await.unwrap().status().is_success());
    let ask = async |method: &str, path: &str, token: &str| {
        let request = b.request(method, path).bearer_auth(token).body(status("x"));
        request.send().await.unwrap().status().as_u16()
    };
    assert_eq!(ask("GET", "/v1/conversations/c", &reader).await, 200);
    assert_eq!(ask("POST", "/v1/conversations/c/events", &reader).await, 403);
    assert_eq!(ask("GET", "/v1/conversations/c", &owner).await, 401, "tokens are each hub's own");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_browser_that_logged_in_at_one_hub_is_known_to_all_until_it_logs_out_at_any() {
    let cluster = Cluster::start_with(2, &["--access", "tokens"]).await;
    let [a, b] = &cluster.hubs[..] else { panic!() };
    let token = a.token_for("ann", &["view:*"]).await;
    std::fs::copy(a.folder().join("tokens.json"), b.folder().join("tokens.json")).unwrap();
    let asks = async |hub: &TestHub, cookie: &str| {
        let asked = browser().get(hub.url("/v1/access")).header("cookie", cookie).send();
        patiently("an answer", asked).await.unwrap().status().as_u16()
    };
    until("b to know the token", async || {
        let asked = b.request("GET", "/v1/access").bearer_auth(&token).send().await.ok()?;
        asked.status().is_success().then_some(())
    })
    .await;
    let (first, second) = (cookie(&log_in(a, &token, "%2F").await), cookie(&log_in(b, &token, "%2F").await));
    assert!(first.starts_with("fanlight=fls_"), "{first}");
    for hub in [b, a] {
        for known in [&first, &second] {
            assert_eq!(asks(hub, known).await, 200, "at once, whichever hub it asks");
        }
        assert_eq!(asks(hub, &format!("{first}x")).await, 401);
    }
    let out = browser().post(b.url("/logout")).header("cookie", &first).header("origin", b.url(""));
    assert_eq!(patiently("the end", out.send()).await.unwrap().status(), 303);
    assert_eq!(asks(b, &first).await, 401);
    until("a to hear of it", async || (asks(a, &first).await == 401).then_some(())).await;
    assert_eq!((asks(a, &second).await, asks(b, &second).await), (200, 200), "the other one goes on");
}

#[tokio::test]
async fn any_hub_deletes_and_viewers_on_all_hubs_are_told() {
    let cluster = Cluster::start(2).await;
    let [a, b] = &cluster.hubs[..] else { panic!() };
    let last = a.publisher("c").await.says(RUN).await;
    let (mut here, mut there) = (a.view("c").await, b.view("c").await);
    here.reach(last.seq).await;
    there.reach(last.seq).await;
    let path = "/v1/conversations/c";
    let deleted = patiently(path, b.request("DELETE", path).send()).await.unwrap();
    assert_eq!(deleted.status(), 204, "the follower passes it on");
    for viewer in [&mut here, &mut there] {
        viewer.until(|view| view.seq == 0).await;
        assert_ne!(viewer.epoch(), last.epoch);
    }
    assert!(post(b, "c", "anew").await.status().is_success());
    for viewer in [&mut here, &mut there] {
        viewer.until(|view| view.seq > 0).await;
        assert!(viewer.view().runs.values().all(|run| run.answer().is_empty()));
    }
    assert_eq!(here.hash(), there.hash());
    assert_eq!(statuses(a, "c").await, ["anew"]);
}

#[tokio::test]
async fn a_token_calls_the_upstreams_that_it_names_whichever_hub_it_asks() {
    let usage = r#"{"prompt_tokens":1000,"completion_tokens":0}"#;
    let message = r#"{"index":0,"message":{"role":"assistant","content":"Hi."},"finish_reason":"stop"}"#;
    let body = format!(r#"{{"id":"x","model":"m","usage":{usage},"choices":[{message}]}}"#);
    let json = [("content-type", "application/json")];
    let origin = ScriptedServer::start(move |_| ServerStep::answer("200 OK", &json, body.as_bytes())).await;
    let place = tempfile::tempdir().unwrap();
    let (file, key) = (place.path().join("fanlight.toml"), place.path().join("key"));
    std::fs::write(&key, "sk-vendor-7c1d5e0f9b3a48d2").unwrap();
    let held = format!("url = \"http://{}\"\nkey_file = \"{}\"\n", origin.address(), key.display());
    let settings = format!(
        "[access]\n[upstreams.one]\n{held}[upstreams.other]\n{held}[prices.\"*\"]\ninput = 1\noutput = 1\n"
    );
    std::fs::write(&file, settings).unwrap();
    let cluster = Cluster::start_with(2, &["--config", file.to_str().unwrap()]).await;
    let [a, b] = &cluster.hubs[..] else { panic!() };
    // The conversation is that of a, and the token that of b.
    let owner = a.token_for("owner", &["publish:*"]).await;
    let begun = a.request("POST", "/v1/conversations/c/events").bearer_auth(owner).body(status("x"));
    assert!(patiently("a begins", begun.send()).await.unwrap().status().is_success());
    let named = ["--upstream", "one", "--budget", "1usd"];
    let token = [&["create", "--name", "ci", "--grant", "publish:*"][..], &named].concat();
    let token = b.token(&token).await;
    let asks = |hub: &TestHub, upstream: &str| {
        let asked = hub.request("POST", &format!("/proxy/{upstream}/v1/chat/completions"));
        let asked = asked.header("fanlight-conversation", "c").bearer_auth(&token);
        asked.body(r#"{"model":"m","messages":[{"role":"user","content":"Hello?"}]}"#).send()
    };
    let known = async |hub: &TestHub| {
        until("the hub to know the token", async || {
            let asked = hub.request("GET", "/v1/access").bearer_auth(&token).send().await.ok()?;
            asked.status().is_success().then_some(())
        })
        .await;
    };
    known(b).await;
    assert_eq!(patiently("an owner that does not know it", asks(b, "one")).await.unwrap().status(), 401);
    std::fs::copy(b.folder().join("tokens.json"), a.folder().join("tokens.json")).unwrap();
    known(a).await;
    for (upstream, expected) in [("one", 200), ("other", 403)] {
        let answer = patiently(upstream, asks(b, upstream)).await.unwrap();
        assert_eq!(answer.status(), expected, "{upstream}");
    }
    let asked = origin.asked();
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].header("authorization"), Some("Bearer sk-vendor-7c1d5e0f9b3a48d2"));
    // It is charged once, and both hubs come to know the sum.
    for hub in [a, b] {
        until("the call to be counted", async || {
            hub.token(&["list"]).await.contains("in 1 call").then_some(())
        })
        .await;
    }
}
