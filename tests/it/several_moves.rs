//! Conversations that move from hub to hub while they are published to and watched.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;
use tests::wait::{patiently, until};
use tests::{ScriptedServer, ServerStep, TestHub, raw};

use crate::proxy::{END, STREAM, piece};

use crate::cluster::{Cluster, status, statuses};
use crate::several_hubs::{publish_all, watch_until};
use crate::stored::RUN;

/// Asks `by` to move a conversation to the hub `to`. The status and the answer.
pub(super) async fn move_to(by: &TestHub, conversation: &str, to: &TestHub) -> (u16, Value) {
    let path = path(conversation, &to.url(""));
    let answer = patiently(&path, by.request("POST", &path).send()).await.unwrap();
    let status = answer.status().as_u16();
    (status, serde_json::from_str(&answer.text().await.unwrap()).unwrap())
}

fn path(conversation: &str, to: &str) -> String {
    format!("/v1/conversations/{conversation}/move?to={}", to.trim_end_matches('/'))
}

/// Moves it, as soon as nothing speaks against it.
pub(super) async fn moves(by: &TestHub, conversation: &str, to: &TestHub) {
    until("the move", async || {
        let (code, answer) = move_to(by, conversation, to).await;
        // A request that writes is open.
        assert!(matches!(code, 200 | 429), "{code} {answer}");
        (code == 200).then_some(())
    })
    .await;
}

/// Each of the texts once, and those of each publisher in order.
pub(super) fn each_once(texts: &[String], publishers: &[&str], count: u64) {
    let mut found = BTreeMap::<&str, Vec<u64>>::new();
    for text in texts {
        let (name, number) = text.split_once(' ').unwrap();
        found.entry(name).or_default().push(number.parse().unwrap());
    }
    for name in publishers {
        assert_eq!(found.get(name), Some(&(1..=count).collect()), "{name}");
    }
}

#[tokio::test]
async fn i2_i10_a_conversation_moves_while_it_is_published_to_and_watched() {
    const EACH: u64 = 120;
    let cluster = Cluster::start(3).await;
    let [a, b, c] = &cluster.hubs[..] else { panic!() };
    let first = a.publisher("c").await.says(r#"{"k":"run.start","run":"r"}"#).await;
    let mut viewers = Vec::new();
    for hub in [a, b, c] {
        let mut viewer = hub.view("c").await;
        viewer.live().await;
        viewers.push(viewer);
    }
    let publishers: Vec<_> = [("p1", a), ("p2", b), ("p3", c)]
        .map(|(name, hub)| tokio::spawn(publish_all(hub.address(), name, "c", EACH)))
        .into();
    // To a hub that follows it, asked at the owner, at the other hub, and at a third one; and back.
    for (round, (by, to)) in [(a, b), (c, c), (b, a), (c, b)].into_iter().enumerate() {
        let said = 20 * (round + 1);
        until("some of it", async || (statuses(b, "c").await.len() > said).then_some(())).await;
        moves(by, "c", to).await;
    }
    for publisher in publishers {
        patiently("a publisher", publisher).await.unwrap();
    }
    let all = statuses(a, "c").await;
    each_once(&all, &["p1", "p2", "p3"], EACH);
    assert_eq!((statuses(b, "c").await, statuses(c, "c").await), (all.clone(), all));
    let hash = b.view_hash("c").await;
    assert_eq!((a.view_hash("c").await, c.view_hash("c").await), (hash.clone(), hash.clone()));
    for viewer in viewers {
        let viewer = watch_until(viewer, |viewer| viewer.hash() == hash).await;
        assert_eq!(viewer.epoch(), first.epoch, "the epoch goes on");
        assert!(viewer.seen.snapshots <= 1 && viewer.seen.drifts == 0, "no gap: {:?}", viewer.seen);
    }
}

#[tokio::test]
async fn a_moved_conversation_takes_commands_at_each_hub_and_is_deleted_at_any() {
    let cluster = Cluster::start(2).await;
    let [a, b] = &cluster.hubs[..] else { panic!() };
    a.publisher("c").await.says(RUN).await;
    let mut viewer = a.view("c").await;
    viewer.live().await;
    moves(a, "c", b).await;
    assert_eq!(move_to(a, "c", b).await.0, 200, "it is there already");
    for (hub, id, title) in [(a, "1", "One"), (b, "2", "Two"), (a, "3", "Three")] {
        let command = format!(r#"{{"id":"{id}","command":"label","title":"{title}"}}"#);
        let asked = hub.request("POST", "/v1/conversations/c/commands").body(command);
        let answer = patiently("an answer", asked.send()).await.unwrap();
        assert!(answer.status().is_success(), "{}", answer.text().await.unwrap());
        viewer.until(|view| view.label.title.as_deref() == Some(title)).await;
    }
    let deleted = patiently("the end", a.request("DELETE", "/v1/conversations/c").send()).await.unwrap();
    assert_eq!(deleted.status(), 204);
    viewer.until(|view| view.seq == 0).await;
}

#[tokio::test]
async fn a_conversation_stays_where_a_body_is_open_and_moves_only_to_hubs_of_the_log() {
    let cluster = Cluster::start(2).await;
    let [a, b] = &cluster.hubs[..] else { panic!() };
    let mut body = a.ingest("fanlight", "c");
    body.write(format!("{}\n", status("first"))).await;
    until("the first event", async || (statuses(a, "c").await.len() == 1).then_some(())).await;
    assert_eq!(move_to(b, "c", b).await.0, 429, "a body is open");
    body.write(format!("{}\n", status("second"))).await;
    let (code, answer) = body.finish().await;
    assert_eq!(code, 200, "{answer}");
    let stranger = "http://127.0.0.1:9";
    let asked = a.request("POST", &path("c", stranger)).send();
    assert_eq!(patiently("an answer", asked).await.unwrap().status(), 400, "nobody of this log lives there");
    assert_eq!(move_to(a, "none", b).await.0, 404);
    moves(b, "c", b).await;
    assert_eq!(statuses(a, "c").await, ["first", "second"]);
}

#[tokio::test]
async fn who_may_not_administer_moves_nothing() {
    let cluster = Cluster::start_with(2, &["--access", "tokens"]).await;
    let [a, b] = &cluster.hubs[..] else { panic!() };
    let owner = a.token_for("owner", &["publish,view,control:*"]).await;
    let begun = a.request("POST", "/v1/conversations/c/events").bearer_auth(&owner).body(status("x"));
    assert!(patiently("a begins", begun.send()).await.unwrap().status().is_success());
    let path = path("c", &b.url(""));
    let asked = a.request("POST", &path).bearer_auth(&owner).send();
    assert_eq!(patiently("an answer", asked).await.unwrap().status(), 403);
    let admin = a.token_for("admin", &["admin,view:*"]).await;
    let asked = a.request("POST", &path).bearer_auth(&admin).send();
    let answer = patiently("an answer", asked).await.unwrap();
    assert_eq!(answer.status(), 200, "{}", answer.text().await.unwrap());
    let audit = a.request("GET", "/v1/audit").bearer_auth(&admin).send().await.unwrap().text().await.unwrap();
    assert!(audit.contains("move to http"), "{audit}");
}

/// Moves a conversation and kills the hub that has it, or the one that is to have it, while it moves.
async fn killed_in_the_middle(is_target: bool) {
    const EACH: u64 = 60;
    let mut cluster = Cluster::start(3).await;
    let mut victim = cluster.hubs.remove(usize::from(is_target));
    let [other, third] = &cluster.hubs[..] else { panic!() };
    let (from, to) = if is_target { (other, &victim) } else { (&victim, other) };
    from.publisher("c").await.says(r#"{"k":"run.start","run":"r"}"#).await;
    let viewers = [other.view("c").await, third.view("c").await];
    let publishers: Vec<_> = [("p1", other), ("p2", third)]
        .map(|(name, hub)| tokio::spawn(publish_all(hub.address(), name, "c", EACH)))
        .into();
    until("some of it", async || (statuses(third, "c").await.len() > 20).then_some(())).await;
    let path = path("c", &to.url(""));
    let asked = tokio::spawn(third.request("POST", &path).send());
    // The request has arrived at the owner, or is on its way.
    until("more of it", async || (statuses(third, "c").await.len() > 24).then_some(())).await;
    victim.kill().await;
    // Whatever it came to.
    drop(patiently("an answer", asked).await.unwrap());
    for publisher in publishers {
        patiently("a publisher", publisher).await.unwrap();
    }
    let all = statuses(other, "c").await;
    each_once(&all, &["p1", "p2"], EACH);
    assert_eq!(statuses(third, "c").await, all);
    let hash = third.view_hash("c").await;
    assert_eq!(other.view_hash("c").await, hash);
    for viewer in viewers {
        let viewer = watch_until(viewer, |viewer| viewer.hash() == hash).await;
        assert!(viewer.seen.drifts == 0);
    }
}

#[tokio::test]
async fn i9_i10_an_owner_that_is_killed_while_it_moves_a_conversation_loses_nothing_that_was_acked() {
    killed_in_the_middle(false).await;
}

#[tokio::test]
async fn i9_i10_a_hub_that_is_killed_while_a_conversation_moves_to_it_loses_nothing_that_was_acked() {
    killed_in_the_middle(true).await;
}

#[tokio::test]
async fn a_move_that_takes_long_is_answered_by_what_it_came_to_at_a_third_hub_too() {
    let cluster = Cluster::start(3).await;
    let [a, b, c] = &cluster.hubs[..] else { panic!() };
    a.publisher("c").await.says(RUN).await;
    assert_eq!(statuses(c, "c").await.len(), 0);
    // The hub that is to have it does not answer for a while.
    b.signal("STOP").await;
    let path = path("c", &b.url(""));
    let mut asked = tokio::spawn(c.request("POST", &path).send());
    // Longer than it is waited for the answers to other requests before the owner is looked for again, and shorter than a lease.
    let early = tokio::time::timeout(Duration::from_millis(2_200), &mut asked).await;
    b.signal("CONT").await;
    assert!(early.is_err(), "it is answered once it is over: {early:?}");
    let answer = patiently("the answer", asked).await.unwrap().unwrap();
    let (code, text) = (answer.status().as_u16(), answer.text().await.unwrap());
    // Where this machine was so slow that the other hub had no time left, it says that the conversation was not taken over.
    assert!(code == 200 || text.contains("did not take the conversation over"), "{code} {text}");
}

/// How many numbers the vendor says.
const NUMBERS: u64 = 100;

/// A vendor that says numbers, each when it is let.
async fn counting_vendor() -> ScriptedServer {
    ScriptedServer::start(|_| {
        let mut steps = vec![ServerStep::begin("200 OK", &STREAM)];
        for number in 1..=NUMBERS {
            steps.extend([ServerStep::Wait, ServerStep::piece(&piece(&format!("{number} ")))]);
        }
        steps.extend([ServerStep::piece(END), ServerStep::end(&[])]);
        steps
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_proxy_records_while_its_conversation_moves_is_all_there() {
    let origin = counting_vendor().await;
    let cluster = Cluster::start_with(2, &["--upstream", &origin.named("x")]).await;
    let [a, b] = &cluster.hubs[..] else { panic!() };
    a.publisher("c").await.says(RUN).await;
    let body = r#"{"model":"m","stream":true,"messages":[{"role":"user","content":"Count"}]}"#;
    let asked = raw::post("/proxy/x/~c/v1/chat/completions", &[("authorization", "Bearer sk-one")], body);
    let address = a.address();
    let call = tokio::spawn(async move { raw::call(address, &asked).await });
    let mut viewer = b.view("c").await;
    for round in 0..NUMBERS / 5 {
        // Said while it moves.
        (0..5).for_each(|_| origin.go_on());
        moves(a, "c", if round % 2 == 0 { b } else { a }).await;
    }
    assert_eq!(patiently("the call", call).await.unwrap().status(), 200);
    let all = (1..=NUMBERS).map(|number| number.to_string()).collect::<Vec<_>>().join(" ");
    viewer.until(|view| view.runs.values().any(|run| !run.is_running() && run.answer().trim() == all)).await;
}
