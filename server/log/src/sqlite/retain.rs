//! Retention: chooses whole conversations to remove, the one that was silent longest first, until the rest is
//! within the rule.

use model::ConversationId;
use rusqlite::Connection;

use super::schema::natural;
use super::{rows, sweep};
use crate::Retention;

/// Most conversations that are chosen at once; the next round takes more. Each costs the log two rows at
/// first; the rest of it is deleted in steps, see [`super::sweep`].
const ROUND_MAX: usize = 200;

/// Chooses the conversations that `rule` no longer allows, except those for which `keep` is true. At most
/// [`ROUND_MAX`]. Removes nothing itself.
pub(super) fn choose(
    connection: &Connection,
    rule: &Retention,
    now: u64,
    keep: &dyn Fn(&ConversationId) -> bool,
) -> rusqlite::Result<Vec<ConversationId>> {
    let sums = "SELECT count(*), coalesce(sum(bytes), 0) FROM conversation";
    let (mut count, sum): (u64, i64) =
        connection.query_row(sums, [], |row| Ok((natural(row.get(0)?), row.get(1)?)))?;
    let mut bytes = used(connection)?;
    let going = sweep::bytes(connection)?;
    // Indexes and half-empty pages are shared out among the conversations by their size.
    let share = FileShare { of: bytes, sum: sum + going };
    // What is already removed counts as deleted.
    bytes = bytes.saturating_sub(share.of(going));
    let oldest_first = "SELECT id, at, bytes FROM conversation ORDER BY at, id DESC";
    let mut select = connection.prepare_cached(oldest_first)?;
    let mut found = select.query([])?;
    let mut gone = Vec::new();
    while let Some(row) = found.next()? {
        let old = rule.age_ms.is_some_and(|age| natural_at(row).saturating_add(age) < now);
        let many = rule.conversations.is_some_and(|most| count > most);
        let large = rule.bytes.is_some_and(|most| bytes > most);
        if !(old || many || large) || gone.len() >= ROUND_MAX {
            break;
        }
        let id = rows::conversation(row, 0)?;
        if keep(&id) {
            continue;
        }
        count -= 1;
        bytes = bytes.saturating_sub(share.of(row.get(2)?));
        gone.push(id);
    }
    Ok(gone)
}

/// When the conversation of `row` was last written; a column that cannot be read counts as new.
fn natural_at(row: &rusqlite::Row<'_>) -> u64 {
    row.get(1).map_or(u64::MAX, natural)
}

/// The bytes of the file that are in use. Free pages do not count, because they are filled before the file
/// grows.
pub(super) fn used(connection: &Connection) -> rusqlite::Result<u64> {
    let number = |name: &str| connection.query_row(&format!("PRAGMA {name}"), [], |row| row.get::<_, i64>(0));
    let pages = number("page_count")?.saturating_sub(number("freelist_count")?);
    Ok(natural(pages.saturating_mul(number("page_size")?)))
}

/// Divides the bytes of the file among conversations, by their shares of the counted bytes.
struct FileShare {
    /// The bytes of the file.
    of: u64,
    /// The bytes that are counted for all conversations.
    sum: i64,
}

impl FileShare {
    /// The part of the file for `bytes` counted bytes.
    fn of(&self, bytes: i64) -> u64 {
        let part = i128::from(self.of) * i128::from(bytes.max(0)) / i128::from(self.sum.max(1));
        u64::try_from(part).unwrap_or(u64::MAX)
    }
}
