//! Spans on their way into conversations: the joiner of `exchange::spans`, with a clock and the hub.
//!
//! ```text
//! POST /v1/traces ─▶ take: spans ─▶ joiner ─▶ events of runs ─▶ published at once
//!                        run: the time, every 200 ms ─▶ joiner ─▶ events that had waited for an ancestor
//! ```

use std::sync::Arc;
use std::time::Duration;

use event_log::{Ticket, blocking};
use exchange::spans::{ConversationEvents, FinishedSpan, SpanJoiner};
use model::frame::Durability;
use parking_lot::Mutex;

use event_log::clock;
use hub::Publication;

use crate::peers::{self, Ownership};

/// How often the joiner is told the time. Small compared with the time for which it holds a span.
const STEP: Duration = Duration::from_millis(200);

/// The traces whose spans are being joined. One for each hub.
#[derive(Debug)]
pub(crate) struct Traces {
    /// Finds the hub that has the conversation of a span.
    ownership: Arc<Ownership>,
    /// Decides to which run each span belongs, and holds those whose ancestors have not come yet.
    joiner: Mutex<SpanJoiner>,
}

/// The result of an export.
#[derive(Debug)]
pub(crate) struct SpansReceipt {
    /// The number of spans that were refused.
    pub(crate) rejected: u64,
    /// Reached when the log has everything that was published.
    pub(crate) ticket: Ticket,
}

impl Traces {
    /// No spans yet.
    pub(crate) fn new(ownership: Arc<Ownership>) -> Self {
        Self { ownership, joiner: Mutex::default() }
    }

    /// Takes spans and publishes what becomes of them. The joiner stays locked meanwhile, so the order of
    /// exports is kept.
    pub(crate) fn take(&self, spans: Vec<FinishedSpan>, level: Durability) -> SpansReceipt {
        let mut joiner = self.joiner.lock();
        let taken = joiner.take(spans, clock::now_ms());
        SpansReceipt { rejected: taken.rejected, ticket: publish(&self.ownership, taken.told, level) }
    }

    /// Publishes everything that waits, because the hub stops.
    pub(crate) fn flush(&self) {
        let mut joiner = self.joiner.lock();
        let told = joiner.flush(clock::now_ms());
        publish(&self.ownership, told, Durability::Memory);
    }
}

/// Tells the joiner the time at regular intervals. Never returns.
pub(crate) async fn run(traces: &Traces) {
    loop {
        tokio::time::sleep(STEP).await;
        blocking(|| {
            let mut joiner = traces.joiner.lock();
            let told = joiner.tick(clock::now_ms());
            publish(&traces.ownership, told, Durability::Memory);
        });
    }
}

/// Publishes events; returns the ticket of the last. A failure is logged.
fn publish(ownership: &Ownership, told: Vec<ConversationEvents>, level: Durability) -> Ticket {
    let mut ticket = Ticket::default();
    for ConversationEvents { conversation, envelopes } in told {
        let publication = Publication { level, ..Publication::of(envelopes) };
        match peers::publish(ownership, &conversation, publication) {
            Ok(Some(appended)) if appended.withheld.is_some() => {
                ticket = ownership.fanout.release_withheld(&conversation);
            }
            Ok(Some(appended)) => ticket = appended.ticket,
            // Another hub has the conversation and is told.
            Ok(None) => {}
            Err(error) => tracing::warn!(%conversation, %error, "what spans tell was not taken"),
        }
    }
    ticket
}
