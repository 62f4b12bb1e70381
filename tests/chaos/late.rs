//! A long run: what it costs to join late, by the snapshot and by a replay of everything, and what it costs to come
//! back after many events were missed.

use std::time::{Duration, Instant};

use model::snapshot;
use tests::{TestHub, TestPublisher, TestViewer};

use crate::replay::Replay;
use crate::settings::{Bytes, SeededRandom, Settings};
use crate::story::{OPEN, StoryWords};

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
    let hub = TestHub::start().await;
    let mut publisher = hub.publisher("c").await;
    publisher.says(OPEN).await;
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
    }
    let expected = hub.view_hash("c").await;
    let mut replay = Replay::default();
    replay.read(&hub, "c").await;
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
async fn publish(publisher: &mut TestPublisher, random: &mut SeededRandom, count: u64) {
    let mut words = StoryWords::default();
    for _ in 0..count {
        let letters = random.between(1, 8);
        let mut word: String = (0..letters).map(|_| char::from(b'a' + random.between(0, 26) as u8)).collect();
        word.push(' ');
        words += &word;
    }
    publisher.says(words.lines()).await;
}

async fn join(hub: &TestHub, expected: &str) -> Cost {
    let began = Instant::now();
    let mut viewer = hub.view("c").await;
    viewer.live().await;
    cost("late, snapshot", began.elapsed(), &viewer, expected)
}

async fn resume(mut viewer: TestViewer, head: u64, expected: &str) -> Cost {
    viewer.seen = tests::viewer::ViewerLog::default();
    let began = Instant::now();
    viewer.resume().await;
    viewer.reach(head).await;
    cost("resume", began.elapsed(), &viewer, expected)
}

fn cost(what: &'static str, time: Duration, viewer: &TestViewer, expected: &str) -> Cost {
    assert_eq!(viewer.hash(), expected, "{what}");
    let seen = &viewer.seen;
    Cost { what, time, bytes: seen.bytes, frames: seen.batches + seen.snapshots, events: seen.events }
}
