//! Documents for searches, shared by all logs that search.
//!
//! A document is one complete text: an answer, reasoning, arguments, a result or a message. Within a
//! conversation it is known by its run, its kind and the id of its item; a document of the same three
//! replaces the older one.

use std::borrow::Cow;

use model::limits::DOCUMENT_BYTES_MAX;
use model::view::Item;

use crate::{SearchDocument, SearchDocumentKind, SearchDocumentPlace};

/// The name of a kind in the database.
pub(crate) fn kind_name(kind: SearchDocumentKind) -> &'static str {
    match kind {
        SearchDocumentKind::Text => "text",
        SearchDocumentKind::Thinking => "thinking",
        SearchDocumentKind::Arguments => "arguments",
        SearchDocumentKind::Result => "result",
        SearchDocumentKind::Message => "message",
    }
}

/// The kind that has the name `word` in the database. `None` for a word that only a later version writes.
pub(crate) fn kind(word: &str) -> Option<SearchDocumentKind> {
    use SearchDocumentKind::{Arguments, Message, Result, Text, Thinking};
    [Text, Thinking, Arguments, Result, Message].into_iter().find(|kind| kind_name(*kind) == word)
}

/// The id of the item to which the document belongs; `None` for a document that is not the text of an item.
/// Such a document is not indexed.
pub(crate) fn item(document: &SearchDocument) -> Option<&str> {
    match &document.place {
        SearchDocumentPlace::Item(Item::Part(part)) => Some(part.as_str()),
        SearchDocumentPlace::Item(Item::Tool(tool)) => Some(tool.as_str()),
        SearchDocumentPlace::Item(Item::Agent(agent)) => Some(agent.as_str()),
        SearchDocumentPlace::Item(Item::Note(_)) => None,
        SearchDocumentPlace::Message(message) => Some(message.as_str()),
    }
}

/// Prepares `text` for the index: shortens it to the limit, and replaces the character that would end a text
/// in the database and the two that the index takes for letters although they are none. A cut never falls
/// inside a character.
pub(crate) fn clean(text: &str) -> Cow<'_, str> {
    const REPLACED: [char; 3] = ['\0', '\u{fdd0}', '\u{fdd1}'];
    let end = text.floor_char_boundary(DOCUMENT_BYTES_MAX);
    let text = text.get(..end).unwrap_or_default();
    if text.contains(REPLACED) { Cow::Owned(text.replace(REPLACED, " ")) } else { Cow::Borrowed(text) }
}
