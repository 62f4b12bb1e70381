//! `POST /v1/conversations/{c}/events`: native events, as a JSON array or NDJSON, taken or refused as a
//! whole.
//!
//! ```json
//! {"k": "part.delta", "run": "r7", "agent": "a2", "part": "p31", "off": 512, "text": "…"}
//! ```
//!
//! With the header `Fanlight-Publisher: id/epoch/seq` the body is taken exactly once (I10): one that came
//! before is acknowledged again with `duplicate`, a gap is refused, and so is an older epoch.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use model::Position;
use model::code::ErrorCode;
use model::frame::Durability;
use model::limits::{
    BODY_BYTES_OF_A_TURN, EVENTS_BODY_BYTES_MAX, EVENTS_PER_PUBLISH_MAX, LARGE_BODIES_AT_ONCE_MAX,
    LARGE_BODY_BYTES,
};
use model::{ConversationId, Envelope};
use serde::Serialize;
use serde_json::value::RawValue;

use super::body::{self, Waiting};
use crate::inbound::caller::Caller;
use crate::inbound::params::{self, Path};
use crate::inbound::problem::Problem;
use crate::work::Work;
use hub::Fanout;
use hub::{Appended, FrameNumbering, Publication, beginning};
use tokio_util::sync::CancellationToken;

/// The answer to events that were taken, or had been before.
#[derive(Debug, Serialize)]
pub(crate) struct EventsReceipt {
    /// The position after the last event; for a duplicate the head.
    position: Position,
    /// The number of events that were appended.
    events: u64,
    /// How many anomalies the fold found in them.
    anomalies: u64,
    /// Whether they had been taken before, so that nothing was appended.
    duplicate: bool,
    /// The level that they have (I9).
    durability: Durability,
}

impl EventsReceipt {
    /// The answer for events that were new.
    pub(super) fn of(position: Position, events: u64, anomalies: u64, durability: Durability) -> Self {
        Self { position, events, anomalies, duplicate: false, durability }
    }
}

/// Publishes the events of the body, at most [`EVENTS_BODY_BYTES_MAX`] bytes and [`EVENTS_PER_PUBLISH_MAX`]
/// events. Answers when they have the durability that was asked for.
///
/// 400 `bad_event` with the number of the line or event, `bad_request` for a body that is no JSON or a numbering
/// that does not number its events; 403 `publish_not_granted` for a publisher id or a kind that the caller's grants are not about; 409 `publisher_gap` or `publisher_fenced`; 413 and 429 beyond the limits;
/// 503 while the hub drains or the log fails.
pub(crate) async fn publish(
    State(fanout): State<Arc<Fanout>>,
    State(work): State<Arc<Work>>,
    State(drain): State<CancellationToken>,
    caller: Caller,
    Path(conversation): Path<String>,
    request: Request,
) -> Result<Json<EventsReceipt>, Problem> {
    let conversation = params::conversation(&conversation)?;
    let durability = params::durability(request.headers(), fanout.hub().log().durability())?;
    let numbering = params::numbering(request.headers())?;
    if drain.is_cancelled() {
        return Err(Problem::shutting_down());
    }
    let body = body::waiting(request, EVENTS_BODY_BYTES_MAX, LARGE_BODY_BYTES, &work).await?;
    let arrived = Arrived { fanout: Arc::clone(&fanout), caller, conversation, numbering, durability, body };
    let appended = if arrived.body.len() <= LARGE_BODY_BYTES {
        arrived.publish()?
    } else {
        // A large body takes some ten milliseconds, which is too long for a thread that serves sockets.
        let turns = turns(arrived.body.len());
        let turn = Arc::clone(&work.bodies).acquire_many_owned(turns).await;
        let turn = turn.map_err(|error| Problem::new(ErrorCode::Internal, error.to_string()))?;
        let rule = beginning::current();
        let publishing = work.run(move || {
            let appended = beginning::under_now(rule, || arrived.publish());
            drop(turn);
            appended
        });
        publishing.await.map_err(|error| Problem::new(ErrorCode::Internal, error.to_string()))??
    };
    appended.kept(fanout.hub().log(), durability).await?;
    Ok(Json(EventsReceipt {
        position: appended.position,
        events: appended.events,
        anomalies: appended.anomalies,
        duplicate: appended.duplicate,
        durability,
    }))
}

/// How many turns a body of `bytes` bytes takes: at least one and at most all.
fn turns(bytes: usize) -> u32 {
    let turns = bytes.div_ceil(BODY_BYTES_OF_A_TURN).clamp(1, LARGE_BODIES_AT_ONCE_MAX);
    u32::try_from(turns).unwrap_or(1)
}

/// A body that has arrived, and where its events go. Consumed on the thread that parses it.
struct Arrived {
    fanout: Arc<Fanout>,
    caller: Caller,
    conversation: ConversationId,
    numbering: Option<FrameNumbering>,
    durability: Durability,
    body: Waiting,
}

impl Arrived {
    /// Parses the events and publishes them, all or none. Blocks for as long as the parsing takes.
    fn publish(self) -> Result<Appended, Problem> {
        let body = self.body.join()?;
        let text = std::str::from_utf8(&body)
            .map_err(|error| Problem::bad_request(format!("the body is not UTF-8: {error}")))?;
        let events = parse(text)?;
        params::numbered(self.numbering.as_ref(), events.len())?;
        let publisher = self.numbering.as_ref().map(|numbering| &numbering.publisher);
        self.caller.publishes(&self.conversation, publisher, &events)?;
        let publication =
            Publication { numbering: self.numbering, level: self.durability, ..Publication::of(events) };
        drop(body);
        Ok(self.fanout.publish(&self.conversation, publication)?)
    }
}

/// Parses a JSON array or lines of JSON.
fn parse(text: &str) -> Result<Vec<Envelope>, Problem> {
    if text.trim_start().starts_with('[') {
        let items: Vec<&RawValue> = serde_json::from_str(text)
            .map_err(|error| Problem::bad_request(format!("the body is not a JSON array: {error}")))?;
        return collect(items.iter().map(|raw| raw.get()), "event", 0);
    }
    collect(text.lines().map(str::trim).filter(|line| !line.is_empty()), "line", 1)
}

/// Parses all events or none; a wrong one is named by `place` and its number, counted from `first`.
fn collect<'a>(
    items: impl Iterator<Item = &'a str>,
    place: &str,
    first: usize,
) -> Result<Vec<Envelope>, Problem> {
    let mut events = Vec::new();
    for (number, item) in (first..).zip(items) {
        if events.len() >= EVENTS_PER_PUBLISH_MAX {
            let detail = format!("more than {EVENTS_PER_PUBLISH_MAX} events in one request");
            return Err(Problem::new(ErrorCode::TooMany, detail));
        }
        let event = Envelope::received(item);
        events.push(
            event.map_err(|error| Problem::new(ErrorCode::BadEvent, format!("{place} {number}: {error}")))?,
        );
    }
    Ok(events)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_takes_turns_by_its_size_and_the_largest_takes_all() {
        assert_eq!(turns(LARGE_BODY_BYTES + 1), 1);
        assert_eq!(turns(BODY_BYTES_OF_A_TURN), 1);
        assert_eq!(turns(BODY_BYTES_OF_A_TURN + 1), 2);
        assert_eq!(turns(EVENTS_BODY_BYTES_MAX), 4);
        // Never more than there are: such a request would wait for ever.
        assert_eq!(turns(usize::MAX), 4);
    }
}
