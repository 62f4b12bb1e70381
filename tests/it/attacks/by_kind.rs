//! More than one principal or address may do of each kind in a minute: searches, exports, imports, conversations that begin, frames; and more
//! subscriptions than it may have at once. Principals share the number of their address, another address pays for none of it, and a hub whose
//! settings have greater numbers lets the same pass.

use std::sync::atomic::{AtomicU64, Ordering};

use reqwest::{RequestBuilder, Response};
use serde_json::{Value, json};
use tests::TestHub;
use tests::wait::{patiently, until, within};
use tests::wire::WebSocketWire;

use super::by_address::{from_other, greeted_from_other};
use super::jwt::settings;
use super::limits::{acked, events_of, greeted, over, too_many};
use crate::access::{get, guarded, tell};

/// A principal of these tests may do so many at once, and an address [`AT_ADDRESS`].
const OF_PRINCIPAL: usize = 3;

/// More than one principal and fewer than two.
const AT_ADDRESS: usize = 5;

/// More than is ever let through within a test, with what comes back meanwhile.
const TRIES: usize = 12;

/// A name that no conversation has.
fn fresh() -> String {
    static NAMES: AtomicU64 = AtomicU64::new(0);
    format!("fresh-{}", NAMES.fetch_add(1, Ordering::Relaxed))
}

/// Where a principal asks from.
#[derive(Clone, Copy)]
enum From {
    Here,
    Other,
}

/// A request of a principal.
fn request(hub: &TestHub, (token, from): (&str, From), method: &str, path: &str) -> RequestBuilder {
    match from {
        From::Here => hub.request(method, path).bearer_auth(token),
        From::Other => from_other(hub, method, path, token),
    }
}

/// Asks until it is refused: how often it was served, and what is said then.
async fn refused_after(mut ask: impl AsyncFnMut() -> Response) -> (usize, String) {
    for served in 0..TRIES {
        let answer = within("an answer", ask()).await;
        let (is_refused, status) = (too_many(&answer), answer.status());
        let wait = answer.headers().get("retry-after").cloned();
        let said = answer.text().await.unwrap();
        if is_refused {
            let wait = wait.unwrap().to_str().unwrap().to_owned();
            assert!(said.contains(&format!("wait {wait} s")), "{said}");
            assert!((1..=60).contains(&wait.parse::<u64>().unwrap()), "{wait}");
            return (served, said);
        }
        assert!(status.is_success(), "{status}: {said}");
    }
    panic!("nothing was refused");
}

/// Shows for one kind that its numbers hold, for whom, and that without them the same is served.
async fn holds(kind: &str, ask: impl AsyncFn(&TestHub, (&str, From)) -> Response) {
    let settings = settings();
    let limits = format!(
        "[access.limits]\n{kind}_per_minute = {OF_PRINCIPAL}\n{kind}_per_minute_per_address = {AT_ADDRESS}\n"
    );
    let (hub, free) = (settings.hub(&limits, &[]).await, guarded().await);
    let rights = ["view,publish,import,export:*"];
    let [ann, bob, eve] = [hub.token_for("ann", &rights).await, hub.token_for("bob", &rights).await, {
        hub.token_for("eve", &rights).await
    }];
    // In its own address, which costs those here nothing.
    assert!(
        from_other(&hub, "POST", "/v1/conversations/c/events", &eve)
            .body(r#"[{"k":"run.start","run":"r"}]"#)
            .send()
            .await
            .unwrap()
            .status()
            .is_success()
    );
    let (served, said) = refused_after(async || ask(&hub, (&ann, From::Here)).await).await;
    assert!((OF_PRINCIPAL..AT_ADDRESS).contains(&served), "{served}");
    assert!(said.contains("this principal has") && said.contains(&format!("{kind}_per_minute:")), "{said}");
    let (served, said) = refused_after(async || ask(&hub, (&bob, From::Here)).await).await;
    assert!((1..=OF_PRINCIPAL).contains(&served), "they share what the address may: {served}");
    let of_address = format!("{kind}_per_minute_per_address:");
    assert!(said.contains("this address has") && said.contains(&of_address), "{said}");
    assert!(ask(&hub, (&eve, From::Other)).await.status().is_success(), "another address");
    assert!(get(&hub, &bob, "/v1/access").await.status().is_success(), "whatever else");
    assert!(over(&hub, &eve, kind).await >= 2, "the metrics say so");
    let ann = free.token_for("ann", &rights).await;
    assert!(tell(&free, &ann, "c", "x").await.status().is_success());
    for _ in 0..TRIES {
        assert!(ask(&free, (&ann, From::Here)).await.status().is_success(), "without these numbers");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn i7_searches_of_a_principal_and_of_an_address_are_counted() {
    holds("searches", async |hub, who| request(hub, who, "GET", "/v1/search?q=x").send().await.unwrap())
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn i7_exports_of_a_principal_and_of_an_address_are_counted() {
    let path = "/v1/conversations/c/export/jsonl";
    holds("exports", async |hub, who| request(hub, who, "GET", path).send().await.unwrap()).await;
}

/// A file that makes `conversation`.
fn file_of(conversation: &str) -> String {
    let header = json!({ "fanlight": "native", "version": 1, "conversation": conversation });
    format!("{header}\n{}\n", json!({ "seq": 1, "at": 1, "k": "run.start", "run": "r" }))
}

#[tokio::test(flavor = "multi_thread")]
async fn i7_imports_of_a_principal_and_of_an_address_are_counted() {
    holds("imports", async |hub, who| {
        let name = fresh();
        let path = format!("/v1/conversations/{name}/events");
        request(hub, who, "PUT", &path).body(file_of(&name)).send().await.unwrap()
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn i7_requests_with_events_of_a_principal_and_of_an_address_are_counted_as_frames() {
    holds("frames", async |hub, who| {
        let body = r#"[{"k":"status","run":"r","text":"x"}]"#;
        request(hub, who, "POST", "/v1/conversations/c/events").body(body).send().await.unwrap()
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn i7_conversations_that_a_principal_and_an_address_begin_are_counted() {
    holds("conversations", async |hub, who| {
        let path = format!("/v1/conversations/{}/events", fresh());
        request(hub, who, "POST", &path).body(r#"[{"k":"run.start","run":"r"}]"#).send().await.unwrap()
    })
    .await;
}

/// What is said over a socket about the frame with the id 7, which begins a conversation.
async fn published(wire: &mut WebSocketWire, name: &str) -> Value {
    let frame = json!({ "t": "pub", "id": 7, "conv": name, "durability": "memory",
        "events": [{ "k": "run.start", "run": "r" }] });
    wire.send_text(frame.to_string()).await;
    loop {
        let said: Value = serde_json::from_str(&wire.text().await.unwrap()).unwrap();
        if said["id"] == 7 {
            return said;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_conversations_are_counted_at_whichever_door_they_begin() {
    let settings = settings();
    let agent = "[agents.helper]\nkind = \"runner\"\nprovider = \"openai\"\nurl = \"http://127.0.0.1:1/v1\"\nmodel = \"m\"\n\
                 [upstreams.openai]\nurl = \"http://127.0.0.1:9\"\n";
    let limited = format!("{agent}[access.limits]\nconversations_per_minute = 1\n");
    let hub = settings.hub(&limited, &[]).await;
    let ann = hub.token_for("ann", &["view,publish,import,control:*"]).await;
    let bob = hub.token_for("bob", &["view,publish:*"]).await;
    assert!(tell(&hub, &ann, "c", "x").await.status().is_success());
    let post = |path: String, body: String| hub.request("POST", &path).bearer_auth(&ann).body(body).send();
    // Bodies of this size are taken on another thread.
    let large = events_of(100);
    let say = json!({ "id": "1", "command": "say", "agent": "helper", "text": "hello" }).to_string();
    let fork = json!({ "id": "2", "command": "fork" }).to_string();
    let asks = json!({ "model": "helper", "messages": [{ "role": "user", "content": "hello" }] }).to_string();
    let chunk = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"x\"}}]}\n\n".to_owned();
    let import = fresh();
    let named = hub.request("POST", "/proxy/openai/v1/chat/completions").header("fanlight-token", &ann);
    let named = named.header("fanlight-conversation", fresh()).body(asks.clone());
    for (door, answer) in [
        ("events", post(format!("/v1/conversations/{}/events", fresh()), large).await.unwrap()),
        ("ingest", post(format!("/v1/ingest/openai-chat/{}", fresh()), chunk).await.unwrap()),
        ("say", post(format!("/v1/conversations/{}/commands", fresh()), say).await.unwrap()),
        ("fork", post("/v1/conversations/c/commands".to_owned(), fork).await.unwrap()),
        ("chat", post("/v1/chat/completions".to_owned(), asks).await.unwrap()),
        ("proxy", named.send().await.unwrap()),
        ("import", {
            let path = format!("/v1/conversations/{import}/events");
            hub.request("PUT", &path).bearer_auth(&ann).body(file_of(&import)).send().await.unwrap()
        }),
    ] {
        assert!(too_many(&answer), "{door}: {}", answer.status());
        let said = answer.text().await.unwrap();
        assert!(said.contains("has begun 1 conversation within a minute"), "{door}: {said}");
    }
    let mut wire = greeted(&hub, &ann).await;
    assert!(wire.text().await.unwrap().contains("welcome"));
    // Watching a name makes nothing of it.
    let name = fresh();
    wire.send_text(json!({ "t": "sub", "sub": 1, "conv": name }).to_string()).await;
    let refused = published(&mut wire, &name).await;
    assert!(refused["t"] == "error" && refused["code"] == "too_many", "{refused}");
    assert!(refused["message"].as_str().unwrap().contains("conversations_per_minute: wait "), "{refused}");
    let say = json!({ "id": "3", "command": "say", "agent": "helper", "text": "hello" });
    wire.send_text(json!({ "t": "command", "conv": fresh(), "command": say }).to_string()).await;
    within("a refusal", async {
        while !wire.text().await.unwrap().contains(r#""t":"refused","id":"3","code":"too_many""#) {}
    })
    .await;
    // What is there goes on, and whatever was refused left nothing behind.
    assert_eq!(published(&mut wire, "c").await["t"], "ack");
    assert!(tell(&hub, &bob, &fresh(), "x").await.status().is_success(), "others are not counted");
    let list = get(&hub, &ann, "/v1/conversations").await.json::<Value>().await.unwrap();
    assert_eq!(list["conversations"].as_array().unwrap().len(), 2, "{list}");
}

/// A socket that has said who it is, and was welcomed.
async fn welcome(mut wire: WebSocketWire) -> WebSocketWire {
    assert!(wire.text().await.unwrap().contains("welcome"));
    wire
}

/// Begins so many subscriptions from the number `first` on; the codes and texts of those that are refused.
async fn subscribed(wire: &mut WebSocketWire, first: u32, count: u32) -> Vec<Value> {
    let mut refused = Vec::new();
    for sub in first..first + count {
        wire.send_text(json!({ "t": "sub", "sub": sub, "conv": format!("c{sub}") }).to_string()).await;
        loop {
            let said: Value = serde_json::from_str(&wire.text().await.unwrap()).unwrap();
            if said["sub"] == sub && said["t"] == "subbed" {
                break;
            }
            if said["sub"] == sub && said["t"] == "error" {
                refused.push(said);
                break;
            }
        }
    }
    refused
}

#[tokio::test(flavor = "multi_thread")]
async fn i7_subscriptions_of_a_principal_and_of_an_address_are_bounded_over_all_sockets() {
    let settings = settings();
    let limits = "[access.limits]\nsubscriptions_per_principal = 3\nsubscriptions_per_address = 5\n";
    let (hub, free) = (settings.hub(limits, &[]).await, guarded().await);
    let [ann, bob, eve] =
        [hub.token_for("ann", &["view:*"]).await, hub.token_for("bob", &["view:*"]).await, {
            hub.token_for("eve", &["view:*"]).await
        }];
    let [mut first, mut second] =
        [welcome(greeted(&hub, &ann).await).await, welcome(greeted(&hub, &ann).await).await];
    assert!(subscribed(&mut first, 1, 2).await.is_empty());
    let refused = subscribed(&mut second, 1, 3).await;
    assert!(refused.len() == 2 && refused[0]["code"] == "too_many", "{refused:?}");
    let said = refused[0]["message"].as_str().unwrap();
    assert_eq!(said, "this principal has 3 subscriptions already, which is subscriptions_per_principal");
    second.send_text(r#"{"t":"watch","sub":9}"#.to_owned()).await;
    within("a refusal", async { while !second.text().await.unwrap().contains("too_many") {} }).await;
    let mut shared = welcome(greeted(&hub, &bob).await).await;
    let refused = subscribed(&mut shared, 1, 3).await;
    assert_eq!(refused.len(), 1, "{refused:?}");
    let said = refused[0]["message"].as_str().unwrap();
    assert_eq!(said, "this address has 5 subscriptions already, which is subscriptions_per_address");
    let mut elsewhere = welcome(greeted_from_other(&hub, &eve).await).await;
    assert!(subscribed(&mut elsewhere, 1, 3).await.is_empty(), "another address");
    // One that ends makes room, and so does a socket.
    second.send_text(r#"{"t":"unsub","sub":1}"#.to_owned()).await;
    assert!(subscribed(&mut second, 20, 1).await.is_empty());
    drop(first);
    within("the subscriptions of the socket that is gone", async {
        let mut number = 30;
        while !subscribed(&mut second, number, 1).await.is_empty() {
            number += 1;
        }
    })
    .await;
    let ann = free.token_for("ann", &["view:*"]).await;
    assert!(subscribed(&mut welcome(greeted(&free, &ann).await).await, 1, 20).await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn i7_sockets_that_send_more_frames_than_they_may_are_read_more_slowly() {
    /// Fewer than a principal may send within a minute with one `hello`, and twice of it more than an address.
    const FRAMES: u64 = 1_000;
    let settings = settings();
    let limits = "[access.limits]\nframes_per_minute = 1800\nframes_per_minute_per_address = 1900\n";
    let hub = settings.hub(limits, &[]).await;
    let mut tokens = Vec::new();
    for name in ["ann", "bob", "eve"] {
        tokens.push(hub.token_for(name, &["view,publish:*"]).await);
    }
    let mut wires = Vec::new();
    for token in &tokens[..2] {
        wires.push(welcome(greeted(&hub, token).await).await);
    }
    let mut eve = welcome(greeted_from_other(&hub, &tokens[2]).await).await;
    let frame = |id: u64| {
        format!(
            r#"{{"t":"pub","id":{id},"conv":"c","durability":"memory","events":[{{"k":"status","run":"r","text":"x"}}]}}"#
        )
    };
    let sending = async |wire: &mut WebSocketWire| {
        for id in 0..FRAMES {
            wire.send_text(frame(id)).await;
            assert_eq!(acked(wire).await, id);
        }
    };
    let [ann, bob] = &mut wires[..] else { panic!("two sockets") };
    let beside = async {
        until("the sockets to be slowed down", async || {
            let page =
                from_other(&hub, "GET", "/metrics", &tokens[2]).send().await.ok()?.text().await.ok()?;
            (!page.contains("fanlight_over_quota_total{way=\"frames\"} 0\n")).then_some(())
        })
        .await;
        for id in 0..3 {
            eve.send_text(frame(id)).await;
            assert_eq!(acked(&mut eve).await, id, "another address goes on");
        }
    };
    // Every frame of both is taken, in order, and no socket is closed.
    patiently("all acks", async { tokio::join!(sending(ann), sending(bob), beside) }).await;
}
