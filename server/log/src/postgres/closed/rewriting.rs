//! The statements that put what was rewritten in the place of what was stored.

use std::sync::Arc;

use model::{Envelope, View};
use tokio_postgres::types::ToSql;

use crate::blocks::compress;
use crate::closed::Rewrite;
use crate::numbers::{integer, size};
use crate::postgres::batch::words;
use crate::postgres::text::escape;
use crate::views;

/// A statement of a change, with its values.
pub(super) struct Change {
    pub(super) sql: &'static str,
    pub(super) values: Vec<Box<dyn ToSql + Send + Sync>>,
}

impl Change {
    /// The statement `sql` with these values.
    pub(super) fn new(sql: &'static str, values: Vec<Box<dyn ToSql + Send + Sync>>) -> Self {
        Self { sql, values }
    }
}

/// A text of the search as it is stored.
pub(super) struct DocumentRow {
    pub(super) id: i64,
    pub(super) kind: String,
    pub(super) item: String,
    pub(super) name: String,
    pub(super) text: String,
}

/// What puts changed events in the place of those that a conversation has.
pub(super) fn rewritten_events(key: i64, before: &[Envelope], with: &mut dyn Rewrite) -> Vec<Change> {
    let mut events = before.to_vec();
    with.events(&mut events);
    if events == before {
        return Vec::new();
    }
    let events: Vec<Arc<Envelope>> = events.into_iter().map(Arc::new).collect();
    let mut changes = vec![Change::new("DELETE FROM event WHERE conversation = $1", vec![Box::new(key)])];
    changes.extend(compress(&events).into_iter().map(|block| {
        let encoding = i16::try_from(block.encoding.number()).unwrap_or(i16::MAX);
        let sql = "INSERT INTO event (conversation, first, last, encoding, raw, body) VALUES ($1, $2, $3, $4, $5, $6)";
        let values: Vec<Box<dyn ToSql + Send + Sync>> = vec![
            Box::new(key),
            Box::new(integer(block.first)),
            Box::new(integer(block.last)),
            Box::new(encoding),
            Box::new(size(block.raw)),
            Box::new(block.body),
        ];
        Change::new(sql, values)
    }));
    // They are compacted by now.
    changes.push(Change::new("UPDATE conversation SET loose = 0 WHERE key = $1", vec![Box::new(key)]));
    changes
}

/// What puts a changed state in the place of the one that is kept.
pub(super) fn rewritten_view(key: i64, before: &View, with: &mut dyn Rewrite) -> Option<Change> {
    let mut view = before.clone();
    with.view(&mut view);
    let sql = "UPDATE checkpoint SET body = $2 WHERE conversation = $1";
    (view != *before).then(|| Change::new(sql, vec![Box::new(key), Box::new(views::pack(&view))]))
}

/// What puts a changed text in the place of one that is found, with its words.
pub(super) fn rewritten_document(key: i64, document: DocumentRow, with: &mut dyn Rewrite) -> Option<Change> {
    let DocumentRow { id, kind, item, name, text } = document;
    let changed = (with.text(&item), with.text(&name), with.text(&text));
    if changed == (None, None, None) {
        return None;
    }
    let (item, name, text) =
        (changed.0.unwrap_or(item), changed.1.unwrap_or(name), changed.2.unwrap_or(text));
    let text = escape(&text).into_owned();
    let words = words(key, &kind, &text);
    let sql = "UPDATE document SET item = $2, name = $3, text = $4, words = array_to_tsvector(string_to_array($5, ' ')) WHERE id = $1";
    let values: Vec<Box<dyn ToSql + Send + Sync>> = vec![
        Box::new(id),
        Box::new(escape(&item).into_owned()),
        Box::new(escape(&name).into_owned()),
        Box::new(text),
        Box::new(words),
    ];
    Some(Change::new(sql, values))
}
