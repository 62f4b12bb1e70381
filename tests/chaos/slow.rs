//! Viewers that do not read, beside others that do: nobody is disconnected for it, the others do not notice, the hub
//! keeps nothing for them, and when they read again they have everything.

use std::time::Duration;

use tests::wait::patiently_until;
use tests::wire::WebSocketWire;
use tests::{CuttableRelay, TestHub, TestViewer};

use crate::settings::{Bytes, Settings, allow_files};
use crate::stream::{self, Streamed};

/// What a relay lets through every tenth of a second for a viewer that reads slowly.
const CRAWL_BYTES: usize = 2 << 10;

/// How many of those who do not read never read again, and how many read slowly, in a full run.
const DEAD: usize = 5;

#[tokio::test(flavor = "multi_thread")]
async fn i8_viewers_that_do_not_read_are_kept_and_nobody_notices() {
    let settings = Settings::of("slow");
    allow_files(settings.slow_viewers * 6 + 500);
    let hub = TestHub::start().await;
    let plan = stream::Plan::of(&settings);
    let all = stream::gather(&hub, "alone", settings.slow_viewers).await;
    let alone = stream::run(&hub, "alone", &plan, all).await;
    let healthy = stream::gather(&hub, "beside", settings.slow_viewers - settings.slow_silent).await;
    let mut silent = Vec::new();
    for _ in 0..settings.slow_silent {
        let mut viewer = TestViewer::away(hub.address(), "beside");
        viewer.resume_over(WebSocketWire::connect_narrow(hub.address()).await).await;
        viewer.live().await;
        silent.push(viewer);
    }
    let relay = CuttableRelay::start(hub.address(), CRAWL_BYTES).await;
    let mut crawling = Vec::new();
    for _ in 0..if settings.full { DEAD } else { 1 } {
        crawling.push(TestViewer::connect(relay.address(), "beside").await);
    }
    let beside = stream::run(&hub, "beside", &plan, healthy).await;
    tell(&settings, &alone, &beside);
    // Nobody was sent away.
    let moving = settings.slow_viewers - settings.slow_silent + crawling.len() as u64;
    assert_eq!(hub.viewers("beside").await, moving + settings.slow_silent);
    // A queue for each of them would hold all that was published since.
    let grown = beside.grown_bytes.saturating_sub(alone.grown_bytes);
    let queues = settings.slow_silent * plan.published_bytes();
    assert!(grown < queues / 2, "{} for {} silent viewers", Bytes(grown), settings.slow_silent);

    let expected = hub.view_hash("beside").await;
    let dead = if settings.full { silent.split_off(silent.len() - DEAD) } else { Vec::new() };
    converge(&mut silent, beside.head, &expected).await;
    drop(silent);
    if !dead.is_empty() {
        patiently_until("the hub to give up those who take no byte", async || {
            let now = hub.viewers("beside").await;
            assert!(now >= moving, "one who reads slowly was sent away: {now} of {moving} are left");
            (now == moving).then_some(())
        })
        .await;
        println!(
            "slow: {} viewers that took no byte for 30 s were closed, {} that read slowly were not",
            dead.len(),
            crawling.len()
        );
    }
    relay.open();
    converge(&mut crawling, beside.head, &expected).await;
    for mut viewer in dead {
        viewer.cut();
        viewer.resume().await;
        converge(&mut [viewer], beside.head, &expected).await;
    }
}

/// They read on, and then show what the hub has.
async fn converge(viewers: &mut [TestViewer], head: u64, expected: &str) {
    for viewer in viewers {
        viewer.reach(head).await;
        assert_eq!(viewer.hash(), expected);
    }
}

fn tell(settings: &Settings, alone: &Streamed, beside: &Streamed) {
    let micros = |streamed: &Streamed, share| {
        Duration::from_micros(streamed.latencies.quantile(share)).as_secs_f64() * 1e3
    };
    println!("| | without slow ones | with {} that do not read |\n|---|--:|--:|", settings.slow_silent);
    for (what, share) in [("median", 0.5), ("p99", 0.99)] {
        println!("| {what}, ms | {:.2} | {:.2} |", micros(alone, share), micros(beside, share));
    }
    println!("| growth of the hub | {} | {} |", Bytes(alone.grown_bytes), Bytes(beside.grown_bytes));
}
