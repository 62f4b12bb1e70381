//! Everybody comes and goes for a long time: publishers, viewers, readers of streams and of the list. When the last one
//! has left, the hub holds nothing for anybody.

use std::cell::Cell;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tests::wait::{patiently, patiently_until, until};
use tests::{ChildProcess, TestHub};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::interval;

use crate::settings::{Bytes, SeededRandom, Settings, allow_files};

mod actors;

/// Conversations that are spoken in at the same time.
const STAGES: u64 = 8;

/// How long a conversation is spoken in; then another one takes its stage.
const ACT: Duration = Duration::from_mins(1);

/// Between two looks at the hub.
const LOOK: Duration = Duration::from_secs(10);

/// How far the soak is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Time {
    /// Everybody comes and goes.
    Load,
    /// Nobody begins anything new.
    Evening,
    /// Publishers are silent, viewers look a last time.
    Night,
}

/// What everybody needs.
#[derive(Debug, Clone)]
struct SoakState {
    hub: SocketAddr,
    began: Instant,
    time: watch::Receiver<Time>,
}

impl SoakState {
    /// One of the conversations of now.
    fn conversation(&self, random: &mut SeededRandom) -> String {
        let act = self.began.elapsed().as_secs() / ACT.as_secs();
        format!("stage-{}-act-{act}", random.between(0, STAGES))
    }

    fn goes_on(&self) -> bool {
        *self.time.borrow() == Time::Load
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn i7_when_the_last_one_has_left_nothing_is_held_for_anybody() {
    let settings = Settings::of("soak");
    allow_files(settings.soak_viewers * 3 + 1_000);
    let mut random = settings.random();
    let hub = TestHub::start().await;
    let empty = hub.process();
    tell("empty", empty);
    let (clock, time) = watch::channel(Time::Load);
    let scene = SoakState { hub: hub.address(), began: Instant::now(), time };
    let (mut publishers, mut viewers) = (JoinSet::new(), JoinSet::new());
    for number in 0..settings.soak_publishers {
        publishers.spawn(actors::publisher(scene.clone(), random.fork(), number));
    }
    for number in 0..settings.soak_viewers {
        match number % 10 {
            0 => viewers.spawn(actors::list_watcher(scene.clone(), random.fork())),
            1 | 2 => viewers.spawn(actors::stream_reader(scene.clone(), random.fork())),
            _ => viewers.spawn(actors::viewer(scene.clone(), random.fork())),
        };
    }
    tokio::select! {
        () = look_on(&hub, Duration::from_secs(settings.soak_seconds)) => {}
        Some(ended) = publishers.join_next() => panic!("a publisher failed: {:?}", ended.err()),
        Some(ended) = viewers.join_next() => panic!("a viewer failed: {:?}", ended.err()),
    }
    clock.send_replace(Time::Evening);
    let published: u64 = patiently("the publishers", publishers.join_all()).await.iter().sum();
    clock.send_replace(Time::Night);
    patiently("the viewers", viewers.join_all()).await;
    println!("soak: {published} events were published");
    let held = Cell::new(empty);
    let left = patiently_until("the hub to let go of everybody", async || {
        let now = hub.process();
        if held.replace(now) != now {
            tell("meanwhile", now);
        }
        (now.sockets == empty.sockets && now.others == empty.others).then_some(now)
    })
    .await;
    tell("afterwards", left);
    // This asks over a socket of its own, so it comes after the look at all of them.
    for name in ["sockets", "subscriptions", "list_subscriptions", "readers", "tasks"] {
        let what = format!("no {name}");
        until(&what, async || (hub.number(name).await == 0).then_some(())).await;
    }
    until("all to be stored", async || (hub.number("log_queue_bytes").await == 0).then_some(())).await;
    let list = hub.json("/v1/conversations").await;
    for row in list["conversations"].as_array().unwrap() {
        assert_eq!(row["viewers"], 0, "{row}");
    }
}

/// Prints how the hub does, every ten seconds.
async fn look_on(hub: &TestHub, duration: Duration) {
    let began = Instant::now();
    let mut looks = interval(LOOK.min(duration));
    while began.elapsed() < duration {
        looks.tick().await;
        tell(&format!("after {} s", began.elapsed().as_secs()), hub.process());
    }
}

fn tell(when: &str, process: ChildProcess) {
    let ChildProcess { resident_bytes, peak_bytes: _, files, sockets, others, threads } = process;
    let memory = Bytes(resident_bytes);
    println!("soak: {when}: {memory}, {sockets} sockets, {files} files, {others} others, {threads} threads");
}
