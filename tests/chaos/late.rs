//! A long run: what it costs to join late, by the snapshot and by a replay of everything, and what it costs to come
//! back after many events were missed.

use std::time::{Duration, Instant};

use shared::fold::fold_batch;
use shared::{Envelope, View, snapshot};
use tests::wait::within;
use tests::{Hub, Publisher, Viewer};

use crate::settings::{Bytes, Random, Settings};
use crate::story::{OPEN, Words};

/// Tokens in one publication.
const BURST: u64 = 500;

/// One way to have everything.
struct Cost {
    what: &'static str,
    time: Duration,
    bytes: usize,
    frames: usize,
    events: usize,
}

#[tokio::test(flavor = "multi_thread")]
async fn i4_a_long_run_is_joined_and_resumed_at_the_price_of_its_text() {
    let settings = Settings::of("late");
    let (tokens, missed) = (settings.late_tokens, settings.late_missed);
    let mut random = settings.random();
    let hub = Hub::start().await;
    let mut publisher = hub.publisher("c").await;
    publisher.says(OPEN).await;
    let mut replay = Replay::default();
    let mut cut = None;
    let mut published = 0;
    while published < tokens {
        if published >= tokens - missed && cut.is_none() {
            let mut viewer = hub.view("c").await;
            viewer.live().await;
            viewer.cut();
            cut = Some(viewer);
        }
        let count = BURST.min(tokens - published);
        publish(&mut publisher, &mut random, count).await;
        published += count;
        replay.read(&hub).await;
    }
    let expected = hub.view_hash("c").await;
    assert_eq!(snapshot::hash(&replay.view), expected);
    let late = join(&hub, &expected).await;
    let resumed = resume(cut.unwrap(), tokens + 2, &expected).await;
    let replayed = Cost {
        what: "late, replay of all",
        time: replay.time,
        bytes: replay.bytes,
        frames: 0,
        events: replay.events,
    };
    // What is joined must not cost what the single events do.
    assert!(late.bytes * 3 < replayed.bytes, "{} against {}", late.bytes, replayed.bytes);
    println!("late: {tokens} tokens, {missed} of them missed by who was cut");
    println!("| way | ms | bytes | frames | events |\n|---|--:|--:|--:|--:|");
    for cost in [late, replayed, resumed] {
        let (ms, bytes) = (cost.time.as_secs_f64() * 1e3, Bytes(cost.bytes as u64));
        println!("| {} | {ms:.1} | {bytes} | {} | {} |", cost.what, cost.frames, cost.events);
    }
}

/// Publishes `count` deltas of the size of a token.
async fn publish(publisher: &mut Publisher, random: &mut Random, count: u64) {
    let mut words = Words::default();
    for _ in 0..count {
        let letters = random.between(1, 8);
        let mut word: String = (0..letters).map(|_| char::from(b'a' + random.between(0, 26) as u8)).collect();
        word.push(' ');
        words += &word;
    }
    publisher.says(words.lines()).await;
}

async fn join(hub: &Hub, expected: &str) -> Cost {
    let began = Instant::now();
    let mut viewer = hub.view("c").await;
    viewer.live().await;
    cost("late, snapshot", began.elapsed(), &viewer, expected)
}

async fn resume(mut viewer: Viewer, head: u64, expected: &str) -> Cost {
    viewer.seen = tests::viewer::Seen::default();
    let began = Instant::now();
    viewer.resume().await;
    viewer.reach(head).await;
    cost("resume", began.elapsed(), &viewer, expected)
}

fn cost(what: &'static str, time: Duration, viewer: &Viewer, expected: &str) -> Cost {
    assert_eq!(viewer.hash(), expected, "{what}");
    let seen = &viewer.seen;
    Cost { what, time, bytes: seen.bytes, frames: seen.batches + seen.snapshots, events: seen.events }
}

/// A reader of every single event, page by page. It reads while the run goes on, since a log in memory forgets.
#[derive(Debug, Default)]
struct Replay {
    view: View,
    after: Option<String>,
    time: Duration,
    bytes: usize,
    events: usize,
}

impl Replay {
    /// Reads and folds what it does not have yet.
    async fn read(&mut self, hub: &Hub) {
        let began = Instant::now();
        loop {
            let after = self.after.as_ref().map(|after| format!("?after={after}")).unwrap_or_default();
            let page = hub
                .request("GET", &format!("/v1/conversations/c/events{after}"))
                .header("accept", "application/x-ndjson");
            let answer = within("a page of events", page.send()).await.unwrap();
            assert_eq!(answer.status(), 200);
            self.after = Some(answer.headers()["fanlight-position"].to_str().unwrap().to_owned());
            let page = within("the events of a page", answer.text()).await.unwrap();
            let events: Vec<_> = page.lines().map(|line| Envelope::parse(line).unwrap()).collect();
            let Some(last) = events.last() else { break };
            let from = self.view.seq + 1;
            assert!(fold_batch(&mut self.view, from, last.seq, &events, &mut |_| {}));
            self.bytes += page.len();
            self.events += events.len();
        }
        self.time += began.elapsed();
    }
}
