//! What the database refuses for reasons of its own: named in the trace, and kept as JSON in a table, so that
//! one bad append stops nobody and is not gone either. The table is `aside`; the hub never reads it. A person
//! can, to publish the events once more.

use std::sync::Arc;

use model::{ConversationId, Envelope, Position};
use serde::Serialize;

use super::database::Session;
use super::failure::said;
use crate::ops::{Op, QueuedEvents};

/// One row of the table: an operation that was refused, with the reason.
#[derive(Serialize)]
struct RefusedOperation<'a> {
    /// What it is: `events`, `state`, `list`, …
    what: &'static str,
    /// The conversation that it concerns; nothing for rows of the list.
    #[serde(skip_serializing_if = "Option::is_none")]
    conversation: Option<&'a ConversationId>,
    /// What the database said.
    error: &'a str,
    /// The position that the events continue; only for events.
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<&'a Position>,
    /// The events that are not in the log.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    events: &'a [Arc<Envelope>],
}

/// Sets an operation aside. When that fails too, the trace says so. The caller reports the operation as lost
/// either way.
pub(super) async fn put(session: &mut Session, op: &Op, error: &str) {
    let events: Option<&QueuedEvents> = match op {
        Op::Append(events) | Op::Stage(_, events) => Some(events),
        _ => None,
    };
    let conversation = op.conversation().or_else(|| events.map(|events| &events.conversation));
    let what = op.word();
    let refused = RefusedOperation {
        what,
        conversation,
        error,
        after: events.map(|events| &events.after),
        events: events.map_or(&[], |events| &events.envelopes),
    };
    let (first, last) =
        (refused.events.first().map_or(0, |it| it.seq), refused.events.last().map_or(0, |it| it.seq));
    let name = conversation.map_or("", ConversationId::as_str);
    tracing::error!(
        conversation = name,
        what,
        first,
        last,
        error,
        "the log cannot write this and sets it aside"
    );
    let body = serde_json::to_vec(&refused).unwrap_or_default();
    if let Err(failure) = session.client.execute("INSERT INTO aside (body) VALUES ($1)", &[&body]).await {
        tracing::error!(
            conversation = name,
            what,
            failure = said(&failure),
            "what was refused could not be set aside either"
        );
    }
}
