//! Texts to be found, and their words. A document is a row of `document`; its words are in `word`, an FTS5
//! index that keeps no text of its own. So each change of one must be told to the other.

use rusqlite::{Connection, OptionalExtension as _};

use super::schema::integer;
use crate::documents::{clean, item};
pub(super) use crate::documents::{kind, kind_name};
use crate::{SearchDocument, SearchDocumentKind};

/// The words that the index has for a conversation and a kind, so that a search can be narrowed to them.
pub(super) fn place(key: i64, kind: SearchDocumentKind) -> String {
    format!("c{key} k{}", kind_name(kind))
}

/// Stores a document in the place of an older one of the same item. Returns its bytes; 0 if it replaces one.
pub(super) fn put(connection: &Connection, key: i64, document: &SearchDocument) -> rusqlite::Result<i64> {
    let Some(item) = item(document) else { return Ok(0) };
    let (run, kind) = (document.run.as_str(), kind_name(document.kind));
    let select = "SELECT id FROM document WHERE conversation = ?1 AND run = ?2 AND kind = ?3 AND item = ?4";
    let mut select = connection.prepare_cached(select)?;
    let before: Option<i64> = select.query_row((key, run, kind, item), |row| row.get(0)).optional()?;
    if let Some(id) = before {
        forget(connection, "id", id)?;
    }
    let (text, place) = (clean(&document.text), place(key, document.kind));
    let insert = "INSERT INTO document (conversation, run, kind, item, name, seq, at, place, text) \
                  VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
    let mut insert = connection.prepare_cached(insert)?;
    let (seq, at) = (integer(document.seq), integer(document.at));
    insert.execute((key, run, kind, item, document.name.as_str(), seq, at, &place, &text))?;
    let id = connection.last_insert_rowid();
    let mut index = connection.prepare_cached("INSERT INTO word (rowid, text, place) VALUES (?1, ?2, ?3)")?;
    index.execute((id, &text, &place))?;
    Ok(if before.is_some() { 0 } else { integer(text.len() as u64) })
}

/// Removes the documents whose `column` has that value, and their words from the index. `column` is `id` or
/// another column of the table, chosen by the program and never by a person.
pub(super) fn forget(connection: &Connection, column: &str, value: i64) -> rusqlite::Result<()> {
    // The index needs the texts to remove their words, so the documents are deleted after that.
    let words = format!(
        "INSERT INTO word (word, rowid, text, place) SELECT 'delete', id, text, place FROM document WHERE {column} = ?1"
    );
    connection.prepare_cached(&words)?.execute([value])?;
    connection.prepare_cached(&format!("DELETE FROM document WHERE {column} = ?1"))?.execute([value])?;
    Ok(())
}
