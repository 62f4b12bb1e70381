//! Spans that were taken, on their way into conversations: the joiner of `exchange::spans`, with a clock and the hub beside it.

use std::time::Duration;

use event_log::{Ticket, blocking};
use exchange::spans::{ConversationEvents, FinishedSpan, SpanJoiner};
use model::frame::Durability;
use parking_lot::Mutex;

use event_log::clock;
use hub::Fanout;
use hub::Publication;

/// How often the joiner is told the time. Small against the time that it holds a span.
const STEP: Duration = Duration::from_millis(200);

/// The traces that are being told.
#[derive(Debug, Default)]
pub(crate) struct Traces {
    joiner: Mutex<SpanJoiner>,
}

/// What came of an export.
#[derive(Debug)]
pub(crate) struct Taken {
    /// Spans that were not taken.
    pub(crate) rejected: u64,
    /// Reached when the log has all of it.
    pub(crate) ticket: Ticket,
}

impl Traces {
    /// Takes spans. What they tell is published before the next export is taken, so that its order stays.
    pub(crate) fn take(&self, fanout: &Fanout, spans: Vec<FinishedSpan>, level: Durability) -> Taken {
        let mut joiner = self.joiner.lock();
        let taken = joiner.take(spans, clock::now_ms());
        Taken { rejected: taken.rejected, ticket: publish(fanout, taken.told, level) }
    }

    /// Tells what waits. The hub stops.
    pub(crate) fn flush(&self, fanout: &Fanout) {
        let mut joiner = self.joiner.lock();
        let told = joiner.flush(clock::now_ms());
        publish(fanout, told, Durability::Memory);
    }
}

/// Tells the joiner the time, again and again. Does not end.
pub(crate) async fn run(traces: &Traces, fanout: &Fanout) {
    loop {
        tokio::time::sleep(STEP).await;
        blocking(|| {
            let mut joiner = traces.joiner.lock();
            let told = joiner.tick(clock::now_ms());
            publish(fanout, told, Durability::Memory);
        });
    }
}

/// Publishes what is told; the ticket of the last.
fn publish(fanout: &Fanout, told: Vec<ConversationEvents>, level: Durability) -> Ticket {
    let mut ticket = Ticket::default();
    for ConversationEvents { conversation, envelopes } in told {
        let publication = Publication { level, ..Publication::of(envelopes) };
        match fanout.publish(&conversation, publication) {
            Ok(appended) if appended.withheld.is_some() => ticket = fanout.release(&conversation),
            Ok(appended) => ticket = appended.ticket,
            Err(error) => tracing::warn!(%conversation, %error, "what spans tell was not taken"),
        }
    }
    ticket
}
