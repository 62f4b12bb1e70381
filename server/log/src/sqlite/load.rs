//! Reads a conversation back: its state as it was last written, or a page of its events. Both read in the
//! caller's transaction, so row, view, events and marks are of one moment.

use std::ops::ControlFlow;
use std::sync::Arc;

use model::fold::fold;
use model::limits::RING_BYTES_MAX;
use model::{ConversationId, Envelope, Epoch, Seq, View};
use rusqlite::{Connection, OptionalExtension as _};

use super::schema::natural;
use super::{blocks, marks, views};
use crate::sqlite::blocks::unreadable;
use crate::{EventPage, LogError, PublisherMark};
use model::weigh::weigh;

/// The row of a conversation.
#[derive(Debug)]
pub(super) struct ConversationRecord {
    /// The key by which its other rows name it.
    pub(super) key: i64,
    /// The epoch in which it was written last.
    pub(super) epoch: Epoch,
    /// The newest seq of the conversation.
    pub(super) head: Seq,
    /// When its newest event was taken, in milliseconds since 1970.
    pub(super) at: u64,
    /// The life that wrote it last.
    pub(super) life: i64,
}

/// Reads the row of `conversation`; `None` if there is none.
pub(super) fn find(
    connection: &Connection,
    conversation: &ConversationId,
) -> Result<Option<ConversationRecord>, LogError> {
    let select = "SELECT key, epoch, head, at, life FROM conversation WHERE id = ?1";
    let mut select = connection.prepare_cached(select).map_err(unreadable)?;
    let found = select.query_row([conversation.as_str()], |row| {
        Ok(ConversationRecord {
            key: row.get(0)?,
            epoch: Epoch::new(row.get_ref(1)?.as_str()?),
            head: natural(row.get(2)?),
            at: natural(row.get(3)?),
            life: row.get(4)?,
        })
    });
    found.optional().map_err(unreadable)
}

/// The view of a conversation and the marks of its publishers. The newest stored view is read and the events
/// after it are folded. Fails if an event is missing.
pub(super) fn state(
    connection: &Connection,
    found: &ConversationRecord,
) -> Result<(View, Vec<PublisherMark>), LogError> {
    let mut view = views::read(connection, found.key)?;
    let mut hole = None;
    let begin = view.seq;
    blocks::read(connection, found.key, begin, &mut |envelope| {
        if envelope.seq != view.seq + 1 {
            hole = Some(view.seq);
            return ControlFlow::Break(());
        }
        fold(&mut view, &envelope, &mut |_| {});
        ControlFlow::Continue(())
    })?;
    if view.seq != found.head {
        let (seq, head) = (hole.unwrap_or(view.seq), found.head);
        return Err(unreadable(format!("after seq {seq} events are missing up to {head}")));
    }
    Ok((view, marks::read(connection, found.key).map_err(unreadable)?))
}

/// Up to `limit` events after `after`, fewer if they exceed the bytes of a ring. Fails with
/// [`LogError::Gone`] if the first of them is not there.
pub(super) fn page(
    connection: &Connection,
    found: &ConversationRecord,
    after: Seq,
    limit: usize,
) -> Result<EventPage, LogError> {
    let head = found.head;
    let mut envelopes: Vec<Arc<Envelope>> = Vec::new();
    if after >= head || limit == 0 {
        return Ok(EventPage { envelopes, head });
    }
    let mut bytes = 0;
    let mut next = after + 1;
    let mut begins_after = head;
    blocks::read(connection, found.key, after, &mut |envelope| {
        if envelope.seq != next {
            begins_after = envelope.seq - 1;
            return ControlFlow::Break(());
        }
        next += 1;
        bytes += weigh(&envelope);
        envelopes.push(Arc::new(envelope));
        if envelopes.len() >= limit || bytes >= RING_BYTES_MAX {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    })?;
    if envelopes.is_empty() {
        return Err(LogError::Gone { begins_after });
    }
    Ok(EventPage { envelopes, head })
}
