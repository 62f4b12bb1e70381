//! One measured stream: a publisher at a steady pace, viewers that read, and when each event came.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use model::limits::{NO_PROGRESS_MS, PART_BYTES_MAX};
use serde_json::json;
use tests::wait::patiently;
use tests::watcher::WatcherMessage;
use tests::{ListWatcher, TestHub, TestPublisher};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::interval;

use crate::event::{EVENTS_PER_PART, Event, Scan};
use crate::histogram::Histogram;
use crate::settings::Settings;

/// What is published.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    /// Events.
    events: u64,
    /// Between two of them.
    pace: Duration,
    /// Length of an event's text.
    text_bytes: usize,
}

impl Plan {
    /// As the settings want it.
    ///
    /// # Panics
    /// When it is so long that silent viewers would be taken for dead ones.
    pub(crate) fn of(settings: &Settings) -> Self {
        assert!(
            settings.slow_seconds * 1_000 < NO_PROGRESS_MS,
            "silent viewers would be closed before the end"
        );
        Self::lasting(settings.slow_seconds, settings.slow_rate, settings.slow_bytes)
    }

    /// `rate` events a second for so many seconds, each with a text of so many bytes.
    ///
    /// # Panics
    /// When a part would become longer than the hub keeps.
    pub(crate) fn lasting(seconds: u64, rate: u64, text_bytes: u64) -> Self {
        Self::lasting_ms(1_000 * seconds, rate, text_bytes)
    }

    /// The same for so many milliseconds.
    ///
    /// # Panics
    /// As [`Plan::lasting`].
    pub(crate) fn lasting_ms(ms: u64, rate: u64, text_bytes: u64) -> Self {
        let events = (rate * ms).div_ceil(1_000);
        assert!(events.min(EVENTS_PER_PART) * text_bytes <= PART_BYTES_MAX as u64, "a part would be cut");
        Self { events, pace: Duration::from_secs(1) / rate as u32, text_bytes: text_bytes as usize }
    }

    /// Text in all, in bytes.
    pub(crate) fn published_bytes(&self) -> u64 {
        self.events * self.text_bytes as u64
    }
}

/// What it gave.
pub(crate) struct Streamed {
    /// From sending an event to having read it, in microseconds, over all healthy viewers.
    pub(crate) latencies: Histogram,
    /// From sending an event to its ack, in microseconds.
    pub(crate) acks: Histogram,
    /// By how much the hub's memory grew.
    pub(crate) grown_bytes: u64,
    /// Where the conversation stands then.
    pub(crate) head: u64,
    /// The healthy viewers, who read on.
    _crowd: JoinSet<()>,
}

/// What the viewers share.
#[derive(Clone)]
struct Reading {
    clock: Instant,
    plan: Plan,
    latencies: Arc<Mutex<Histogram>>,
    /// One permit for each viewer that has everything.
    complete: Arc<Semaphore>,
}

/// So many viewers of a conversation, subscribed.
pub(crate) async fn gather(hub: &TestHub, conversation: &str, count: u64) -> Vec<ListWatcher> {
    let mut watchers = Vec::new();
    for _ in 0..count {
        watchers.push(ListWatcher::live(hub.address(), conversation).await);
    }
    watchers
}

/// Publishes all events while `crowd` reads. Each of them must get each event once and in order.
pub(crate) async fn run(hub: &TestHub, conversation: &str, plan: &Plan, crowd: Vec<ListWatcher>) -> Streamed {
    let (latencies, complete) = (Arc::new(Mutex::new(Histogram::new())), Arc::new(Semaphore::new(0)));
    let count = crowd.len() as u32;
    let reading = Reading { clock: Instant::now(), plan: *plan, latencies, complete };
    let before = hub.process().resident_bytes;
    let mut crowd: JoinSet<()> = crowd.into_iter().map(|watcher| read(watcher, reading.clone())).collect();
    let (head, acks) = publish(hub.publisher(conversation).await, reading.clock, plan).await;
    tokio::select! {
        all = patiently("all viewers to have all events", reading.complete.acquire_many(count)) => drop(all),
        Some(gone) = crowd.join_next() => panic!("a viewer ended: {:?}", gone.err()),
    }
    let grown_bytes = hub.process().resident_bytes.saturating_sub(before);
    let latencies = reading.latencies.lock().unwrap().clone();
    Streamed { latencies, acks, grown_bytes, head, _crowd: crowd }
}

async fn publish(mut publisher: TestPublisher, clock: Instant, plan: &Plan) -> (u64, Histogram) {
    let mut acks = Histogram::new();
    let mut pace = interval(plan.pace);
    for number in 0..plan.events {
        pace.tick().await;
        let event =
            Event { conversation: 0, number, micros: micros_since(clock), text_bytes: plan.text_bytes };
        let mut lines = String::new();
        if number == 0 {
            lines += "{\"k\":\"run.start\",\"run\":\"r1\"}\n";
        }
        if event.opens_part() {
            let part = format!("p{}", event.part());
            lines += &json!({"k": "part.start", "run": "r1", "part": part, "kind": "text"}).to_string();
            lines.push('\n');
        }
        let mut line = Vec::new();
        event.write_json(&mut line);
        lines += std::str::from_utf8(&line).unwrap();
        let sent = Instant::now();
        publisher.says(&lines).await;
        acks.add(micros_since(sent));
    }
    // A run that is over: the hub has nothing to add to it when its publisher is gone.
    let end = publisher.says("{\"k\":\"run.end\",\"run\":\"r1\",\"status\":\"complete\"}").await;
    (end.seq, acks)
}

fn micros_since(start: Instant) -> u64 {
    start.elapsed().as_micros() as u64
}

/// Reads up to the last event, counts how long each was under way, says so, and reads on.
async fn read(mut watcher: ListWatcher, reading: Reading) {
    let Reading { clock, plan, latencies, complete } = reading;
    let mut scan = Scan::new(plan.text_bytes);
    while scan.next < plan.events {
        let told = watcher.next().await;
        let now = micros_since(clock);
        match told {
            WatcherMessage::Events(text) => {
                let mut latencies = latencies.lock().unwrap();
                scan.take(text.as_bytes(), &mut |micros| latencies.add(now.saturating_sub(micros)));
            }
            WatcherMessage::Snapshot(text) => {
                // It repeats everything: what was there before does not count again.
                let mut whole = scan.again();
                whole.take(text.as_bytes(), &mut |_| {});
                assert!(whole.next >= scan.next, "a snapshot lacks events that were seen before");
                scan.next = whole.next;
            }
            WatcherMessage::Live => {}
        }
        assert_eq!(scan.wrong, 0, "events double, broken or out of order");
    }
    complete.add_permits(1);
    loop {
        watcher.next().await;
    }
}
