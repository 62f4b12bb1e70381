//! Streams: sinks that get the raw events of a model's answers, in a file or over a WebSocket. What a sink
//! does not take in time is lost to it alone; the run never waits for a sink.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use dialects::framing::{BodyFraming, FramedItem, StreamPiece};
use tokio::sync::mpsc;

use crate::host::Host;
use crate::run::RunAddress;
use crate::settings::{StreamSink, StreamTarget};

mod file;
mod socket;

/// The sinks of one run. Clones share them; they end when the last clone is dropped.
#[derive(Debug, Clone, Default)]
pub(crate) struct Streams(Arc<[SinkLink]>);

/// The way to one sink.
#[derive(Debug)]
struct SinkLink {
    /// To the task of the sink; bounded by its settings.
    events: mpsc::Sender<Arc<str>>,
    /// The number of events that it did not take.
    lost: Arc<AtomicU64>,
}

/// Splits one answer into events and passes them to the sinks.
#[derive(Debug)]
pub(crate) struct Tap {
    /// Finds the events in the bytes, whatever vendor they are of.
    framing: BodyFraming,
    /// The sinks that get the events.
    sinks: Streams,
}

impl Streams {
    /// Starts the sinks that are set for the run at `place`. Each ends after this is dropped, when it has
    /// delivered what it has taken.
    pub(crate) fn open(host: &Arc<Host>, place: &RunAddress, set: &[StreamSink]) -> Self {
        let lines = set.iter().map(|sink| {
            let (events, inbox) = mpsc::channel(sink.events_max.max(1));
            let lost = Arc::<AtomicU64>::default();
            let (hub, counted, place) = (Arc::clone(host), Arc::clone(&lost), place.clone());
            let target = sink.target.clone();
            host.tasks.spawn(async move {
                match target {
                    StreamTarget::File(target) => file::run(&target, &place, inbox, &counted).await,
                    StreamTarget::Socket(target) => socket::run(&hub, &target, inbox, &counted).await,
                }
                let lost = counted.load(Ordering::Relaxed);
                if lost > 0 {
                    let (conversation, run) = (&place.conversation, &place.run);
                    tracing::warn!(%conversation, %run, lost, "a sink of the provider did not take all events");
                }
            });
            SinkLink { events, lost }
        });
        Self(lines.collect())
    }

    /// A tap for the next answer; `None` if there are no sinks.
    pub(crate) fn tap(&self) -> Option<Tap> {
        (!self.0.is_empty()).then(|| Tap { framing: BodyFraming::default(), sinks: self.clone() })
    }

    /// Passes an event to all sinks; never waits.
    fn say(&self, event: &str) {
        let event: Arc<str> = Arc::from(event);
        for line in self.0.iter() {
            if line.events.try_send(Arc::clone(&event)).is_err() {
                line.lost.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

impl Tap {
    /// Takes the next bytes of the answer.
    pub(crate) fn hear(&mut self, bytes: &[u8]) {
        let Self { framing, sinks } = self;
        framing.feed(bytes, &mut |frame| pass(sinks, frame));
    }

    /// Ends the answer: passes on what is left of it.
    pub(crate) fn end(mut self) {
        let Self { framing, sinks } = &mut self;
        framing.end(&mut |frame| pass(sinks, frame));
    }
}

/// Passes the data of one frame to the sinks.
fn pass(sinks: &Streams, frame: StreamPiece<'_>) {
    match frame.body {
        FramedItem::Event { data, .. } => sinks.say(&line(data)),
        FramedItem::Json(text) | FramedItem::ErrorField(text) => sinks.say(&line(text)),
        FramedItem::Stray(_) | FramedItem::TooLarge(_) | FramedItem::Cut(_) => {}
    }
}

/// The event as JSON on one line: unchanged if it is JSON, otherwise as a string.
fn line(data: &str) -> String {
    let is_json = serde_json::from_str::<serde::de::IgnoredAny>(data).is_ok();
    if is_json {
        // In JSON, line breaks occur only between tokens and mean nothing.
        return data.replace(['\n', '\r'], " ");
    }
    serde_json::Value::from(data).to_string()
}
