//! Texts to be found, and their words.

use model::limits::DOCUMENT_BYTES_MAX;
use model::view::Item;
use rusqlite::{Connection, OptionalExtension as _};

use super::schema::integer;
use crate::{Document, DocumentKind, DocumentPlace};

/// The word for a kind, in the database.
pub(super) fn word(kind: DocumentKind) -> &'static str {
    match kind {
        DocumentKind::Text => "text",
        DocumentKind::Thinking => "thinking",
        DocumentKind::Arguments => "arguments",
        DocumentKind::Result => "result",
        DocumentKind::Message => "message",
    }
}

/// What the word for a kind means.
pub(super) fn kind(word: &str) -> Option<DocumentKind> {
    use DocumentKind::{Arguments, Message, Result, Text, Thinking};
    [Text, Thinking, Arguments, Result, Message].into_iter().find(|kind| self::word(*kind) == word)
}

/// The words by which the index narrows to a conversation and to a kind.
pub(super) fn place(key: i64, kind: DocumentKind) -> String {
    format!("c{key} k{}", word(kind))
}

/// Keeps a document instead of an older one of the same thing. Returns its bytes.
pub(super) fn put(connection: &Connection, key: i64, document: &Document) -> rusqlite::Result<i64> {
    let item = match &document.place {
        DocumentPlace::Item(Item::Part(part)) => part.as_str(),
        DocumentPlace::Item(Item::Tool(tool)) => tool.as_str(),
        DocumentPlace::Item(Item::Agent(agent)) => agent.as_str(),
        // A note is no text of its own.
        DocumentPlace::Item(Item::Note(_)) => return Ok(0),
        DocumentPlace::Message(message) => message.as_str(),
    };
    let (run, kind) = (document.run.as_str(), word(document.kind));
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

/// Forgets the documents whose `column` has that value, and their words.
pub(super) fn forget(connection: &Connection, column: &str, value: i64) -> rusqlite::Result<()> {
    // The index needs the texts to forget their words, so they go after it.
    let words = format!(
        "INSERT INTO word (word, rowid, text, place) SELECT 'delete', id, text, place FROM document WHERE {column} = ?1"
    );
    connection.prepare_cached(&words)?.execute([value])?;
    connection.prepare_cached(&format!("DELETE FROM document WHERE {column} = ?1"))?.execute([value])?;
    Ok(())
}

/// `text` as it is searched: as much as the limit allows, without what would end a text in the database, and without the two
/// characters that the index takes for letters although they are none.
fn clean(text: &str) -> String {
    let end = text.floor_char_boundary(DOCUMENT_BYTES_MAX);
    let text = text.get(..end).unwrap_or_default();
    text.replace(['\0', '\u{fdd0}', '\u{fdd1}'], " ")
}
