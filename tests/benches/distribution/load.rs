//! Publishers and viewers that go on whatever happens to hubs, and how long each event was under way.

use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use model::frame::{ClientFrame, Durability, Pub, ServerFrame, SubscriptionOptions};
use model::{ConversationId, Envelope, PublisherId};
use parking_lot::Mutex;
use tests::wire::WebSocketWire;
use tokio::time::{MissedTickBehavior, interval};

/// How often a publisher sends what is due.
const STEP: Duration = Duration::from_millis(2);

/// What was published.
#[derive(Debug, Default)]
pub(crate) struct Sent {
    /// When each event was sent first; the first one of a conversation has the seq 2, behind the beginning of its run.
    times: Mutex<HashMap<String, Vec<Instant>>>,
    /// The conversations' keys in the database.
    pub(crate) keys: Mutex<HashMap<i64, String>>,
    pub(crate) events: AtomicU64,
    pub(crate) acked: AtomicU64,
}

/// What came to one place.
#[derive(Debug)]
pub(crate) struct Arrivals {
    sent: Arc<Sent>,
    took: Mutex<Vec<Duration>>,
    of_each: Mutex<HashMap<String, Arrived>>,
}

/// What came of one conversation.
#[derive(Debug)]
struct Arrived {
    first: u64,
    newest: u64,
    /// When the newest came.
    at: Instant,
    /// The longest time without an arrival.
    pause: Duration,
}

impl Sent {
    fn note(&self, conversation: &str) {
        self.times.lock().entry(conversation.to_owned()).or_default().push(Instant::now());
        self.events.fetch_add(1, Ordering::Relaxed);
    }

    /// The newest seq of a conversation that was sent.
    pub(crate) fn head(&self, conversation: &str) -> u64 {
        self.times.lock().get(conversation).map_or(0, |times| times.len() as u64) + 1
    }
}

impl Arrivals {
    pub(crate) fn of(sent: &Arc<Sent>) -> Arc<Self> {
        Arc::new(Self { sent: Arc::clone(sent), took: Mutex::default(), of_each: Mutex::default() })
    }

    /// Events of `conversation` have come.
    pub(crate) fn note(&self, conversation: &str, seqs: RangeInclusive<u64>) {
        let now = Instant::now();
        let times = self.sent.times.lock();
        let sent = times.get(conversation).map(Vec::as_slice).unwrap_or_default();
        let of = |seq: u64| sent.get(usize::try_from(seq.checked_sub(2)?).ok()?);
        let (first, last) = (*seqs.start(), *seqs.end());
        self.took.lock().extend(seqs.filter_map(of).map(|sent| now.saturating_duration_since(*sent)));
        let mut of_each = self.of_each.lock();
        let new = Arrived { first, newest: last, at: now, pause: Duration::ZERO };
        let arrived = of_each.entry(conversation.to_owned()).or_insert(new);
        arrived.pause = arrived.pause.max(now - arrived.at);
        (arrived.newest, arrived.at) = (last.max(arrived.newest), now);
    }

    /// The same for a conversation that the database knows by a key.
    pub(crate) fn note_row(&self, key: i64, seqs: RangeInclusive<u64>) {
        let name = self.sent.keys.lock().get(&key).cloned();
        if let Some(name) = name {
            self.note(&name, seqs);
        }
    }

    /// The newest seq of a conversation that has come.
    pub(crate) fn head(&self, conversation: &str) -> u64 {
        self.of_each.lock().get(conversation).map_or(0, |arrived| arrived.newest)
    }

    /// The seq of a conversation that came first.
    pub(crate) fn first(&self, conversation: &str) -> u64 {
        self.of_each.lock().get(conversation).map_or(0, |arrived| arrived.first)
    }

    /// How long those took that came since the last question, the shortest first.
    pub(crate) fn take(&self) -> Vec<Duration> {
        let mut took = std::mem::take(&mut *self.took.lock());
        took.sort_unstable();
        took
    }

    /// The longest time without an arrival of `conversation` since the last question.
    pub(crate) fn pause(&self, conversation: &str) -> Duration {
        let mut of_each = self.of_each.lock();
        of_each.get_mut(conversation).map_or(Duration::ZERO, |arrived| std::mem::take(&mut arrived.pause))
    }
}

/// Begins a run in `conversation` at the hub that is to own it.
pub(crate) async fn begin(owner: &tests::TestHub, conversation: &str) {
    owner.publisher(conversation).await.says(r#"{"k":"run.start","run":"r"}"#).await;
}

/// Publishes `rate` events a second to the hub at `address`, each in a frame of its own, until `is_over`. What was not acked when a
/// connection ends is sent again over the next one.
pub(crate) async fn publish(
    (address, conversation): (SocketAddr, String),
    rate: u64,
    sent: Arc<Sent>,
    is_over: Arc<AtomicBool>,
) {
    let began = Instant::now();
    let (mut next, mut waiting) = (1, BTreeMap::new());
    let mut steps = interval(STEP);
    steps.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while !is_over.load(Ordering::Relaxed) {
        let Some(mut wire) = WebSocketWire::try_connect(address).await else { continue };
        let mut is_open = true;
        for frame in waiting.values() {
            is_open &= wire.offer(frame).await;
        }
        while is_open && !is_over.load(Ordering::Relaxed) {
            tokio::select! {
                came = wire.frame_or_end() => match came {
                    Ok((ServerFrame::Ack(ack), _)) => {
                        waiting.remove(&ack.id);
                        sent.acked.fetch_add(1, Ordering::Relaxed);
                    }
                    Ok((ServerFrame::Error { .. }, _)) | Err(_) => is_open = false,
                    Ok(_) => {}
                },
                _ = steps.tick() => {
                    let due = u64::try_from(began.elapsed().as_millis()).unwrap_or(0) * rate / 1_000;
                    while next <= due && is_open {
                        let frame = frame(&conversation, next);
                        sent.note(&conversation);
                        is_open = wire.offer(&frame).await;
                        waiting.insert(next, frame);
                        next += 1;
                    }
                }
            }
        }
    }
}

fn frame(conversation: &str, number: u64) -> ClientFrame {
    let event = format!(r#"{{"k":"status","text":"what the agent does now, {number}","run":"r"}}"#);
    ClientFrame::Pub(Pub {
        id: number,
        conv: ConversationId::parse(conversation).expect("a name"),
        pid: Some(PublisherId::new("bench")),
        pepoch: 1,
        pfirst: 0,
        pseq: number,
        durability: Some(Durability::Stored),
        events: vec![Envelope::parse(&event).expect("an event")],
    })
}

/// Watches a conversation at the hub at `address`, over one connection after the other.
pub(crate) async fn watch(address: SocketAddr, conversation: String, arrivals: Arc<Arrivals>) {
    let conv = ConversationId::parse(&conversation).expect("a name");
    loop {
        let Some(mut wire) = WebSocketWire::try_connect(address).await else { continue };
        let wish = SubscriptionOptions::default();
        wire.offer(&ClientFrame::Sub { sub: 1, conv: conv.clone(), have: None, wish }).await;
        while let Ok((frame, _)) = wire.frame_or_end().await {
            match frame {
                ServerFrame::Batch { from, to, .. } => arrivals.note(&conversation, from..=to),
                // Those before were not under way: they are read as one state.
                ServerFrame::Snap { seq, more: false, .. } => arrivals.note(&conversation, seq + 1..=seq),
                _ => {}
            }
        }
    }
}
