//! A cache of where recently written conversations stand, so that a commit need not ask the database for
//! each.

use std::collections::HashMap;

use model::{ConversationId, Epoch, Seq};
use rusqlite::{Connection, OptionalExtension as _};

use super::schema::{integer, natural};

/// Most conversations in the cache. Beyond them the cache is emptied.
const KNOWN_MAX: usize = 20_000;

/// Where conversations stand in the database. Owned by the writer. It holds only while every change that was
/// applied is committed, so [`ConversationCache::forget`] empties it after a rollback.
#[derive(Debug, Default)]
pub(super) struct ConversationCache {
    places: HashMap<ConversationId, ConversationHead>,
}

/// The epoch and the head of a conversation in the database.
#[derive(Debug, Clone)]
pub(super) struct ConversationHead {
    /// The key of its row.
    pub(super) key: i64,
    /// The epoch of the conversation.
    pub(super) epoch: Epoch,
    /// The newest seq of the conversation.
    pub(super) head: Seq,
    /// How many blocks were written since the last packing.
    pub(super) loose: usize,
}

impl ConversationCache {
    /// Empties the cache if it is too large. Never call it between an operation and its commit.
    pub(super) fn trim(&mut self) {
        if self.places.len() > KNOWN_MAX {
            self.forget();
        }
    }

    /// Empties the cache, because what was applied is not committed.
    pub(super) fn forget(&mut self) {
        self.places.clear();
    }

    /// Removes a conversation that was removed from the log.
    pub(super) fn remove(&mut self, conversation: &ConversationId) {
        self.places.remove(conversation);
    }

    /// Where the conversation stands; `None` if there is no such conversation.
    pub(super) fn find(
        &mut self,
        connection: &Connection,
        conversation: &ConversationId,
    ) -> rusqlite::Result<Option<&mut ConversationHead>> {
        if !self.places.contains_key(conversation)
            && let Some(place) = read(connection, conversation)?
        {
            self.places.insert(conversation.clone(), place);
        }
        Ok(self.places.get_mut(conversation))
    }

    /// Where the conversation stands, and whether it was made by this call. A new one begins in `epoch` with
    /// seq 0.
    pub(super) fn find_or_make(
        &mut self,
        connection: &Connection,
        conversation: &ConversationId,
        epoch: &Epoch,
        life: i64,
    ) -> rusqlite::Result<(&mut ConversationHead, bool)> {
        let made = self.find(connection, conversation)?.is_none();
        if made {
            let insert = "INSERT INTO conversation (id, epoch, head, at, life) VALUES (?1, ?2, 0, 0, ?3)";
            let mut insert = connection.prepare_cached(insert)?;
            insert.execute((conversation.as_str(), epoch.as_str(), life))?;
        }
        let fresh = || ConversationHead {
            key: connection.last_insert_rowid(),
            epoch: epoch.clone(),
            head: 0,
            loose: 0,
        };
        Ok((self.places.entry(conversation.clone()).or_insert_with(fresh), made))
    }
}

/// Reads from the database where the conversation stands.
fn read(
    connection: &Connection,
    conversation: &ConversationId,
) -> rusqlite::Result<Option<ConversationHead>> {
    let select = "SELECT key, epoch, head, loose FROM conversation WHERE id = ?1";
    let mut select = connection.prepare_cached(select)?;
    let place = select.query_row([conversation.as_str()], |row| {
        Ok(ConversationHead {
            key: row.get(0)?,
            epoch: Epoch::new(row.get_ref(1)?.as_str()?),
            head: natural(row.get(2)?),
            loose: usize::try_from(row.get::<_, i64>(3)?).unwrap_or(0),
        })
    });
    place.optional()
}

impl ConversationHead {
    /// Writes the place and what a commit adds to it into the conversation's row.
    pub(super) fn write(&self, connection: &Connection, touch: RowUpdate) -> rusqlite::Result<()> {
        let update = "UPDATE conversation SET epoch = ?2, head = ?3, at = max(at, ?4), life = coalesce(?5, life), loose = ?6, \
                      bytes = bytes + ?7 WHERE key = ?1";
        let loose = i64::try_from(self.loose).unwrap_or(i64::MAX);
        let (head, at) = (integer(self.head), integer(touch.at));
        let mut update = connection.prepare_cached(update)?;
        update.execute((self.key, self.epoch.as_str(), head, at, touch.life, loose, touch.bytes))?;
        Ok(())
    }
}

/// What a commit changes in a conversation's row besides its place.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RowUpdate {
    /// When its newest event was taken, in milliseconds since 1970; 0 leaves it as it is.
    pub(super) at: u64,
    /// The life that wrote it. `None` if its contents were only stored in another form: that must not make a
    /// conversation sound which the death of an earlier life left unsound, and it may happen before anybody
    /// has read the conversation.
    pub(super) life: Option<i64>,
    /// How many bytes it takes more; negative if less.
    pub(super) bytes: i64,
}
