//! What several hubs on one log in PostgreSQL cost, each figure beside the one that it is compared with, in one run: a viewer at a hub that
//! follows beside one at the owner, an event stored in PostgreSQL beside one in SQLite, and what three hubs store together beside what the
//! database's commits take. CPU is that of the hubs' processes.
//! `--seconds`, `--viewers`, `--rate` (of the events that three hubs store each second) and `--only` (a part's name) choose.
#![expect(
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "a load generator: places are computed beside their use, and counts are small"
)]

use std::io::Write as _;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use event_log::{PostgresPlace, TestPostgresServer};
use model::frame::{ClientFrame, Durability, Pub, ServerFrame, SubscriptionOptions};
use model::{ConversationId, Envelope, PublisherId};
use tests::TestHub;
use tests::process::cpu;
use tests::wait::until;
use tests::wire::WebSocketWire;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{Instant, MissedTickBehavior, interval};

const USAGE: &str = "cargo xtask bench --bench hubs -- [--seconds 20] [--viewers 200] [--rate 20000] [--only viewers|stored|three]";

/// Events that each conversation that is watched gets in a second.
const WATCHED_RATE: u64 = 50;

/// Events that are stored in a second beside one another in PostgreSQL and SQLite.
const STORED_RATE: u64 = 2_000;

/// Publishers at each hub, and in each log.
const PUBLISHERS: usize = 8;

/// Events in a frame where three hubs store as much as they are given.
const EVENTS: u64 = 10;

/// How often a publisher sends what is due.
const STEP: Duration = Duration::from_millis(5);

type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

struct Args {
    seconds: u64,
    viewers: usize,
    rate: u64,
    only: Option<String>,
}

fn main() -> Outcome<()> {
    let mut chosen = Args { seconds: 20, viewers: 200, rate: 20_000, only: None };
    // cargo adds the first one.
    let mut args = std::env::args().skip(1).filter(|arg| arg != "--bench");
    while let Some(name) = args.next() {
        let value = args.next().ok_or_else(|| format!("{name} needs a value\n{USAGE}"))?;
        match name.as_str() {
            "--seconds" => chosen.seconds = value.parse()?,
            "--viewers" => chosen.viewers = value.parse()?,
            "--rate" => chosen.rate = value.parse()?,
            "--only" => chosen.only = Some(value),
            other => return Err(format!("{other} is no option\n{USAGE}").into()),
        }
    }
    tokio::runtime::Runtime::new()?.block_on(run(&chosen))
}

async fn run(args: &Args) -> Outcome<()> {
    let is_wanted = |part: &str| args.only.as_deref().is_none_or(|only| only == part);
    if is_wanted("viewers") {
        viewers(args).await;
    }
    if is_wanted("stored") {
        stored(args).await;
    }
    if is_wanted("three") {
        three(args).await?;
    }
    Ok(())
}

/// `count` hubs on one log.
async fn cluster(count: usize) -> (PostgresPlace, tempfile::TempDir, Vec<TestHub>) {
    let (place, folder) = (TestPostgresServer::shared().place(), tempfile::tempdir().expect("a folder"));
    let secret = folder.path().join("secret");
    std::fs::write(&secret, "a secret of more than thirty-two bytes").expect("a file");
    std::fs::set_permissions(&secret, std::fs::Permissions::from_mode(0o600)).expect("its rights");
    let secret = secret.display().to_string();
    let mut hubs = Vec::new();
    for _ in 0..count {
        let options =
            ["--hub-address", "http://127.0.0.1:0", "--hub-secret-file", &secret, "--trace", "warn"];
        hubs.push(TestHub::start_with(&[&["--log", place.url()][..], &options].concat()).await);
    }
    (place, folder, hubs)
}

/// Two conversations with the same events and as many viewers: those of one at its owner, those of the other at a hub that follows. What
/// the owner of the second does besides is what the owner of the first does for its publisher.
async fn viewers(args: &Args) {
    let (_place, _folder, hubs) = cluster(3).await;
    let [owner, follower, both] = &hubs[..] else { return };
    let (seen_there, seen_here) = (Arc::<AtomicU64>::default(), Arc::<AtomicU64>::default());
    let is_over = Arc::<AtomicBool>::default();
    let first = Publisher::new(owner.address(), "followed", 1, WATCHED_RATE, Durability::Memory).await;
    let second = Publisher::new(both.address(), "owned", 1, WATCHED_RATE, Durability::Memory).await;
    // The hub that takes the first event has the conversation.
    owner.publisher("followed").await.says(r#"{"k":"run.start","run":"r"}"#).await;
    both.publisher("owned").await.says(r#"{"k":"run.start","run":"r"}"#).await;
    let mut watching = JoinSet::new();
    for _ in 0..args.viewers {
        watching.spawn(watch(follower.address(), "followed", Arc::clone(&seen_there)));
        watching.spawn(watch(both.address(), "owned", Arc::clone(&seen_here)));
    }
    let all = args.viewers as u64;
    for seen in [&seen_there, &seen_here] {
        until("each viewer to see the first event", async || {
            (seen.load(Ordering::Relaxed) >= all).then_some(())
        })
        .await;
    }
    let pids = [owner, follower, both].map(TestHub::pid);
    let (before, began) = (pids.map(cpu), [&seen_there, &seen_here].map(|seen| seen.load(Ordering::Relaxed)));
    let publishing = [first, second].map(|publisher| publisher.start(&is_over));
    let over = tokio::time::timeout(Duration::from_secs(args.seconds), std::future::pending::<()>()).await;
    debug_assert!(over.is_err(), "nothing is waited for but the time");
    let spent = [0, 1, 2].map(|hub| (cpu(pids[hub]).saturating_sub(before[hub])).as_secs_f64() * 1e6);
    let there = seen_there.load(Ordering::Relaxed) - began[0];
    let here = seen_here.load(Ordering::Relaxed) - began[1];
    is_over.store(true, Ordering::Relaxed);
    finish(publishing).await;
    let (at_follower, at_owner) = (spent[1] / there as f64, spent[2] / here as f64);
    let only_viewers = (spent[2] - spent[0]) / here as f64;
    say(&format!(
        "## A viewer on a follower and one on the owner: {} viewers of each, {WATCHED_RATE} events/s, {} s\n\n\
         | hub | deliveries | µs of CPU for each |\n|---|--:|--:|\n\
         | a follower | {there} | {at_follower:.2} |\n| the owner, with its publisher | {here} | {at_owner:.2} |\n\
         | the owner, without what an owner costs that nobody watches | {here} | {only_viewers:.2} |\n\n\
         follower / owner: {:.2}; / the owner's viewers alone: {:.2} (goal: 0.90 to 1.10)\n",
        args.viewers,
        args.seconds,
        at_follower / at_owner,
        at_follower / only_viewers
    ));
}

/// The same events into a hub on SQLite and one on PostgreSQL, at the same time.
async fn stored(args: &Args) {
    let sqlite = TestHub::start_with(&["--log", "sqlite", "--trace", "warn"]).await;
    let place = TestPostgresServer::shared().place();
    let postgres = TestHub::start_with(&["--log", place.url(), "--trace", "warn"]).await;
    let is_over = Arc::<AtomicBool>::default();
    let hubs = [&sqlite, &postgres];
    let mut publishing = Vec::new();
    for hub in hubs {
        for number in 0..PUBLISHERS {
            let name = format!("c{number}");
            let rate = STORED_RATE / PUBLISHERS as u64;
            publishing.push(Publisher::new(hub.address(), &name, 1, rate, Durability::Stored).await);
        }
    }
    let before = hubs.map(|hub| cpu(hub.pid()));
    let publishing: Vec<_> = publishing.into_iter().map(|publisher| publisher.start(&is_over)).collect();
    let over = tokio::time::timeout(Duration::from_secs(args.seconds), std::future::pending::<()>()).await;
    debug_assert!(over.is_err(), "nothing is waited for but the time");
    let spent = [0, 1].map(|hub| cpu(hubs[hub].pid()).saturating_sub(before[hub]).as_secs_f64() * 1e6);
    is_over.store(true, Ordering::Relaxed);
    let done = finish(publishing).await;
    let of = |hub: usize| Acks::joined(&done[hub * PUBLISHERS..(hub + 1) * PUBLISHERS]);
    let costs = [0, 1].map(|hub| spent[hub] / of(hub).events as f64);
    say(&format!(
        "## An event stored: {STORED_RATE} events/s, one in each frame, {PUBLISHERS} publishers, {} s\n\n\
         | log | events | µs of the hub's CPU for each | ack p50 | ack p99 |\n|---|--:|--:|--:|--:|\n{}{}\n\
         PostgreSQL / SQLite: {:.2} (goal: at most 2)\n",
        args.seconds,
        of(0).line("SQLite", costs[0]),
        of(1).line("PostgreSQL", costs[1]),
        costs[1] / costs[0]
    ));
}

/// Three hubs store; a third of what each gets is its own, the rest it passes on. Beside them the database commits single rows.
async fn three(args: &Args) -> Outcome<()> {
    let (_place, _folder, hubs) = cluster(3).await;
    let idle = tokio::task::spawn_blocking(|| TestPostgresServer::shared().commits(1, 3)).await?;
    let is_over = Arc::<AtomicBool>::default();
    let mut publishing = Vec::new();
    for (at, hub) in hubs.iter().enumerate() {
        for number in 0..PUBLISHERS {
            let name = format!("c{at}-{number}");
            // It belongs to the hub that is asked first.
            let owner = hubs.get((at + number) % hubs.len()).unwrap_or(hub);
            owner.publisher(&name).await.says(r#"{"k":"run.start","run":"r"}"#).await;
            let rate = args.rate / (hubs.len() * PUBLISHERS) as u64;
            publishing.push(Publisher::new(hub.address(), &name, EVENTS, rate, Durability::Stored).await);
        }
    }
    let before: Duration = hubs.iter().map(|hub| cpu(hub.pid())).sum();
    let began = Instant::now();
    let publishing: Vec<_> = publishing.into_iter().map(|publisher| publisher.start(&is_over)).collect();
    let seconds = usize::try_from(args.seconds)?;
    let beside =
        tokio::task::spawn_blocking(move || TestPostgresServer::shared().commits(1, seconds)).await?;
    let spent: Duration = hubs.iter().map(|hub| cpu(hub.pid())).sum::<Duration>().saturating_sub(before);
    is_over.store(true, Ordering::Relaxed);
    let done = Acks::joined(&finish(publishing).await);
    let took = began.elapsed().as_secs_f64();
    let p99 = |times: &[Duration]| quantile(times, 99).as_secs_f64() * 1e3;
    let ack = p99(&done.times);
    say(&format!(
        "## Three hubs: {} events/s offered for {} s, {EVENTS} in each frame\n\n\
         {:.0} events/s were stored and acked ({:.2} µs of the hubs' CPU each); acks p50 {:.1} ms, p99 {ack:.1} ms\n\n\
         | commits of one row by pgbench | count | p50 ms | p99 ms |\n|---|--:|--:|--:|\n{}{}\n\
         ack p99 / commit p99 beside it: {:.2}\n",
        args.rate,
        args.seconds,
        done.events as f64 / took,
        spent.as_secs_f64() * 1e6 / done.events as f64,
        quantile(&done.times, 50).as_secs_f64() * 1e3,
        commits("alone", &idle),
        commits("beside the hubs", &beside),
        ack / p99(&beside)
    ));
    Ok(())
}

/// A row of the table of commits.
fn commits(name: &str, times: &[Duration]) -> String {
    let [p50, p99] = [50, 99].map(|percent| quantile(times, percent).as_secs_f64() * 1e3);
    format!("| {name} | {} | {p50:.2} | {p99:.2} |\n", times.len())
}

/// The time below which `percent` of the sorted `times` are.
fn quantile(times: &[Duration], percent: usize) -> Duration {
    times.get((times.len() * percent / 100).min(times.len().saturating_sub(1))).copied().unwrap_or_default()
}

/// Watches a conversation, and counts its events in `seen`.
async fn watch(address: SocketAddr, conversation: &str, seen: Arc<AtomicU64>) {
    let mut wire = WebSocketWire::connect(address).await;
    let conv = ConversationId::parse(conversation).expect("a name");
    wire.send(&ClientFrame::Sub { sub: 1, conv, have: None, wish: SubscriptionOptions::default() }).await;
    loop {
        match wire.frame_or_end().await {
            Ok((ServerFrame::Batch { from, to, .. }, _)) => {
                seen.fetch_add(to - from + 1, Ordering::Relaxed);
            }
            Ok((ServerFrame::Snap { more: false, .. }, _)) => drop(seen.fetch_add(1, Ordering::Relaxed)),
            Ok((ServerFrame::Hb { .. }, _)) => {
                wire.offer(&ClientFrame::HbAck { at: std::collections::BTreeMap::new() }).await;
            }
            Ok(_) => {}
            Err(_end) => return,
        }
    }
}

/// Events that were acked, and how long each ack took.
#[derive(Debug, Default, Clone)]
struct Acks {
    events: u64,
    times: Vec<Duration>,
}

impl Acks {
    /// All of them, the shortest first.
    fn joined(all: &[Self]) -> Self {
        let mut times: Vec<Duration> = all.iter().flat_map(|acks| acks.times.iter().copied()).collect();
        times.sort_unstable();
        Self { events: all.iter().map(|acks| acks.events).sum(), times }
    }

    fn line(&self, name: &str, cost: f64) -> String {
        let [p50, p99] = [50, 99].map(|percent| quantile(&self.times, percent).as_secs_f64() * 1e3);
        format!("| {name} | {} | {cost:.1} | {p50:.1} ms | {p99:.1} ms |\n", self.events)
    }
}

/// Publishes at a steady rate, many frames ahead of their acks.
struct Publisher {
    wire: WebSocketWire,
    conversation: ConversationId,
    /// Events in a frame, and in a second.
    events: u64,
    rate: u64,
    level: Durability,
    /// The number of the next frame.
    next: u64,
}

impl Publisher {
    async fn new(address: SocketAddr, name: &str, events: u64, rate: u64, level: Durability) -> Self {
        let conversation = ConversationId::parse(name).expect("a name");
        Self { wire: WebSocketWire::connect(address).await, conversation, events, rate, level, next: 1 }
    }

    /// Sends `count` frames.
    async fn send(&mut self, count: u64) {
        for _ in 0..count {
            let event =
                format!(r#"{{"k":"status","text":"what the agent does now, {}","run":"r"}}"#, self.next);
            let event = Envelope::parse(&event).expect("an event");
            let frame = ClientFrame::Pub(Pub {
                id: self.next,
                conv: self.conversation.clone(),
                pid: Some(PublisherId::new("bench")),
                pepoch: 1,
                pfirst: 0,
                pseq: self.next,
                durability: Some(self.level),
                events: vec![event; usize::try_from(self.events).expect("a small number")],
            });
            self.next += 1;
            self.wire.send(&frame).await;
        }
    }

    /// Publishes in a task of its own until `is_over`, and then waits for the acks.
    fn start(self, is_over: &Arc<AtomicBool>) -> JoinHandle<Acks> {
        tokio::spawn(self.publish(Arc::clone(is_over)))
    }

    async fn publish(mut self, is_over: Arc<AtomicBool>) -> Acks {
        let (mut done, mut sent) = (Acks::default(), std::collections::BTreeMap::new());
        let (first, began) = (self.next, Instant::now());
        let mut steps = interval(STEP);
        steps.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while !is_over.load(Ordering::Relaxed) || !sent.is_empty() {
            tokio::select! {
                frame = self.wire.frame_or_end() => match frame {
                    Ok((ServerFrame::Ack(ack), _)) => {
                        if let Some(at) = sent.remove(&ack.id) {
                            done.times.push(Instant::now() - at);
                            done.events += self.events;
                        }
                    }
                    Ok((ServerFrame::Hb { .. }, _)) => {
                        self.wire.offer(&ClientFrame::HbAck { at: std::collections::BTreeMap::new() }).await;
                    }
                    Ok((ServerFrame::Error { code, message, .. }, _)) => panic!("{code:?}: {message}"),
                    Ok(_) => {}
                    Err(end) => panic!("the hub has closed the socket: {end:?}"),
                },
                _ = steps.tick(), if !is_over.load(Ordering::Relaxed) => {
                    let due = began.elapsed().as_millis() as u64 * self.rate / 1_000 / self.events;
                    while self.next - first < due {
                        sent.insert(self.next, Instant::now());
                        self.send(1).await;
                    }
                }
            }
        }
        done
    }
}

/// Waits for publishers.
async fn finish(publishing: impl IntoIterator<Item = JoinHandle<Acks>>) -> Vec<Acks> {
    let mut done = Vec::new();
    for publisher in publishing {
        done.push(publisher.await.expect("a publisher"));
    }
    done
}

fn say(line: &str) {
    // Whoever reads may have gone.
    drop(writeln!(std::io::stdout(), "{line}"));
}
