//! The statements of a transaction. Each takes arrays, one for each column, so one statement writes any number of rows.

use crate::postgres::life::keep_steady;

/// The fence. It also locks the row of the life, so that nobody ends the life before this transaction has
/// ended.
pub(super) const NAMED_FENCE: &str = concat!(
    "PREPARE fence (bigint, bigint, bigint, bigint) AS UPDATE life SET commits = $2::bigint, written_at = $3, ",
    keep_steady!("$4"),
    " WHERE number = $1 AND NOT over AND commits = $2::bigint - 1"
);
/// Selects a row for each of these conversations that the life has.
pub(super) const OWNED: &str = "SELECT 1 FROM owner WHERE conversation = ANY($1) AND life = $2";
/// Gives conversations of life $2 to the life $3, which nobody lives, and notes on which timeline.
pub(super) const RELEASE: &str = "UPDATE owner SET life = $3, epoch = epoch + 1, claimed_at = clock_timestamp(), timeline = fanlight_timeline() \
                     WHERE conversation = ANY($1) AND life = $2";
/// Where an import stands: as a row of `gone` with its number, so that it is deleted if nobody adopts it.
pub(super) const STAGE: &str = "INSERT INTO gone (key, import, life, bytes, head) \
                     SELECT key, import, $2::bigint, bytes, head FROM unnest($1::bigint[], $3::bigint[], $4::bigint[], $5::bigint[]) \
                     AS u (key, import, bytes, head) ON CONFLICT (key) DO UPDATE SET bytes = excluded.bytes, head = excluded.head";
pub(super) const ADOPT: &str = "DELETE FROM gone WHERE key = ANY($1)";
pub(super) const ABANDON: &str = "UPDATE gone SET import = NULL WHERE key = ANY($1)";
/// Makes conversations invisible, and leaves their other rows to the sweep.
pub(super) const REMOVE: &str = "WITH went AS (DELETE FROM conversation WHERE key = ANY($1) RETURNING key, bytes + view_bytes AS bytes) \
                      INSERT INTO gone (key, bytes) SELECT key, bytes FROM went";
/// Inserts new conversations.
pub(super) const MAKE: &str = "INSERT INTO conversation (key, id, epoch, head, at, life, loose, bytes) \
                    SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[], $7::int[], $8::bigint[])";
/// How conversations change, each only at the head that it had. A life of 0 leaves the life as it is.
pub(super) const CHANGE: &str = "UPDATE conversation c SET epoch = u.epoch, head = u.head, at = greatest(c.at, u.at), \
                      life = CASE WHEN u.life = 0 THEN c.life ELSE u.life END, loose = u.loose, bytes = greatest(0, c.bytes + u.bytes) \
                      FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[], $7::int[], $8::bigint[]) \
                      AS u (key, before, epoch, head, at, life, loose, bytes) WHERE c.key = u.key AND c.head = u.before";
pub(super) const BLOCKS: &str = "INSERT INTO event (conversation, first, last, encoding, raw, body) \
                      SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::smallint[], $5::bigint[], $6::bytea[])";
/// Deletes blocks of a conversation, which are named by their first seq.
pub(super) const UNBLOCK: &str = "DELETE FROM event WHERE conversation = $1 AND first = ANY($2)";
pub(super) const ATTACH: &str = "INSERT INTO attachment (conversation, hash, json) \
                      SELECT * FROM unnest($1::bigint[], $2::text[], $3::bytea[]) ON CONFLICT DO NOTHING";
/// Deletes documents that come again: the newest of an item counts.
pub(super) const FORGET: &str = "DELETE FROM document d USING unnest($1::bigint[], $2::text[], $3::text[], $4::text[]) AS u (conversation, run, kind, item) \
                      WHERE d.conversation = u.conversation AND d.run = u.run AND d.kind = u.kind AND d.item = u.item";
/// Documents with the words that they are found by. Their ids rise in the order of the group.
pub(super) const DOCUMENTS: &str = "INSERT INTO document (conversation, run, kind, item, name, seq, at, text, words) \
                         SELECT conversation, run, kind, item, name, seq, at, text, array_to_tsvector(string_to_array(words, ' ')) \
                         FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::bigint[], $8::text[], $9::text[]) \
                         WITH ORDINALITY AS u (conversation, run, kind, item, name, seq, at, text, words, place) ORDER BY place";
pub(super) const UNMARK: &str = "DELETE FROM mark WHERE conversation = ANY($1)";
/// Stores how far publishers have come (invariant I10).
pub(super) const MARKS: &str = "INSERT INTO mark (conversation, publisher, epoch, seq, turn) \
                     SELECT * FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[]) \
                     ON CONFLICT (conversation, publisher) DO UPDATE SET epoch = excluded.epoch, seq = excluded.seq, turn = excluded.turn";
/// Deletes the marks beyond the newest $2 of each conversation.
pub(super) const TRIM: &str = "DELETE FROM mark m USING (SELECT conversation, publisher, row_number() OVER (PARTITION BY conversation ORDER BY turn DESC) AS place \
                    FROM mark WHERE conversation = ANY($1)) old \
                    WHERE m.conversation = old.conversation AND m.publisher = old.publisher AND old.place > $2";
/// States. An older one never replaces a newer one.
pub(super) const VIEWS: &str = "INSERT INTO checkpoint (conversation, seq, body) SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bytea[]) \
                     ON CONFLICT (conversation) DO UPDATE SET seq = excluded.seq, body = excluded.body WHERE checkpoint.seq <= excluded.seq";
pub(super) const VIEW_BYTES: &str = "UPDATE conversation c SET view_bytes = u.bytes FROM unnest($1::bigint[], $2::bigint[]) AS u (key, bytes) WHERE c.key = u.key";
/// Rows of the list. An older one never replaces a newer one.
pub(super) const ROWS: &str = "UPDATE conversation c SET row = u.row, state = nullif(u.state, ''), row_head = u.head, \
                    pinned = u.pinned, archived = u.archived, tags = u.tags \
                    FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::smallint[], $6::smallint[], $7::text[]) \
                    AS u (key, head, row, state, pinned, archived, tags) \
                    WHERE c.key = u.key AND c.row_head <= u.head";
/// Adds to the calls of tools.
pub(super) const TOOLS: &str = "INSERT INTO tool (name, calls, failed) SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[]) \
                     ON CONFLICT (name) DO UPDATE SET calls = tool.calls + excluded.calls, failed = tool.failed + excluded.failed";
/// Adds to the latencies of tools, by bucket.
pub(super) const LATENCIES: &str = "INSERT INTO tool_latency (name, bucket, calls) SELECT * FROM unnest($1::text[], $2::int[], $3::bigint[]) \
                         ON CONFLICT (name, bucket) DO UPDATE SET calls = tool_latency.calls + excluded.calls";
