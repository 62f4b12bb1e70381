//! What a plan needs to know is asked for before it is made, for all its operations at once. So the number of
//! questions does not depend on the number of operations: one for places, and now and then one each for keys,
//! for names of tools and for imports. Only compactions are looked at one by one.

use model::ConversationId;

use super::claims::Claims;
use super::database::Session;
use super::known::{ConversationHead, WriterCache};
use super::read;
use super::text::unescape;
use crate::ImportId;
use crate::numbers::{natural, size};
use crate::ops::{CompactedBlocks, Op, Queued};

/// Keys that are taken from the database at once, at least.
const KEYS_AT_ONCE: usize = 256;

/// Asks for what a plan for `group` needs to know and `known` does not have: where its conversations stand,
/// keys for those that may be new, the tools that are counted, imports under way, and whether blocks to be
/// replaced are still there. Changes nothing in the database but the sequence of keys, of which some stay
/// unused.
pub(super) async fn prefetch(
    session: &mut Session,
    known: &mut WriterCache,
    group: &[Queued],
    (life, claims): (i64, Option<&Claims>),
) -> Result<(), tokio_postgres::Error> {
    known.trim();
    let mut names: Vec<&str> = Vec::new();
    let (mut makes, mut counts, mut imports) = (0, false, false);
    for queued in group {
        names.extend(concerned(&queued.op, claims).filter(|id| known.lacks(id)).map(ConversationId::as_str));
        match &queued.op {
            Op::Append(events) => (makes, counts) = (makes + 1, counts || !events.calls.is_empty()),
            Op::Adopt(adoption) => (imports, counts) = (true, counts || !adoption.calls.is_empty()),
            Op::Keep(_) => makes += 1,
            Op::Stage(..) => (makes, imports) = (makes + 1, true),
            Op::Abandon(_) => imports = true,
            _ => {}
        }
    }
    names.sort_unstable();
    names.dedup();
    if !names.is_empty() {
        places(session, known, &names).await?;
    }
    if known.keys.len() < makes {
        let count = i64::try_from(makes.max(KEYS_AT_ONCE)).unwrap_or(i64::MAX);
        let next = session
            .prepared("SELECT nextval('conversation_key') FROM generate_series(1, $1::bigint)")
            .await?;
        for row in session.client.query(&next, &[&count]).await? {
            known.keys.push(row.try_get(0)?);
        }
        // The last is taken first: what is made first has the lowest.
        known.keys.sort_unstable_by(|a, b| b.cmp(a));
    }
    if counts && known.tools.is_none() {
        let rows = session.client.query("SELECT name FROM tool WHERE name <> '(others)'", &[]).await?;
        let names = rows.iter().map(|row| Ok(unescape(row.try_get(0)?).as_ref().into()));
        known.tools = Some(names.collect::<Result<_, tokio_postgres::Error>>()?);
    }
    for queued in group {
        if let Op::Compact(compacted) = &queued.op
            && !has_all(session, compacted).await?
        {
            known.outdated.insert(queued.ticket);
        }
    }
    if imports && !known.has_imports {
        let rows = session
            .client
            .query(
                "SELECT import, key, head, bytes FROM gone WHERE import IS NOT NULL AND life = $1",
                &[&life],
            )
            .await?;
        for row in rows {
            let import = ImportId(row.try_get::<_, i64>(0)?.cast_unsigned());
            known.imports.insert(import, (row.try_get(1)?, natural(row.try_get(2)?), row.try_get(3)?));
        }
        known.has_imports = true;
    }
    Ok(())
}

/// The conversations of which `op` changes something. What only saves time or space is left out, and so not planned, for a conversation that the life
/// has given up: it may be another hub's by now, and what is known of it here would be outdated should the life claim it again.
pub(super) fn concerned<'a>(op: &'a Op, claims: Option<&Claims>) -> impl Iterator<Item = &'a ConversationId> {
    let rows = if let Op::Rows(rows) = op { rows.as_slice() } else { &[] };
    let saves = matches!(op, Op::Rows(_) | Op::View(_) | Op::Compact(_));
    let all = rows.iter().map(|row| &row.conversation).chain(op.conversation());
    all.filter(move |id| !saves || claims.is_none_or(|claims| claims.keeps(id)))
}

/// Whether the blocks that a compaction joins are those that the conversation has: while the database was away, an earlier compaction
/// of the same blocks may have waited too.
async fn has_all(session: &mut Session, compacted: &CompactedBlocks) -> Result<bool, tokio_postgres::Error> {
    let select = "SELECT count(*), coalesce(sum(last - first + 1), 0)::bigint FROM event WHERE conversation = $1 AND first = ANY($2)";
    let select = session.prepared(select).await?;
    let row = session.client.query_one(&select, &[&compacted.key, &compacted.instead_of]).await?;
    let (blocks, events): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
    let packed = compacted.block.last - compacted.block.first + 1;
    Ok(blocks == size(compacted.instead_of.len()) && natural(events) == packed)
}

/// Asks where the conversations of these names stand. Names that no conversation has are noted as absent.
async fn places(
    session: &mut Session,
    known: &mut WriterCache,
    names: &[&str],
) -> Result<(), tokio_postgres::Error> {
    let select =
        session.prepared("SELECT id, key, epoch, head, loose FROM conversation WHERE id = ANY($1)").await?;
    for row in session.client.query(&select, &[&names]).await? {
        let Ok(id) = read::conversation(&row, 0) else { continue };
        let place = ConversationHead {
            key: row.try_get(1)?,
            epoch: model::Epoch::new(&unescape(row.try_get(2)?)),
            head: natural(row.try_get(3)?),
            loose: usize::try_from(row.try_get::<_, i32>(4)?).unwrap_or(0),
        };
        known.put(id, place);
    }
    for name in names {
        if let Ok(id) = ConversationId::parse(name) {
            known.is_absent(id);
        }
    }
    Ok(())
}
