//! A hub that has too much to do gives conversations to others by itself, while they are published to and watched.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tests::TestHub;
use tests::wait::{patiently, patiently_until, until};

use crate::cluster::{Cluster, status, statuses};
use crate::several_hubs::{publish_while, watch_until};
use crate::several_moves::each_once;

/// How many conversations the hub gave away because it was overloaded, and how many it was given.
async fn figures(hub: &TestHub) -> (u64, u64) {
    (hub.number("overload_moves_total").await, hub.number("conversations_arrived_total").await)
}

#[tokio::test(flavor = "multi_thread")]
async fn i2_i10_an_overloaded_hub_gives_its_busiest_conversations_away_while_they_are_published_to_and_watched()
 {
    let names = ["c1", "c2", "c3"];
    // One hub is overloaded by what it is given to do: two hundredths of what it may use are too much for it. The others may use all that they are.
    let mut cluster = Cluster::start_with(2, &["--hub-overload", "100"]).await;
    let small = cluster.one_more(&["--hub-overload", "2", "--hub-overload-after", "0"]).await;
    cluster.hubs.push(small);
    let [b, c, a] = &cluster.hubs[..] else { panic!() };
    let mut viewers = Vec::new();
    for name in names {
        a.publisher(name).await.says(r#"{"k":"run.start","run":"r"}"#).await;
        for hub in [a, b, c] {
            let mut viewer = hub.view(name).await;
            viewer.live().await;
            viewers.push((name, viewer));
        }
    }
    // A hundred events in a second from each of six publishers, until one of their conversations has gone and all have said something after that.
    let has_gone = Arc::new(AtomicBool::new(false));
    let publishers = names.iter().flat_map(|name| [("p1", a), ("p2", b)].map(|(pid, hub)| (*name, pid, hub)));
    let publishers = publishers.map(|(name, pid, hub)| {
        let (address, has_gone) = (hub.address(), Arc::clone(&has_gone));
        let publishing = tokio::spawn(async move {
            let mut left = 20;
            publish_while(address, (pid, name), Duration::from_millis(10), |_| {
                left -= u64::from(has_gone.load(Ordering::Relaxed));
                left > 0
            })
            .await
        });
        (name, pid, publishing)
    });
    let publishers: Vec<_> = publishers.collect();
    patiently_until("a conversation to go", async || (figures(a).await.0 > 0).then_some(())).await;
    has_gone.store(true, Ordering::Relaxed);
    let mut counts = Vec::new();
    for (name, pid, publishing) in publishers {
        counts.push((name, pid, patiently("a publisher", publishing).await.unwrap()));
    }
    let (given, back) = figures(a).await;
    let arrived = figures(b).await.1 + figures(c).await.1;
    assert!(
        arrived >= given && given <= 3 && back == 0,
        "{given} of 3 went, {arrived} came, {back} came back"
    );
    for name in names {
        let all = statuses(a, name).await;
        for (_, pid, count) in counts.iter().filter(|it| it.0 == name) {
            each_once(&all, &[*pid], *count);
        }
        for hub in [b, c] {
            assert_eq!(statuses(hub, name).await, all);
        }
    }
    for (name, viewer) in viewers {
        let hash = c.view_hash(name).await;
        let viewer = watch_until(viewer, |viewer| viewer.hash() == hash).await;
        assert_eq!(viewer.seen.drifts, 0, "{name}: {:?}", viewer.seen);
    }
}

#[tokio::test]
async fn hubs_tell_their_load_and_one_that_takes_no_part_says_so() {
    let cluster = Cluster::start_with(1, &["--hub-overload", "50"]).await;
    let a = &cluster.hubs[0];
    let load = a.json("/v1/load").await;
    assert!(load["room_millicores"].as_u64().unwrap() > 0 && load["arrivals"] == 0, "{load}");
    // Measured, once there are looks enough.
    until("a figure", async || (a.json("/v1/load").await["used_millicores"].as_u64()? > 0).then_some(()))
        .await;
    assert_eq!(a.number("cpu_room_millicores").await, load["room_millicores"].as_u64().unwrap());
    let off = TestHub::start_with(&["--hub-overload", "0"]).await;
    assert_eq!(off.json("/v1/load").await["room_millicores"], 0);
}

#[tokio::test]
async fn with_access_control_hubs_tell_one_another_their_load_and_what_went_is_in_the_audit_log() {
    let mut cluster = Cluster::start_with(1, &["--access", "tokens", "--hub-overload", "100"]).await;
    let options = ["--access", "tokens", "--hub-overload", "1", "--hub-overload-after", "0"];
    let small = cluster.one_more(&options).await;
    cluster.hubs.push(small);
    let [b, a] = &cluster.hubs[..] else { panic!() };
    let token = a.token_for("all", &["admin,publish,view:*"]).await;
    let load = a.request("GET", "/v1/load").send();
    assert_eq!(patiently("no load for strangers", load).await.unwrap().status(), 401);
    let entry = patiently_until("the audit log to tell of it", async || {
        for number in 0..4 {
            let said = status(&number.to_string());
            let asked = a.request("POST", "/v1/conversations/c/events").bearer_auth(&token).body(said);
            assert!(asked.send().await.ok()?.status().is_success());
        }
        let asked = a.request("GET", "/v1/audit").bearer_auth(&token).send().await.ok()?;
        let audit: Value = asked.json().await.ok()?;
        // One that could not go at that moment, since a post was open, is tried again.
        let is_it = |entry: &&Value| {
            let detail = entry["detail"].as_str();
            detail.is_some_and(|it| it.contains("overloaded: it uses")) && entry["failed"].is_null()
        };
        audit["entries"].as_array()?.iter().find(is_it).cloned()
    })
    .await;
    assert!(entry["detail"].as_str().unwrap().starts_with(&format!("move to {}", b.url(""))), "{entry}");
    assert_eq!(
        (&entry["who"], &entry["conversation"], &entry["deed"]),
        (&json!("hub"), &json!("c"), &json!("administer"))
    );
}
