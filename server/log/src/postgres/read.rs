//! Conversations, read back, and the list of them. Every function here is called inside of one transaction
//! that only reads, so what several of them find fits together. All fail with [`LogError::Unreadable`] when
//! the database does, or when it holds what this version cannot read.

use std::borrow::Cow;
use std::ops::ControlFlow;
use std::sync::Arc;

use model::fold::fold;
use model::frame::ConversationRow;
use model::limits::{PUBLISHERS_PER_CONVERSATION_MAX, RING_BYTES_MAX};
use model::weigh::weigh;
use model::{ConversationId, Envelope, Epoch, PublisherId, Seq, View};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::database::Session;
use super::text::{escape, unescape};
use super::unreadable;
use crate::blocks::{Loose, events, plain};
use crate::measure::quantile;
use crate::numbers::{integer, natural, size};
use crate::{EventPage, ListQuery, LogError, PublisherMark, ToolFigures, rows, views};

/// Blocks that are read at once. Each has at most about a MiB.
const BLOCKS_AT_ONCE: i64 = 16;

/// A conversation's row, as the other functions here need it.
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

/// The row of `conversation`. `None` if there is none of that name.
pub(super) async fn find(
    session: &mut Session,
    conversation: &ConversationId,
) -> Result<Option<ConversationRecord>, LogError> {
    let select = session
        .prepared("SELECT key, epoch, head, at, life FROM conversation WHERE id = $1")
        .await
        .map_err(unreadable)?;
    let row = session.client.query_opt(&select, &[&conversation.as_str()]).await.map_err(unreadable)?;
    row.map(|row| {
        Ok(ConversationRecord {
            key: row.try_get(0)?,
            epoch: Epoch::new(&unescape(row.try_get(1)?)),
            head: natural(row.try_get(2)?),
            at: natural(row.try_get(3)?),
            life: row.try_get(4)?,
        })
    })
    .transpose()
    .map_err(|error: tokio_postgres::Error| unreadable(error))
}

/// The state of a conversation where it was left, and how far its publishers had come. The newest stored view
/// is read and the events after it are folded. Fails if one of them is missing.
pub(super) async fn state(
    session: &mut Session,
    found: &ConversationRecord,
) -> Result<(View, Vec<PublisherMark>), LogError> {
    let mut view = view(session, found.key).await?;
    let begin = view.seq;
    blocks(session, found.key, begin, &mut |envelope| {
        if envelope.seq != view.seq + 1 {
            return ControlFlow::Break(());
        }
        fold(&mut view, &envelope, &mut |_| {});
        ControlFlow::Continue(())
    })
    .await?;
    if view.seq != found.head {
        return Err(unreadable(format!("after seq {} events are missing up to {}", view.seq, found.head)));
    }
    Ok((view, marks(session, found.key).await?))
}

/// The newest view of a conversation that was kept; the empty one if none was.
pub(super) async fn view(session: &mut Session, key: i64) -> Result<View, LogError> {
    let select =
        session.prepared("SELECT body FROM checkpoint WHERE conversation = $1").await.map_err(unreadable)?;
    let row = session.client.query_opt(&select, &[&key]).await.map_err(unreadable)?;
    match row {
        Some(row) => views::unpack(row.try_get(0).map_err(unreadable)?),
        None => Ok(View::default()),
    }
}

/// The marks of a conversation, the one that was silent longest first. At most
/// [`PUBLISHERS_PER_CONVERSATION_MAX`], the newest.
async fn marks(session: &mut Session, key: i64) -> Result<Vec<PublisherMark>, LogError> {
    let select = "SELECT publisher, epoch, seq FROM mark WHERE conversation = $1 ORDER BY turn DESC LIMIT $2";
    let select = session.prepared(select).await.map_err(unreadable)?;
    let rows = session
        .client
        .query(&select, &[&key, &size(PUBLISHERS_PER_CONVERSATION_MAX)])
        .await
        .map_err(unreadable)?;
    let mark = |row: &Row| {
        Ok(PublisherMark {
            publisher: PublisherId::new(&unescape(row.try_get(0)?)),
            epoch: row.try_get::<_, i64>(1)?.cast_unsigned(),
            seq: row.try_get::<_, i64>(2)?.cast_unsigned(),
        })
    };
    let marks: Result<Vec<_>, tokio_postgres::Error> = rows.iter().rev().map(mark).collect();
    marks.map_err(unreadable)
}

/// Gives the events after `after` to `take`, in order, until it breaks. Reads [`BLOCKS_AT_ONCE`] blocks at a
/// time; a hole between two blocks is for `take` to notice.
async fn blocks(
    session: &mut Session,
    key: i64,
    after: Seq,
    take: &mut (dyn FnMut(Envelope) -> ControlFlow<()> + Send),
) -> Result<(), LogError> {
    let select = "SELECT first, encoding, body FROM event WHERE conversation = $1 AND last > $2 AND first >= $3 ORDER BY first LIMIT $4";
    let select = session.prepared(select).await.map_err(unreadable)?;
    // The block that the first of them is in begins here, or it is not there.
    let place =
        "SELECT coalesce(max(first), 0) FROM event WHERE conversation = $1 AND first <= $2::bigint + 1";
    let place = session.prepared(place).await.map_err(unreadable)?;
    let begin = session.client.query_one(&place, &[&key, &integer(after)]).await.map_err(unreadable)?;
    let mut begin: i64 = begin.try_get(0).map_err(unreadable)?;
    loop {
        let values: [&(dyn ToSql + Sync); 4] = [&key, &integer(after), &begin, &BLOCKS_AT_ONCE];
        let rows = session.client.query(&select, &values).await.map_err(unreadable)?;
        for row in &rows {
            begin = row.try_get::<_, i64>(0).map_err(unreadable)?.saturating_add(1);
            let encoding: i16 = row.try_get(1).map_err(unreadable)?;
            let body: &[u8] = row.try_get(2).map_err(unreadable)?;
            for envelope in
                events(i64::from(encoding), body)?.into_iter().filter(|envelope| envelope.seq > after)
            {
                if take(envelope).is_break() {
                    return Ok(());
                }
            }
        }
        if size(rows.len()) < BLOCKS_AT_ONCE {
            return Ok(());
        }
    }
}

/// All events that there are of a conversation, in order, with whatever holes they have.
pub(super) async fn all_events(session: &mut Session, key: i64) -> Result<Vec<Envelope>, LogError> {
    let mut events = Vec::new();
    blocks(session, key, 0, &mut |envelope| {
        events.push(envelope);
        ControlFlow::Continue(())
    })
    .await?;
    Ok(events)
}

/// Up to `limit` events after `after`, fewer if they weigh more than [`RING_BYTES_MAX`]. Stops before a hole.
/// Fails with [`LogError::Gone`] if the first of them is not there.
pub(super) async fn page(
    session: &mut Session,
    found: &ConversationRecord,
    after: Seq,
    limit: usize,
) -> Result<EventPage, LogError> {
    let head = found.head;
    let mut envelopes: Vec<Arc<Envelope>> = Vec::new();
    if after >= head || limit == 0 {
        return Ok(EventPage { envelopes, head });
    }
    let (mut bytes, mut next, mut begins_after) = (0, after + 1, head);
    blocks(session, found.key, after, &mut |envelope| {
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
    })
    .await?;
    if envelopes.is_empty() {
        return Err(LogError::Gone { begins_after });
    }
    Ok(EventPage { envelopes, head })
}

/// The newest range of seqs, up to the head, that no block has although an earlier block exists; `None` if
/// there is none.
pub(super) async fn gap(
    session: &mut Session,
    found: &ConversationRecord,
) -> Result<Option<(Seq, Seq)>, LogError> {
    let select = "SELECT last + 1, next - 1 FROM \
                  (SELECT first, last, lead(first, 1, $2::bigint + 1) OVER (ORDER BY first) AS next FROM event WHERE conversation = $1) block \
                  WHERE last + 1 < next ORDER BY first DESC LIMIT 1";
    let select = session.prepared(select).await.map_err(unreadable)?;
    let row =
        session.client.query_opt(&select, &[&found.key, &integer(found.head)]).await.map_err(unreadable)?;
    let gap = row.map(|row| Ok((natural(row.try_get(0)?), natural(row.try_get(1)?)))).transpose();
    gap.map_err(|error: tokio_postgres::Error| unreadable(error))
}

/// A large result by its hash; `None` if the conversation has none of that hash.
pub(super) async fn attachment(
    session: &mut Session,
    key: i64,
    hash: &str,
) -> Result<Option<Arc<str>>, LogError> {
    let select = session
        .prepared("SELECT json FROM attachment WHERE conversation = $1 AND hash = $2")
        .await
        .map_err(unreadable)?;
    let row = session.client.query_opt(&select, &[&key, &escape(hash).as_ref()]).await.map_err(unreadable)?;
    let Some(row) = row else { return Ok(None) };
    let json: &[u8] = row.try_get(0).map_err(unreadable)?;
    Ok(Some(Arc::from(std::str::from_utf8(json).map_err(unreadable)?)))
}

/// A page of the list, the newest activity first. `viewers` is 0 in every row: the log does not know who
/// watches.
pub(super) async fn list(session: &mut Session, query: &ListQuery) -> Result<Vec<ConversationRow>, LogError> {
    let after = query.after.as_ref();
    let (at, id) = after.map_or((i64::MAX, ""), |(at, id)| (integer(*at), id.as_str()));
    let limit = size(query.limit);
    let tag_at = if query.state.is_some() { 5 } else { 4 };
    let narrowed = rows::narrowed(query, "state = $4", &format!("strpos(tags, ${tag_at}) > 0"));
    let select = format!(
        "SELECT id, epoch, head, at, row FROM conversation \
         WHERE at <= $1 AND (at < $1 OR id > $2){narrowed} ORDER BY at DESC, id LIMIT $3"
    );
    // One of a few dozen: no value of the query is in it.
    let select = session.prepared(select).await.map_err(unreadable)?;
    let (state, tag) =
        (query.state.map(rows::word), query.tag.as_deref().map(|tag| rows::tag_piece(&escape(tag))));
    let mut values: Vec<&(dyn ToSql + Sync)> = vec![&at, &id, &limit];
    values.extend(state.as_ref().map(|state| state as &(dyn ToSql + Sync)));
    values.extend(tag.as_ref().map(|tag| tag as &(dyn ToSql + Sync)));
    let rows = session.client.query(&select, &values).await;
    rows.map_err(unreadable)?.iter().map(listed).collect()
}

/// A row as it is now: events may have come since it was kept. A row that cannot be read is replaced by one
/// with only name, epoch, head and time.
fn listed(found: &Row) -> Result<ConversationRow, LogError> {
    let id = conversation(found, 0)?;
    let kept: Option<&str> = found.try_get(4).map_err(unreadable)?;
    let kept = kept.and_then(|json| serde_json::from_str(json).ok());
    let mut row: ConversationRow = kept.unwrap_or_else(|| rows::nameless(&id));
    row.conversation = id;
    row.epoch = Epoch::new(&unescape(found.try_get(1).map_err(unreadable)?));
    row.head = natural(found.try_get(2).map_err(unreadable)?);
    row.at = natural(found.try_get(3).map_err(unreadable)?);
    row.viewers = 0;
    Ok(row)
}

/// The name of a conversation, in the column `at`.
pub(super) fn conversation(found: &Row, at: usize) -> Result<ConversationId, LogError> {
    let name: &str = found.try_get(at).map_err(unreadable)?;
    ConversationId::parse(name).map_err(unreadable)
}

/// The conversations whose newest run goes on as far as is known, or of which more is written than their row says.
pub(super) async fn unfinished(session: &mut Session) -> Result<Vec<ConversationId>, LogError> {
    // Those of other hubs that live are theirs.
    let select = "SELECT id FROM conversation c WHERE (state = 'running' OR row_head < head) AND NOT EXISTS \
                  (SELECT 1 FROM owner o JOIN life l ON l.number = o.life WHERE o.conversation = c.id \
                  AND NOT l.over AND l.expires_at > clock_timestamp()) ORDER BY key";
    let rows = session.client.query(select, &[]).await.map_err(unreadable)?;
    rows.iter().map(|row| conversation(row, 0)).collect()
}

/// The figures of all tools, by name. Quantiles are the longest latency of their bucket.
pub(super) async fn tools(session: &mut Session) -> Result<Vec<ToolFigures>, LogError> {
    let tools =
        session.client.query("SELECT name, calls, failed FROM tool", &[]).await.map_err(unreadable)?;
    let buckets = "SELECT name, bucket, calls FROM tool_latency ORDER BY name, bucket";
    let buckets = session.client.query(buckets, &[]).await.map_err(unreadable)?;
    let mut latencies = std::collections::HashMap::<String, Vec<(u32, u64)>>::new();
    let read = |error: tokio_postgres::Error| unreadable(error);
    for row in &buckets {
        let bucket = u32::try_from(row.try_get::<_, i32>(1).map_err(read)?).unwrap_or(0);
        let calls = natural(row.try_get(2).map_err(read)?);
        latencies.entry(row.try_get(0).map_err(read)?).or_default().push((bucket, calls));
    }
    let mut figures = Vec::with_capacity(tools.len());
    for row in &tools {
        let name: &str = row.try_get(0).map_err(read)?;
        let buckets = latencies.get(name).map(Vec::as_slice).unwrap_or_default();
        figures.push(ToolFigures {
            name: unescape(name).as_ref().into(),
            calls: natural(row.try_get(1).map_err(read)?),
            failed: natural(row.try_get(2).map_err(read)?),
            p50_ms: quantile(buckets, 50),
            p95_ms: quantile(buckets, 95),
        });
    }
    figures.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(figures)
}

/// A conversation as retention looks at it.
#[derive(Debug)]
pub(super) struct RetentionCandidate {
    pub(super) id: ConversationId,
    /// When its newest event was taken, in milliseconds since 1970.
    pub(super) at: u64,
    /// Bytes of its events, results, documents and state, without indexes.
    pub(super) bytes: u64,
}

/// How many conversations there are, and their bytes.
pub(super) async fn sums(session: &mut Session) -> Result<(u64, u64), LogError> {
    let select = "SELECT count(*), coalesce(sum(bytes + view_bytes), 0)::bigint FROM conversation";
    let row = session.client.query_one(select, &[]).await.map_err(unreadable)?;
    Ok((natural(row.try_get(0).map_err(unreadable)?), natural(row.try_get(1).map_err(unreadable)?)))
}

/// Up to `limit` conversations, the one that was silent longest first, behind the one that `after` names.
pub(super) async fn oldest(
    session: &mut Session,
    after: Option<&(u64, ConversationId)>,
    limit: usize,
) -> Result<Vec<RetentionCandidate>, LogError> {
    let select = "SELECT id, at, bytes + view_bytes FROM conversation WHERE at >= $1 AND (at > $1 OR $2::text IS NULL OR id < $2) \
                  ORDER BY at, id DESC LIMIT $3";
    let select = session.prepared(select).await.map_err(unreadable)?;
    let (at, id) = after.map_or((-1, None), |(at, id)| (integer(*at), Some(id.as_str())));
    let rows = session.client.query(&select, &[&at, &id, &size(limit)]).await.map_err(unreadable)?;
    let aged = |row: &Row| {
        let at = natural(row.try_get(1).map_err(unreadable)?);
        let bytes = natural(row.try_get(2).map_err(unreadable)?);
        Ok(RetentionCandidate { id: conversation(row, 0)?, at, bytes })
    };
    rows.iter().map(aged).collect()
}

/// Up to `limit` blocks of a conversation, the newest first; each is named by its first seq.
pub(super) async fn newest_first(
    session: &mut Session,
    key: i64,
    limit: usize,
) -> Result<Vec<Loose>, LogError> {
    let select = "SELECT first, last, raw, octet_length(body)::bigint FROM event WHERE conversation = $1 ORDER BY first DESC LIMIT $2";
    let select = session.prepared(select).await.map_err(unreadable)?;
    let rows = session.client.query(&select, &[&key, &size(limit)]).await.map_err(unreadable)?;
    let loose = |row: &Row| {
        let id: i64 = row.try_get(0)?;
        let (last, raw, bytes) =
            (natural(row.try_get(1)?), natural(row.try_get(2)?), natural(row.try_get(3)?));
        Ok(Loose { id, first: natural(id), last, raw, bytes })
    };
    let loose: Result<Vec<_>, tokio_postgres::Error> = rows.iter().map(loose).collect();
    loose.map_err(unreadable)
}

/// The bodies of the blocks of a conversation that begin with `firsts`, before compression, the oldest first, by one
/// statement for all. Fails if one of them is gone, because it was replaced meanwhile.
pub(super) async fn bodies_of(
    session: &mut Session,
    key: i64,
    firsts: Vec<i64>,
) -> Result<Vec<Vec<u8>>, LogError> {
    let select =
        "SELECT encoding, body FROM event WHERE conversation = $1 AND first = ANY($2) ORDER BY first";
    let select = session.prepared(select).await.map_err(unreadable)?;
    let rows = session.client.query(&select, &[&key, &firsts]).await.map_err(unreadable)?;
    if rows.len() != firsts.len() {
        return Err(unreadable("a block was replaced meanwhile"));
    }
    let body = |row: &Row| {
        let encoding: i16 = row.try_get(0).map_err(unreadable)?;
        plain(i64::from(encoding), row.try_get(1).map_err(unreadable)?).map(Cow::into_owned)
    };
    rows.iter().map(body).collect()
}
