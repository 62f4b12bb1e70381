//! Texts to be found. A document is a row of `document`; its words are in `word`, an FTS5 index that keeps no text of
//! its own. They are added after the rows ([`super::words`]), and removed with the document.

use rusqlite::{Connection, OptionalExtension as _};

use super::schema::integer;
use crate::documents::{clean, item};
pub(super) use crate::documents::{kind, kind_name};
use crate::{SearchDocument, SearchDocumentKind};

/// The words that the index has for a conversation and a kind, so that a search can be narrowed to them.
pub(super) fn place(key: i64, kind: SearchDocumentKind) -> String {
    format!("c{key} k{}", kind_name(kind))
}

/// The bytes of a document that was stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StoredDocument {
    /// The number of its row, which is above those of all older ones.
    pub(super) id: i64,
    /// The bytes of its text.
    pub(super) bytes: usize,
    /// Whether it replaces an older one.
    pub(super) replaces: bool,
}

impl StoredDocument {
    /// The bytes that its conversation takes more.
    pub(super) fn growth(self) -> i64 {
        if self.replaces { 0 } else { integer(self.bytes as u64) }
    }
}

/// Stores a document in the place of an older one of the same item, without its words: [`super::words`] adds those to
/// the index. `None` if the document is not the text of an item.
pub(super) fn put(
    connection: &Connection,
    key: i64,
    document: &SearchDocument,
) -> rusqlite::Result<Option<StoredDocument>> {
    let Some(item) = item(document) else { return Ok(None) };
    let (run, kind) = (document.run.as_str(), kind_name(document.kind));
    let select = "SELECT id FROM document WHERE conversation = ?1 AND run = ?2 AND kind = ?3 AND item = ?4";
    let mut select = connection.prepare_cached(select)?;
    let before: Option<i64> = select.query_row((key, run, kind, item), |row| row.get(0)).optional()?;
    if let Some(id) = before {
        forget(connection, id)?;
    }
    let (text, place) = (clean(&document.text), place(key, document.kind));
    let insert = "INSERT INTO document (conversation, run, kind, item, name, seq, at, place, text) \
                  VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
    let mut insert = connection.prepare_cached(insert)?;
    let (seq, at) = (integer(document.seq), integer(document.at));
    insert.execute((key, run, kind, item, document.name.as_str(), seq, at, &place, &text))?;
    let id = connection.last_insert_rowid();
    Ok(Some(StoredDocument { id, bytes: text.len(), replaces: before.is_some() }))
}

/// Removes the document `id`, and its words from the index, if they are there.
pub(super) fn forget(connection: &Connection, id: i64) -> rusqlite::Result<()> {
    // The index needs the text to remove its words, so the document is deleted after that.
    let words = "INSERT INTO word (word, rowid, text, place) SELECT 'delete', id, text, place FROM document \
                 WHERE id = ?1 AND id <= (SELECT through FROM word_index)";
    connection.prepare_cached(words)?.execute([id])?;
    connection.prepare_cached("DELETE FROM document WHERE id = ?1")?.execute([id])?;
    Ok(())
}
