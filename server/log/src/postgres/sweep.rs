//! Rows of conversations that went are deleted in steps, each small against a commit. What goes is not found any more from the
//! moment that it went. Deleting the same twice does no harm, so no fence is needed.

use super::database::Session;

/// Most rows of one table that a step deletes. A block has up to about a MiB, most have a few KiB.
const STEP_ROWS: i64 = 100;

/// Tables of which a conversation has many rows, and those of which it has few.
const MANY: [&str; 3] = [
    "DELETE FROM event WHERE ctid = ANY(ARRAY(SELECT ctid FROM event WHERE conversation = $1 LIMIT $2))",
    "DELETE FROM document WHERE ctid = ANY(ARRAY(SELECT ctid FROM document WHERE conversation = $1 LIMIT $2))",
    "DELETE FROM attachment WHERE ctid = ANY(ARRAY(SELECT ctid FROM attachment WHERE conversation = $1 LIMIT $2))",
];
/// Deleted once [`MANY`] have nothing left; the row of `gone` goes last, which ends the sweep of that
/// conversation.
const FEW: [&str; 3] = [
    "DELETE FROM checkpoint WHERE conversation = $1",
    "DELETE FROM mark WHERE conversation = $1",
    "DELETE FROM gone WHERE key = $1 AND import IS NULL",
];

/// Deletes some rows. Returns whether more are left. The caller calls it again after a pause until it is
/// false.
pub(super) async fn step(session: &mut Session) -> Result<bool, tokio_postgres::Error> {
    let select = session.prepared("SELECT key FROM gone WHERE import IS NULL ORDER BY key LIMIT 1").await?;
    let Some(row) = session.client.query_opt(&select, &[]).await? else { return Ok(false) };
    let key: i64 = row.try_get(0)?;
    for sql in MANY {
        let delete = session.prepared(sql).await?;
        if session.client.execute(&delete, &[&key, &STEP_ROWS]).await? > 0 {
            return Ok(true);
        }
    }
    for sql in FEW {
        let delete = session.prepared(sql).await?;
        session.client.execute(&delete, &[&key]).await?;
    }
    Ok(true)
}
